"""What generated decoders and encoders call where the bytes leave the common path.

Kafka reads an unsigned varint into a signed 32-bit integer, so that five full bytes give a
negative number: a length then means null, a count of tags none. We read the same number.
"""

import struct
from typing import NoReturn

from ottla.errors import Malformed
from ottla.limits import REQUEST_ENTRIES_MAX

STRING_BYTES_MAX = 32767
# Of one struct. No message of Kafka 4.3 has more than ten.
TAGS_MAX = 127

# Index is the compact form's first byte (length + 1), so that one table serves both forms.
TEXT = [struct.Struct(f"{max(length - 1, 0)}s").unpack_from for length in range(128)]

VARINT = [bytes([value]) for value in range(128)]


class UnsupportedVersion(ValueError):
    """Our own mistake: a message was given a value for which this version has no place."""


def uvarint(value: int) -> bytes:
    # Written out, because the length of nearly every record batch is of two or three bytes.
    if value < 128:
        return VARINT[value]
    if value < 1 << 14:
        return bytes((value & 127 | 128, value >> 7))
    if value < 1 << 21:
        return bytes((value & 127 | 128, value >> 7 & 127 | 128, value >> 14))
    return bytes((value & 127 | 128,)) + uvarint(value >> 7)


def string_length(length: int) -> bytes:
    """A compact string's prefix, one more than its bytes."""
    if length > STRING_BYTES_MAX + 1:
        raise ValueError(f"a string of {length - 1} bytes")
    return uvarint(length)


def read_uvarint(view: memoryview, at: int) -> tuple[int, int]:
    first = view[at]
    return (first, at + 1) if first < 128 else long_uvarint(view, at + 1, first)


def long_uvarint(view: memoryview, at: int, first: int) -> tuple[int, int]:
    """The rest of a varint whose first byte, just before `at`, says that there is more."""
    byte = view[at]
    at += 1
    value = first - 128 | (byte & 127) << 7
    if byte < 128:
        return value, at
    for shift in (14, 21, 28):
        byte = view[at]
        at += 1
        value |= (byte & 127) << shift
        if byte < 128:
            value &= 0xFFFFFFFF
            return (value - 0x1_0000_0000 if value > 0x7FFFFFFF else value), at
    raise Malformed("a varint of more than five bytes")


def compact_string(view: memoryview, at: int, first: int) -> tuple[str | None, int]:
    """A compact string that is null or long; its length's first byte was read already."""
    length = first
    if first > 127:
        length, at = long_uvarint(view, at, first)
    return string(view, at, length - 1)


def string(view: memoryview, at: int, length: int) -> tuple[str | None, int]:
    if length < 0:
        return None, at
    end = at + length
    if length > STRING_BYTES_MAX or end > len(view):
        raise Malformed(f"a string of {length} bytes")
    # As Kafka: bytes that are not UTF-8 become U+FFFD, and the name is then refused as a name.
    text = str(view[at:end], "utf-8", "replace")
    # That is three bytes for one, so an answer might have no room for the name.
    if length * 3 > STRING_BYTES_MAX and len(text.encode()) > STRING_BYTES_MAX:
        raise Malformed(f"a string of {length} bytes that are not UTF-8")
    return text, end


def skip_tags(view: memoryview, at: int, count: int) -> int:
    """Past tagged fields of which none is known here (KIP-482); their count was read already."""
    if count > 127:
        count, at = long_uvarint(view, at, count)
        if count > TAGS_MAX:
            many_tags()
    for _ in range(count):
        _, at = read_uvarint(view, at)
        at = skip_tag(view, at)
    return at


def skip_tag(view: memoryview, at: int) -> int:
    size, at = read_uvarint(view, at)
    at += size
    if size < 0 or at > len(view):
        raise Malformed(f"a tagged field of {size} bytes")
    return at


def bad_null(name: str) -> NoReturn:
    raise Malformed(f"{name} is null")


def bad_count(name: str, count: int) -> NoReturn:
    raise Malformed(f"{name} claims {count} elements or bytes")


def many_tags() -> NoReturn:
    raise Malformed(f"more than {TAGS_MAX} tagged fields")


def many_entries() -> NoReturn:
    raise Malformed(f"more than {REQUEST_ENTRIES_MAX} entries in one request")


def bad_tag(tag: int) -> NoReturn:
    raise Malformed(f"tag {tag} belongs to other versions")


def lacks(name: str, version: int) -> NoReturn:
    raise UnsupportedVersion(f"{name} cannot be said in version {version}")
