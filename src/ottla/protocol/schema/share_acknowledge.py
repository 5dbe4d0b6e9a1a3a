"""ShareAcknowledge, API key 79."""

from typing import Annotated, ClassVar

from msgspec import Struct, field

from ottla.names import NO_UUID
from ottla.protocol.facts import Message, Wire, boolean, int8, int16, int32, int64, string, uuid


class AcknowledgementBatch(Struct, gc=False):
    first_offset: Annotated[int64, Wire("0+")] = 0
    last_offset: Annotated[int64, Wire("0+")] = 0
    acknowledge_types: Annotated[list[int8], Wire("0+")] = []


class AcknowledgePartition(Struct, gc=False):
    partition_index: Annotated[int32, Wire("0+")] = 0
    acknowledgement_batches: Annotated[list[AcknowledgementBatch], Wire("0+")] = []


class AcknowledgeTopic(Struct, gc=False):
    topic_id: Annotated[uuid, Wire("0+")] = NO_UUID
    partitions: Annotated[list[AcknowledgePartition], Wire("0+")] = []


class ShareAcknowledgeRequest(Struct, gc=False):
    """Says what became of records that a share group's member acquired."""

    WIRE: ClassVar[Message] = Message(
        "request", versions="1-2", flexible="0+", key=79, listeners=("broker",)
    )

    group_id: Annotated[string | None, Wire("0+", nullable="0+")] = None
    member_id: Annotated[string | None, Wire("0+", nullable="0+")] = ""
    share_session_epoch: Annotated[int32, Wire("0+")] = 0
    is_renew_ack: Annotated[boolean, Wire("2+")] = False
    topics: Annotated[list[AcknowledgeTopic], Wire("0+")] = []


class LeaderIdAndEpoch(Struct, gc=False):
    leader_id: Annotated[int32, Wire("0+")] = 0
    leader_epoch: Annotated[int32, Wire("0+")] = 0


class PartitionData(Struct, gc=False):
    partition_index: Annotated[int32, Wire("0+")] = 0
    error_code: Annotated[int16, Wire("0+")] = 0
    error_message: Annotated[string | None, Wire("0+", nullable="0+")] = None
    current_leader: Annotated[LeaderIdAndEpoch, Wire("0+")] = field(
        default_factory=LeaderIdAndEpoch
    )


class ShareAcknowledgeTopicResponse(Struct, gc=False):
    topic_id: Annotated[uuid, Wire("0+")] = NO_UUID
    partitions: Annotated[list[PartitionData], Wire("0+")] = []


class NodeEndpoint(Struct, gc=False):
    node_id: Annotated[int32, Wire("0+")] = 0
    host: Annotated[string, Wire("0+")] = ""
    port: Annotated[int32, Wire("0+")] = 0
    rack: Annotated[string | None, Wire("0+", nullable="0+")] = None


class ShareAcknowledgeResponse(Struct, gc=False):
    """Which acknowledgements were taken."""

    WIRE: ClassVar[Message] = Message("response", versions="1-2", flexible="0+", key=79)

    throttle_time_ms: Annotated[int32, Wire("0+")] = 0
    error_code: Annotated[int16, Wire("0+")] = 0
    error_message: Annotated[string | None, Wire("0+", nullable="0+")] = None
    acquisition_lock_timeout_ms: Annotated[int32, Wire("2+", ignorable=True)] = 0
    responses: Annotated[list[ShareAcknowledgeTopicResponse], Wire("0+")] = []
    node_endpoints: Annotated[list[NodeEndpoint], Wire("0+")] = []
