"""Fetch, API key 1."""

from typing import Annotated, ClassVar

from msgspec import Struct, field

from ottla.names import NO_UUID
from ottla.protocol.facts import Message, Wire, int8, int16, int32, int64, record_data, string, uuid


class ReplicaState(Struct, gc=False):
    replica_id: Annotated[int32, Wire("15+")] = -1
    replica_epoch: Annotated[int64, Wire("15+")] = -1


class FetchPartition(Struct, gc=False):
    partition: Annotated[int32, Wire("0+")] = 0
    current_leader_epoch: Annotated[int32, Wire("9+", ignorable=True)] = -1
    fetch_offset: Annotated[int64, Wire("0+")] = 0
    last_fetched_epoch: Annotated[int32, Wire("12+")] = -1
    log_start_offset: Annotated[int64, Wire("5+", ignorable=True)] = -1
    partition_max_bytes: Annotated[int32, Wire("0+")] = 0
    replica_directory_id: Annotated[uuid, Wire("17+", tag=0, ignorable=True)] = NO_UUID
    high_watermark: Annotated[int64, Wire("18+", tag=1, ignorable=True)] = 9223372036854775807


class FetchTopic(Struct, gc=False):
    topic: Annotated[string, Wire("0-12", ignorable=True)] = ""
    topic_id: Annotated[uuid, Wire("13+", ignorable=True)] = NO_UUID
    partitions: Annotated[list[FetchPartition], Wire("0+")] = []


class ForgottenTopic(Struct, gc=False):
    topic: Annotated[string, Wire("7-12", ignorable=True)] = ""
    topic_id: Annotated[uuid, Wire("13+", ignorable=True)] = NO_UUID
    partitions: Annotated[list[int32], Wire("7+")] = []


class FetchRequest(Struct, gc=False):
    WIRE: ClassVar[Message] = Message(
        "request", versions="4-18", flexible="12+", key=1, listeners=("broker", "controller")
    )

    cluster_id: Annotated[string | None, Wire("12+", nullable="12+", tag=0, ignorable=True)] = None
    replica_id: Annotated[int32, Wire("0-14")] = -1
    replica_state: Annotated[ReplicaState, Wire("15+", tag=1)] = field(default_factory=ReplicaState)
    max_wait_ms: Annotated[int32, Wire("0+")] = 0
    min_bytes: Annotated[int32, Wire("0+")] = 0
    max_bytes: Annotated[int32, Wire("3+", ignorable=True)] = 2147483647
    isolation_level: Annotated[int8, Wire("4+", ignorable=True)] = 0
    session_id: Annotated[int32, Wire("7+", ignorable=True)] = 0
    session_epoch: Annotated[int32, Wire("7+", ignorable=True)] = -1
    topics: Annotated[list[FetchTopic], Wire("0+")] = []
    forgotten_topics_data: Annotated[list[ForgottenTopic], Wire("7+")] = []
    rack_id: Annotated[string, Wire("11+", ignorable=True)] = ""


class EpochEndOffset(Struct, gc=False):
    epoch: Annotated[int32, Wire("12+")] = -1
    end_offset: Annotated[int64, Wire("12+")] = -1


class LeaderIdAndEpoch(Struct, gc=False):
    leader_id: Annotated[int32, Wire("12+")] = -1
    leader_epoch: Annotated[int32, Wire("12+")] = -1


class SnapshotId(Struct, gc=False):
    end_offset: Annotated[int64, Wire("0+")] = -1
    epoch: Annotated[int32, Wire("0+")] = -1


class AbortedTransaction(Struct, gc=False):
    producer_id: Annotated[int64, Wire("4+")] = 0
    first_offset: Annotated[int64, Wire("4+")] = 0


class PartitionData(Struct, gc=False):
    partition_index: Annotated[int32, Wire("0+")] = 0
    error_code: Annotated[int16, Wire("0+")] = 0
    high_watermark: Annotated[int64, Wire("0+")] = 0
    last_stable_offset: Annotated[int64, Wire("4+", ignorable=True)] = -1
    log_start_offset: Annotated[int64, Wire("5+", ignorable=True)] = -1
    diverging_epoch: Annotated[EpochEndOffset, Wire("12+", tag=0)] = field(
        default_factory=EpochEndOffset
    )
    current_leader: Annotated[LeaderIdAndEpoch, Wire("12+", tag=1)] = field(
        default_factory=LeaderIdAndEpoch
    )
    snapshot_id: Annotated[SnapshotId, Wire("12+", tag=2)] = field(default_factory=SnapshotId)
    aborted_transactions: Annotated[
        list[AbortedTransaction] | None, Wire("4+", nullable="4+", ignorable=True)
    ] = []
    preferred_read_replica: Annotated[int32, Wire("11+")] = -1
    records: Annotated[record_data | None, Wire("0+", nullable="0+")] = None


class FetchableTopicResponse(Struct, gc=False):
    topic: Annotated[string, Wire("0-12", ignorable=True)] = ""
    topic_id: Annotated[uuid, Wire("13+", ignorable=True)] = NO_UUID
    partitions: Annotated[list[PartitionData], Wire("0+")] = []


class NodeEndpoint(Struct, gc=False):
    node_id: Annotated[int32, Wire("16+")] = 0
    host: Annotated[string, Wire("16+")] = ""
    port: Annotated[int32, Wire("16+")] = 0
    rack: Annotated[string | None, Wire("16+", nullable="16+")] = None


class FetchResponse(Struct, gc=False):
    WIRE: ClassVar[Message] = Message("response", versions="4-18", flexible="12+", key=1)

    throttle_time_ms: Annotated[int32, Wire("1+", ignorable=True)] = 0
    error_code: Annotated[int16, Wire("7+", ignorable=True)] = 0
    session_id: Annotated[int32, Wire("7+")] = 0
    responses: Annotated[list[FetchableTopicResponse], Wire("0+")] = []
    node_endpoints: Annotated[list[NodeEndpoint], Wire("16+", tag=0)] = []
