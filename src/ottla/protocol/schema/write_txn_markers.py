"""WriteTxnMarkers, API key 27."""

from typing import Annotated, ClassVar

from msgspec import Struct

from ottla.protocol.facts import Message, Wire, boolean, int8, int16, int32, int64, string


class WritableTxnMarkerTopic(Struct, gc=False):
    name: Annotated[string, Wire("0+")] = ""
    partition_indexes: Annotated[list[int32], Wire("0+")] = []


class WritableTxnMarker(Struct, gc=False):
    producer_id: Annotated[int64, Wire("0+")] = 0
    producer_epoch: Annotated[int16, Wire("0+")] = 0
    transaction_result: Annotated[boolean, Wire("0+")] = False
    topics: Annotated[list[WritableTxnMarkerTopic], Wire("0+")] = []
    coordinator_epoch: Annotated[int32, Wire("0+")] = 0
    transaction_version: Annotated[int8, Wire("2+", ignorable=True)] = 0


class WriteTxnMarkersRequest(Struct, gc=False):
    """A transaction coordinator has markers written into partitions."""

    WIRE: ClassVar[Message] = Message(
        "request", versions="1-2", flexible="1+", key=27, listeners=("broker",)
    )

    markers: Annotated[list[WritableTxnMarker], Wire("0+")] = []


class WritableTxnMarkerPartitionResult(Struct, gc=False):
    partition_index: Annotated[int32, Wire("0+")] = 0
    error_code: Annotated[int16, Wire("0+")] = 0


class WritableTxnMarkerTopicResult(Struct, gc=False):
    name: Annotated[string, Wire("0+")] = ""
    partitions: Annotated[list[WritableTxnMarkerPartitionResult], Wire("0+")] = []


class WritableTxnMarkerResult(Struct, gc=False):
    producer_id: Annotated[int64, Wire("0+")] = 0
    topics: Annotated[list[WritableTxnMarkerTopicResult], Wire("0+")] = []


class WriteTxnMarkersResponse(Struct, gc=False):
    """Which partitions hold their marker now."""

    WIRE: ClassVar[Message] = Message("response", versions="1-2", flexible="1+", key=27)

    markers: Annotated[list[WritableTxnMarkerResult], Wire("0+")] = []
