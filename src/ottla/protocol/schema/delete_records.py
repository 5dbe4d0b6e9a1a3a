"""DeleteRecords, API key 21."""

from typing import Annotated, ClassVar

from msgspec import Struct

from ottla.protocol.facts import Message, Wire, int16, int32, int64, string


class DeleteRecordsPartition(Struct, gc=False):
    partition_index: Annotated[int32, Wire("0+")] = 0
    offset: Annotated[int64, Wire("0+")] = 0


class DeleteRecordsTopic(Struct, gc=False):
    name: Annotated[string, Wire("0+")] = ""
    partitions: Annotated[list[DeleteRecordsPartition], Wire("0+")] = []


class DeleteRecordsRequest(Struct, gc=False):
    """Moves up the log start, so that earlier records are gone."""

    WIRE: ClassVar[Message] = Message(
        "request", versions="0-2", flexible="2+", key=21, listeners=("broker",)
    )

    topics: Annotated[list[DeleteRecordsTopic], Wire("0+")] = []
    timeout_ms: Annotated[int32, Wire("0+")] = 0


class DeleteRecordsPartitionResult(Struct, gc=False):
    partition_index: Annotated[int32, Wire("0+")] = 0
    low_watermark: Annotated[int64, Wire("0+")] = 0
    error_code: Annotated[int16, Wire("0+")] = 0


class DeleteRecordsTopicResult(Struct, gc=False):
    name: Annotated[string, Wire("0+")] = ""
    partitions: Annotated[list[DeleteRecordsPartitionResult], Wire("0+")] = []


class DeleteRecordsResponse(Struct, gc=False):
    """The log start of each partition afterwards."""

    WIRE: ClassVar[Message] = Message("response", versions="0-2", flexible="2+", key=21)

    throttle_time_ms: Annotated[int32, Wire("0+")] = 0
    topics: Annotated[list[DeleteRecordsTopicResult], Wire("0+")] = []
