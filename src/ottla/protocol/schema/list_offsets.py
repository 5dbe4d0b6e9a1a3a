"""ListOffsets, API key 2."""

from typing import Annotated, ClassVar

from msgspec import Struct

from ottla.protocol.facts import Message, Wire, int8, int16, int32, int64, string


class ListOffsetsPartition(Struct, gc=False):
    partition_index: Annotated[int32, Wire("0+")] = 0
    current_leader_epoch: Annotated[int32, Wire("4+", ignorable=True)] = -1
    timestamp: Annotated[int64, Wire("0+")] = 0


class ListOffsetsTopic(Struct, gc=False):
    name: Annotated[string, Wire("0+")] = ""
    partitions: Annotated[list[ListOffsetsPartition], Wire("0+")] = []


class ListOffsetsRequest(Struct, gc=False):
    WIRE: ClassVar[Message] = Message(
        "request", versions="1-11", flexible="6+", key=2, listeners=("broker",)
    )

    replica_id: Annotated[int32, Wire("0+")] = 0
    isolation_level: Annotated[int8, Wire("2+")] = 0
    topics: Annotated[list[ListOffsetsTopic], Wire("0+")] = []
    timeout_ms: Annotated[int32, Wire("10+", ignorable=True)] = 0


class ListOffsetsPartitionResponse(Struct, gc=False):
    partition_index: Annotated[int32, Wire("0+")] = 0
    error_code: Annotated[int16, Wire("0+")] = 0
    timestamp: Annotated[int64, Wire("1+")] = -1
    offset: Annotated[int64, Wire("1+")] = -1
    leader_epoch: Annotated[int32, Wire("4+")] = -1


class ListOffsetsTopicResponse(Struct, gc=False):
    name: Annotated[string, Wire("0+")] = ""
    partitions: Annotated[list[ListOffsetsPartitionResponse], Wire("0+")] = []


class ListOffsetsResponse(Struct, gc=False):
    WIRE: ClassVar[Message] = Message("response", versions="1-11", flexible="6+", key=2)

    throttle_time_ms: Annotated[int32, Wire("2+", ignorable=True)] = 0
    topics: Annotated[list[ListOffsetsTopicResponse], Wire("0+")] = []
