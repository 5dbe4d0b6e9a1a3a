"""DescribeGroups, API key 15."""

from typing import Annotated, ClassVar

from msgspec import Struct

from ottla.protocol.facts import Message, Wire, blob, boolean, int16, int32, string


class DescribeGroupsRequest(Struct, gc=False):
    """Asks about groups of the classic protocol."""

    WIRE: ClassVar[Message] = Message(
        "request", versions="0-6", flexible="5+", key=15, listeners=("broker",)
    )

    groups: Annotated[list[string], Wire("0+")] = []
    include_authorized_operations: Annotated[boolean, Wire("3+")] = False


class DescribedGroupMember(Struct, gc=False):
    member_id: Annotated[string, Wire("0+")] = ""
    group_instance_id: Annotated[string | None, Wire("4+", nullable="4+", ignorable=True)] = None
    client_id: Annotated[string, Wire("0+")] = ""
    client_host: Annotated[string, Wire("0+")] = ""
    member_metadata: Annotated[blob, Wire("0+")] = b""
    member_assignment: Annotated[blob, Wire("0+")] = b""


class DescribedGroup(Struct, gc=False):
    error_code: Annotated[int16, Wire("0+")] = 0
    error_message: Annotated[string | None, Wire("6+", nullable="6+")] = None
    group_id: Annotated[string, Wire("0+")] = ""
    group_state: Annotated[string, Wire("0+")] = ""
    protocol_type: Annotated[string, Wire("0+")] = ""
    protocol_data: Annotated[string, Wire("0+")] = ""
    members: Annotated[list[DescribedGroupMember], Wire("0+")] = []
    authorized_operations: Annotated[int32, Wire("3+")] = -2147483648


class DescribeGroupsResponse(Struct, gc=False):
    """The state, protocol and members of those groups."""

    WIRE: ClassVar[Message] = Message("response", versions="0-6", flexible="5+", key=15)

    throttle_time_ms: Annotated[int32, Wire("1+", ignorable=True)] = 0
    groups: Annotated[list[DescribedGroup], Wire("0+")] = []
