"""SyncGroup, API key 14."""

from typing import Annotated, ClassVar

from msgspec import Struct

from ottla.protocol.facts import Message, Wire, blob, int16, int32, string


class SyncGroupRequestAssignment(Struct, gc=False):
    member_id: Annotated[string, Wire("0+")] = ""
    assignment: Annotated[blob, Wire("0+")] = b""


class SyncGroupRequest(Struct, gc=False):
    """The leader of a classic group hands in the assignment; the others ask for it."""

    WIRE: ClassVar[Message] = Message(
        "request", versions="0-5", flexible="4+", key=14, listeners=("broker",)
    )

    group_id: Annotated[string, Wire("0+")] = ""
    generation_id: Annotated[int32, Wire("0+")] = 0
    member_id: Annotated[string, Wire("0+")] = ""
    group_instance_id: Annotated[string | None, Wire("3+", nullable="3+")] = None
    protocol_type: Annotated[string | None, Wire("5+", nullable="5+", ignorable=True)] = None
    protocol_name: Annotated[string | None, Wire("5+", nullable="5+", ignorable=True)] = None
    assignments: Annotated[list[SyncGroupRequestAssignment], Wire("0+")] = []


class SyncGroupResponse(Struct, gc=False):
    """What this member is to read, as its assignor encoded it."""

    WIRE: ClassVar[Message] = Message("response", versions="0-5", flexible="4+", key=14)

    throttle_time_ms: Annotated[int32, Wire("1+", ignorable=True)] = 0
    error_code: Annotated[int16, Wire("0+")] = 0
    protocol_type: Annotated[string | None, Wire("5+", nullable="5+", ignorable=True)] = None
    protocol_name: Annotated[string | None, Wire("5+", nullable="5+", ignorable=True)] = None
    assignment: Annotated[blob, Wire("0+")] = b""
