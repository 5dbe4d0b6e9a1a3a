"""confluent-kafka, unmodified, by partition and explicit offset."""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any, Protocol

from confluent_kafka import Consumer, KafkaException, Message, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic

from tests.wire.samples import PATIENCE_S, Sample


class Served(Protocol):
    """Whoever serves: a broker of ours, or of Kafka's."""

    @property
    def bootstrap_servers(self) -> str: ...


def admin_of(broker: Served) -> AdminClient:
    return AdminClient({"bootstrap.servers": broker.bootstrap_servers})


def create(broker: Served, topic: str, partitions: int = 1, **configs: str) -> None:
    """Configs are given with underscores for dots."""
    dotted = {key.replace("_", "."): value for key, value in configs.items()}
    new = NewTopic(topic, num_partitions=partitions, replication_factor=1, config=dotted)
    admin = admin_of(broker)
    for future in admin.create_topics([new]).values():
        future.result(PATIENCE_S)


def delete(broker: Served, topic: str) -> None:
    admin = admin_of(broker)
    for future in admin.delete_topics([topic], operation_timeout=PATIENCE_S).values():
        future.result(PATIENCE_S)


class Acked:
    """What the delivery reports said."""

    def __init__(self) -> None:
        self.messages: list[Message] = []
        self.errors: list[str] = []

    def report(self, error: Any, message: Message) -> None:
        if error is None:
            self.messages.append(message)
        else:
            self.errors.append(str(error))

    @property
    def offsets(self) -> list[int]:
        return [message.offset() or 0 for message in self.messages]


def produce(broker: Served, topic: str, given: Iterable[Sample], **settings: Any) -> Acked:
    """All of it to partition 0, and wait until the client has heard of each."""
    dotted = {key.replace("_", "."): value for key, value in settings.items()}
    producer = Producer({"bootstrap.servers": broker.bootstrap_servers, **dotted})
    acked = Acked()
    for key, value, headers, timestamp_ms in given:
        producer.produce(
            topic,
            value,
            key,
            partition=0,
            headers=list(headers),
            timestamp=timestamp_ms,
            on_delivery=acked.report,
        )
        producer.poll(0)
    assert producer.flush(PATIENCE_S) == 0
    return acked


@contextmanager
def consumer_of(broker: Served, **settings: Any) -> Iterator[Consumer]:
    consumer = Consumer(
        {
            "bootstrap.servers": broker.bootstrap_servers,
            "group.id": "of no matter: partitions are assigned",
            "enable.auto.commit": False,
            "enable.partition.eof": True,
            "auto.offset.reset": "error",
            **settings,
        }
    )
    try:
        yield consumer
    finally:
        consumer.close()


def read(consumer: Consumer, count: int) -> list[Message]:
    """The next records, exactly so many; the end of a partition before that is a failure."""
    found: list[Message] = []
    while len(found) < count:
        message = consumer.poll(PATIENCE_S)
        assert message is not None, f"{len(found)} of {count} records, and then nothing"
        error = message.error()
        if error is not None:
            raise KafkaException(error)
        found.append(message)
    return found


def read_from(
    broker: Served, topic: str, offset: int, count: int, **settings: Any
) -> list[Message]:
    with consumer_of(broker, **settings) as consumer:
        consumer.assign([TopicPartition(topic, 0, offset)])
        return read(consumer, count)


def as_sample(message: Message) -> Sample:
    headers: Any = message.headers() or []
    return Sample(message.key(), message.value(), list(headers), message.timestamp()[1])


def all_of(broker: Served, topic: str, partition: int = 0) -> list[tuple[int, Message]]:
    """Every record of a partition with its offset, up to where the broker says it ends."""
    found: list[tuple[int, Message]] = []
    with consumer_of(broker) as consumer:
        consumer.assign([TopicPartition(topic, partition, 0)])
        while True:
            message = consumer.poll(PATIENCE_S)
            assert message is not None, f"{len(found)} records, and then nothing"
            error = message.error()
            if error is None:
                found.append((message.offset() or 0, message))
            elif error.name() == "_PARTITION_EOF":
                return found
            else:
                raise KafkaException(error)
