"""Messages of every kind with seeded random contents, to compare two codecs with."""

import random
from collections.abc import Iterator
from typing import Any

import msgspec

from ottla.protocol.facts import version_range
from ottla.protocol.shape import FieldShape, WireType, fields_at, message_facts
from tools.kafka_schema_check import messages_of, read_table

Message = type[msgspec.Struct]

BITS = {"int8": 8, "int16": 16, "int32": 32, "int64": 64, "uint16": 16, "uint32": 32}
LETTERS = "abcXYZ019.-_ äß€中😀"


def every_message() -> Iterator[tuple[str, Message]]:
    for module, structs in read_table().items():
        for message in messages_of(structs).values():
            yield module, message


def every_version() -> Iterator[tuple[str, Message, int]]:
    for module, message in every_message():
        for version in version_range(message_facts(message).versions):
            yield module, message, version


def random_message(
    message: Message, version: int, source: random.Random, longest: int = 3
) -> msgspec.Struct:
    """One that this version can say, with at most `longest` elements in each list."""
    flexible = version in version_range(message_facts(message).flexible)
    return _struct(message, version, flexible, source, longest)


def _struct(
    cls: Message, version: int, flexible: bool, source: random.Random, longest: int
) -> msgspec.Struct:
    values = {}
    for field in fields_at(cls, version, flexible):
        left_out = field.tag is not None and source.random() < 0.5
        if field.present and not left_out:
            values[field.name] = _value(field, field.type, version, flexible, source, longest)
    return cls(**values)


def _value(
    field: FieldShape,
    wire: WireType,
    version: int,
    flexible: bool,
    source: random.Random,
    longest: int,
) -> Any:
    if field.nullable and wire is field.type and source.random() < 0.25:
        return None
    if wire.struct is not None:
        return _struct(wire.struct, version, flexible, source, longest)
    if wire.element is not None:
        count = source.randint(0, longest)
        return [
            _value(field, wire.element, version, flexible, source, longest) for _ in range(count)
        ]
    return random_scalar(wire.name, source)


def random_scalar(name: str, source: random.Random) -> Any:
    if name in BITS:
        bits = source.randint(1, BITS[name])
        value = source.getrandbits(bits)
        return value if name[0] == "u" else value - (1 << (bits - 1))
    if name == "bool":
        return source.random() < 0.5
    if name == "float64":
        return source.uniform(-1e9, 1e9)
    if name == "uuid":
        return source.randbytes(16)
    long = source.random() < 0.05
    size = source.randint(100, 400) if long else source.randint(0, 12)
    if name == "string":
        return "".join(source.choices(LETTERS, k=size))
    return source.randbytes(size)


def mutated(data: bytes, source: random.Random) -> bytes:
    """The bytes with one to three faults that aim at lengths, counts and ends."""
    changed = bytearray(data)
    for _ in range(source.choice((1, 1, 1, 2, 3))):
        at = source.randrange(len(changed)) if changed else 0
        fault = source.randrange(6)
        if fault in (0, 1) and changed:
            changed[at] = source.choice((0, 1, 2, 127, 128, 255, source.randrange(256)))
        elif fault == 2:
            del changed[at:]
        elif fault == 3:
            changed[at:at] = source.randbytes(source.randint(1, 5))
        elif fault == 4:
            changed[at : at + 5] = b"\xff\xff\xff\xff" + source.choice((b"\x07", b"\x0f", b"\xff"))
        else:
            del changed[at : at + source.randint(1, 4)]
    return bytes(changed)
