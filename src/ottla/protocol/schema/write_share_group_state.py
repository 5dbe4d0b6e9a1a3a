"""WriteShareGroupState, API key 85."""

from typing import Annotated, ClassVar

from msgspec import Struct

from ottla.names import NO_UUID
from ottla.protocol.facts import Message, Wire, int8, int16, int32, int64, string, uuid


class StateBatch(Struct, gc=False):
    first_offset: Annotated[int64, Wire("0+")] = 0
    last_offset: Annotated[int64, Wire("0+")] = 0
    delivery_state: Annotated[int8, Wire("0+")] = 0
    delivery_count: Annotated[int16, Wire("0+")] = 0


class PartitionData(Struct, gc=False):
    partition: Annotated[int32, Wire("0+")] = 0
    state_epoch: Annotated[int32, Wire("0+")] = 0
    leader_epoch: Annotated[int32, Wire("0+")] = 0
    start_offset: Annotated[int64, Wire("0+")] = 0
    delivery_complete_count: Annotated[int32, Wire("1+", ignorable=True)] = -1
    state_batches: Annotated[list[StateBatch], Wire("0+")] = []


class WriteStateData(Struct, gc=False):
    topic_id: Annotated[uuid, Wire("0+")] = NO_UUID
    partitions: Annotated[list[PartitionData], Wire("0+")] = []


class WriteShareGroupStateRequest(Struct, gc=False):
    """A share-partition leader stores its state at the share coordinator."""

    WIRE: ClassVar[Message] = Message(
        "request", versions="0-1", flexible="0+", key=85, listeners=("broker",)
    )

    group_id: Annotated[string, Wire("0+")] = ""
    topics: Annotated[list[WriteStateData], Wire("0+")] = []


class PartitionResult(Struct, gc=False):
    partition: Annotated[int32, Wire("0+")] = 0
    error_code: Annotated[int16, Wire("0+")] = 0
    error_message: Annotated[string | None, Wire("0+", nullable="0+")] = None


class WriteStateResult(Struct, gc=False):
    topic_id: Annotated[uuid, Wire("0+")] = NO_UUID
    partitions: Annotated[list[PartitionResult], Wire("0+")] = []


class WriteShareGroupStateResponse(Struct, gc=False):
    """Which share partitions' states were stored."""

    WIRE: ClassVar[Message] = Message("response", versions="0-1", flexible="0+", key=85)

    results: Annotated[list[WriteStateResult], Wire("0+")] = []
