"""AddOffsetsToTxn, API key 25."""

from typing import Annotated, ClassVar

from msgspec import Struct

from ottla.protocol.facts import Message, Wire, int16, int32, int64, string


class AddOffsetsToTxnRequest(Struct, gc=False):
    """Says that a transaction will commit offsets of this group."""

    WIRE: ClassVar[Message] = Message(
        "request", versions="0-4", flexible="3+", key=25, listeners=("broker",)
    )

    transactional_id: Annotated[string, Wire("0+")] = ""
    producer_id: Annotated[int64, Wire("0+")] = 0
    producer_epoch: Annotated[int16, Wire("0+")] = 0
    group_id: Annotated[string, Wire("0+")] = ""


class AddOffsetsToTxnResponse(Struct, gc=False):
    """Whether the group's offsets partition is now part of the transaction."""

    WIRE: ClassVar[Message] = Message("response", versions="0-4", flexible="3+", key=25)

    throttle_time_ms: Annotated[int32, Wire("0+")] = 0
    error_code: Annotated[int16, Wire("0+")] = 0
