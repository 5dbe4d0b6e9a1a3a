"""DeleteGroups, API key 42."""

from typing import Annotated, ClassVar

from msgspec import Struct

from ottla.protocol.facts import Message, Wire, int16, int32, string


class DeleteGroupsRequest(Struct, gc=False):
    """Deletes groups that have no members."""

    WIRE: ClassVar[Message] = Message(
        "request", versions="0-2", flexible="2+", key=42, listeners=("broker",)
    )

    groups_names: Annotated[list[string], Wire("0+")] = []


class DeletableGroupResult(Struct, gc=False):
    group_id: Annotated[string, Wire("0+")] = ""
    error_code: Annotated[int16, Wire("0+")] = 0


class DeleteGroupsResponse(Struct, gc=False):
    """Which groups were deleted."""

    WIRE: ClassVar[Message] = Message("response", versions="0-2", flexible="2+", key=42)

    throttle_time_ms: Annotated[int32, Wire("0+")] = 0
    results: Annotated[list[DeletableGroupResult], Wire("0+")] = []
