"""kafka-python as our users have it."""

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

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

with warnings.catch_warnings():
    # It reads its own files in a way that Python would rather have it leave.
    warnings.simplefilter("ignore", DeprecationWarning)
    from kafka import KafkaAdminClient, KafkaConsumer, KafkaProducer, TopicPartition
    from kafka.admin import ConfigResource, ConfigResourceType, NewTopic
    from kafka.errors import TopicAlreadyExistsError, UnknownTopicOrPartitionError
    from kafka.structs import OffsetAndTimestamp


@contextmanager
def closing(client: Any) -> Iterator[Any]:
    try:
        yield client
    finally:
        client.close()


def admin_of(broker: Broker) -> Any:
    return closing(KafkaAdminClient(bootstrap_servers=broker.bootstrap_servers))


def consumer_of(broker: Broker) -> Any:
    return closing(
        KafkaConsumer(
            bootstrap_servers=broker.bootstrap_servers,
            group_id=None,
            enable_auto_commit=False,
            auto_offset_reset="none",
        )
    )


def create(broker: Broker, topic: str, partitions: int = 1) -> None:
    with admin_of(broker) as admin:
        admin.create_topics([NewTopic(topic, num_partitions=partitions, replication_factor=1)])


def produce(broker: Broker, topic: str, given: list[Sample], **settings: Any) -> list[int]:
    """All of it to partition 0; the offsets that the client was told."""
    producer = KafkaProducer(bootstrap_servers=broker.bootstrap_servers, **settings)
    with closing(producer):
        futures = [
            producer.send(
                topic,
                value=sample.value,
                key=sample.key,
                headers=sample.headers,
                partition=0,
                timestamp_ms=sample.timestamp_ms,
            )
            for sample in given
        ]
        return [future.get(PATIENCE_S).offset for future in futures]


def read(consumer: Any, count: int) -> list[Any]:
    found: list[Any] = []
    while len(found) < count:
        polled = consumer.poll(timeout_ms=int(PATIENCE_S * 1000), max_records=count - len(found))
        assert polled, f"{len(found)} of {count} records, and then nothing"
        for records in polled.values():
            found += records
    return found


def as_sample(record: Any) -> Sample:
    return Sample(record.key, record.value, list(record.headers), record.timestamp)


@pytest.mark.parametrize("acks", [1, "all"])
def test_every_record_is_acknowledged_with_its_offset_and_read_as_written(
    broker: Broker, topic: str, acks: int | str
) -> None:
    create(broker, topic)
    given = filled_samples(300)
    told = produce(broker, topic, given, acks=acks, enable_idempotence=False)
    assert told == list(range(300))
    with consumer_of(broker) as consumer:
        consumer.assign([TopicPartition(topic, 0)])
        consumer.seek(TopicPartition(topic, 0), 0)
        found = read(consumer, 300)
    assert [record.offset for record in found] == list(range(300))
    assert [as_sample(record) for record in found] == given


def test_records_without_acknowledgement_arrive(broker: Broker, topic: str) -> None:
    create(broker, topic)
    given = filled_samples(100)
    produce(broker, topic, given, acks=0, enable_idempotence=False)
    with consumer_of(broker) as consumer:
        consumer.assign([TopicPartition(topic, 0)])
        consumer.seek(TopicPartition(topic, 0), 0)
        assert [as_sample(record) for record in read(consumer, 100)] == given


@pytest.mark.parametrize("codec", CODECS)
def test_each_codec_is_kept_and_read(broker: Broker, topic: str, codec: str) -> None:
    create(broker, topic)
    given = wide_samples(300)
    kind = None if codec == "none" else codec
    produce(broker, topic, given, compression_type=kind, linger_ms=50)
    with consumer_of(broker) as consumer:
        consumer.assign([TopicPartition(topic, 0)])
        consumer.seek(TopicPartition(topic, 0), 0)
        assert [as_sample(record) for record in read(consumer, 300)] == given
    headers = batches(broker.data, topic)
    assert [header.codec for header in headers] == [CODECS[codec]] * len(headers)


def test_an_idempotent_producer_writes_each_record_once_and_in_order(
    broker: Broker, topic: str
) -> None:
    create(broker, topic)
    given = filled_samples(500)
    told = produce(broker, topic, given, enable_idempotence=True, acks="all", batch_size=500)
    assert told == list(range(500))
    headers = batches(broker.data, topic)
    assert len(headers) >= 20
    assert all(header.producer_id >= 0 for header in headers)
    with consumer_of(broker) as consumer:
        consumer.assign([TopicPartition(topic, 0)])
        consumer.seek(TopicPartition(topic, 0), 0)
        assert [as_sample(record) for record in read(consumer, 500)] == given


def test_a_consumer_seeks_and_finds_offsets(broker: Broker, topic: str) -> None:
    create(broker, topic)
    given = filled_samples(100)
    produce(broker, topic, given, batch_size=200)
    partition = TopicPartition(topic, 0)
    with consumer_of(broker) as consumer:
        consumer.assign([partition])
        consumer.seek(partition, 42)
        assert [as_sample(record) for record in read(consumer, 5)] == given[42:47]
        consumer.seek_to_beginning(partition)
        assert [record.offset for record in read(consumer, 2)] == [0, 1]
        consumer.seek(partition, 99)
        assert [as_sample(record) for record in read(consumer, 1)] == given[99:]
        assert consumer.position(partition) == 100
        assert consumer.beginning_offsets([partition]) == {partition: 0}
        assert consumer.end_offsets([partition]) == {partition: 100}
        assert consumer.offsets_for_times({partition: FIRST_MS + 33}) == {
            partition: OffsetAndTimestamp(33, FIRST_MS + 33, 0)
        }
        assert consumer.offsets_for_times({partition: FIRST_MS + 100}) == {partition: None}


def test_topics_are_made_listed_and_deleted(broker: Broker, topic: str) -> None:
    create(broker, topic, partitions=3)
    with pytest.raises(TopicAlreadyExistsError):
        create(broker, topic)
    with consumer_of(broker) as consumer, admin_of(broker) as admin:
        assert consumer.partitions_for_topic(topic) == {0, 1, 2}
        assert topic in admin.list_topics()
        admin.delete_topics([topic])
        assert topic not in admin.list_topics()
        with pytest.raises(UnknownTopicOrPartitionError):
            admin.delete_topics([topic])


def test_the_cluster_and_its_configs_describe_themselves(broker: Broker, topic: str) -> None:
    create(broker, topic)
    with admin_of(broker) as admin:
        cluster = admin.describe_cluster()
        assert [(node["broker_id"], node["port"]) for node in cluster["brokers"]] == [
            (1, broker.port)
        ]
        asked = [ConfigResource(ConfigResourceType.TOPIC, topic)]
        told = admin.describe_configs(asked, config_filter="all")["topic"][topic]
        assert told["retention.ms"]["value"] == "604800000"


def test_a_topic_is_made_by_whoever_writes_to_it(broker: Broker, topic: str) -> None:
    assert produce(broker, topic, filled_samples(3)) == [0, 1, 2]
