"""CreatePartitions, API key 37."""

from typing import Annotated, ClassVar

from msgspec import Struct

from ottla.protocol.facts import Message, Wire, boolean, int16, int32, string


class CreatePartitionsAssignment(Struct, gc=False):
    broker_ids: Annotated[list[int32], Wire("0+")] = []


class CreatePartitionsTopic(Struct, gc=False):
    name: Annotated[string, Wire("0+")] = ""
    count: Annotated[int32, Wire("0+")] = 0
    assignments: Annotated[list[CreatePartitionsAssignment] | None, Wire("0+", nullable="0+")] = []


class CreatePartitionsRequest(Struct, gc=False):
    """Gives topics more partitions."""

    WIRE: ClassVar[Message] = Message(
        "request", versions="0-3", flexible="2+", key=37, listeners=("broker", "controller")
    )

    topics: Annotated[list[CreatePartitionsTopic], Wire("0+")] = []
    timeout_ms: Annotated[int32, Wire("0+")] = 0
    validate_only: Annotated[boolean, Wire("0+")] = False


class CreatePartitionsTopicResult(Struct, gc=False):
    name: Annotated[string, Wire("0+")] = ""
    error_code: Annotated[int16, Wire("0+")] = 0
    error_message: Annotated[string | None, Wire("0+", nullable="0+")] = None


class CreatePartitionsResponse(Struct, gc=False):
    """Which topics got their partitions."""

    WIRE: ClassVar[Message] = Message("response", versions="0-3", flexible="2+", key=37)

    throttle_time_ms: Annotated[int32, Wire("0+")] = 0
    results: Annotated[list[CreatePartitionsTopicResult], Wire("0+")] = []
