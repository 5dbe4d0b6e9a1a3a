"""FindCoordinator, API key 10."""

from typing import Annotated, ClassVar

from msgspec import Struct

from ottla.protocol.facts import Message, Wire, int8, int16, int32, string


class FindCoordinatorRequest(Struct, gc=False):
    WIRE: ClassVar[Message] = Message(
        "request", versions="0-6", flexible="3+", key=10, listeners=("broker",)
    )

    key: Annotated[string, Wire("0-3")] = ""
    key_type: Annotated[int8, Wire("1+")] = 0
    coordinator_keys: Annotated[list[string], Wire("4+")] = []


class Coordinator(Struct, gc=False):
    key: Annotated[string, Wire("4+")] = ""
    node_id: Annotated[int32, Wire("4+")] = 0
    host: Annotated[string, Wire("4+")] = ""
    port: Annotated[int32, Wire("4+")] = 0
    error_code: Annotated[int16, Wire("4+")] = 0
    error_message: Annotated[string | None, Wire("4+", nullable="4+", ignorable=True)] = ""


class FindCoordinatorResponse(Struct, gc=False):
    WIRE: ClassVar[Message] = Message("response", versions="0-6", flexible="3+", key=10)

    throttle_time_ms: Annotated[int32, Wire("1+", ignorable=True)] = 0
    error_code: Annotated[int16, Wire("0-3")] = 0
    error_message: Annotated[string | None, Wire("1-3", nullable="1-3", ignorable=True)] = ""
    node_id: Annotated[int32, Wire("0-3")] = 0
    host: Annotated[string, Wire("0-3")] = ""
    port: Annotated[int32, Wire("0-3")] = 0
    coordinators: Annotated[list[Coordinator], Wire("4+")] = []
