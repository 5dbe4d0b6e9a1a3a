"""DescribeTransactions, API key 65."""

from typing import Annotated, ClassVar

from msgspec import Struct

from ottla.protocol.facts import Message, Wire, int16, int32, int64, string


class DescribeTransactionsRequest(Struct, gc=False):
    """Asks a coordinator about transactional ids."""

    WIRE: ClassVar[Message] = Message(
        "request", versions="0", flexible="0+", key=65, listeners=("broker",)
    )

    transactional_ids: Annotated[list[string], Wire("0+")] = []


class TopicData(Struct, gc=False):
    topic: Annotated[string, Wire("0+")] = ""
    partitions: Annotated[list[int32], Wire("0+")] = []


class TransactionState(Struct, gc=False):
    error_code: Annotated[int16, Wire("0+")] = 0
    transactional_id: Annotated[string, Wire("0+")] = ""
    transaction_state: Annotated[string, Wire("0+")] = ""
    transaction_timeout_ms: Annotated[int32, Wire("0+")] = 0
    transaction_start_time_ms: Annotated[int64, Wire("0+")] = 0
    producer_id: Annotated[int64, Wire("0+")] = 0
    producer_epoch: Annotated[int16, Wire("0+")] = 0
    topics: Annotated[list[TopicData], Wire("0+")] = []


class DescribeTransactionsResponse(Struct, gc=False):
    """The state, producer and partitions of each transaction."""

    WIRE: ClassVar[Message] = Message("response", versions="0", flexible="0+", key=65)

    throttle_time_ms: Annotated[int32, Wire("0+")] = 0
    transaction_states: Annotated[list[TransactionState], Wire("0+")] = []
