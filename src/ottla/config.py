"""The configuration of a broker and of its topics (DESIGN D11): what others import.

`config_table` has Kafka's facts, `config_effects` what a key does here and the keys that are only
ours, `config_keys` how a value is read, checked and printed, `config_values` the values of a
broker and a topic, `config_describe` what clients are told about them.
"""

from ottla.config_describe import (
    ConfigRow,
    ConfigSynonym,
    describe_broker,
    describe_cluster_wide,
    describe_created_topic,
    describe_topic,
)
from ottla.config_keys import (
    ConfigKey,
    ConfigSource,
    ConfigType,
    Effect,
    Value,
    format_value,
    parse_value,
)
from ottla.config_values import (
    BROKER_KEYS,
    TOPIC_KEYS,
    BrokerConfig,
    TopicConfig,
    topic_warnings,
    validate_topic_overrides,
)

__all__ = [
    "BROKER_KEYS",
    "TOPIC_KEYS",
    "BrokerConfig",
    "ConfigKey",
    "ConfigRow",
    "ConfigSource",
    "ConfigSynonym",
    "ConfigType",
    "Effect",
    "TopicConfig",
    "Value",
    "describe_broker",
    "describe_cluster_wide",
    "describe_created_topic",
    "describe_topic",
    "format_value",
    "parse_value",
    "topic_warnings",
    "validate_topic_overrides",
]
