"""Records as Python values, and the batches that carry them."""

from collections.abc import Sequence
from typing import NamedTuple

from ottla.records.batch import (
    CONTROL_BIT,
    HEADER_BYTES,
    LOG_APPEND_TIME_BIT,
    LOG_OVERHEAD_BYTES,
    MAGIC,
    NO_LEADER_EPOCH,
    NO_PRODUCER_EPOCH,
    NO_PRODUCER_ID,
    NO_SEQUENCE,
    NO_TIMESTAMP,
    TRANSACTIONAL_BIT,
    BatchHeader,
    Buffer,
    CorruptBatch,
    Record,
    TimestampType,
    check_crc,
    iter_headers,
    pack_header,
    read_header,
    seal,
)
from ottla.records.compress import Codec, compress, decompress
from ottla.records.kernel import decode_records, encode_records, find_record

__all__ = [
    "FetchedBatch",
    "Record",
    "decode_batch",
    "decode_fetched",
    "encode_batch",
    "find_in_batch",
]

# What a reader lets one batch grow to: four times what the largest sensible topic limit allows.
DECOMPRESSED_BYTES_MAX = 256 * 1024 * 1024


class FetchedBatch(NamedTuple):
    header: BatchHeader
    records: list[Record]


def encode_batch(
    records: Sequence[Record],
    *,
    codec: int = Codec.NONE,
    level: int | None = None,
    producer_id: int = NO_PRODUCER_ID,
    producer_epoch: int = NO_PRODUCER_EPOCH,
    base_sequence: int = NO_SEQUENCE,
    transactional: bool = False,
    control: bool = False,
    base_offset: int = 0,
    leader_epoch: int = NO_LEADER_EPOCH,
    log_append_time_ms: int | None = None,
) -> bytes:
    """One batch of one or more records, byte for byte what Kafka's own builder makes of them."""
    assert records
    base_timestamp = records[0].timestamp_ms
    attributes = codec
    if transactional:
        attributes |= TRANSACTIONAL_BIT
    if control:
        attributes |= CONTROL_BIT
    if log_append_time_ms is None:
        max_timestamp = max(NO_TIMESTAMP, *[record.timestamp_ms for record in records])
    else:
        attributes |= LOG_APPEND_TIME_BIT
        max_timestamp = log_append_time_ms
    payload = encode_records(records, base_timestamp)
    if codec:
        payload = compress(codec, payload, level)
    header = BatchHeader(
        base_offset=base_offset,
        batch_length=HEADER_BYTES - LOG_OVERHEAD_BYTES + len(payload),
        partition_leader_epoch=leader_epoch,
        magic=MAGIC,
        crc=0,
        attributes=attributes,
        last_offset_delta=len(records) - 1,
        base_timestamp=base_timestamp,
        max_timestamp=max_timestamp,
        producer_id=producer_id,
        producer_epoch=producer_epoch,
        base_sequence=base_sequence,
        record_count=len(records),
    )
    batch = bytearray(pack_header(header))
    batch += payload
    seal(batch)
    return bytes(batch)


def decode_batch(
    buffer: Buffer, at: int = 0, *, bytes_max: int = DECOMPRESSED_BYTES_MAX
) -> list[Record]:
    """The records of the one batch at `at`.

    CorruptBatch, or TooLarge if it would decompress to more than `bytes_max`.
    """
    return _decode(buffer, at, read_header(buffer, at), bytes_max)


def decode_fetched(
    buffer: Buffer, *, bytes_max: int = DECOMPRESSED_BYTES_MAX
) -> list[FetchedBatch]:
    """All whole batches, control batches too; a broker may cut the last one short (KIP-74)."""
    batches = []
    at = 0
    for header in iter_headers(buffer):
        batches.append(FetchedBatch(header, _decode(buffer, at, header, bytes_max)))
        at += header.size
    return batches


def find_in_batch(
    buffer: Buffer,
    offset_min: int,
    timestamp_min: int,
    *,
    bytes_max: int = DECOMPRESSED_BYTES_MAX,
) -> tuple[int, int] | None:
    """Offset and timestamp of the first record of the batch that reaches both bounds.

    Nothing is built of the others: a batch may hold 100,000. Raises as `decode_batch` does.
    """
    records = _open(buffer, 0, read_header(buffer), bytes_max)
    return find_record(*records, offset_min, timestamp_min)


class _Records(NamedTuple):
    """What the kernel wants to know of a batch to read its records."""

    data: Buffer
    start: int
    end: int
    record_count: int
    base_offset: int
    base_timestamp: int
    append_timestamp: int | None


def _decode(buffer: Buffer, at: int, header: BatchHeader, bytes_max: int) -> list[Record]:
    return decode_records(*_open(buffer, at, header, bytes_max))


def _open(buffer: Buffer, at: int, header: BatchHeader, bytes_max: int) -> _Records:
    end = at + header.size
    if end > len(buffer):
        raise CorruptBatch(f"the batch has {header.size} bytes, {len(buffer) - at} are there")
    if not check_crc(buffer, at, header.size):
        raise CorruptBatch(f"CRC {header.crc}")
    start = at + HEADER_BYTES
    if header.codec:
        buffer = decompress(header.codec, memoryview(buffer)[start:end], bytes_max)
        start, end = 0, len(buffer)
    has_append_time = header.timestamp_type is TimestampType.LOG_APPEND_TIME
    return _Records(
        buffer,
        start,
        end,
        header.record_count,
        header.base_offset,
        header.base_timestamp,
        header.max_timestamp if has_append_time else None,
    )
