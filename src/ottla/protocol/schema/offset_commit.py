"""OffsetCommit, API key 8."""

from typing import Annotated, ClassVar

from msgspec import Struct

from ottla.names import NO_UUID
from ottla.protocol.facts import Message, Wire, int16, int32, int64, string, uuid


class OffsetCommitRequestPartition(Struct, gc=False):
    partition_index: Annotated[int32, Wire("0+")] = 0
    committed_offset: Annotated[int64, Wire("0+")] = 0
    committed_leader_epoch: Annotated[int32, Wire("6+", ignorable=True)] = -1
    committed_metadata: Annotated[string | None, Wire("0+", nullable="0+")] = ""


class OffsetCommitRequestTopic(Struct, gc=False):
    name: Annotated[string, Wire("0-9", ignorable=True)] = ""
    topic_id: Annotated[uuid, Wire("10+", ignorable=True)] = NO_UUID
    partitions: Annotated[list[OffsetCommitRequestPartition], Wire("0+")] = []


class OffsetCommitRequest(Struct, gc=False):
    """Stores how far a group has read."""

    WIRE: ClassVar[Message] = Message(
        "request", versions="2-10", flexible="8+", key=8, listeners=("broker",)
    )

    group_id: Annotated[string, Wire("0+")] = ""
    generation_id_or_member_epoch: Annotated[int32, Wire("1+", ignorable=True)] = -1
    member_id: Annotated[string, Wire("1+", ignorable=True)] = ""
    group_instance_id: Annotated[string | None, Wire("7+", nullable="7+")] = None
    retention_time_ms: Annotated[int64, Wire("2-4", ignorable=True)] = -1
    topics: Annotated[list[OffsetCommitRequestTopic], Wire("0+")] = []


class OffsetCommitResponsePartition(Struct, gc=False):
    partition_index: Annotated[int32, Wire("0+")] = 0
    error_code: Annotated[int16, Wire("0+")] = 0


class OffsetCommitResponseTopic(Struct, gc=False):
    name: Annotated[string, Wire("0-9", ignorable=True)] = ""
    topic_id: Annotated[uuid, Wire("10+", ignorable=True)] = NO_UUID
    partitions: Annotated[list[OffsetCommitResponsePartition], Wire("0+")] = []


class OffsetCommitResponse(Struct, gc=False):
    """Which offsets were stored."""

    WIRE: ClassVar[Message] = Message("response", versions="2-10", flexible="8+", key=8)

    throttle_time_ms: Annotated[int32, Wire("3+", ignorable=True)] = 0
    topics: Annotated[list[OffsetCommitResponseTopic], Wire("0+")] = []
