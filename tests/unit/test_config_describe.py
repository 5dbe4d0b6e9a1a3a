"""DescribeConfigs and CreateTopics rows beside those that Apache Kafka 4.3 gave."""

import json
from pathlib import Path
from typing import Any

import pytest

from ottla.config import (
    BROKER_KEYS,
    BrokerConfig,
    ConfigRow,
    describe_broker,
    describe_cluster_wide,
    describe_created_topic,
    describe_topic,
)

RECORDED = Path(__file__).parent.parent / "recorded_configs" / "describe.json"
SCENARIOS: list[dict[str, Any]] = json.loads(RECORDED.read_text())


def configured(scenario: dict[str, Any]) -> BrokerConfig:
    config, _ = BrokerConfig.load(scenario["static"])
    return config.with_dynamic(scenario["cluster_wide"], scenario["per_broker"])


def plain(rows: list[ConfigRow]) -> list[list[Any]]:
    """As the recorder writes them, without the keys that are only ours."""
    return [
        [
            row.name,
            row.value,
            row.source,
            row.read_only,
            row.sensitive,
            [list(synonym) for synonym in row.synonyms],
            row.kind,
        ]
        for row in rows
        if not row.name.startswith("ottla.")
    ]


@pytest.mark.parametrize("scenario", SCENARIOS)
def test_a_broker_is_described_as_kafka_does(scenario: dict[str, Any]) -> None:
    broker = configured(scenario)
    assert plain(describe_broker(broker, include_synonyms=True)) == scenario["broker"]
    assert (
        plain(describe_cluster_wide(broker, include_synonyms=True)) == scenario["cluster_wide_rows"]
    )
    assert plain(describe_broker(broker, ["num.partitions", "missing"])) == scenario["some"]


@pytest.mark.parametrize("scenario", SCENARIOS)
def test_a_topic_is_described_as_kafka_does(scenario: dict[str, Any]) -> None:
    broker = configured(scenario)
    topics = [value for name, value in scenario.items() if name.startswith("topic ")]
    assert topics
    for [overrides], created, described in topics:
        assert plain(describe_topic(overrides, broker, include_synonyms=True)) == described
        rows = describe_created_topic(overrides, broker)
        assert [[row.name, row.value, row.source] for row in rows] == created


def test_our_own_keys_are_described_among_the_brokers() -> None:
    broker, _ = BrokerConfig.load({"ottla.durability": "page-cache"})
    [row] = describe_broker(broker, ["ottla.durability"], include_documentation=True)
    assert (row.value, row.read_only, row.sensitive) == ("page-cache", True, False)
    assert row.documentation == BROKER_KEYS["ottla.durability"].about


def test_names_that_do_not_exist_are_left_out_and_no_names_means_all() -> None:
    broker, _ = BrokerConfig.load({})
    assert describe_topic({}, broker, ["nothing"]) == []
    assert describe_topic({}, broker, []) == describe_topic({}, broker)
    assert all(not row.synonyms for row in describe_topic({}, broker))


def test_a_stored_key_that_is_unknown_shows_no_value() -> None:
    broker, _ = BrokerConfig.load({})
    [row] = describe_topic({"future.key": "secret"}, broker, ["future.key"])
    assert (row.value, row.sensitive) == (None, True)
