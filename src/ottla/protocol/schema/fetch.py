"""Fetch, API key 1."""

from typing import Annotated, ClassVar

from msgspec import Struct, field

from ottla.names import NO_UUID
from ottla.protocol.facts import Message, Wire, int8, int16, int32, int64, record_data, string, uuid


class ReplicaState(Struct, gc=False):
    replica_id: Annotated[
        int32, Wire("15+", about="The follower's node id; -1 for a consumer.")
    ] = -1
    replica_epoch: Annotated[
        int64,
        Wire(
            "15+",
            about="The follower's broker epoch, so that one from before a restart is refused.",
        ),
    ] = -1


class FetchPartition(Struct, gc=False):
    partition: Annotated[int32, Wire("0+", about="The partition.")] = 0
    current_leader_epoch: Annotated[
        int32,
        Wire("9+", ignorable=True, about="The epoch that the reader believes in; -1 to take any."),
    ] = -1
    fetch_offset: Annotated[
        int64, Wire("0+", about="The first offset wanted; for a follower also what it has.")
    ] = 0
    last_fetched_epoch: Annotated[
        int32,
        Wire("12+", about="The epoch of its last record, by which divergence is found (KIP-595)."),
    ] = -1
    log_start_offset: Annotated[
        int64,
        Wire("5+", ignorable=True, about="Where a follower's own log begins; -1 from a consumer."),
    ] = -1
    partition_max_bytes: Annotated[
        int32,
        Wire("0+", about="How much of this partition; its first batch comes whole all the same."),
    ] = 0
    replica_directory_id: Annotated[
        uuid, Wire("17+", tag=0, ignorable=True, about="In which directory the follower keeps it.")
    ] = NO_UUID
    high_watermark: Annotated[
        int64,
        Wire(
            "18+",
            tag=1,
            ignorable=True,
            about="What a follower takes for the high watermark; a newer one is sent at once.",
        ),
    ] = 9223372036854775807


class FetchTopic(Struct, gc=False):
    topic: Annotated[
        string, Wire("0-12", ignorable=True, about="The topic, until ids took its place.")
    ] = ""
    topic_id: Annotated[uuid, Wire("13+", ignorable=True, about="The topic.")] = NO_UUID
    partitions: Annotated[list[FetchPartition], Wire("0+", about="What to read of it.")] = []


class ForgottenTopic(Struct, gc=False):
    topic: Annotated[
        string, Wire("7-12", ignorable=True, about="The topic, until ids took its place.")
    ] = ""
    topic_id: Annotated[uuid, Wire("13+", ignorable=True, about="The topic.")] = NO_UUID
    partitions: Annotated[
        list[int32], Wire("7+", about="Which of its partitions leave the session.")
    ] = []


class FetchRequest(Struct, gc=False):
    """Reads records; followers and the Raft quorum copy logs with it too."""

    WIRE: ClassVar[Message] = Message(
        "request", versions="4-18", flexible="12+", key=1, listeners=("broker", "controller")
    )

    cluster_id: Annotated[
        string | None,
        Wire(
            "12+",
            nullable="12+",
            tag=0,
            ignorable=True,
            about="Raft only: refuses readers of another cluster.",
        ),
    ] = None
    replica_id: Annotated[
        int32, Wire("0-14", about="The follower's node id, until version 15; -1 for a consumer.")
    ] = -1
    replica_state: Annotated[
        ReplicaState, Wire("15+", tag=1, about="Who the follower is, since version 15.")
    ] = field(default_factory=ReplicaState)
    max_wait_ms: Annotated[int32, Wire("0+", about="How long to wait for `min_bytes`.")] = 0
    min_bytes: Annotated[
        int32, Wire("0+", about="How much there must be before the wait ends early.")
    ] = 0
    max_bytes: Annotated[
        int32,
        Wire(
            "3+", ignorable=True, about="How much in all; the first batch comes whole all the same."
        ),
    ] = 2147483647
    isolation_level: Annotated[
        int8,
        Wire(
            "4+",
            ignorable=True,
            about="0 reads up to the high watermark, 1 only what is committed.",
        ),
    ] = 0
    session_id: Annotated[
        int32,
        Wire("7+", ignorable=True, about="The session that this continues; 0 for none (KIP-227)."),
    ] = 0
    session_epoch: Annotated[
        int32,
        Wire(
            "7+",
            ignorable=True,
            about="Counts the session's requests: 0 begins one, -1 wants none or ends it.",
        ),
    ] = -1
    topics: Annotated[
        list[FetchTopic],
        Wire("0+", about="What to read; in a session, what changed since the last request."),
    ] = []
    forgotten_topics_data: Annotated[
        list[ForgottenTopic], Wire("7+", about="Partitions that leave the session.")
    ] = []
    rack_id: Annotated[
        string,
        Wire(
            "11+",
            ignorable=True,
            about="The reader's rack, so that a nearer replica may be named (KIP-392).",
        ),
    ] = ""


class EpochEndOffset(Struct, gc=False):
    epoch: Annotated[int32, Wire("12+", about="The last epoch that both logs share.")] = -1
    end_offset: Annotated[int64, Wire("12+", about="Where that epoch ends at the leader.")] = -1


class LeaderIdAndEpoch(Struct, gc=False):
    leader_id: Annotated[
        int32, Wire("12+", about="Who leads the partition now; -1 when unknown.")
    ] = -1
    leader_epoch: Annotated[int32, Wire("12+", about="And in which epoch.")] = -1


class SnapshotId(Struct, gc=False):
    end_offset: Annotated[
        int64, Wire("0+", about="The offset after the snapshot's last record.")
    ] = -1
    epoch: Annotated[int32, Wire("0+", about="The epoch of that record.")] = -1


class AbortedTransaction(Struct, gc=False):
    producer_id: Annotated[int64, Wire("4+", about="Whose transaction it was.")] = 0
    first_offset: Annotated[int64, Wire("4+", about="Its first record in this partition.")] = 0


class PartitionData(Struct, gc=False):
    partition_index: Annotated[int32, Wire("0+", about="The partition.")] = 0
    error_code: Annotated[int16, Wire("0+", about="Why there are no records, or 0.")] = 0
    high_watermark: Annotated[
        int64, Wire("0+", about="Records below it are safe to read; -1 when unknown.")
    ] = 0
    last_stable_offset: Annotated[
        int64, Wire("4+", ignorable=True, about="No transaction is open below it.")
    ] = -1
    log_start_offset: Annotated[
        int64, Wire("5+", ignorable=True, about="Where the log begins.")
    ] = -1
    diverging_epoch: Annotated[
        EpochEndOffset,
        Wire("12+", tag=0, about="Set when the reader's log diverged: where to cut."),
    ] = field(default_factory=EpochEndOffset)
    current_leader: Annotated[
        LeaderIdAndEpoch,
        Wire("12+", tag=1, about="Set when another leads: where to go instead (KIP-951)."),
    ] = field(default_factory=LeaderIdAndEpoch)
    snapshot_id: Annotated[
        SnapshotId,
        Wire(
            "12+",
            tag=2,
            about="Raft only: set when the offset is gone, and this snapshot is to be had.",
        ),
    ] = field(default_factory=SnapshotId)
    aborted_transactions: Annotated[
        list[AbortedTransaction] | None,
        Wire(
            "4+",
            nullable="4+",
            ignorable=True,
            about="Whose records to drop when reading committed; null for others.",
        ),
    ] = []
    preferred_read_replica: Annotated[
        int32, Wire("11+", about="A nearer replica to read from; -1 for none.")
    ] = -1
    records: Annotated[
        record_data | None,
        Wire("0+", nullable="0+", about="Whole batches, the last of which may be cut short."),
    ] = None


class FetchableTopicResponse(Struct, gc=False):
    topic: Annotated[
        string, Wire("0-12", ignorable=True, about="The topic, until ids took its place.")
    ] = ""
    topic_id: Annotated[uuid, Wire("13+", ignorable=True, about="The topic.")] = NO_UUID
    partitions: Annotated[list[PartitionData], Wire("0+", about="What was read of it.")] = []


class NodeEndpoint(Struct, gc=False):
    node_id: Annotated[int32, Wire("16+", about="A broker named as a current leader.")] = 0
    host: Annotated[string, Wire("16+", about="Where it is to be reached.")] = ""
    port: Annotated[int32, Wire("16+", about="And on which port.")] = 0
    rack: Annotated[
        string | None, Wire("16+", nullable="16+", about="Its rack, if it has one.")
    ] = None


class FetchResponse(Struct, gc=False):
    """Records of each partition, with how far each log may be read."""

    WIRE: ClassVar[Message] = Message("response", versions="4-18", flexible="12+", key=1)

    throttle_time_ms: Annotated[
        int32,
        Wire("1+", ignorable=True, about="For how long the client must pause, because of a quota."),
    ] = 0
    error_code: Annotated[
        int16, Wire("7+", ignorable=True, about="What is wrong with the session as a whole, or 0.")
    ] = 0
    session_id: Annotated[int32, Wire("7+", about="The session, or 0 when there is none.")] = 0
    responses: Annotated[
        list[FetchableTopicResponse],
        Wire("0+", about="What was read; in a session, only partitions with something to say."),
    ] = []
    node_endpoints: Annotated[
        list[NodeEndpoint], Wire("16+", tag=0, about="How to reach the leaders named above.")
    ] = []
