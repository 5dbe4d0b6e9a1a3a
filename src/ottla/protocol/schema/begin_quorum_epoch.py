"""BeginQuorumEpoch, API key 53."""

from typing import Annotated, ClassVar

from msgspec import Struct

from ottla.names import NO_UUID
from ottla.protocol.facts import Message, Wire, int16, int32, string, uint16, uuid


class BeginQuorumEpochRequestPartitionData(Struct, gc=False):
    partition_index: Annotated[int32, Wire("0+")] = 0
    voter_directory_id: Annotated[uuid, Wire("1+", ignorable=True)] = NO_UUID
    leader_id: Annotated[int32, Wire("0+")] = 0
    leader_epoch: Annotated[int32, Wire("0+")] = 0


class BeginQuorumEpochRequestTopicData(Struct, gc=False):
    topic_name: Annotated[string, Wire("0+")] = ""
    partitions: Annotated[list[BeginQuorumEpochRequestPartitionData], Wire("0+")] = []


class LeaderEndpoint(Struct, gc=False):
    name: Annotated[string, Wire("1+")] = ""
    host: Annotated[string, Wire("1+")] = ""
    port: Annotated[uint16, Wire("1+")] = 0


class BeginQuorumEpochRequest(Struct, gc=False):
    """A new leader of the quorum makes itself known to the voters."""

    WIRE: ClassVar[Message] = Message(
        "request", versions="0-1", flexible="1+", key=53, listeners=("controller",)
    )

    cluster_id: Annotated[string | None, Wire("0+", nullable="0+")] = None
    voter_id: Annotated[int32, Wire("1+", ignorable=True)] = -1
    topics: Annotated[list[BeginQuorumEpochRequestTopicData], Wire("0+")] = []
    leader_endpoints: Annotated[list[LeaderEndpoint], Wire("1+", ignorable=True)] = []


class BeginQuorumEpochResponsePartitionData(Struct, gc=False):
    partition_index: Annotated[int32, Wire("0+")] = 0
    error_code: Annotated[int16, Wire("0+")] = 0
    leader_id: Annotated[int32, Wire("0+")] = 0
    leader_epoch: Annotated[int32, Wire("0+")] = 0


class BeginQuorumEpochResponseTopicData(Struct, gc=False):
    topic_name: Annotated[string, Wire("0+")] = ""
    partitions: Annotated[list[BeginQuorumEpochResponsePartitionData], Wire("0+")] = []


class NodeEndpoint(Struct, gc=False):
    node_id: Annotated[int32, Wire("1+")] = 0
    host: Annotated[string, Wire("1+")] = ""
    port: Annotated[uint16, Wire("1+")] = 0


class BeginQuorumEpochResponse(Struct, gc=False):
    """Whether the voter follows this leader, or knows a newer one."""

    WIRE: ClassVar[Message] = Message("response", versions="0-1", flexible="1+", key=53)

    error_code: Annotated[int16, Wire("0+")] = 0
    topics: Annotated[list[BeginQuorumEpochResponseTopicData], Wire("0+")] = []
    node_endpoints: Annotated[list[NodeEndpoint], Wire("1+", tag=0)] = []
