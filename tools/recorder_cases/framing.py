"""Frames, headers and encodings that no right client sends."""

import struct

from tools.recorder_cases.model import Call, Case, Raw

FRAME_BYTES_MAX = 100 * 1024 * 1024
METADATA_KEY = 3


def frame(payload: bytes) -> bytes:
    return struct.pack(">i", len(payload)) + payload


def header(key: int, version: int, client: bytes = b"\xff\xff") -> bytes:
    return struct.pack(">hhi", key, version, 7) + client


def _raw(name: str, stream: bytes, half_close: bool = False) -> Case:
    return Case(f"frame: {name}", (Raw(stream, half_close=half_close),))


def _metadata(name: str, version: int, body: bytes, *, all_topics: bool = False) -> Case:
    """Metadata is the canvas: any version of it, and nothing that it could break."""
    return Case(f"encoding: {name}", (Call("metadata", version, body, only_ours=all_topics),))


FRAMES = (
    _raw("size -1", struct.pack(">i", -1)),
    _raw("size -2147483648", struct.pack(">i", -(2**31))),
    _raw("size one over the largest", struct.pack(">i", FRAME_BYTES_MAX + 1)),
    _raw("size 2147483647", struct.pack(">i", 2**31 - 1)),
    _raw("size at the largest, ten bytes of it", struct.pack(">i", FRAME_BYTES_MAX) + b"\0" * 10),
    _raw("two bytes of a size", b"\0\0"),
    _raw("two bytes of a size, then the end", b"\0\0", half_close=True),
    _raw("half a frame, then the end", frame(header(18, 0))[:8], half_close=True),
    _raw("size 0", frame(b"")),
    _raw("one byte", frame(b"\0")),
    _raw("header cut in the version", frame(b"\0\x03\0")),
    _raw("header cut in the correlation id", frame(b"\0\x03\0\x01\0\0")),
    _raw("header without a client id", frame(header(METADATA_KEY, 1, b""))),
    _raw("client id longer than the frame", frame(header(METADATA_KEY, 1, b"\0\x10abc"))),
    _raw("client id of length -2", frame(header(METADATA_KEY, 1, b"\xff\xfe"))),
    _raw("client id that is not UTF-8", frame(header(18, 0, b"\0\x02\xff\xfe"))),
    _raw("flexible header without tags", frame(header(METADATA_KEY, 9))),
    _raw("flexible header, tag count beyond the frame", frame(header(METADATA_KEY, 9) + b"\x7f")),
    _raw(
        "flexible header, tag size beyond the frame",
        frame(header(METADATA_KEY, 9) + b"\x01\x05\x7f\x00"),
    ),
    _raw(
        "flexible header, tag count that never ends", frame(header(METADATA_KEY, 9) + b"\xff" * 12)
    ),
    _raw("random bytes", frame(bytes(range(200, 256)) * 4)),
    _raw("an HTTP request", b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n"),
    _raw("a TLS hello", bytes.fromhex("160301020001000 1fc0303".replace(" ", "")) + b"\0" * 64),
    *(_raw(f"unknown key {key}", frame(header(key, 0))) for key in (-1, 93, 999, 32767)),
    _raw("LeaderAndIsr, which 4.0 took away", frame(header(4, 4))),
    _raw("a controller's key, Vote", frame(header(52, 1) + b"\0")),
    _raw("produce v2, advertised but gone", frame(header(0, 2) + b"\0\1\0\0\0\0\0\0\0\0")),
    _raw("produce v14", frame(header(0, 14) + b"\0")),
    _raw("fetch v3", frame(header(1, 3) + b"\0" * 24)),
    _raw("fetch v19", frame(header(1, 19) + b"\0")),
    _raw("list offsets v0", frame(header(2, 0) + b"\0" * 8)),
    _raw("metadata v14", frame(header(3, 14) + b"\0")),
    _raw("metadata v-1", frame(header(3, -1) + b"\0")),
    _raw("create topics v1", frame(header(19, 1) + b"\0" * 9)),
    _raw("delete topics v0", frame(header(20, 0) + b"\0" * 8)),
    _raw("describe configs v0", frame(header(32, 0) + b"\0" * 4)),
    _raw("init producer id v6, not stable yet", frame(header(22, 6) + b"\0\0\0\0\0\0\0\0")),
    Case(
        "frame: header with a tag that nobody knows is answered",
        (Raw(frame(header(METADATA_KEY, 9) + b"\x01\x63\x02hi" + b"\x01\0\0\0\0")),),
    ),
    Case(
        "frame: a right request behind a wrong one is not answered",
        (Raw(frame(header(999, 0)) + frame(header(18, 0))),),
    ),
)

TOPIC = b"\0\x05no-it"
COMPACT_TOPIC = b"\x06no-it\0"
FLAGS_8 = b"\0\0\0"

ENCODINGS = (
    _metadata("bytes behind the end, v1", 1, b"\0\0\0\0junk"),
    _metadata("bytes behind the end, v9", 9, b"\x01\0\0\0\0junk"),
    _metadata("no body, v1", 1, b""),
    _metadata("no body, v9", 9, b""),
    _metadata("array count beyond the frame, v1", 1, b"\0\0\0\x05" + TOPIC),
    _metadata("array count 2147483647, v1", 1, struct.pack(">i", 2**31 - 1)),
    _metadata("array count -2, v1", 1, struct.pack(">i", -2), all_topics=True),
    _metadata("array count -1 where null is not allowed, v0", 0, struct.pack(">i", -1)),
    _metadata("compact array count beyond the frame, v9", 9, b"\x7f" + COMPACT_TOPIC + b"\0\0\0\0"),
    _metadata(
        "compact array count 4294967294, v9", 9, b"\xff\xff\xff\xff\x0f\0\0\0\0", all_topics=True
    ),
    _metadata("compact array count of six bytes, v9", 9, b"\xff\xff\xff\xff\xff\x01\0\0\0\0"),
    _metadata("string longer than the frame, v1", 1, b"\0\0\0\1\0\x7fno-it"),
    _metadata("string of length -2, v1", 1, b"\0\0\0\1\xff\xfe"),
    _metadata("null string where not allowed, v1", 1, b"\0\0\0\1\xff\xff"),
    _metadata("string that is not UTF-8, v4", 4, b"\0\0\0\1\0\x02\xff\xfe\0"),
    _metadata("compact string longer than the frame, v9", 9, b"\x02\x7fno-it\0\0\0\0\0"),
    _metadata("null compact string where not allowed, v9", 9, b"\x02\0\0\0\0\0\0"),
    _metadata("string length that never ends, v9", 9, b"\x02" + b"\xff" * 12),
    _metadata("bool of 2, v4", 4, b"\0\0\0\0\x02"),
    _metadata("cut in a bool, v8", 8, b"\0\0\0\0\0\0"),
    _metadata("body tags missing, v9", 9, b"\x01" + FLAGS_8),
    _metadata("an unknown tag, v9", 9, b"\x01" + FLAGS_8 + b"\x01\x63\x02hi"),
    _metadata("an unknown tag of no bytes, v9", 9, b"\x01" + FLAGS_8 + b"\x01\x63\x00"),
    _metadata("the same tag twice, v9", 9, b"\x01" + FLAGS_8 + b"\x02\x63\x01a\x63\x01b"),
    _metadata("tags out of order, v9", 9, b"\x01" + FLAGS_8 + b"\x02\x64\x01a\x63\x01b"),
    _metadata("tag size beyond the frame, v9", 9, b"\x01" + FLAGS_8 + b"\x01\x63\x7fhi"),
    _metadata("tag number that never ends, v9", 9, b"\x01" + FLAGS_8 + b"\x01" + b"\xff" * 12),
    _metadata(
        "a varint longer than it need be, v9",
        9,
        b"\x81\x80\x00" + FLAGS_8 + b"\0",
    ),
)


def _fetch_12(name: str, tags: bytes) -> Case:
    """Fetch v12 ends in tags of which it knows number 0, the cluster id."""
    body = struct.pack(">iiiibii", -1, 0, 0, 1024, 0, 0, -1) + b"\x01\x01\x01" + tags
    return Case(f"encoding: fetch v12, {name}", (Call("fetch", 12, body),))


KNOWN_TAGS = (
    _fetch_12("a known tag", b"\x01\0\x02\x02x"),
    _fetch_12("a known tag, null", b"\x01\0\x01\0"),
    _fetch_12("a known tag whose size is too large", b"\x01\0\x04\x02x\0\0"),
    _fetch_12("a known tag whose size is too small", b"\x01\0\x01\x02x"),
    _fetch_12("a known tag twice", b"\x02\0\x02\x02x\0\x02\x02y"),
)

CASES = (*FRAMES, *ENCODINGS, *KNOWN_TAGS)
