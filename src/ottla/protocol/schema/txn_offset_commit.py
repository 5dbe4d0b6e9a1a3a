"""TxnOffsetCommit, API key 28."""

from typing import Annotated, ClassVar

from msgspec import Struct

from ottla.protocol.facts import Message, Wire, int16, int32, int64, string


class TxnOffsetCommitRequestPartition(Struct, gc=False):
    partition_index: Annotated[int32, Wire("0+")] = 0
    committed_offset: Annotated[int64, Wire("0+")] = 0
    committed_leader_epoch: Annotated[int32, Wire("2+", ignorable=True)] = -1
    committed_metadata: Annotated[string | None, Wire("0+", nullable="0+")] = ""


class TxnOffsetCommitRequestTopic(Struct, gc=False):
    name: Annotated[string, Wire("0+")] = ""
    partitions: Annotated[list[TxnOffsetCommitRequestPartition], Wire("0+")] = []


class TxnOffsetCommitRequest(Struct, gc=False):
    """Stores how far a group has read, as part of a transaction."""

    WIRE: ClassVar[Message] = Message(
        "request", versions="0-5", flexible="3+", key=28, listeners=("broker",)
    )

    transactional_id: Annotated[string, Wire("0+")] = ""
    group_id: Annotated[string, Wire("0+")] = ""
    producer_id: Annotated[int64, Wire("0+")] = 0
    producer_epoch: Annotated[int16, Wire("0+")] = 0
    generation_id: Annotated[int32, Wire("3+")] = -1
    member_id: Annotated[string, Wire("3+")] = ""
    group_instance_id: Annotated[string | None, Wire("3+", nullable="3+")] = None
    topics: Annotated[list[TxnOffsetCommitRequestTopic], Wire("0+")] = []


class TxnOffsetCommitResponsePartition(Struct, gc=False):
    partition_index: Annotated[int32, Wire("0+")] = 0
    error_code: Annotated[int16, Wire("0+")] = 0


class TxnOffsetCommitResponseTopic(Struct, gc=False):
    name: Annotated[string, Wire("0+")] = ""
    partitions: Annotated[list[TxnOffsetCommitResponsePartition], Wire("0+")] = []


class TxnOffsetCommitResponse(Struct, gc=False):
    """Which offsets wait for the transaction's end."""

    WIRE: ClassVar[Message] = Message("response", versions="0-5", flexible="3+", key=28)

    throttle_time_ms: Annotated[int32, Wire("0+")] = 0
    topics: Annotated[list[TxnOffsetCommitResponseTopic], Wire("0+")] = []
