"""DescribeTopicPartitions, API key 75."""

from typing import Annotated, ClassVar

from msgspec import Struct

from ottla.names import NO_UUID
from ottla.protocol.facts import Message, Wire, boolean, int16, int32, string, uuid


class TopicRequest(Struct, gc=False):
    name: Annotated[string, Wire("0+")] = ""


class DescribeTopicPartitionsRequestCursor(Struct, gc=False):
    topic_name: Annotated[string, Wire("0+")] = ""
    partition_index: Annotated[int32, Wire("0+")] = 0


class DescribeTopicPartitionsRequest(Struct, gc=False):
    """Asks about topics in pages, with a cursor (KIP-966)."""

    WIRE: ClassVar[Message] = Message(
        "request", versions="0", flexible="0+", key=75, listeners=("broker",)
    )

    topics: Annotated[list[TopicRequest], Wire("0+")] = []
    response_partition_limit: Annotated[int32, Wire("0+")] = 2000
    cursor: Annotated[DescribeTopicPartitionsRequestCursor | None, Wire("0+", nullable="0+")] = None


class DescribeTopicPartitionsResponsePartition(Struct, gc=False):
    error_code: Annotated[int16, Wire("0+")] = 0
    partition_index: Annotated[int32, Wire("0+")] = 0
    leader_id: Annotated[int32, Wire("0+")] = 0
    leader_epoch: Annotated[int32, Wire("0+", ignorable=True)] = -1
    replica_nodes: Annotated[list[int32], Wire("0+")] = []
    isr_nodes: Annotated[list[int32], Wire("0+")] = []
    eligible_leader_replicas: Annotated[list[int32] | None, Wire("0+", nullable="0+")] = None
    last_known_elr: Annotated[list[int32] | None, Wire("0+", nullable="0+")] = None
    offline_replicas: Annotated[list[int32], Wire("0+", ignorable=True)] = []


class DescribeTopicPartitionsResponseTopic(Struct, gc=False):
    error_code: Annotated[int16, Wire("0+")] = 0
    name: Annotated[string | None, Wire("0+", nullable="0+")] = ""
    topic_id: Annotated[uuid, Wire("0+", ignorable=True)] = NO_UUID
    is_internal: Annotated[boolean, Wire("0+", ignorable=True)] = False
    partitions: Annotated[list[DescribeTopicPartitionsResponsePartition], Wire("0+")] = []
    topic_authorized_operations: Annotated[int32, Wire("0+")] = -2147483648


class DescribeTopicPartitionsResponseCursor(Struct, gc=False):
    topic_name: Annotated[string, Wire("0+")] = ""
    partition_index: Annotated[int32, Wire("0+")] = 0


class DescribeTopicPartitionsResponse(Struct, gc=False):
    """One page of partitions, and where the next begins."""

    WIRE: ClassVar[Message] = Message("response", versions="0", flexible="0+", key=75)

    throttle_time_ms: Annotated[int32, Wire("0+", ignorable=True)] = 0
    topics: Annotated[list[DescribeTopicPartitionsResponseTopic], Wire("0+")] = []
    next_cursor: Annotated[
        DescribeTopicPartitionsResponseCursor | None, Wire("0+", nullable="0+")
    ] = None
