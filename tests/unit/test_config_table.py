"""Kafka's table and our classes over it.

Covers: ottla.config_table, ottla.config_effects.
"""

from ottla.config import BROKER_KEYS, TOPIC_KEYS
from ottla.config_effects import (
    BROKER_EFFECTIVE,
    BROKER_GROUPS,
    TOPIC_EFFECTIVE,
    TOPIC_GROUPS,
    Group,
)
from ottla.config_table import BROKER, MILLISECONDS, TOPIC


def fits(name: str, entry: str) -> bool:
    return name == entry or (entry.endswith(".") and name.startswith(entry))


def test_every_entry_of_our_classes_means_a_key_of_kafka() -> None:
    tables: tuple[tuple[list[str], dict[str, str], tuple[Group, ...]], ...] = (
        ([key.name for key in BROKER], BROKER_EFFECTIVE, BROKER_GROUPS),
        ([key.name for key in TOPIC], TOPIC_EFFECTIVE, TOPIC_GROUPS),
    )
    for names, effective, groups in tables:
        listed = [entry for group in groups for entry in group.names]
        assert len(listed) == len(dict.fromkeys(listed)), "a key has two classes"
        for entry in listed:
            assert entry not in effective
            assert any(fits(name, entry) for name in names), entry
        assert all(name in names for name in effective)


def test_synonyms_and_units_are_keys_of_the_broker() -> None:
    for key in (*BROKER_KEYS.values(), *TOPIC_KEYS.values()):
        assert all(synonym in BROKER_KEYS for synonym in key.synonyms)
    assert all(name in BROKER_KEYS for name in MILLISECONDS)
