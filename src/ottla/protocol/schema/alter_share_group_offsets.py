"""AlterShareGroupOffsets, API key 91."""

from typing import Annotated, ClassVar

from msgspec import Struct

from ottla.names import NO_UUID
from ottla.protocol.facts import Message, Wire, int16, int32, int64, string, uuid


class AlterShareGroupOffsetsRequestPartition(Struct, gc=False):
    partition_index: Annotated[int32, Wire("0+")] = 0
    start_offset: Annotated[int64, Wire("0+")] = 0


class AlterShareGroupOffsetsRequestTopic(Struct, gc=False):
    topic_name: Annotated[string, Wire("0+")] = ""
    partitions: Annotated[list[AlterShareGroupOffsetsRequestPartition], Wire("0+")] = []


class AlterShareGroupOffsetsRequest(Struct, gc=False):
    """Sets the start offsets of a share group that nobody uses just now."""

    WIRE: ClassVar[Message] = Message(
        "request", versions="0", flexible="0+", key=91, listeners=("broker",)
    )

    group_id: Annotated[string, Wire("0+")] = ""
    topics: Annotated[list[AlterShareGroupOffsetsRequestTopic], Wire("0+")] = []


class AlterShareGroupOffsetsResponsePartition(Struct, gc=False):
    partition_index: Annotated[int32, Wire("0+")] = 0
    error_code: Annotated[int16, Wire("0+")] = 0
    error_message: Annotated[string | None, Wire("0+", nullable="0+")] = None


class AlterShareGroupOffsetsResponseTopic(Struct, gc=False):
    topic_name: Annotated[string, Wire("0+")] = ""
    topic_id: Annotated[uuid, Wire("0+")] = NO_UUID
    partitions: Annotated[list[AlterShareGroupOffsetsResponsePartition], Wire("0+")] = []


class AlterShareGroupOffsetsResponse(Struct, gc=False):
    """Which start offsets were set."""

    WIRE: ClassVar[Message] = Message("response", versions="0", flexible="0+", key=91)

    throttle_time_ms: Annotated[int32, Wire("0+")] = 0
    error_code: Annotated[int16, Wire("0+")] = 0
    error_message: Annotated[string | None, Wire("0+", nullable="0+")] = None
    responses: Annotated[list[AlterShareGroupOffsetsResponseTopic], Wire("0+")] = []
