"""Kafka's configuration keys: our table against the definitions in Kafka's own jars.

`write` renders `src/ottla/config_table.py` from the jars (facts only: types, defaults, bounds) and
`docs/reference/config.md` from our table; `check` reports every difference of both; `record` asks
a real broker what it describes and refuses, and writes its answers under `tests/recorded_configs`.
"""

import argparse
import importlib
import io
import json
import socket
import struct
import subprocess
import sys
import tempfile
import textwrap
import time
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
from tools import kafka

ROOT = Path(__file__).resolve().parent.parent
TABLE = ROOT / "src" / "ottla" / "config_table.py"
RECORDED = ROOT / "tests" / "recorded_configs"
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
    found: dict[str, Any] = json.loads(_java(DUMP_JAVA))
    return found


def _java(program: str, asked: str = "") -> str:
    with tempfile.TemporaryDirectory() as folder:
        source = Path(folder) / "Ask.java"
        source.write_text(program)
        done = subprocess.run(
            ["java", "-XX:TieredStopAtLevel=1", "-cp", f"{kafka.jars()}/*", str(source)],
            input=asked,
            capture_output=True,
            text=True,
            check=False,
        )
    if done.returncode != 0:
        raise SystemExit(f"Java could not answer:\n{done.stderr}")
    return done.stdout


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


TABLE_HEAD = """\"\"\"Kafka's configuration keys, written from its jars by tools/kafka_configs.py.

Facts only: what a key does here stands in `config_effects.py`.
\"\"\"

from ottla.config_keys import ConfigKey as K
from ottla.config_keys import ConfigType, ListForm, ListOf, NonEmpty, OneOf, Range, Update

"""


def render_table(broker: list[ConfigKey], topic: list[ConfigKey], units: dict[str, int]) -> str:
    """The text of `config_table.py`: a key a line, which no formatter would leave so."""
    kinds = [f"ConfigType.{kind.name}" for kind in ConfigType if kind is not ConfigType.UNKNOWN]
    names = [*kinds, "Update.PER_BROKER", "Update.CLUSTER_WIDE"]
    lines = [f"{name.partition('.')[2]} = {name}" for name in names]
    lines += ['HIGH = "high"', 'LOW = "low"', "", "# fmt: off"]
    for title, keys in (("BROKER", broker), ("TOPIC", topic)):
        lines += [f"{title}: tuple[K, ...] = (", *(_wrapped(_row(key)) for key in keys), ")", ""]
    lines += ["MILLISECONDS: dict[str, int] = {"]
    lines += [f"    {_literal(name)}: {times}," for name, times in units.items()]
    return TABLE_HEAD + "\n".join([*lines, "}", "# fmt: on", ""])


def _wrapped(row: str) -> str:
    parts = textwrap.wrap(f"{row},", 96, break_long_words=False, break_on_hyphens=False)
    return "\n".join(("      " if at else "    ") + part for at, part in enumerate(parts))


def _row(key: ConfigKey) -> str:
    parts = [_literal(key.name), key.kind.name, _literal(key.default)]
    if key.valid is not None:
        parts.append(_valid_text(key.valid))
    for name in ("importance", "update", "required", "internal", "synonyms"):
        value = getattr(key, name)
        if value != ConfigKey._field_defaults[name]:
            parts.append(f"{name}={_literal(value)}")
    return f"K({', '.join(parts)})"


def _valid_text(valid: Valid) -> str:
    if isinstance(valid, ListForm):
        return f"ListForm.{valid.name}"
    given = [
        f"{name}={_literal(value)}" if at else _literal(value)
        for at, (name, value) in enumerate(valid._asdict().items())
        if not at or value != valid._field_defaults[name]
    ]
    return f"{type(valid).__name__}({', '.join(given)})"


def _literal(value: object) -> str:
    if isinstance(value, Update):
        return value.name
    if isinstance(value, tuple):
        return f"({', '.join(map(_literal, value))}{',' * (len(value) == 1)})"
    if value in ("high", "low"):
        return str(value).upper()
    return json.dumps(value) if isinstance(value, str) else repr(value)


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
<!-- generated by tools.kafka_configs:render_page -->

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


ASK_JAVA = """
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.StringReader;
import java.util.*;

public class AskConfigs {
    static Object attempt(java.util.concurrent.Callable<Object> call) {
        try {
            return call.call();
        } catch (Exception refused) {
            return null;
        }
    }

    public static void main(String[] arguments) throws Exception {
        ObjectMapper json = new ObjectMapper();
        Map<String, List<Object>> cases = json.readValue(System.in, Map.class);
        List<Object> starts = new ArrayList<>();
        for (Object each : cases.get("static")) {
            starts.add(attempt(() -> {
                Properties given = new Properties();
                given.putAll((Map<String, String>) each);
                kafka.server.KafkaConfig.fromProps(given);
                return true;
            }) != null);
        }
        List<Object> loaded = new ArrayList<>();
        for (Object each : cases.get("properties")) {
            loaded.add(attempt(() -> {
                Properties found = new Properties();
                found.load(new StringReader((String) each));
                return new TreeMap<>(found);
            }));
        }
        List<Object> doubles = new ArrayList<>();
        for (Object each : cases.get("doubles")) {
            doubles.add(attempt(() -> Double.toString(Double.parseDouble((String) each))));
        }
        System.out.println(json.writeValueAsString(
            Map.of("static", starts, "properties", loaded, "doubles", doubles)));
    }
}
"""


def record() -> None:
    """Ask Kafka everything in `tests/recorded_configs/cases.json`; write down its answers."""
    cases = json.loads((RECORDED / "cases.json").read_text())
    asked = {name: cases[name] for name in ("static", "properties", "doubles")}
    asked["static"] = [cases["static_base"] | case for case in cases["static"]]
    heard = json.loads(_java(ASK_JAVA, json.dumps(asked)))
    answers: dict[str, Any] = {
        name: list(map(list, zip(cases[name], heard[name], strict=True))) for name in heard
    }
    answers["create"], answers["describe"] = [], []
    for scenario in cases["describe"]:
        with kafka.kafka_broker(scenario["static"], heap="512M") as broker:
            asker = Asker(broker.port)
            text = (broker.data_dir / kafka.PROPERTIES_NAME).read_text()
            described = asker.play(
                scenario, dict(line.split("=", 1) for line in text.split("\n") if line)
            )
            # Ports and folders of this machine and hour are no facts.
            controller = described["static"]["controller.quorum.bootstrap.servers"]
            plain = json.dumps(described).replace(str(broker.data_dir), "/data")
            plain = plain.replace(controller, "127.0.0.1:9093")
            answers["describe"].append(
                json.loads(plain.replace(broker.bootstrap, "127.0.0.1:9092"))
            )
            if not answers["create"]:
                answers["create"] = [
                    [each, asker.create("new", each, True)[0]] for each in cases["create"]
                ]
    for name, found in answers.items():
        lines = ",\n".join(_json_lines(found))
        (RECORDED / f"{name}.json").write_text(f"[\n{lines}\n]\n")


def _json_lines(found: list[Any]) -> Iterable[str]:
    for each in found:
        if isinstance(each, dict):
            parts = (f"{json.dumps(name)}: {_json_rows(value)}" for name, value in each.items())
            yield "{\n" + ",\n".join(parts) + "\n}"
        else:
            yield json.dumps(each)


def _json_rows(value: Any) -> str:
    if not isinstance(value, list):
        return json.dumps(value)
    return "[\n" + ",\n".join(map(json.dumps, value)) + "\n]"


def _kio(name: str) -> tuple[Any, Any]:
    found = (
        importlib.import_module(f"kio.schema.{name}.{part}") for part in ("request", "response")
    )
    return next(found), next(found)


class Asker:
    """One connection that asks Kafka through kio, an encoder that is not ours."""

    def __init__(self, port: int) -> None:
        self.connection = socket.create_connection(("127.0.0.1", port))
        self.replies = self.connection.makefile("rb")

    def play(self, scenario: dict[str, Any], static: dict[str, str]) -> dict[str, Any]:
        node = static["node.id"]
        topics = {}
        self.alter("", scenario["cluster_wide"])
        self.alter(node, scenario["per_broker"])
        for name, overrides in scenario["topics"].items():
            _, created = self.create(name, overrides, False)
            topics[name] = overrides, created
        # The broker follows its metadata log a moment behind the controller's answer.
        last = list(topics)[-1]
        while not self.describe(2, last):
            time.sleep(0.1)
        # Eligible leader replicas, which we do not finalize, come with an altered key.
        altered = {row[0]: row[1] for row in self.describe(4, "")}
        return {
            "static": static,
            "cluster_wide": altered | scenario["cluster_wide"],
            "per_broker": scenario["per_broker"],
            "broker": self.describe(4, node),
            "cluster_wide_rows": self.describe(4, ""),
            "some": self.describe(4, node, ["num.partitions", "missing"], synonyms=False),
        } | {
            f"topic {name}": [[overrides], created, self.describe(2, name)]
            for name, (overrides, created) in topics.items()
        }

    def describe(
        self, kind: int, name: str, names: list[str] | None = None, synonyms: bool = True
    ) -> list[Any]:
        request, response = _kio("describe_configs.v4")
        resource = request.DescribeConfigsResource(
            resource_type=kind, resource_name=name, configuration_keys=names and tuple(names)
        )
        asked = request.DescribeConfigsRequest(resources=(resource,), include_synonyms=synonyms)
        rows = self.ask(asked, response.DescribeConfigsResponse).results[0].configs
        return sorted(
            [
                row.name,
                row.value,
                row.config_source,
                row.read_only,
                row.is_sensitive,
                [[each.name, each.value, each.source] for each in row.synonyms],
                row.config_type,
            ]
            for row in rows
        )

    def create(self, name: str, overrides: dict[str, str], dry: bool) -> tuple[int, list[Any]]:
        request, response = _kio("create_topics.v7")
        topic = request.CreatableTopic(
            name=name,
            num_partitions=1,
            replication_factor=1,
            assignments=(),
            configs=tuple(
                request.CreatableTopicConfig(name=key, value=value)
                for key, value in overrides.items()
            ),
        )
        asked = request.CreateTopicsRequest(topics=(topic,), validate_only=dry)
        answer = self.ask(asked, response.CreateTopicsResponse).topics[0]
        rows = answer.configs or ()
        return int(answer.error_code), [[row.name, row.value, row.config_source] for row in rows]

    def alter(self, name: str, values: dict[str, str]) -> None:
        request, response = _kio("incremental_alter_configs.v1")
        resource = request.AlterConfigsResource(
            resource_type=4,
            resource_name=name,
            configs=tuple(
                request.AlterableConfig(name=key, config_operation=0, value=value)
                for key, value in values.items()
            ),
        )
        asked = request.IncrementalAlterConfigsRequest(resources=(resource,), validate_only=False)
        answer = self.ask(asked, response.IncrementalAlterConfigsResponse).responses[0]
        assert answer.error_code == 0, answer

    def ask(self, asked: Any, answer: Any) -> Any:
        from kio.serial import entity_reader, entity_writer

        headers: Any = type(asked).__header_schema__, answer.__header_schema__
        header = headers[0](
            request_api_key=asked.__api_key__,
            request_api_version=asked.__version__,
            correlation_id=1,
            client_id="ottla",
        )
        frame = io.BytesIO()
        entity_writer(headers[0])(frame, header)
        entity_writer(type(asked))(frame, asked)
        self.connection.sendall(struct.pack(">i", len(frame.getvalue())) + frame.getvalue())
        body = self.replies.read(struct.unpack(">i", self.replies.read(4))[0])
        _, at = entity_reader(headers[1])(body, 0)
        found, _ = entity_reader(answer)(body, at)
        return found


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
