"""ElectLeaders, API key 43."""

from typing import Annotated, ClassVar

from msgspec import Struct

from ottla.protocol.facts import Message, Wire, int8, int16, int32, string


class TopicPartitions(Struct, gc=False):
    topic: Annotated[string, Wire("0+")] = ""
    partitions: Annotated[list[int32], Wire("0+")] = []


class ElectLeadersRequest(Struct, gc=False):
    """Asks for elections, of preferred leaders or of unclean ones."""

    WIRE: ClassVar[Message] = Message(
        "request", versions="0-2", flexible="2+", key=43, listeners=("broker", "controller")
    )

    election_type: Annotated[int8, Wire("1+")] = 0
    topic_partitions: Annotated[list[TopicPartitions] | None, Wire("0+", nullable="0+")] = []
    timeout_ms: Annotated[int32, Wire("0+")] = 60000


class PartitionResult(Struct, gc=False):
    partition_id: Annotated[int32, Wire("0+")] = 0
    error_code: Annotated[int16, Wire("0+")] = 0
    error_message: Annotated[string | None, Wire("0+", nullable="0+")] = ""


class ReplicaElectionResult(Struct, gc=False):
    topic: Annotated[string, Wire("0+")] = ""
    partition_result: Annotated[list[PartitionResult], Wire("0+")] = []


class ElectLeadersResponse(Struct, gc=False):
    """What became of each election."""

    WIRE: ClassVar[Message] = Message("response", versions="0-2", flexible="2+", key=43)

    throttle_time_ms: Annotated[int32, Wire("0+")] = 0
    error_code: Annotated[int16, Wire("1+")] = 0
    replica_election_results: Annotated[list[ReplicaElectionResult], Wire("0+")] = []
