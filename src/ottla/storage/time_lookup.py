"""Finding records by time: the time index narrows it to a batch, its records decide."""

from collections.abc import Iterator
from typing import NamedTuple

from ottla.records.batch import HEADER_BYTES, BatchHeader, CorruptBatch, read_header
from ottla.records.compress import TooLarge
from ottla.records.record import find_in_batch
from ottla.storage.log import Log
from ottla.storage.segment import WARM_BYTES, Segment, WouldBlock


class TimedOffset(NamedTuple):
    timestamp_ms: int
    offset: int
    leader_epoch: int


def first_at_or_after(log: Log, timestamp_ms: int) -> TimedOffset | None:
    """The first record that is not older. Raises WouldBlock, CorruptBatch."""
    for segment in log.segments:
        if segment.max_timestamp_ms < timestamp_ms:
            continue
        begin = max(_begin(segment, timestamp_ms), log.start_offset)
        for header, position in _headers(log, segment, begin):
            if header.max_timestamp < timestamp_ms:
                continue
            found = _find(log, segment, header, position, log.start_offset, timestamp_ms)
            if found is not None:
                return found
    return None


def _begin(segment: Segment, timestamp_ms: int) -> int:
    """No record before this offset is as late as `timestamp_ms`.

    Between two entries of the time index may lie most of a segment, where times did not rise. But
    whenever the offset index got an entry, the time index got one if the latest time had risen: so
    the record that raised it stands behind the last entry of the offset index before it.
    """
    indexed_ms, offset = segment.time_index.lookup(timestamp_ms)
    if indexed_ms == timestamp_ms:
        return offset
    raised_at = segment.time_index.offset_after(timestamp_ms)
    if raised_at is None:
        raised_at = segment.max_timestamp_offset
    return max(offset, segment.offset_index.lookup(raised_at - 1)[0])


def newest(log: Log) -> TimedOffset | None:
    """The first record of those with the largest timestamp (KIP-734)."""
    segment = max(log.segments, key=lambda s: (s.max_timestamp_ms, -s.base_offset))
    largest_ms = segment.max_timestamp_ms
    if largest_ms < 0:
        return None
    for header, position in _headers(log, segment, segment.max_timestamp_offset):
        if header.max_timestamp != largest_ms:
            continue
        found = _find(log, segment, header, position, header.base_offset, largest_ms)
        if found is not None:
            return found
    return None


def _headers(log: Log, segment: Segment, offset: int) -> Iterator[tuple[BatchHeader, int]]:
    """The batches of a segment from the one that holds `offset` on."""
    position, size = segment.find(log.disk, offset)
    while size > 0 and position < segment.size:
        header = read_header(_read(log, segment, position, HEADER_BYTES))
        yield header, position
        position += header.size


def _find(
    log: Log,
    segment: Segment,
    header: BatchHeader,
    position: int,
    offset_min: int,
    timestamp_min_ms: int,
) -> TimedOffset | None:
    """The first record of the batch at `position` that reaches both bounds."""
    batch = _read(log, segment, position, header.size)
    try:
        found = find_in_batch(batch, offset_min, timestamp_min_ms)
    except TooLarge as error:
        raise CorruptBatch(f"{segment.file.path}: a batch of {error}, decompressed") from error
    if found is None:
        return None
    offset, timestamp_ms = found
    return TimedOffset(timestamp_ms, offset, header.partition_leader_epoch)


def _read(log: Log, segment: Segment, position: int, size: int) -> bytes:
    if position + size > segment.size:
        raise CorruptBatch(f"a batch of {segment.file.path} ends beyond the segment")
    data = log.disk.read(segment.file, position, size)
    if data is None:
        raise WouldBlock(segment, position, max(size, WARM_BYTES))
    if len(data) < size:
        raise CorruptBatch(f"{segment.file.path} ends inside a batch")
    return data
