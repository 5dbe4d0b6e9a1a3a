"""EndTxn, API key 26."""

from typing import Annotated, ClassVar

from msgspec import Struct

from ottla.protocol.facts import Message, Wire, boolean, int16, int32, int64, string


class EndTxnRequest(Struct, gc=False):
    """Commits or aborts a transaction."""

    WIRE: ClassVar[Message] = Message(
        "request", versions="0-5", flexible="3+", key=26, listeners=("broker",)
    )

    transactional_id: Annotated[string, Wire("0+")] = ""
    producer_id: Annotated[int64, Wire("0+")] = 0
    producer_epoch: Annotated[int16, Wire("0+")] = 0
    committed: Annotated[boolean, Wire("0+")] = False


class EndTxnResponse(Struct, gc=False):
    """Whether it ended and, since version 5, the epoch for the next one."""

    WIRE: ClassVar[Message] = Message("response", versions="0-5", flexible="3+", key=26)

    throttle_time_ms: Annotated[int32, Wire("0+")] = 0
    error_code: Annotated[int16, Wire("0+")] = 0
    producer_id: Annotated[int64, Wire("5+", ignorable=True)] = -1
    producer_epoch: Annotated[int16, Wire("5+", ignorable=True)] = -1
