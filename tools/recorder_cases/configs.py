"""DescribeConfigs: topics, the broker, and what is neither."""

from typing import Any

from tools.recorder_cases.model import Call, Case, one_topic

TOPIC, BROKER, BROKER_LOGGER, CLIENT_METRICS, GROUP = 2, 4, 8, 16, 32

# What a broker must say of its topics; the rest of its configs is told by what it has built.
SOME = ["cleanup.policy", "retention.ms", "max.message.bytes", "min.insync.replicas"]
BROKERS_OWN = ["auto.create.topics.enable", "num.partitions", "message.max.bytes",
               "log.retention.hours", "log.segment.bytes",
               "ssl.keystore.password", "default.replication.factor"]  # fmt: skip


def describe(
    *resources: tuple[int, str, list[str] | None], version: int = 4, **fields: Any
) -> Call:
    rows = [
        {"resource_type": kind, "resource_name": name, "configuration_keys": keys}
        for kind, name, keys in resources
    ]
    return Call("describe_configs", version, {"resources": rows, **fields})


TOPICS = (
    *(one_topic(f"describe configs v{v}", describe((TOPIC, "@t", SOME), version=v),
                retention_ms="60000") for v in range(1, 5)),
    *(one_topic(f"describe configs v{v} with synonyms", describe(
        (TOPIC, "@t", SOME), version=v, include_synonyms=True), retention_ms="60000")
      for v in (1, 4)),
    one_topic("describe configs: with documentation", describe(
        (TOPIC, "@t", ["retention.ms"]), include_documentation=True)),
    one_topic("describe configs: all of a topic", describe((TOPIC, "@t", None)),
              cleanup_policy="compact"),
    one_topic("describe configs: no keys", describe((TOPIC, "@t", []))),
    one_topic("describe configs: an unknown key beside a known one", describe(
        (TOPIC, "@t", ["no.such.config", "retention.ms"]))),
    one_topic("describe configs: a key twice", describe(
        (TOPIC, "@t", ["retention.ms", "retention.ms"]))),
    one_topic("describe configs: the same topic twice", describe(
        (TOPIC, "@t", ["retention.ms"]), (TOPIC, "@t", ["segment.ms"]))),
    one_topic("describe configs: a topic that is and one that is not", describe(
        (TOPIC, "@t", ["retention.ms"]), (TOPIC, "@no", ["retention.ms"]))),
    Case("describe configs: an unknown topic", (describe((TOPIC, "@no", None)),)),
    Case("describe configs v1: an unknown topic", (describe((TOPIC, "@no", None), version=1),)),
    Case("describe configs: a name with a slash", (describe((TOPIC, "a/b", None)),)),
    Case("describe configs: an empty name", (describe((TOPIC, "", None)),)),
    Case("describe configs: nothing", (describe(),)),
)  # fmt: skip

BROKERS = (
    *(Case(f"describe configs v{v}: the broker", (
        describe((BROKER, "1", BROKERS_OWN), version=v),)) for v in (1, 4)),
    Case("describe configs: the broker with synonyms", (describe(
        (BROKER, "1", ["log.retention.hours", "message.max.bytes"]), include_synonyms=True),)),
    Case("describe configs: the cluster's defaults", (describe((BROKER, "", BROKERS_OWN)),)),
    Case("describe configs: an unknown key of the broker", (
        describe((BROKER, "1", ["no.such.config"])),)),
    Case("describe configs: another broker", (describe((BROKER, "99", ["num.partitions"])),)),
    Case("describe configs: a broker of no number", (describe((BROKER, "abc", None)),)),
    Case("describe configs: broker -1", (describe((BROKER, "-1", None)),)),
    Case("describe configs: loggers of another broker", (describe((BROKER_LOGGER, "99", None)),)),
    Case("describe configs: loggers of a broker of no number", (
        describe((BROKER_LOGGER, "abc", None)),)),
)  # fmt: skip

KINDS = (
    *(Case(f"describe configs: resource type {kind}", (describe((kind, "x", None)),))
      for kind in (0, 1, 3, 5, 64, -1, 127)),
    Case("describe configs: resource type 0 beside the broker", (describe(
        (0, "x", None), (BROKER, "1", ["num.partitions"])),)),
    Case("describe configs: a group that is not, unknown key", (
        describe((GROUP, "@g", ["no.such.config"])),)),
    Case("describe configs: a group without a name", (describe((GROUP, "", None)),)),
    Case("describe configs: client metrics without a name", (
        describe((CLIENT_METRICS, "", None)),)),
)  # fmt: skip

CASES = (*TOPICS, *BROKERS, *KINDS)
