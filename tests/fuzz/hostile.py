"""Hostile requests: well-formed with absurd values, or bytes that were frames once.

Everything comes from one seeded source, so a block of inputs can be run again by its number.
"""

import random
import struct
from collections.abc import Sequence
from typing import Any

import msgspec

from ottla.api.table import SERVED
from ottla.protocol.apis import API, request_header_version, request_type
from ottla.protocol.compile import encode
from ottla.protocol.facts import version_range
from ottla.protocol.primitives import UnsupportedVersion
from ottla.protocol.schema.headers import RequestHeader
from ottla.protocol.shape import FieldShape, WireType, fields_at, message_facts
from ottla.records.compress import Codec
from tests.unit.records.batches import mutated, random_batch
from tools.kafka_schema_samples import BITS, random_scalar

ROUTES = [
    (key, version)
    for key, served in SERVED.items()
    for version in range(served.min_version, served.max_version + 1)
]
# Names that a broker knows, and those that it must not know or that name no topic.
GOOD_NAMES = ("orders", "orders", "small", "compact", "stamped")
BAD_NAMES = (
    *("nowhere", "a.b", "a_b", "", ".", "..", "a/b", "a\0b", "-", "x" * 249, "x" * 250),
    *("é", "\ufffd" * 10, "n" * 32_767, "__consumer_offsets", "__cluster_metadata"),
)
CONFIGS = (
    *("segment.bytes", "cleanup.policy", "compression.type", "max.message.bytes", "no.such.key"),
    *("min.insync.replicas", "message.timestamp.type", "", "retention.ms", "file.delete.delay.ms"),
)
CONFIG_VALUES = ("1", "0", "-1", "1048576", "compact", "delete", "gzip", "x", "", "9" * 40)
# By the field's name: what a sane client says, and what it does not.
NUMBERS: dict[str, tuple[Sequence[int], Sequence[int]]] = {
    "acks": ((-1, 0, 1), (2, -2)),
    "timeout_ms": ((0, 1, 1000, 30_000), (2**31 - 1, -1)),
    "max_wait_ms": ((0, 0, 1, 20, 500), (2**31 - 1, -1)),
    "min_bytes": ((0, 1, 1, 100), (2**31 - 1, -1)),
    "max_bytes": ((1, 1 << 20, 2**31 - 1), (0, -1)),
    "partition_max_bytes": ((1, 1 << 20, 2**31 - 1), (0, -1)),
    "index": ((0, 0, 1), (2, -1, 2**31 - 1)),
    "partition": ((0, 0, 1), (2, -1, 2**31 - 1)),
    "partition_index": ((0, 0, 1), (2, -1, 2**31 - 1)),
    "partitions": ((0, 1), (2, -1)),
    "fetch_offset": ((0, 0, 1, 2, 5), (100, -1, -2, 2**63 - 1, -(2**63))),
    "timestamp": ((-1, -2, -3, -4, 0, 1), (-5, -6, -7, 2**63 - 1, -(2**63))),
    "current_leader_epoch": ((-1, -1, 0), (1, -2, 2**31 - 1)),
    "last_fetched_epoch": ((-1, -1, 0), (1, 2**31 - 1)),
    "isolation_level": ((0, 0, 1), (2, -1)),
    "replica_id": ((-1,), (-2, 0, 1)),
    "session_epoch": ((-1, 0, 0, 1, 1, 2), (3, -2, 2**31 - 1)),
    "num_partitions": ((1, 2, -1), (0, -2, 10_001, 2**31 - 1)),
    "replication_factor": ((1, -1), (0, 2, -2, 32_767)),
    "broker_ids": ((1,), (2, -1)),
    "resource_type": ((2, 4), (0, 8, 16, 32, -1)),
    "key_type": ((0, 1), (2, 3, -1)),
    "producer_id": ((-1,), (0, 1, 5, 2**63 - 1)),
    "producer_epoch": ((-1,), (0, 32_767, -2)),
    "endpoint_type": ((1,), (2, 0, 3, -1)),
    "log_start_offset": ((-1,), (0, 2**63 - 1)),
}
CODECS = (*(Codec.NONE,) * 4, *Codec)
LIST_LENGTHS = (0, 1, 1, 1, 1, 2, 2, 3, 8)


class Pool:
    """What a client could have learnt from a broker, and how absurd it is of late."""

    def __init__(
        self, topic_ids: Sequence[bytes], session_ids: Sequence[int], absurdity: float
    ) -> None:
        self.topic_ids = topic_ids
        self.session_ids = session_ids
        # The first values of each list below are what a sane client says.
        self.absurdity = absurdity


def hostile_request(source: random.Random, pool: Pool) -> tuple[int, int, msgspec.Struct]:
    key, version = source.choice(ROUTES)
    message = request_type(key)
    flexible = version in version_range(message_facts(message).flexible)
    return key, version, _struct(message, version, flexible, source, pool)


def _struct(
    cls: type[msgspec.Struct], version: int, flexible: bool, source: random.Random, pool: Pool
) -> msgspec.Struct:
    values = {}
    for field in fields_at(cls, version, flexible):
        left_out = field.tag is not None and source.random() < 0.5
        if field.present and not left_out:
            values[field.name] = _value(field, field.type, version, flexible, source, pool)
    return cls(**values)


def _value(
    field: FieldShape,
    wire: WireType,
    version: int,
    flexible: bool,
    source: random.Random,
    pool: Pool,
) -> Any:
    if field.nullable and wire is field.type:
        # A sane client is in no transaction, and sends records.
        is_usual = field.name == "transactional_id"
        if field.name != "records" and source.random() < (1 - pool.absurdity if is_usual else 0.2):
            return None
        if field.name == "records" and source.random() < pool.absurdity / 4:
            return None
    if wire.struct is not None:
        return _struct(wire.struct, version, flexible, source, pool)
    if wire.element is not None:
        count = source.choice(LIST_LENGTHS)
        return [_value(field, wire.element, version, flexible, source, pool) for _ in range(count)]
    return _scalar(field.name, wire.name, source, pool)


def _scalar(name: str, kind: str, source: random.Random, pool: Pool) -> Any:
    is_absurd = source.random() < pool.absurdity
    if kind in BITS:
        return _number(name, kind, source, pool, is_absurd)
    if kind == "string":
        return _text(name, source, is_absurd)
    if kind == "uuid":
        if pool.topic_ids and not is_absurd:
            return source.choice(pool.topic_ids)
        return source.choice((bytes(16), b"\xff" * 16))
    if kind == "records":
        return hostile_batch(source) if is_absurd else random_batch(source, source.choice(CODECS))
    return random_scalar(kind, source)


def _number(name: str, kind: str, source: random.Random, pool: Pool, is_absurd: bool) -> int:
    if name == "session_id" and not is_absurd:
        return source.choice((0, *pool.session_ids))
    sane, absurd = NUMBERS.get(name, ((), ()))
    if sane and not is_absurd:
        return source.choice(sane)
    bits = BITS[kind]
    low, high = (0, (1 << bits) - 1) if kind[0] == "u" else (-(1 << bits - 1), (1 << bits - 1) - 1)
    if absurd and source.random() < 0.8:
        return max(low, min(high, source.choice(absurd)))
    return source.choice((0, 1, -1 if low else 2, low, high, source.randint(low, high)))


def _text(name: str, source: random.Random, is_absurd: bool) -> str:
    if name == "value":
        return source.choice(CONFIG_VALUES)
    if name == "configuration_keys" or (name == "name" and source.random() < 0.1):
        return source.choice(CONFIGS)
    if name == "transactional_id":
        return source.choice(("", "t", "t" * 300))
    if name == "resource_name" and not is_absurd:
        return source.choice((*GOOD_NAMES, "1", "1", ""))
    if name.startswith("client_software"):
        return source.choice(("", "-x", "a" * 32_767, "sp ace") if is_absurd else ("ottla", "1.0"))
    return source.choice(BAD_NAMES if is_absurd else GOOD_NAMES)


def hostile_batch(source: random.Random) -> bytes:
    codec = source.choice(CODECS)
    kind = source.random()
    if kind < 0.5:
        return random_batch(source, codec)
    if kind < 0.9:
        return mutated(source, codec)
    return source.choice((b"", b"\0", source.randbytes(61), random_batch(source, codec) * 2))


def frame_of(
    source: random.Random, key: int, version: int, correlation_id: int, message: msgspec.Struct
) -> bytes:
    """Empty where this version has no words for it."""
    client_id = source.choice(("fuzz", "fuzz", "", None, "c" * 32_000))
    header = RequestHeader(key, version, correlation_id, client_id)
    try:
        body = encode(message, version)
    except (UnsupportedVersion, ValueError, struct.error):
        return b""
    return encode(header, request_header_version(key, version)) + body


# Mutations of a frame

EXTREMES = (b"\0", b"\xff", b"\x7f\xff", b"\x80\0", b"\x7f\xff\xff\xff", b"\x80\0\0\0", b"\xff" * 8)


def mutated_frame(source: random.Random, frame: bytes, other: bytes) -> bytes:
    """The same frame, less a few of its virtues."""
    data = bytearray(frame)
    for _ in range(source.choice((1, 1, 1, 2, 4))):
        if not data:
            break
        source.choice(MUTATORS)(source, data, other)
    return bytes(data)


def _flip_bit(source: random.Random, data: bytearray, other: bytes) -> None:
    data[source.randrange(len(data))] ^= 1 << source.randrange(8)


def _set_byte(source: random.Random, data: bytearray, other: bytes) -> None:
    data[source.randrange(len(data))] = source.choice((0, 1, 2, 127, 128, 254, 255))


def _lie(source: random.Random, data: bytearray, other: bytes) -> None:
    """A count or a length, as like as not."""
    lie = source.choice(EXTREMES)
    at = source.randrange(len(data))
    data[at : at + len(lie)] = lie


def _cut(source: random.Random, data: bytearray, other: bytes) -> None:
    del data[source.randrange(len(data)) :]


def _remove(source: random.Random, data: bytearray, other: bytes) -> None:
    at = source.randrange(len(data))
    del data[at : at + source.choice((1, 2, 4, 20))]


def _repeat(source: random.Random, data: bytearray, other: bytes) -> None:
    at = source.randrange(len(data))
    data[at:at] = data[at : at + source.choice((1, 2, 4, 20, 200))]


def _splice(source: random.Random, data: bytearray, other: bytes) -> None:
    at = source.randrange(len(data))
    start = source.randrange(len(other) + 1)
    data[at:] = other[start:]


def _insert(source: random.Random, data: bytearray, other: bytes) -> None:
    at = source.randrange(len(data))
    data[at:at] = source.randbytes(source.choice((1, 2, 8, 64)))


def _retarget(source: random.Random, data: bytearray, other: bytes) -> None:
    """The same body as another API, or as another version."""
    key = source.choice((*SERVED, *API, -1, 32_767))
    version = source.choice((*range(20), -1, 32_767))
    data[:4] = key.to_bytes(2, "big", signed=True) + version.to_bytes(2, "big", signed=True)


MUTATORS = (
    *(_flip_bit, _set_byte, _lie, _lie, _cut, _remove, _repeat, _splice, _insert, _retarget),
)
