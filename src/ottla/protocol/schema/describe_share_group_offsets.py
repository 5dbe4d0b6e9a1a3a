"""DescribeShareGroupOffsets, API key 90."""

from typing import Annotated, ClassVar

from msgspec import Struct

from ottla.names import NO_UUID
from ottla.protocol.facts import Message, Wire, int16, int32, int64, string, uuid


class DescribeShareGroupOffsetsRequestTopic(Struct, gc=False):
    topic_name: Annotated[string, Wire("0+")] = ""
    partitions: Annotated[list[int32], Wire("0+")] = []


class DescribeShareGroupOffsetsRequestGroup(Struct, gc=False):
    group_id: Annotated[string, Wire("0+")] = ""
    topics: Annotated[
        list[DescribeShareGroupOffsetsRequestTopic] | None, Wire("0+", nullable="0+")
    ] = []


class DescribeShareGroupOffsetsRequest(Struct, gc=False):
    """Asks where share groups begin in each partition."""

    WIRE: ClassVar[Message] = Message(
        "request", versions="0-1", flexible="0+", key=90, listeners=("broker",)
    )

    groups: Annotated[list[DescribeShareGroupOffsetsRequestGroup], Wire("0+")] = []


class DescribeShareGroupOffsetsResponsePartition(Struct, gc=False):
    partition_index: Annotated[int32, Wire("0+")] = 0
    start_offset: Annotated[int64, Wire("0+")] = 0
    leader_epoch: Annotated[int32, Wire("0+")] = 0
    lag: Annotated[int64, Wire("1+", ignorable=True)] = -1
    error_code: Annotated[int16, Wire("0+")] = 0
    error_message: Annotated[string | None, Wire("0+", nullable="0+")] = None


class DescribeShareGroupOffsetsResponseTopic(Struct, gc=False):
    topic_name: Annotated[string, Wire("0+")] = ""
    topic_id: Annotated[uuid, Wire("0+")] = NO_UUID
    partitions: Annotated[list[DescribeShareGroupOffsetsResponsePartition], Wire("0+")] = []


class DescribeShareGroupOffsetsResponseGroup(Struct, gc=False):
    group_id: Annotated[string, Wire("0+")] = ""
    topics: Annotated[list[DescribeShareGroupOffsetsResponseTopic], Wire("0+")] = []
    error_code: Annotated[int16, Wire("0+")] = 0
    error_message: Annotated[string | None, Wire("0+", nullable="0+")] = None


class DescribeShareGroupOffsetsResponse(Struct, gc=False):
    """The start offset and lag of each share partition."""

    WIRE: ClassVar[Message] = Message("response", versions="0-1", flexible="0+", key=90)

    throttle_time_ms: Annotated[int32, Wire("0+")] = 0
    groups: Annotated[list[DescribeShareGroupOffsetsResponseGroup], Wire("0+")] = []
