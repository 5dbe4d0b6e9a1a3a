"""EndQuorumEpoch, API key 54."""

from typing import Annotated, ClassVar

from msgspec import Struct

from ottla.names import NO_UUID
from ottla.protocol.facts import Message, Wire, int16, int32, string, uint16, uuid


class ReplicaInfo(Struct, gc=False):
    candidate_id: Annotated[int32, Wire("1+")] = 0
    candidate_directory_id: Annotated[uuid, Wire("1+")] = NO_UUID


class EndQuorumEpochRequestPartitionData(Struct, gc=False):
    partition_index: Annotated[int32, Wire("0+")] = 0
    leader_id: Annotated[int32, Wire("0+")] = 0
    leader_epoch: Annotated[int32, Wire("0+")] = 0
    preferred_successors: Annotated[list[int32], Wire("0", ignorable=True)] = []
    preferred_candidates: Annotated[list[ReplicaInfo], Wire("1+", ignorable=True)] = []


class EndQuorumEpochRequestTopicData(Struct, gc=False):
    topic_name: Annotated[string, Wire("0+")] = ""
    partitions: Annotated[list[EndQuorumEpochRequestPartitionData], Wire("0+")] = []


class LeaderEndpoint(Struct, gc=False):
    name: Annotated[string, Wire("1+")] = ""
    host: Annotated[string, Wire("1+")] = ""
    port: Annotated[uint16, Wire("1+")] = 0


class EndQuorumEpochRequest(Struct, gc=False):
    """A leader of the quorum resigns and says who should try next."""

    WIRE: ClassVar[Message] = Message(
        "request", versions="0-1", flexible="1+", key=54, listeners=("controller",)
    )

    cluster_id: Annotated[string | None, Wire("0+", nullable="0+")] = None
    topics: Annotated[list[EndQuorumEpochRequestTopicData], Wire("0+")] = []
    leader_endpoints: Annotated[list[LeaderEndpoint], Wire("1+", ignorable=True)] = []


class EndQuorumEpochResponsePartitionData(Struct, gc=False):
    partition_index: Annotated[int32, Wire("0+")] = 0
    error_code: Annotated[int16, Wire("0+")] = 0
    leader_id: Annotated[int32, Wire("0+")] = 0
    leader_epoch: Annotated[int32, Wire("0+")] = 0


class EndQuorumEpochResponseTopicData(Struct, gc=False):
    topic_name: Annotated[string, Wire("0+")] = ""
    partitions: Annotated[list[EndQuorumEpochResponsePartitionData], Wire("0+")] = []


class NodeEndpoint(Struct, gc=False):
    node_id: Annotated[int32, Wire("1+")] = 0
    host: Annotated[string, Wire("1+")] = ""
    port: Annotated[uint16, Wire("1+")] = 0


class EndQuorumEpochResponse(Struct, gc=False):
    """Whether the voter knew that leader and epoch."""

    WIRE: ClassVar[Message] = Message("response", versions="0-1", flexible="1+", key=54)

    error_code: Annotated[int16, Wire("0+")] = 0
    topics: Annotated[list[EndQuorumEpochResponseTopicData], Wire("0+")] = []
    node_endpoints: Annotated[list[NodeEndpoint], Wire("1+", tag=0)] = []
