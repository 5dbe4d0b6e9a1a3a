"""AlterPartitionReassignments, API key 45."""

from typing import Annotated, ClassVar

from msgspec import Struct

from ottla.protocol.facts import Message, Wire, boolean, int16, int32, string


class ReassignablePartition(Struct, gc=False):
    partition_index: Annotated[int32, Wire("0+")] = 0
    replicas: Annotated[list[int32] | None, Wire("0+", nullable="0+")] = None


class ReassignableTopic(Struct, gc=False):
    name: Annotated[string, Wire("0+")] = ""
    partitions: Annotated[list[ReassignablePartition], Wire("0+")] = []


class AlterPartitionReassignmentsRequest(Struct, gc=False):
    """Begins, or with null replicas cancels, moves of partitions to other brokers."""

    WIRE: ClassVar[Message] = Message(
        "request", versions="0-1", flexible="0+", key=45, listeners=("broker", "controller")
    )

    timeout_ms: Annotated[int32, Wire("0+")] = 60000
    allow_replication_factor_change: Annotated[boolean, Wire("1+")] = True
    topics: Annotated[list[ReassignableTopic], Wire("0+")] = []


class ReassignablePartitionResponse(Struct, gc=False):
    partition_index: Annotated[int32, Wire("0+")] = 0
    error_code: Annotated[int16, Wire("0+")] = 0
    error_message: Annotated[string | None, Wire("0+", nullable="0+")] = ""


class ReassignableTopicResponse(Struct, gc=False):
    name: Annotated[string, Wire("0+")] = ""
    partitions: Annotated[list[ReassignablePartitionResponse], Wire("0+")] = []


class AlterPartitionReassignmentsResponse(Struct, gc=False):
    """Which moves were accepted."""

    WIRE: ClassVar[Message] = Message("response", versions="0-1", flexible="0+", key=45)

    throttle_time_ms: Annotated[int32, Wire("0+")] = 0
    allow_replication_factor_change: Annotated[boolean, Wire("1+", ignorable=True)] = True
    error_code: Annotated[int16, Wire("0+")] = 0
    error_message: Annotated[string | None, Wire("0+", nullable="0+")] = ""
    responses: Annotated[list[ReassignableTopicResponse], Wire("0+")] = []
