# cython: boundscheck=False, wraparound=False, cdivision=True, language_level=3
"""The half of the compiled kernel that writes records. `kernel_twin` says what it does."""

from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_FromStringAndSize, PyBytes_GET_SIZE
from libc.stdint cimport int64_t, uint8_t, uint64_t
from libc.stdlib cimport free, realloc
from libc.string cimport memcpy


# Java's integers wrap around; so do unsigned ones here.
cdef inline int64_t subtract(int64_t a, int64_t b) noexcept nogil:
    return <int64_t> (<uint64_t> a - <uint64_t> b)


cdef struct Out:
    uint8_t *start
    Py_ssize_t size, capacity


cdef int put(Out *out, const void *data, Py_ssize_t size) except -1:
    cdef void *start
    if out.capacity - out.size < size:
        start = realloc(out.start, 2 * out.capacity + size)
        if start == NULL:
            raise MemoryError
        out.start = <uint8_t *> start
        out.capacity = 2 * out.capacity + size
    memcpy(out.start + out.size, data, size)
    out.size += size
    return 0


cdef int put_varint(Out *out, int64_t value) except -1:
    cdef uint64_t raw = (<uint64_t> value << 1) ^ <uint64_t> (value >> 63)
    cdef uint8_t digits[10]
    cdef int count = 0
    while raw > 0x7F:
        digits[count] = <uint8_t> (raw & 0x7F | 0x80)
        count += 1
        raw >>= 7
    digits[count] = <uint8_t> raw
    return put(out, digits, count + 1)


cdef int put_field(Out *out, object field) except -1:
    if field is None:
        return put_varint(out, -1)
    if not isinstance(field, bytes):
        raise TypeError(f"{type(field).__name__} instead of bytes")
    put_varint(out, PyBytes_GET_SIZE(field))
    return put(out, PyBytes_AS_STRING(field), PyBytes_GET_SIZE(field))


cdef int put_body(Out *body, Py_ssize_t index, object record, int64_t base_timestamp) except -1:
    _, timestamp, key, value, headers = record
    body.size = 0
    put(body, b"\0", 1)
    put_varint(body, subtract(timestamp, base_timestamp))
    put_varint(body, index)
    put_field(body, key)
    put_field(body, value)
    put_varint(body, len(headers))
    for name, content in headers:
        put_field(body, (<str?> name).encode("utf-8", "surrogateescape"))
        put_field(body, content)
    return 0


def encode_records(records, int64_t base_timestamp):
    cdef Out out = Out(NULL, 0, 0), body = Out(NULL, 0, 0)
    cdef Py_ssize_t index = 0
    try:
        for record in records:
            put_body(&body, index, record, base_timestamp)
            put_varint(&out, body.size)
            put(&out, body.start, body.size)
            index += 1
        return PyBytes_FromStringAndSize(<const char *> out.start, out.size)
    finally:
        free(out.start)
        free(body.start)
