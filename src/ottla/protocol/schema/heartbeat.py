"""Heartbeat, API key 12."""

from typing import Annotated, ClassVar

from msgspec import Struct

from ottla.protocol.facts import Message, Wire, int16, int32, string


class HeartbeatRequest(Struct, gc=False):
    """A member of a classic group says that it lives."""

    WIRE: ClassVar[Message] = Message(
        "request", versions="0-4", flexible="4+", key=12, listeners=("broker",)
    )

    group_id: Annotated[string, Wire("0+")] = ""
    generation_id: Annotated[int32, Wire("0+")] = 0
    member_id: Annotated[string, Wire("0+")] = ""
    group_instance_id: Annotated[string | None, Wire("3+", nullable="3+")] = None


class HeartbeatResponse(Struct, gc=False):
    """Whether the member may go on, or must join again."""

    WIRE: ClassVar[Message] = Message("response", versions="0-4", flexible="4+", key=12)

    throttle_time_ms: Annotated[int32, Wire("1+", ignorable=True)] = 0
    error_code: Annotated[int16, Wire("0+")] = 0
