"""DescribeQuorum, API key 55."""

from typing import Annotated, ClassVar

from msgspec import Struct

from ottla.names import NO_UUID
from ottla.protocol.facts import Message, Wire, int16, int32, int64, string, uint16, uuid


class DescribeQuorumRequestPartitionData(Struct, gc=False):
    partition_index: Annotated[int32, Wire("0+")] = 0


class DescribeQuorumRequestTopicData(Struct, gc=False):
    topic_name: Annotated[string, Wire("0+")] = ""
    partitions: Annotated[list[DescribeQuorumRequestPartitionData], Wire("0+")] = []


class DescribeQuorumRequest(Struct, gc=False):
    """Asks the quorum's leader how its voters and observers keep up."""

    WIRE: ClassVar[Message] = Message(
        "request", versions="0-2", flexible="0+", key=55, listeners=("broker", "controller")
    )

    topics: Annotated[list[DescribeQuorumRequestTopicData], Wire("0+")] = []


class ReplicaState(Struct, gc=False):
    replica_id: Annotated[int32, Wire("0+")] = 0
    replica_directory_id: Annotated[uuid, Wire("2+")] = NO_UUID
    log_end_offset: Annotated[int64, Wire("0+")] = 0
    last_fetch_timestamp: Annotated[int64, Wire("1+", ignorable=True)] = -1
    last_caught_up_timestamp: Annotated[int64, Wire("1+", ignorable=True)] = -1


class DescribeQuorumResponsePartitionData(Struct, gc=False):
    partition_index: Annotated[int32, Wire("0+")] = 0
    error_code: Annotated[int16, Wire("0+")] = 0
    error_message: Annotated[string | None, Wire("2+", nullable="2+", ignorable=True)] = ""
    leader_id: Annotated[int32, Wire("0+")] = 0
    leader_epoch: Annotated[int32, Wire("0+")] = 0
    high_watermark: Annotated[int64, Wire("0+")] = 0
    current_voters: Annotated[list[ReplicaState], Wire("0+")] = []
    observers: Annotated[list[ReplicaState], Wire("0+")] = []


class DescribeQuorumResponseTopicData(Struct, gc=False):
    topic_name: Annotated[string, Wire("0+")] = ""
    partitions: Annotated[list[DescribeQuorumResponsePartitionData], Wire("0+")] = []


class Listener(Struct, gc=False):
    name: Annotated[string, Wire("2+")] = ""
    host: Annotated[string, Wire("2+")] = ""
    port: Annotated[uint16, Wire("2+")] = 0


class Node(Struct, gc=False):
    node_id: Annotated[int32, Wire("2+")] = 0
    listeners: Annotated[list[Listener], Wire("2+")] = []


class DescribeQuorumResponse(Struct, gc=False):
    """The leader, its epoch, and how far each replica has come."""

    WIRE: ClassVar[Message] = Message("response", versions="0-2", flexible="0+", key=55)

    error_code: Annotated[int16, Wire("0+")] = 0
    error_message: Annotated[string | None, Wire("2+", nullable="2+", ignorable=True)] = ""
    topics: Annotated[list[DescribeQuorumResponseTopicData], Wire("0+")] = []
    nodes: Annotated[list[Node], Wire("2+")] = []
