"""ReadShareGroupStateSummary, API key 87."""

from typing import Annotated, ClassVar

from msgspec import Struct

from ottla.names import NO_UUID
from ottla.protocol.facts import Message, Wire, int16, int32, int64, string, uuid


class PartitionData(Struct, gc=False):
    partition: Annotated[int32, Wire("0+")] = 0
    leader_epoch: Annotated[int32, Wire("0+")] = 0


class ReadStateSummaryData(Struct, gc=False):
    topic_id: Annotated[uuid, Wire("0+")] = NO_UUID
    partitions: Annotated[list[PartitionData], Wire("0+")] = []


class ReadShareGroupStateSummaryRequest(Struct, gc=False):
    """Reads only the start of each share partition's state."""

    WIRE: ClassVar[Message] = Message(
        "request", versions="0-1", flexible="0+", key=87, listeners=("broker",)
    )

    group_id: Annotated[string, Wire("0+")] = ""
    topics: Annotated[list[ReadStateSummaryData], Wire("0+")] = []


class PartitionResult(Struct, gc=False):
    partition: Annotated[int32, Wire("0+")] = 0
    error_code: Annotated[int16, Wire("0+")] = 0
    error_message: Annotated[string | None, Wire("0+", nullable="0+")] = None
    state_epoch: Annotated[int32, Wire("0+")] = 0
    leader_epoch: Annotated[int32, Wire("0+")] = 0
    start_offset: Annotated[int64, Wire("0+")] = 0
    delivery_complete_count: Annotated[int32, Wire("1+", ignorable=True)] = -1


class ReadStateSummaryResult(Struct, gc=False):
    topic_id: Annotated[uuid, Wire("0+")] = NO_UUID
    partitions: Annotated[list[PartitionResult], Wire("0+")] = []


class ReadShareGroupStateSummaryResponse(Struct, gc=False):
    """The start offset and epochs, without the records' states."""

    WIRE: ClassVar[Message] = Message("response", versions="0-1", flexible="0+", key=87)

    results: Annotated[list[ReadStateSummaryResult], Wire("0+")] = []
