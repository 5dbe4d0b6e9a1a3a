"""ShareFetch, API key 78."""

from typing import Annotated, ClassVar

from msgspec import Struct, field

from ottla.names import NO_UUID
from ottla.protocol.facts import (
    Message,
    Wire,
    boolean,
    int8,
    int16,
    int32,
    int64,
    record_data,
    string,
    uuid,
)


class AcknowledgementBatch(Struct, gc=False):
    first_offset: Annotated[int64, Wire("0+")] = 0
    last_offset: Annotated[int64, Wire("0+")] = 0
    acknowledge_types: Annotated[list[int8], Wire("0+")] = []


class FetchPartition(Struct, gc=False):
    partition_index: Annotated[int32, Wire("0+")] = 0
    partition_max_bytes: Annotated[int32, Wire("0")] = 0
    acknowledgement_batches: Annotated[list[AcknowledgementBatch], Wire("0+")] = []


class FetchTopic(Struct, gc=False):
    topic_id: Annotated[uuid, Wire("0+")] = NO_UUID
    partitions: Annotated[list[FetchPartition], Wire("0+")] = []


class ForgottenTopic(Struct, gc=False):
    topic_id: Annotated[uuid, Wire("0+")] = NO_UUID
    partitions: Annotated[list[int32], Wire("0+")] = []


class ShareFetchRequest(Struct, gc=False):
    """Acquires records for a member of a share group; may acknowledge others."""

    WIRE: ClassVar[Message] = Message(
        "request", versions="1-2", flexible="0+", key=78, listeners=("broker",)
    )

    group_id: Annotated[string | None, Wire("0+", nullable="0+")] = None
    member_id: Annotated[string | None, Wire("0+", nullable="0+")] = ""
    share_session_epoch: Annotated[int32, Wire("0+")] = 0
    max_wait_ms: Annotated[int32, Wire("0+")] = 0
    min_bytes: Annotated[int32, Wire("0+")] = 0
    max_bytes: Annotated[int32, Wire("0+")] = 2147483647
    max_records: Annotated[int32, Wire("1+")] = 0
    batch_size: Annotated[int32, Wire("1+")] = 0
    share_acquire_mode: Annotated[int8, Wire("2+", ignorable=True)] = 0
    is_renew_ack: Annotated[boolean, Wire("2+")] = False
    topics: Annotated[list[FetchTopic], Wire("0+")] = []
    forgotten_topics_data: Annotated[list[ForgottenTopic], Wire("0+")] = []


class LeaderIdAndEpoch(Struct, gc=False):
    leader_id: Annotated[int32, Wire("0+")] = 0
    leader_epoch: Annotated[int32, Wire("0+")] = 0


class AcquiredRecords(Struct, gc=False):
    first_offset: Annotated[int64, Wire("0+")] = 0
    last_offset: Annotated[int64, Wire("0+")] = 0
    delivery_count: Annotated[int16, Wire("0+")] = 0


class PartitionData(Struct, gc=False):
    partition_index: Annotated[int32, Wire("0+")] = 0
    error_code: Annotated[int16, Wire("0+")] = 0
    error_message: Annotated[string | None, Wire("0+", nullable="0+")] = None
    acknowledge_error_code: Annotated[int16, Wire("0+")] = 0
    acknowledge_error_message: Annotated[string | None, Wire("0+", nullable="0+")] = None
    current_leader: Annotated[LeaderIdAndEpoch, Wire("0+")] = field(
        default_factory=LeaderIdAndEpoch
    )
    records: Annotated[record_data | None, Wire("0+", nullable="0")] = None
    acquired_records: Annotated[list[AcquiredRecords], Wire("0+")] = []


class ShareFetchableTopicResponse(Struct, gc=False):
    topic_id: Annotated[uuid, Wire("0+")] = NO_UUID
    partitions: Annotated[list[PartitionData], Wire("0+")] = []


class NodeEndpoint(Struct, gc=False):
    node_id: Annotated[int32, Wire("0+")] = 0
    host: Annotated[string, Wire("0+")] = ""
    port: Annotated[int32, Wire("0+")] = 0
    rack: Annotated[string | None, Wire("0+", nullable="0+")] = None


class ShareFetchResponse(Struct, gc=False):
    """The records, and which of them the member has acquired."""

    WIRE: ClassVar[Message] = Message("response", versions="1-2", flexible="0+", key=78)

    throttle_time_ms: Annotated[int32, Wire("0+")] = 0
    error_code: Annotated[int16, Wire("0+")] = 0
    error_message: Annotated[string | None, Wire("0+", nullable="0+")] = None
    acquisition_lock_timeout_ms: Annotated[int32, Wire("1+")] = 0
    responses: Annotated[list[ShareFetchableTopicResponse], Wire("0+")] = []
    node_endpoints: Annotated[list[NodeEndpoint], Wire("0+")] = []
