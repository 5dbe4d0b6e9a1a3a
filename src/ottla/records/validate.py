"""Whether a produced batch may enter a log, and in which form: Kafka's checks, codes and order.

The kernel sees to the plain case in one call. Here is what is rare or slow anyway: compressed
batches, times that have to be corrected, and the words of a refusal.
"""

from ottla.errors import ErrorCode, Refused
from ottla.records.batch import (
    HEADER_BYTES,
    LENGTH_AT,
    LOG_APPEND_TIME_BIT,
    LOG_OVERHEAD_BYTES,
    MAGIC,
    MAGIC_AT,
    NO_PRODUCER_ID,
    OLD_BATCH_LENGTH_MIN,
    TRANSACTIONAL_BIT,
    BatchHeader,
    Buffer,
    CorruptBatch,
    TimestampType,
    pack_header,
    read_header,
    seal,
    with_timestamps,
)
from ottla.records.compress import TooLarge, compress, decompress
from ottla.records.kernel import check_produced, scan_records
from ottla.records.rules import Fault, Finding, ProduceRules, RecordFault, Validated

__all__ = ["ProduceRules", "RefusedRecords", "Validated", "validate_produced"]

_ANSWERS: dict[int, tuple[ErrorCode, str]] = {
    Fault.NO_BATCH: (ErrorCode.INVALID_RECORD, "{} bytes hold no whole batch"),
    Fault.BATCH_LENGTH: (ErrorCode.CORRUPT_MESSAGE, "the batch length is {}"),
    Fault.MAGIC_UNKNOWN: (ErrorCode.CORRUPT_MESSAGE, "the magic is {}"),
    Fault.MAGIC_OLD: (ErrorCode.INVALID_RECORD, "the magic is {}, only 2 is taken"),
    Fault.ZSTD_TOO_EARLY: (
        ErrorCode.UNSUPPORTED_COMPRESSION_TYPE,
        "codec {}, zstd, needs version 7 of the request",
    ),
    Fault.BASE_OFFSET: (ErrorCode.INVALID_RECORD, "the base offset is {}, not 0"),
    Fault.LENGTH_FATAL: (ErrorCode.UNKNOWN_SERVER_ERROR, "the batch length is {}"),
    Fault.TOO_LARGE: (ErrorCode.MESSAGE_TOO_LARGE, "the batch has {} bytes"),
    Fault.CRC: (ErrorCode.CORRUPT_MESSAGE, "the CRC in the batch is {}, not that of its bytes"),
    Fault.CODEC: (ErrorCode.UNKNOWN_SERVER_ERROR, "codec {} is unknown"),
    Fault.LAST_OFFSET_DELTA: (ErrorCode.INVALID_RECORD, "the last offset delta is {}"),
    Fault.RECORD_COUNT: (ErrorCode.INVALID_RECORD, "the record count is {}"),
    Fault.COUNT_MISMATCH: (ErrorCode.INVALID_RECORD, "{} records do not fit the last offset delta"),
    Fault.CONTROL: (ErrorCode.INVALID_RECORD, "control records are not for clients to write"),
    Fault.BASE_SEQUENCE: (ErrorCode.INVALID_RECORD, "the base sequence is {}"),
    Fault.RECORD_SIZE: (ErrorCode.UNKNOWN_SERVER_ERROR, "record {} has no readable size"),
    Fault.RECORD_FRAMING: (ErrorCode.INVALID_RECORD, "record {} does not fit its bounds"),
    Fault.RECORD_OFFSET: (ErrorCode.INVALID_RECORD, "record {} has another offset delta"),
    Fault.RECORDS_LEFT: (ErrorCode.INVALID_RECORD, "bytes are left behind {} records"),
}

_RECORD_ANSWERS: dict[int, str] = {
    RecordFault.NO_KEY: "a compacted topic takes no record without a key",
    RecordFault.TIMESTAMP: "timestamp {} is out of the topic's bounds",
    RecordFault.TIMESTAMP_TYPE: "LogAppendTime is not for producers to set",
}


class RefusedRecords(Refused):
    """A batch refused for some of its records: (index, why) of each, at most the first hundred."""

    def __init__(self, code: ErrorCode, why: str, record_errors: list[tuple[int, str]]) -> None:
        super().__init__(code, why)
        self.record_errors = record_errors


def validate_produced(
    batch: memoryview, rules: ProduceRules, produce_version: int, wall_ms: int
) -> Validated:
    """Refused if it may not be appended. The batch in the answer may be the view that was lent."""
    found = check_produced(batch, rules, produce_version, wall_ms)
    if isinstance(found, Validated):
        return found
    if found.fault == Fault.COMPRESSED:
        return _validate_recoded(batch, rules, wall_ms)
    if found.fault == Fault.NEW_TIMESTAMPS:
        return _correct_timestamps(batch, rules, found.number, wall_ms)
    if found.fault == Fault.TRAILING_BYTES:
        _check_trailing(batch[found.number :])
        return validate_produced(batch[: found.number], rules, produce_version, wall_ms)
    if found.fault == Fault.RECORD_ERRORS:
        raise _refusal_of_records(found)
    raise _refusal(found.fault, found.number)


def _refusal(fault: int, number: int) -> Refused:
    code, why = _ANSWERS[fault]
    return Refused(code, why.format(number))


def _refusal_of_records(found: Finding) -> RefusedRecords:
    code = ErrorCode.INVALID_RECORD
    if any(error.fault != RecordFault.NO_KEY for error in found.errors):
        code = ErrorCode.INVALID_TIMESTAMP
    listed = [
        (error.record_index, _RECORD_ANSWERS[error.fault].format(error.timestamp))
        for error in found.errors
    ]
    return RefusedRecords(code, f"record {listed[0][0]}: {listed[0][1]}", listed)


def _check_trailing(rest: memoryview) -> None:
    """A second batch is refused; bytes that do not make one are cut off, as Kafka cuts them."""
    if len(rest) < LOG_OVERHEAD_BYTES:
        return
    batch_length = int.from_bytes(rest[LENGTH_AT:LOG_OVERHEAD_BYTES], "big", signed=True)
    if batch_length < OLD_BATCH_LENGTH_MIN:
        raise _refusal(Fault.BATCH_LENGTH, batch_length)
    if len(rest) <= MAGIC_AT:
        return
    if rest[MAGIC_AT] > MAGIC:
        raise _refusal(Fault.MAGIC_UNKNOWN, rest[MAGIC_AT])
    if len(rest) >= batch_length + LOG_OVERHEAD_BYTES:
        raise Refused(ErrorCode.INVALID_RECORD, "more than one batch for a partition")


def _validate_recoded(batch: memoryview, rules: ProduceRules, wall_ms: int) -> Validated:
    """A batch that is compressed, or that the topic wants compressed."""
    header = read_header(batch)
    codec = header.codec
    try:
        records = decompress(codec, batch[HEADER_BYTES:], rules.decompressed_bytes_max)
    except CorruptBatch as error:
        raise Refused(ErrorCode.UNKNOWN_SERVER_ERROR, str(error)) from error
    except TooLarge as error:
        raise Refused(ErrorCode.MESSAGE_TOO_LARGE, f"{error}: too large decompressed") from error
    has_append_time = header.timestamp_type is TimestampType.LOG_APPEND_TIME
    found = scan_records(
        records,
        0,
        len(records),
        header.record_count,
        header.base_timestamp,
        header.max_timestamp if has_append_time else None,
        rules,
        wall_ms,
    )
    if found.fault == Fault.RECORD_ERRORS:
        raise _refusal_of_records(found)
    if found.fault == Fault.RECORD_SIZE and codec:
        raise _refusal(Fault.RECORD_FRAMING, found.number)
    if found.fault:
        raise _refusal(found.fault, found.number)
    max_timestamp = found.number
    if rules.target_codec not in (None, codec):
        return _recompress(header, records, rules, max_timestamp, wall_ms)
    if rules.log_append_time or has_append_time or max_timestamp != header.max_timestamp:
        return _correct_timestamps(batch, rules, max_timestamp, wall_ms)
    return _validated(batch, header, -1)


def _correct_timestamps(
    batch: memoryview, rules: ProduceRules, max_timestamp: int, wall_ms: int
) -> Validated:
    timestamp_type = TimestampType(rules.log_append_time)
    log_append_time_ms = -1
    if rules.log_append_time:
        log_append_time_ms = max_timestamp = wall_ms
    copy = with_timestamps(batch, timestamp_type, max_timestamp)
    return _validated(copy, read_header(copy), log_append_time_ms)


def _recompress(
    header: BatchHeader, records: bytes, rules: ProduceRules, max_timestamp: int, wall_ms: int
) -> Validated:
    """The same records in the topic's codec: their deltas hold, the scan has seen to that."""
    target = rules.target_codec
    assert target is not None
    if header.producer_id == NO_PRODUCER_ID:
        is_writable = not header.is_transactional
    else:
        is_writable = header.producer_epoch >= 0
    if not is_writable:
        # As they stand such batches are appended; Kafka's builder cannot write them anew.
        raise Refused(ErrorCode.UNKNOWN_SERVER_ERROR, "a producer that cannot be written anew")
    attributes = header.attributes & TRANSACTIONAL_BIT
    log_append_time_ms = -1
    if rules.log_append_time:
        attributes |= LOG_APPEND_TIME_BIT
        log_append_time_ms = max_timestamp = wall_ms
    payload = compress(target, records, rules.compression_level)
    batch = bytearray(HEADER_BYTES)
    batch += payload
    header = header._replace(
        attributes=attributes | target,
        batch_length=len(batch) - LOG_OVERHEAD_BYTES,
        max_timestamp=max_timestamp,
    )
    batch[:HEADER_BYTES] = pack_header(header)
    seal(batch)
    if len(batch) > rules.batch_bytes_max:
        raise _refusal(Fault.TOO_LARGE, len(batch))
    return _validated(batch, read_header(batch), log_append_time_ms)


def _validated(batch: Buffer, header: BatchHeader, log_append_time_ms: int) -> Validated:
    return Validated(
        batch=batch,
        size=header.size,
        record_count=header.record_count,
        last_offset_delta=header.last_offset_delta,
        max_timestamp_ms=header.max_timestamp,
        max_timestamp_delta=header.last_offset_delta,
        log_append_time_ms=log_append_time_ms,
        crc=header.crc,
        producer_id=header.producer_id,
        producer_epoch=header.producer_epoch,
        base_sequence=header.base_sequence,
        last_sequence=header.last_sequence,
        is_transactional=header.is_transactional,
    )
