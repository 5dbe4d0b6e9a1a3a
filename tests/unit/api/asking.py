"""Requests for several partitions, and their answers as plain values."""

from typing import Any, NamedTuple, cast

from ottla.names import NO_UUID, Uuid
from ottla.protocol.schema.delete_topics import DeleteTopicsRequest, DeleteTopicState
from ottla.protocol.schema.fetch import FetchPartition, FetchRequest, FetchResponse, FetchTopic
from ottla.protocol.schema.produce import (
    PartitionProduceData,
    ProduceRequest,
    ProduceResponse,
    TopicProduceData,
)
from ottla.records.record import decode_fetched
from tests.unit.broker.harness import Harness, batch


class To(NamedTuple):
    """A batch for a partition."""

    topic: str
    partition: int
    records: bytes
    topic_id: Uuid = NO_UUID


class At(NamedTuple):
    """A place to read a partition from."""

    topic: str
    partition: int
    offset: int = 0
    bytes_max: int = 1 << 20
    leader_epoch: int = -1
    fetched_epoch: int = -1
    topic_id: Uuid = NO_UUID


def produce(*batches: To, acks: int = -1, timeout_ms: int = 30_000) -> ProduceRequest:
    """One topic entry a batch: names may stand twice on the wire."""
    return ProduceRequest(
        acks=acks,
        timeout_ms=timeout_ms,
        topic_data=[
            TopicProduceData(
                to.topic, to.topic_id, [PartitionProduceData(to.partition, to.records)]
            )
            for to in batches
        ],
    )


def fetch(*places: At, session: tuple[int, int] = (0, -1), **more: Any) -> FetchRequest:
    asked = {"max_wait_ms": 0, "min_bytes": 1, "max_bytes": 1 << 20, **more}
    return FetchRequest(
        session_id=session[0],
        session_epoch=session[1],
        topics=[
            FetchTopic(
                at.topic,
                at.topic_id,
                [
                    FetchPartition(
                        partition=at.partition,
                        current_leader_epoch=at.leader_epoch,
                        fetch_offset=at.offset,
                        last_fetched_epoch=at.fetched_epoch,
                        partition_max_bytes=at.bytes_max,
                    )
                ],
            )
            for at in places
        ],
        **asked,
    )


def delete(topic: str) -> DeleteTopicsRequest:
    return DeleteTopicsRequest(topics=[DeleteTopicState(name=topic)], timeout_ms=1000)


def outcomes(response: ProduceResponse) -> list[tuple[str, int, int, int]]:
    """Topic, partition, code and base offset, in the order of the answer."""
    return [
        (topic.name, answer.index, answer.error_code, answer.base_offset)
        for topic in response.responses
        for answer in topic.partition_responses
    ]


def reads(response: FetchResponse) -> list[tuple[str, int, int, int]]:
    """Topic, partition, code and bytes, in the order of the answer."""
    return [
        (topic.topic, answer.partition_index, answer.error_code, len(answer.records or b""))
        for topic in response.responses
        for answer in topic.partitions
    ]


def values(response: FetchResponse) -> list[tuple[int, bytes | None]]:
    """Offset and value of every whole record."""
    return [
        (record.offset, record.value)
        for topic in response.responses
        for answer in topic.partitions
        for fetched in decode_fetched(cast("bytes", answer.records) or b"")
        for record in fetched.records
    ]


def sequenced(*contents: bytes, sequence: int, epoch: int = 0, producer_id: int = 7) -> bytes:
    return batch(*contents, producer_id=producer_id, producer_epoch=epoch, base_sequence=sequence)


def contents(harness: Harness, topic: str = "orders", partition: int = 0) -> list[bytes | None]:
    """The values that a consumer finds in a partition, once everything is flushed."""
    client = harness.connect()
    response = client.ask(fetch(At(topic, partition)), 12)
    client.close()
    return [value for _, value in values(response)]


def restarted(harness: Harness) -> Harness:
    """The node that starts on this one's disk, as the test left it. This one is dead."""
    return Harness(disk=harness.disk)
