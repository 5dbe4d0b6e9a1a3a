from collections.abc import Callable
from functools import partial

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ottla.records.batch import CorruptBatch
from ottla.records.compress import Codec
from ottla.records.record import decode_batch
from ottla.storage.jobs import WarmRange
from ottla.storage.log import Log
from ottla.storage.recovery import Trust
from ottla.storage.segment import WouldBlock
from ottla.storage.time_lookup import TimedOffset, first_at_or_after, newest
from tests.unit.storage.shelf import CONFIG, WALL_MS, Shelf, batch

Lookup = Callable[[Log], TimedOffset | None]
TIMES = st.one_of(
    st.integers(WALL_MS, WALL_MS + 12),
    st.sampled_from((-1, 0, WALL_MS + 1000)),
)
BATCHES = st.lists(st.lists(TIMES, min_size=1, max_size=5), max_size=60)


def asked(shelf: Shelf, lookup: Lookup) -> TimedOffset | None:
    for _ in range(1000):
        try:
            return lookup(shelf.log)
        except WouldBlock as cold:
            shelf.run(WarmRange(cold.segment.file, cold.position, cold.size))
    raise AssertionError("the lookup does not get on")


def records_of(shelf: Shelf) -> list[tuple[int, int, int]]:
    """Timestamp, offset and epoch of every record."""
    return [
        (record.timestamp_ms, record.offset, kept.epoch)
        for kept in shelf.kept
        for record in decode_batch(kept.data)
    ]


def first_of(shelf: Shelf, timestamp_ms: int) -> TimedOffset | None:
    start = shelf.log.start_offset
    for time, offset, epoch in records_of(shelf):
        if time >= timestamp_ms and offset >= start:
            return TimedOffset(time, offset, epoch)
    return None


def newest_of(shelf: Shelf) -> TimedOffset | None:
    records = records_of(shelf)
    largest = max((time for time, _, _ in records), default=-1)
    if largest < 0:
        return None
    return next(TimedOffset(*record) for record in records if record[0] == largest)


@settings(max_examples=80)
@given(
    BATCHES,
    st.sampled_from((Codec.NONE, Codec.LZ4)),
    st.sampled_from((0, 200, 1 << 20)),
    st.sampled_from(("live", "clean", "unclean")),
    st.data(),
)
def test_lookups_by_time_answer_what_a_list_of_records_would(
    times: list[list[int]], codec: Codec, interval: int, state: str, data: st.DataObject
) -> None:
    shelf = Shelf(config=CONFIG._replace(index_interval_bytes=interval, segment_ms=1 << 40))
    for at, timestamps in enumerate(times):
        shelf.append(
            batch(len(timestamps), timestamps=tuple(timestamps), codec=codec), epoch=at // 9
        )
    if state != "live":
        shelf.flush()
        shelf.close()
        shelf.load(Trust(is_clean=state == "clean"))
    shelf.disk.faults.would_block = data.draw(st.sampled_from((0.0, 0.4)))
    shelf.log.start_offset = data.draw(st.integers(0, shelf.log.end_offset))

    for _ in range(4):
        wanted = data.draw(TIMES)
        if wanted < 0:
            continue
        found = asked(shelf, partial(first_at_or_after, timestamp_ms=wanted))
        assert found == first_of(shelf, wanted)
    assert asked(shelf, newest) == newest_of(shelf)


def test_a_lookup_reads_little_where_times_did_not_rise_for_long() -> None:
    """Else it would walk through a whole segment within one turn of the broker."""
    shelf = Shelf(config=CONFIG._replace(segment_bytes=1 << 30, index_interval_bytes=4096))
    shelf.append(batch(1, timestamps=(WALL_MS + 10,)))
    for _ in range(3000):
        shelf.append(batch(1, b"x" * 100))
    shelf.append(batch(1, timestamps=(WALL_MS + 20,)))
    before = shelf.disk.calls

    for wanted in (WALL_MS + 11, WALL_MS + 20):
        found = first_at_or_after(shelf.log, wanted)
        assert found is not None
        assert found.offset == 3001
    assert newest(shelf.log) == found

    assert shelf.disk.calls - before < 150


@pytest.mark.parametrize("at", [8, 10, 16, 17, 25, 60, 66])
def test_rot_in_the_way_of_a_lookup_is_reported(at: int) -> None:
    shelf = Shelf()
    for _ in range(2):
        shelf.append(batch(1))
    path = shelf.log.active.file.path
    rotten = bytearray(shelf.disk.contents(path))
    rotten[at] ^= 0x40
    shelf.disk.put(path, bytes(rotten))

    with pytest.raises(CorruptBatch):
        first_at_or_after(shelf.log, WALL_MS)


def test_a_file_that_ends_early_is_reported() -> None:
    shelf = Shelf()
    shelf.append(batch(1))
    path = shelf.log.active.file.path
    shelf.disk.put(path, shelf.disk.contents(path)[:65])

    with pytest.raises(CorruptBatch):
        newest(shelf.log)
    with pytest.raises(CorruptBatch):
        first_at_or_after(shelf.log, 0)
