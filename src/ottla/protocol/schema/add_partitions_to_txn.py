"""AddPartitionsToTxn, API key 24."""

from typing import Annotated, ClassVar

from msgspec import Struct

from ottla.protocol.facts import Message, Wire, boolean, int16, int32, int64, string


class AddPartitionsToTxnTopic(Struct, gc=False):
    name: Annotated[string, Wire("0+")] = ""
    partitions: Annotated[list[int32], Wire("0+")] = []


class AddPartitionsToTxnTransaction(Struct, gc=False):
    transactional_id: Annotated[string, Wire("4+")] = ""
    producer_id: Annotated[int64, Wire("4+")] = 0
    producer_epoch: Annotated[int16, Wire("4+")] = 0
    verify_only: Annotated[boolean, Wire("4+")] = False
    topics: Annotated[list[AddPartitionsToTxnTopic], Wire("4+")] = []


class AddPartitionsToTxnRequest(Struct, gc=False):
    """Makes partitions part of transactions; from version 4 for brokers, in batches."""

    WIRE: ClassVar[Message] = Message(
        "request", versions="0-5", flexible="3+", key=24, listeners=("broker",)
    )

    transactions: Annotated[list[AddPartitionsToTxnTransaction], Wire("4+")] = []
    v3_and_below_transactional_id: Annotated[string, Wire("0-3")] = ""
    v3_and_below_producer_id: Annotated[int64, Wire("0-3")] = 0
    v3_and_below_producer_epoch: Annotated[int16, Wire("0-3")] = 0
    v3_and_below_topics: Annotated[list[AddPartitionsToTxnTopic], Wire("0-3")] = []


class AddPartitionsToTxnPartitionResult(Struct, gc=False):
    partition_index: Annotated[int32, Wire("0+")] = 0
    partition_error_code: Annotated[int16, Wire("0+")] = 0


class AddPartitionsToTxnTopicResult(Struct, gc=False):
    name: Annotated[string, Wire("0+")] = ""
    results_by_partition: Annotated[list[AddPartitionsToTxnPartitionResult], Wire("0+")] = []


class AddPartitionsToTxnResult(Struct, gc=False):
    transactional_id: Annotated[string, Wire("4+")] = ""
    topic_results: Annotated[list[AddPartitionsToTxnTopicResult], Wire("4+")] = []


class AddPartitionsToTxnResponse(Struct, gc=False):
    """Which partitions became part of their transaction."""

    WIRE: ClassVar[Message] = Message("response", versions="0-5", flexible="3+", key=24)

    throttle_time_ms: Annotated[int32, Wire("0+")] = 0
    error_code: Annotated[int16, Wire("4+", ignorable=True)] = 0
    results_by_transaction: Annotated[list[AddPartitionsToTxnResult], Wire("4+")] = []
    results_by_topic_v3_and_below: Annotated[list[AddPartitionsToTxnTopicResult], Wire("0-3")] = []
