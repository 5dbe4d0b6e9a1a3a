"""Finding records by time: the time index narrows it to a batch, its records decide."""

from collections.abc import Iterator
from typing import NamedTuple

from ottla.records.batch import HEADER_BYTES, BatchHeader, CorruptBatch, read_header
from ottla.records.record import decode_batch
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
        _, from_offset = segment.time_index.lookup(timestamp_ms)
        for header, position in _headers(log, segment, max(from_offset, log.start_offset)):
            if header.max_timestamp < timestamp_ms:
                continue
            for record in decode_batch(_read(log, segment, position, header.size)):
                if record.timestamp_ms >= timestamp_ms and record.offset >= log.start_offset:
                    return TimedOffset(
                        record.timestamp_ms, record.offset, header.partition_leader_epoch
                    )
    return None


def newest(log: Log) -> TimedOffset | None:
    """The first record of those with the largest timestamp (KIP-734)."""
    segment = max(log.segments, key=lambda s: (s.max_timestamp_ms, -s.base_offset))
    largest_ms = segment.max_timestamp_ms
    if largest_ms < 0:
        return None
    for header, position in _headers(log, segment, segment.max_timestamp_offset):
        for record in decode_batch(_read(log, segment, position, header.size)):
            if record.timestamp_ms == largest_ms:
                return TimedOffset(largest_ms, record.offset, header.partition_leader_epoch)
    return None


def _headers(log: Log, segment: Segment, offset: int) -> Iterator[tuple[BatchHeader, int]]:
    """The batches of a segment from the one that holds `offset` on."""
    position, size = segment.find(log.disk, offset)
    while size > 0 and segment.size - position >= HEADER_BYTES:
        header = read_header(_read(log, segment, position, HEADER_BYTES))
        yield header, position
        position += header.size


def _read(log: Log, segment: Segment, position: int, size: int) -> bytes:
    data = log.disk.read(segment.file, position, size)
    if data is None:
        raise WouldBlock(segment, position, max(size, WARM_BYTES))
    if len(data) < size:
        raise CorruptBatch(f"{segment.file.path} ends inside a batch")
    return data
