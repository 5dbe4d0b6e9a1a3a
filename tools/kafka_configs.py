"""Kafka's configuration keys: our table against the definitions in Kafka's own jars.

`write` renders `src/ottla/config_table.py` from the jars (facts only: types, defaults, bounds) and
`docs/reference/config.md` from our table; `check` reports every difference of both; `record` asks
a real broker what it describes and refuses, and writes its answers under `tests/recorded_configs`.
"""

import argparse
import json
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from ottla.config_keys import (
    ConfigKey,
    ConfigType,
    Effect,
    ListForm,
    ListOf,
    NonEmpty,
    OneOf,
    Range,
    Update,
    Valid,
    format_value,
    parse_value,
)

ROOT = Path(__file__).resolve().parent.parent
TABLE = ROOT / "src" / "ottla" / "config_table.py"
PAGE = ROOT / "docs" / "reference" / "config.md"

DUMP_JAVA = """
import com.fasterxml.jackson.databind.ObjectMapper;
import java.lang.reflect.Field;
import java.util.*;
import org.apache.kafka.common.config.ConfigDef;
import org.apache.kafka.server.config.*;
import org.apache.kafka.storage.internals.log.LogConfig;

public class DumpConfigs {
    static final Map<String, String> MODES = DynamicBrokerConfig.dynamicConfigUpdateModes();

    static Object field(Object owner, String name) throws Exception {
        Field field = owner.getClass().getDeclaredField(name);
        field.setAccessible(true);
        return field.get(owner);
    }

    static Map<String, Object> valid(ConfigDef.Validator validator) throws Exception {
        Map<String, Object> out = new LinkedHashMap<>();
        String form = validator.getClass().getSimpleName();
        out.put("form", form);
        out.put("text", validator.toString());
        if (form.equals("Range")) {
            out.put("low", field(validator, "min"));
            out.put("high", field(validator, "max"));
        } else if (form.equals("ValidString")) {
            out.put("values", field(validator, "validStrings"));
        } else if (form.equals("CaseInsensitiveValidString")) {
            out.put("values", new TreeSet<>((Set<String>) field(validator, "validStrings")));
        } else if (form.equals("ValidList")) {
            out.put("values", field(field(validator, "validString"), "validStrings"));
            out.put("empty", field(validator, "isEmptyAllowed"));
        }
        return out;
    }

    static List<Object> keys(Map<String, ConfigDef.ConfigKey> keys, boolean broker)
            throws Exception {
        List<Object> out = new ArrayList<>();
        for (ConfigDef.ConfigKey key : new TreeMap<>(keys).values()) {
            Map<String, Object> row = new LinkedHashMap<>();
            row.put("name", key.name);
            row.put("type", key.type.toString());
            row.put("required", !key.hasDefault());
            row.put("default", key.hasDefault() && key.defaultValue != null
                ? ConfigDef.convertToString(key.defaultValue, key.type) : null);
            row.put("valid", key.validator == null ? null : valid(key.validator));
            row.put("importance", key.importance.toString());
            row.put("internal", key.internalConfig);
            row.put("sensitive", key.type.isSensitive());
            row.put("update", broker ? MODES.getOrDefault(key.name, "read-only") : "cluster-wide");
            row.put("synonyms", broker
                ? DynamicBrokerConfig.brokerConfigSynonyms(key.name, true) : List.of());
            out.add(row);
        }
        return out;
    }

    public static void main(String[] arguments) throws Exception {
        Map<String, Object> synonyms = new TreeMap<>();
        Map<String, Object> units = new TreeMap<>();
        ServerTopicConfigSynonyms.ALL_TOPIC_CONFIG_SYNONYMS.forEach((topic, brokers) -> {
            synonyms.put(topic, brokers.stream().map(ConfigSynonym::name).toList());
            for (ConfigSynonym each : brokers) {
                units.put(each.name(), Long.parseLong(each.converter().apply("1")));
            }
        });
        Map<String, Object> out = new LinkedHashMap<>();
        out.put("broker", keys(AbstractKafkaConfig.CONFIG_DEF.configKeys(), true));
        out.put("topic", keys(LogConfig.configKeys(), false));
        out.put("synonyms", synonyms);
        out.put("units", units);
        System.out.println(new ObjectMapper().writeValueAsString(out));
    }
}
"""


def dump() -> dict[str, Any]:
    """What the jars define, as Java tells it."""
    from tools import kafka

    with tempfile.TemporaryDirectory() as folder:
        source = Path(folder) / "DumpConfigs.java"
        source.write_text(DUMP_JAVA)
        done = subprocess.run(
            ["java", "-XX:TieredStopAtLevel=1", "-cp", f"{kafka.jars()}/*", str(source)],
            capture_output=True,
            text=True,
            check=False,
        )
    if done.returncode != 0:
        raise SystemExit(f"Java could not read Kafka's definitions:\n{done.stderr}")
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def facts(dumped: dict[str, Any]) -> tuple[list[ConfigKey], list[ConfigKey], dict[str, int]]:
    """The jars' definitions in our terms: broker keys, topic keys, milliseconds in a unit."""
    alone = {row["name"] for row in dumped["broker"] if row["synonyms"] == [row["name"]]}
    broker = [
        _key(row, () if row["name"] in alone else row["synonyms"]) for row in dumped["broker"]
    ]
    topic = [_key(row, dumped["synonyms"].get(row["name"], ())) for row in dumped["topic"]]
    units = {name: times for name, times in dumped["units"].items() if times != 1}
    return broker, topic, units


def _key(row: dict[str, Any], synonyms: Iterable[str]) -> ConfigKey:
    key = ConfigKey(
        row["name"],
        ConfigType[row["type"]],
        None,
        importance=row["importance"].lower(),
        update=Update(row["update"]),
        required=row["required"],
        internal=row["internal"],
        synonyms=tuple(synonyms),
    )
    assert key.sensitive == row["sensitive"]
    if row["default"] is not None:
        key = key._replace(default=parse_value(key, row["default"]))
    return key._replace(valid=_valid(row["valid"]))


def _valid(found: dict[str, Any] | None) -> Valid | None:
    if found is None:
        return None
    forms: dict[str, Callable[[], Valid | None]] = {
        "Range": lambda: Range(found["low"], found["high"]),
        "ValidString": lambda: OneOf(tuple(found["values"])),
        "CaseInsensitiveValidString": lambda: OneOf(tuple(found["values"]), ignore_case=True),
        "ValidList": lambda: ListOf(tuple(found["values"]), may_be_empty=found["empty"]),
        "NonEmptyString": NonEmpty,
        # Text that was given is never null.
        "NonNullValidator": lambda: None,
        "ThrottledReplicaListValidator": lambda: ListForm.REPLICAS,
        "ControllerQuorumVotersValidator": lambda: ListForm.VOTERS,
        "ControllerQuorumBootstrapServersValidator": lambda: ListForm.SERVERS,
    }
    if found["form"] == "LambdaValidator" and found["text"] == "[1,...,9] or -1":
        return Range(1, 9, also=-1)
    return forms[found["form"]]()


def render_table(broker: list[ConfigKey], topic: list[ConfigKey], units: dict[str, int]) -> str:
    """The text of `config_table.py`, before ruff lays it out."""
    head = (
        '"""Kafka\'s configuration keys, written from its jars by tools/kafka_configs.py.\n'
        "\n"
        "Facts only. What a key does here stands in `config_effects.py`.\n"
        '"""\n\n'
        "from ottla.config_keys import ConfigKey, ConfigType, ListForm, ListOf, NonEmpty, OneOf,"
        " Range, Update\n\n"
    )
    names = [kind.name for kind in ConfigType if kind is not ConfigType.UNKNOWN]
    aliases = "".join(f"{name} = ConfigType.{name}\n" for name in names)
    aliases += "".join(f"{mode.name} = Update.{mode.name}\n" for mode in Update)
    rows = [
        f"{title}: tuple[ConfigKey, ...] = (" + "".join(f"{_row(key)}," for key in keys) + ")\n"
        for title, keys in (("BROKER", broker), ("TOPIC", topic))
    ]
    return f"{head}{aliases}\n{rows[0]}\n{rows[1]}\nMILLISECONDS: dict[str, int] = {units!r}\n"


def _row(key: ConfigKey) -> str:
    parts = [repr(key.name), key.kind.name, repr(key.default)]
    for name in ("valid", "importance", "update", "required", "internal", "synonyms"):
        value = getattr(key, name)
        if value == ConfigKey._field_defaults[name]:
            continue
        if isinstance(value, Update):
            value = value.name
        elif name == "valid":
            value = _valid_text(value)
        else:
            value = repr(value)
        parts.append(f"{name}={value}")
    return f"ConfigKey({', '.join(parts)})"


def _valid_text(valid: Valid) -> str:
    if isinstance(valid, ListForm):
        return f"ListForm.{valid.name}"
    named = [
        f"{name}={value!r}"
        for name, value in valid._asdict().items()
        if value != valid._field_defaults.get(name)
    ]
    return f"{type(valid).__name__}({', '.join(named)})"


def differences() -> list[str]:
    """Where our table and the jars disagree, a line each."""
    from ottla import config_table as ours

    broker, topic, units = facts(dump())
    found = [] if units == ours.MILLISECONDS else [f"units: Kafka has {units}"]
    for title, theirs, table in (("broker", broker, ours.BROKER), ("topic", topic, ours.TOPIC)):
        mine = {key.name: key for key in table}
        for key in theirs:
            if mine.pop(key.name, None) != key:
                found.append(f"{title} key {key.name}: Kafka has {_row(key)}")
        found += [f"{title} key {name}: Kafka has no such key" for name in mine]
    return found


PAGE_HEAD = """# Configuration keys

<!-- Written by `python -m tools.kafka_configs write`: do not edit. -->

Kafka's names, types, defaults and bounds, as Apache Kafka 4.3 defines them. Broker keys come from
`--config FILE` and `--set key=value`, topic keys with the creation of a topic.

Each key is of one class: **effective**; **accepted, no effect here**; **accepted, not yet
effective** (checked, stored, described, warned about once); or **refused until it is built**,
where a value that is not the default would lose data or drop a protection in silence. A key that
stands in none of these tables is unknown: refused by name in a request, warned about in a file.
"""


def render_page() -> str:
    """The text of `docs/reference/config.md`."""
    from ottla.config import BROKER_KEYS, TOPIC_KEYS

    parts = [PAGE_HEAD]
    for title, keys in (("Broker keys", BROKER_KEYS), ("Topic keys", TOPIC_KEYS)):
        parts.append(f"## {title}\n")
        for effect in Effect:
            chosen = [key for key in keys.values() if key.effect is effect]
            parts.append(f"### {title}: {effect.value}\n")
            if effect is Effect.EFFECTIVE:
                parts.append(_page_table(chosen, with_about=True))
                continue
            for why in dict.fromkeys(key.about for key in chosen):
                parts.append(f"{why}\n")
                parts.append(_page_table([key for key in chosen if key.about == why]))
    return "\n".join(parts)


def _page_table(keys: list[ConfigKey], *, with_about: bool = False) -> str:
    lines = [
        "| key | type | default | valid | importance | changes |" + " about |" * with_about,
        "|---|---|---|---|---|---|" + "---|" * with_about,
    ]
    for key in keys:
        default = format_value(key, key.default)
        cells = [
            f"`{key.name}`" + " (internal)" * key.internal,
            key.kind.name.lower(),
            "must be set" if key.required else f"`{default}`" if default else "none",
            str(key.valid or ""),
            key.importance,
            key.update.value,
        ]
        lines.append("| " + " | ".join([*cells, key.about][: 6 + with_about]) + " |")
    return "\n".join(lines) + "\n"


def write() -> None:
    TABLE.write_text(render_table(*facts(dump())))
    for step in (["check", "--fix", "--select=F401", "-q"], ["format", "-q"]):
        subprocess.run([sys.executable, "-m", "ruff", *step, str(TABLE)], check=True)
    PAGE.parent.mkdir(parents=True, exist_ok=True)
    PAGE.write_text(render_page())


def check() -> int:
    found = differences()
    if not PAGE.exists() or PAGE.read_text() != render_page():
        found.append(f"{PAGE.relative_to(ROOT)} is not current: run `write`")
    for line in found:
        print(line)
    print(f"{len(found)} differences to Apache Kafka's jars")
    return 1 if found else 0


def record() -> None:
    raise SystemExit("later")


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tools.kafka_configs", description=__doc__)
    parser.add_argument("command", choices=("write", "check", "record"))
    command = parser.parse_args().command
    if command == "check":
        return check()
    if command == "write":
        write()
    else:
        record()
    return 0


if __name__ == "__main__":
    sys.exit(main())
