"""InitProducerId, API key 22."""

from typing import Annotated, ClassVar

from msgspec import Struct

from ottla.protocol.facts import Message, Wire, boolean, int16, int32, int64, string


class InitProducerIdRequest(Struct, gc=False):
    """A producer asks for its id and epoch, and fences its predecessors."""

    WIRE: ClassVar[Message] = Message(
        "request",
        versions="0-6",
        flexible="2+",
        key=22,
        listeners=("broker",),
        latest_unstable=True,
    )

    transactional_id: Annotated[
        string | None,
        Wire("0+", nullable="0+", about="Null for a producer that is only idempotent."),
    ] = ""
    transaction_timeout_ms: Annotated[
        int32, Wire("0+", about="After how long the coordinator aborts what stays open.")
    ] = 0
    producer_id: Annotated[
        int64, Wire("3+", about="The id held so far, to go on after an error; -1 for none.")
    ] = -1
    producer_epoch: Annotated[int16, Wire("3+", about="The epoch held so far; -1 for none.")] = -1
    enable2_pc: Annotated[
        boolean, Wire("6+", about="Whether another party decides about the transaction (KIP-939).")
    ] = False
    keep_prepared_txn: Annotated[
        boolean, Wire("6+", about="Whether a prepared transaction is kept instead of aborted.")
    ] = False


class InitProducerIdResponse(Struct, gc=False):
    """The producer id and epoch to write with."""

    WIRE: ClassVar[Message] = Message("response", versions="0-6", flexible="2+", key=22)

    throttle_time_ms: Annotated[
        int32, Wire("0+", ignorable=True, about="For how long the client was held back by a quota.")
    ] = 0
    error_code: Annotated[int16, Wire("0+", about="Why there is no id, or 0.")] = 0
    producer_id: Annotated[int64, Wire("0+", about="The id to write with.")] = -1
    producer_epoch: Annotated[
        int16, Wire("0+", about="The epoch to write with; lower ones are fenced now.")
    ] = 0
    ongoing_txn_producer_id: Annotated[
        int64, Wire("6+", about="The id of the prepared transaction that was kept; -1 for none.")
    ] = -1
    ongoing_txn_producer_epoch: Annotated[int16, Wire("6+", about="And its epoch.")] = -1
