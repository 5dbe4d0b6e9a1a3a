"""Record batches and old message sets to send, right or wrong in any field; and how to read them.

This is a second writer beside `ottla.records` on purpose: what it writes went to Kafka, and what
Kafka said of it is kept, so that no mistake of ours can stand on both sides.
"""

import gzip
import struct
import zlib
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import cramjam
import crc32c
import lz4.block
import lz4.frame
import zstandard

from tools.recorder_cases.model import Now, Saved

HEADER = struct.Struct(">qiibIhiqqqhii")
NONE, GZIP, SNAPPY, LZ4, ZSTD = range(5)


def _xerial(data: bytes) -> bytes:
    block = bytes(cramjam.snappy.compress_raw(data))
    return b"\x82SNAPPY\0" + struct.pack(">iii", 1, 1, len(block)) + block


COMPRESS: dict[int, Callable[[bytes], bytes]] = {
    NONE: lambda data: data,
    GZIP: lambda data: gzip.compress(data, mtime=0),
    SNAPPY: _xerial,
    LZ4: lambda data: bytes(lz4.frame.compress(data, block_linked=False)),
    ZSTD: lambda data: zstandard.ZstdCompressor().compress(data),
}


def varint(value: int) -> bytes:
    zigzag = (value << 1) ^ (value >> 63)
    zigzag &= (1 << 64) - 1
    out = bytearray()
    while zigzag >= 0x80:
        out.append(zigzag & 0x7F | 0x80)
        zigzag >>= 7
    out.append(zigzag)
    return bytes(out)


@dataclass(frozen=True, slots=True)
class Record:
    value: bytes | None = b"value"
    key: bytes | None = b"key"
    timestamp_delta: int = 0
    offset_delta: int | None = None
    headers: tuple[tuple[bytes, bytes | None], ...] = ()
    raw: bytes | None = None

    def encode(self, position: int) -> bytes:
        if self.raw is not None:
            return self.raw
        delta = position if self.offset_delta is None else self.offset_delta
        body = b"\0" + varint(self.timestamp_delta) + varint(delta)
        body += _bytes(self.key) + _bytes(self.value) + varint(len(self.headers))
        for name, value in self.headers:
            body += _bytes(name) + _bytes(value)
        return varint(len(body)) + body


def _bytes(data: bytes | None) -> bytes:
    return varint(-1) if data is None else varint(len(data)) + data


@dataclass(frozen=True, slots=True)
class Batch:
    """A record batch; every field that is not given is as a right producer sets it."""

    records: tuple[Record, ...] = (Record(),)
    codec: int = NONE
    base_offset: int = 0
    leader_epoch: int = -1
    magic: int = 2
    attributes: int = 0
    first: Now | int = field(default_factory=Now)
    largest: Now | int | None = None
    producer_id: Saved | int = -1
    producer_epoch: Saved | int = -1
    base_sequence: int = -1
    last_offset_delta: int | None = None
    count: int | None = None
    length: int | None = None
    longer: int = 0
    """By how much the length is off."""
    crc: int | None = None
    payload: bytes | None = None
    """Stands in the place of the compressed records."""

    def encode(self, resolve: Callable[[Any], Any]) -> bytes:
        payload = self.payload
        if payload is None:
            plain = b"".join(record.encode(i) for i, record in enumerate(self.records))
            payload = COMPRESS[self.codec & 7 if self.codec & 7 in COMPRESS else NONE](plain)
        first: int = resolve(self.first)
        deltas = [record.timestamp_delta for record in self.records]
        largest = first + max(deltas, default=0) if self.largest is None else resolve(self.largest)
        count = len(self.records)
        after_crc = struct.pack(
            ">hiqqqhii",
            self.attributes | self.codec,
            count - 1 if self.last_offset_delta is None else self.last_offset_delta,
            first,
            largest,
            resolve(self.producer_id),
            resolve(self.producer_epoch),
            self.base_sequence,
            count if self.count is None else self.count,
        )
        after_crc += payload
        crc = crc32c.crc32c(after_crc) if self.crc is None else self.crc
        length = 9 + len(after_crc) + self.longer if self.length is None else self.length
        head = struct.pack(">qiibI", self.base_offset, length, self.leader_epoch, self.magic, crc)
        return head + after_crc


@dataclass(frozen=True, slots=True)
class Joined:
    """Several batches, message sets or bare bytes, one after the other."""

    parts: tuple["Batch | bytes", ...]

    def encode(self, resolve: Callable[[Any], Any]) -> bytes:
        return b"".join(p if isinstance(p, bytes) else p.encode(resolve) for p in self.parts)


def message_set(magic: int, *values: bytes) -> bytes:
    """The format before batches: each message with an offset, a size and a CRC-32 of its own."""
    out = b""
    for offset, value in enumerate(values):
        body = struct.pack(">bb", magic, 0) + (struct.pack(">q", 1) if magic == 1 else b"")
        body += struct.pack(">i", -1) + struct.pack(">i", len(value)) + value
        body = struct.pack(">I", zlib.crc32(body)) + body
        out += struct.pack(">qi", offset, len(body)) + body
    return out


def lz4_block(data: bytes) -> bytes:
    return bytes(lz4.block.compress(data, store_size=False))


def read(data: bytes) -> list[Any]:
    """The batches of a fetch answer by their headers; a cut tail is told as such."""
    batches: list[Any] = []
    position = 0
    while position + HEADER.size <= len(data):
        fields = HEADER.unpack_from(data, position)
        end = position + 12 + fields[1]
        if end > len(data):
            break
        names = "base_offset length leader_epoch magic crc attributes last_offset_delta"
        names += " first_timestamp max_timestamp producer_id producer_epoch base_sequence count"
        batch = dict(zip(names.split(), fields, strict=True))
        batch["crc"] = crc32c.crc32c(data[position + 21 : end]) == batch["crc"]
        batches.append(batch)
        position = end
    if position < len(data):
        batches.append("cut")
    return batches
