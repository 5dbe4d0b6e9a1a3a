"""OffsetDelete, API key 47."""

from typing import Annotated, ClassVar

from msgspec import Struct

from ottla.protocol.facts import Message, Wire, int16, int32, string


class OffsetDeleteRequestPartition(Struct, gc=False):
    partition_index: Annotated[int32, Wire("0+")] = 0


class OffsetDeleteRequestTopic(Struct, gc=False):
    name: Annotated[string, Wire("0+")] = ""
    partitions: Annotated[list[OffsetDeleteRequestPartition], Wire("0+")] = []


class OffsetDeleteRequest(Struct, gc=False):
    """Forgets how far a group has read in partitions."""

    WIRE: ClassVar[Message] = Message(
        "request", versions="0", flexible="none", key=47, listeners=("broker",)
    )

    group_id: Annotated[string, Wire("0+")] = ""
    topics: Annotated[list[OffsetDeleteRequestTopic], Wire("0+")] = []


class OffsetDeleteResponsePartition(Struct, gc=False):
    partition_index: Annotated[int32, Wire("0+")] = 0
    error_code: Annotated[int16, Wire("0+")] = 0


class OffsetDeleteResponseTopic(Struct, gc=False):
    name: Annotated[string, Wire("0+")] = ""
    partitions: Annotated[list[OffsetDeleteResponsePartition], Wire("0+")] = []


class OffsetDeleteResponse(Struct, gc=False):
    """Which offsets were forgotten."""

    WIRE: ClassVar[Message] = Message("response", versions="0", flexible="none", key=47)

    error_code: Annotated[int16, Wire("0+")] = 0
    throttle_time_ms: Annotated[int32, Wire("0+", ignorable=True)] = 0
    topics: Annotated[list[OffsetDeleteResponseTopic], Wire("0+")] = []
