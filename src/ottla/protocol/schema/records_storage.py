"""Producer snapshots, and records of remote log segments."""

from typing import Annotated, ClassVar

from msgspec import Struct, field

from ottla.names import NO_UUID
from ottla.protocol.facts import (
    Message,
    Wire,
    blob,
    boolean,
    int8,
    int16,
    int32,
    int64,
    string,
    uint32,
    uuid,
)


class ProducerEntry(Struct, gc=False):
    producer_id: Annotated[int64, Wire("1")] = 0
    epoch: Annotated[int16, Wire("1")] = 0
    last_sequence: Annotated[int32, Wire("1")] = 0
    last_offset: Annotated[int64, Wire("1")] = 0
    offset_delta: Annotated[int32, Wire("1")] = 0
    timestamp: Annotated[int64, Wire("1")] = 0
    coordinator_epoch: Annotated[int32, Wire("1")] = 0
    current_txn_first_offset: Annotated[int64, Wire("1")] = 0


class ProducerSnapshot(Struct, gc=False):
    """A `.snapshot` file: each producer's last batch and open transaction."""

    WIRE: ClassVar[Message] = Message("data", versions="1", flexible="none")

    crc: Annotated[uint32, Wire("1")] = 0
    producer_entries: Annotated[list[ProducerEntry], Wire("1")] = []


class RemoteLogSegmentMetadataRecordTopicIdPartitionEntry(Struct, gc=False):
    name: Annotated[string, Wire("0+")] = ""
    id: Annotated[uuid, Wire("0+")] = NO_UUID
    partition: Annotated[int32, Wire("0+")] = 0


class RemoteLogSegmentMetadataRecordRemoteLogSegmentIdEntry(Struct, gc=False):
    topic_id_partition: Annotated[
        RemoteLogSegmentMetadataRecordTopicIdPartitionEntry, Wire("0+")
    ] = field(default_factory=RemoteLogSegmentMetadataRecordTopicIdPartitionEntry)
    id: Annotated[uuid, Wire("0+")] = NO_UUID


class RemoteLogSegmentMetadataRecordSegmentLeaderEpochEntry(Struct, gc=False):
    leader_epoch: Annotated[int32, Wire("0+")] = 0
    offset: Annotated[int64, Wire("0+")] = 0


class RemoteLogSegmentMetadataRecord(Struct, gc=False):
    """A segment is being copied to remote storage."""

    WIRE: ClassVar[Message] = Message("metadata", versions="0", flexible="0+", key=0)

    remote_log_segment_id: Annotated[
        RemoteLogSegmentMetadataRecordRemoteLogSegmentIdEntry, Wire("0+")
    ] = field(default_factory=RemoteLogSegmentMetadataRecordRemoteLogSegmentIdEntry)
    start_offset: Annotated[int64, Wire("0+")] = 0
    end_offset: Annotated[int64, Wire("0+")] = 0
    broker_id: Annotated[int32, Wire("0+")] = 0
    max_timestamp_ms: Annotated[int64, Wire("0+")] = 0
    event_timestamp_ms: Annotated[int64, Wire("0+")] = 0
    segment_leader_epochs: Annotated[
        list[RemoteLogSegmentMetadataRecordSegmentLeaderEpochEntry], Wire("0+")
    ] = []
    segment_size_in_bytes: Annotated[int32, Wire("0+")] = 0
    custom_metadata: Annotated[blob | None, Wire("0+", nullable="0+")] = None
    remote_log_segment_state: Annotated[int8, Wire("0+")] = 0
    txn_index_empty: Annotated[boolean, Wire("0+", tag=0)] = False


class RemoteLogSegmentMetadataSnapshotRecordSegmentLeaderEpochEntry(Struct, gc=False):
    leader_epoch: Annotated[int32, Wire("0+")] = 0
    offset: Annotated[int64, Wire("0+")] = 0


class RemoteLogSegmentMetadataSnapshotRecord(Struct, gc=False):
    """What is known of a remote segment, in a snapshot."""

    WIRE: ClassVar[Message] = Message("metadata", versions="0", flexible="0+", key=3)

    segment_id: Annotated[uuid, Wire("0+")] = NO_UUID
    start_offset: Annotated[int64, Wire("0+")] = 0
    end_offset: Annotated[int64, Wire("0+")] = 0
    broker_id: Annotated[int32, Wire("0+")] = 0
    max_timestamp_ms: Annotated[int64, Wire("0+")] = 0
    event_timestamp_ms: Annotated[int64, Wire("0+")] = 0
    segment_leader_epochs: Annotated[
        list[RemoteLogSegmentMetadataSnapshotRecordSegmentLeaderEpochEntry], Wire("0+")
    ] = []
    segment_size_in_bytes: Annotated[int32, Wire("0+")] = 0
    custom_metadata: Annotated[blob | None, Wire("0+", nullable="0+")] = None
    remote_log_segment_state: Annotated[int8, Wire("0+")] = 0
    txn_index_empty: Annotated[boolean, Wire("0+", tag=0)] = False


class RemoteLogSegmentMetadataUpdateRecordTopicIdPartitionEntry(Struct, gc=False):
    name: Annotated[string, Wire("0+")] = ""
    id: Annotated[uuid, Wire("0+")] = NO_UUID
    partition: Annotated[int32, Wire("0+")] = 0


class RemoteLogSegmentMetadataUpdateRecordRemoteLogSegmentIdEntry(Struct, gc=False):
    topic_id_partition: Annotated[
        RemoteLogSegmentMetadataUpdateRecordTopicIdPartitionEntry, Wire("0+")
    ] = field(default_factory=RemoteLogSegmentMetadataUpdateRecordTopicIdPartitionEntry)
    id: Annotated[uuid, Wire("0+")] = NO_UUID


class RemoteLogSegmentMetadataUpdateRecord(Struct, gc=False):
    """A remote segment has another state."""

    WIRE: ClassVar[Message] = Message("metadata", versions="0", flexible="0+", key=1)

    remote_log_segment_id: Annotated[
        RemoteLogSegmentMetadataUpdateRecordRemoteLogSegmentIdEntry, Wire("0+")
    ] = field(default_factory=RemoteLogSegmentMetadataUpdateRecordRemoteLogSegmentIdEntry)
    broker_id: Annotated[int32, Wire("0+")] = 0
    event_timestamp_ms: Annotated[int64, Wire("0+")] = 0
    custom_metadata: Annotated[blob | None, Wire("0+", nullable="0+")] = None
    remote_log_segment_state: Annotated[int8, Wire("0+")] = 0


class RemotePartitionDeleteMetadataRecordTopicIdPartitionEntry(Struct, gc=False):
    name: Annotated[string, Wire("0+")] = ""
    id: Annotated[uuid, Wire("0+")] = NO_UUID
    partition: Annotated[int32, Wire("0+")] = 0


class RemotePartitionDeleteMetadataRecord(Struct, gc=False):
    """How far the deletion of a partition's remote segments came."""

    WIRE: ClassVar[Message] = Message("metadata", versions="0", flexible="0+", key=2)

    topic_id_partition: Annotated[
        RemotePartitionDeleteMetadataRecordTopicIdPartitionEntry, Wire("0+")
    ] = field(default_factory=RemotePartitionDeleteMetadataRecordTopicIdPartitionEntry)
    broker_id: Annotated[int32, Wire("0+")] = 0
    event_timestamp_ms: Annotated[int64, Wire("0+")] = 0
    remote_partition_delete_state: Annotated[int8, Wire("0+")] = 0
