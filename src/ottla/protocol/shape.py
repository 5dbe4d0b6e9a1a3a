"""One message in one version: what is on the wire, in order, read from the table's annotations."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from typing import Any, get_args, get_origin

import msgspec

from ottla.protocol.facts import Message, Wire, version_range

FIXED_FORMATS = {
    "bool": "?",
    "int8": "b",
    "int16": "h",
    "int32": "i",
    "int64": "q",
    "uint16": "H",
    "uint32": "I",
    "float64": "d",
    "uuid": "16s",
}
FIXED_SIZES = {
    "bool": 1,
    "int8": 1,
    "int16": 2,
    "int32": 4,
    "int64": 8,
    "uint16": 2,
    "uint32": 4,
    "float64": 8,
    "uuid": 16,
}


@dataclass(frozen=True, slots=True)
class WireType:
    """A field's type: Kafka's name for it, `struct`, or `array` of an element type."""

    name: str
    struct: type[msgspec.Struct] | None = None
    element: "WireType | None" = None


@dataclass(frozen=True, slots=True)
class FieldFacts:
    """A field of the table, for all versions."""

    name: str
    type: WireType
    wire: Wire
    default: Any
    """A value, or the struct or list class that makes one."""

    @property
    def optional(self) -> bool:
        return self.wire.nullable != "none"


@dataclass(frozen=True, slots=True)
class FieldShape:
    """A field in one version."""

    name: str
    type: WireType
    present: bool
    nullable: bool
    optional: bool
    """Nullable in some version, so that the value may be None even where this one forbids it."""
    flexible: bool
    tag: int | None
    barred_tag: int | None
    """A tag of other versions: Kafka does not skip it as unknown, it refuses the message."""
    ignorable: bool
    default: Any


def wire_type(hint: Any) -> WireType:
    metadata = getattr(hint, "__metadata__", ())
    if metadata and isinstance(metadata[0], str):
        return WireType(metadata[0])
    if metadata:
        return wire_type(hint.__origin__)
    args = get_args(hint)
    if get_origin(hint) is list:
        return WireType("array", element=wire_type(args[0]))
    if args:
        return wire_type(args[0])
    assert issubclass(hint, msgspec.Struct)
    return WireType("struct", struct=hint)


@cache
def field_facts(struct: type[msgspec.Struct]) -> tuple[FieldFacts, ...]:
    return tuple(
        FieldFacts(
            name=field.name,
            type=wire_type(field.type),
            wire=next(each for each in field.type.__metadata__ if isinstance(each, Wire)),
            default=field.default_factory if field.default is msgspec.NODEFAULT else field.default,
        )
        for field in msgspec.structs.fields(struct)
    )


def fields_at(struct: type[msgspec.Struct], version: int, flexible: bool) -> Iterator[FieldShape]:
    for facts in field_facts(struct):
        wire = facts.wire
        tagged = wire.tag is not None and version in version_range(wire.tagged or wire.versions)
        yield FieldShape(
            name=facts.name,
            type=facts.type,
            present=version in version_range(wire.versions),
            nullable=version in version_range(wire.nullable),
            optional=facts.optional,
            flexible=version in version_range(wire.flexible) if wire.flexible else flexible,
            tag=wire.tag if tagged else None,
            barred_tag=None if tagged else wire.tag,
            ignorable=wire.ignorable,
            default=facts.default,
        )


def message_facts(message: type[msgspec.Struct]) -> Message:
    facts: Message = vars(message)["WIRE"]
    return facts


def least_size(wire: WireType, nullable: bool, version: int, flexible: bool) -> int:
    """The fewest bytes that a value can take: what bounds the count that a frame may claim."""
    if wire.name in FIXED_SIZES:
        return FIXED_SIZES[wire.name]
    if wire.struct is None:
        return 1 if flexible else 2 if wire.name == "string" else 4
    if nullable:
        return 1
    return flexible + sum(
        least_size(field.type, field.nullable, version, field.flexible)
        for field in fields_at(wire.struct, version, flexible)
        if field.present and field.tag is None
    )
