"""What a start makes of a log's files, whatever happened to them."""

import random
from collections.abc import Callable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ottla.errors import DiskError
from ottla.sim.disk import PowerCut
from ottla.storage.durable import DurableMarks
from ottla.storage.index import OffsetIndex, TimeIndex
from ottla.storage.jobs import EPOCHS_FILE
from ottla.storage.producers import SNAPSHOT_SUFFIX
from ottla.storage.recovery import CorruptLog, Trust, load_log
from tests.unit.storage.shelf import (
    CONFIG,
    DIRECTORY,
    PARTITION,
    TOPIC_ID,
    Kept,
    Shelf,
    batch,
)
from tests.unit.storage.twin import (
    CLEAN,
    NOTHING_DURABLE,
    ONE_SEGMENT,
    UNKNOWN,
    assert_is_twin,
    filled,
    shelf_sequence,
    trust_in,
    whole,
)

# A torn tail


def test_a_log_cut_at_any_byte_keeps_the_whole_batches() -> None:
    shelf = filled()
    path = shelf.path(0, ".log")
    contents = shelf.disk.contents(path)
    for size in range(len(contents) + 1):
        shelf.put(path, contents[:size])
        repairs = shelf.load(NOTHING_DURABLE)

        kept = whole(shelf, size)
        assert_is_twin(shelf, kept)
        expected = sum(len(one.data) for one in kept)
        assert len(shelf.disk.contents(path)) == expected
        assert any("cut a torn tail" in line for line in repairs) is (expected < size)


TAILS: tuple[tuple[str, Callable[[bytes], bytes]], ...] = (
    ("zeros", lambda data: bytes(300)),
    ("a page of zeros", lambda data: bytes(4096)),
    ("garbage", lambda data: random.Random(1).randbytes(300)),
    ("a few bytes", lambda data: b"\0\0\1"),
    ("the first batch again", lambda data: data[:75]),
    ("a length without an end", lambda data: b"\0" * 8 + b"\x7f\xff\xff\xff" + bytes(200)),
    ("a negative length", lambda data: b"\0" * 8 + b"\xff\xff\xff\xff" + bytes(200)),
)


@pytest.mark.parametrize("tail", TAILS, ids=[name for name, _ in TAILS])
@pytest.mark.parametrize("trust", ["marked", "unknown"])
def test_what_stands_behind_the_last_batch_is_cut(
    tail: tuple[str, Callable[[bytes], bytes]], trust: str
) -> None:
    shelf = filled()
    path = shelf.path(0, ".log")
    contents = shelf.disk.contents(path)
    shelf.put(path, contents + tail[1](contents))

    repairs = shelf.load(trust_in(shelf) if trust == "marked" else UNKNOWN)

    assert_is_twin(shelf, shelf.kept)
    assert shelf.disk.contents(path) == contents
    assert len(repairs) == 1


def test_a_torn_tail_above_the_mark_is_cut_and_below_it_is_rot() -> None:
    shelf = filled()
    path = shelf.path(0, ".log")
    contents = shelf.disk.contents(path)
    fourth = shelf.kept[3]
    at = contents.index(fourth.data) + 70
    torn = contents[:at] + b"\xff" + contents[at + 1 :]

    shelf.put(path, torn)
    shelf.load(trust_in(shelf, fourth.base_offset))
    assert_is_twin(shelf, shelf.kept[:3])

    shelf.put(path, torn)
    with pytest.raises(CorruptLog):
        shelf.load(trust_in(shelf, fourth.last_offset + 1))
    assert shelf.disk.contents(path) == torn


# Rot


def test_any_flipped_bit_below_the_mark_stops_the_log() -> None:
    shelf = filled(4)
    path = shelf.path(0, ".log")
    contents = shelf.disk.contents(path)
    trust = trust_in(shelf)
    for at in range(len(contents)):
        flipped = bytearray(contents)
        flipped[at] ^= 1 << at % 8
        shelf.put(path, bytes(flipped))
        with pytest.raises(CorruptLog):
            shelf.load(trust)
        assert shelf.disk.contents(path) == bytes(flipped)
        assert shelf.disk.open_paths().count(path) == 1


def test_a_log_that_lost_whole_batches_below_its_mark_is_not_served_shorter() -> None:
    shelf = filled()
    path = shelf.path(0, ".log")
    size = len(shelf.disk.contents(path)) - len(shelf.kept[-1].data)
    shelf.put(path, shelf.disk.contents(path)[:size])

    with pytest.raises(CorruptLog):
        shelf.load(trust_in(shelf))


def test_another_batch_where_the_mark_says_which_one_was_is_rot() -> None:
    shelf, other = filled(3), Shelf(config=ONE_SEGMENT)
    for kept in shelf.kept:
        other.append(batch(kept.last_offset - kept.base_offset + 1, b"other"))
    trust = trust_in(shelf)
    shelf.put(shelf.path(0, ".log"), other.disk.contents(other.path(0, ".log")))

    with pytest.raises(CorruptLog):
        shelf.load(trust)


@pytest.mark.parametrize("at", [0, 30, 300])
def test_damage_after_a_clean_stop_is_rot_wherever_it_is_found(at: int) -> None:
    shelf = filled()
    shelf.close()
    path = shelf.path(0, ".log")
    rotten = bytearray(shelf.disk.contents(path))
    rotten[at] ^= 0x10
    shelf.put(path, bytes(rotten))
    # What makes us look.
    shelf.put(shelf.path(0, ".index"), b"\1")

    with pytest.raises(CorruptLog):
        shelf.load(CLEAN)


def test_damage_below_the_recovery_point_is_rot() -> None:
    shelf = filled()
    path = shelf.path(0, ".log")
    shelf.put(path, shelf.disk.contents(path)[:100])

    with pytest.raises(CorruptLog):
        shelf.load(Trust(is_clean=False, recovery_point=shelf.log.end_offset))


def test_a_log_start_beyond_the_log_is_reported() -> None:
    shelf = filled()

    with pytest.raises(CorruptLog):
        shelf.load(Trust(is_clean=False, start_offset=shelf.log.end_offset + 1))


# Several segments


def test_a_tear_takes_what_follows_it_and_nothing_else() -> None:
    """The producers' state too: a retry of what is gone is no duplicate."""
    for seed in range(40):
        shelf = filled(40, config=CONFIG)
        source = random.Random(seed)
        segment = source.choice(shelf.log.segments[:-1])
        path = segment.file.path
        size = source.randrange(segment.size)
        torn = shelf.disk.contents(path)[:size] + bytes(source.choice((0, 1, 100)))
        shelf.put(path, torn)

        shelf.load(source.choice((NOTHING_DURABLE, UNKNOWN)))

        before = sum(s.size for s in shelf.log.segments if s.base_offset < segment.base_offset)
        kept = whole(shelf, before + size)
        if len(shelf.log.segments) > 1 and shelf.log.end_offset != kept[-1].last_offset + 1:
            # Without a mark whole batches may have been removed by a compaction of Kafka's.
            assert size == sum(len(one.data) for one in whole_of(shelf, segment.base_offset, size))
            continue
        assert_is_twin(shelf, kept)
        left = [name for name in shelf.disk.paths() if name.endswith((SNAPSHOT_SUFFIX, ".log"))]
        assert all(int(name[4:24]) <= shelf.log.end_offset for name in left)


def whole_of(shelf: Shelf, base_offset: int, size: int) -> list[Kept]:
    kept, end = [], 0
    for one in shelf.kept:
        if one.base_offset >= base_offset and end + len(one.data) <= size:
            end += len(one.data)
            kept.append(one)
    return kept


def cut_at_a_batch(shelf: Shelf) -> int:
    """The first segment loses its last batch whole; the offset at which it ends now."""
    first = shelf.log.segments[0]
    last = [one for one in shelf.kept if one.last_offset < shelf.log.base_offsets[1]][-1]
    shelf.put(first.file.path, shelf.disk.contents(first.file.path)[: -len(last.data)])
    return last.base_offset


def test_segments_that_do_not_join_are_a_tear_too() -> None:
    shelf = filled(40, config=CONFIG)
    end_offset = cut_at_a_batch(shelf)

    shelf.load(NOTHING_DURABLE)

    assert_is_twin(shelf, [one for one in shelf.kept if one.last_offset < end_offset])


def test_segments_that_do_not_join_below_the_mark_are_rot() -> None:
    shelf = filled(40, config=CONFIG)
    trust = trust_in(shelf)
    cut_at_a_batch(shelf)

    with pytest.raises(CorruptLog):
        shelf.load(trust)


def test_a_gap_that_a_compaction_may_have_made_is_none() -> None:
    for config, trust in ((CONFIG, UNKNOWN), (CONFIG._replace(compacted=True), None)):
        shelf = filled(40, config=CONFIG)
        shelf.config = config
        known = trust_in(shelf)
        end_offset = shelf.log.end_offset
        cut_at_a_batch(shelf)

        assert shelf.load(trust or known) == []

        assert shelf.log.end_offset == end_offset


def test_debris_of_a_failed_append_before_a_roll_costs_no_record() -> None:
    shelf = filled(40, config=CONFIG)
    first = shelf.log.segments[0].file.path
    shelf.put(first, shelf.disk.contents(first) + b"half a batch")

    shelf.load(trust_in(shelf))

    assert_is_twin(shelf, shelf.kept)


def test_segments_below_the_recovery_point_are_not_read() -> None:
    shelf = filled(60, config=CONFIG)
    third = shelf.log.base_offsets[2]
    kept = shelf.kept
    first = shelf.log.segments[0]
    for segment in shelf.log.segments[:2]:
        rotten = bytearray(shelf.disk.contents(segment.file.path))
        rotten[70] ^= 1
        shelf.put(segment.file.path, bytes(rotten))

    repairs = shelf.load(trust_in(shelf)._replace(recovery_point=third))

    assert repairs == []
    assert shelf.log.end_offset == kept[-1].last_offset + 1
    assert shelf.log.segments[0].max_timestamp_ms == first.max_timestamp_ms
    assert shelf.log.segments[0].size == first.size


# Directories


def test_a_directory_without_a_segment_gets_one_and_its_name_is_durable() -> None:
    shelf = Shelf()
    for path in shelf.disk.paths():
        shelf.unlink(path)

    shelf.load(UNKNOWN)
    shelf.append(batch(1))
    shelf.flush()
    shelf.disk.crash()
    shelf.load(trust_in(shelf))

    assert_is_twin(shelf, shelf.kept)


def test_names_that_are_not_ours_are_left_alone() -> None:
    shelf = filled()
    names = ("notes.log", "1.log", "x.snapshot", "00000000000000000000.txnindex", "a.index")
    for name in names:
        shelf.put(f"{DIRECTORY}/{name}", b"x")

    shelf.load(trust_in(shelf))

    assert_is_twin(shelf, shelf.kept)
    assert [name for name in names if f"{DIRECTORY}/{name}" in shelf.disk.paths()] == list(names)


def test_what_a_crash_left_half_written_is_removed() -> None:
    shelf = filled()
    leftovers = ("leader-epoch-checkpoint.tmp", "00000000000000000007.log.deleted")
    for name in (*leftovers, "00000000000000000007.log.cleaned"):
        shelf.put(f"{DIRECTORY}/{name}", b"x")

    shelf.load(trust_in(shelf))

    assert not [path for path in shelf.disk.paths() if path.endswith(("d", ".tmp"))]
    assert_is_twin(shelf, shelf.kept)


# Crashes


@settings(max_examples=40)
@given(st.integers(0, 10_000))
def test_a_start_that_is_cut_from_power_is_repeated_with_the_same_result(seed: int) -> None:
    source = random.Random(seed)
    shelf = filled(40, config=CONFIG)
    segment = source.choice(shelf.log.segments)
    torn = shelf.disk.contents(segment.file.path)[: source.randrange(segment.size)]
    shelf.put(segment.file.path, torn + bytes(source.choice((0, 50))))
    shelf.disk.cut_after(source.randrange(1, 120))
    try:
        shelf.load(NOTHING_DURABLE)
    except PowerCut:
        shelf.disk.crash()
        shelf.load(NOTHING_DURABLE)
    shelf.disk.cut_after(None)

    kept = [one for one in shelf.kept if one.last_offset < shelf.log.end_offset]
    assert_is_twin(shelf, kept)


@settings(max_examples=80)
@given(st.integers(0, 100_000))
def test_what_was_flushed_survives_any_power_cut(seed: int) -> None:
    """Appends, rolls, failed appends and clean stops, a power cut at any disk call."""
    source = random.Random(seed)
    shelf = Shelf(seed)
    shelf.disk.faults.write_back = 0.3
    shelf.disk.cut_after(source.randrange(1, 200))
    mark = NOTHING_DURABLE
    try:
        while True:
            step = source.random()
            if step < 0.7:
                value = b"x" * source.randrange(400)
                shelf.append(batch(1, value, producer=(5, 0, shelf_sequence(shelf))))
            elif step < 0.9:
                shelf.flush()
                mark = trust_in(shelf, shelf.durable)
            elif step < 0.95:
                shelf.close()
            elif shelf.log.active.size:
                shelf.roll()
    except PowerCut:
        shelf.disk.crash()
    durable = shelf.durable

    shelf.load(mark)

    kept = [one for one in shelf.kept if one.last_offset < shelf.log.end_offset]
    assert shelf.log.end_offset >= durable
    assert_is_twin(shelf, kept)
    # And it goes on from there.
    shelf.kept = kept
    shelf.append(batch(1, producer=(5, 0, shelf_sequence(shelf))))
    shelf.flush()
    shelf.disk.crash()
    shelf.load(trust_in(shelf))
    assert_is_twin(shelf, shelf.kept)


def test_indexes_that_recovery_makes_are_those_that_appending_made() -> None:
    shelf = filled(60, config=CONFIG)
    before = [
        (list(s.offset_index.entries()), list(s.time_index.entries())) for s in shelf.log.segments
    ]

    shelf.load(UNKNOWN)

    for segment, (offsets, times) in zip(shelf.log.segments, before, strict=True):
        assert isinstance(segment.offset_index, OffsetIndex)
        assert isinstance(segment.time_index, TimeIndex)
        assert list(segment.offset_index.entries()) == offsets
        # Appending adds the last entry when the segment closes.
        assert list(segment.time_index.entries())[: len(times)] == times[: len(segment.time_index)]


def test_a_log_that_cannot_be_served_holds_no_files_open() -> None:
    shelf = filled()
    trust = trust_in(shelf)
    path = shelf.path(0, ".log")
    shelf.put(path, shelf.disk.contents(path)[:100])
    opened = shelf.disk.open_paths()

    with pytest.raises(CorruptLog):
        shelf.disk.run(
            shelf.disk.begin_boot(),
            lambda disk: load_log(disk, PARTITION, DIRECTORY, CONFIG, trust),
        )

    assert shelf.disk.open_paths() == opened


@pytest.mark.parametrize("at", range(0, 61, 3))
def test_a_rotten_first_header_after_a_clean_stop_is_no_crash(at: int) -> None:
    shelf = filled(60, config=CONFIG)
    shelf.close()
    path = shelf.log.active.file.path
    rotten = bytearray(shelf.disk.contents(path))
    rotten[at] ^= 0x80
    shelf.put(path, bytes(rotten))

    try:
        shelf.load(CLEAN)
    except CorruptLog:
        return
    # What is not looked at is believed.
    assert shelf.log.end_offset == shelf.kept[-1].last_offset + 1


def test_a_gap_that_kafka_left_is_no_reason_to_cut_what_was_read_before() -> None:
    """A once compacted topic of Kafka's, found, marked, and found again after a crash."""
    shelf = filled(40, config=CONFIG)
    end_offset = shelf.log.end_offset
    cut_at_a_batch(shelf)
    shelf.load(UNKNOWN)
    marks = DurableMarks(b"")
    marks.on_loaded(shelf.log, TOPIC_ID)
    mark = DurableMarks.load(marks.encode(), b"").of(DIRECTORY, TOPIC_ID)

    trust = Trust(is_clean=False, recovery_point=shelf.log.recovery_point, mark=mark)
    shelf.load(trust)

    assert shelf.log.end_offset == end_offset


def test_epochs_that_the_checkpoint_does_not_reach_are_no_damage() -> None:
    """Kafka cuts it at the log start, which may lie inside a segment."""
    shelf = filled(40, config=CONFIG)
    shelf.close()
    trust = trust_in(shelf)
    shelf.log.epochs.truncate_from_start(39)
    shelf.put(f"{DIRECTORY}/{EPOCHS_FILE}", shelf.log.epochs.encode())

    shelf.load(trust)

    assert shelf.log.end_offset == shelf.kept[-1].last_offset + 1


@pytest.mark.parametrize("seed", range(1, 5))
def test_what_a_failed_sync_left_in_the_page_cache_is_written_again_before_it_counts(
    seed: int,
) -> None:
    shelf = Shelf(seed)
    shelf.append(batch())
    shelf.flush()
    shelf.append(batch(3))
    shelf.disk.faults.sync_error = 1.0
    with pytest.raises(DiskError):
        shelf.flush()
    shelf.disk.faults.sync_error = 0.0
    shelf.disk.kill()

    shelf.load(Trust(is_clean=False))
    shelf.disk.crash()
    shelf.load(Trust(is_clean=False))

    assert shelf.log.end_offset == 4
