"""Covers: ottla.replication.directories."""

from collections.abc import Iterator

import pytest

from ottla.broker.effects import DiskOp
from ottla.broker.flushing import IDLE_FLUSH_MS
from ottla.protocol.schema.create_topics import CreatableTopic, CreateTopicsRequest
from ottla.protocol.schema.delete_topics import DeleteTopicsRequest, DeleteTopicState
from ottla.protocol.schema.records_metadata import RemoveTopicRecord
from ottla.records.batch import iter_headers
from ottla.storage.jobs import CreateLogs, CreateSegment
from ottla.storage.journal import HALF_BYTES, JOURNAL_FILE
from ottla.storage.partition_meta import decode_partition_metadata
from tests.unit.broker.harness import Client, Harness, fetch_request, fetched, produced

DELETE_DELAY_MS = 60_000


@pytest.fixture
def harness() -> Iterator[Harness]:
    harness = Harness()
    yield harness
    harness.assert_nothing_left()


def create(client: Client, topic: str) -> int:
    topics = [CreatableTopic(name=topic, num_partitions=1, replication_factor=1)]
    return client.send(CreateTopicsRequest(topics=topics, timeout_ms=1000), 7)


def delete(client: Client, topic: str) -> int:
    topics = [DeleteTopicState(name=topic)]
    return client.send(DeleteTopicsRequest(topics=topics, timeout_ms=1000), 6)


def waiting(harness: Harness) -> list[str]:
    return [type(op.job).__name__ for op in harness.jobs]


def finish(harness: Harness, kind: type) -> DiskOp:
    """Threads take jobs in any order."""
    while not isinstance(harness.jobs[0].job, kind):
        harness.jobs.rotate(-1)
    op = harness.finish_job()
    harness.settle()
    return op


def directories(harness: Harness) -> list[str]:
    return sorted(dict.fromkeys(path.partition("/")[0] for path in harness.disk.paths()))


def test_a_topic_made_under_a_deleted_name_waits_until_the_old_directory_is_gone() -> None:
    harness = Harness()
    client = harness.connect()
    harness.create_topic("t")
    client.produce("t", b"old")
    harness.holds_jobs = True
    delete(client, "t")
    create(client, "t")

    assert sorted(waiting(harness)) == ["CloseFiles", "RenameLog"]
    harness.holds_jobs = False
    harness.settle()
    sent = client.produce("t", b"new")
    assert produced(client.reply(sent)).base_offset == 0

    harness.disk.kill()
    again = Harness(disk=harness.disk)
    records = fetched(again.connect().ask(fetch_request("t", 0), 12)).records
    assert isinstance(records, bytes | memoryview)
    assert len(list(iter_headers(records))) == 1
    assert b"new" in bytes(records)


def test_a_topic_that_is_deleted_while_it_is_made_leaves_nothing_behind(harness: Harness) -> None:
    client = harness.connect()
    harness.holds_jobs = True
    create(client, "t")
    delete(client, "t")
    create(client, "t")
    delete(client, "t")
    create(client, "t")

    assert waiting(harness) == ["CreateLogs"]
    finish(harness, CreateLogs)
    assert sorted(waiting(harness)) == ["CloseFiles", "RenameLog"]
    harness.holds_jobs = False
    harness.settle()

    topic = harness.node.hosting.topics["t"]
    stored = decode_partition_metadata(harness.disk.contents("t-0/partition.metadata"))
    assert stored == topic.topic_id
    assert produced(client.reply(client.produce("t", b"a"))).base_offset == 0
    harness.advance(DELETE_DELAY_MS)
    assert [name for name in directories(harness) if name.startswith("t-0")] == ["t-0"]


def test_a_directory_is_renamed_only_when_no_flush_round_writes_into_it(harness: Harness) -> None:
    """A round writes the epoch checkpoint: in a directory that is gone that would fail."""
    client = harness.connect()
    harness.create_topic("t")
    harness.holds_flushes = True
    harness.holds_jobs = True
    client.produce("t", b"a", acks=1)
    harness.advance(IDLE_FLUSH_MS)
    assert any(ticket.epochs for ticket in harness.flushes[0].logs)
    partition = harness.partition("t")

    harness.node.hosting.on_committed(RemoveTopicRecord(topic_id=partition.topic_id), harness.now)
    harness.settle()

    assert "RenameLog" not in waiting(harness)
    harness.holds_flushes = False
    harness.settle()
    assert "RenameLog" in waiting(harness)
    harness.holds_jobs = False
    harness.settle()
    assert not harness.node.is_storage_offline


def test_a_directory_is_renamed_only_when_its_roll_has_ended(harness: Harness) -> None:
    client = harness.connect()
    harness.create_topic("t", segment_bytes=1 << 20)
    client.produce("t", bytes(800_000))
    harness.holds_jobs = True
    client.produce("t", bytes(800_000))
    other = harness.connect()
    delete(other, "t")

    assert waiting(harness) == ["CreateSegment"]
    finish(harness, CreateSegment)
    assert "RenameLog" in waiting(harness)
    harness.holds_jobs = False
    harness.settle()

    assert not harness.node.is_storage_offline
    assert not [path for path in harness.disk.open_paths() if path.startswith("t-0/")]


def test_a_deleted_topics_files_are_removed_after_the_delay(harness: Harness) -> None:
    client = harness.connect()
    harness.create_topic("t")
    client.produce("t", b"a")

    delete(client, "t")

    gone = [name for name in directories(harness) if name.startswith("t-0")]
    assert len(gone) == 1
    assert gone[0].endswith("-delete")
    harness.advance(DELETE_DELAY_MS - 1)
    assert gone[0] in directories(harness)
    harness.advance(1)
    assert gone[0] not in directories(harness)


def test_a_damaged_partitions_directory_goes_with_its_topic() -> None:
    harness = Harness()
    client = harness.connect()
    harness.create_topic("t")
    client.produce("t", b"a")
    client.produce("t", b"b")
    path = "t-0/00000000000000000000.log"
    rotten = bytearray(harness.disk.contents(path))
    rotten[65] ^= 1
    # By then the mark is on disk.
    harness.advance(2000)
    harness.disk.kill()
    harness.disk.put(path, bytes(rotten))
    # Which would heal it.
    harness.disk.put(JOURNAL_FILE, bytes(2 * HALF_BYTES))
    again = Harness(disk=harness.disk)
    client = again.connect()
    assert produced(client.reply(client.produce("t", b"c"))).error_code == 56

    delete(client, "t")
    create(client, "t")

    assert produced(client.reply(client.produce("t", b"d"))).base_offset == 0
    again.assert_nothing_left()


def test_the_first_segment_of_a_log_has_the_topics_index_size(harness: Harness) -> None:
    harness.create_topic("t", segment_index_bytes=800)

    index = harness.partition("t").log.active.offset_index

    assert index.entries_max == 100
