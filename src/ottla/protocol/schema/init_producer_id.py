"""InitProducerId, API key 22."""

from typing import Annotated, ClassVar

from msgspec import Struct

from ottla.protocol.facts import Message, Wire, boolean, int16, int32, int64, string


class InitProducerIdRequest(Struct, gc=False):
    WIRE: ClassVar[Message] = Message(
        "request",
        versions="0-6",
        flexible="2+",
        key=22,
        listeners=("broker",),
        latest_unstable=True,
    )

    transactional_id: Annotated[string | None, Wire("0+", nullable="0+")] = ""
    transaction_timeout_ms: Annotated[int32, Wire("0+")] = 0
    producer_id: Annotated[int64, Wire("3+")] = -1
    producer_epoch: Annotated[int16, Wire("3+")] = -1
    enable2_pc: Annotated[boolean, Wire("6+")] = False
    keep_prepared_txn: Annotated[boolean, Wire("6+")] = False


class InitProducerIdResponse(Struct, gc=False):
    WIRE: ClassVar[Message] = Message("response", versions="0-6", flexible="2+", key=22)

    throttle_time_ms: Annotated[int32, Wire("0+", ignorable=True)] = 0
    error_code: Annotated[int16, Wire("0+")] = 0
    producer_id: Annotated[int64, Wire("0+")] = -1
    producer_epoch: Annotated[int16, Wire("0+")] = 0
    ongoing_txn_producer_id: Annotated[int64, Wire("6+")] = -1
    ongoing_txn_producer_epoch: Annotated[int16, Wire("6+")] = -1
