"""ListOffsets, API key 2."""

from typing import Annotated, ClassVar

from msgspec import Struct

from ottla.protocol.facts import Message, Wire, int8, int16, int32, int64, string


class ListOffsetsPartition(Struct, gc=False):
    partition_index: Annotated[int32, Wire("0+", about="The partition.")] = 0
    current_leader_epoch: Annotated[
        int32,
        Wire("4+", ignorable=True, about="The epoch that the reader believes in; -1 to take any."),
    ] = -1
    timestamp: Annotated[
        int64,
        Wire(
            "0+",
            about="A time in ms; below zero one of the ends: -1 latest, -2 earliest, and others.",
        ),
    ] = 0


class ListOffsetsTopic(Struct, gc=False):
    name: Annotated[string, Wire("0+", about="The topic.")] = ""
    partitions: Annotated[
        list[ListOffsetsPartition], Wire("0+", about="What to look up in it.")
    ] = []


class ListOffsetsRequest(Struct, gc=False):
    """Asks a leader for offsets by timestamp, or for its ends."""

    WIRE: ClassVar[Message] = Message(
        "request", versions="1-11", flexible="6+", key=2, listeners=("broker",)
    )

    replica_id: Annotated[
        int32, Wire("0+", about="-1 for a consumer; others may ask of a follower.")
    ] = 0
    isolation_level: Annotated[
        int8, Wire("2+", about="1 takes the last stable offset for the latest.")
    ] = 0
    topics: Annotated[list[ListOffsetsTopic], Wire("0+", about="What to look up.")] = []
    timeout_ms: Annotated[
        int32, Wire("10+", ignorable=True, about="How long a lookup in remote storage may take.")
    ] = 0


class ListOffsetsPartitionResponse(Struct, gc=False):
    partition_index: Annotated[int32, Wire("0+", about="The partition.")] = 0
    error_code: Annotated[int16, Wire("0+", about="Why nothing was looked up, or 0.")] = 0
    timestamp: Annotated[
        int64, Wire("1+", about="The timestamp of the record found; -1 for none.")
    ] = -1
    offset: Annotated[int64, Wire("1+", about="The offset found; -1 for none.")] = -1
    leader_epoch: Annotated[
        int32, Wire("4+", about="The epoch of the record found; -1 when unknown.")
    ] = -1


class ListOffsetsTopicResponse(Struct, gc=False):
    name: Annotated[string, Wire("0+", about="The topic.")] = ""
    partitions: Annotated[
        list[ListOffsetsPartitionResponse], Wire("0+", about="What was found in it.")
    ] = []


class ListOffsetsResponse(Struct, gc=False):
    """The offset found in each partition, with its timestamp and epoch."""

    WIRE: ClassVar[Message] = Message("response", versions="1-11", flexible="6+", key=2)

    throttle_time_ms: Annotated[
        int32, Wire("2+", ignorable=True, about="For how long the client was held back by a quota.")
    ] = 0
    topics: Annotated[list[ListOffsetsTopicResponse], Wire("0+", about="What was found.")] = []
