"""Flush rounds: one in flight, and it serves all that was dirty when it began."""

from collections.abc import Iterator

import pytest

from ottla.broker.flushing import (
    GATHER_IDLE_TURNS_MAX,
    GATHER_TURNS_MAX,
    IDLE_FLUSH_MS,
    IDLE_FLUSH_MS_MAX,
    IDLE_FLUSH_SHARE,
)
from ottla.errors import DiskError
from ottla.protocol.schema.delete_topics import DeleteTopicsRequest, DeleteTopicState
from ottla.storage.jobs import CloseFiles
from tests.unit.broker.harness import Harness, fetch_request, produce_request, produced


@pytest.fixture
def harness() -> Iterator[Harness]:
    harness = Harness()
    harness.create_topic("orders", 3)
    harness.advance(5000)
    harness.flushes_begun = 0
    yield harness
    harness.assert_nothing_left()


def test_produces_that_wait_together_share_the_next_round(harness: Harness) -> None:
    clients = [harness.connect() for _ in range(10)]
    harness.holds_flushes = True
    sent = [c.produce("orders", b"a", partition=at % 3) for at, c in enumerate(clients)]
    assert harness.flushes_begun == 1
    harness.finish_flush()
    assert clients[0].has_reply(sent[0])
    assert not clients[1].has_reply(sent[1])
    for _ in range(GATHER_IDLE_TURNS_MAX):
        harness.turn()
    assert harness.flushes_begun == 2
    assert len(harness.flushes[0].logs) == 3
    harness.finish_flush()
    assert all(c.has_reply(at) for c, at in zip(clients, sent, strict=True))
    harness.settle()
    assert harness.flushes_begun == 2


def test_a_round_gathers_those_whom_the_last_one_answered(harness: Harness) -> None:
    answered, waits = harness.connect(), harness.connect()
    harness.holds_flushes = True
    answered.produce("orders", b"a")
    sent = [waits.produce("orders", b"b")]
    harness.finish_flush()
    harness.turn()
    assert harness.flushes_begun == 1, "it would miss the one that comes"
    sent.append(answered.produce("orders", b"c"))
    assert harness.flushes_begun == 2
    harness.finish_flush()
    assert waits.has_reply(sent[0])
    assert answered.has_reply(sent[1])


def test_a_round_does_not_gather_for_ever(harness: Harness) -> None:
    harness.holds_flushes = True
    harness.connect().produce("orders", b"a")
    harness.connect().produce("orders", b"b")
    harness.finish_flush()
    for _ in range(GATHER_TURNS_MAX - 1):
        harness.connect().lend(produce_request("orders", b"c"), 9)
        harness.turn()
        assert harness.flushes_begun == 1
    harness.connect().lend(produce_request("orders", b"c"), 9)
    harness.turn()
    assert harness.flushes_begun == 2


def test_who_waits_alone_has_a_round_with_the_first_turn(harness: Harness) -> None:
    client = harness.connect()
    for number in range(3):
        client.lend(produce_request("orders", b"a"), 9)
        harness.turn()
        assert harness.flushes_begun == number + 1
        harness.settle()


def test_no_second_round_begins_while_one_is_in_flight(harness: Harness) -> None:
    client = harness.connect()
    harness.holds_flushes = True
    for _ in range(5):
        client.produce("orders", b"a")
        harness.advance(100)
    assert harness.flushes_begun == 1
    assert len(harness.flushes) == 1


def test_what_nobody_waits_for_is_flushed_soon(harness: Harness) -> None:
    client = harness.connect()
    client.produce("orders", b"a", acks=1)
    harness.advance(IDLE_FLUSH_MS - 1)
    assert harness.flushes_begun == 0
    client.produce("orders", b"b", acks=1)
    harness.advance(1)
    assert harness.flushes_begun == 1
    assert harness.partition("orders").high_watermark == 2


def test_a_round_begins_at_once_for_a_fetch_that_waits(harness: Harness) -> None:
    consumer, producer = harness.connect(), harness.connect()
    consumer.fetch("orders", 0)
    producer.produce("orders", b"a", acks=1)
    assert harness.flushes_begun == 1
    producer.produce("orders", b"b", acks=1, partition=1)
    assert harness.flushes_begun == 1, "nobody waits for that one"


def test_a_round_covers_what_was_there_when_it_began(harness: Harness) -> None:
    client, other = harness.connect(), harness.connect()
    harness.holds_flushes = True
    client.produce("orders", b"a")
    late = other.produce("orders", b"b")
    harness.finish_flush()
    assert harness.partition("orders").high_watermark == 1
    assert not other.has_reply(late)
    harness.holds_flushes = False
    harness.settle()
    assert produced(other.reply(late)).base_offset == 1


def test_page_cache_durability_waits_for_no_round() -> None:
    harness = Harness({"ottla.durability": "page-cache"})
    harness.create_topic("orders")
    harness.holds_flushes = True
    client = harness.connect()
    sent = client.produce("orders", b"a")
    assert produced(client.reply(sent)).error_code == 0
    assert harness.partition("orders").high_watermark == 1
    harness.assert_nothing_left()


def test_a_file_of_a_deleted_topic_stays_open_until_its_round_has_ended(harness: Harness) -> None:
    client, admin = harness.connect(), harness.connect()
    harness.holds_flushes = True
    client.produce("orders", b"a", acks=1)
    harness.advance(IDLE_FLUSH_MS)
    gone = DeleteTopicsRequest(topics=[DeleteTopicState(name="orders")], timeout_ms=1000)
    admin.send(gone, 6)
    harness.finish_flush()
    harness.holds_flushes = False
    harness.settle()
    assert not harness.node.is_storage_offline
    harness.advance(120_000)
    assert not [path for path in harness.disk.paths() if path.startswith("orders")]


def test_a_failed_round_after_a_deletion_is_still_a_failed_round(harness: Harness) -> None:
    client = harness.connect()
    harness.holds_flushes = True
    client.produce("orders", b"a", acks=1)
    harness.advance(IDLE_FLUSH_MS)
    harness.finish_flush(DiskError(5, "EIO"))
    assert harness.node.is_storage_offline
    assert harness.node.flusher.next_deadline_ms() is None
    assert harness.node.is_quiet


def test_a_slice_that_is_being_sent_keeps_its_deleted_file_open(harness: Harness) -> None:
    client, admin = harness.connect(), harness.connect()
    client.produce("orders", b"a" * 1000)
    log = harness.partition("orders").log
    part = log.read(0, 1, 1 << 20, True)
    assert part is not None
    gone = DeleteTopicsRequest(topics=[DeleteTopicState(name="orders")], timeout_ms=1000)
    admin.ask(gone, 6)
    harness.advance(120_000)
    harness.holds_jobs = True
    assert part.segment.file in harness_open_files(harness)
    part.release()
    harness.settle()
    closing = [op.job.files for op in harness.jobs if isinstance(op.job, CloseFiles)]
    assert closing == [(part.segment.file,)]


def harness_open_files(harness: Harness) -> list[object]:
    return list(harness.disk._open.values())


def test_a_read_that_waits_starts_no_round_where_nothing_is_dirty(harness: Harness) -> None:
    client = harness.connect()
    client.send(fetch_request("orders", 0, max_wait_ms=10), 12)
    harness.advance(10)
    assert harness.flushes_begun == 0


def test_unwaited_rounds_come_the_later_the_longer_they_take(harness: Harness) -> None:
    client = harness.connect()
    harness.holds_flushes = True
    client.produce("orders", b"a", acks=1)
    harness.advance(IDLE_FLUSH_MS)
    harness.advance(IDLE_FLUSH_MS // 5)
    harness.finish_flush()
    harness.flushes_begun = 0
    client.produce("orders", b"b", acks=1)
    harness.advance(IDLE_FLUSH_MS // 5 * IDLE_FLUSH_SHARE - 1)
    assert harness.flushes_begun == 0
    harness.advance(1)
    assert harness.flushes_begun == 1


def test_a_waited_round_begins_at_once_however_long_the_last_one_took(harness: Harness) -> None:
    client = harness.connect()
    harness.holds_flushes = True
    client.produce("orders", b"a", acks=1)
    harness.advance(IDLE_FLUSH_MS)
    harness.advance(IDLE_FLUSH_MS)
    harness.finish_flush()
    client.produce("orders", b"b")
    assert harness.flushes_begun == 2


def test_unwaited_rounds_come_within_a_second_however_long_they_take(harness: Harness) -> None:
    client = harness.connect()
    harness.holds_flushes = True
    client.produce("orders", b"a", acks=1)
    harness.advance(IDLE_FLUSH_MS)
    harness.advance(IDLE_FLUSH_MS_MAX)
    harness.finish_flush()
    harness.flushes_begun = 0
    client.produce("orders", b"b", acks=1)
    harness.advance(IDLE_FLUSH_MS_MAX)
    assert harness.flushes_begun == 1
