"""Produce, API key 0."""

from typing import Annotated, ClassVar

from msgspec import Struct, field

from ottla.names import NO_UUID
from ottla.protocol.facts import Message, Wire, int16, int32, int64, record_data, string, uuid


class PartitionProduceData(Struct, gc=False):
    index: Annotated[int32, Wire("0+")] = 0
    records: Annotated[record_data | None, Wire("0+", nullable="0+")] = None


class TopicProduceData(Struct, gc=False):
    name: Annotated[string, Wire("0-12", ignorable=True)] = ""
    topic_id: Annotated[uuid, Wire("13+", ignorable=True)] = NO_UUID
    partition_data: Annotated[list[PartitionProduceData], Wire("0+")] = []


class ProduceRequest(Struct, gc=False):
    WIRE: ClassVar[Message] = Message(
        "request", versions="3-13", flexible="9+", key=0, listeners=("broker",)
    )

    transactional_id: Annotated[string | None, Wire("3+", nullable="3+")] = None
    acks: Annotated[int16, Wire("0+")] = 0
    timeout_ms: Annotated[int32, Wire("0+")] = 0
    topic_data: Annotated[list[TopicProduceData], Wire("0+")] = []


class BatchIndexAndErrorMessage(Struct, gc=False):
    batch_index: Annotated[int32, Wire("8+")] = 0
    batch_index_error_message: Annotated[string | None, Wire("8+", nullable="8+")] = None


class LeaderIdAndEpoch(Struct, gc=False):
    leader_id: Annotated[int32, Wire("10+")] = -1
    leader_epoch: Annotated[int32, Wire("10+")] = -1


class PartitionProduceResponse(Struct, gc=False):
    index: Annotated[int32, Wire("0+")] = 0
    error_code: Annotated[int16, Wire("0+")] = 0
    base_offset: Annotated[int64, Wire("0+")] = 0
    log_append_time_ms: Annotated[int64, Wire("2+", ignorable=True)] = -1
    log_start_offset: Annotated[int64, Wire("5+", ignorable=True)] = -1
    record_errors: Annotated[list[BatchIndexAndErrorMessage], Wire("8+", ignorable=True)] = []
    error_message: Annotated[string | None, Wire("8+", nullable="8+", ignorable=True)] = None
    current_leader: Annotated[LeaderIdAndEpoch, Wire("10+", tag=0)] = field(
        default_factory=LeaderIdAndEpoch
    )


class TopicProduceResponse(Struct, gc=False):
    name: Annotated[string, Wire("0-12", ignorable=True)] = ""
    topic_id: Annotated[uuid, Wire("13+", ignorable=True)] = NO_UUID
    partition_responses: Annotated[list[PartitionProduceResponse], Wire("0+")] = []


class NodeEndpoint(Struct, gc=False):
    node_id: Annotated[int32, Wire("10+")] = 0
    host: Annotated[string, Wire("10+")] = ""
    port: Annotated[int32, Wire("10+")] = 0
    rack: Annotated[string | None, Wire("10+", nullable="10+")] = None


class ProduceResponse(Struct, gc=False):
    WIRE: ClassVar[Message] = Message("response", versions="3-13", flexible="9+", key=0)

    responses: Annotated[list[TopicProduceResponse], Wire("0+")] = []
    throttle_time_ms: Annotated[int32, Wire("1+", ignorable=True)] = 0
    node_endpoints: Annotated[list[NodeEndpoint], Wire("10+", tag=0)] = []
