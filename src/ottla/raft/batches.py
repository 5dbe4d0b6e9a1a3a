"""Batches that this node makes itself, ready for its own log."""

from collections.abc import Iterable, Iterator

from ottla.records.batch import BatchHeader, read_header
from ottla.records.control import ControlType, encode_control_batch
from ottla.records.record import Record, decode_batch, encode_batch
from ottla.records.rules import Validated


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
