"""AssignReplicasToDirs, API key 73."""

from typing import Annotated, ClassVar

from msgspec import Struct

from ottla.names import NO_UUID
from ottla.protocol.facts import Message, Wire, int16, int32, int64, uuid


class AssignReplicasToDirsRequestPartitionData(Struct, gc=False):
    partition_index: Annotated[int32, Wire("0+")] = 0


class AssignReplicasToDirsRequestTopicData(Struct, gc=False):
    topic_id: Annotated[uuid, Wire("0+")] = NO_UUID
    partitions: Annotated[list[AssignReplicasToDirsRequestPartitionData], Wire("0+")] = []


class AssignReplicasToDirsRequestDirectoryData(Struct, gc=False):
    id: Annotated[uuid, Wire("0+")] = NO_UUID
    topics: Annotated[list[AssignReplicasToDirsRequestTopicData], Wire("0+")] = []


class AssignReplicasToDirsRequest(Struct, gc=False):
    """A broker tells the controller in which directory each replica lies (KIP-858)."""

    WIRE: ClassVar[Message] = Message(
        "request", versions="0", flexible="0+", key=73, listeners=("controller",)
    )

    broker_id: Annotated[int32, Wire("0+")] = 0
    broker_epoch: Annotated[int64, Wire("0+")] = -1
    directories: Annotated[list[AssignReplicasToDirsRequestDirectoryData], Wire("0+")] = []


class AssignReplicasToDirsResponsePartitionData(Struct, gc=False):
    partition_index: Annotated[int32, Wire("0+")] = 0
    error_code: Annotated[int16, Wire("0+")] = 0


class AssignReplicasToDirsResponseTopicData(Struct, gc=False):
    topic_id: Annotated[uuid, Wire("0+")] = NO_UUID
    partitions: Annotated[list[AssignReplicasToDirsResponsePartitionData], Wire("0+")] = []


class AssignReplicasToDirsResponseDirectoryData(Struct, gc=False):
    id: Annotated[uuid, Wire("0+")] = NO_UUID
    topics: Annotated[list[AssignReplicasToDirsResponseTopicData], Wire("0+")] = []


class AssignReplicasToDirsResponse(Struct, gc=False):
    """Which placements the controller took note of."""

    WIRE: ClassVar[Message] = Message("response", versions="0", flexible="0+", key=73)

    throttle_time_ms: Annotated[int32, Wire("0+")] = 0
    error_code: Annotated[int16, Wire("0+")] = 0
    directories: Annotated[list[AssignReplicasToDirsResponseDirectoryData], Wire("0+")] = []
