"""FindCoordinator, API key 10."""

from typing import Annotated, ClassVar

from msgspec import Struct

from ottla.protocol.facts import Message, Wire, int8, int16, int32, string


class FindCoordinatorRequest(Struct, gc=False):
    """Asks which broker coordinates a group, a transactional id or a share partition."""

    WIRE: ClassVar[Message] = Message(
        "request", versions="0-6", flexible="3+", key=10, listeners=("broker",)
    )

    key: Annotated[string, Wire("0-3", about="The group or transactional id.")] = ""
    key_type: Annotated[
        int8, Wire("1+", about="0 group, 1 transactional id, 2 share partition.")
    ] = 0
    coordinator_keys: Annotated[list[string], Wire("4+", about="Several at once.")] = []


class Coordinator(Struct, gc=False):
    key: Annotated[string, Wire("4+", about="What was asked for.")] = ""
    node_id: Annotated[
        int32, Wire("4+", about="The broker that coordinates it; -1 when there is none.")
    ] = 0
    host: Annotated[string, Wire("4+", about="Where it is to be reached.")] = ""
    port: Annotated[int32, Wire("4+", about="And on which port.")] = 0
    error_code: Annotated[int16, Wire("4+", about="Why there is none, or 0.")] = 0
    error_message: Annotated[
        string | None, Wire("4+", nullable="4+", ignorable=True, about="The same in words.")
    ] = ""


class FindCoordinatorResponse(Struct, gc=False):
    """The coordinator; since version 4 one for each key asked for."""

    WIRE: ClassVar[Message] = Message("response", versions="0-6", flexible="3+", key=10)

    throttle_time_ms: Annotated[
        int32, Wire("1+", ignorable=True, about="For how long the client was held back by a quota.")
    ] = 0
    error_code: Annotated[int16, Wire("0-3", about="Why there is none, or 0.")] = 0
    error_message: Annotated[
        string | None, Wire("1-3", nullable="1-3", ignorable=True, about="The same in words.")
    ] = ""
    node_id: Annotated[
        int32, Wire("0-3", about="The broker that coordinates it; -1 when there is none.")
    ] = 0
    host: Annotated[string, Wire("0-3", about="Where it is to be reached.")] = ""
    port: Annotated[int32, Wire("0-3", about="And on which port.")] = 0
    coordinators: Annotated[list[Coordinator], Wire("4+", about="One for each key.")] = []
