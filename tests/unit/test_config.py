"""Reading, checking and resolving configuration, held by what Apache Kafka 4.3 answered.

Covers: ottla.config_keys, ottla.config_values.
"""

import json
from pathlib import Path
from typing import Any

import pytest

from ottla.config import (
    BROKER_KEYS,
    TOPIC_KEYS,
    BrokerConfig,
    ConfigKey,
    ConfigType,
    Effect,
    TopicConfig,
    format_value,
    parse_value,
    topic_warnings,
    validate_topic_overrides,
)
from ottla.config_keys import OneOf
from ottla.errors import ErrorCode, Refused

RECORDED = Path(__file__).parent.parent / "recorded_configs"
STATIC_BASE = json.loads((RECORDED / "cases.json").read_text())["static_base"]


def recorded(name: str) -> list[Any]:
    answers: list[Any] = json.loads((RECORDED / f"{name}.json").read_text())
    return answers


def load(**static: str) -> BrokerConfig:
    return BrokerConfig.load({name.replace("_", "."): text for name, text in static.items()})[0]


@pytest.mark.parametrize(("overrides", "code"), recorded("create"))
def test_a_topic_is_refused_where_kafka_refuses_it(
    overrides: dict[str, str | None], code: int
) -> None:
    if code == ErrorCode.NONE:
        validate_topic_overrides(overrides)
    else:
        with pytest.raises(Refused) as refused:
            validate_topic_overrides(overrides)
        assert refused.value.code == code


@pytest.mark.parametrize(("static", "starts"), recorded("static"))
def test_a_broker_starts_where_kafka_starts(static: dict[str, str], starts: bool) -> None:
    if starts:
        BrokerConfig.load(STATIC_BASE | static)
    else:
        with pytest.raises(Refused) as refused:
            BrokerConfig.load(STATIC_BASE | static)
        assert refused.value.code == ErrorCode.INVALID_CONFIG


@pytest.mark.parametrize(("text", "printed"), recorded("doubles"))
def test_doubles_are_read_and_printed_as_java_does(text: str, printed: str | None) -> None:
    key = ConfigKey("a.double", ConfigType.DOUBLE, 0.0)
    if printed is None:
        with pytest.raises(Refused):
            parse_value(key, text)
    else:
        assert format_value(key, parse_value(key, text)) == printed


def test_a_refusal_names_key_value_and_bounds() -> None:
    with pytest.raises(Refused, match=r"segment.bytes: '5' is not valid.*at least 1048576"):
        validate_topic_overrides({"segment.bytes": "5"})
    with pytest.raises(Refused, match=r"compression.type: 'LZ4'.*one of uncompressed, zstd, lz4"):
        validate_topic_overrides({"compression.type": "LZ4"})
    with pytest.raises(Refused, match=r"preallocate: 'maybe'.*true or false"):
        validate_topic_overrides({"preallocate": "maybe"})
    with pytest.raises(Refused, match="unknown topic configuration: 'nope', 'never'"):
        validate_topic_overrides({"nope": "1", "never": "2"})


def test_a_refusal_is_short_however_long_the_value_and_hides_secrets() -> None:
    with pytest.raises(Refused) as refused:
        validate_topic_overrides({"segment.bytes": "x" * 30_000})
    assert len(refused.value.why) < 300
    secret = ConfigKey("a.secret", ConfigType.PASSWORD, None, OneOf(("swordfish",)))
    with pytest.raises(Refused) as hidden:
        parse_value(secret, "hunter2")
    assert "hunter2" not in str(hidden.value)


def test_an_unknown_key_of_a_file_is_warned_about_and_the_broker_starts() -> None:
    config, warnings = BrokerConfig.load(STATIC_BASE | {"zookeeper.connect": "here:2181"})
    assert config.int("num.partitions") == 1
    assert warnings == ["'zookeeper.connect' is no configuration key: ignored"]


def test_a_key_without_effect_is_warned_about_once_and_only_off_its_default() -> None:
    def warnings(**static: str) -> list[str]:
        return BrokerConfig.load({name.replace("_", "."): text for name, text in static.items()})[1]

    assert warnings(num_io_threads="8", log_retention_hours="168") == []
    assert [line.split(" is ")[0] for line in warnings(num_io_threads="16")] == ["num.io.threads"]
    assert "not yet effective" in warnings(log_retention_hours="24")[0]
    assert warnings(num_partitions="12") == []


def test_a_key_that_would_protect_is_refused_until_it_is_built() -> None:
    for name, text in (
        ("authorizer.class.name", "org.example.Authorizer"),
        ("config.providers", "file"),
        ("controller.quorum.voters", "1@localhost:9093"),
        ("remote.log.storage.system.enable", "true"),
        ("listener.name.internal.ssl.keystore.location", "/key"),
    ):
        with pytest.raises(Refused, match=name):
            BrokerConfig.load(STATIC_BASE | {name: text})


def test_a_listener_that_asks_for_tls_is_refused_by_name() -> None:
    with pytest.raises(Refused, match="SSL, which is not built yet"):
        load(listeners="SSL://:9093")
    with pytest.raises(Refused, match="SASL_PLAINTEXT, which is not built yet"):
        BrokerConfig.load(
            {"listeners": "X://:1", "listener.security.protocol.map": "X:SASL_PLAINTEXT"}
        )


def test_a_controller_listener_needs_no_entry_where_no_map_is_set() -> None:
    config, _ = BrokerConfig.load(
        {"listeners": "PLAINTEXT://:1,CONTROLLER://:2", "controller.listener.names": "CONTROLLER"}
    )
    assert config.list("listeners") == ("PLAINTEXT://:1", "CONTROLLER://:2")


def test_what_must_be_set_is_refused_by_name_when_it_is_read() -> None:
    with pytest.raises(Refused, match=r"node.id must be set"):
        load().int("node.id")
    assert load(node_id="3").int("broker.id") == 3
    assert load(broker_id="3").int("node.id") == 3


def test_only_an_effective_key_may_be_read() -> None:
    with pytest.raises(AssertionError, match="not classed as effective"):
        load().int("num.io.threads")


def test_durability_is_ours_and_durable_unless_told_otherwise() -> None:
    assert load().is_durable()
    assert not load(ottla_durability="page-cache").is_durable()
    with pytest.raises(Refused, match="one of durable, page-cache"):
        load(ottla_durability="maybe")


def test_log_dirs_comes_before_log_dir() -> None:
    assert load().log_dirs() == ("/tmp/kafka-logs",)
    assert load(log_dir="a").log_dirs() == ("a",)
    assert load(log_dir="a", log_dirs="b").log_dirs() == ("b",)


def test_a_topic_takes_the_brokers_values_in_their_units() -> None:
    topic = TopicConfig.resolve({}, load(log_roll_hours="2", log_retention_minutes="3"))
    assert topic.segment_ms == 2 * 3_600_000
    assert topic.retention_ms == 180_000
    assert TopicConfig.resolve({}, load(log_roll_hours="2", log_roll_ms="5")).segment_ms == 5
    assert TopicConfig.resolve({}, load(log_retention_hours="-9")).retention_ms == -1
    assert TopicConfig.resolve({}, load(log_flush_scheduler_interval_ms="7")).flush_ms == 7


def test_a_topics_own_settings_come_first() -> None:
    broker = load(min_insync_replicas="2", log_segment_bytes="2000000")
    overrides = {
        "cleanup.policy": "compact",
        "message.timestamp.type": "LogAppendTime",
        "min.insync.replicas": "1",
        "segment.bytes": " 1048576 ",
    }
    topic = TopicConfig.resolve(overrides, broker)
    assert (topic.segment_bytes, topic.min_insync_replicas) == (1_048_576, 1)
    assert (topic.compacted, topic.deletes, topic.log_append_time) == (True, False, True)
    assert TopicConfig.resolve({"internal.segment.bytes": "100"}, broker).segment_bytes == 100
    assert TopicConfig.resolve({}, broker).segment_bytes == 2_000_000


def test_stored_settings_that_cannot_be_used_are_passed_over() -> None:
    stored = {"segment.ms": "never", "future.key": "1", "segment.bytes": "2000000"}
    topic = TopicConfig.resolve(stored, load(log_roll_ms="9"))
    assert (topic.segment_ms, topic.segment_bytes) == (9, 2_000_000)
    assert [line.split(":")[0] for line in topic_warnings(stored)] == [
        "segment.ms",
        "'future.key' is no topic configuration",
    ]


def test_a_topic_is_warned_about_keys_that_do_nothing_yet() -> None:
    warnings = topic_warnings({"retention.ms": "5", "segment.ms": "5", "preallocate": "false"})
    assert len(warnings) == 1
    assert warnings[0].startswith("retention.ms is accepted, not yet effective")


def test_the_rule_over_two_keys_counts_what_the_broker_says() -> None:
    broker = load(log_cleaner_max_compaction_lag_ms="5")
    validate_topic_overrides({"min.compaction.lag.ms": "6"})
    with pytest.raises(Refused, match=r"min.compaction.lag.ms"):
        validate_topic_overrides({"min.compaction.lag.ms": "6"}, broker)


def test_altered_values_outrank_the_file_and_the_nearer_the_stronger() -> None:
    broker = load(message_max_bytes="1000", log_retention_hours="5", num_partitions="3")
    altered = broker.with_dynamic(
        {"message.max.bytes": "2000", "max.connections": "7", "num.partitions": "9"},
        {"message.max.bytes": "3000", "log.retention.ms": "1", "unknown": "1"},
    )
    assert altered.int("message.max.bytes") == 3000
    assert altered.int("max.connections") == 7
    assert altered.int("num.partitions") == 3, "it is read-only"
    assert TopicConfig.resolve({}, altered).retention_ms == 1
    assert broker.with_dynamic({"message.max.bytes": "x"}, {}).int("message.max.bytes") == 1000


def test_every_key_has_its_class_and_its_reason() -> None:
    for key in (*BROKER_KEYS.values(), *TOPIC_KEYS.values()):
        assert key.about, key.name
        if key.effect is Effect.REFUSED_YET:
            assert not key.required
