"""confluent-kafka (librdkafka) as our users have it."""

import pytest
from confluent_kafka import (
    OFFSET_BEGINNING,
    OFFSET_END,
    KafkaException,
    TopicCollection,
    TopicPartition,
)
from confluent_kafka.admin import ConfigResource, ResourceType

from ottla.testing import Broker
from tests.wire.librdkafka import (
    admin_of,
    all_of,
    as_sample,
    consumer_of,
    create,
    delete,
    produce,
    read,
    read_from,
)
from tests.wire.samples import CODECS, FIRST_MS, PATIENCE_S, batches, samples, wide_samples

SET_FOR_THE_TOPIC = 1
DEFAULT = 5


@pytest.mark.parametrize("acks", ["1", "all"])
def test_every_record_is_acknowledged_with_its_offset_and_read_as_written(
    broker: Broker, topic: str, acks: str
) -> None:
    create(broker, topic)
    given = samples(500)
    assert produce(broker, topic, given, acks=acks).offsets == list(range(500))
    found = read_from(broker, topic, 0, 500)
    assert [message.offset() for message in found] == list(range(500))
    assert [as_sample(message) for message in found] == given


def test_records_without_acknowledgement_arrive(broker: Broker, topic: str) -> None:
    create(broker, topic)
    given = samples(500)
    produce(broker, topic, given, acks="0")
    assert [as_sample(message) for message in read_from(broker, topic, 0, 500)] == given


@pytest.mark.parametrize("codec", CODECS)
def test_each_codec_is_kept_and_read(broker: Broker, topic: str, codec: str) -> None:
    create(broker, topic)
    given = wide_samples(500)
    produce(broker, topic, given, compression_type=codec, linger_ms=50)
    assert [as_sample(message) for message in read_from(broker, topic, 0, 500)] == given
    # A client that misses what a codec needs falls back to none without a word.
    assert [header.codec for header in batches(broker.data, topic)] == [CODECS[codec]] * len(
        batches(broker.data, topic)
    )


def test_an_idempotent_producer_writes_each_record_once_and_in_order(
    broker: Broker, topic: str
) -> None:
    create(broker, topic)
    given = samples(2000)
    acked = produce(broker, topic, given, enable_idempotence=True, batch_num_messages=20)
    assert acked.offsets == list(range(2000))
    assert [as_sample(message) for _, message in all_of(broker, topic)] == given
    headers = batches(broker.data, topic)
    assert len(headers) >= 100
    assert all(header.producer_id >= 0 for header in headers)


def test_a_consumer_reads_from_any_offset_and_seeks(broker: Broker, topic: str) -> None:
    create(broker, topic)
    given = samples(100)
    produce(broker, topic, given, batch_num_messages=7)
    with consumer_of(broker) as consumer:
        consumer.assign([TopicPartition(topic, 0, 42)])
        assert [as_sample(message) for message in read(consumer, 10)] == given[42:52]
        consumer.seek(TopicPartition(topic, 0, 7))
        assert [message.offset() for message in read(consumer, 3)] == [7, 8, 9]
        consumer.seek(TopicPartition(topic, 0, OFFSET_BEGINNING))
        assert [message.offset() for message in read(consumer, 1)] == [0]
        consumer.seek(TopicPartition(topic, 0, 99))
        assert [as_sample(message) for message in read(consumer, 1)] == given[99:]
        assert consumer.position([TopicPartition(topic, 0)])[0].offset == 100


def test_a_consumer_at_the_end_reads_what_comes(broker: Broker, topic: str) -> None:
    create(broker, topic)
    given = samples(20)
    produce(broker, topic, given[:10])
    with consumer_of(broker, **{"enable.partition.eof": True}) as consumer:
        consumer.assign([TopicPartition(topic, 0, OFFSET_END)])
        end = consumer.poll(PATIENCE_S)
        assert end is not None
        error = end.error()
        assert error is not None
        assert (error.name(), end.offset()) == ("_PARTITION_EOF", 10)
        produce(broker, topic, given[10:], acks="1")
        assert [as_sample(message) for message in read(consumer, 10)] == given[10:]


def test_an_offset_beyond_the_end_is_an_error(broker: Broker, topic: str) -> None:
    create(broker, topic)
    produce(broker, topic, samples(3))
    with pytest.raises(KafkaException, match=r"_AUTO_OFFSET_RESET|out of range"):
        read_from(broker, topic, 4, 1)


def test_offsets_are_found_by_time(broker: Broker, topic: str) -> None:
    create(broker, topic)
    produce(broker, topic, samples(100), batch_num_messages=7)
    asked = [FIRST_MS - 1000, FIRST_MS, FIRST_MS + 33, FIRST_MS + 99, FIRST_MS + 100]
    with consumer_of(broker) as consumer:
        found = [
            consumer.offsets_for_times([TopicPartition(topic, 0, time_ms)], PATIENCE_S)[0].offset
            for time_ms in asked
        ]
    assert found == [0, 0, 33, 99, OFFSET_END]


def test_watermarks_tell_where_a_partition_begins_and_ends(broker: Broker, topic: str) -> None:
    create(broker, topic, partitions=2)
    with consumer_of(broker) as consumer:
        both = [TopicPartition(topic, 0), TopicPartition(topic, 1)]
        produce(broker, topic, samples(12))
        assert [consumer.get_watermark_offsets(one, PATIENCE_S) for one in both] == [
            (0, 12),
            (0, 0),
        ]


def test_topics_are_made_listed_described_and_deleted(broker: Broker, topic: str) -> None:
    admin = admin_of(broker)
    create(broker, topic, partitions=3)
    listed = admin.list_topics(timeout=PATIENCE_S)
    assert list(listed.brokers) == [1]
    assert f"{listed.brokers[1].host}:{listed.brokers[1].port}" == broker.bootstrap_servers
    assert sorted(listed.topics[topic].partitions) == [0, 1, 2]
    assert listed.topics[topic].partitions[2].leader == 1
    assert listed.topics[topic].partitions[2].isrs == [1]
    with pytest.raises(KafkaException, match="TOPIC_ALREADY_EXISTS"):
        create(broker, topic)
    delete(broker, topic)
    assert topic not in admin.list_topics(timeout=PATIENCE_S).topics
    with pytest.raises(KafkaException, match="UNKNOWN_TOPIC"):
        delete(broker, topic)
    create(broker, topic, partitions=1)
    assert sorted(admin.list_topics(timeout=PATIENCE_S).topics[topic].partitions) == [0]


def test_configs_tell_their_value_and_where_it_comes_from(broker: Broker, topic: str) -> None:
    create(broker, topic, segment_bytes="1048576", cleanup_policy="compact")
    resources = [
        ConfigResource(ResourceType.TOPIC, topic),
        ConfigResource(ResourceType.BROKER, "1"),
    ]
    admin = admin_of(broker)
    described = admin.describe_configs(resources)
    of_topic, of_broker = (described[resource].result(PATIENCE_S) for resource in resources)
    values = {name: (row.value, int(row.source)) for name, row in of_topic.items()}
    assert values["segment.bytes"] == ("1048576", SET_FOR_THE_TOPIC)
    assert values["cleanup.policy"] == ("compact", SET_FOR_THE_TOPIC)
    assert values["retention.ms"] == ("604800000", DEFAULT)
    assert of_broker["node.id"].value == "1"
    assert len(of_broker) > 200


def test_the_cluster_describes_itself(broker: Broker) -> None:
    admin = admin_of(broker)
    told = admin.describe_cluster().result(PATIENCE_S)
    assert [(node.id, node.host, node.port) for node in told.nodes] == [
        (1, "127.0.0.1", broker.port)
    ]
    assert told.controller.id == 1
    cluster_id = told.cluster_id
    assert f"cluster.id={cluster_id}" in (broker.data / "meta.properties").read_text()


def test_topics_describe_themselves(broker: Broker, topic: str) -> None:
    create(broker, topic, partitions=2)
    admin = admin_of(broker)
    described = admin.describe_topics(TopicCollection([topic]))
    told = described[topic].result(PATIENCE_S)
    assert [(p.id, p.leader.id, [n.id for n in p.isr]) for p in told.partitions] == [
        (0, 1, [1]),
        (1, 1, [1]),
    ]


def test_a_topic_is_made_by_whoever_writes_to_it(broker: Broker, topic: str) -> None:
    given = samples(5)
    assert produce(broker, topic, given).offsets == [0, 1, 2, 3, 4]
    assert [as_sample(message) for message in read_from(broker, topic, 0, 5)] == given


def test_a_batch_beyond_the_topics_limit_is_refused_and_the_rest_arrives(
    broker: Broker, topic: str
) -> None:
    create(broker, topic, max_message_bytes="2000")
    small, large = samples(2)
    acked = produce(
        broker,
        topic,
        [small, large._replace(value=b"x" * 5000), small],
        linger_ms=0,
        batch_num_messages=1,
    )
    assert len(acked.errors) == 1
    assert "MSG_SIZE_TOO_LARGE" in acked.errors[0]
    assert [as_sample(message) for _, message in all_of(broker, topic)] == [small, small]
