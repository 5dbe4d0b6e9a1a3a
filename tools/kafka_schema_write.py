"""Writes modules of the table from Kafka's definitions: facts from there, words from here."""

import importlib.util
import keyword
import subprocess
import sys
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import msgspec

from ottla.protocol.shape import field_facts
from tools.kafka_schema_jars import (
    FieldDefinition,
    MessageDefinition,
    StructDefault,
    StructDefinition,
    snake_case,
)

ALIASES = {"bool": "boolean", "bytes": "blob", "records": "record_data"}
BY_JAR = {
    "kafka-metadata": "records_metadata",
    "kafka-group-coordinator": "records_group",
    "kafka-transaction-coordinator": "records_transaction",
    "kafka-share-coordinator": "records_share",
    "kafka-raft": "records_raft",
    "kafka-storage": "records_storage",
}
BY_NAME = {
    "ConsumerProtocolAssignment": "records_group",
    "ConsumerProtocolSubscription": "records_group",
    "DefaultPrincipalData": "principal",
    "EndTxnMarker": "records_transaction",
    "RequestHeader": "headers",
    "ResponseHeader": "headers",
}
TITLES = {
    "headers": "What stands before each request and response.",
    "principal": "Who a forwarded request came from.",
    "records_group": "Records of `__consumer_offsets`, and what consumers tell each other.",
    "records_metadata": "Records of the cluster's metadata log.",
    "records_raft": "Control records of a Raft log, and the quorum's state file.",
    "records_share": "Records of `__share_group_state`.",
    "records_storage": "Producer snapshots, and records of remote log segments.",
    "records_transaction": "Records of `__transaction_state`, and transaction markers.",
}
Words = dict[tuple[str, str], str]
"""Our words for a class (no field) or a field of it."""


def module_name(message: MessageDefinition) -> str:
    if message.kind in ("request", "response"):
        return snake_case(api_name(message))
    return BY_NAME.get(message.name) or BY_JAR.get(message.jar, "records_raft")


def api_name(message: MessageDefinition) -> str:
    return message.name.removesuffix("Request").removesuffix("Response")


def class_names(messages: Iterable[MessageDefinition]) -> dict[tuple[str, str], str]:
    """(message, struct) to class: the message's name goes before what two of them share."""
    messages = list(messages)
    uses = Counter(struct.name for message in messages for struct in message.structs)
    return {
        (message.name, struct.name): struct.name
        if uses[struct.name] == 1
        else message.name + struct.name
        for message in messages
        for struct in message.structs
    }


def existing_words(path: Path) -> Words:
    if not path.exists():
        return {}
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    words: Words = {}
    for name, struct in vars(module).items():
        if isinstance(struct, type) and issubclass(struct, msgspec.Struct):
            if struct is msgspec.Struct:
                continue
            words[name, ""] = vars(struct).get("__doc__") or ""
            words |= {(name, facts.name): facts.wire.about for facts in field_facts(struct)}
    return words


def module_text(name: str, messages: list[MessageDefinition], words: Words) -> str:
    names = class_names(messages)
    title = TITLES.get(name) or f"{api_name(messages[0])}, API key {messages[0].key}."
    body = [
        _class_text(message, struct, names, words)
        for message in messages
        for struct in message.structs
    ]
    if name == "records_metadata":
        rows = "".join(f"{m.key}: {m.name}," for m in sorted(messages, key=lambda m: m.key or 0))
        body.append(f"RECORD_TYPES: dict[int, type[Struct]] = {{{rows}}}\n")
    text = "\n\n".join(body)
    return _formatted(f'"""{title}"""\n\n{_imports(messages, text)}\n\n{text}')


def index_rows(messages: Iterable[MessageDefinition]) -> list[tuple[object, ...]]:
    requests = sorted((m for m in messages if m.kind == "request"), key=lambda m: m.key or 0)
    return [
        (m.key, api_name(m), module_name(m), m.versions, m.flexible, m.listeners, m.latest_unstable)
        for m in requests
    ]


def index_text(messages: Iterable[MessageDefinition]) -> str:
    return _formatted(
        '"""Which APIs there are, so that one can be looked up without importing its messages."""'
        "\n\nAPIS: tuple[tuple[int, str, str, str, str, tuple[str, ...], bool], ...] = "
        f"({''.join(f'{row!r},' for row in index_rows(messages))})\n"
    )


def _imports(messages: list[MessageDefinition], text: str) -> str:
    kinds = {
        each.type.removeprefix("[]")
        for message in messages
        for struct in message.structs
        for each in struct.fields
    }
    aliases = [ALIASES.get(kind, kind) for kind in kinds if not kind[0].isupper()]
    aliases.sort(key=lambda alias: (alias.rstrip("0123456789"), len(alias), alias))
    annotated = "Annotated, " if kinds else ""
    lines = [f"from typing import {annotated}ClassVar\n"]
    lines.append(f"from msgspec import Struct{', field' if 'field(' in text else ''}\n")
    if "NO_UUID" in text:
        lines.append("from ottla.names import NO_UUID")
    wire = ["Wire"] if kinds else []
    lines.append(f"from ottla.protocol.facts import {', '.join(['Message', *wire, *aliases])}")
    return "\n".join(lines) + "\n"


def _class_text(
    message: MessageDefinition,
    struct: StructDefinition,
    names: dict[tuple[str, str], str],
    words: Words,
) -> str:
    name = names[message.name, struct.name]
    lines = [f"class {name}(Struct, gc=False):"]
    if words.get((name, "")):
        lines.append(f'    """{words[name, ""]}"""\n')
    if struct.name == message.name:
        lines.append(f"    WIRE: ClassVar[Message] = Message({_message_facts(message)})\n")
    for each in struct.fields:
        snake = snake_case(each.name)
        assert not keyword.iskeyword(snake)
        assert snake not in ALIASES.values()
        about = words.get((name, snake), "")
        hint = f"{_hint(message, each, names)}, Wire({_wire_facts(each, about)})"
        lines.append(f"    {snake}: Annotated[{hint}] = {_default_text(message, each, names)}")
    if len(lines) == 1:
        lines.append("    pass")
    return "\n".join(lines) + "\n"


def _message_facts(message: MessageDefinition) -> str:
    facts = [f"{message.kind!r}, versions={message.versions!r}, flexible={message.flexible!r}"]
    if message.key is not None:
        facts.append(f"key={message.key}")
    if message.listeners:
        facts.append(f"listeners={message.listeners!r}")
    if message.latest_unstable:
        facts.append("latest_unstable=True")
    return ", ".join(facts)


def _wire_facts(each: FieldDefinition, about: str) -> str:
    facts = [repr(each.texts["versions"])]
    if each.nullable:
        facts.append(f"nullable={each.texts['nullable']!r}")
    if each.tag is not None:
        facts.append(f"tag={each.tag}")
        if each.tagged != each.versions:
            facts.append(f"tagged={each.texts['tagged']!r}")
    if each.flexible:
        facts.append(f"flexible={each.flexible!r}")
    if each.ignorable:
        facts.append("ignorable=True")
    if about:
        facts.append(f"about={about!r}")
    return ", ".join(facts)


def _hint(
    message: MessageDefinition, each: FieldDefinition, names: dict[tuple[str, str], str]
) -> str:
    inner = each.type.removeprefix("[]")
    hint = names.get((message.name, inner)) or ALIASES.get(inner, inner)
    if inner != each.type:
        hint = f"list[{hint}]"
    return f"{hint} | None" if each.nullable or each.type == "records" else hint


def _default_text(
    message: MessageDefinition, each: FieldDefinition, names: dict[tuple[str, str], str]
) -> str:
    default: Any = each.default
    if isinstance(default, StructDefault):
        return f"field(default_factory={names[message.name, default.name]})"
    if default is list:
        return "[]"
    return "NO_UUID" if each.type == "uuid" else repr(default)


def _formatted(text: str) -> str:
    ruff = [sys.executable, "-m", "ruff", "format", "--line-length=100", "-"]
    return subprocess.run(ruff, input=text, capture_output=True, text=True, check=True).stdout
