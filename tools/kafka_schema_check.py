"""Compares the table with Kafka's definitions, and counts what the table holds.

Left out, because nothing on the wire depends on them: map keys, entity types, zero copy, and the
versions of a common struct as a whole.
"""

import hashlib
import json
from collections.abc import Iterator
from importlib import import_module
from pkgutil import iter_modules
from typing import Any

import msgspec

import ottla.protocol.schema
from ottla.protocol.facts import Message, version_range
from ottla.protocol.schema.index import APIS
from ottla.protocol.shape import FieldFacts, WireType, field_facts, message_facts
from tools.kafka_schema_jars import (
    FieldDefinition,
    MessageDefinition,
    StructDefault,
    snake_case,
)
from tools.kafka_schema_write import class_names, index_rows, module_name

Table = dict[str, dict[str, type[msgspec.Struct]]]
"""Module to class name to class."""


def read_table() -> Table:
    schema = ottla.protocol.schema
    return {
        info.name: structs_of(import_module(f"{schema.__name__}.{info.name}"))
        for info in iter_modules(schema.__path__)
        if info.name != "index"
    }


def structs_of(module: Any) -> dict[str, type[msgspec.Struct]]:
    return {
        name: each
        for name, each in vars(module).items()
        if isinstance(each, type)
        and issubclass(each, msgspec.Struct)
        and each is not msgspec.Struct
    }


def messages_of(structs: dict[str, type[msgspec.Struct]]) -> dict[str, type[msgspec.Struct]]:
    return {name: each for name, each in structs.items() if "WIRE" in vars(each)}


def differences(modules: dict[str, list[MessageDefinition]], table: Table) -> Iterator[str]:
    for name in [*modules, *(each for each in table if each not in modules)]:
        expected, structs = modules.get(name, []), table.get(name, {})
        names = class_names(expected)
        for message in expected:
            yield from _message_differences(message, structs, names)
        known = dict.fromkeys(names.values())
        yield from (
            f"{name}.{each}: Kafka has no such struct" for each in structs if each not in known
        )
    rows = index_rows([message for members in modules.values() for message in members])
    yield from (f"index: {row} is missing" for row in rows if row not in APIS)
    yield from (f"index: {row} is not Kafka's" for row in APIS if row not in rows)


def _message_differences(
    message: MessageDefinition,
    structs: dict[str, type[msgspec.Struct]],
    names: dict[tuple[str, str], str],
) -> Iterator[str]:
    where = f"{module_name(message)}.{message.name}"
    for struct in message.structs:
        cls = structs.get(names[message.name, struct.name])
        if cls is None:
            yield f"{where}: no struct {names[message.name, struct.name]}"
            continue
        if struct.name == message.name:
            yield from _compare(where, _told(message), _stated(cls))
        facts = {each.name: each for each in field_facts(cls)}
        wanted = [snake_case(each.name) for each in struct.fields]
        if list(facts) != wanted:
            yield f"{where}.{struct.name}: fields {list(facts)}, Kafka's {wanted}"
        for each in struct.fields:
            if found := facts.get(snake_case(each.name)):
                kafkas = _told_field(message, each, names)
                yield from _compare(
                    f"{where}.{struct.name}.{each.name}", kafkas, _stated_field(found)
                )


def _compare(where: str, kafkas: dict[str, Any], ours: dict[str, Any]) -> Iterator[str]:
    for fact, value in kafkas.items():
        # A default of 0 is not one of False.
        if (type(value), value) != (type(ours[fact]), ours[fact]):
            yield f"{where}: {fact} {ours[fact]!r}, Kafka's {value!r}"


def _told(message: MessageDefinition) -> dict[str, Any]:
    return {
        "kind": message.kind,
        "key": message.key,
        "versions": version_range(message.versions),
        "flexible": version_range(message.flexible),
        "listeners": message.listeners,
        "latest_unstable": message.latest_unstable,
    }


def _stated(cls: type[msgspec.Struct]) -> dict[str, Any]:
    facts = message_facts(cls) if "WIRE" in vars(cls) else Message("", "", "")
    return {
        "kind": facts.kind,
        "key": facts.key,
        "versions": version_range(facts.versions),
        "flexible": version_range(facts.flexible),
        "listeners": facts.listeners,
        "latest_unstable": facts.latest_unstable,
    }


def _told_field(
    message: MessageDefinition, each: FieldDefinition, names: dict[tuple[str, str], str]
) -> dict[str, Any]:
    inner = each.type.removeprefix("[]")
    default = each.default
    return {
        "type": each.type.replace(inner, names.get((message.name, inner), inner)),
        "versions": each.versions,
        "nullable": each.nullable,
        "tag": each.tag,
        "tagged": each.tagged,
        "flexible": each.flexible,
        "ignorable": each.ignorable,
        "default": names[message.name, default.name]
        if isinstance(default, StructDefault)
        else default,
    }


def _stated_field(facts: FieldFacts) -> dict[str, Any]:
    wire = facts.wire
    tagged = wire.tagged or wire.versions if wire.tag is not None else ""
    default = facts.default
    return {
        "type": kafka_type(facts.type),
        "versions": version_range(wire.versions),
        "nullable": version_range(wire.nullable),
        "tag": wire.tag,
        "tagged": version_range(tagged),
        "flexible": wire.flexible,
        "ignorable": wire.ignorable,
        "default": default.__name__
        if isinstance(default, type) and default is not list
        else default,
    }


def kafka_type(wire: WireType) -> str:
    if wire.element is not None:
        return f"[]{kafka_type(wire.element)}"
    return wire.struct.__name__ if wire.struct is not None else wire.name


def census(table: Table) -> dict[str, int | str]:
    """How much the table holds, and a digest of every fact in it; our words do not count."""
    lines = []
    messages = versions = 0
    for module, structs in sorted(table.items()):
        for name, cls in structs.items():
            lines.append(f"{module}.{name} {_stated(cls) if 'WIRE' in vars(cls) else ''}")
            lines += [f"  {each.name} {_stated_field(each)}" for each in field_facts(cls)]
        for cls in messages_of(structs).values():
            messages += 1
            versions += len(version_range(message_facts(cls).versions))
    return {
        "apis": len(APIS),
        "messages": messages,
        "message_versions": versions,
        "structs": sum(len(structs) for structs in table.values()),
        "fields": sum(line.startswith("  ") for line in lines),
        "sha256": hashlib.sha256("\n".join(lines).encode()).hexdigest(),
    }


def census_text(table: Table) -> str:
    return json.dumps(census(table), indent=1) + "\n"
