"""OffsetFetch, API key 9."""

from typing import Annotated, ClassVar

from msgspec import Struct

from ottla.names import NO_UUID
from ottla.protocol.facts import Message, Wire, boolean, int16, int32, int64, string, uuid


class OffsetFetchRequestTopic(Struct, gc=False):
    name: Annotated[string, Wire("0-7")] = ""
    partition_indexes: Annotated[list[int32], Wire("0-7")] = []


class OffsetFetchRequestTopics(Struct, gc=False):
    name: Annotated[string, Wire("8-9", ignorable=True)] = ""
    topic_id: Annotated[uuid, Wire("10+", ignorable=True)] = NO_UUID
    partition_indexes: Annotated[list[int32], Wire("8+")] = []


class OffsetFetchRequestGroup(Struct, gc=False):
    group_id: Annotated[string, Wire("8+")] = ""
    member_id: Annotated[string | None, Wire("9+", nullable="9+", ignorable=True)] = None
    member_epoch: Annotated[int32, Wire("9+", ignorable=True)] = -1
    topics: Annotated[list[OffsetFetchRequestTopics] | None, Wire("8+", nullable="8+")] = []


class OffsetFetchRequest(Struct, gc=False):
    """Asks how far groups have read."""

    WIRE: ClassVar[Message] = Message(
        "request", versions="1-10", flexible="6+", key=9, listeners=("broker",)
    )

    group_id: Annotated[string, Wire("0-7")] = ""
    topics: Annotated[list[OffsetFetchRequestTopic] | None, Wire("0-7", nullable="2-7")] = []
    groups: Annotated[list[OffsetFetchRequestGroup], Wire("8+")] = []
    require_stable: Annotated[boolean, Wire("7+")] = False


class OffsetFetchResponsePartition(Struct, gc=False):
    partition_index: Annotated[int32, Wire("0-7")] = 0
    committed_offset: Annotated[int64, Wire("0-7")] = 0
    committed_leader_epoch: Annotated[int32, Wire("5-7", ignorable=True)] = -1
    metadata: Annotated[string | None, Wire("0-7", nullable="0-7")] = ""
    error_code: Annotated[int16, Wire("0-7")] = 0


class OffsetFetchResponseTopic(Struct, gc=False):
    name: Annotated[string, Wire("0-7")] = ""
    partitions: Annotated[list[OffsetFetchResponsePartition], Wire("0-7")] = []


class OffsetFetchResponsePartitions(Struct, gc=False):
    partition_index: Annotated[int32, Wire("8+")] = 0
    committed_offset: Annotated[int64, Wire("8+")] = 0
    committed_leader_epoch: Annotated[int32, Wire("8+", ignorable=True)] = -1
    metadata: Annotated[string | None, Wire("8+", nullable="8+")] = ""
    error_code: Annotated[int16, Wire("8+")] = 0


class OffsetFetchResponseTopics(Struct, gc=False):
    name: Annotated[string, Wire("8-9", ignorable=True)] = ""
    topic_id: Annotated[uuid, Wire("10+", ignorable=True)] = NO_UUID
    partitions: Annotated[list[OffsetFetchResponsePartitions], Wire("8+")] = []


class OffsetFetchResponseGroup(Struct, gc=False):
    group_id: Annotated[string, Wire("8+")] = ""
    topics: Annotated[list[OffsetFetchResponseTopics], Wire("8+")] = []
    error_code: Annotated[int16, Wire("8+")] = 0


class OffsetFetchResponse(Struct, gc=False):
    """The stored offsets, -1 where there is none."""

    WIRE: ClassVar[Message] = Message("response", versions="1-10", flexible="6+", key=9)

    throttle_time_ms: Annotated[int32, Wire("3+", ignorable=True)] = 0
    topics: Annotated[list[OffsetFetchResponseTopic], Wire("0-7")] = []
    error_code: Annotated[int16, Wire("2-7", ignorable=True)] = 0
    groups: Annotated[list[OffsetFetchResponseGroup], Wire("8+")] = []
