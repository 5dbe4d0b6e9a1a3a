"""Asks any broker a table of questions and writes down what it said.

    python -m tools.recorder record --out tests/recorded/kafka-4.3.json
    python -m tools.recorder compare 127.0.0.1:9092

The first starts Apache Kafka 4.3 and keeps its answers; the second asks another broker the same and
prints each difference. An answer is kept decoded, with what differs from run to run masked by name.
"""

import argparse
import json
import sys
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tools.kafka import KAFKA_VERSION, kafka_broker
from tools.recorder_cases import PROFILES, Profile
from tools.recorder_cases.conversation import Conversation, RecorderError
from tools.recorder_cases.masks import TEXTS
from tools.recorder_cases.model import Case

RECORDED = Path(__file__).parents[1] / "tests" / "recorded" / "kafka-4.3.json"

Answers = dict[str, list[Any]]

ABSENT = "<default>"
"""Stands for a field that an answer left out, because it has the value that says nothing."""


@dataclass(frozen=True, slots=True)
class Difference:
    case: str
    step: int
    expected: Any
    got: Any

    def __str__(self) -> str:
        lines = [f"{self.case}, step {self.step}:"]
        for path, expected, got in _leaves("", self.expected, self.got):
            lines.append(f"  {path or 'it'}: Kafka said {expected!r}, this broker {got!r}")
        return "\n".join(lines)


def record(host: str, port: int, cases: Iterable[Case]) -> Answers:
    """What the broker says in each step of each case, in a form that JSON can keep."""
    with Conversation(host, port) as conversation:
        return {case.name: conversation.play(case) for case in cases}


def compare(
    host: str, port: int, cases: Iterable[Case], recorded: Path = RECORDED, *, texts: bool = False
) -> list[Difference]:
    """Where this broker says something else than the recorded one.

    Whether an error comes with words is compared with `texts` only. A broker that no longer serves
    is the last difference.
    """
    expected: Answers = json.loads(recorded.read_text())["cases"]
    differences: list[Difference] = []
    with Conversation(host, port) as conversation:
        for case in cases:
            want = expected[case.name]
            try:
                got = conversation.play(case)
            except RecorderError as trouble:
                return [
                    *differences,
                    Difference(case.name, 0, "a broker that serves", str(trouble)),
                ]
            if not texts:
                want, got = without_texts(want), without_texts(got)
            differences += [
                Difference(case.name, number, want[number - 1], got[number - 1])
                for number in range(1, len(want) + 1)
                if want[number - 1] != got[number - 1]
            ]
    return differences


def without_texts(told: Any) -> Any:
    if isinstance(told, list):
        return [without_texts(item) for item in told]
    if not isinstance(told, dict):
        return told
    return {key: without_texts(item) for key, item in told.items() if key not in TEXTS}


def _leaves(path: str, expected: Any, got: Any) -> list[tuple[str, Any, Any]]:
    """The smallest places where two answers differ."""
    if expected == got:
        return []
    if isinstance(expected, dict) and isinstance(got, dict):
        keys = dict.fromkeys([*expected, *got])
        found = [
            _leaves(f"{path}.{key}", expected.get(key, ABSENT), got.get(key, ABSENT))
            for key in keys
        ]
        return [leaf for part in found for leaf in part]
    if isinstance(expected, list) and isinstance(got, list) and len(expected) == len(got):
        pairs = enumerate(zip(expected, got, strict=True))
        found = [_leaves(f"{path}[{at}]", left, right) for at, (left, right) in pairs]
        return [leaf for part in found for leaf in part]
    return [(path.lstrip("."), expected, got)]


def render(answers: Answers) -> str:
    """JSON with a line for each step, so that a change reads well as a diff."""
    blocks = []
    for name, steps in answers.items():
        lines = ",\n".join("   " + json.dumps(step, separators=(",", ":")) for step in steps)
        blocks.append(f"  {json.dumps(name)}: [\n{lines}\n  ]")
    body = ",\n".join(blocks)
    return f'{{\n "broker": "Apache Kafka {KAFKA_VERSION}",\n "cases": {{\n{body}\n }}\n}}\n'


def _chosen(profile: Profile, pattern: str) -> list[Case]:
    return [case for case in profile.cases if pattern in case.name]


def _record_kafka(out: Path, pattern: str) -> int:
    answers: Answers = {}
    for profile in PROFILES:
        cases = _chosen(profile, pattern)
        if not cases:
            continue
        print(f"{profile.name}: starting Apache Kafka {KAFKA_VERSION}", file=sys.stderr)
        with kafka_broker(profile.properties) as broker:
            answers |= record("127.0.0.1", broker.port, cases)
            again = record("127.0.0.1", broker.port, cases)
        for name, steps in again.items():
            if steps != answers[name]:
                print(f"not stable: {name}\n  {answers[name]}\n  {steps}", file=sys.stderr)
    out.parent.mkdir(parents=True, exist_ok=True)
    out.write_text(render(answers))
    print(f"{len(answers)} cases in {out}", file=sys.stderr)
    return 0


def _compare_broker(address: str, profile_name: str, pattern: str, texts: bool) -> int:
    host, _, port = address.rpartition(":")
    profile = next(profile for profile in PROFILES if profile.name == profile_name)
    differences = compare(host, int(port), _chosen(profile, pattern), texts=texts)
    for difference in differences:
        print(difference)
    return 1 if differences else 0


def main(argv: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m tools.recorder")
    commands = parser.add_subparsers(dest="command", required=True)
    keep = commands.add_parser("record", help="start Apache Kafka and keep its answers")
    keep.add_argument("--out", type=Path, default=RECORDED)
    ask = commands.add_parser("compare", help="print where a broker answers otherwise")
    ask.add_argument("address", metavar="HOST:PORT")
    names = [profile.name for profile in PROFILES]
    ask.add_argument("--profile", choices=names, default=names[0])
    ask.add_argument("--texts", action="store_true", help="also whether an error has words")
    for command in (keep, ask):
        command.add_argument("--case", default="", help="only cases whose name contains this")
    options = parser.parse_args(argv)
    try:
        if options.command == "record":
            return _record_kafka(options.out, options.case)
        return _compare_broker(options.address, options.profile, options.case, options.texts)
    except RecorderError as trouble:
        print(trouble, file=sys.stderr)
        return 1


if __name__ == "__main__":
    sys.exit(main())
