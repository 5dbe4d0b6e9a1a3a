"""Batches to test with: sound ones from a seed, and the ways in which they can be wrong."""

import random
import struct

from ottla.records.batch import Record, seal
from ottla.records.compress import Codec, compress, decompress
from ottla.records.record import encode_batch

WALL_MS = 1_700_000_000_000
HEADER_BYTES = 61
# Every field of the header: where it stands, and its format.
FIELDS = {
    "base_offset": (0, "q"),
    "batch_length": (8, "i"),
    "leader_epoch": (12, "i"),
    "magic": (16, "b"),
    "attributes": (21, "h"),
    "last_offset_delta": (23, "i"),
    "base_timestamp": (27, "q"),
    "max_timestamp": (35, "q"),
    "producer_id": (43, "q"),
    "producer_epoch": (51, "h"),
    "base_sequence": (53, "i"),
    "record_count": (57, "i"),
}
BITS = {"q": 64, "i": 32, "h": 16, "b": 8}


def record(
    key: bytes | None = b"k",
    value: bytes | None = b"v",
    timestamp_ms: int = WALL_MS,
    headers: tuple[tuple[str, bytes | None], ...] = (),
) -> Record:
    return Record(0, timestamp_ms, key, value, headers)


def resealed(batch: bytes | bytearray) -> bytes:
    """With the CRC that its bytes have now, if there is room for one."""
    copy = bytearray(batch)
    if len(copy) >= HEADER_BYTES:
        seal(copy)
    return bytes(copy)


def patched(batch: bytes | bytearray, **fields: int) -> bytes:
    """With other numbers in the header, and the CRC put right."""
    copy = bytearray(batch)
    for name, value in fields.items():
        at, form = FIELDS[name]
        struct.pack_into(f">{form}", copy, at, value)
    return resealed(copy)


def with_payload(batch: bytes, payload: bytes) -> bytes:
    """With other bytes behind the header, and length and CRC put right."""
    return patched(batch[:HEADER_BYTES] + payload, batch_length=len(payload) + HEADER_BYTES - 12)


def random_records(source: random.Random) -> list[Record]:
    base_ms = WALL_MS - source.choice((0, 1000, 10**7))
    return [
        Record(
            0,
            base_ms + source.randrange(-5000, 5000) if source.random() < 0.9 else -1,
            source.choice((None, b"", b"k", b"key%d" % index)),
            source.choice((None, b"", b"v" * source.randrange(60))),
            tuple(
                (source.choice(("", "h", "é")), source.choice((None, b"", b"x")))
                for _ in range(source.choice((0, 0, 0, 1, 3)))
            ),
        )
        for index in range(source.choice((1, 1, 2, 3, 8)))
    ]


def random_batch(source: random.Random, codec: int) -> bytes:
    producer_id = source.choice((-1, -1, 5))
    return encode_batch(
        random_records(source),
        codec=codec,
        producer_id=producer_id,
        producer_epoch=0 if producer_id > 0 else -1,
        base_sequence=source.choice((0, 7, 2**31 - 1)) if producer_id > 0 else -1,
        transactional=producer_id > 0 and source.random() < 0.4,
    )


def random_number(source: random.Random, old: int, bits: int) -> int:
    high = 1 << (bits - 1)
    near = (0, 1, -1, 2, 3, old + 1, old - 1, old ^ (1 << source.randrange(bits - 1)))
    new = source.choice((*near, high - 1, -high, 14, 15, 26, 48, 49, 50))
    return max(-high, min(high - 1, new))


def header_mutated(source: random.Random, batch: bytes) -> bytes:
    name = source.choice(list(FIELDS))
    at, form = FIELDS[name]
    (old,) = struct.unpack_from(f">{form}", batch, at)
    return patched(batch, **{name: random_number(source, old, BITS[form])})


def payload_mutated(source: random.Random, batch: bytes, codec: int) -> bytes:
    payload = bytearray(decompress(codec, batch[HEADER_BYTES:], 1 << 20))
    kind = source.randrange(5)
    if kind == 0:
        payload = payload[: source.randrange(len(payload) + 1)]
    elif kind == 2:
        at = source.choice((0, 0, source.randrange(len(payload))))
        payload[at:at] = b"\xff" * source.choice((1, 4, 5, 10))
    elif kind == 1:
        payload += bytes(source.randrange(1, 5))
    else:
        for _ in range(source.choice((1, 1, 2))):
            payload[source.randrange(len(payload))] = source.choice((0, 1, 2, 127, 128, 255))
    return with_payload(batch, compress(codec, bytes(payload)))


def bytes_mutated(source: random.Random, batch: bytes) -> bytes:
    """The CRC right or wrong, the length right or wrong."""
    copy = bytearray(batch)
    kind = source.randrange(4)
    if kind == 0:
        return batch[: source.randrange(len(batch))]
    if kind == 1:
        return batch + bytes(copy[: source.randrange(len(copy) + 1)])
    copy[source.randrange(len(copy))] ^= 1 << source.randrange(8)
    if kind == 2:
        return bytes(copy)
    return resealed(copy)


def mutated(source: random.Random, codec: int = Codec.NONE) -> bytes:
    batch = random_batch(source, codec)
    kind = source.random()
    if kind < 0.1:
        return batch
    if kind < 0.45:
        return header_mutated(source, batch)
    if kind < 0.75:
        return payload_mutated(source, batch, codec)
    return bytes_mutated(source, batch)
