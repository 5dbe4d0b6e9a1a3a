"""JoinGroup, API key 11."""

from typing import Annotated, ClassVar

from msgspec import Struct

from ottla.protocol.facts import Message, Wire, blob, boolean, int16, int32, string


class JoinGroupRequestProtocol(Struct, gc=False):
    name: Annotated[string, Wire("0+")] = ""
    metadata: Annotated[blob, Wire("0+")] = b""


class JoinGroupRequest(Struct, gc=False):
    """Joins a classic group and names the assignors that the member can follow."""

    WIRE: ClassVar[Message] = Message(
        "request", versions="0-9", flexible="6+", key=11, listeners=("broker",)
    )

    group_id: Annotated[string, Wire("0+")] = ""
    session_timeout_ms: Annotated[int32, Wire("0+")] = 0
    rebalance_timeout_ms: Annotated[int32, Wire("1+", ignorable=True)] = -1
    member_id: Annotated[string, Wire("0+")] = ""
    group_instance_id: Annotated[string | None, Wire("5+", nullable="5+")] = None
    protocol_type: Annotated[string, Wire("0+")] = ""
    protocols: Annotated[list[JoinGroupRequestProtocol], Wire("0+")] = []
    reason: Annotated[string | None, Wire("8+", nullable="8+", ignorable=True)] = None


class JoinGroupResponseMember(Struct, gc=False):
    member_id: Annotated[string, Wire("0+")] = ""
    group_instance_id: Annotated[string | None, Wire("5+", nullable="5+", ignorable=True)] = None
    metadata: Annotated[blob, Wire("0+")] = b""


class JoinGroupResponse(Struct, gc=False):
    """The generation and, for its leader, all members' subscriptions."""

    WIRE: ClassVar[Message] = Message("response", versions="0-9", flexible="6+", key=11)

    throttle_time_ms: Annotated[int32, Wire("2+", ignorable=True)] = 0
    error_code: Annotated[int16, Wire("0+")] = 0
    generation_id: Annotated[int32, Wire("0+")] = -1
    protocol_type: Annotated[string | None, Wire("7+", nullable="7+", ignorable=True)] = None
    protocol_name: Annotated[string | None, Wire("0+", nullable="7+")] = ""
    leader: Annotated[string, Wire("0+")] = ""
    skip_assignment: Annotated[boolean, Wire("9+")] = False
    member_id: Annotated[string, Wire("0+")] = ""
    members: Annotated[list[JoinGroupResponseMember], Wire("0+")] = []
