"""FetchSnapshot, API key 59."""

from typing import Annotated, ClassVar

from msgspec import Struct, field

from ottla.names import NO_UUID
from ottla.protocol.facts import (
    Message,
    Wire,
    int16,
    int32,
    int64,
    record_data,
    string,
    uint16,
    uuid,
)


class FetchSnapshotRequestSnapshotId(Struct, gc=False):
    end_offset: Annotated[int64, Wire("0+")] = 0
    epoch: Annotated[int32, Wire("0+")] = 0


class FetchSnapshotRequestPartitionSnapshot(Struct, gc=False):
    partition: Annotated[int32, Wire("0+")] = 0
    current_leader_epoch: Annotated[int32, Wire("0+")] = 0
    snapshot_id: Annotated[FetchSnapshotRequestSnapshotId, Wire("0+")] = field(
        default_factory=FetchSnapshotRequestSnapshotId
    )
    position: Annotated[int64, Wire("0+")] = 0
    replica_directory_id: Annotated[uuid, Wire("1+", tag=0, ignorable=True)] = NO_UUID


class FetchSnapshotRequestTopicSnapshot(Struct, gc=False):
    name: Annotated[string, Wire("0+")] = ""
    partitions: Annotated[list[FetchSnapshotRequestPartitionSnapshot], Wire("0+")] = []


class FetchSnapshotRequest(Struct, gc=False):
    """Asks the quorum's leader for a piece of a snapshot."""

    WIRE: ClassVar[Message] = Message(
        "request", versions="0-1", flexible="0+", key=59, listeners=("controller",)
    )

    cluster_id: Annotated[string | None, Wire("0+", nullable="0+", tag=0)] = None
    replica_id: Annotated[int32, Wire("0+")] = -1
    max_bytes: Annotated[int32, Wire("0+")] = 2147483647
    topics: Annotated[list[FetchSnapshotRequestTopicSnapshot], Wire("0+")] = []


class FetchSnapshotResponseSnapshotId(Struct, gc=False):
    end_offset: Annotated[int64, Wire("0+")] = 0
    epoch: Annotated[int32, Wire("0+")] = 0


class LeaderIdAndEpoch(Struct, gc=False):
    leader_id: Annotated[int32, Wire("0+")] = 0
    leader_epoch: Annotated[int32, Wire("0+")] = 0


class FetchSnapshotResponsePartitionSnapshot(Struct, gc=False):
    index: Annotated[int32, Wire("0+")] = 0
    error_code: Annotated[int16, Wire("0+")] = 0
    snapshot_id: Annotated[FetchSnapshotResponseSnapshotId, Wire("0+")] = field(
        default_factory=FetchSnapshotResponseSnapshotId
    )
    current_leader: Annotated[LeaderIdAndEpoch, Wire("0+", tag=0)] = field(
        default_factory=LeaderIdAndEpoch
    )
    size: Annotated[int64, Wire("0+")] = 0
    position: Annotated[int64, Wire("0+")] = 0
    unaligned_records: Annotated[record_data | None, Wire("0+")] = None


class FetchSnapshotResponseTopicSnapshot(Struct, gc=False):
    name: Annotated[string, Wire("0+")] = ""
    partitions: Annotated[list[FetchSnapshotResponsePartitionSnapshot], Wire("0+")] = []


class NodeEndpoint(Struct, gc=False):
    node_id: Annotated[int32, Wire("1+")] = 0
    host: Annotated[string, Wire("1+")] = ""
    port: Annotated[uint16, Wire("1+")] = 0


class FetchSnapshotResponse(Struct, gc=False):
    """A piece of a snapshot, from a position in its file."""

    WIRE: ClassVar[Message] = Message("response", versions="0-1", flexible="0+", key=59)

    throttle_time_ms: Annotated[int32, Wire("0+", ignorable=True)] = 0
    error_code: Annotated[int16, Wire("0+")] = 0
    topics: Annotated[list[FetchSnapshotResponseTopicSnapshot], Wire("0+")] = []
    node_endpoints: Annotated[list[NodeEndpoint], Wire("1+", tag=0)] = []
