"""Compressed batches: every codec whole and broken, what is kept, and bombs."""

import gzip
import struct

import cramjam
import lz4.frame
import zstandard

from tools.recorder_cases.batches import COMPRESS, GZIP, LZ4, SNAPPY, ZSTD, Batch, Record
from tools.recorder_cases.model import Call, Case, one_topic, over_topic
from tools.recorder_cases.produce import THREE, log_end, one

CODECS = {"gzip": GZIP, "snappy": SNAPPY, "lz4": LZ4, "zstd": ZSTD}
PLAIN = b"".join(record.encode(position) for position, record in enumerate(THREE))
MEBIBYTE = 1024 * 1024


def read_back(offset: int = 0, leave_out: tuple[str, ...] = ()) -> Call:
    """What the log keeps of it."""
    partition = {"partition": 0, "fetch_offset": offset, "partition_max_bytes": MEBIBYTE}
    topics = [{"topic": "@t", "partitions": [partition]}]
    body = {"max_wait_ms": 0, "min_bytes": 0, "max_bytes": MEBIBYTE, "topics": topics}
    return Call("fetch", 11, body, leave_out=leave_out)


def kept(name: str, batch: Batch, **configs: str) -> Case:
    # How small a broker compresses is its own affair.
    leave_out = ("length",) if "compression_type" in configs else ()
    return over_topic(f"kept: {name}", (one(batch), read_back(leave_out=leave_out)), configs)


def _payload(name: str, codec: int, payload: bytes, count: int = 3) -> Case:
    """The header says three records (or as many as told), whatever the payload holds."""
    batch = Batch(codec=codec, payload=payload, count=count, last_offset_delta=count - 1)
    return one_topic(f"compressed: {name}", one(batch), log_end())


def _raw_snappy(data: bytes) -> bytes:
    return bytes(cramjam.snappy.compress_raw(data))


def _lz4(data: bytes, **options: object) -> bytes:
    return bytes(lz4.frame.compress(data, **options))


def _zstd_without_size(data: bytes) -> bytes:
    return zstandard.ZstdCompressor(write_content_size=False).compress(data)


WHOLE = (
    *(one_topic(f"compressed: {name}", one(Batch(THREE, codec)), log_end())
      for name, codec in CODECS.items()),
    *(one_topic(f"compressed: {name} in produce v{v}", one(Batch(THREE, codec), version=v),
                log_end())
      for name, codec in CODECS.items() for v in (3, 6, 7)),
    _payload("snappy, a bare block as librdkafka sends it", SNAPPY, _raw_snappy(PLAIN)),
    _payload("snappy, two xerial blocks", SNAPPY, COMPRESS[SNAPPY](PLAIN[:20])
             + struct.pack(">i", len(_raw_snappy(PLAIN[20:]))) + _raw_snappy(PLAIN[20:])),
    _payload("lz4, linked blocks", LZ4, _lz4(PLAIN, block_linked=True)),
    _payload("lz4, content checksum", LZ4, _lz4(PLAIN, content_checksum=True, block_linked=False)),
    _payload("lz4, block checksums", LZ4, _lz4(PLAIN, block_checksum=True, block_linked=False)),
    _payload("lz4, without its size", LZ4, _lz4(PLAIN, store_size=False, block_linked=False)),
    _payload("lz4, two frames", LZ4, _lz4(PLAIN[:20], block_linked=False)
             + _lz4(PLAIN[20:], block_linked=False)),
    _payload("zstd, without its size", ZSTD, _zstd_without_size(PLAIN)),
    _payload("zstd, two frames", ZSTD, COMPRESS[ZSTD](PLAIN[:20]) + COMPRESS[ZSTD](PLAIN[20:])),
    _payload("zstd, a skippable frame first", ZSTD, b"\x50\x2a\x4d\x18\x02\0\0\0hi"
             + COMPRESS[ZSTD](PLAIN)),
    _payload("gzip, a byte of its checksum wrong", GZIP, COMPRESS[GZIP](PLAIN)[:-8] + b"\0" * 4
             + COMPRESS[GZIP](PLAIN)[-4:]),
    _payload("gzip, two members", GZIP, gzip.compress(PLAIN[:20]) + gzip.compress(PLAIN[20:])),
)  # fmt: skip

BROKEN = tuple(
    case
    for name, codec in CODECS.items()
    for case in (
        _payload(f"{name}, empty", codec, b""),
        _payload(f"{name}, not compressed at all", codec, PLAIN),
        _payload(f"{name}, cut in half", codec, COMPRESS[codec](PLAIN)[: len(PLAIN) // 2]),
        _payload(f"{name}, cut by one byte", codec, COMPRESS[codec](PLAIN)[:-1]),
        _payload(f"{name}, junk behind it", codec, COMPRESS[codec](PLAIN) + b"junk"),
        _payload(f"{name}, of nothing", codec, COMPRESS[codec](b"")),
        _payload(f"{name}, of half the records", codec, COMPRESS[codec](PLAIN[:30])),
    )
)

SNAPPY_LIES = (
    _payload("snappy, a block that claims 4 GiB", SNAPPY, b"\xff\xff\xff\xff\x0f" + b"\0" * 20),
    _payload("snappy, a block that claims 2 GiB", SNAPPY, b"\xff\xff\xff\xff\x07" + b"\0" * 20),
    _payload("snappy, a xerial block of length -1", SNAPPY,
             b"\x82SNAPPY\0" + struct.pack(">iii", 1, 1, -1)),
    _payload("snappy, a xerial block of 2 GiB", SNAPPY,
             b"\x82SNAPPY\0" + struct.pack(">iii", 1, 1, 2**31 - 1) + b"\0" * 20),
    _payload("snappy, a xerial header alone", SNAPPY, b"\x82SNAPPY\0" + struct.pack(">ii", 1, 1)),
    _payload("snappy, xerial version 99", SNAPPY, b"\x82SNAPPY\0" + struct.pack(">ii", 99, 99)
             + COMPRESS[SNAPPY](PLAIN)[16:]),
)  # fmt: skip


def _bomb(codec: int, mebibytes: int) -> Batch:
    return Batch((Record(b"\0" * (mebibytes * MEBIBYTE)),), codec)


# Kafka has no bound on what a batch may unfold to.
BOMBS = (
    *(one_topic(f"bomb: {name}, one record of 8 MiB", one(_bomb(codec, 8)), log_end())
      for name, codec in CODECS.items()),
    *(one_topic(f"bomb: {name}, one record of 64 MiB", one(_bomb(codec, 64)), log_end())
      for name, codec in CODECS.items() if name in ("gzip", "zstd")),
    one_topic("bomb: zstd, 1,000,000 records", one(Batch(
        codec=ZSTD, payload=COMPRESS[ZSTD](b"".join(
            Record(b"", None).encode(position) for position in range(1_000_000))),
        count=1_000_000, last_offset_delta=999_999)), log_end()),
)  # fmt: skip

HOUR_MS = 3_600_000

KEPT = (
    kept("a plain batch", Batch(THREE)),
    kept("leader epoch 99", Batch(leader_epoch=99)),
    kept("LogAppendTime bit", Batch(attributes=0x08)),
    kept("delete horizon bit", Batch(attributes=0x40)),
    kept("unused bits", Batch(attributes=0x7F80)),
    kept("offset delta wrong", Batch((Record(), Record(offset_delta=5)))),
    kept("header's largest timestamp too large", Batch(THREE, largest=HOUR_MS)),
    kept("header's largest timestamp -1", Batch(THREE, largest=-1)),
    kept("timestamps that fall", Batch((Record(timestamp_delta=9), Record()))),
    kept("timestamp -1", Batch(first=-1)),
    kept("timestamp -2", Batch(first=-2)),
    kept("timestamp -2, compressed", Batch(THREE, GZIP, first=-2)),
    kept("header's largest timestamp too large, compressed", Batch(THREE, GZIP, largest=HOUR_MS)),
    kept("LogAppendTime bit, compressed", Batch(THREE, GZIP, attributes=0x08)),
    kept("unused bits, compressed", Batch(THREE, GZIP, attributes=0x7F80)),
    kept("on a LogAppendTime topic", Batch(THREE, first=5),
         message_timestamp_type="LogAppendTime"),
    kept("compressed, on a LogAppendTime topic", Batch(THREE, ZSTD, first=5),
         message_timestamp_type="LogAppendTime"),
    *(kept(f"plain, on a {name} topic", Batch(THREE), compression_type=name) for name in CODECS),
    *(kept(f"{name}, on a {name} topic", Batch(THREE, codec), compression_type=name)
      for name, codec in CODECS.items()),
    kept("gzip, on an uncompressed topic", Batch(THREE, GZIP), compression_type="uncompressed"),
    kept("gzip, on a producer topic", Batch(THREE, GZIP), compression_type="producer"),
    kept("wrong deltas, on a gzip topic", Batch((Record(), Record(offset_delta=5))),
         compression_type="gzip"),
    kept("unused bits, on a gzip topic", Batch(THREE, attributes=0x7F80), compression_type="gzip"),
    kept("plain, on a gzip and LogAppendTime topic", Batch(THREE), compression_type="gzip",
         message_timestamp_type="LogAppendTime"),
)  # fmt: skip

CASES = (*WHOLE, *BROKEN, *SNAPPY_LIES, *KEPT, *BOMBS)
