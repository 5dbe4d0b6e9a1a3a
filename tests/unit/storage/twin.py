"""Logs that were written somehow, and what must be found of them."""

from ottla.config import TopicConfig
from ottla.records.batch import iter_headers
from ottla.storage.durable import Mark
from ottla.storage.epochs import LeaderEpochs
from ottla.storage.recovery import Trust
from tests.unit.storage.shelf import (
    CONFIG,
    TOPIC_ID,
    WALL_MS,
    Kept,
    Shelf,
    batch,
)
from tests.unit.storage.test_log import read

CLEAN = Trust(is_clean=True)
# As after Kafka had the directory: nothing is known of what was durable.
UNKNOWN = Trust(is_clean=False)
# As after a life of our own in which nothing was flushed.
NOTHING_DURABLE = Trust(is_clean=False, mark=Mark(TOPIC_ID, 0, -1, 0))
ONE_SEGMENT = CONFIG._replace(segment_bytes=1 << 20)


def trust_in(shelf: Shelf, offset: int | None = None) -> Trust:
    """With a mark at this offset, or where the log ends."""
    end_offset = shelf.log.end_offset if offset is None else offset
    crc = 0
    for kept in shelf.kept:
        if kept.last_offset + 1 == end_offset:
            crc = next(iter_headers(kept.data)).crc
    return Trust(is_clean=False, mark=Mark(TOPIC_ID, end_offset, 0, crc))


def filled(batches: int = 6, config: TopicConfig = ONE_SEGMENT) -> Shelf:
    shelf = Shelf(config=config)
    for at in range(batches):
        shelf.append(
            batch(
                1 + at % 3,
                b"x" * (at * 37 % 90),
                timestamps=tuple(WALL_MS + (at * 7919 % 50) for _ in range(1 + at % 3)),
                producer=(5, 0, shelf_sequence(shelf)),
            ),
            epoch=at // 3,
        )
    shelf.flush()
    return shelf


def shelf_sequence(shelf: Shelf) -> int:
    entry = shelf.log.producers.get(5)
    return 0 if entry is None else entry.last_sequence + 1


def assert_is_twin(shelf: Shelf, kept: list[Kept]) -> None:
    """The log holds these batches, and everything that is derived from them."""
    log = shelf.log
    end_offset = kept[-1].last_offset + 1 if kept else 0
    assert log.end_offset == log.durable_offset == end_offset
    parts, offset = [], 0
    while offset < end_offset:
        part = read(shelf, offset, end_offset, 1 << 20, True)
        parts.append(part)
        offset = list(iter_headers(part))[-1].next_offset
    assert b"".join(parts) == b"".join(one.data for one in kept)
    epochs = LeaderEpochs()
    for one in kept:
        epochs.assign(one.epoch, one.base_offset)
    assert log.epochs.entries() == epochs.entries()
    headers = [header for one in kept for header in iter_headers(one.data)]
    entry = log.producers.get(5)
    produced = [header for header in headers if header.producer_id == 5]
    if produced:
        assert entry is not None
        assert [b.base_offset for b in entry.batches()] == [h.base_offset for h in produced[-5:]]
    else:
        assert entry is None
    newest = max((header.max_timestamp for header in headers), default=-1)
    assert max(segment.max_timestamp_ms for segment in log.segments) == newest
    for segment in log.segments:
        for last_offset, position in segment.offset_index.entries():
            assert segment.find(shelf.disk, last_offset)[0] == position


def whole(shelf: Shelf, size: int) -> list[Kept]:
    """The batches of a single segment that fit into so many bytes."""
    kept, end = [], 0
    for one in shelf.kept:
        end += len(one.data)
        if end > size:
            break
        kept.append(one)
    return kept
