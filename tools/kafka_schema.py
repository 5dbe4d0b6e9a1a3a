"""Keeps `ottla.protocol.schema` true to Apache Kafka's message definitions.

kafka_schema.py check           compare the table with the jars; exit 1 on any difference
kafka_schema.py write [MODULE]  write all modules, or one, from the jars; our words stay
kafka_schema.py page            write docs/reference/protocol.md
"""

import argparse
from pathlib import Path

from tools import kafka
from tools.kafka_schema_check import census, census_text, differences, read_table
from tools.kafka_schema_jars import MessageDefinition, read_definitions
from tools.kafka_schema_oracle import compare, recorded
from tools.kafka_schema_page import page
from tools.kafka_schema_write import existing_words, index_text, module_name, module_text

ROOT = Path(__file__).parent.parent
SCHEMA = ROOT / "src/ottla/protocol/schema"
RECORDED = ROOT / "tests/unit/protocol/recorded"
PAGE = ROOT / "docs/reference/protocol.md"


def by_module(messages: list[MessageDefinition]) -> dict[str, list[MessageDefinition]]:
    modules: dict[str, list[MessageDefinition]] = {}
    for message in sorted(messages, key=lambda each: (each.kind, each.name)):
        modules.setdefault(module_name(message), []).append(message)
    return modules


def write(only: str | None) -> int:
    messages = read_definitions(kafka.jars(), kafka.KAFKA_VERSION)
    for name, members in by_module(messages).items():
        if only in (None, name):
            path = SCHEMA / f"{name}.py"
            path.write_text(module_text(name, members, existing_words(path)))
    (SCHEMA / "index.py").write_text(index_text(messages))
    return 0


def check() -> int:
    modules = by_module(read_definitions(kafka.jars(), kafka.KAFKA_VERSION))
    table = read_table()
    found = list(differences(modules, table))
    for each in found:
        print(each)
    print(f"{len(found)} differences; the table holds {census(table)}")
    return 1 if found else 0


def oracle(seed: int) -> int:
    found = compare(kafka.jars(), seed, each=20)
    print(*found[:20], sep="\n")
    return 1 if found else 0


def record() -> int:
    if check() or oracle(0):
        return 1
    (RECORDED / "census.json").write_text(census_text(read_table()))
    (RECORDED / "records.json").write_text(recorded(kafka.jars()))
    return 0


def write_page() -> int:
    PAGE.write_text(page())
    return 0


def main() -> int:
    parser = argparse.ArgumentParser(description="The protocol's table against Kafka's jars.")
    commands = parser.add_subparsers(dest="command", required=True)
    commands.add_parser("check")
    commands.add_parser("oracle").add_argument("seed", nargs="?", type=int, default=0)
    commands.add_parser("record")
    commands.add_parser("write").add_argument("module", nargs="?")
    commands.add_parser("page")
    arguments = parser.parse_args()
    if arguments.command == "write":
        return write(arguments.module)
    if arguments.command == "oracle":
        return oracle(arguments.seed)
    return {"check": check, "record": record, "page": write_page}[arguments.command]()


if __name__ == "__main__":
    raise SystemExit(main())
