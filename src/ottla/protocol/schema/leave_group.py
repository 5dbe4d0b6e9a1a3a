"""LeaveGroup, API key 13."""

from typing import Annotated, ClassVar

from msgspec import Struct

from ottla.protocol.facts import Message, Wire, int16, int32, string


class MemberIdentity(Struct, gc=False):
    member_id: Annotated[string, Wire("3+")] = ""
    group_instance_id: Annotated[string | None, Wire("3+", nullable="3+")] = None
    reason: Annotated[string | None, Wire("5+", nullable="5+", ignorable=True)] = None


class LeaveGroupRequest(Struct, gc=False):
    """Takes members out of a classic group."""

    WIRE: ClassVar[Message] = Message(
        "request", versions="0-5", flexible="4+", key=13, listeners=("broker",)
    )

    group_id: Annotated[string, Wire("0+")] = ""
    member_id: Annotated[string, Wire("0-2")] = ""
    members: Annotated[list[MemberIdentity], Wire("3+")] = []


class MemberResponse(Struct, gc=False):
    member_id: Annotated[string, Wire("3+")] = ""
    group_instance_id: Annotated[string | None, Wire("3+", nullable="3+")] = ""
    error_code: Annotated[int16, Wire("3+")] = 0


class LeaveGroupResponse(Struct, gc=False):
    """Which members left."""

    WIRE: ClassVar[Message] = Message("response", versions="0-5", flexible="4+", key=13)

    throttle_time_ms: Annotated[int32, Wire("1+", ignorable=True)] = 0
    error_code: Annotated[int16, Wire("0+")] = 0
    members: Annotated[list[MemberResponse], Wire("3+")] = []
