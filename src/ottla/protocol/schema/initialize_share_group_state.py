"""InitializeShareGroupState, API key 83."""

from typing import Annotated, ClassVar

from msgspec import Struct

from ottla.names import NO_UUID
from ottla.protocol.facts import Message, Wire, int16, int32, int64, string, uuid


class PartitionData(Struct, gc=False):
    partition: Annotated[int32, Wire("0+")] = 0
    state_epoch: Annotated[int32, Wire("0+")] = 0
    start_offset: Annotated[int64, Wire("0+")] = 0


class InitializeStateData(Struct, gc=False):
    topic_id: Annotated[uuid, Wire("0+")] = NO_UUID
    partitions: Annotated[list[PartitionData], Wire("0+")] = []


class InitializeShareGroupStateRequest(Struct, gc=False):
    """Begins the state of share partitions at their share coordinator."""

    WIRE: ClassVar[Message] = Message(
        "request", versions="0", flexible="0+", key=83, listeners=("broker",)
    )

    group_id: Annotated[string, Wire("0+")] = ""
    topics: Annotated[list[InitializeStateData], Wire("0+")] = []


class PartitionResult(Struct, gc=False):
    partition: Annotated[int32, Wire("0+")] = 0
    error_code: Annotated[int16, Wire("0+")] = 0
    error_message: Annotated[string | None, Wire("0+", nullable="0+")] = None


class InitializeStateResult(Struct, gc=False):
    topic_id: Annotated[uuid, Wire("0+")] = NO_UUID
    partitions: Annotated[list[PartitionResult], Wire("0+")] = []


class InitializeShareGroupStateResponse(Struct, gc=False):
    """Which share partitions have a state now."""

    WIRE: ClassVar[Message] = Message("response", versions="0", flexible="0+", key=83)

    results: Annotated[list[InitializeStateResult], Wire("0+")] = []
