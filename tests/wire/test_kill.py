"""kill -9 in the middle of things, then a restart: acknowledged is kept, and nothing twice."""

from collections.abc import Iterable, Iterator

import pytest
from confluent_kafka import Producer

from ottla.testing import Broker
from tests.wire.librdkafka import Acked, all_of, create
from tests.wire.raw import Raw, batch_of
from tests.wire.samples import PATIENCE_S

RECORDS = 1500


@pytest.fixture
def broker() -> Iterator[Broker]:
    """One of each test's own: it will not fare well."""
    with Broker() as broker:
        yield broker


def produce_over_kills(
    broker: Broker, topic: str, kill_after: Iterable[int], **settings: object
) -> Acked:
    """Send numbered records; kill and restart the broker when so many are acknowledged."""
    producer = Producer(
        {
            "bootstrap.servers": broker.bootstrap_servers,
            "acks": "all",
            "batch.num.messages": 10,
            "linger.ms": 0,
            "max.in.flight.requests.per.connection": 5,
            "reconnect.backoff.ms": 1,
            "reconnect.backoff.max.ms": 50,
            "retry.backoff.ms": 1,
            **settings,
        }
    )
    acked = Acked()
    for number in range(RECORDS):
        producer.produce(topic, b"%d" % number, partition=0, on_delivery=acked.report)
    for count in kill_after:
        while len(acked.messages) < count:
            assert producer.poll(PATIENCE_S), f"{len(acked.messages)} acknowledged, then nothing"
        broker.kill()
        broker.restart()
    assert producer.flush(PATIENCE_S) == 0
    assert acked.errors == []
    return acked


def values_of(broker: Broker, topic: str) -> dict[int, bytes | None]:
    return {offset: message.value() for offset, message in all_of(broker, topic)}


@pytest.mark.parametrize("kill_after", [(1,), (37, 38, 39), (300, 600, 900), (1490,)], ids=str)
def test_an_idempotent_producer_finds_each_record_once_and_in_order(
    broker: Broker, topic: str, kill_after: tuple[int, ...]
) -> None:
    create(broker, topic)
    acked = produce_over_kills(broker, topic, kill_after, **{"enable.idempotence": True})
    found = values_of(broker, topic)
    assert list(found.values()) == [b"%d" % number for number in range(RECORDS)]
    assert {message.offset(): message.value() for message in acked.messages} == found


@pytest.mark.parametrize("kill_after", [(1,), (300, 600, 900), (1490,)], ids=str)
def test_every_acknowledged_record_is_at_its_offset(
    broker: Broker, topic: str, kill_after: tuple[int, ...]
) -> None:
    create(broker, topic, segment_bytes="1048576")
    acked = produce_over_kills(broker, topic, kill_after)
    found = values_of(broker, topic)
    assert list(found) == list(range(len(found)))
    told = {message.offset() or 0: message.value() for message in acked.messages}
    assert len(told) == RECORDS
    assert {offset: found.get(offset) for offset in told} == told


@pytest.mark.parametrize("ending", ["kill", "stop"])
def test_five_in_flight_are_known_again_after_a_restart(
    broker: Broker, topic: str, ending: str
) -> None:
    with Raw(broker) as client:
        client.create(topic)
        producer_id = client.producer_id()
        sent = [
            batch_of(b"%d" % n, b"and %d" % n, producer_id=producer_id, sequence=2 * n)
            for n in range(8)
        ]
        for number, batch in enumerate(sent):
            told = client.produce_batch(topic, batch)
            assert (told["error_code"], told["base_offset"]) == (0, 2 * number)
    getattr(broker, ending)()
    broker.restart()
    with Raw(broker) as client:
        for number, batch in list(enumerate(sent))[-5:]:
            told = client.produce_batch(topic, batch)
            assert (told["error_code"], told["base_offset"]) == (0, 2 * number)
        assert client.end_offset(topic) == 16
        following = batch_of(b"8", producer_id=producer_id, sequence=16)
        assert client.produce_batch(topic, following)["base_offset"] == 16
        out_of_order = 45
        gap = batch_of(b"9", producer_id=producer_id, sequence=99)
        assert client.produce_batch(topic, gap)["error_code"] == out_of_order


def test_a_producer_id_is_not_given_twice_over_a_kill(broker: Broker) -> None:
    given: dict[int, None] = {}
    for _ in range(3):
        with Raw(broker) as client:
            for _ in range(5):
                fresh = client.producer_id()
                assert fresh not in given
                given[fresh] = None
        broker.kill()
        broker.restart()


def test_topics_that_were_acknowledged_are_there_after_a_kill(broker: Broker, topic: str) -> None:
    with Raw(broker) as client:
        for number in range(10):
            client.create(f"{topic}-{number}")
        client.delete(f"{topic}-3")
    broker.kill()
    broker.restart()
    with Raw(broker) as client:
        listed = client.ask("metadata", 9, {"topics": None})["topics"]
        assert sorted(row["name"] for row in listed) == [
            f"{topic}-{number}" for number in range(10) if number != 3
        ]
        assert client.produce(f"{topic}-5", b"x", acks=-1)["error_code"] == 0


def test_a_stop_keeps_everything_and_leaves_the_directory_clean(broker: Broker, topic: str) -> None:
    with Raw(broker) as client:
        client.create(topic)
        for number in range(100):
            client.produce(topic, b"<%d>" % number, acks=1)
        assert client.end_offset(topic) == 100
        told = client.fetch(topic, 0)
    assert broker.stop() == 0
    assert (broker.data / ".kafka_cleanshutdown").exists()
    broker.restart()
    assert not (broker.data / ".kafka_cleanshutdown").exists()
    with Raw(broker) as client:
        assert client.end_offset(topic) == 100
        assert client.fetch(topic, 0)["records"] == told["records"]


def test_who_waits_when_the_broker_stops_is_answered(broker: Broker, topic: str) -> None:
    with Raw(broker) as reader, Raw(broker) as writer:
        writer.create(topic)
        reader.send_fetch(topic, 0, max_wait_ms=10**9)
        assert writer.end_offset(topic) == 0
        assert broker.stop() == 0
        assert reader.fetched()["records"] == b""
        broker.restart()
