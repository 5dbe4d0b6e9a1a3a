"""A frame: four bytes of size, a header, a message. Finding it, reading its header, making one."""

import struct

import msgspec

from ottla.errors import Malformed
from ottla.limits import REQUEST_BYTES_MAX
from ottla.protocol import codecs
from ottla.protocol.apis import API
from ottla.protocol.facts import Part
from ottla.protocol.primitives import skip_tags

SIZE_BYTES = 4
FRAME_BYTES_MAX = 104_857_600
"""Kafka's `socket.request.max.bytes`."""

PRODUCE = 0

# From which version on the header is flexible, and how much a whole frame may hold.
_HEADERS = {
    key: (info.first_flexible, FRAME_BYTES_MAX if key == PRODUCE else REQUEST_BYTES_MAX)
    for key, info in API.items()
}
_unpack_size = struct.Struct(">i").unpack_from
_unpack_header = struct.Struct(">hhih").unpack_from
_pack_header = (struct.Struct(">ii").pack, struct.Struct(">iix").pack)
_HEADER_BYTES = 10
_RESPONSE_HEADER_BYTES = (4, 5)


class RequestHeader(msgspec.Struct, gc=False):
    """The header of a request, in either version, and where its body begins."""

    api_key: int
    api_version: int
    correlation_id: int
    client_id: str
    body_at: int


def frame_size(view: memoryview, at: int, frame_bytes_max: int = FRAME_BYTES_MAX) -> int:
    """What the four bytes at `at` announce. The caller has seen that they are there."""
    size: int = _unpack_size(view, at)[0]
    if size < 0 or size > frame_bytes_max:
        raise Malformed(f"a frame of {size} bytes, where {frame_bytes_max} are allowed")
    return size


def pure_parse_request_header(view: memoryview) -> RequestHeader:
    """Of a whole frame. Its version need not be one that we know: the header can be read all the
    same."""
    try:
        api_key, api_version, correlation_id, length = _unpack_header(view, 0)
        known = _HEADERS.get(api_key)
        if known is None:
            raise Malformed(f"API key {api_key}")
        first_flexible, bytes_max = known
        if len(view) > bytes_max:
            name = API[api_key].name
            raise Malformed(f"{name} of {len(view)} bytes, where {bytes_max} are allowed")
        at = _HEADER_BYTES
        client_id = ""
        if length > 0:
            at += length
            if at > len(view):
                raise Malformed(f"a client id of {length} bytes")
            client_id = str(view[_HEADER_BYTES:at], "utf-8", "replace")
        if api_version >= first_flexible:
            tags = view[at]
            at += 1
            if tags:
                at = skip_tags(view, at, tags)
    except (struct.error, IndexError):
        raise Malformed("a request header ends early") from None
    return RequestHeader(api_key, api_version, correlation_id, client_id, at)


parse_request_header = codecs.header_parser(RequestHeader, _HEADERS, pure_parse_request_header)


def encode_response(correlation_id: int, header_version: int, parts: list[Part]) -> list[Part]:
    """A whole frame. Its start is joined to the body's first bytes; records stay apart."""
    size = _RESPONSE_HEADER_BYTES[header_version]
    for part in parts:
        size += len(part)
    start = _pack_header[header_version](size, correlation_id)
    if parts and isinstance(parts[0], bytes):
        return [start + parts[0], *parts[1:]]
    return [start, *parts]
