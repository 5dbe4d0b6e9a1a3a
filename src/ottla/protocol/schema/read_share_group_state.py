"""ReadShareGroupState, API key 84."""

from typing import Annotated, ClassVar

from msgspec import Struct

from ottla.names import NO_UUID
from ottla.protocol.facts import Message, Wire, int8, int16, int32, int64, string, uuid


class PartitionData(Struct, gc=False):
    partition: Annotated[int32, Wire("0+")] = 0
    leader_epoch: Annotated[int32, Wire("0+")] = 0


class ReadStateData(Struct, gc=False):
    topic_id: Annotated[uuid, Wire("0+")] = NO_UUID
    partitions: Annotated[list[PartitionData], Wire("0+")] = []


class ReadShareGroupStateRequest(Struct, gc=False):
    """A share-partition leader reads its state back from the share coordinator."""

    WIRE: ClassVar[Message] = Message(
        "request", versions="0", flexible="0+", key=84, listeners=("broker",)
    )

    group_id: Annotated[string, Wire("0+")] = ""
    topics: Annotated[list[ReadStateData], Wire("0+")] = []


class StateBatch(Struct, gc=False):
    first_offset: Annotated[int64, Wire("0+")] = 0
    last_offset: Annotated[int64, Wire("0+")] = 0
    delivery_state: Annotated[int8, Wire("0+")] = 0
    delivery_count: Annotated[int16, Wire("0+")] = 0


class PartitionResult(Struct, gc=False):
    partition: Annotated[int32, Wire("0+")] = 0
    error_code: Annotated[int16, Wire("0+")] = 0
    error_message: Annotated[string | None, Wire("0+", nullable="0+")] = None
    state_epoch: Annotated[int32, Wire("0+")] = 0
    start_offset: Annotated[int64, Wire("0+")] = 0
    state_batches: Annotated[list[StateBatch], Wire("0+")] = []


class ReadStateResult(Struct, gc=False):
    topic_id: Annotated[uuid, Wire("0+")] = NO_UUID
    partitions: Annotated[list[PartitionResult], Wire("0+")] = []


class ReadShareGroupStateResponse(Struct, gc=False):
    """The state: start offset and what happened to records after it."""

    WIRE: ClassVar[Message] = Message("response", versions="0", flexible="0+", key=84)

    results: Annotated[list[ReadStateResult], Wire("0+")] = []
