"""What DescribeConfigs and CreateTopics say about keys, as Kafka 4.3 says it (KIP-133, KIP-226).

Its rules have corners that clients see, so recorded answers hold them: a key that is not set
itself shows no synonyms even where one of them gives its value, and its source is then the
default; unknown keys of a static file are listed as sensitive, of unknown type.
"""

from collections.abc import Collection, Mapping
from typing import NamedTuple

from ottla.config_keys import ConfigKey, ConfigSource, ConfigType, format_value, parse_value
from ottla.config_table import MILLISECONDS
from ottla.config_values import BROKER_KEYS, TOPIC_KEYS, BrokerConfig, topic_values


class ConfigSynonym(NamedTuple):
    name: str
    value: str | None
    source: ConfigSource


class ConfigRow(NamedTuple):
    name: str
    value: str | None
    source: ConfigSource
    read_only: bool
    sensitive: bool
    synonyms: tuple[ConfigSynonym, ...]
    kind: ConfigType
    documentation: str | None


def describe_topic(
    overrides: Mapping[str, str],
    broker: BrokerConfig,
    names: Collection[str] | None = None,
    include_synonyms: bool = False,
    include_documentation: bool = False,
) -> list[ConfigRow]:
    """A topic's keys. No names, as null or as an empty list, asks for all of them."""
    values = topic_values(overrides, broker)
    rows: list[ConfigRow] = []
    for name in _listed(TOPIC_KEYS, overrides, names):
        key = TOPIC_KEYS.get(name)
        value = None if key is None or key.sensitive else format_value(key, values[name])
        synonyms: list[ConfigSynonym] = []
        if name in overrides:
            synonyms.append(ConfigSynonym(name, value, ConfigSource.DYNAMIC_TOPIC_CONFIG))
        if key is not None and key.synonyms:
            synonyms += _broker_synonyms(broker, key.synonyms[0])
        rows.append(
            _row(name, key, value, False, synonyms, include_synonyms, include_documentation)
        )
    return rows


def describe_broker(
    broker: BrokerConfig,
    names: Collection[str] | None = None,
    include_synonyms: bool = False,
    include_documentation: bool = False,
) -> list[ConfigRow]:
    """The keys of the broker that answers."""
    rows: list[ConfigRow] = []
    for name in _listed(BROKER_KEYS, broker.static, names):
        key = BROKER_KEYS.get(name)
        value = None if key is None or key.sensitive else format_value(key, broker.values[name])
        synonyms = _broker_synonyms(broker, name)
        read_only = key is None or key.read_only
        rows.append(
            _row(name, key, value, read_only, synonyms, include_synonyms, include_documentation)
        )
    return rows


def describe_cluster_wide(
    broker: BrokerConfig,
    names: Collection[str] | None = None,
    include_synonyms: bool = False,
    include_documentation: bool = False,
) -> list[ConfigRow]:
    """What was altered for all brokers: the answer for a broker resource without a name."""
    rows: list[ConfigRow] = []
    for name in _listed({}, broker.cluster_wide, names):
        key = BROKER_KEYS[name]
        value = None if key.sensitive else broker.cluster_wide[name]
        synonyms = [ConfigSynonym(name, value, ConfigSource.DYNAMIC_DEFAULT_BROKER_CONFIG)]
        rows.append(
            _row(name, key, value, False, synonyms, include_synonyms, include_documentation)
        )
    return rows


def describe_created_topic(overrides: Mapping[str, str], broker: BrokerConfig) -> list[ConfigRow]:
    """The keys in a CreateTopics answer (KIP-525): values as they were written, not as read."""
    rows: list[ConfigRow] = []
    for name in sorted(TOPIC_KEYS):
        key = TOPIC_KEYS[name]
        value, source = _created_value(key, overrides, broker)
        if value is not None:
            rows.append(ConfigRow(name, value, source, False, key.sensitive, (), key.kind, None))
    return rows


def _created_value(
    key: ConfigKey, overrides: Mapping[str, str], broker: BrokerConfig
) -> tuple[str | None, ConfigSource]:
    if key.name in overrides:
        return overrides[key.name], ConfigSource.DYNAMIC_TOPIC_CONFIG
    for texts, source in _layers(broker):
        for name in key.synonyms:
            if name not in texts:
                continue
            if name not in MILLISECONDS:
                return texts[name], source
            value = parse_value(BROKER_KEYS[name], texts[name])
            assert isinstance(value, int)
            return str(value * MILLISECONDS[name]), source
    return format_value(key, key.default), ConfigSource.DEFAULT_CONFIG


def _layers(broker: BrokerConfig) -> tuple[tuple[Mapping[str, str], ConfigSource], ...]:
    """What was set on a broker, the strongest layer first."""
    return (
        (broker.per_broker, ConfigSource.DYNAMIC_BROKER_CONFIG),
        (broker.cluster_wide, ConfigSource.DYNAMIC_DEFAULT_BROKER_CONFIG),
        (broker.static, ConfigSource.STATIC_BROKER_CONFIG),
    )


def _listed(
    keys: Mapping[str, ConfigKey], also: Mapping[str, str], names: Collection[str] | None
) -> list[str]:
    """Names in order; internal keys and those of no table only where they were set."""
    known = dict.fromkeys(name for name, key in keys.items() if not key.internal)
    known.update(dict.fromkeys(also))
    wanted = known if not names else dict.fromkeys(names)
    return sorted(name for name in known if name in wanted)


def _broker_synonyms(broker: BrokerConfig, name: str) -> list[ConfigSynonym]:
    key = BROKER_KEYS.get(name)
    names = key.synonyms if key is not None and key.synonyms else (name,)
    found: list[ConfigSynonym] = []
    for texts, source in _layers(broker):
        found += [ConfigSynonym(each, texts[each], source) for each in names if each in texts]
    for each in names:
        default = None if key is None else BROKER_KEYS[each].default
        if default is not None:
            text = format_value(BROKER_KEYS[each], default)
            found.append(ConfigSynonym(each, text, ConfigSource.DEFAULT_CONFIG))
    if key is None or key.sensitive:
        found = [synonym._replace(value=None) for synonym in found]
    # Kafka drops what comes before the key's own first place, so all if it has none.
    own = next((at for at, synonym in enumerate(found) if synonym.name == name), len(found))
    return found[own:]


def _row(
    name: str,
    key: ConfigKey | None,
    value: str | None,
    read_only: bool,
    synonyms: list[ConfigSynonym],
    include_synonyms: bool,
    include_documentation: bool,
) -> ConfigRow:
    return ConfigRow(
        name,
        value,
        synonyms[0].source if synonyms else ConfigSource.DEFAULT_CONFIG,
        read_only,
        key is None or key.sensitive,
        tuple(synonyms) if include_synonyms else (),
        ConfigType.UNKNOWN if key is None else key.kind,
        key.about if include_documentation and key is not None else None,
    )
