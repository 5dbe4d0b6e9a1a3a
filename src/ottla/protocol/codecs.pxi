# cython: boundscheck=False, wraparound=False, cdivision=True, language_level=3, binding=False
"""Produce and Fetch, compiled: `setup.py` puts what `c_source` writes of the table after this file.

Only what goes well is done here. A reader or writer that meets anything else - bytes that end
early, a null that may not be, an unknown tag, an integer too large - leaves the message to the
pure function of the same version, which alone knows what to say of it. Fields are read and written
at their slots, past msgspec's constructor; `bind` sees first that a struct is nothing but slots.
"""

from cpython.buffer cimport PyBUF_SIMPLE, PyBuffer_Release, PyObject_GetBuffer
from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_FromStringAndSize
from cpython.list cimport PyList_New
from cpython.object cimport PyObject, PyTypeObject
from cpython.ref cimport Py_INCREF, Py_XDECREF
from libc.stdint cimport INT32_MAX, int8_t, int16_t, int32_t, int64_t
from libc.stdint cimport uint8_t, uint16_t, uint32_t, uint64_t
from libc.stdlib cimport free, getenv, malloc
from libc.string cimport memcpy, memmove

import sys

if getenv("OTTLA_KERNEL") != NULL and getenv("OTTLA_KERNEL") == b"python":
    raise ImportError("OTTLA_KERNEL=python asks for the plain codecs")

cdef extern from *:
    """
    #include <structmember.h>
    #define OTTLA_SWAP16 __builtin_bswap16
    #define OTTLA_SWAP32 __builtin_bswap32
    #define OTTLA_SWAP64 __builtin_bswap64

    /* Where instances keep a field, or -1 if they do not keep it in a slot. */
    static Py_ssize_t ottla_slot(PyObject *descriptor) {
        PyMemberDef *member;
        if (!Py_IS_TYPE(descriptor, &PyMemberDescr_Type)) return -1;
        member = ((PyMemberDescrObject *)descriptor)->d_member;
        return member->type == T_OBJECT_EX && member->flags == 0 ? member->offset : -1;
    }

    static int ottla_is_only_slots(PyTypeObject *type, Py_ssize_t fields) {
        return type->tp_basicsize == (Py_ssize_t)(sizeof(PyObject) + fields * sizeof(PyObject *))
            && !(type->tp_flags & Py_TPFLAGS_HAVE_GC) && type->tp_itemsize == 0;
    }

    static inline PyObject *ottla_new(PyTypeObject *type) { return type->tp_alloc(type, 0); }
    """
    uint16_t swap16 "OTTLA_SWAP16" (uint16_t value) noexcept nogil
    uint32_t swap32 "OTTLA_SWAP32" (uint32_t value) noexcept nogil
    uint64_t swap64 "OTTLA_SWAP64" (uint64_t value) noexcept nogil
    Py_ssize_t ottla_slot(object descriptor) noexcept
    bint ottla_is_only_slots(PyTypeObject *type, Py_ssize_t fields) noexcept
    object ottla_new(PyTypeObject *type)

    PyObject *new_int "PyLong_FromLongLong" (long long value) except NULL
    PyObject *new_text "PyUnicode_DecodeUTF8" (
        const char *start, Py_ssize_t size, const char *errors) except NULL
    PyObject *new_bytes "PyBytes_FromStringAndSize" (
        const char *start, Py_ssize_t size) except NULL
    PyObject *new_slice "PySequence_GetSlice" (
        object sliced, Py_ssize_t start, Py_ssize_t end) except NULL
    long long as_int "PyLong_AsLongLongAndOverflow" (PyObject *value, int *overflow) noexcept
    const char *as_text "PyUnicode_AsUTF8AndSize" (PyObject *value, Py_ssize_t *size) noexcept
    bint is_int "PyLong_Check" (PyObject *value) noexcept
    bint is_list "PyList_CheckExact" (PyObject *value) noexcept
    bint is_text "PyUnicode_CheckExact" (PyObject *value) noexcept
    bint is_bytes "PyBytes_CheckExact" (PyObject *value) noexcept
    Py_ssize_t list_size "PyList_GET_SIZE" (PyObject *value) noexcept
    Py_ssize_t bytes_size "PyBytes_GET_SIZE" (PyObject *value) noexcept
    const char *bytes_start "PyBytes_AS_STRING" (PyObject *value) noexcept
    void list_set "PyList_SET_ITEM" (object held, Py_ssize_t index, PyObject *value) noexcept
    int list_append "PyList_Append" (object held, object value) except -1
    bint is_type "Py_IS_TYPE" (PyObject *value, PyTypeObject *type) noexcept
    void clear_error "PyErr_Clear" () noexcept

cdef enum:
    FIELDS_MAX = 16
    # So many places are taken for a list at once; what a frame claims beyond takes as it comes.
    FEW = 8
    # Above it, bytes that are not UTF-8 could grow beyond what a string may have.
    TEXT_BYTES_MAX = 10922
    STRING_BYTES_MAX = 32767
    HERE_BYTES = 512
    API_KEYS_MAX = 128
    NO_API = -1


cdef struct Shape:
    PyTypeObject *type
    Py_ssize_t at[FIELDS_MAX]


cdef bint bind(Shape *shape, cls, tuple fields) except -1:
    """Find a struct's slots; False where the table, or msgspec, is not what this was built for."""
    cdef Py_ssize_t i
    if cls.__struct_fields__ != fields or len(fields) > FIELDS_MAX or hasattr(cls, "__post_init__"):
        return False
    shape.type = <PyTypeObject *> cls
    if not ottla_is_only_slots(shape.type, len(fields)):
        return False
    for i in range(len(fields)):
        shape.at[i] = ottla_slot(vars(cls).get(fields[i]))
        if shape.at[i] < 0:
            return False
    Py_INCREF(cls)
    return True


cdef inline PyObject **slot(object holder, Py_ssize_t offset) noexcept:
    return <PyObject **> (<char *> <PyObject *> holder + offset)


# Reading. `put` and its like fill the slots of a new struct; 0 leaves the message to Python.

ctypedef object (*Reader)(object view, const uint8_t *start, const uint8_t **at,
                          const uint8_t *end)


cdef inline int16_t get16(const uint8_t *at) noexcept:
    cdef uint16_t raw
    memcpy(&raw, at, 2)
    return <int16_t> swap16(raw)


cdef inline int32_t get32(const uint8_t *at) noexcept:
    cdef uint32_t raw
    memcpy(&raw, at, 4)
    return <int32_t> swap32(raw)


cdef inline int64_t get64(const uint8_t *at) noexcept:
    cdef uint64_t raw
    memcpy(&raw, at, 8)
    return <int64_t> swap64(raw)


cdef inline bint get_uvarint(const uint8_t **at, const uint8_t *end, int64_t *value) noexcept:
    if at[0] < end and at[0][0] < 128:
        value[0] = at[0][0]
        at[0] += 1
        return True
    return get_long_uvarint(at, end, value)


cdef bint get_long_uvarint(const uint8_t **at, const uint8_t *end, int64_t *value) noexcept:
    cdef int shift
    cdef uint64_t raw = 0
    cdef uint8_t byte
    for shift in range(0, 35, 7):
        if at[0] >= end:
            return False
        byte = at[0][0]
        at[0] += 1
        raw |= <uint64_t> (byte & 127) << shift
        if byte < 128:
            value[0] = <int32_t> <uint32_t> raw
            return True
    return False


cdef inline void put_new(object holder, Py_ssize_t offset, PyObject *value) noexcept:
    """Takes over the reference. A tagged field has its default by then."""
    cdef PyObject *before = slot(holder, offset)[0]
    slot(holder, offset)[0] = value
    Py_XDECREF(before)


cdef inline void put(object holder, Py_ssize_t offset, object value) noexcept:
    Py_INCREF(value)
    put_new(holder, offset, <PyObject *> value)


cdef inline int put_int(object holder, Py_ssize_t offset, int64_t value) except -1:
    put_new(holder, offset, new_int(value))
    return 1


cdef inline int put_bytes(
    object holder, Py_ssize_t offset, const uint8_t *at, Py_ssize_t size
) except -1:
    put_new(holder, offset, new_bytes(<const char *> at, size))
    return 1


cdef inline int put_text(
    object holder, Py_ssize_t offset, const uint8_t **at, const uint8_t *end, int64_t length
) except -1:
    if not 0 <= length <= TEXT_BYTES_MAX or length > end - at[0]:
        return 0
    put_new(holder, offset, new_text(<const char *> at[0], length, "replace"))
    at[0] += length
    return 1


cdef inline int put_view(
    object holder, Py_ssize_t offset, object view, Py_ssize_t start, int64_t length
) except -1:
    put_new(holder, offset, new_slice(view, start, start + length))
    return 1


cdef inline void add(list held, Py_ssize_t index, object value) except *:
    if index < FEW:
        Py_INCREF(value)
        list_set(held, index, <PyObject *> value)
    else:
        list_append(held, value)


cdef object decoded(view, Py_ssize_t begin, Reader read, Shape *shape, int version):
    cdef Py_buffer buffer
    cdef const uint8_t *start
    cdef const uint8_t *at
    made = None
    PyObject_GetBuffer(view, &buffer, PyBUF_SIMPLE)
    try:
        start = at = <const uint8_t *> buffer.buf
        if 0 <= begin <= buffer.len:
            at += begin
            made = read(view, start, &at, start + buffer.len)
    finally:
        PyBuffer_Release(&buffer)
    if made is None:
        from ottla.protocol.compile import pure_decoder

        return pure_decoder(<object> <PyObject *> shape.type, version)(view, begin)
    return made, at - start


# Writing. All but records goes to one buffer, which becomes bytes where records stand apart.

cdef struct Out:
    uint8_t *start
    Py_ssize_t size, capacity
    # Of the parts that are done already.
    Py_ssize_t before
    uint8_t here[HERE_BYTES]


ctypedef int (*Writer)(object message, Out *out, list parts) except -1


cdef inline int reserve(Out *out, Py_ssize_t more) except -1:
    return grow(out, more) if out.capacity - out.size < more else 0


cdef int grow(Out *out, Py_ssize_t more) except -1:
    cdef Py_ssize_t capacity = 2 * out.capacity + more
    cdef uint8_t *start = <uint8_t *> malloc(capacity)
    if start == NULL:
        raise MemoryError
    memcpy(start, out.start, out.size)
    if out.start != out.here:
        free(out.start)
    out.start = start
    out.capacity = capacity
    return 0


cdef inline void set8(Out *out, int64_t value) noexcept:
    out.start[out.size] = <uint8_t> value
    out.size += 1


cdef inline void set16(Out *out, int64_t value) noexcept:
    cdef uint16_t raw = swap16(<uint16_t> value)
    memcpy(out.start + out.size, &raw, 2)
    out.size += 2


cdef inline void set32(Out *out, int64_t value) noexcept:
    cdef uint32_t raw = swap32(<uint32_t> value)
    memcpy(out.start + out.size, &raw, 4)
    out.size += 4


cdef inline void set64(Out *out, int64_t value) noexcept:
    cdef uint64_t raw = swap64(<uint64_t> value)
    memcpy(out.start + out.size, &raw, 8)
    out.size += 8


cdef inline void set_uvarint(Out *out, uint64_t value) noexcept:
    while value > 127:
        set8(out, value & 127 | 128)
        value >>= 7
    set8(out, value)


cdef inline void set_length(Out *out, Py_ssize_t length, int bits, bint compact) noexcept:
    """Null is -1, which the compact form says as 0."""
    if compact:
        set_uvarint(out, length + 1)
    elif bits == 16:
        set16(out, length)
    else:
        set32(out, length)


cdef inline bint fits(PyObject *held, int bits, int64_t *value) noexcept:
    """Whether it is an integer that has room in so many bits."""
    cdef int overflow
    cdef int spare = 64 - bits
    if held == NULL or not is_int(held):
        return False
    value[0] = as_int(held, &overflow)
    return not overflow and <int64_t> (<uint64_t> value[0] << spare) >> spare == value[0]


cdef inline bint is_number(object holder, Py_ssize_t offset, int64_t wanted) noexcept:
    cdef int64_t value
    return fits(slot(holder, offset)[0], 64, &value) and value == wanted


cdef inline bint is_none(object holder, Py_ssize_t offset) noexcept:
    return slot(holder, offset)[0] == <PyObject *> None


cdef inline bint is_empty(object holder, Py_ssize_t offset) noexcept:
    cdef PyObject *held = slot(holder, offset)[0]
    return held != NULL and is_list(held) and list_size(held) == 0


# Fixed sizes: their room was reserved for the whole run of them.

cdef inline bint out8(Out *out, object holder, Py_ssize_t offset) noexcept:
    cdef int64_t value = 0
    cdef bint good = fits(slot(holder, offset)[0], 8, &value)
    set8(out, value)
    return good


cdef inline bint out16(Out *out, object holder, Py_ssize_t offset) noexcept:
    cdef int64_t value = 0
    cdef bint good = fits(slot(holder, offset)[0], 16, &value)
    set16(out, value)
    return good


cdef inline bint out32(Out *out, object holder, Py_ssize_t offset) noexcept:
    cdef int64_t value = 0
    cdef bint good = fits(slot(holder, offset)[0], 32, &value)
    set32(out, value)
    return good


cdef inline bint out64(Out *out, object holder, Py_ssize_t offset) noexcept:
    cdef int64_t value = 0
    cdef bint good = fits(slot(holder, offset)[0], 64, &value)
    set64(out, value)
    return good


cdef inline bint out_uuid(Out *out, object holder, Py_ssize_t offset) noexcept:
    cdef PyObject *held = slot(holder, offset)[0]
    if held == NULL or not is_bytes(held) or bytes_size(held) != 16:
        return False
    memcpy(out.start + out.size, bytes_start(held), 16)
    out.size += 16
    return True


# Other sizes: these reserve for themselves.

cdef int out_text(
    Out *out, object holder, Py_ssize_t offset, bint compact, bint nullable
) except -1:
    cdef PyObject *held = slot(holder, offset)[0]
    cdef const char *text
    cdef Py_ssize_t size = -1
    if held == NULL or not is_text(held):
        if not nullable or held != <PyObject *> None:
            return 0
        reserve(out, 2)
        set_length(out, -1, 16, compact)
        return 1
    text = as_text(held, &size)
    if text == NULL:  # half of a surrogate pair is in it
        clear_error()
        return 0
    if size > STRING_BYTES_MAX:
        return 0
    reserve(out, 3 + size)
    set_length(out, size, 16, compact)
    memcpy(out.start + out.size, text, size)
    out.size += size
    return 1


cdef int out_records(
    Out *out, list parts, object holder, Py_ssize_t offset, bint compact, bint nullable
) except -1:
    cdef PyObject *held = slot(holder, offset)[0]
    cdef Py_ssize_t size = -1
    if held == NULL or (held == <PyObject *> None and not nullable):
        return 0
    records = <object> held
    if records is not None:
        size = len(records)
        if size > INT32_MAX:
            return 0
    out_count(out, size, compact)
    if size > 0:
        part_done(out, parts)
        parts.append(records)
        out.before += size
    return 1


cdef inline int out_count(Out *out, Py_ssize_t count, bint compact) except -1:
    reserve(out, 5)
    set_length(out, count, 32, compact)
    return 0


cdef inline list held_list(object holder, Py_ssize_t offset):
    cdef PyObject *held = slot(holder, offset)[0]
    return <list> held if held != NULL and is_list(held) else None


cdef inline object held_struct(object holder, Py_ssize_t offset, Shape *shape):
    cdef PyObject *held = slot(holder, offset)[0]
    return <object> held if held != NULL and is_type(held, shape.type) else None


cdef inline Py_ssize_t begin_tag(Out *out, int tag) except -1:
    """Leaves one byte for the size, which is nearly always enough."""
    reserve(out, 2)
    set8(out, tag)
    out.size += 1
    return out.size


cdef int end_tag(Out *out, Py_ssize_t begin) except -1:
    cdef Py_ssize_t size = out.size - begin
    cdef int more = (size > 0x7F) + (size > 0x3FFF) + (size > 0x1FFFFF) + (size > 0xFFFFFFF)
    if more:
        reserve(out, more)
        memmove(out.start + begin + more, out.start + begin, size)
    out.size = begin - 1
    set_uvarint(out, size)
    out.size += size
    return 0


cdef int part_done(Out *out, list parts) except -1:
    parts.append(PyBytes_FromStringAndSize(<const char *> out.start, out.size))
    out.before += out.size
    out.size = 0
    return 0


cdef bint written(
    Out *out, int header_version, int64_t correlation_id, message, Writer write, list parts
) except -1:
    """The parts of a frame, or with -1 for a header version those of the message alone."""
    cdef uint32_t size
    out.size = out.before = 0
    out.capacity = HERE_BYTES
    out.start = out.here
    try:
        if header_version >= 0:
            out.size = 4
            set32(out, correlation_id)
            if header_version:
                set8(out, 0)
        if not write(message, out, parts):
            return False
        if out.size:
            part_done(out, parts)
        if header_version < 0:
            return True
        if out.before - 4 > INT32_MAX:
            return False
        size = swap32(<uint32_t> (out.before - 4))
        # Nobody has seen these bytes yet.
        memcpy(PyBytes_AS_STRING(parts[0]), &size, 4)
        return True
    finally:
        if out.start != out.here:
            free(out.start)


cdef object encoded(message, list parts, Writer write, Shape *shape, int version):
    cdef Out out
    cdef list own = []
    if written(&out, -1, 0, message, write, own):
        parts += own
        return
    from ottla.protocol.compile import pure_encoder

    pure_encoder(<object> <PyObject *> shape.type, version)(message, parts)


cdef object framed(
    correlation_id, message, Writer write, Shape *shape, int version, int header_version
):
    cdef Out out
    cdef int64_t raw_id
    cdef list parts = []
    if fits(<PyObject *> correlation_id, 32, &raw_id) and written(
        &out, header_version, raw_id, message, write, parts
    ):
        return parts
    from ottla.protocol.compile import pure_frame_encoder

    encode = pure_frame_encoder(<object> <PyObject *> shape.type, version, header_version)
    return encode(correlation_id, message)


cdef dict _is_fit = {}


def find(str kind, message, int version):
    """The compiled function, or None: not built, or built for another shape of its structs."""
    name = message.__module__
    binder = BINDERS.get(name)
    if binder is None:
        return None
    if name not in _is_fit:
        _is_fit[name] = binder(sys.modules[name])
    return FUNCTIONS.get((kind, message.__name__, version)) if _is_fit[name] else None


# The header of a request, which `frame` describes.

cdef Shape _header
cdef int _first_flexible[API_KEYS_MAX]
cdef Py_ssize_t _bytes_max[API_KEYS_MAX]
cdef object _pure_header = None


def header_parser(cls, dict headers, pure, /):
    """As `pure`, compiled; or `pure` itself where the struct is not what this was built for."""
    global _pure_header
    cdef int key
    fields = ("api_key", "api_version", "correlation_id", "client_id", "body_at")
    if not bind(&_header, cls, fields):
        return pure
    for key in range(API_KEYS_MAX):
        _first_flexible[key], _bytes_max[key] = headers.get(key, (0, NO_API))
    _pure_header = pure
    return parse_request_header


cdef object read_header(const uint8_t *start, const uint8_t *end):
    cdef const uint8_t *p = start + 10
    cdef int length, api_key, api_version
    if end - start < 10:
        return None
    api_key, api_version, length = get16(start), get16(start + 2), get16(start + 8)
    if not 0 <= api_key < API_KEYS_MAX or end - start > _bytes_max[api_key]:
        return None
    header = ottla_new(_header.type)
    put_int(header, _header.at[0], api_key)
    put_int(header, _header.at[1], api_version)
    put_int(header, _header.at[2], get32(start + 4))
    if not put_text(header, _header.at[3], &p, end, max(length, 0)):
        return None
    if api_version >= _first_flexible[api_key]:
        if p >= end or p[0]:
            return None
        p += 1
    put_int(header, _header.at[4], p - start)
    return header


def parse_request_header(view, /):
    cdef Py_buffer buffer
    cdef const uint8_t *start
    header = None
    PyObject_GetBuffer(view, &buffer, PyBUF_SIMPLE)
    try:
        start = <const uint8_t *> buffer.buf
        header = read_header(start, start + buffer.len)
    finally:
        PyBuffer_Release(&buffer)
    return _pure_header(view) if header is None else header
