"""The table holds what was compared with Kafka's jars, and says what it must in our words.

The jars are not needed here: `python -m tools.kafka_schema record` wrote the census once the table
agreed with them.
"""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest

from ottla.protocol.facts import version_range
from ottla.protocol.shape import field_facts, message_facts
from tools.kafka_schema_check import census, differences, messages_of, read_table
from tools.kafka_schema_jars import (
    FieldDefinition,
    MessageDefinition,
    StructDefinition,
    parse_message,
    snake_case,
)
from tools.kafka_schema_write import module_text

RECORDED = Path(__file__).parent / "recorded"
TABLE = read_table()

IMPLEMENTED = (
    *("api_versions", "metadata", "describe_cluster", "produce", "fetch", "list_offsets"),
    *("init_producer_id", "create_topics", "delete_topics", "describe_configs"),
    "find_coordinator",
)


def test_the_table_is_the_one_that_was_compared_with_kafkas_jars() -> None:
    assert census(TABLE) == json.loads((RECORDED / "census.json").read_text())


def test_every_message_says_what_it_is_for() -> None:
    silent = [
        name
        for structs in TABLE.values()
        for name, message in messages_of(structs).items()
        if not message.__doc__
    ]
    assert silent == []


@pytest.mark.parametrize("module", IMPLEMENTED)
def test_every_field_of_an_implemented_api_says_what_it_is_about(module: str) -> None:
    silent = [
        f"{name}.{facts.name}"
        for name, struct in TABLE[module].items()
        for facts in field_facts(struct)
        if not facts.wire.about
    ]
    assert silent == []


def test_requests_and_responses_of_an_api_have_the_same_key_and_versions() -> None:
    for structs in TABLE.values():
        messages = messages_of(structs)
        for name, request in messages.items():
            facts = message_facts(request)
            if facts.kind == "request":
                answer = message_facts(messages[name.removesuffix("Request") + "Response"])
                assert (answer.key, answer.versions) == (facts.key, facts.versions)


@pytest.mark.parametrize(
    ("text", "first", "last"), [("0+", 0, 32767), ("3-5", 3, 5), ("7", 7, 7), ("10-11", 10, 11)]
)
def test_a_version_range_names_its_versions(text: str, first: int, last: int) -> None:
    assert version_range(text) == range(first, last + 1)


@pytest.mark.parametrize("text", ["none", ""])
def test_a_version_range_may_be_empty(text: str) -> None:
    assert not version_range(text)


@pytest.mark.parametrize(
    ("name", "snake"),
    [
        ("TopicId", "topic_id"),
        ("LastKnownElr", "last_known_elr"),
        ("KRaftVersionFeature", "kraft_version_feature"),
        ("Enable2Pc", "enable2_pc"),
        ("topicId", "topic_id"),
    ],
)
def test_field_names_are_split_as_kafka_splits_them(name: str, snake: str) -> None:
    assert snake_case(name) == snake


DEFINITION = """
// A letter, as no Kafka knows it.
{
  "type": "request", "apiKey": 99, "name": "LetterRequest", "listeners": ["broker"],
  "validVersions": "0-2", "flexibleVersions": "1+",  // "quoted" in a comment
  "fields": [
    { "name": "To", "type": "string", "versions": "0+", "nullableVersions": "1+",
      "default": "null", "about": "http://not-a-comment" },
    { "name": "Weight", "type": "int32", "versions": "1+", "default": "-1", "ignorable": true },
    { "name": "Sealed", "type": "bool", "versions": "2+", "tag": 0, "taggedVersions": "2+" },
    { "name": "Stamps", "type": "[]Stamp", "versions": "0+", "fields": [
      { "name": "Cents", "type": "int16", "versions": "0+" }
    ]}
  ]
}
"""


def letter() -> MessageDefinition:
    message = parse_message(DEFINITION, "kafka-clients")
    assert message is not None
    return message


def written(message: MessageDefinition) -> dict[str, type[msgspec.Struct]]:
    namespace: dict[str, Any] = {"__name__": "letters"}
    exec(module_text("letter", [message], {}), namespace)
    return {name: each for name, each in namespace.items() if name in ("LetterRequest", "Stamp")}


def letter_differences(change: Callable[[MessageDefinition], None]) -> list[str]:
    kafkas = letter()
    change(kafkas)
    table = {"letter": written(letter())}
    return [
        each for each in differences({"letter": [kafkas]}, table) if not each.startswith("index:")
    ]


def test_a_module_that_was_written_from_a_definition_does_not_differ_from_it() -> None:
    assert letter_differences(lambda kafkas: None) == []


def field(message: MessageDefinition, name: str) -> FieldDefinition:
    fields = [each for struct in message.structs for each in struct.fields]
    return next(each for each in fields if each.name == name)


CHANGES: dict[str, Callable[[MessageDefinition], None]] = {
    "versions 0-2": lambda m: setattr(m, "versions", "0-3"),
    "flexible 1+": lambda m: setattr(m, "flexible", "2+"),
    "key": lambda m: setattr(m, "key", 98),
    "listeners": lambda m: setattr(m, "listeners", ("controller",)),
    "latest_unstable": lambda m: setattr(m, "latest_unstable", True),
    "type": lambda m: setattr(field(m, "Weight"), "type", "int64"),
    "versions": lambda m: setattr(field(m, "Cents"), "versions", range(1, 9)),
    "nullable": lambda m: setattr(field(m, "To"), "nullable", range(0)),
    "tag": lambda m: setattr(field(m, "Sealed"), "tag", 1),
    "tagged": lambda m: setattr(field(m, "Sealed"), "tagged", range(3, 9)),
    "ignorable": lambda m: setattr(field(m, "Weight"), "ignorable", False),
    "default": lambda m: setattr(field(m, "Weight"), "default", 0),
    "a default of another type": lambda m: setattr(field(m, "Sealed"), "default", 0),
    "a field more": lambda m: m.structs[0].fields.append(field(m, "To")),
    "a field less": lambda m: m.structs[0].fields.clear(),
    "a struct more": lambda m: m.structs.insert(0, StructDefinition("Seal", [])),
}


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
def test_each_kind_of_difference_from_kafka_is_reported(
    change: Callable[[MessageDefinition], None],
) -> None:
    assert len(letter_differences(change)) >= 1


def test_a_message_that_kafka_does_not_know_is_reported() -> None:
    found = list(differences({}, {"letter": written(letter())}))
    assert "letter.LetterRequest: Kafka has no such struct" in found
