"""ListPartitionReassignments, API key 46."""

from typing import Annotated, ClassVar

from msgspec import Struct

from ottla.protocol.facts import Message, Wire, int16, int32, string


class ListPartitionReassignmentsTopics(Struct, gc=False):
    name: Annotated[string, Wire("0+")] = ""
    partition_indexes: Annotated[list[int32], Wire("0+")] = []


class ListPartitionReassignmentsRequest(Struct, gc=False):
    """Asks which partitions are on the move."""

    WIRE: ClassVar[Message] = Message(
        "request", versions="0", flexible="0+", key=46, listeners=("broker", "controller")
    )

    timeout_ms: Annotated[int32, Wire("0+")] = 60000
    topics: Annotated[list[ListPartitionReassignmentsTopics] | None, Wire("0+", nullable="0+")] = (
        None
    )


class OngoingPartitionReassignment(Struct, gc=False):
    partition_index: Annotated[int32, Wire("0+")] = 0
    replicas: Annotated[list[int32], Wire("0+")] = []
    adding_replicas: Annotated[list[int32], Wire("0+")] = []
    removing_replicas: Annotated[list[int32], Wire("0+")] = []


class OngoingTopicReassignment(Struct, gc=False):
    name: Annotated[string, Wire("0+")] = ""
    partitions: Annotated[list[OngoingPartitionReassignment], Wire("0+")] = []


class ListPartitionReassignmentsResponse(Struct, gc=False):
    """The replicas, old and new, of partitions on the move."""

    WIRE: ClassVar[Message] = Message("response", versions="0", flexible="0+", key=46)

    throttle_time_ms: Annotated[int32, Wire("0+")] = 0
    error_code: Annotated[int16, Wire("0+")] = 0
    error_message: Annotated[string | None, Wire("0+", nullable="0+")] = ""
    topics: Annotated[list[OngoingTopicReassignment], Wire("0+")] = []
