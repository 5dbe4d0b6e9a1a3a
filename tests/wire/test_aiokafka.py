"""aiokafka as our users have it."""

import asyncio
from collections.abc import AsyncIterator, Coroutine
from contextlib import asynccontextmanager
from typing import Any

import pytest
from aiokafka import AIOKafkaConsumer, AIOKafkaProducer, TopicPartition
from aiokafka.admin import AIOKafkaAdminClient, NewTopic
from aiokafka.errors import OffsetOutOfRangeError, TopicAlreadyExistsError
from aiokafka.structs import OffsetAndTimestamp

from ottla.testing import Broker
from tests.wire.samples import (
    CODECS,
    FIRST_MS,
    PATIENCE_S,
    Sample,
    batches,
    filled_samples,
    wide_samples,
)


def run(work: Coroutine[Any, Any, None]) -> None:
    asyncio.run(asyncio.wait_for(work, 2 * PATIENCE_S))


@asynccontextmanager
async def admin_of(broker: Broker) -> AsyncIterator[Any]:
    admin = AIOKafkaAdminClient(bootstrap_servers=broker.bootstrap_servers)
    await admin.start()
    try:
        yield admin
    finally:
        await admin.close()


@asynccontextmanager
async def consumer_at(broker: Broker, topic: str, offset: int) -> AsyncIterator[Any]:
    consumer = AIOKafkaConsumer(
        bootstrap_servers=broker.bootstrap_servers,
        group_id=None,
        enable_auto_commit=False,
        auto_offset_reset="none",
    )
    await consumer.start()
    try:
        consumer.assign([TopicPartition(topic, 0)])
        consumer.seek(TopicPartition(topic, 0), offset)
        yield consumer
    finally:
        await consumer.stop()


async def create(broker: Broker, topic: str, partitions: int = 1) -> None:
    async with admin_of(broker) as admin:
        answer = await admin.create_topics([NewTopic(topic, partitions, 1)])
        assert [error[1] for error in answer.topic_errors] == [0]


async def produce(broker: Broker, topic: str, given: list[Sample], **settings: Any) -> list[Any]:
    """All of it to partition 0; what the client was told of each."""
    producer = AIOKafkaProducer(bootstrap_servers=broker.bootstrap_servers, **settings)
    await producer.start()
    try:
        waiting = [
            await producer.send(
                topic,
                value=sample.value,
                key=sample.key,
                headers=sample.headers,
                partition=0,
                timestamp_ms=sample.timestamp_ms,
            )
            for sample in given
        ]
        return [await one for one in waiting]
    finally:
        await producer.stop()


async def read(consumer: Any, count: int) -> list[Any]:
    return [await asyncio.wait_for(consumer.getone(), PATIENCE_S) for _ in range(count)]


def as_sample(record: Any) -> Sample:
    return Sample(record.key, record.value, list(record.headers), record.timestamp)


@pytest.mark.parametrize("acks", [1, "all"])
def test_every_record_is_acknowledged_with_its_offset_and_read_as_written(
    broker: Broker, topic: str, acks: int | str
) -> None:
    async def work() -> None:
        await create(broker, topic)
        given = filled_samples(300)
        told = await produce(broker, topic, given, acks=acks)
        assert [answer.offset for answer in told] == list(range(300))
        async with consumer_at(broker, topic, 0) as consumer:
            found = await read(consumer, 300)
        assert [record.offset for record in found] == list(range(300))
        assert [as_sample(record) for record in found] == given

    run(work())


def test_records_without_acknowledgement_arrive(broker: Broker, topic: str) -> None:
    async def work() -> None:
        await create(broker, topic)
        given = filled_samples(100)
        await produce(broker, topic, given, acks=0)
        async with consumer_at(broker, topic, 0) as consumer:
            assert [as_sample(record) for record in await read(consumer, 100)] == given

    run(work())


@pytest.mark.parametrize("codec", CODECS)
def test_each_codec_is_kept_and_read(broker: Broker, topic: str, codec: str) -> None:
    async def work() -> None:
        await create(broker, topic)
        given = wide_samples(300)
        kind = None if codec == "none" else codec
        await produce(broker, topic, given, compression_type=kind, linger_ms=50)
        async with consumer_at(broker, topic, 0) as consumer:
            assert [as_sample(record) for record in await read(consumer, 300)] == given
        headers = batches(broker.data, topic)
        assert [header.codec for header in headers] == [CODECS[codec]] * len(headers)

    run(work())


def test_an_idempotent_producer_writes_each_record_once_and_in_order(
    broker: Broker, topic: str
) -> None:
    async def work() -> None:
        await create(broker, topic)
        given = filled_samples(500)
        told = await produce(broker, topic, given, enable_idempotence=True, max_batch_size=500)
        assert [answer.offset for answer in told] == list(range(500))
        headers = batches(broker.data, topic)
        assert len(headers) >= 20
        assert all(header.producer_id >= 0 for header in headers)
        async with consumer_at(broker, topic, 0) as consumer:
            assert [as_sample(record) for record in await read(consumer, 500)] == given

    run(work())


def test_a_consumer_seeks_and_finds_offsets(broker: Broker, topic: str) -> None:
    async def work() -> None:
        await create(broker, topic)
        given = filled_samples(100)
        await produce(broker, topic, given, max_batch_size=200)
        partition = TopicPartition(topic, 0)
        async with consumer_at(broker, topic, 42) as consumer:
            assert [as_sample(record) for record in await read(consumer, 5)] == given[42:47]
            consumer.seek(partition, 99)
            assert [as_sample(record) for record in await read(consumer, 1)] == given[99:]
            assert await consumer.position(partition) == 100
            assert await consumer.beginning_offsets([partition]) == {partition: 0}
            assert await consumer.end_offsets([partition]) == {partition: 100}
            found = await consumer.offsets_for_times({partition: FIRST_MS + 33})
            assert found == {partition: OffsetAndTimestamp(33, FIRST_MS + 33)}
            consumer.seek(partition, 101)
            with pytest.raises(OffsetOutOfRangeError):
                await read(consumer, 1)

    run(work())


def test_topics_are_made_listed_and_deleted(broker: Broker, topic: str) -> None:
    async def work() -> None:
        await create(broker, topic, partitions=3)
        async with admin_of(broker) as admin:
            again = await admin.create_topics([NewTopic(topic, 1, 1)])
            assert [error[1] for error in again.topic_errors] == [TopicAlreadyExistsError.errno]
            assert topic in await admin.list_topics()
            described = await admin.describe_topics([topic])
            assert [len(told["partitions"]) for told in described] == [3]
            await admin.delete_topics([topic])
            assert topic not in await admin.list_topics()

    run(work())


def test_the_cluster_describes_itself(broker: Broker) -> None:
    async def work() -> None:
        async with admin_of(broker) as admin:
            told = await admin.describe_cluster()
        assert [(node["node_id"], node["port"]) for node in told["brokers"]] == [(1, broker.port)]

    run(work())


def test_a_topic_is_made_by_whoever_writes_to_it(broker: Broker, topic: str) -> None:
    async def work() -> None:
        told = await produce(broker, topic, filled_samples(3))
        assert [answer.offset for answer in told] == [0, 1, 2]

    run(work())
