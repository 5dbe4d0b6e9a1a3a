"""DeleteShareGroupState, API key 86."""

from typing import Annotated, ClassVar

from msgspec import Struct

from ottla.names import NO_UUID
from ottla.protocol.facts import Message, Wire, int16, int32, string, uuid


class PartitionData(Struct, gc=False):
    partition: Annotated[int32, Wire("0+")] = 0


class DeleteStateData(Struct, gc=False):
    topic_id: Annotated[uuid, Wire("0+")] = NO_UUID
    partitions: Annotated[list[PartitionData], Wire("0+")] = []


class DeleteShareGroupStateRequest(Struct, gc=False):
    """Drops the state of share partitions at their share coordinator."""

    WIRE: ClassVar[Message] = Message(
        "request", versions="0", flexible="0+", key=86, listeners=("broker",)
    )

    group_id: Annotated[string, Wire("0+")] = ""
    topics: Annotated[list[DeleteStateData], Wire("0+")] = []


class PartitionResult(Struct, gc=False):
    partition: Annotated[int32, Wire("0+")] = 0
    error_code: Annotated[int16, Wire("0+")] = 0
    error_message: Annotated[string | None, Wire("0+", nullable="0+")] = None


class DeleteStateResult(Struct, gc=False):
    topic_id: Annotated[uuid, Wire("0+")] = NO_UUID
    partitions: Annotated[list[PartitionResult], Wire("0+")] = []


class DeleteShareGroupStateResponse(Struct, gc=False):
    """Which share partitions' states were dropped."""

    WIRE: ClassVar[Message] = Message("response", versions="0", flexible="0+", key=86)

    results: Annotated[list[DeleteStateResult], Wire("0+")] = []
