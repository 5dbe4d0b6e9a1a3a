"""A broker's values in the order of precedence of KIP-226, and what follows for one topic."""

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from ottla.config_effects import (
    BROKER_EFFECTIVE,
    BROKER_GROUPS,
    OTTLA_KEYS,
    TOPIC_EFFECTIVE,
    TOPIC_GROUPS,
    classed,
)
from ottla.config_keys import (
    ConfigKey,
    Effect,
    Update,
    Value,
    invalid,
    parse_value,
    shown,
)
from ottla.config_table import BROKER, MILLISECONDS, TOPIC
from ottla.errors import Refused

BROKER_KEYS: dict[str, ConfigKey] = classed(BROKER, BROKER_EFFECTIVE, BROKER_GROUPS)
BROKER_KEYS.update((key.name, key) for key in OTTLA_KEYS)
TOPIC_KEYS: dict[str, ConfigKey] = classed(TOPIC, TOPIC_EFFECTIVE, TOPIC_GROUPS)

# Inside the class below, `int` is one of its getters.
_Int = int

_CLUSTER_WIDE = (Update.CLUSTER_WIDE,)
_PER_BROKER = (Update.CLUSTER_WIDE, Update.PER_BROKER)
_LISTENER_PREFIX = "listener.name."


class BrokerConfig:
    """A broker's values: Kafka's defaults, the static file over them, then what was altered.

    The raw texts of each layer stay, because DescribeConfigs shows them as synonyms.
    """

    __slots__ = ("cluster_wide", "per_broker", "static", "values")

    def __init__(
        self,
        static: Mapping[str, str],
        cluster_wide: Mapping[str, str],
        per_broker: Mapping[str, str],
        values: Mapping[str, Value],
    ) -> None:
        self.static = static
        self.cluster_wide = cluster_wide
        self.per_broker = per_broker
        self.values = values

    @classmethod
    def load(cls, static: Mapping[str, str]) -> "tuple[BrokerConfig, list[str]]":
        """From the keys of a static file and the command line, with warnings for the log.

        Refused with INVALID_CONFIG where Kafka would not start, or where to go on without a key
        that is not built would be worse than to stop.
        """
        texts = _with_both_ids(static)
        values = {name: key.default for name, key in BROKER_KEYS.items()}
        warnings: list[str] = []
        for name, text in texts.items():
            if name.startswith(_LISTENER_PREFIX):
                raise invalid(f"{name}: keys of a single listener are not built yet")
            key = BROKER_KEYS.get(name)
            if key is None:
                warnings.append(f"{shown(name)} is no configuration key: ignored")
                continue
            values[name] = parse_value(key, text)
            warnings += _effect_warnings(key, values[name])
        config = cls(texts, {}, {}, values)
        _check_together(config)
        return config, warnings

    def with_dynamic(
        self, cluster_wide: Mapping[str, str], per_broker: Mapping[str, str]
    ) -> "BrokerConfig":
        """The same static file under what the metadata log says (KIP-226).

        What is stored was accepted once, perhaps by another version: a key or value that cannot
        be used here is passed over, never refused.
        """
        texts = dict(self.static)
        layers = []
        for layer, updates in ((cluster_wide, _CLUSTER_WIDE), (per_broker, _PER_BROKER)):
            usable = {
                name: text for name, text in layer.items() if _is_dynamic(name, text, updates)
            }
            layers.append(usable)
            for name, text in usable.items():
                # Otherwise a static log.retention.ms would outrank an altered hours key.
                for synonym in BROKER_KEYS[name].synonyms or (name,):
                    texts.pop(synonym, None)
                texts[name] = text
        values = {
            name: parse_value(key, texts[name]) if name in texts else key.default
            for name, key in BROKER_KEYS.items()
        }
        return BrokerConfig(self.static, layers[0], layers[1], values)

    def int(self, name: str) -> _Int:
        value = self._value(name)
        assert isinstance(value, _Int)
        assert not isinstance(value, bool)
        return value

    def boolean(self, name: str) -> bool:
        value = self._value(name)
        assert isinstance(value, bool)
        return value

    def string(self, name: str) -> str:
        value = self._value(name)
        assert isinstance(value, str)
        return value

    def list(self, name: str) -> tuple[str, ...]:
        value = self._value(name)
        assert isinstance(value, tuple)
        return value

    def is_set(self, name: str) -> bool:
        """Whether there is a value at all, its default included."""
        assert name in BROKER_KEYS
        return self.values[name] is not None

    def log_dirs(self) -> tuple[str, ...]:
        return self.list("log.dirs" if self.is_set("log.dirs") else "log.dir")

    def is_durable(self) -> bool:
        return self.string("ottla.durability") == "durable"

    def _value(self, name: str) -> Value:
        key = BROKER_KEYS[name]
        # The class that users are told follows from this line: what is read is effective.
        assert key.effect is Effect.EFFECTIVE, f"{name} is read, but is not classed as effective"
        value = self.values[name]
        if value is None:
            raise invalid(f"{name} must be set")
        return value

    def topic_default(self, key: ConfigKey) -> Value:
        """What a topic key is where the topic does not say."""
        for name in key.synonyms:
            value = self.values[name]
            if value is None:
                continue
            if name in MILLISECONDS:
                assert isinstance(value, _Int)
                value *= MILLISECONDS[name]
            if key.name == "retention.ms":
                assert isinstance(value, _Int)
                value = max(value, -1)  # any negative retention means "keep"
            return value
        return key.default


def _with_both_ids(static: Mapping[str, str]) -> dict[str, str]:
    """node.id and broker.id are one number, and Kafka describes both."""
    texts = dict(static)
    for name, twin in (("node.id", "broker.id"), ("broker.id", "node.id")):
        if name in texts:
            texts.setdefault(twin, texts[name])
    return texts


def _is_dynamic(name: str, text: str, updates: tuple[Update, ...]) -> bool:
    key = BROKER_KEYS.get(name)
    return key is not None and key.update in updates and _parse_or_none(key, text) is not None


def _parse_or_none(key: ConfigKey, text: str) -> Value:
    try:
        return parse_value(key, text)
    except Refused:
        return None


def _effect_warnings(key: ConfigKey, value: Value) -> list[str]:
    if key.effect is Effect.EFFECTIVE or value == key.default:
        return []
    if key.effect is Effect.REFUSED_YET:
        raise invalid(f"{key.name} is {key.effect.value}. {key.about}")
    return [f"{key.name} is {key.effect.value}. {key.about}"]


def _check_together(config: BrokerConfig) -> None:
    """Kafka's rules over several keys at start, for the keys that work here."""
    values = config.values
    if values["node.id"] is not None and values["node.id"] != values["broker.id"]:
        raise invalid("node.id and broker.id must be the same number")
    if not config.log_dirs():
        raise invalid("log.dirs must name a directory")
    for name, low in (("segment.ms", 1), ("segment.jitter.ms", 0), ("flush.ms", 0)):
        key = TOPIC_KEYS[name]
        value = config.topic_default(key)
        assert isinstance(value, int)
        if value < low:
            raise invalid(f"{' or '.join(key.synonyms)}: it must be at least {low} ms")
    if config.topic_default(TOPIC_KEYS["retention.ms"]) == 0:
        raise invalid("log.retention.ms, minutes or hours: it must not be 0; -1 keeps everything")
    memory_bytes = config.int("queued.max.request.bytes")
    request_bytes = config.int("socket.request.max.bytes")
    if 0 < memory_bytes < request_bytes:
        raise invalid(
            f"queued.max.request.bytes: {memory_bytes} is not valid, it must hold one request of "
            f"socket.request.max.bytes ({request_bytes}); -1 leaves it to us"
        )
    if config.int("max.connections.per.ip") == 0:
        raise invalid("max.connections.per.ip: at 0 nobody could connect")
    _check_listeners(config)


def _check_listeners(config: BrokerConfig) -> None:
    """A listener that was asked to protect itself must not open without that."""
    protocols: dict[str, str] = {}
    for entry in config.string("listener.security.protocol.map").split(","):
        name, _, protocol = entry.strip().rpartition(":")
        protocols[name.strip().upper()] = protocol.strip().upper()
    controllers = config.values["controller.listener.names"]
    if "listener.security.protocol.map" not in config.static and isinstance(controllers, tuple):
        for name in controllers:
            protocols.setdefault(name.upper(), "PLAINTEXT")
    for listener in config.list("listeners"):
        own = listener.partition("://")[0].upper()
        if own not in protocols:
            raise invalid(f"listeners: listener.security.protocol.map has no {shown(own)}")
        if protocols[own] != "PLAINTEXT":
            raise invalid(f"listeners: {own} is to speak {protocols[own]}, which is not built yet")


class TopicConfig(NamedTuple):
    """What holds for one topic: its own settings over its broker's."""

    segment_bytes: int
    segment_ms: int
    segment_jitter_ms: int
    segment_index_bytes: int
    index_interval_bytes: int
    retention_ms: int
    retention_bytes: int
    max_message_bytes: int
    compression_type: str
    compacted: bool
    deletes: bool
    delete_retention_ms: int
    min_compaction_lag_ms: int
    max_compaction_lag_ms: int
    min_cleanable_dirty_ratio: float
    log_append_time: bool
    message_timestamp_before_max_ms: int
    message_timestamp_after_max_ms: int
    min_insync_replicas: int
    flush_messages: int
    flush_ms: int
    file_delete_delay_ms: int
    preallocate: bool
    unclean_leader_election: bool

    @classmethod
    def resolve(cls, overrides: Mapping[str, str], broker: BrokerConfig) -> "TopicConfig":
        values = topic_values(overrides, broker)

        def whole(name: str) -> int:
            value = values[name]
            assert isinstance(value, int)
            return value

        policy = values["cleanup.policy"]
        ratio = values["min.cleanable.dirty.ratio"]
        assert isinstance(policy, tuple)
        assert isinstance(ratio, float)
        segment = values["internal.segment.bytes"]
        return cls(
            segment_bytes=whole("segment.bytes" if segment is None else "internal.segment.bytes"),
            segment_ms=whole("segment.ms"),
            segment_jitter_ms=whole("segment.jitter.ms"),
            segment_index_bytes=whole("segment.index.bytes"),
            index_interval_bytes=whole("index.interval.bytes"),
            retention_ms=whole("retention.ms"),
            retention_bytes=whole("retention.bytes"),
            max_message_bytes=whole("max.message.bytes"),
            compression_type=str(values["compression.type"]),
            compacted="compact" in policy,
            deletes="delete" in policy,
            delete_retention_ms=whole("delete.retention.ms"),
            min_compaction_lag_ms=whole("min.compaction.lag.ms"),
            max_compaction_lag_ms=whole("max.compaction.lag.ms"),
            min_cleanable_dirty_ratio=ratio,
            log_append_time=values["message.timestamp.type"] == "LogAppendTime",
            message_timestamp_before_max_ms=whole("message.timestamp.before.max.ms"),
            message_timestamp_after_max_ms=whole("message.timestamp.after.max.ms"),
            min_insync_replicas=whole("min.insync.replicas"),
            flush_messages=whole("flush.messages"),
            flush_ms=whole("flush.ms"),
            file_delete_delay_ms=whole("file.delete.delay.ms"),
            preallocate=values["preallocate"] is True,
            unclean_leader_election=values["unclean.leader.election.enable"] is True,
        )


def topic_values(overrides: Mapping[str, str], broker: BrokerConfig) -> dict[str, Value]:
    """Every topic key's value. Stored overrides that cannot be used are passed over (D11)."""
    values: dict[str, Value] = {}
    for name, key in TOPIC_KEYS.items():
        value = _parse_or_none(key, overrides[name]) if name in overrides else None
        values[name] = broker.topic_default(key) if value is None else value
    return values


def validate_topic_overrides(
    overrides: Mapping[str, str | None], broker: BrokerConfig | None = None
) -> None:
    """INVALID_CONFIG for what Kafka refuses when a topic is created.

    The rules over several keys take what the topic leaves open from `broker`.
    """
    nulls = [name for name, text in overrides.items() if text is None]
    if nulls:
        raise invalid(f"a topic's configuration must not be null: {_names(nulls)}")
    unknown = [name for name in overrides if name not in TOPIC_KEYS]
    if unknown:
        raise invalid(f"unknown topic configuration: {_names(unknown)}")
    values: dict[str, Value] = {}
    for name, text in overrides.items():
        assert text is not None
        key = TOPIC_KEYS[name]
        values[name] = parse_value(key, text)
        _effect_warnings(key, values[name])
    lags_ms = []
    for name in ("min.compaction.lag.ms", "max.compaction.lag.ms"):
        key = TOPIC_KEYS[name]
        default = key.default if broker is None else broker.topic_default(key)
        lag_ms = values.get(name, default)
        assert isinstance(lag_ms, int)
        lags_ms.append(lag_ms)
    if lags_ms[0] > lags_ms[1]:
        raise invalid(
            f"min.compaction.lag.ms ({lags_ms[0]}) must not be more than "
            f"max.compaction.lag.ms ({lags_ms[1]})"
        )


def _names(names: Iterable[str]) -> str:
    return ", ".join(shown(name) for name in names)


def topic_warnings(overrides: Mapping[str, str]) -> list[str]:
    """For the log, once a topic: what was set, is stored, and does nothing here."""
    warnings: list[str] = []
    for name, text in overrides.items():
        key = TOPIC_KEYS.get(name)
        if key is None:
            warnings.append(f"{shown(name)} is no topic configuration: kept and ignored")
            continue
        value = _parse_or_none(key, text)
        if value is None:
            warnings.append(f"{name}: {shown(text)} cannot be used: the broker's value holds")
        elif key.effect is not Effect.EFFECTIVE and value != key.default:
            warnings.append(f"{name} is {key.effect.value}. {key.about}")
    return warnings
