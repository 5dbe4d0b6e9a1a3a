"""Records of `__transaction_state`, and transaction markers."""

from typing import Annotated, ClassVar

from msgspec import Struct

from ottla.protocol.facts import Message, Wire, int8, int16, int32, int64, string


class TransactionLogKey(Struct, gc=False):
    """A transactional id."""

    WIRE: ClassVar[Message] = Message("coordinator-key", versions="0", flexible="none", key=0)

    transactional_id: Annotated[string, Wire("0")] = ""


class PartitionsSchema(Struct, gc=False):
    topic: Annotated[string, Wire("0+")] = ""
    partition_ids: Annotated[list[int32], Wire("0+")] = []


class TransactionLogValue(Struct, gc=False):
    """The producer, state and partitions of its transaction."""

    WIRE: ClassVar[Message] = Message("coordinator-value", versions="0-1", flexible="1+", key=0)

    producer_id: Annotated[int64, Wire("0+")] = 0
    previous_producer_id: Annotated[int64, Wire("1+", tag=0)] = -1
    next_producer_id: Annotated[int64, Wire("1+", tag=1)] = -1
    producer_epoch: Annotated[int16, Wire("0+")] = 0
    next_producer_epoch: Annotated[int16, Wire("1+", tag=3)] = -1
    transaction_timeout_ms: Annotated[int32, Wire("0+")] = 0
    transaction_status: Annotated[int8, Wire("0+")] = 0
    transaction_partitions: Annotated[list[PartitionsSchema] | None, Wire("0+", nullable="0+")] = []
    transaction_last_update_timestamp_ms: Annotated[int64, Wire("0+")] = 0
    transaction_start_timestamp_ms: Annotated[int64, Wire("0+")] = 0
    client_transaction_version: Annotated[int16, Wire("1+", tag=2)] = 0


class EndTxnMarker(Struct, gc=False):
    """The value of a commit or abort marker: which coordinator epoch wrote it."""

    WIRE: ClassVar[Message] = Message("data", versions="0", flexible="none")

    coordinator_epoch: Annotated[int32, Wire("0+")] = 0
