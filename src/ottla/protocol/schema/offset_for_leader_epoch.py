"""OffsetForLeaderEpoch, API key 23."""

from typing import Annotated, ClassVar

from msgspec import Struct

from ottla.protocol.facts import Message, Wire, int16, int32, int64, string


class OffsetForLeaderPartition(Struct, gc=False):
    partition: Annotated[int32, Wire("0+")] = 0
    current_leader_epoch: Annotated[int32, Wire("2+", ignorable=True)] = -1
    leader_epoch: Annotated[int32, Wire("0+")] = 0


class OffsetForLeaderTopic(Struct, gc=False):
    topic: Annotated[string, Wire("0+")] = ""
    partitions: Annotated[list[OffsetForLeaderPartition], Wire("0+")] = []


class OffsetForLeaderEpochRequest(Struct, gc=False):
    """Asks where a leader epoch ends, so that a log can be cut where it diverged."""

    WIRE: ClassVar[Message] = Message(
        "request", versions="2-4", flexible="4+", key=23, listeners=("broker",)
    )

    replica_id: Annotated[int32, Wire("3+", ignorable=True)] = -2
    topics: Annotated[list[OffsetForLeaderTopic], Wire("0+")] = []


class EpochEndOffset(Struct, gc=False):
    error_code: Annotated[int16, Wire("0+")] = 0
    partition: Annotated[int32, Wire("0+")] = 0
    leader_epoch: Annotated[int32, Wire("1+", ignorable=True)] = -1
    end_offset: Annotated[int64, Wire("0+")] = -1


class OffsetForLeaderTopicResult(Struct, gc=False):
    topic: Annotated[string, Wire("0+")] = ""
    partitions: Annotated[list[EpochEndOffset], Wire("0+")] = []


class OffsetForLeaderEpochResponse(Struct, gc=False):
    """The last epoch not above the one asked for, and its end."""

    WIRE: ClassVar[Message] = Message("response", versions="2-4", flexible="4+", key=23)

    throttle_time_ms: Annotated[int32, Wire("2+", ignorable=True)] = 0
    topics: Annotated[list[OffsetForLeaderTopicResult], Wire("0+")] = []
