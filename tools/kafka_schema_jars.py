"""Reads the message definitions inside Kafka's jars into plain facts."""

import json
import re
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ottla.protocol.facts import version_range

JARS = {
    "kafka-clients": "common/message/",
    "kafka-metadata": "common/metadata/",
    "kafka-group-coordinator": "common/message/",
    "kafka-transaction-coordinator": "common/message/",
    "kafka-share-coordinator": "common/message/",
    "kafka-raft": "common/message/",
    "kafka-storage": "message/",
}
INTEGERS = ("int8", "int16", "int32", "int64", "uint16", "uint32")
EMPTY = {"bool": False, "float64": 0.0, "uuid": bytes(16), "string": "", "bytes": b""}


@dataclass
class FieldDefinition:
    name: str
    type: str
    versions: range
    nullable: range
    tag: int | None
    tagged: range
    flexible: str
    ignorable: bool
    default: Any
    """A value; for a list the class `list`, for a struct its class's name as a `StructDefault`."""
    texts: dict[str, str]
    """The version ranges as Kafka writes them."""


@dataclass
class StructDefault:
    name: str


@dataclass
class StructDefinition:
    name: str
    fields: list[FieldDefinition]


@dataclass
class MessageDefinition:
    name: str
    jar: str
    kind: str
    key: int | None
    listeners: tuple[str, ...]
    versions: str
    flexible: str
    latest_unstable: bool
    structs: list[StructDefinition] = field(default_factory=list)
    """Each after those that it refers to; the message itself is the last."""


def snake_case(name: str) -> str:
    """As Kafka's own generator splits names: only where a capital follows a small letter."""
    return re.sub(r"(?<=[^A-Z_])([A-Z])", r"_\1", name).lower()


def read_definitions(jars: Path, version: str) -> list[MessageDefinition]:
    """All messages that have a version; the definitions of retired APIs have none."""
    found = []
    for jar, folder in JARS.items():
        with zipfile.ZipFile(jars / f"{jar}-{version}.jar") as archive:
            for name in sorted(archive.namelist()):
                if name.startswith(folder) and name.endswith(".json"):
                    found.append(parse_message(archive.read(name).decode(), jar))
    return [message for message in found if message is not None]


def parse_message(text: str, jar: str) -> MessageDefinition | None:
    # JSON with `//` comments, which may hold quotes and may follow a value.
    raw = json.loads(
        re.sub(r'("(?:[^"\\]|\\.)*")|//[^\n]*', lambda match: match.group(1) or "", text)
    )
    if raw["validVersions"] == "none":
        return None
    message = MessageDefinition(
        name=raw["name"],
        jar=jar,
        kind=raw["type"],
        key=raw.get("apiKey"),
        listeners=tuple(raw.get("listeners", ())),
        versions=raw["validVersions"],
        flexible=raw["flexibleVersions"],
        latest_unstable=raw.get("latestVersionUnstable", False),
    )
    common = {each["name"]: each["fields"] for each in raw.get("commonStructs", ())}
    message.structs = list(_structs(raw["name"], raw["fields"], common, {}))
    return message


def _structs(
    name: str, fields: list[dict[str, Any]], common: dict[str, Any], done: dict[str, None]
) -> Iterator[StructDefinition]:
    for each in fields:
        inner = each["type"].removeprefix("[]")
        if inner[0].isupper() and inner not in done:
            done[inner] = None
            yield from _structs(inner, each.get("fields") or common[inner], common, done)
    yield StructDefinition(name, [_field(each) for each in fields])


def _field(raw: dict[str, Any]) -> FieldDefinition:
    tagged = raw.get("taggedVersions", "none")
    versions = raw.get("versions", tagged)
    nullable = raw.get("nullableVersions", "none")
    return FieldDefinition(
        name=raw["name"],
        type=raw["type"],
        versions=version_range(versions),
        nullable=version_range(nullable),
        tag=raw.get("tag"),
        tagged=version_range(tagged),
        flexible=raw.get("flexibleVersions", ""),
        ignorable=raw.get("ignorable", False),
        default=_default(raw["type"], raw.get("default")),
        texts={"versions": versions, "nullable": nullable, "tagged": tagged},
    )


def _default(kind: str, raw: Any) -> Any:
    # A bare JSON null is read by Kafka's generator as no default at all; "null" means null.
    text = "" if raw is None else str(raw)
    if text == "null" or kind == "records":
        return None
    if kind.startswith("[]"):
        return list
    if kind in INTEGERS:
        return int(text, 0) if text else 0
    if kind == "bool":
        return text.lower() == "true"
    if kind == "string":
        return text
    assert not text
    return EMPTY[kind] if kind in EMPTY else StructDefault(kind)
