"""DescribeProducers, API key 61."""

from typing import Annotated, ClassVar

from msgspec import Struct

from ottla.protocol.facts import Message, Wire, int16, int32, int64, string


class TopicRequest(Struct, gc=False):
    name: Annotated[string, Wire("0+")] = ""
    partition_indexes: Annotated[list[int32], Wire("0+")] = []


class DescribeProducersRequest(Struct, gc=False):
    """Asks a leader which producers it remembers for its partitions."""

    WIRE: ClassVar[Message] = Message(
        "request", versions="0", flexible="0+", key=61, listeners=("broker",)
    )

    topics: Annotated[list[TopicRequest], Wire("0+")] = []


class ProducerState(Struct, gc=False):
    producer_id: Annotated[int64, Wire("0+")] = 0
    producer_epoch: Annotated[int32, Wire("0+")] = 0
    last_sequence: Annotated[int32, Wire("0+")] = -1
    last_timestamp: Annotated[int64, Wire("0+")] = -1
    coordinator_epoch: Annotated[int32, Wire("0+")] = 0
    current_txn_start_offset: Annotated[int64, Wire("0+")] = -1


class PartitionResponse(Struct, gc=False):
    partition_index: Annotated[int32, Wire("0+")] = 0
    error_code: Annotated[int16, Wire("0+")] = 0
    error_message: Annotated[string | None, Wire("0+", nullable="0+")] = None
    active_producers: Annotated[list[ProducerState], Wire("0+")] = []


class TopicResponse(Struct, gc=False):
    name: Annotated[string, Wire("0+")] = ""
    partitions: Annotated[list[PartitionResponse], Wire("0+")] = []


class DescribeProducersResponse(Struct, gc=False):
    """The producers, their last sequence and open transaction."""

    WIRE: ClassVar[Message] = Message("response", versions="0", flexible="0+", key=61)

    throttle_time_ms: Annotated[int32, Wire("0+")] = 0
    topics: Annotated[list[TopicResponse], Wire("0+")] = []
