import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ottla.errors import DiskError, ErrorCode, Refused
from ottla.records.batch import CorruptBatch, iter_headers
from ottla.sim.inodes import PAGE
from ottla.storage.index import OffsetIndex
from ottla.storage.jobs import CloseLog, WarmRange, flush_logs
from ottla.storage.log import RELATIVE_OFFSET_MAX
from ottla.storage.recovery import Trust
from ottla.storage.segment import FileSlice, WouldBlock
from tests.unit.storage.shelf import CONFIG, DIRECTORY, WALL_MS, Shelf, batch

DAY_MS = 86_400_000
UNCLEAN = Trust(is_clean=False)
SIZE = batch(1).size

# What may happen to a log, for the comparison with its twin.
STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("append"), st.integers(1, 6), st.integers(0, 300)),
        st.tuples(st.just("flush"), st.just(0), st.just(0)),
        st.tuples(st.just("roll"), st.just(0), st.just(0)),
        st.tuples(st.just("fail"), st.integers(1, 3), st.integers(0, 600)),
    ),
    max_size=40,
)


def built(steps: list[tuple[str, int, int]], seed: int = 1) -> Shelf:
    shelf = Shelf(seed)
    for step, records, size in steps:
        if step == "append":
            shelf.append(batch(records, b"x" * size), epoch=len(shelf.kept) // 7)
        elif step == "flush":
            shelf.flush()
        elif step == "roll" and shelf.log.active.size:
            shelf.roll()
        elif step == "fail":
            failing = batch(records, b"y" * size)
            if not shelf.log.must_roll(failing, WALL_MS):
                shelf.disk.faults.write_error = 1.0
                with pytest.raises(DiskError):
                    shelf.append(failing)
                shelf.disk.faults.write_error = 0.0
    return shelf


def read(shelf: Shelf, offset: int, end_offset: int, bytes_max: int, whole: bool) -> bytes:
    log = shelf.log
    for _ in range(1000):
        try:
            return shelf.bytes_of(log.read(offset, end_offset, bytes_max, whole))
        except WouldBlock as cold:
            shelf.run(WarmRange(cold.segment.file, cold.position, cold.size))
    raise AssertionError("the read does not get on")


@settings(max_examples=60)
@given(
    STEPS,
    st.data(),
    st.sampled_from((0.0, 0.3)),
)
def test_a_read_answers_what_a_list_of_batches_would(
    steps: list[tuple[str, int, int]], data: st.DataObject, would_block: float
) -> None:
    shelf = built(steps)
    log = shelf.log
    shelf.disk.faults.would_block = would_block
    bases = [kept.base_offset for kept in shelf.kept]

    assert [*bases, log.end_offset] == [0, *(kept.last_offset + 1 for kept in shelf.kept)]
    ends = dict.fromkeys((log.end_offset, log.durable_offset, *data.draw(boundaries(shelf))))
    for end_offset in ends:
        offset = data.draw(st.integers(0, log.end_offset))
        bytes_max = data.draw(st.sampled_from((0, 1, 100, 500, 5000, 1 << 20)))
        whole = data.draw(st.booleans())

        got = read(shelf, offset, end_offset, bytes_max, whole)

        expected = shelf.expected(offset, end_offset)
        first = len(expected[0].data) if expected else 0
        run = b"".join(kept.data for kept in expected)
        assert run.startswith(got)
        if expected and (whole or bytes_max >= first):
            assert len(got) >= min(bytes_max, first)
            assert len(list(iter_headers(got))) >= 1
            if bytes_max > len(run) > len(got):
                # Short only where the segment ends.
                next_offset = list(iter_headers(got))[-1].next_offset
                assert next_offset in log.base_offsets
        else:
            assert got == b""


def boundaries(shelf: Shelf) -> st.SearchStrategy[list[int]]:
    offsets = [0, *(kept.last_offset + 1 for kept in shelf.kept)]
    return st.lists(st.sampled_from(offsets), max_size=4)


@settings(max_examples=30)
@given(STEPS)
def test_reads_one_after_the_other_give_the_whole_log(steps: list[tuple[str, int, int]]) -> None:
    shelf = built(steps)
    log = shelf.log
    offset = 0
    parts = []
    while offset < log.end_offset:
        part = read(shelf, offset, log.end_offset, 600, True)
        headers = list(iter_headers(part))
        offset = headers[-1].next_offset
        parts.append(part[: sum(header.size for header in headers)])

    assert b"".join(parts) == b"".join(kept.data for kept in shelf.kept)


def test_a_read_at_an_unknown_end_stops_before_the_batch_that_holds_it() -> None:
    shelf = Shelf()
    for _ in range(4):
        shelf.append(batch(3))

    assert len(shelf.bytes_of(shelf.log.read(0, 7, 1 << 20, True))) == 2 * len(shelf.kept[0].data)
    assert shelf.log.read(6, 7, 1 << 20, True) is None


def test_a_batch_that_ends_beyond_its_segment_is_not_announced_to_a_reader() -> None:
    shelf = Shelf()
    shelf.append(batch(1))
    path = shelf.log.active.file.path
    rotten = bytearray(shelf.disk.contents(path))
    rotten[9] ^= 1
    shelf.disk.put(path, bytes(rotten))

    with pytest.raises(CorruptBatch):
        shelf.log.read(0, 1, 10, True)


# Rolling: Kafka's rules (LogSegment.shouldRoll)


def test_a_segment_is_full_when_the_next_batch_does_not_fit() -> None:
    shelf = Shelf(config=CONFIG._replace(segment_bytes=2 * SIZE))
    log = shelf.log
    assert not log.must_roll(batch(1), WALL_MS)
    shelf.append(batch(1))
    assert not log.must_roll(batch(1), WALL_MS)
    shelf.append(batch(1))
    assert log.must_roll(batch(1), WALL_MS)


def test_a_batch_larger_than_a_segment_is_refused() -> None:
    log = Shelf(config=CONFIG._replace(segment_bytes=SIZE)).log

    assert not log.must_roll(batch(1), WALL_MS)
    with pytest.raises(Refused) as refused:
        log.must_roll(batch(1, b"longer than v"), WALL_MS)

    assert refused.value.code is ErrorCode.RECORD_LIST_TOO_LARGE


AGES = (
    # first batch's time, wall clock passed, this batch's time, rolls
    (WALL_MS, 9 * DAY_MS, WALL_MS + 7 * DAY_MS, False),
    (WALL_MS, 0, WALL_MS + 7 * DAY_MS + 1, True),
    (WALL_MS, 9 * DAY_MS, -1, False),
    (-1, 7 * DAY_MS, WALL_MS + 9 * DAY_MS, False),
    (-1, 7 * DAY_MS + 1, WALL_MS, True),
)


@pytest.mark.parametrize("age", AGES)
def test_age_is_told_by_the_first_batch_or_else_by_the_clock(
    age: tuple[int, int, int, bool],
) -> None:
    first_ms, passed_ms, this_ms, rolls = age
    shelf = Shelf(config=CONFIG._replace(segment_ms=7 * DAY_MS))
    shelf.append(batch(1, timestamps=(first_ms,)))
    shelf.append(batch(1, timestamps=(WALL_MS + 1,)))

    assert shelf.log.must_roll(batch(1, timestamps=(this_ms,)), WALL_MS + passed_ms) is rolls


def test_after_a_restart_age_without_timestamps_counts_from_the_start() -> None:
    shelf = Shelf(config=CONFIG._replace(segment_ms=DAY_MS))
    shelf.append(batch(1, timestamps=(-1,)))
    shelf.flush()

    shelf.load(UNCLEAN._replace(wall_ms=WALL_MS + 9 * DAY_MS))

    assert not shelf.log.must_roll(batch(1), WALL_MS + 10 * DAY_MS)
    assert shelf.log.must_roll(batch(1), WALL_MS + 10 * DAY_MS + 1)


def test_jitter_brings_the_roll_forward_by_less_than_its_bound_and_always_the_same() -> None:
    config = CONFIG._replace(segment_ms=DAY_MS, segment_jitter_ms=1000)
    shelf = Shelf(config=config)
    shelf.append(batch(1))
    jitter_ms = shelf.log.active.roll_jitter_ms

    assert 0 < jitter_ms < 1000
    due_ms = WALL_MS + DAY_MS - jitter_ms
    assert not shelf.log.must_roll(batch(1, timestamps=(due_ms,)), WALL_MS)
    assert shelf.log.must_roll(batch(1, timestamps=(due_ms + 1,)), WALL_MS)
    shelf.flush()
    shelf.load(UNCLEAN)
    assert shelf.log.active.roll_jitter_ms == jitter_ms
    shelf.roll()
    assert shelf.log.active.roll_jitter_ms not in (0, jitter_ms)


def test_jitter_is_never_more_than_the_age_itself() -> None:
    shelf = Shelf(config=CONFIG._replace(segment_ms=10, segment_jitter_ms=1 << 40))
    assert shelf.log.active.roll_jitter_ms < 10


def test_a_full_index_ends_a_segment() -> None:
    config = CONFIG._replace(segment_bytes=1 << 30, segment_index_bytes=3 * 12)
    shelf = Shelf(config=config._replace(index_interval_bytes=0))
    appended = 0
    while not shelf.log.must_roll(batch(1, timestamps=(WALL_MS + appended,)), WALL_MS):
        shelf.log.append(batch(1, timestamps=(WALL_MS + appended,)), 0, WALL_MS)
        appended += 1

    # One of three entries is kept for the roll itself.
    assert (appended, len(shelf.log.active.time_index)) == (3, 2)
    assert isinstance(shelf.log.active.offset_index, OffsetIndex)


def test_offsets_of_one_segment_fit_its_index() -> None:
    shelf = Shelf()
    shelf.append(batch(1))
    shelf.log.end_offset = RELATIVE_OFFSET_MAX - 1
    assert not shelf.log.must_roll(batch(2), WALL_MS)
    assert shelf.log.must_roll(batch(3), WALL_MS)


# Durability


def test_a_ticket_covers_every_segment_that_was_rolled_since_the_last() -> None:
    shelf = Shelf()
    shelf.append(batch(1))
    shelf.roll()
    shelf.append(batch(2))
    shelf.roll()
    shelf.append(batch(3))
    ticket = shelf.log.draw_ticket()

    assert [file.path for file in ticket.files] == [s.file.path for s in shelf.log.segments]
    assert shelf.log.durable_offset == 0
    assert shelf.log.on_flushed(ticket)
    assert shelf.log.durable_offset == 6
    assert [file.path for file in shelf.log.draw_ticket().files] == [shelf.log.active.file.path]


def test_what_is_appended_behind_a_ticket_waits_for_the_next() -> None:
    shelf = Shelf()
    shelf.append(batch(1))
    first = shelf.log.draw_ticket()
    shelf.append(batch(1))
    dirty = [shelf.log.is_dirty]
    second = shelf.log.draw_ticket()
    dirty.append(shelf.log.is_dirty)

    assert dirty == [True, False]
    assert shelf.log.on_flushed(first)
    assert shelf.log.durable_offset == 1
    assert shelf.log.on_flushed(second)
    assert shelf.log.durable_offset == 2
    assert not shelf.log.on_flushed(first)
    assert shelf.log.durable_offset == 2


def test_a_ticket_drawn_while_a_roll_is_under_way_covers_the_old_segment() -> None:
    shelf = Shelf()
    shelf.append(batch(1))
    job = shelf.log.roll_job()
    ticket = shelf.log.draw_ticket()
    shelf.log.on_rolled(shelf.run(job), WALL_MS)

    assert shelf.log.on_flushed(ticket)
    assert (shelf.log.durable_offset, shelf.log.durable_position) == (1, SIZE)
    shelf.append(batch(1))
    assert len(shelf.bytes_of(shelf.log.read(0, shelf.log.durable_offset, 999, True))) == SIZE
    assert shelf.log.read(1, 1, 999, True) is None


def test_a_log_that_was_let_go_ignores_its_tickets() -> None:
    shelf = Shelf()
    shelf.append(batch(1))
    ticket = shelf.log.draw_ticket()

    shelf.log.close(lambda file: None, lambda: None)

    assert not shelf.log.on_flushed(ticket)
    assert shelf.log.durable_offset == 0


# Failed appends


def full_disk(shelf: Shelf) -> None:
    """The next append ends in the middle."""
    shelf.disk.fill(1)
    with pytest.raises(DiskError):
        shelf.log.append(batch(3, b"z" * PAGE, producer=(7, 0, 0)), 1, WALL_MS)
    shelf.disk.free_space()


@pytest.fixture
def failed() -> Shelf:
    shelf = Shelf(config=CONFIG._replace(segment_bytes=1 << 20))
    shelf.append(batch(2))
    full_disk(shelf)
    return shelf


def test_a_failed_append_changes_nothing(failed: Shelf) -> None:
    log = failed.log
    assert (log.end_offset, log.active.size) == (2, len(failed.kept[0].data))
    assert log.producers.get(7) is None
    assert failed.disk.contents(log.active.file.path) != failed.kept[0].data


def test_the_next_append_stands_where_the_failed_one_stood(failed: Shelf) -> None:
    failed.append(batch(1))
    failed.flush()
    assert len(failed.disk.contents(failed.log.active.file.path)) > failed.log.active.size

    failed.load(UNCLEAN)

    assert failed.log.end_offset == 3
    assert failed.disk.contents(failed.log.active.file.path) == failed.kept[0].data + (
        failed.kept[1].data
    )


@pytest.mark.parametrize("is_clean", [True, False])
def test_a_roll_cuts_what_a_failed_append_left(failed: Shelf, is_clean: bool) -> None:
    failed.roll()
    failed.append(batch(1))
    failed.flush()
    failed.close()

    assert failed.disk.contents(failed.path(0, ".log")) == failed.kept[0].data
    failed.load(Trust(is_clean=is_clean))
    assert failed.log.end_offset == 3


def test_a_clean_stop_cuts_what_a_failed_append_left(failed: Shelf) -> None:
    failed.flush()
    failed.close()
    path = failed.path(0, ".log")
    assert failed.disk.contents(path) == failed.kept[0].data
    assert failed.disk.is_durable(path, 0, failed.log.active.size)

    assert failed.load(Trust(is_clean=True)) == []


# Stopping


def test_a_log_that_nobody_used_needs_no_work_at_the_next_stop() -> None:
    shelf = Shelf()
    shelf.append(batch(1))
    shelf.flush()
    assert isinstance(shelf.log.close_job(), CloseLog)
    shelf.close()
    shelf.load(Trust(is_clean=True))
    assert shelf.log.close_job() is None

    shelf.append(batch(1))

    assert isinstance(shelf.log.close_job(), CloseLog)


def test_what_recovery_made_is_written_down_at_the_next_stop() -> None:
    shelf = Shelf()
    shelf.append(batch(1))
    shelf.flush()
    shelf.close()
    shelf.load(UNCLEAN)

    assert isinstance(shelf.log.close_job(), CloseLog)


@pytest.mark.parametrize("suffix", [".index", ".timeindex"])
def test_the_indexes_of_a_closed_segment_survive_a_power_cut(suffix: str) -> None:
    shelf = Shelf()
    for at in range(20):
        shelf.append(batch(1, b"x" * 300, timestamps=(WALL_MS + at,)))
    shelf.close()
    for segment in shelf.log.segments:
        path = shelf.path(segment.base_offset, suffix)
        size = len(shelf.disk.contents(path))
        assert size > 0
        assert shelf.disk.is_durable(path, 0, size)


def test_slices_pin_their_segment_until_they_are_sent() -> None:
    shelf = Shelf()
    shelf.append(batch(1))
    part = shelf.log.read(0, 1, 999, True)
    assert isinstance(part, FileSlice)
    closed: list[str] = []

    shelf.log.close(lambda file: closed.append(file.path), lambda: None)
    assert closed == []
    part.release()

    assert closed == [shelf.path(0, ".log")]


def test_what_has_no_room_for_its_epochs_is_not_durable_before_a_later_round() -> None:
    shelf = Shelf()
    shelf.append(batch(), epoch=4)
    ticket = shelf.log.draw_ticket()
    shelf.disk.fill()

    shelf.disk.run(shelf.disk.begin_boot(), lambda disk: flush_logs(disk, [ticket], None))

    assert not shelf.log.on_flushed(ticket)
    later = shelf.log.draw_ticket()
    shelf.disk.free_space()
    shelf.disk.run(shelf.disk.begin_boot(), lambda disk: flush_logs(disk, [later], None))
    assert shelf.log.on_flushed(later)
    assert shelf.disk.contents(f"{DIRECTORY}/leader-epoch-checkpoint").endswith(b"4 0\n")


@pytest.mark.parametrize("is_clean", [True, False])
def test_a_full_index_is_full_after_a_restart(is_clean: bool) -> None:
    config = CONFIG._replace(segment_bytes=1 << 30, segment_index_bytes=3 * 12)
    shelf = Shelf(config=config._replace(index_interval_bytes=0))
    for at in range(3):
        shelf.append(batch(1, timestamps=(WALL_MS + at,)))
    shelf.flush()
    shelf.close()

    shelf.load(Trust(is_clean=is_clean))

    assert shelf.log.must_roll(batch(1), WALL_MS)
