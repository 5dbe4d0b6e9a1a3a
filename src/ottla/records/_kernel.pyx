# cython: boundscheck=False, wraparound=False, cdivision=True, language_level=3
"""The record kernel, compiled. `kernel_twin` says what each function does, and is its oracle.

Bytes are read through plain pointers, never behind the `end` that each reader is given.
"""

from cpython.buffer cimport PyBUF_SIMPLE, PyBuffer_Release, PyObject_GetBuffer
from cpython.bytes cimport PyBytes_FromStringAndSize
from libc.stdint cimport INT32_MAX, int16_t, int32_t, int64_t, uint8_t, uint32_t, uint64_t
from libc.stdlib cimport getenv

import crc32c

from ottla.records import rules as _rules
from ottla.records._encode import encode_records
from ottla.records.batch import BatchHeader, CorruptBatch, Record
from ottla.records.rules import Finding, RecordError, Validated

if getenv("OTTLA_KERNEL") != NULL and getenv("OTTLA_KERNEL") == b"python":
    raise ImportError("OTTLA_KERNEL=python asks for the plain kernel")

cdef extern from *:
    """
    /* One stream of the processor's own CRC-32C: for some thousand bytes it costs less than the
       call of a library. Longer batches, and other processors, go to the library. */
    #if defined(__x86_64__) && defined(__GNUC__)
    #include <nmmintrin.h>
    __attribute__((target("sse4.2")))
    static uint32_t ottla_crc32c(const unsigned char *data, Py_ssize_t size) {
        uint64_t crc = 0xFFFFFFFFu, word;
        for (; size >= 8; size -= 8, data += 8) {
            memcpy(&word, data, 8);
            crc = _mm_crc32_u64(crc, word);
        }
        for (; size > 0; size--, data++) crc = _mm_crc32_u8((uint32_t)crc, *data);
        return (uint32_t)crc ^ 0xFFFFFFFFu;
    }
    static int ottla_has_crc32c(void) { return __builtin_cpu_supports("sse4.2"); }
    #else
    static uint32_t ottla_crc32c(const unsigned char *data, Py_ssize_t size) { return 0; }
    static int ottla_has_crc32c(void) { return 0; }
    #endif
    """
    uint32_t ottla_crc32c(const uint8_t *data, Py_ssize_t size) nogil
    int ottla_has_crc32c() nogil

cdef Py_ssize_t CRC_HERE_BYTES_MAX = 4096 if ottla_has_crc32c() else -1
cdef object _crc32c = crc32c.crc32c
cdef Py_ssize_t RECORD_ERRORS_MAX = _rules.RECORD_ERRORS_MAX

cdef enum:
    HEADER_BYTES = 61, LOG_OVERHEAD_BYTES = 12, OLD_BATCH_LENGTH_MIN = 14, MAGIC = 2
    LENGTH_AT = 8, LEADER_EPOCH_AT = 12, MAGIC_AT = 16, CRC_AT = 17, ATTRIBUTES_AT = 21
    LAST_OFFSET_DELTA_AT = 23, BASE_TIMESTAMP_AT = 27, MAX_TIMESTAMP_AT = 35
    PRODUCER_ID_AT = 43, PRODUCER_EPOCH_AT = 51, BASE_SEQUENCE_AT = 53, RECORD_COUNT_AT = 57
    CODEC_MASK = 0x07, LOG_APPEND_TIME_BIT = 0x08, TRANSACTIONAL_BIT = 0x10, CONTROL_BIT = 0x20
    ZSTD = 4, ZSTD_VERSION_MIN = 7

# As `rules.Fault` and `rules.RecordFault` number them.
cdef enum:
    NO_BATCH = 1, BATCH_LENGTH = 2, MAGIC_UNKNOWN = 3, MAGIC_OLD = 4, ZSTD_TOO_EARLY = 5
    BASE_OFFSET = 6, LENGTH_FATAL = 7, TOO_LARGE = 8, BAD_CRC = 9, CODEC = 10
    LAST_OFFSET_DELTA = 11, RECORD_COUNT = 12, COUNT_MISMATCH = 13, CONTROL = 14
    BASE_SEQUENCE = 15, RECORD_SIZE = 16, RECORD_FRAMING = 17, RECORD_OFFSET = 18
    RECORDS_LEFT = 19, RECORD_ERRORS = 20, TRAILING_BYTES = 21, COMPRESSED = 22
    NEW_TIMESTAMPS = 23
    NO_KEY = 1, TIMESTAMP = 2, TIMESTAMP_TYPE = 3

# What a reader answers: it went well (0), the bytes end or do not fit, a varint does not end.
cdef enum:
    GOOD = 0, BAD = 1, ENDLESS = 2


cdef struct Span:
    const uint8_t *start
    Py_ssize_t size


cdef struct Scan:
    # In: what records are held against.
    int64_t base_timestamp, append_timestamp, before_max_ms, after_max_ms, wall_ms
    bint has_append_time, compacted, log_append_time
    # Out: the newest timestamp, or the index of a record that cannot be read.
    int64_t number


cdef inline uint32_t read_u32(const uint8_t *at) noexcept nogil:
    return (<uint32_t> at[0] << 24) | (<uint32_t> at[1] << 16) | (<uint32_t> at[2] << 8) | at[3]


cdef inline int32_t read_i32(const uint8_t *at) noexcept nogil:
    return <int32_t> read_u32(at)


cdef inline int64_t read_i64(const uint8_t *at) noexcept nogil:
    return <int64_t> ((<uint64_t> read_u32(at) << 32) | read_u32(at + 4))


# Java's integers wrap around; so do unsigned ones here, and signed ones only by these.
cdef inline int64_t add(int64_t a, int64_t b) noexcept nogil:
    return <int64_t> (<uint64_t> a + <uint64_t> b)


cdef inline int64_t subtract(int64_t a, int64_t b) noexcept nogil:
    return <int64_t> (<uint64_t> a - <uint64_t> b)


cdef inline int read_raw(
    const uint8_t **at, const uint8_t *end, int bits, uint64_t *raw
) noexcept nogil:
    cdef const uint8_t *p = at[0]
    cdef int shift
    raw[0] = 0
    for shift in range(0, bits, 7):
        if p >= end:
            return BAD
        raw[0] |= <uint64_t> (p[0] & 0x7F) << shift
        p += 1
        if (p - 1)[0] < 0x80:
            at[0] = p
            return GOOD
    return ENDLESS


cdef inline int read_varint(const uint8_t **at, const uint8_t *end, int32_t *value) noexcept nogil:
    cdef uint64_t raw
    cdef int outcome = read_raw(at, end, 32, &raw)
    value[0] = <int32_t> ((<uint32_t> raw >> 1) ^ (0 - (<uint32_t> raw & 1)))
    return outcome


cdef inline int read_varlong(const uint8_t **at, const uint8_t *end, int64_t *value) noexcept nogil:
    cdef uint64_t raw
    cdef int outcome = read_raw(at, end, 64, &raw)
    value[0] = <int64_t> ((raw >> 1) ^ (0 - (raw & 1)))
    return outcome


cdef inline int read_field(const uint8_t **at, const uint8_t *end, Span *field) noexcept nogil:
    """A nullable run of bytes; its size is negative if it is null."""
    cdef int32_t size
    if read_varint(at, end, &size):
        return BAD
    field.start = at[0]
    field.size = size
    if size > 0:
        if size > end - at[0]:
            return BAD
        at[0] += size
    return GOOD


cdef inline int read_start(
    const uint8_t **at, const uint8_t *end, const uint8_t **record_end
) noexcept nogil:
    """Of a record: its size and attributes."""
    cdef int32_t size
    cdef int outcome = read_varint(at, end, &size)
    if outcome == GOOD and not 0 < size <= end - at[0]:
        outcome = BAD
    if outcome == GOOD:
        record_end[0] = at[0] + size
        at[0] += 1
    return outcome


cdef inline int skip_headers(const uint8_t **at, const uint8_t *end) noexcept nogil:
    cdef int32_t count
    cdef Span field
    if read_varint(at, end, &count) or count < 0 or count > end - at[0]:
        return BAD
    while count > 0:
        count -= 1
        if read_field(at, end, &field) or field.size < 0 or read_field(at, end, &field):
            return BAD
    return GOOD


cdef inline int record_fault(Scan *scan, Py_ssize_t key_size, int64_t timestamp) noexcept nogil:
    cdef int64_t age_ms
    if scan.compacted and key_size < 0:
        return NO_KEY
    if not scan.log_append_time and timestamp != -1:
        age_ms = subtract(scan.wall_ms, timestamp)
        if age_ms > scan.before_max_ms or subtract(0, age_ms) > scan.after_max_ms:
            return TIMESTAMP
    elif scan.has_append_time:
        return TIMESTAMP_TYPE
    return 0


cdef int scan(
    const uint8_t *at, const uint8_t *end, Py_ssize_t count, Scan *scan, list errors
) except -1:
    """A fault, or 0. `errors` is filled; the rest of the outcome is in `scan`."""
    cdef const uint8_t *record_end
    cdef int64_t timestamp, delta
    cdef int32_t offset_delta
    cdef Span key, value
    cdef int outcome
    cdef Py_ssize_t index
    cdef int64_t max_timestamp = -1
    for index in range(count):
        scan.number = index
        outcome = read_start(&at, end, &record_end)
        if outcome:
            return RECORD_SIZE if outcome == ENDLESS else RECORD_FRAMING
        if (
            read_varlong(&at, record_end, &delta)
            or read_varint(&at, record_end, &offset_delta)
            or read_field(&at, record_end, &key)
            or read_field(&at, record_end, &value)
            or skip_headers(&at, record_end)
            or at != record_end
        ):
            return RECORD_FRAMING
        if offset_delta != index:
            return RECORD_OFFSET
        timestamp = scan.append_timestamp
        if not scan.has_append_time:
            timestamp = add(scan.base_timestamp, delta)
        if timestamp > max_timestamp:
            max_timestamp = timestamp
        outcome = record_fault(scan, key.size, timestamp)
        if outcome and len(errors) < RECORD_ERRORS_MAX:
            errors.append(RecordError(index, outcome, timestamp))
    scan.number = count
    if at != end:
        return RECORDS_LEFT
    scan.number = max_timestamp
    return RECORD_ERRORS if errors else 0


cdef int load_rules(Scan *scan, object rules, int64_t wall_ms) except -1:
    if not isinstance(rules, tuple) or len(rules) < 6:
        raise TypeError("rules must be ProduceRules")
    scan.compacted = (<tuple> rules)[1]
    scan.log_append_time = (<tuple> rules)[2]
    scan.before_max_ms = (<tuple> rules)[3]
    scan.after_max_ms = (<tuple> rules)[4]
    scan.wall_ms = wall_ms
    return 0


cdef object finding(int fault, int64_t number, list errors):
    return tuple.__new__(Finding, (fault, number, errors))


def scan_records(
    data, Py_ssize_t start, Py_ssize_t end, Py_ssize_t record_count,
    int64_t base_timestamp, append_timestamp, rules, int64_t wall_ms,
):
    cdef Py_buffer view
    cdef Scan state
    cdef int fault
    cdef list errors = []
    load_rules(&state, rules, wall_ms)
    state.base_timestamp = base_timestamp
    state.has_append_time = append_timestamp is not None
    state.append_timestamp = append_timestamp if append_timestamp is not None else 0
    PyObject_GetBuffer(data, &view, PyBUF_SIMPLE)
    try:
        assert 0 <= start <= end <= view.len
        p = <const uint8_t *> view.buf
        fault = scan(p + start, p + end, record_count, &state, errors)
    finally:
        PyBuffer_Release(&view)
    return finding(fault, state.number, errors)


cdef uint32_t crc_of(object data, const uint8_t *batch, Py_ssize_t at, Py_ssize_t size) except? 0:
    """Of the batch at `at` in `data`; `batch` points to its first byte."""
    if size - ATTRIBUTES_AT <= CRC_HERE_BYTES_MAX:
        return ottla_crc32c(batch + ATTRIBUTES_AT, size - ATTRIBUTES_AT)
    return _crc32c(memoryview(data)[at + ATTRIBUTES_AT : at + size])


cdef inline int check_frame(
    const uint8_t *p, Py_ssize_t length, int version, int64_t bytes_max, int64_t *detail
) noexcept nogil:
    cdef int64_t batch_length, size
    detail[0] = length
    if length < LOG_OVERHEAD_BYTES:
        return NO_BATCH
    batch_length = read_i32(p + LENGTH_AT)
    size = batch_length + LOG_OVERHEAD_BYTES
    if batch_length < OLD_BATCH_LENGTH_MIN:
        detail[0] = batch_length
        return BATCH_LENGTH
    if length <= MAGIC_AT:
        return NO_BATCH
    if p[MAGIC_AT] > MAGIC:
        detail[0] = p[MAGIC_AT]
        return MAGIC_UNKNOWN
    if size > INT32_MAX:
        return LENGTH_FATAL
    if size > length:
        return NO_BATCH
    if p[MAGIC_AT] != MAGIC:
        detail[0] = p[MAGIC_AT]
        return MAGIC_OLD
    detail[0] = p[ATTRIBUTES_AT + 1] & CODEC_MASK
    if detail[0] >= ZSTD and version < ZSTD_VERSION_MIN:
        return ZSTD_TOO_EARLY if detail[0] == ZSTD else CODEC
    detail[0] = size
    if size < length:
        return TRAILING_BYTES
    if read_i64(p) != 0:
        detail[0] = read_i64(p)
        return BASE_OFFSET
    if size > bytes_max and size >= LAST_OFFSET_DELTA_AT + 4:
        return TOO_LARGE
    if size < HEADER_BYTES:
        detail[0] = batch_length
        return BATCH_LENGTH if size >= LAST_OFFSET_DELTA_AT + 4 else LENGTH_FATAL
    return 0


cdef inline int check_header(const uint8_t *p, int64_t *detail) noexcept nogil:
    cdef int attributes = p[ATTRIBUTES_AT + 1]
    cdef int32_t last_offset_delta = read_i32(p + LAST_OFFSET_DELTA_AT)
    cdef int32_t record_count = read_i32(p + RECORD_COUNT_AT)
    if attributes & CODEC_MASK > ZSTD:
        detail[0] = attributes & CODEC_MASK
        return CODEC
    if last_offset_delta < 0:
        detail[0] = last_offset_delta
        return LAST_OFFSET_DELTA
    detail[0] = record_count
    if record_count <= 0:
        return RECORD_COUNT
    if record_count != <int64_t> last_offset_delta + 1:
        return COUNT_MISMATCH
    if attributes & CONTROL_BIT:
        return CONTROL
    detail[0] = read_i32(p + BASE_SEQUENCE_AT)
    if read_i64(p + PRODUCER_ID_AT) > -1 and detail[0] < 0:
        return BASE_SEQUENCE
    return 0


cdef object validated(object data, const uint8_t *p, Py_ssize_t size, uint32_t crc):
    cdef int32_t last_offset_delta = read_i32(p + LAST_OFFSET_DELTA_AT)
    cdef int32_t base_sequence = read_i32(p + BASE_SEQUENCE_AT)
    cdef int32_t last_sequence = -1
    if base_sequence != -1:
        last_sequence = (<uint32_t> base_sequence + <uint32_t> last_offset_delta) & 0x7FFFFFFF
    return tuple.__new__(Validated, (
        data, size, last_offset_delta + 1, last_offset_delta,
        read_i64(p + MAX_TIMESTAMP_AT), last_offset_delta, -1, crc,
        read_i64(p + PRODUCER_ID_AT), <int16_t> (read_u32(p + PRODUCER_EPOCH_AT) >> 16),
        base_sequence, last_sequence, p[ATTRIBUTES_AT + 1] & TRANSACTIONAL_BIT != 0,
    ))


cdef object check_one(
    object data, const uint8_t *p, Py_ssize_t size, object rules, int version, int64_t wall_ms
):
    cdef Scan state
    cdef list errors
    cdef uint32_t crc
    cdef int64_t number, header_max
    cdef int fault
    load_rules(&state, rules, wall_ms)
    fault = check_frame(p, size, version, (<tuple> rules)[0], &number)
    if fault:
        return finding(fault, number, [])
    crc = crc_of(data, p, 0, size)
    if crc != read_u32(p + CRC_AT):
        return finding(BAD_CRC, read_u32(p + CRC_AT), [])
    fault = check_header(p, &number)
    if fault:
        return finding(fault, number, [])
    if p[ATTRIBUTES_AT + 1] & CODEC_MASK or (<tuple> rules)[5]:
        return finding(COMPRESSED, p[ATTRIBUTES_AT + 1] & CODEC_MASK, [])
    state.base_timestamp = read_i64(p + BASE_TIMESTAMP_AT)
    header_max = state.append_timestamp = read_i64(p + MAX_TIMESTAMP_AT)
    state.has_append_time = p[ATTRIBUTES_AT + 1] & LOG_APPEND_TIME_BIT != 0
    errors = []
    fault = scan(p + HEADER_BYTES, p + size, read_i32(p + RECORD_COUNT_AT), &state, errors)
    if fault:
        return finding(fault, state.number, errors)
    if state.log_append_time or state.has_append_time or state.number != header_max:
        return finding(NEW_TIMESTAMPS, state.number, [])
    return validated(data, p, size, crc)


def check_produced(data, rules, int produce_version, int64_t wall_ms):
    cdef Py_buffer view
    PyObject_GetBuffer(data, &view, PyBUF_SIMPLE)
    try:
        p = <const uint8_t *> view.buf
        return check_one(data, p, view.len, rules, produce_version, wall_ms)
    finally:
        PyBuffer_Release(&view)


def find_batch(data, int64_t offset):
    cdef Py_buffer view
    cdef const uint8_t *p
    cdef int64_t batch_length
    cdef Py_ssize_t at = 0, size = 0
    PyObject_GetBuffer(data, &view, PyBUF_SIMPLE)
    try:
        p = <const uint8_t *> view.buf
        while view.len - at >= LAST_OFFSET_DELTA_AT + 4:
            batch_length = read_i32(p + at + LENGTH_AT)
            if p[at + MAGIC_AT] != MAGIC or batch_length < HEADER_BYTES - LOG_OVERHEAD_BYTES:
                raise CorruptBatch(f"no batch header at {at}")
            if add(read_i64(p + at), read_i32(p + at + LAST_OFFSET_DELTA_AT)) >= offset:
                size = batch_length + LOG_OVERHEAD_BYTES
                break
            at += batch_length + LOG_OVERHEAD_BYTES
    finally:
        PyBuffer_Release(&view)
    return at, size


cdef object header_at(const uint8_t *p):
    return tuple.__new__(BatchHeader, (
        read_i64(p), read_i32(p + LENGTH_AT), read_i32(p + LEADER_EPOCH_AT), MAGIC,
        read_u32(p + CRC_AT), <int16_t> (read_u32(p + ATTRIBUTES_AT) >> 16),
        read_i32(p + LAST_OFFSET_DELTA_AT), read_i64(p + BASE_TIMESTAMP_AT),
        read_i64(p + MAX_TIMESTAMP_AT), read_i64(p + PRODUCER_ID_AT),
        <int16_t> (read_u32(p + PRODUCER_EPOCH_AT) >> 16),
        read_i32(p + BASE_SEQUENCE_AT), read_i32(p + RECORD_COUNT_AT),
    ))


def batch_spans(data, Py_ssize_t at=0):
    cdef Py_buffer view
    cdef const uint8_t *p
    cdef int64_t batch_length
    cdef list headers = []
    cdef str why = None
    PyObject_GetBuffer(data, &view, PyBUF_SIMPLE)
    try:
        assert at >= 0
        while view.len - at >= HEADER_BYTES:
            p = <const uint8_t *> view.buf + at
            batch_length = read_i32(p + LENGTH_AT)
            if p[MAGIC_AT] != MAGIC or batch_length < HEADER_BYTES - LOG_OVERHEAD_BYTES:
                why = "no batch header"
                break
            if batch_length + LOG_OVERHEAD_BYTES > view.len - at:
                break
            if crc_of(data, p, at, batch_length + LOG_OVERHEAD_BYTES) != read_u32(p + CRC_AT):
                why = f"CRC {read_u32(p + CRC_AT)}"
                break
            headers.append(header_at(p))
            at += batch_length + LOG_OVERHEAD_BYTES
    finally:
        PyBuffer_Release(&view)
    return headers, at, why


cdef inline object bytes_of(Span field):
    if field.size < 0:
        return None
    return PyBytes_FromStringAndSize(<const char *> field.start, field.size)


cdef list read_headers(const uint8_t **at, const uint8_t *end):
    """None if they do not fit."""
    cdef int32_t count
    cdef Span key, value
    cdef list headers = []
    if read_varint(at, end, &count) or count < 0 or count > end - at[0]:
        return None
    while count > 0:
        count -= 1
        if read_field(at, end, &key) or key.size < 0 or read_field(at, end, &value):
            return None
        name = (<const char *> key.start)[: key.size].decode("utf-8", "surrogateescape")
        headers.append((name, bytes_of(value)))
    return headers


cdef object decode_record(
    const uint8_t **at, const uint8_t *stop, int64_t base_offset, int64_t base_timestamp,
    object timestamp,
):
    """None if it does not fit."""
    cdef const uint8_t *end
    cdef int64_t delta
    cdef int32_t offset_delta
    cdef Span key, value
    cdef list headers
    if (
        read_start(at, stop, &end)
        or read_varlong(at, end, &delta)
        or read_varint(at, end, &offset_delta)
        or read_field(at, end, &key)
        or read_field(at, end, &value)
    ):
        return None
    headers = read_headers(at, end)
    if headers is None or at[0] != end:
        return None
    if timestamp is None:
        timestamp = add(base_timestamp, delta)
    return tuple.__new__(
        Record,
        (add(base_offset, offset_delta), timestamp, bytes_of(key), bytes_of(value), headers),
    )


def decode_records(
    data, Py_ssize_t start, Py_ssize_t end, Py_ssize_t record_count,
    int64_t base_offset, int64_t base_timestamp, append_timestamp,
):
    cdef Py_buffer view
    cdef const uint8_t *at
    cdef const uint8_t *stop
    cdef list records = []
    PyObject_GetBuffer(data, &view, PyBUF_SIMPLE)
    try:
        assert 0 <= start <= end <= view.len
        at = <const uint8_t *> view.buf + start
        stop = <const uint8_t *> view.buf + end
        while len(records) < record_count:
            record = decode_record(&at, stop, base_offset, base_timestamp, append_timestamp)
            if record is None:
                raise CorruptBatch(f"record {len(records)} does not fit its bounds")
            records.append(record)
        if at != stop:
            raise CorruptBatch(f"bytes are left behind {record_count} records")
    finally:
        PyBuffer_Release(&view)
    return records


def find_record(
    data, Py_ssize_t start, Py_ssize_t end, Py_ssize_t record_count,
    int64_t base_offset, int64_t base_timestamp, append_timestamp,
    int64_t offset_min, int64_t timestamp_min,
):
    cdef Py_buffer view
    cdef const uint8_t *at
    cdef const uint8_t *stop
    cdef const uint8_t *record_end
    cdef bint has_append_time = append_timestamp is not None
    cdef int64_t timestamp = append_timestamp if has_append_time else 0
    cdef int64_t delta, offset
    cdef int32_t offset_delta
    cdef Py_ssize_t index
    PyObject_GetBuffer(data, &view, PyBUF_SIMPLE)
    try:
        assert 0 <= start <= end <= view.len
        at = <const uint8_t *> view.buf + start
        stop = <const uint8_t *> view.buf + end
        for index in range(record_count):
            if (
                read_start(&at, stop, &record_end)
                or read_varlong(&at, record_end, &delta)
                or read_varint(&at, record_end, &offset_delta)
            ):
                raise CorruptBatch(f"record {index} does not fit its bounds")
            at = record_end
            offset = add(base_offset, offset_delta)
            if not has_append_time:
                timestamp = add(base_timestamp, delta)
            if timestamp >= timestamp_min and offset >= offset_min:
                return offset, timestamp
        if at != stop:
            raise CorruptBatch(f"bytes are left behind {record_count} records")
    finally:
        PyBuffer_Release(&view)
    return None
