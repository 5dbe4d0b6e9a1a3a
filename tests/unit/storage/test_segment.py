import pytest

from ottla.records.batch import CorruptBatch
from ottla.storage.disk import DiskFile
from ottla.storage.jobs import WarmRange
from ottla.storage.segment import FileSlice, Segment, WouldBlock
from tests.unit.storage.shelf import CONFIG, WALL_MS, Shelf, batch

LARGE = CONFIG._replace(segment_bytes=1 << 30, index_interval_bytes=4096)


def test_a_batch_is_found_by_any_offset_in_it() -> None:
    shelf = Shelf(config=LARGE)
    for records in (3, 1, 5):
        shelf.append(batch(records))
    segment = shelf.log.active

    found = [segment.find(shelf.disk, offset)[0] for offset in range(9)]

    first, second = (len(kept.data) for kept in shelf.kept[:2])
    assert found == [0] * 3 + [first] + [first + second] * 5
    assert segment.find(shelf.disk, 9) == (segment.size, 0)


def test_a_walk_that_meets_a_cold_page_names_that_page() -> None:
    """Were it the walk's begin, the job would warm the same range again and again."""
    shelf = Shelf(config=LARGE)
    for _ in range(3):
        shelf.append(batch(1, b"x" * 300_000))
    segment = shelf.log.active
    segment.offset_index.truncate_to(0)
    shelf.flush()
    shelf.disk.evict(segment.file.path)
    cold: list[int] = []

    while True:
        try:
            position, _ = segment.find(shelf.disk, 2)
            break
        except WouldBlock as blocked:
            cold.append(blocked.position)
            shelf.run(WarmRange(blocked.segment.file, blocked.position, blocked.size))

    size = len(shelf.kept[0].data)
    assert cold == [0, size, 2 * size]
    assert position == 2 * size


@pytest.mark.parametrize("cut", [1, 30, 61, 80])
def test_a_file_that_ends_early_is_reported_and_no_endless_walk(cut: int) -> None:
    shelf = Shelf(config=LARGE)
    shelf.append(batch(1))
    shelf.append(batch(1))
    segment = shelf.log.active
    contents = shelf.disk.contents(segment.file.path)
    shelf.disk.put(segment.file.path, contents[: -len(shelf.kept[1].data)] + contents[-20:-20])
    if cut > 1:
        shelf.disk.put(segment.file.path, contents[:cut])

    with pytest.raises(CorruptBatch):
        segment.find(shelf.disk, 5)


def test_a_length_that_leads_out_of_the_segment_is_no_end_of_it() -> None:
    shelf = Shelf(config=LARGE)
    shelf.append(batch(1))
    shelf.append(batch(1))
    segment = shelf.log.active
    rotten = bytearray(shelf.disk.contents(segment.file.path))
    rotten[9] ^= 1
    shelf.disk.put(segment.file.path, bytes(rotten))

    with pytest.raises(CorruptBatch):
        segment.find(shelf.disk, 1)


def test_the_newest_batches_are_known_without_a_read() -> None:
    shelf = Shelf(config=LARGE)
    for _ in range(1000):
        shelf.append(batch(1))
    segment = shelf.log.active

    known = [offset for offset in range(1000) if segment.known_position(offset) is not None]

    assert known[-1] == 999
    assert 128 <= len(known) <= 256
    assert known == list(range(known[0], 1000))
    for offset in (known[0], 999):
        assert segment.known_position(offset) == segment.find(shelf.disk, offset)[0]


def test_a_file_is_let_go_once_and_only_when_nobody_sends_from_it() -> None:
    shelf = Shelf()
    shelf.append(batch(1))
    segment = shelf.log.active
    released: list[DiskFile] = []
    first, second = FileSlice(segment, 0, 10), FileSlice(segment, 0, 10)

    segment.retire_when_unpinned(released.append)
    first.release()
    assert released == []
    second.release()
    late = FileSlice(segment, 0, 10)
    late.release()

    assert released == [segment.file]


def test_only_the_first_batch_decides_when_a_segment_is_old() -> None:
    """Kafka reads the time of the batch at position 0, also where it has none."""
    segment = Segment(0, Shelf().log.active.file, WALL_MS)

    segment.on_appended(0, 0, 70, -1, 0, 4096)
    segment.on_appended(1, 1, 70, WALL_MS, 1, 4096)

    assert segment.first_timestamp_ms == -1
    assert (segment.max_timestamp_ms, segment.max_timestamp_offset) == (WALL_MS, 1)
