"""The five codecs of record batches, and decompression that cannot be made to fill memory.

What is accepted is what Apache Kafka's consumers can read back: independent LZ4 blocks in one
frame, joined gzip members and zstd frames, Snappy in the chunks that Java's library writes or as
the one bare block that librdkafka sends.
"""

import zlib
from collections.abc import Callable
from enum import IntEnum

import cramjam
import lz4.frame
import zstandard

from ottla.records.batch import Buffer, CorruptBatch


class Codec(IntEnum):
    """As the attributes of a batch number them."""

    NONE = 0
    GZIP = 1
    SNAPPY = 2
    LZ4 = 3
    ZSTD = 4


class TooLarge(Exception):
    """Decompressed, these bytes would pass the cap that the caller set."""


# One block of a zstd frame takes four bytes at least and holds 128 KiB at most.
ZSTD_GROWTH_MAX = 128 * 1024 // 4
ZSTD_PIECE_BYTES_MIN = 64
ZSTD_LEVEL = 3

XERIAL_HEADER = b"\x82SNAPPY\x00\x00\x00\x00\x01\x00\x00\x00\x01"
XERIAL_MAGIC = XERIAL_HEADER[:8]
XERIAL_CHUNK_BYTES = 32 * 1024

LZ4_MAGIC = b"\x04\x22\x4d\x18"
LZ4_INDEPENDENT_BLOCKS = 0x20
LZ4_DICTIONARY = 0x01

# Idle decompressors: to make one costs ten times as much as to use one on a small batch.
_idle_zstd: list[zstandard.ZstdDecompressor] = []


def compress(codec: int, data: Buffer, level: int | None = None) -> bytes:
    """With the codec's own default level where none is given."""
    if codec == Codec.GZIP:
        gzip = zlib.compressobj(zlib.Z_DEFAULT_COMPRESSION if level is None else level, wbits=31)
        return gzip.compress(data) + gzip.flush()
    if codec == Codec.SNAPPY:
        return _compress_snappy(memoryview(data))
    if codec == Codec.LZ4:
        # As Java's writer does it: its reader refuses blocks that are linked.
        frame: bytes = lz4.frame.compress(
            data,
            compression_level=level or 0,
            block_size=lz4.frame.BLOCKSIZE_MAX64KB,
            block_linked=False,
            store_size=False,
        )
        return frame
    if codec == Codec.ZSTD:
        return zstandard.ZstdCompressor(level=ZSTD_LEVEL if level is None else level).compress(data)
    assert codec == Codec.NONE, codec
    return bytes(data)


def decompress(codec: int, data: Buffer, bytes_max: int) -> bytes:
    """At most `bytes_max` bytes, else TooLarge; memory stays within a small multiple of that."""
    if codec == Codec.NONE:
        if len(data) > bytes_max:
            raise TooLarge(f"{len(data)} bytes")
        return bytes(data)
    decompressor = _DECOMPRESSORS.get(codec)
    if decompressor is None:
        raise CorruptBatch(f"codec {codec} is unknown")
    return decompressor(memoryview(data), bytes_max)


def _decompress_gzip(data: memoryview, bytes_max: int) -> bytes:
    parts = []
    left = bytes_max
    rest: Buffer = data
    while True:
        member = zlib.decompressobj(wbits=31)
        try:
            part = member.decompress(rest, left + 1)
        except zlib.error as error:
            raise CorruptBatch(f"gzip: {error}") from error
        left -= len(part)
        if left < 0:
            raise TooLarge("gzip")
        parts.append(part)
        if not member.eof:
            raise CorruptBatch("gzip: cut short")
        rest = member.unused_data
        # Behind the last member Java ignores what is not another.
        if rest[:2] != b"\x1f\x8b":
            return parts[0] if len(parts) == 1 else b"".join(parts)


def _decompress_lz4(data: memoryview, bytes_max: int) -> bytes:
    """One frame: what follows it no Kafka client reads."""
    if len(data) < 7 or data[:4] != LZ4_MAGIC:
        raise CorruptBatch("lz4: no frame")
    flags = data[4]
    if not flags & LZ4_INDEPENDENT_BLOCKS or flags & LZ4_DICTIONARY:
        raise CorruptBatch("lz4: blocks must not depend on others")
    frame = lz4.frame.LZ4FrameDecompressor()
    try:
        out: bytes = frame.decompress(data, max_length=bytes_max + 1)
    except (RuntimeError, ValueError) as error:
        raise CorruptBatch(f"lz4: {error}") from error
    if len(out) > bytes_max:
        raise TooLarge("lz4")
    if not frame.eof:
        raise CorruptBatch("lz4: cut short")
    return out


def _decompress_zstd(data: memoryview, bytes_max: int) -> bytes:
    decompressor = _idle_zstd.pop() if _idle_zstd else zstandard.ZstdDecompressor()
    try:
        out = _read_zstd_frames(decompressor, data, bytes_max)
    except zstandard.ZstdError as error:
        raise CorruptBatch(f"zstd: {error}") from error
    _idle_zstd.append(decompressor)
    return out


def _read_zstd_frames(
    decompressor: zstandard.ZstdDecompressor, data: memoryview, bytes_max: int
) -> bytes:
    parts = []
    left = bytes_max
    at = 0
    while at < len(data):
        frame = decompressor.decompressobj()
        while not frame.eof:
            if at >= len(data):
                raise CorruptBatch("zstd: cut short")
            # The library has no output limit here, so it is fed what can grow to little more.
            piece = data[at : at + max(left // ZSTD_GROWTH_MAX, ZSTD_PIECE_BYTES_MIN)]
            part = frame.decompress(piece)
            at += len(piece)
            left -= len(part)
            if left < 0:
                raise TooLarge("zstd")
            parts.append(part)
        at -= len(frame.unused_data)
    return parts[0] if len(parts) == 1 else b"".join(parts)


def _compress_snappy(data: memoryview) -> bytes:
    parts = [XERIAL_HEADER]
    for at in range(0, len(data), XERIAL_CHUNK_BYTES):
        chunk = bytes(cramjam.snappy.compress_raw(data[at : at + XERIAL_CHUNK_BYTES]))
        parts += (len(chunk).to_bytes(4, "big"), chunk)
    return b"".join(parts)


def _decompress_snappy(data: memoryview, bytes_max: int) -> bytes:
    if data[:8] != XERIAL_MAGIC:
        return _decompress_snappy_block(data, bytes_max)
    parts = []
    left = bytes_max
    at = 0
    # Fewer bytes than a size are the end, as they are to Java's library.
    while len(data) - at >= 4:
        if data[at : at + 8] == XERIAL_MAGIC:
            at += len(XERIAL_HEADER)
            continue
        size = int.from_bytes(data[at : at + 4], "big")
        at += 4
        if len(data) - at < size:
            raise CorruptBatch("snappy: cut short")
        part = _decompress_snappy_block(data[at : at + size], left)
        at += size
        left -= len(part)
        parts.append(part)
    return b"".join(parts)


def _decompress_snappy_block(block: memoryview, bytes_max: int) -> bytes:
    try:
        # The length stands first, and the library allocates it before it looks further.
        if cramjam.snappy.decompress_raw_len(block) > bytes_max:
            raise TooLarge("snappy")
        return bytes(cramjam.snappy.decompress_raw(block))
    except cramjam.DecompressionError as error:
        raise CorruptBatch(f"snappy: {error}") from error


_DECOMPRESSORS: dict[int, Callable[[memoryview, int], bytes]] = {
    Codec.GZIP: _decompress_gzip,
    Codec.SNAPPY: _decompress_snappy,
    Codec.LZ4: _decompress_lz4,
    Codec.ZSTD: _decompress_zstd,
}
