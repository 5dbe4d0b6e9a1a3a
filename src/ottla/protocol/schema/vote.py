"""Vote, API key 52."""

from typing import Annotated, ClassVar

from msgspec import Struct

from ottla.names import NO_UUID
from ottla.protocol.facts import Message, Wire, boolean, int16, int32, int64, string, uint16, uuid


class VoteRequestPartitionData(Struct, gc=False):
    partition_index: Annotated[int32, Wire("0+")] = 0
    replica_epoch: Annotated[int32, Wire("0+")] = 0
    replica_id: Annotated[int32, Wire("0+")] = 0
    replica_directory_id: Annotated[uuid, Wire("1+", ignorable=True)] = NO_UUID
    voter_directory_id: Annotated[uuid, Wire("1+", ignorable=True)] = NO_UUID
    last_offset_epoch: Annotated[int32, Wire("0+")] = 0
    last_offset: Annotated[int64, Wire("0+")] = 0
    pre_vote: Annotated[boolean, Wire("2+")] = False


class VoteRequestTopicData(Struct, gc=False):
    topic_name: Annotated[string, Wire("0+")] = ""
    partitions: Annotated[list[VoteRequestPartitionData], Wire("0+")] = []


class VoteRequest(Struct, gc=False):
    """A candidate asks for a vote, or before an epoch begins whether it would get one."""

    WIRE: ClassVar[Message] = Message(
        "request", versions="0-2", flexible="0+", key=52, listeners=("controller",)
    )

    cluster_id: Annotated[string | None, Wire("0+", nullable="0+")] = None
    voter_id: Annotated[int32, Wire("1+", ignorable=True)] = -1
    topics: Annotated[list[VoteRequestTopicData], Wire("0+")] = []


class VoteResponsePartitionData(Struct, gc=False):
    partition_index: Annotated[int32, Wire("0+")] = 0
    error_code: Annotated[int16, Wire("0+")] = 0
    leader_id: Annotated[int32, Wire("0+")] = 0
    leader_epoch: Annotated[int32, Wire("0+")] = 0
    vote_granted: Annotated[boolean, Wire("0+")] = False


class VoteResponseTopicData(Struct, gc=False):
    topic_name: Annotated[string, Wire("0+")] = ""
    partitions: Annotated[list[VoteResponsePartitionData], Wire("0+")] = []


class NodeEndpoint(Struct, gc=False):
    node_id: Annotated[int32, Wire("1+")] = 0
    host: Annotated[string, Wire("1+")] = ""
    port: Annotated[uint16, Wire("1+")] = 0


class VoteResponse(Struct, gc=False):
    """Whether the vote is given, and who leads if somebody does."""

    WIRE: ClassVar[Message] = Message("response", versions="0-2", flexible="0+", key=52)

    error_code: Annotated[int16, Wire("0+")] = 0
    topics: Annotated[list[VoteResponseTopicData], Wire("0+")] = []
    node_endpoints: Annotated[list[NodeEndpoint], Wire("1+", tag=0)] = []
