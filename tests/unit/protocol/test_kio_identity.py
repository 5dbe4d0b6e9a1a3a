"""`kio` read Kafka's definitions with other eyes: where both know a version, bytes are equal.

It decodes natively and allocates whatever a frame claims, so it is only ever given our own bytes.
"""

import dataclasses
import datetime
import io
import os
import random
import re
import uuid
from collections.abc import Iterator
from types import NoneType
from typing import Any, NamedTuple, get_args

import msgspec
import pytest
from kio.index import load_entity_module
from kio.schema.errors import ErrorCode
from kio.schema.index import schema_name_map
from kio.serial import entity_reader, entity_writer
from kio.static.constants import EntityType

from ottla.protocol.compile import decode, encode
from ottla.protocol.facts import version_range
from ottla.protocol.shape import FieldShape, WireType, fields_at, message_facts
from tools.kafka_schema_samples import Message, every_version, random_scalar

MESSAGES = 100 if "OTTLA_LONG" in os.environ else 3
EPOCH = datetime.datetime(1970, 1, 1, tzinfo=datetime.UTC)
ERRORS = list(ErrorCode)
TYPES: dict[str, Any] = {each.name: each for each in EntityType}


class Case(NamedTuple):
    module: str
    message: Message
    version: int

    def __str__(self) -> str:
        return f"{self.message.__name__}-{self.version}"


def known_to_both() -> Iterator[Case]:
    for module, message, version in every_version():
        name = module
        if message_facts(message).kind in ("header", "data"):
            name = re.sub(r"(?<!^)(?=[A-Z])", "_", message.__name__).lower()
        if version in schema_name_map.get(name, {}):
            yield Case(name, message, version)


CASES = list(known_to_both())


class Twins:
    """Makes structs in pairs: the same contents as we hold them and as kio does."""

    def __init__(self, version: int, flexible: bool, source: random.Random) -> None:
        self.version = version
        self.flexible = flexible
        self.source = source

    def structs(self, ours: Message, theirs: Any) -> tuple[msgspec.Struct, Any]:
        shapes = [each for each in fields_at(ours, self.version, self.flexible) if each.present]
        fields = dataclasses.fields(theirs)
        assert len(shapes) == len(fields), ours
        mine, other = {}, {}
        for shape, field in zip(shapes, fields, strict=True):
            defaulted = field.default is not dataclasses.MISSING
            if shape.tag is not None and defaulted and self.source.random() < 0.5:
                continue
            pair = self.values(shape, field) if not self._null(shape) else (None, None)
            mine[shape.name], other[field.name] = pair
        return ours(**mine), theirs(**other)

    def _null(self, shape: FieldShape) -> bool:
        return shape.nullable and self.source.random() < 0.3

    def values(self, shape: FieldShape, field: Any) -> tuple[Any, Any]:
        inner = [each for each in get_args(field.type) if each is not NoneType]
        if shape.type.element is None:
            return self.value(shape.type, inner[0] if inner else field.type, field)
        if inner[0] is not Ellipsis and get_args(inner[0]):
            inner = list(get_args(inner[0]))
        pairs = [
            self.value(shape.type.element, inner[0], field)
            for _ in range(self.source.randint(0, 3))
        ]
        return [mine for mine, _ in pairs], tuple(other for _, other in pairs)

    def value(self, wire: WireType, theirs: Any, field: Any) -> tuple[Any, Any]:
        if wire.struct is not None:
            return self.structs(wire.struct, theirs)
        kind = field.metadata["kafka_type"]
        if kind == "error_code":
            code = self.source.choice(ERRORS)
            return code.value, code
        if kind.startswith("timedelta"):
            milliseconds = self.source.randint(-(1 << 31), (1 << 31) - 1)
            return milliseconds, datetime.timedelta(milliseconds=milliseconds)
        if kind == "datetime_i64":
            milliseconds = self.source.randint(0, 1 << 42)
            return milliseconds, EPOCH + datetime.timedelta(milliseconds=milliseconds)
        assert kind == wire.name
        value = random_scalar(kind, self.source)
        return value, uuid.UUID(bytes=value) if kind == "uuid" else value


@pytest.mark.parametrize("case", CASES, ids=str)
def test_our_bytes_are_those_of_kio_and_read_back_to_what_was_said(case: Case) -> None:
    facts = message_facts(case.message)
    kind = TYPES[facts.kind]
    loaded = load_entity_module(case.module, case.version, kind)
    theirs = getattr(loaded, case.message.__name__)
    source = random.Random(f"{case}")
    twins = Twins(case.version, case.version in version_range(facts.flexible), source)
    for _ in range(MESSAGES):
        mine, other = twins.structs(case.message, theirs)
        with io.BytesIO() as written:
            entity_writer(theirs)(written, other)
            data = written.getvalue()
        assert encode(mine, case.version) == data
        assert decode(case.message, case.version, data) == mine
        again, end = entity_reader(theirs)(data, 0)
        assert (again, end) == (other, len(data))


def test_kio_knows_every_api() -> None:
    assert len(CASES) > 600
