"""Keeps `ottla.protocol.schema` true to Apache Kafka's message definitions.

kafka_schema.py check           compare the table with the jars; exit 1 on any difference
kafka_schema.py write [MODULE]  write all modules, or one, from the jars; our words stay
kafka_schema.py page            write docs/reference/protocol.md
"""

import argparse
from pathlib import Path

from kafka_schema_jars import MessageDefinition, read_definitions
from kafka_schema_write import existing_words, index_text, module_name, module_text

KAFKA_VERSION = "4.3.0"
ROOT = Path(__file__).parent.parent
SCHEMA = ROOT / "src/ottla/protocol/schema"
JARS = Path("~/.cache/ottla/kafka/libs").expanduser()


def by_module(messages: list[MessageDefinition]) -> dict[str, list[MessageDefinition]]:
    modules: dict[str, list[MessageDefinition]] = {}
    for message in sorted(messages, key=lambda each: (each.kind, each.name)):
        modules.setdefault(module_name(message), []).append(message)
    return modules


def write(only: str | None) -> int:
    messages = read_definitions(JARS, KAFKA_VERSION)
    for name, members in by_module(messages).items():
        if only in (None, name):
            path = SCHEMA / f"{name}.py"
            path.write_text(module_text(name, members, existing_words(path)))
    (SCHEMA / "index.py").write_text(index_text(messages))
    return 0


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    commands = parser.add_subparsers(dest="command", required=True)
    commands.add_parser("write").add_argument("module", nargs="?")
    arguments = parser.parse_args()
    return write(arguments.module)


if __name__ == "__main__":
    raise SystemExit(main())
