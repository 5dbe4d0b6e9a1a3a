"""A node whose disk is in trouble: what is refused, what is still answered, what recovers."""

from collections.abc import Iterator
from typing import Any

import pytest

from ottla.broker.flushing import IDLE_FLUSH_MS
from ottla.errors import DiskError, ErrorCode
from ottla.protocol.schema.create_topics import CreatableTopic, CreateTopicsRequest
from ottla.protocol.schema.delete_topics import DeleteTopicsRequest, DeleteTopicState
from ottla.protocol.schema.init_producer_id import InitProducerIdRequest
from ottla.protocol.schema.metadata import MetadataRequest, MetadataRequestTopic
from tests.unit.broker.harness import Client, Harness, fetched, produced, records_of

NEW_PRODUCER = InitProducerIdRequest(transactional_id=None)
IO_ERROR = DiskError(5, "the device answered EIO")
STORAGE_ERROR = ErrorCode.KAFKA_STORAGE_ERROR


@pytest.fixture
def harness() -> Iterator[Harness]:
    harness = Harness()
    harness.create_topic("orders", 2)
    yield harness
    harness.assert_nothing_left()


def named_topic(name: str) -> MetadataRequest:
    return MetadataRequest(topics=[MetadataRequestTopic(name=name)])


def create(name: str, timeout_ms: int = 1000, **more: Any) -> CreateTopicsRequest:
    topic = CreatableTopic(name=name, num_partitions=1, replication_factor=1)
    return CreateTopicsRequest(topics=[topic], timeout_ms=timeout_ms, **more)


def fill(client: Client, topic: str, count: int, size: int = 1000) -> None:
    for _ in range(count):
        assert produced(client.reply(client.produce(topic, bytes(size)))).error_code == 0


def test_a_failed_flush_takes_the_log_directory_offline_for_good(harness: Harness) -> None:
    producer, consumer, asker = (harness.connect() for _ in range(3))
    harness.holds_flushes = True
    sent = producer.produce("orders", b"a")
    fetch = consumer.fetch("orders", 0)
    asked = asker.list_offsets("orders")
    harness.finish_flush(IO_ERROR)
    harness.settle()
    assert produced(producer.reply(sent)).error_code == STORAGE_ERROR
    assert fetched(consumer.reply(fetch)).error_code == STORAGE_ERROR
    assert asker.reply(asked).topics[0].partitions[0].error_code == STORAGE_ERROR
    assert harness.node.is_storage_offline
    assert [report.level for report in harness.reports].count("error") == 1


def test_no_flush_round_follows_a_failed_one(harness: Harness) -> None:
    """After a failed sync the next one may succeed, and says nothing about what was lost."""
    producer = harness.connect()
    harness.holds_flushes = True
    producer.produce("orders", b"a")
    producer.produce("orders", b"b", acks=1)
    begun = harness.flushes_begun
    harness.finish_flush(IO_ERROR)
    harness.holds_flushes = False
    harness.advance(10_000)
    assert harness.flushes_begun == begun
    assert harness.partition("orders").high_watermark == 0


@pytest.mark.parametrize("offset", [0, 1, 2])
def test_offline_every_fetch_is_refused_at_once(harness: Harness, offset: int) -> None:
    client = harness.connect()
    client.produce("orders", b"a")
    harness.holds_flushes = True
    client.produce("orders", b"b", acks=1)
    harness.advance(IDLE_FLUSH_MS)
    harness.finish_flush(IO_ERROR)
    harness.settle()
    fetch = client.fetch("orders", offset, max_wait_ms=100)
    assert fetched(client.reply(fetch)).error_code == STORAGE_ERROR


def test_offline_produce_and_offsets_are_refused_and_metadata_is_not(harness: Harness) -> None:
    client = harness.connect()
    harness.holds_flushes = True
    client.produce("orders", b"a")
    harness.finish_flush(IO_ERROR)
    for acks in (1, -1):
        assert produced(client.reply(client.produce("orders", b"b", acks=acks))).error_code == (
            STORAGE_ERROR
        )
    for timestamp in (-1, -3, 0):
        answer = client.reply(client.list_offsets("orders", timestamp))
        assert answer.topics[0].partitions[0].error_code == STORAGE_ERROR
    answer = client.ask(MetadataRequest(topics=None), 9)
    assert [topic.name for topic in answer.topics] == ["orders"]


def test_offline_what_needs_the_controller_is_refused(harness: Harness) -> None:
    client = harness.connect()
    harness.holds_flushes = True
    client.produce("orders", b"a")
    harness.finish_flush(IO_ERROR)
    assert client.ask(create("new"), 7).topics[0].error_code == STORAGE_ERROR
    gone = DeleteTopicsRequest(topics=[DeleteTopicState(name="orders")], timeout_ms=1000)
    assert client.ask(gone, 6).responses[0].error_code == STORAGE_ERROR
    assert client.ask(NEW_PRODUCER, 4).error_code == STORAGE_ERROR
    unknown = client.ask(named_topic("new"), 9)
    assert unknown.topics[0].error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION


def test_going_offline_answers_those_who_wait_for_the_controller(harness: Harness) -> None:
    admin, remover, producer = (harness.connect() for _ in range(3))
    harness.holds_flushes = True
    created = admin.send(create("new", 60_000), 7)
    gone = DeleteTopicsRequest(topics=[DeleteTopicState(name="orders")], timeout_ms=60_000)
    deleted = remover.send(gone, 6)
    asked = producer.send(NEW_PRODUCER, 4)
    harness.finish_flush(IO_ERROR)
    harness.settle()
    assert admin.reply(created).topics[0].error_code == STORAGE_ERROR
    assert remover.reply(deleted).responses[0].error_code == STORAGE_ERROR
    assert producer.reply(asked).error_code == STORAGE_ERROR


def test_a_full_disk_refuses_produces_until_there_is_room(harness: Harness) -> None:
    client = harness.connect()
    fill(client, "orders", 3)
    harness.disk.fill()
    sent = client.produce("orders", bytes(50_000))
    assert produced(client.reply(sent)).error_code == STORAGE_ERROR
    assert not harness.node.is_storage_offline
    fetch = client.fetch("orders", 0)
    assert len(records_of(client.reply(fetch))) > 0
    harness.advance(5000)
    assert not harness.node.is_storage_offline
    harness.disk.free_space()
    sent = client.produce("orders", bytes(50_000))
    assert produced(client.reply(sent)).base_offset == 3


def test_a_full_disk_refuses_new_topics_and_ids_until_there_is_room(harness: Harness) -> None:
    client = harness.connect()
    harness.disk.fill()
    big = create("new", validate_only=False)
    big.topics[0].num_partitions = 1000
    assert client.ask(big, 7).topics[0].error_code == STORAGE_ERROR
    harness.disk.free_space()
    assert client.ask(big, 7).topics[0].error_code == 0
    assert client.ask(NEW_PRODUCER, 4).error_code == 0


def test_a_roll_that_finds_no_room_refuses_instead_of_trying_without_end(
    harness: Harness,
) -> None:
    harness.create_topic("small", segment_bytes=1 << 20)
    client = harness.connect()
    fill(client, "small", 2, 500_000)
    harness.disk.fill()
    sent = client.produce("small", bytes(500_000))
    assert produced(client.reply(sent)).error_code == STORAGE_ERROR
    harness.disk.free_space()
    harness.advance(2000)
    sent = client.produce("small", bytes(500_000))
    assert produced(client.reply(sent)).base_offset == 2


def test_a_partition_that_found_no_room_is_made_when_there_is_some(harness: Harness) -> None:
    client = harness.connect()
    harness.holds_jobs = True
    client.send(create("new"), 7)
    harness.disk.fill()
    harness.finish_job()
    harness.settle()
    sent = client.produce("new", b"a")
    assert produced(client.reply(sent)).error_code == STORAGE_ERROR
    harness.disk.free_space()
    harness.holds_jobs = False
    harness.advance(2000)
    sent = client.produce("new", b"a")
    assert produced(client.reply(sent)).base_offset == 0


def test_a_read_that_fails_takes_the_log_directory_offline(harness: Harness) -> None:
    client = harness.connect()
    fill(client, "orders", 300)
    harness.disk.faults.read_error = 1.0
    fetch = client.fetch("orders", 5, partition_max_bytes=2000)
    assert fetched(client.reply(fetch)).error_code == STORAGE_ERROR
    assert harness.node.is_storage_offline


def test_a_lookup_by_time_survives_a_batch_that_rotted(harness: Harness) -> None:
    client = harness.connect()
    fill(client, "orders", 3)
    path = "orders-0/00000000000000000000.log"
    data = bytearray(harness.disk.contents(path))
    data[61:75] = b"\xff" * 14
    harness.disk.put(path, bytes(data))
    answer = client.reply(client.list_offsets("orders", 0))
    assert answer.topics[0].partitions[0].error_code in (
        ErrorCode.CORRUPT_MESSAGE,
        ErrorCode.KAFKA_STORAGE_ERROR,
    )
    assert client.ask(MetadataRequest(topics=[]), 9).brokers
