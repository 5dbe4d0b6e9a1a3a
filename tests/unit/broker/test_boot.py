"""Starting on a directory in any state, and stopping so that the next start finds it well."""

import random

import pytest

from ottla.broker.boot import WrongDirectory
from ottla.broker.stop import stop_cleanly
from ottla.errors import ErrorCode
from ottla.metadata.records import encode_record
from ottla.names import METADATA_TOPIC_ID
from ottla.protocol.schema import records_metadata as schema
from ottla.protocol.schema.create_topics import CreatableTopic, CreateTopicsRequest
from ottla.protocol.schema.delete_topics import DeleteTopicsRequest, DeleteTopicState
from ottla.raft.batches import data_batch
from ottla.raft.directory import (
    METADATA_DIRECTORY,
    QUORUM_STATE,
    WrongQuorum,
    read_quorum_state,
)
from ottla.records.record import decode_fetched
from ottla.sim.disk import PowerCut, SimDisk
from ottla.sim.world import World
from ottla.storage.checkpoints import (
    CLEAN_SHUTDOWN,
    LOG_START_CHECKPOINT,
    META_PROPERTIES,
    RECOVERY_POINT_CHECKPOINT,
    REPLICATION_CHECKPOINT,
    decode_offsets,
)
from ottla.storage.durable import MARKS_FILE, DurableMarks
from ottla.storage.journal import HALF_BYTES, JOURNAL_FILE
from tests.unit.broker.harness import Harness, fetch_request, fetched, produced

SMALL_SEGMENTS = 1 << 20
METADATA_LOG = f"{METADATA_DIRECTORY}/00000000000000000000.log"


class Life:
    """One process after the other on one disk, and what clients were told."""

    def __init__(self, seed: int) -> None:
        self.disk = SimDisk(World(seed))
        self.disk.faults.write_back = 0.2
        self.acked: dict[str, dict[int, bytes]] = {}
        self.epochs: list[int] = []
        # The call at which the power goes, of all lives together.
        self.cut_at: int | None = None
        self._drawn = 0

    def start(self) -> Harness:
        if self.cut_at is not None:
            self.disk.cut_after(max(1, self.cut_at - self.disk.calls))
        lives = len(self.epochs) + 1
        self.harness = Harness(disk=self.disk, entropy_seed=lives)
        epoch = self.harness.node.metadata.quorum_epoch
        assert not self.epochs or epoch > self.epochs[-1]
        self.epochs.append(epoch)
        return self.harness

    def produce(self, topic: str, size: int = 10) -> None:
        self._drawn += 1
        value = b"%d:" % self._drawn + b"x" * size
        client = self.harness.connect()
        answer = produced(client.reply(client.produce(topic, value)))
        assert answer.error_code == 0
        self.acked.setdefault(topic, {})[answer.base_offset] = value
        client.close()

    def create(self, topic: str) -> None:
        self.harness.create_topic(topic, segment_bytes=SMALL_SEGMENTS)

    def delete(self, topic: str) -> None:
        self.acked.pop(topic, None)
        client = self.harness.connect()
        request = DeleteTopicsRequest(topics=[DeleteTopicState(name=topic)], timeout_ms=1000)
        client.ask(request, 6)
        client.close()

    def stop(self) -> None:
        self.harness.advance(20)
        assert self.harness.on_disk(lambda disk: stop_cleanly(self.harness.node))
        self.disk.kill()

    def check(self) -> None:
        """Every record that was acknowledged stands at its offset."""
        client = self.harness.connect()
        for topic, records in self.acked.items():
            found: dict[int, bytes | None] = {}
            while True:
                offset = max(found, default=-1) + 1
                answer = client.ask(fetch_request(topic, offset, max_wait_ms=0), 12)
                part = fetched(answer)
                assert part.error_code == 0, (topic, part)
                data = part.records
                assert isinstance(data, bytes | memoryview)
                if not len(data):
                    break
                for one in decode_fetched(data):
                    found |= {record.offset: record.value for record in one.records}
            for offset, value in records.items():
                assert found.get(offset) == value, (topic, offset)
        client.close()


def whole_life(life: Life) -> None:
    """Format, create, roll, delete, create anew, stop cleanly, start again, time passes."""
    life.start()
    life.create("a")
    life.produce("a")
    life.create("b")
    for _ in range(3):
        life.produce("b", 500_000)
    life.harness.advance(1500)
    life.delete("a")
    life.create("a")
    life.produce("a")
    life.stop()
    life.start()
    life.produce("a")
    life.produce("b", 700_000)
    life.harness.advance(61_000)
    life.produce("a")
    life.delete("b")
    life.stop()
    life.start()


def cut(seed: int, calls: int) -> Life | None:
    """The same life until a power cut at this disk call, and the start after it."""
    life = Life(seed)
    life.cut_at = calls
    try:
        whole_life(life)
    except PowerCut:
        life.cut_at = None
        life.disk.crash()
        life.start()
        return life
    return None


def calls_of_a_life() -> int:
    life = Life(0)
    whole_life(life)
    return life.disk.calls


@pytest.mark.parametrize("part", range(10))
def test_a_power_cut_at_any_disk_call_loses_nothing_that_was_acknowledged(part: int) -> None:
    calls = calls_of_a_life()
    assert calls > 500
    source = random.Random(part)
    for _ in range(12):
        life = cut(source.randrange(1 << 30), source.randrange(1, calls))
        if life is not None:
            life.check()
            # And it is of use from there on.
            if "c" not in life.harness.node.hosting.topics:
                life.create("c")
            life.produce("c")
            life.stop()
            life.start()
            life.check()
            assert life.harness.is_ready


def test_a_clean_stop_is_found_as_it_was_left() -> None:
    life = Life(1)
    life.start()
    life.create("a")
    for _ in range(3):
        life.produce("a")
    life.stop()
    disk = life.disk

    for name in (RECOVERY_POINT_CHECKPOINT, REPLICATION_CHECKPOINT):
        assert [*decode_offsets(disk.contents(name)).values()] == [3]
    assert [*decode_offsets(disk.contents(LOG_START_CHECKPOINT)).values()] == [0]
    assert disk.contents(CLEAN_SHUTDOWN).startswith(b'{"version":0,"brokerEpoch":')
    life.start()
    assert CLEAN_SHUTDOWN not in disk.paths()
    life.check()


def test_a_stop_with_work_under_way_is_no_clean_one() -> None:
    life = Life(1)
    harness = life.start()
    harness.create_topic("a")
    harness.holds_flushes = True
    harness.connect().produce("a", b"x", acks=1)
    harness.advance(20)

    assert not harness.on_disk(lambda disk: stop_cleanly(harness.node))
    assert CLEAN_SHUTDOWN not in life.disk.paths()


def test_what_only_the_journal_holds_is_synced_before_a_clean_stop_empties_it() -> None:
    """Also of a segment that was rolled: no later round will name its file."""
    life = Life(1)
    life.start()
    life.create("b")
    for _ in range(30):
        life.produce("b", 50_000)
    life.stop()
    life.disk.crash()
    life.start()

    life.check()


def test_a_stop_touches_only_what_was_used() -> None:
    life = Life(1)
    life.start()
    for name in ("a", "b", "c"):
        life.create(name)
        life.produce(name)
    life.stop()
    life.start()
    life.produce("b")
    before = {path: life.disk.contents(path) for path in life.disk.paths()}
    life.stop()

    changed = [path for path in life.disk.paths() if before.get(path) != life.disk.contents(path)]
    assert not [path for path in changed if path.startswith(("a-0/", "c-0/"))]
    assert [path for path in changed if path.startswith("b-0/")]


def test_marks_follow_a_flush_even_if_nothing_follows_the_flush() -> None:
    life = Life(1)
    harness = life.start()
    life.create("a")
    life.produce("a")
    harness.advance(1500)

    recovery_points = b""
    marks = DurableMarks.load(life.disk.contents(MARKS_FILE), recovery_points)
    mark = marks.of("a-0", harness.partition("a").topic_id)

    assert mark is not None
    assert mark.offset == 1
    assert life.disk.is_durable(MARKS_FILE, 0, len(marks.encode()))


def test_recovery_points_are_written_once_a_minute_while_something_happens() -> None:
    life = Life(1)
    harness = life.start()
    life.create("a")
    life.produce("a")
    assert RECOVERY_POINT_CHECKPOINT not in life.disk.paths()
    harness.advance(61_000)

    assert [*decode_offsets(life.disk.contents(RECOVERY_POINT_CHECKPOINT)).values()] == [1]
    # The marks hold beside them, and an idle broker sleeps.
    life.disk.crash()
    harness = life.start()
    assert harness.node.state.marks.are_known
    harness.advance(300_000)
    assert harness.node.next_deadline_ms() is None


def without_journal(life: Life) -> None:
    """It would heal what a test damages."""
    life.disk.put(JOURNAL_FILE, bytes(2 * HALF_BYTES))


def rot(life: Life, path: str, at: int) -> None:
    contents = bytearray(life.disk.contents(path))
    contents[at] ^= 1
    life.disk.put(path, bytes(contents))


def damaged_log() -> Life:
    life = Life(1)
    harness = life.start()
    life.create("a")
    life.create("b")
    life.produce("b")
    for _ in range(3):
        life.produce("a")
    harness.advance(1500)
    life.disk.kill()
    without_journal(life)
    rot(life, "a-0/00000000000000000000.log", 70)
    life.acked.pop("a")
    return life


def test_a_damaged_log_is_reported_and_the_others_are_served() -> None:
    life = damaged_log()
    harness = life.start()

    life.check()
    client = harness.connect()
    answer = produced(client.reply(client.produce("a", b"x")))
    assert answer.error_code == ErrorCode.KAFKA_STORAGE_ERROR
    fetch = fetched(client.ask(fetch_request("a", 0), 12))
    assert fetch.error_code == ErrorCode.KAFKA_STORAGE_ERROR


def test_a_damaged_log_is_not_believed_because_the_next_stop_was_clean() -> None:
    life = damaged_log()
    for _ in range(2):
        life.start()
        life.stop()
    harness = life.start()

    assert harness.node.hosting.topics["a"].damaged
    life.check()


def test_a_directory_that_is_gone_is_reported_if_it_held_records() -> None:
    life = damaged_log()
    life.disk.run(life.disk.begin_boot(), lambda disk: disk.remove_tree("a-0"))

    harness = life.start()

    assert harness.node.hosting.topics["a"].damaged


# Other directories


def test_a_directory_of_no_known_topic_is_put_aside() -> None:
    """A crash came between a topic's deletion and the rename of its files."""
    life = Life(1)
    harness = life.start()
    life.create("a")
    life.produce("a")
    harness.holds_jobs = True
    life.delete("a")
    life.disk.kill()

    harness = life.start()
    strays = [path for path in life.disk.paths() if path.startswith("a-0")]
    assert strays
    assert all("-stray/" in path for path in strays)
    life.create("a")
    life.produce("a")
    assert life.acked["a"] == {0: b"2:xxxxxxxxxx"}
    life.stop()
    life.start()
    life.check()


def test_directories_that_wait_for_their_removal_are_removed() -> None:
    life = Life(1)
    life.start()
    life.create("a")
    life.produce("a")
    life.delete("a")
    life.disk.kill()
    harness = life.start()

    assert [path for path in life.disk.paths() if path.startswith("a-0")]
    harness.advance(60_000)
    assert not [path for path in life.disk.paths() if path.startswith("a-0")]


def test_a_topic_of_another_id_is_put_aside() -> None:
    life = Life(1)
    life.start()
    life.create("a")
    life.produce("a")
    life.stop()
    other = b"version: 0\ntopic_id: wDr2-NoxSROJVOlUqtimow"
    life.disk.put("a-0/partition.metadata", other)
    life.acked.clear()

    harness = life.start()

    assert any("-stray/" in path for path in life.disk.paths())
    # What its own topic held is gone, and that is said.
    assert harness.node.hosting.topics["a"].damaged or harness.partition("a").log.end_offset == 0


@pytest.mark.parametrize("contents", [b"", b"rubbish", None])
def test_a_lost_topic_id_is_written_again(contents: bytes | None) -> None:
    life = Life(1)
    life.start()
    life.create("a")
    life.produce("a")
    life.stop()
    path = "a-0/partition.metadata"
    before = life.disk.contents(path)
    if contents is None:
        life.disk.run(life.disk.begin_boot(), lambda disk: disk.unlink(path))
    else:
        life.disk.put(path, contents)

    life.start()

    life.check()
    assert life.disk.contents(path) == before


# The journal and strangers


def test_the_journal_is_not_replayed_over_what_kafka_wrote_since() -> None:
    life = Life(1)
    harness = life.start()
    life.create("a")
    life.produce("a")
    harness.advance(1500)
    life.disk.kill()
    path = "a-0/00000000000000000000.log"
    kafkas = bytearray(life.disk.contents(path))
    kafkas[12:16] = b"\0\0\0\1"
    life.disk.put(path, bytes(kafkas))
    ours = life.disk.paths()
    life.disk.run(
        life.disk.begin_boot(),
        lambda disk: disk.close(disk.open(RECOVERY_POINT_CHECKPOINT, create=True)),
    )
    life.disk.put(RECOVERY_POINT_CHECKPOINT, b"0\n1\na 0 0\n")

    life.start()

    assert JOURNAL_FILE in ours
    assert life.disk.contents(path) == bytes(kafkas)


# Identity


def test_another_nodes_directory_is_refused() -> None:
    life = Life(1)
    life.start()
    life.disk.kill()
    meta = life.disk.contents(META_PROPERTIES)
    life.disk.put(META_PROPERTIES, meta.replace(b"node.id=1", b"node.id=2"))

    with pytest.raises(WrongDirectory, match="node 2"):
        life.start()


@pytest.mark.parametrize("contents", [b"", b"version=7\nnode.id=1\ncluster.id=x\n", b"\xff"])
def test_a_directory_whose_identity_cannot_be_read_is_refused(contents: bytes) -> None:
    life = Life(1)
    life.start()
    life.disk.kill()
    life.disk.put(META_PROPERTIES, contents)

    with pytest.raises(WrongDirectory):
        life.start()


def test_logs_without_an_identity_are_nobodys() -> None:
    life = Life(1)
    life.start()
    life.disk.kill()
    life.disk.run(life.disk.begin_boot(), lambda disk: disk.unlink(META_PROPERTIES))

    with pytest.raises(WrongDirectory, match="whose data"):
        life.start()


# Metadata


def test_logs_whose_metadata_is_gone_are_not_given_to_a_new_cluster() -> None:
    life = Life(1)
    life.start()
    life.create("a")
    life.disk.kill()
    life.disk.run(life.disk.begin_boot(), lambda disk: disk.remove_tree(METADATA_DIRECTORY))

    with pytest.raises(WrongDirectory, match="metadata is gone"):
        life.start()


@pytest.mark.parametrize("contents", [b"", b"{}", b'{"leaderId":"x"}', b"\xff\xfe"])
def test_an_election_state_that_cannot_be_read_is_refused(contents: bytes) -> None:
    life = Life(1)
    life.start()
    life.disk.kill()
    life.disk.put(QUORUM_STATE, contents)

    with pytest.raises(WrongQuorum):
        life.start()


def test_a_damaged_metadata_log_is_refused() -> None:
    life = Life(1)
    harness = life.start()
    life.create("a")
    harness.advance(1500)
    life.disk.kill()
    without_journal(life)
    rot(life, METADATA_LOG, 200)

    with pytest.raises(WrongDirectory, match="metadata log"):
        life.start()


def test_a_torn_tail_of_the_metadata_log_is_cut_and_the_epoch_rises_all_the_same() -> None:
    life = Life(1)
    life.start()
    life.create("a")
    life.disk.kill()
    contents = life.disk.contents(METADATA_LOG)
    for tail in (b"x", bytes(100), contents[:50]):
        life.disk.put(METADATA_LOG, contents + tail)
        harness = life.start()
        assert "a" in harness.node.hosting.topics
        life.disk.kill()
        contents = life.disk.contents(METADATA_LOG)


def test_an_epoch_that_was_written_and_never_used_is_not_used_again() -> None:
    """A crash between the election state and the first append of the epoch."""
    life = Life(1)
    life.start()
    life.disk.kill()
    for _ in range(3):
        Harness(disk=life.disk, start=False)
        state = life.disk.run(life.disk.begin_boot(), read_quorum_state)
        assert state is not None
        assert state.leader_epoch > life.epochs[-1]
        life.epochs.append(state.leader_epoch)
        life.disk.kill()
    life.start()


def append_metadata(life: Life, values: list[bytes]) -> None:
    """As another version wrote it."""
    log = life.harness.node.metadata.log
    batch = data_batch(values, 0)
    head, rest = batch.stamped_parts(log.end_offset, life.epochs[-1])
    path = log.active.file.path
    life.disk.kill()
    life.disk.put(path, life.disk.contents(path) + head + bytes(rest))
    without_journal(life)


LATER_RECORDS = (
    ("a type that is not known", b"\x01\x7f\x00abc", True),
    ("a later version of a known type", b"\x01\x02\x09abc", False),
    ("a later frame", b"\x02\x02\x00abc", False),
    ("a record that ends early", b"\x01\x02\x00", False),
    (
        "a feature level above ours",
        encode_record(schema.FeatureLevelRecord(name="metadata.version", feature_level=99)),
        False,
    ),
    (
        "a feature that is not known",
        encode_record(schema.FeatureLevelRecord(name="x.version", feature_level=9)),
        True,
    ),
)


@pytest.mark.parametrize("later", LATER_RECORDS, ids=[name for name, *_ in LATER_RECORDS])
def test_metadata_of_a_later_version(later: tuple[str, bytes, bool]) -> None:
    life = Life(1)
    life.start()
    append_metadata(life, [later[1]])

    if later[2]:
        life.start()
    else:
        with pytest.raises((WrongDirectory, WrongQuorum)):
            life.start()


def topic_records(name: str, *, then: object) -> list[bytes]:
    records: list[object] = [
        schema.BeginTransactionRecord(name="create"),
        schema.TopicRecord(name=name, topic_id=name.encode().ljust(16, b"\1")),
    ]
    return [encode_record(record) for record in records + ([then] if then else [])]


def test_records_of_a_metadata_transaction_count_when_it_has_ended() -> None:
    life = Life(1)
    life.start()
    append_metadata(life, topic_records("ended", then=schema.EndTransactionRecord()))
    assert "ended" in life.start().node.image.topics
    append_metadata(life, topic_records("aborted", then=schema.AbortTransactionRecord()))
    assert "aborted" not in life.start().node.image.topics
    append_metadata(life, topic_records("open", then=None))
    assert "open" not in life.start().node.image.topics
    # It was aborted: what was appended since is not part of it.
    life.create("later")
    life.disk.kill()
    harness = life.start()
    assert "later" in harness.node.image.topics
    assert "open" not in harness.node.metadata.controller.image.topics


def test_a_large_metadata_log_is_rolled_at_the_start() -> None:
    life = Life(1)
    settings = {"log.segment.bytes": str(SMALL_SEGMENTS)}
    harness = Harness(settings, disk=life.disk)
    # The longest records that a client can have written.
    replicas = ",".join(["0:1"] * 8000)
    for at in range(35):
        harness.create_topic(f"t{at}", leader_replication_throttled_replicas=replicas)
    assert harness.node.metadata.log.active.size > SMALL_SEGMENTS
    life.disk.kill()
    for _ in range(2):
        harness = Harness(settings, disk=life.disk)
        assert len(harness.node.metadata.log.segments) == 2
        assert len(harness.node.hosting.topics) == 35
        life.disk.kill()


def test_the_metadata_log_has_its_mark() -> None:
    life = Life(1)
    harness = life.start()
    harness.advance(1500)

    mark = harness.node.state.marks.of(METADATA_DIRECTORY, METADATA_TOPIC_ID)

    assert mark is not None
    assert mark.offset == harness.node.metadata.log.end_offset


def test_a_topic_can_be_created_after_any_number_of_starts() -> None:
    life = Life(1)
    for at in range(5):
        harness = life.start()
        client = harness.connect()
        topic = CreatableTopic(name=f"t{at}", num_partitions=1, replication_factor=1)
        answer = client.ask(CreateTopicsRequest(topics=[topic], timeout_ms=1000), 7)
        assert answer.topics[0].error_code == 0
        if at % 2:
            life.stop()
        else:
            life.disk.kill()
    assert len(life.start().node.image.topics) == 5
