"""ListGroups, API key 16."""

from typing import Annotated, ClassVar

from msgspec import Struct

from ottla.protocol.facts import Message, Wire, int16, int32, string


class ListGroupsRequest(Struct, gc=False):
    """Asks a broker for the groups that it coordinates."""

    WIRE: ClassVar[Message] = Message(
        "request", versions="0-5", flexible="3+", key=16, listeners=("broker",)
    )

    states_filter: Annotated[list[string], Wire("4+")] = []
    types_filter: Annotated[list[string], Wire("5+")] = []


class ListedGroup(Struct, gc=False):
    group_id: Annotated[string, Wire("0+")] = ""
    protocol_type: Annotated[string, Wire("0+")] = ""
    group_state: Annotated[string, Wire("4+", ignorable=True)] = ""
    group_type: Annotated[string, Wire("5+", ignorable=True)] = ""


class ListGroupsResponse(Struct, gc=False):
    """The groups, with protocol, state and type."""

    WIRE: ClassVar[Message] = Message("response", versions="0-5", flexible="3+", key=16)

    throttle_time_ms: Annotated[int32, Wire("1+", ignorable=True)] = 0
    error_code: Annotated[int16, Wire("0+")] = 0
    groups: Annotated[list[ListedGroup], Wire("0+")] = []
