"""Batches that this node makes itself, ready for its own log."""

from collections.abc import Iterable, Iterator

from ottla.records.batch import HEADER_BYTES, BatchHeader, read_header
from ottla.records.control import ControlType, encode_control_batch, read_control_type
from ottla.records.record import Record, decode_batch, encode_batch
from ottla.records.rules import Validated
from ottla.storage.disk import Disk
from ottla.storage.segment import Segment

# What is read of a log at once.
RUN_BYTES = 1 << 20


def data_batch(values: Iterable[bytes], timestamp_ms: int) -> Validated:
    records = [Record(at, timestamp_ms, None, value) for at, value in enumerate(values)]
    return _validated(encode_batch(records))


def control_batch(records: list[tuple[ControlType, bytes]], timestamp_ms: int) -> Validated:
    return _validated(encode_control_batch(records, timestamp_ms=timestamp_ms))


def _validated(batch: bytes) -> Validated:
    header = read_header(batch)
    return Validated(
        batch=batch,
        size=len(batch),
        record_count=header.record_count,
        last_offset_delta=header.last_offset_delta,
        max_timestamp_ms=header.max_timestamp,
        max_timestamp_delta=header.last_offset_delta,
        log_append_time_ms=-1,
        crc=header.crc,
        producer_id=header.producer_id,
        producer_epoch=header.producer_epoch,
        base_sequence=header.base_sequence,
        last_sequence=header.last_sequence,
        is_transactional=False,
    )


def read_values(data: bytes) -> Iterator[tuple[BatchHeader, int, bytes]]:
    """The data records of a run of batches: header, offset, value. Control batches are skipped."""
    at = 0
    while at < len(data):
        header = read_header(data, at)
        if not header.is_control:
            for record in decode_batch(data, at):
                yield header, record.offset, record.value or b""
        at += header.size


def read_controls(data: bytes) -> Iterator[tuple[ControlType | None, bytes]]:
    """The control records of a run of batches."""
    at = 0
    while at < len(data):
        header = read_header(data, at)
        if header.is_control:
            for record in decode_batch(data, at):
                yield read_control_type(record.key), record.value or b""
        at += header.size


def runs(disk: Disk, segment: Segment, offset: int) -> Iterator[bytes]:
    """Blocking. The batches of a sound segment from `offset` on, many at a time."""
    position = segment.offset_index.lookup_position(offset)
    size_max = RUN_BYTES
    while position < segment.size:
        data = disk.read_blocking(segment.file, position, min(size_max, segment.size - position))
        begin = end = size = 0
        while len(data) - end >= HEADER_BYTES:
            header = read_header(data, end)
            size = header.size
            if size > len(data) - end:
                break
            end += size
            if header.next_offset <= offset:
                begin = end
        if end > begin:
            yield data[begin:end]
        size_max = max(RUN_BYTES, size)
        position += end
