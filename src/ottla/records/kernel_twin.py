"""The record kernel in plain Python: it serves where nothing was compiled, and it is the oracle.

Each function does exactly what its namesake in `_kernel.pyx` does, on any bytes at all. Varints
are read as Java reads them: surplus bits are dropped, a sixth (eleventh) byte is an error.
"""

import struct
from collections.abc import Sequence

import crc32c

from ottla.records.batch import (
    ATTRIBUTES_AT,
    CODEC_MASK,
    CONTROL_BIT,
    HEADER_BYTES,
    LAST_OFFSET_DELTA_AT,
    LENGTH_AT,
    LOG_APPEND_TIME_BIT,
    LOG_OVERHEAD_BYTES,
    MAGIC,
    MAGIC_AT,
    OLD_BATCH_LENGTH_MIN,
    BatchHeader,
    Buffer,
    CorruptBatch,
    Record,
)
from ottla.records.rules import (
    RECORD_ERRORS_MAX,
    Fault,
    Finding,
    ProduceRules,
    RecordError,
    RecordFault,
    Validated,
)

_HEADER = struct.Struct(">qiibIhiqqqhii")
_INT = struct.Struct(">i")
_LONG = struct.Struct(">q")
INT32_MAX = 2**31 - 1
ZSTD = 4
ZSTD_VERSION_MIN = 7


class _Bad(Exception):
    """Something does not fit the bytes that are there."""


class _Endless(_Bad):
    """A varint of more bytes than its type allows."""


def _int64(value: int) -> int:
    value &= 0xFFFFFFFFFFFFFFFF
    return value - 0x10000000000000000 if value & 0x8000000000000000 else value


def _varint(data: Buffer, at: int, end: int, bytes_max: int) -> tuple[int, int]:
    """A zigzag number of at most 5 bytes (32 bits) or 10 (64 bits), and where it ends."""
    raw = 0
    for index in range(bytes_max):
        if at >= end:
            raise _Bad
        byte = data[at]
        at += 1
        raw |= (byte & 0x7F) << (7 * index)
        if byte < 0x80:
            raw &= 0xFFFFFFFF if bytes_max == 5 else 0xFFFFFFFFFFFFFFFF
            return (raw >> 1) ^ -(raw & 1), at
    raise _Endless


def _field(data: Buffer, at: int, end: int) -> tuple[int, int, int]:
    """Where a nullable field begins, how long it is (negative: null), and where it ends."""
    size, at = _varint(data, at, end, 5)
    if size <= 0:
        return at, size, at
    if size > end - at:
        raise _Bad
    return at, size, at + size


def _skip_headers(data: Buffer, at: int, end: int) -> int:
    count, at = _varint(data, at, end, 5)
    if not 0 <= count <= end - at:
        raise _Bad
    for _ in range(count):
        _, size, at = _field(data, at, end)
        if size < 0:
            raise _Bad
        _, _, at = _field(data, at, end)
    return at


def _record_fault(
    key_size: int, timestamp: int, append_timestamp: int | None, rules: ProduceRules, wall_ms: int
) -> int:
    if rules.compacted and key_size < 0:
        return RecordFault.NO_KEY
    if not rules.log_append_time and timestamp != -1:
        age_ms = _int64(wall_ms - timestamp)
        if age_ms > rules.timestamp_before_max_ms:
            return RecordFault.TIMESTAMP
        if _int64(-age_ms) > rules.timestamp_after_max_ms:
            return RecordFault.TIMESTAMP
    elif append_timestamp is not None:
        return RecordFault.TIMESTAMP_TYPE
    return 0


def scan_records(
    data: Buffer,
    start: int,
    end: int,
    record_count: int,
    base_timestamp: int,
    append_timestamp: int | None,
    rules: ProduceRules,
    wall_ms: int,
) -> Finding:
    """One bounded pass over the records in data[start:end]; nothing is built of them.

    The number found is the newest timestamp, or the index of a record that cannot be read.
    `append_timestamp` stands in for all timestamps if it is not None.
    """
    at = start
    max_timestamp = -1
    errors: list[RecordError] = []
    for index in range(record_count):
        try:
            size, at = _varint(data, at, end, 5)
        except _Endless:
            return Finding(Fault.RECORD_SIZE, index, errors)
        except _Bad:
            return Finding(Fault.RECORD_FRAMING, index, errors)
        if not 0 < size <= end - at:
            return Finding(Fault.RECORD_FRAMING, index, errors)
        record_end = at + size
        try:
            delta, at = _varint(data, at + 1, record_end, 10)
            offset_delta, at = _varint(data, at, record_end, 5)
            _, key_size, at = _field(data, at, record_end)
            _, _, at = _field(data, at, record_end)
            at = _skip_headers(data, at, record_end)
        except _Bad:
            return Finding(Fault.RECORD_FRAMING, index, errors)
        if at != record_end:
            return Finding(Fault.RECORD_FRAMING, index, errors)
        if offset_delta != index:
            return Finding(Fault.RECORD_OFFSET, index, errors)
        timestamp = append_timestamp
        if timestamp is None:
            timestamp = _int64(base_timestamp + delta)
        max_timestamp = max(max_timestamp, timestamp)
        fault = _record_fault(key_size, timestamp, append_timestamp, rules, wall_ms)
        if fault and len(errors) < RECORD_ERRORS_MAX:
            errors.append(RecordError(index, fault, timestamp))
    if at != end:
        return Finding(Fault.RECORDS_LEFT, record_count, errors)
    fault = Fault.RECORD_ERRORS if errors else Fault.NONE
    return Finding(fault, max_timestamp, errors)


def _check_frame(
    data: Buffer, produce_version: int, batch_bytes_max: int
) -> tuple[int, int] | None:
    """Whether exactly one whole batch of the right format stands here, of an allowed size."""
    length = len(data)
    if length < LOG_OVERHEAD_BYTES:
        return Fault.NO_BATCH, length
    (batch_length,) = _INT.unpack_from(data, LENGTH_AT)
    if batch_length < OLD_BATCH_LENGTH_MIN:
        return Fault.BATCH_LENGTH, batch_length
    if length <= MAGIC_AT:
        return Fault.NO_BATCH, length
    magic = data[MAGIC_AT]
    if magic > MAGIC:
        return Fault.MAGIC_UNKNOWN, magic
    size = batch_length + LOG_OVERHEAD_BYTES
    if size > INT32_MAX:
        return Fault.LENGTH_FATAL, length
    if size > length:
        return Fault.NO_BATCH, length
    if magic != MAGIC:
        return Fault.MAGIC_OLD, magic
    codec = data[ATTRIBUTES_AT + 1] & CODEC_MASK
    if codec >= ZSTD and produce_version < ZSTD_VERSION_MIN:
        return Fault.ZSTD_TOO_EARLY if codec == ZSTD else Fault.CODEC, codec
    if size < length:
        return Fault.TRAILING_BYTES, size
    (base_offset,) = _LONG.unpack_from(data, 0)
    if base_offset != 0:
        return Fault.BASE_OFFSET, base_offset
    if size < LAST_OFFSET_DELTA_AT + 4:
        return Fault.LENGTH_FATAL, batch_length
    if size > batch_bytes_max:
        return Fault.TOO_LARGE, size
    if size < HEADER_BYTES:
        return Fault.BATCH_LENGTH, batch_length
    return None


def _check_header(data: Buffer, header: BatchHeader) -> tuple[int, int] | None:
    if crc32c.crc32c(memoryview(data)[ATTRIBUTES_AT:]) != header.crc:
        return Fault.CRC, header.crc
    if header.attributes & CODEC_MASK > ZSTD:
        return Fault.CODEC, header.attributes & CODEC_MASK
    if header.last_offset_delta < 0:
        return Fault.LAST_OFFSET_DELTA, header.last_offset_delta
    if header.record_count <= 0:
        return Fault.RECORD_COUNT, header.record_count
    if header.record_count != header.last_offset_delta + 1:
        return Fault.COUNT_MISMATCH, header.record_count
    if header.attributes & CONTROL_BIT:
        return Fault.CONTROL, header.record_count
    if header.producer_id > -1 and header.base_sequence < 0:
        return Fault.BASE_SEQUENCE, header.base_sequence
    return None


def check_produced(
    data: Buffer, rules: ProduceRules, produce_version: int, wall_ms: int
) -> Validated | Finding:
    """All of Kafka's checks of one produced batch, in Kafka's order.

    Validated is what may be appended as it stands.
    """
    faulty = _check_frame(data, produce_version, rules.batch_bytes_max)
    if faulty is not None:
        return Finding(*faulty, [])
    header = BatchHeader._make(_HEADER.unpack_from(data))
    faulty = _check_header(data, header)
    if faulty is not None:
        return Finding(*faulty, [])
    codec = header.attributes & CODEC_MASK
    if codec or rules.target_codec:
        return Finding(Fault.COMPRESSED, codec, [])
    has_append_time = header.attributes & LOG_APPEND_TIME_BIT != 0
    found = scan_records(
        data,
        HEADER_BYTES,
        len(data),
        header.record_count,
        header.base_timestamp,
        header.max_timestamp if has_append_time else None,
        rules,
        wall_ms,
    )
    if found.fault:
        return found
    if rules.log_append_time or has_append_time or found.number != header.max_timestamp:
        return Finding(Fault.NEW_TIMESTAMPS, found.number, [])
    return Validated(
        batch=data,
        size=len(data),
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
        is_transactional=header.is_transactional,
    )


def find_batch(data: Buffer, offset: int) -> tuple[int, int]:
    """(position, size) of the first batch in `data` whose last offset is `offset` or more.

    `data` begins with a batch. Its last may be cut short and is found all the same if its first 27
    bytes are there. Not found: (position of the next batch to look at, 0).
    """
    at = 0
    end = len(data)
    while end - at >= LAST_OFFSET_DELTA_AT + 4:
        (batch_length,) = _INT.unpack_from(data, at + LENGTH_AT)
        if data[at + MAGIC_AT] != MAGIC or batch_length < HEADER_BYTES - LOG_OVERHEAD_BYTES:
            raise CorruptBatch(f"no batch header at {at}")
        (base_offset,) = _LONG.unpack_from(data, at)
        (last_offset_delta,) = _INT.unpack_from(data, at + LAST_OFFSET_DELTA_AT)
        if _int64(base_offset + last_offset_delta) >= offset:
            return at, batch_length + LOG_OVERHEAD_BYTES
        at += batch_length + LOG_OVERHEAD_BYTES
    return at, 0


def batch_spans(data: Buffer, at: int = 0) -> tuple[list[BatchHeader], int, str | None]:
    """The headers of the whole, sound batches from `at` on, where they end, and what stopped them.

    None stopped them but the end of the bytes, which may cut a batch short.
    """
    headers: list[BatchHeader] = []
    end = len(data)
    view = memoryview(data)
    while end - at >= HEADER_BYTES:
        header = BatchHeader._make(_HEADER.unpack_from(data, at))
        if header.magic != MAGIC or header.batch_length < HEADER_BYTES - LOG_OVERHEAD_BYTES:
            return headers, at, "no batch header"
        next_at = at + header.batch_length + LOG_OVERHEAD_BYTES
        if next_at > end:
            break
        if crc32c.crc32c(view[at + ATTRIBUTES_AT : next_at]) != header.crc:
            return headers, at, f"CRC {header.crc}"
        headers.append(header)
        at = next_at
    return headers, at, None


def _read_field(data: Buffer, at: int, end: int) -> tuple[bytes | None, int]:
    begin, size, at = _field(data, at, end)
    return (bytes(data[begin:at]) if size >= 0 else None), at


def _read_headers(data: Buffer, at: int, end: int) -> tuple[list[tuple[str, bytes | None]], int]:
    count, at = _varint(data, at, end, 5)
    if not 0 <= count <= end - at:
        raise _Bad
    headers = []
    for _ in range(count):
        key, at = _read_field(data, at, end)
        value, at = _read_field(data, at, end)
        if key is None:
            raise _Bad
        headers.append((key.decode("utf-8", "surrogateescape"), value))
    return headers, at


def decode_records(
    data: Buffer,
    start: int,
    end: int,
    record_count: int,
    base_offset: int,
    base_timestamp: int,
    append_timestamp: int | None,
) -> list[Record]:
    """The records in data[start:end]. Compaction leaves gaps in the offsets: they are taken so."""
    records = []
    at = start
    try:
        for _ in range(record_count):
            size, at = _varint(data, at, end, 5)
            if not 0 < size <= end - at:
                raise _Bad
            record_end = at + size
            delta, at = _varint(data, at + 1, record_end, 10)
            offset_delta, at = _varint(data, at, record_end, 5)
            key, at = _read_field(data, at, record_end)
            value, at = _read_field(data, at, record_end)
            headers, at = _read_headers(data, at, record_end)
            if at != record_end:
                raise _Bad
            timestamp = append_timestamp
            if timestamp is None:
                timestamp = _int64(base_timestamp + delta)
            offset = _int64(base_offset + offset_delta)
            records.append(Record(offset, timestamp, key, value, headers))
    except _Bad:
        raise CorruptBatch(f"record {len(records)} does not fit its bounds") from None
    if at != end:
        raise CorruptBatch(f"bytes are left behind {record_count} records")
    return records


def find_record(
    data: Buffer,
    start: int,
    end: int,
    record_count: int,
    base_offset: int,
    base_timestamp: int,
    append_timestamp: int | None,
    offset_min: int,
    timestamp_min: int,
) -> tuple[int, int] | None:
    """(offset, timestamp) of the first record in data[start:end] that reaches both bounds.

    Only what leads from record to record is read, and nothing behind the one that is found.
    """
    at = start
    for index in range(record_count):
        try:
            size, at = _varint(data, at, end, 5)
            if not 0 < size <= end - at:
                raise _Bad
            record_end = at + size
            delta, at = _varint(data, at + 1, record_end, 10)
            offset_delta, at = _varint(data, at, record_end, 5)
        except _Bad:
            raise CorruptBatch(f"record {index} does not fit its bounds") from None
        at = record_end
        timestamp = append_timestamp
        if timestamp is None:
            timestamp = _int64(base_timestamp + delta)
        offset = _int64(base_offset + offset_delta)
        if timestamp >= timestamp_min and offset >= offset_min:
            return offset, timestamp
    if at != end:
        raise CorruptBatch(f"bytes are left behind {record_count} records")
    return None


def _put_varint(out: bytearray, value: int) -> None:
    raw = (value << 1) ^ (value >> 63)
    while raw > 0x7F:
        out.append(raw & 0x7F | 0x80)
        raw >>= 7
    out.append(raw)


def _put_field(out: bytearray, field: bytes | None) -> None:
    if field is None:
        out.append(1)
    else:
        _put_varint(out, len(field))
        out += field


def encode_records(records: Sequence[Record], base_timestamp: int) -> bytes:
    """The records one behind the other, with the offset deltas 0, 1, 2 and so on."""
    out = bytearray()
    for index, (_, timestamp, key, value, headers) in enumerate(records):
        body = bytearray(1)
        _put_varint(body, _int64(timestamp - base_timestamp))
        _put_varint(body, index)
        _put_field(body, key)
        _put_field(body, value)
        _put_varint(body, len(headers))
        for name, content in headers:
            _put_field(body, name.encode("utf-8", "surrogateescape"))
            _put_field(body, content)
        _put_varint(out, len(body))
        out += body
    return bytes(out)
