"""Starting on a directory in any state, and stopping so that the next start finds it well."""

import random

import pytest

from ottla.broker.boot import WrongDirectory
from ottla.errors import ErrorCode
from ottla.metadata.image import Image
from ottla.metadata.records import encode_record
from ottla.names import METADATA_TOPIC_ID
from ottla.protocol.schema import records_metadata as schema
from ottla.protocol.schema.create_topics import CreatableTopic, CreateTopicsRequest
from ottla.raft.batches import data_batch
from ottla.raft.directory import QUORUM_STATE, WrongQuorum, read_quorum_state
from ottla.raft.snapshots import METADATA_DIRECTORY, snapshots_in
from ottla.sim.disk import PowerCut
from ottla.storage.checkpoints import (
    CLEAN_SHUTDOWN,
    META_PROPERTIES,
    RECOVERY_POINT_CHECKPOINT,
)
from ottla.storage.durable import MARKS_FILE
from ottla.storage.jobs import write_file
from ottla.storage.journal import JOURNAL_FILE
from tests.unit.broker.harness import Harness, fetch_request, fetched, produced
from tests.unit.broker.life import (
    METADATA_LOG,
    SMALL_SEGMENTS,
    Life,
    damaged_log,
    rot,
    without_journal,
)


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
        lambda disk: disk.close(disk.open(CLEAN_SHUTDOWN, create=True)),
    )
    life.disk.put(CLEAN_SHUTDOWN, b'{"version":0,"brokerEpoch":13}')

    life.start()

    assert JOURNAL_FILE in ours
    assert life.disk.contents(path) == bytes(kafkas)


@pytest.mark.parametrize("lost", [MARKS_FILE, RECOVERY_POINT_CHECKPOINT])
def test_what_only_the_journal_has_survives_whatever_happened_to_other_side_files(
    lost: str,
) -> None:
    """Marks that did not fit the recovery points once threw away acknowledged records."""
    for seed in range(8):
        life = Life(seed)
        harness = life.start()
        life.create("a")
        harness.advance(61_000)
        for _ in range(3):
            life.produce("a")
        life.disk.crash()
        assert lost in life.disk.paths()
        life.disk.put(lost, b"0\n0\n")

        life.start()

        life.check()


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


# Snapshots of the metadata log

SNAPSHOT_EACH_TIME = {"metadata.log.max.record.bytes.between.snapshots": "1"}


def snapshots_of(life: Life) -> list[str]:
    directory = f"{METADATA_DIRECTORY}/"
    names = [path.removeprefix(directory) for path in life.disk.paths()]
    return [f"{directory}{snapshot.name}" for snapshot in snapshots_in(names)]


def with_snapshots(life: Life) -> Harness:
    """Some topics, and the log behind the newest snapshot is a few records long."""
    harness = Harness(SNAPSHOT_EACH_TIME, disk=life.disk)
    life.harness = harness
    for name in ("a", "b", "c"):
        life.create(name)
        life.produce(name)
        harness.advance(50)
    life.delete("b")
    harness.advance(50)
    return harness


def state_of(image: Image) -> dict[str, object]:
    """A snapshot gives all that is in it the offset before its end."""
    return {name: value for name, value in vars(image).items() if name != "features_epoch"}


def test_a_start_reads_the_newest_snapshot_and_what_came_after_it() -> None:
    life = Life(1)
    before = with_snapshots(life).node
    size = before.metadata.log.active.size
    life.disk.kill()
    assert len(snapshots_of(life)) == 2

    after = Harness(disk=life.disk, start=False).node

    assert state_of(after.image) == state_of(before.image)
    assert state_of(after.metadata.controller.image) == state_of(after.image)
    assert after.metadata.log.active.size == size
    assert after.metadata.snapshotter.bytes_behind < size / 2


def test_records_survive_any_number_of_starts_from_snapshots() -> None:
    life = Life(1)
    with_snapshots(life)
    for at in range(4):
        life.disk.kill()
        life.harness = Harness(SNAPSHOT_EACH_TIME, disk=life.disk, entropy_seed=at + 2)
        life.create(f"t{at}")
        life.produce(f"t{at}")
        life.check()
    assert len(snapshots_of(life)) == 2


@pytest.mark.parametrize("keep", [0, 200])
def test_a_snapshot_that_is_cut_short_is_not_believed(keep: int) -> None:
    life = Life(1)
    with_snapshots(life)
    life.disk.kill()
    newest = snapshots_of(life)[-1]
    life.disk.put(newest, life.disk.contents(newest)[:keep])
    with pytest.raises(WrongDirectory, match="metadata log"):
        life.start()


def test_a_log_that_its_snapshot_has_left_behind_is_not_believed() -> None:
    life = Life(1)
    with_snapshots(life)
    life.disk.kill()
    life.disk.put(METADATA_LOG, b"")
    life.disk.put(MARKS_FILE, b"")
    with pytest.raises(WrongDirectory, match="reached further"):
        life.start()


def test_half_a_snapshot_is_removed_at_the_next_start() -> None:
    life = Life(1)
    with_snapshots(life)
    life.disk.kill()
    path = f"{METADATA_DIRECTORY}/00000000000000000099-0000000001.checkpoint.part"
    life.disk.run(life.disk.begin_boot(), lambda disk: write_file(disk, path, b"half"))
    life.start()
    assert path not in life.disk.paths()


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
