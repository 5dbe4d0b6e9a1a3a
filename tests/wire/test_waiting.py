"""What waits, what wakes it, and what a client may rely on to see. Orders, never times."""

import pytest

from ottla.testing import Broker
from tests.wire.raw import Raw, batch_of, produce_body

# Beyond every patience of these tests: whoever waited so long has failed.
FOREVER_MS = 10**9


def test_a_fetch_that_waits_is_answered_by_the_record_it_waits_for(
    broker: Broker, topic: str
) -> None:
    with Raw(broker) as reader, Raw(broker) as writer:
        writer.create(topic)
        reader.send_fetch(topic, 0, max_wait_ms=FOREVER_MS)
        assert writer.end_offset(topic) == 0
        assert not reader.has_answer()
        writer.produce(topic, b"hello")
        told = reader.fetched()
        assert (told["error_code"], told["high_watermark"]) == (0, 1)
        assert b"hello" in told["records"]


def test_a_fetch_waits_until_there_is_as_much_as_it_asked_for(broker: Broker, topic: str) -> None:
    with Raw(broker) as reader, Raw(broker) as writer:
        writer.create(topic)
        writer.produce(topic, b"first")
        reader.send_fetch(topic, 0, max_wait_ms=FOREVER_MS, min_bytes=1000)
        writer.produce(topic, b"second")
        assert writer.end_offset(topic) == 2
        assert not reader.has_answer()
        writer.produce(topic, b"x" * 1000)
        records = reader.fetched()["records"]
        assert records.index(b"first") < records.index(b"second") < records.index(b"x" * 1000)


def test_a_fetch_that_waited_long_enough_is_answered_with_what_there_is(
    broker: Broker, topic: str
) -> None:
    with Raw(broker) as reader, Raw(broker) as writer:
        writer.create(topic)
        assert reader.fetch(topic, 0, max_wait_ms=20)["records"] == b""
        writer.produce(topic, b"some")
        told = reader.fetch(topic, 0, max_wait_ms=20, min_bytes=1 << 19)
        assert b"some" in told["records"]


def test_a_fetch_that_waits_ends_with_its_topic(broker: Broker, topic: str) -> None:
    unknown_topic = 3
    with Raw(broker) as reader, Raw(broker) as writer:
        writer.create(topic)
        reader.send_fetch(topic, 0, max_wait_ms=FOREVER_MS)
        assert writer.end_offset(topic) == 0
        writer.delete(topic)
        assert reader.fetched()["error_code"] == unknown_topic


def test_who_waits_keeps_nobody_else_from_being_served(broker: Broker, topic: str) -> None:
    with Raw(broker) as waiting, Raw(broker) as other:
        other.create(topic)
        waiting.send_fetch(topic, 0, max_wait_ms=FOREVER_MS)
        for number in range(50):
            other.produce(f"{topic}-other" if number else topic, b"x")
            if number == 0:
                assert b"x" in waiting.fetched()["records"]
                other.create(f"{topic}-other")
                waiting.send_fetch(topic, 1, max_wait_ms=FOREVER_MS)
        assert not waiting.has_answer()


@pytest.mark.parametrize("min_bytes", [0, 1])
def test_what_was_acknowledged_with_one_is_seen_by_the_next_request_of_anybody(
    broker: Broker, topic: str, min_bytes: int
) -> None:
    with Raw(broker) as writer, Raw(broker) as reader:
        writer.create(topic)
        for number in range(100):
            value = b"<%d>" % number
            assert writer.produce(topic, value, acks=1)["base_offset"] == number
            if number % 2:
                assert reader.end_offset(topic) == number + 1
            told = reader.fetch(topic, number, max_wait_ms=0, min_bytes=min_bytes)
            assert value in told["records"]
            assert told["high_watermark"] == number + 1


def test_answers_come_in_the_order_of_the_requests(broker: Broker, topic: str) -> None:
    """A produce that waits for the disk holds back the answers behind it."""
    with Raw(broker) as client:
        client.create(topic)
        for number in range(20):
            client.send("produce", 9, produce_body(topic, batch_of(b"%d" % number), -1))
        client.send_fetch(topic, 0)
        client.send("api_versions", 0, {})
        assert [client.produced()["base_offset"] for _ in range(20)] == list(range(20))
        assert client.fetched()["high_watermark"] == 20
        assert client.receive("api_versions", 0)["error_code"] == 0
