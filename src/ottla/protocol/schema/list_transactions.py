"""ListTransactions, API key 66."""

from typing import Annotated, ClassVar

from msgspec import Struct

from ottla.protocol.facts import Message, Wire, int16, int32, int64, string


class ListTransactionsRequest(Struct, gc=False):
    """Asks a coordinator for transactions by state, producer, age or name."""

    WIRE: ClassVar[Message] = Message(
        "request", versions="0-2", flexible="0+", key=66, listeners=("broker",)
    )

    state_filters: Annotated[list[string], Wire("0+")] = []
    producer_id_filters: Annotated[list[int64], Wire("0+")] = []
    duration_filter: Annotated[int64, Wire("1+")] = -1
    transactional_id_pattern: Annotated[string | None, Wire("2+", nullable="2+")] = None


class TransactionState(Struct, gc=False):
    transactional_id: Annotated[string, Wire("0+")] = ""
    producer_id: Annotated[int64, Wire("0+")] = 0
    transaction_state: Annotated[string, Wire("0+")] = ""


class ListTransactionsResponse(Struct, gc=False):
    """The transactions that match."""

    WIRE: ClassVar[Message] = Message("response", versions="0-2", flexible="0+", key=66)

    throttle_time_ms: Annotated[int32, Wire("0+")] = 0
    error_code: Annotated[int16, Wire("0+")] = 0
    unknown_state_filters: Annotated[list[string], Wire("0+")] = []
    transaction_states: Annotated[list[TransactionState], Wire("0+")] = []
