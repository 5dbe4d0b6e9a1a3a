"""Produce, API key 0."""

from typing import Annotated, ClassVar

from msgspec import Struct, field

from ottla.names import NO_UUID
from ottla.protocol.facts import Message, Wire, int16, int32, int64, record_data, string, uuid


class PartitionProduceData(Struct, gc=False):
    index: Annotated[int32, Wire("0+", about="The partition.")] = 0
    records: Annotated[
        record_data | None,
        Wire("0+", nullable="0+", about="Exactly one batch of format v2; several are refused."),
    ] = None


class TopicProduceData(Struct, gc=False):
    name: Annotated[
        string, Wire("0-12", ignorable=True, about="The topic, until ids took its place.")
    ] = ""
    topic_id: Annotated[uuid, Wire("13+", ignorable=True, about="The topic.")] = NO_UUID
    partition_data: Annotated[
        list[PartitionProduceData], Wire("0+", about="A batch for each partition.")
    ] = []


class ProduceRequest(Struct, gc=False):
    """Appends record batches to partitions."""

    WIRE: ClassVar[Message] = Message(
        "request", versions="3-13", flexible="9+", key=0, listeners=("broker",)
    )

    transactional_id: Annotated[
        string | None,
        Wire(
            "3+",
            nullable="3+",
            about="Set when the batches belong to a transaction; decides who may write.",
        ),
    ] = None
    acks: Annotated[
        int16, Wire("0+", about="0 no answer, 1 when the leader has it, -1 when the ISR has it.")
    ] = 0
    timeout_ms: Annotated[int32, Wire("0+", about="How long to wait for the ISR.")] = 0
    topic_data: Annotated[list[TopicProduceData], Wire("0+", about="The batches, by topic.")] = []


class BatchIndexAndErrorMessage(Struct, gc=False):
    batch_index: Annotated[
        int32, Wire("8+", about="Which record of the batch, counted from 0.")
    ] = 0
    batch_index_error_message: Annotated[
        string | None, Wire("8+", nullable="8+", about="What is wrong with it.")
    ] = None


class LeaderIdAndEpoch(Struct, gc=False):
    leader_id: Annotated[
        int32, Wire("10+", about="Who leads the partition now; -1 when unknown.")
    ] = -1
    leader_epoch: Annotated[int32, Wire("10+", about="And in which epoch.")] = -1


class PartitionProduceResponse(Struct, gc=False):
    index: Annotated[int32, Wire("0+", about="The partition.")] = 0
    error_code: Annotated[int16, Wire("0+", about="Why nothing was appended, or 0.")] = 0
    base_offset: Annotated[
        int64,
        Wire("0+", about="The offset of the batch's first record; -1 when nothing was appended."),
    ] = 0
    log_append_time_ms: Annotated[
        int64,
        Wire(
            "2+",
            ignorable=True,
            about="The broker's time, where the topic stamps with it; else -1.",
        ),
    ] = -1
    log_start_offset: Annotated[
        int64, Wire("5+", ignorable=True, about="Where the log begins now.")
    ] = -1
    record_errors: Annotated[
        list[BatchIndexAndErrorMessage],
        Wire("8+", ignorable=True, about="Records for whose sake the whole batch was refused."),
    ] = []
    error_message: Annotated[
        string | None,
        Wire("8+", nullable="8+", ignorable=True, about="What they have in common, in words."),
    ] = None
    current_leader: Annotated[
        LeaderIdAndEpoch,
        Wire("10+", tag=0, about="With NOT_LEADER_OR_FOLLOWER: where to go instead (KIP-951)."),
    ] = field(default_factory=LeaderIdAndEpoch)


class TopicProduceResponse(Struct, gc=False):
    name: Annotated[
        string, Wire("0-12", ignorable=True, about="The topic, until ids took its place.")
    ] = ""
    topic_id: Annotated[uuid, Wire("13+", ignorable=True, about="The topic.")] = NO_UUID
    partition_responses: Annotated[
        list[PartitionProduceResponse], Wire("0+", about="What became of each partition's batch.")
    ] = []


class NodeEndpoint(Struct, gc=False):
    node_id: Annotated[int32, Wire("10+", about="A broker named as a current leader.")] = 0
    host: Annotated[string, Wire("10+", about="Where it is to be reached.")] = ""
    port: Annotated[int32, Wire("10+", about="And on which port.")] = 0
    rack: Annotated[
        string | None, Wire("10+", nullable="10+", about="Its rack, if it has one.")
    ] = None


class ProduceResponse(Struct, gc=False):
    """The offset that each partition's batch got, or why it was refused."""

    WIRE: ClassVar[Message] = Message("response", versions="3-13", flexible="9+", key=0)

    responses: Annotated[
        list[TopicProduceResponse], Wire("0+", about="What became of the batches, by topic.")
    ] = []
    throttle_time_ms: Annotated[
        int32,
        Wire("1+", ignorable=True, about="For how long the client must pause, because of a quota."),
    ] = 0
    node_endpoints: Annotated[
        list[NodeEndpoint], Wire("10+", tag=0, about="How to reach the leaders named above.")
    ] = []
