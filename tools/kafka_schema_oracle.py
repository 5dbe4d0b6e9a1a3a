"""Asks Kafka's own message classes to read what we write, and what we refuse."""

import json
import random
import subprocess
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

from ottla.errors import Malformed
from ottla.protocol.compile import decoder, encode
from ottla.protocol.shape import message_facts
from tools.kafka_schema_samples import Message, every_version, mutated, random_message

PROGRAM = Path(__file__).with_name("KafkaSchemaOracle.java")
PACKAGES = {
    "records_group": "org.apache.kafka.coordinator.group.generated",
    "records_metadata": "org.apache.kafka.common.metadata",
    "records_share": "org.apache.kafka.coordinator.share.generated",
    "records_storage": "org.apache.kafka.server.log.remote.metadata.storage.generated",
    "records_transaction": "org.apache.kafka.coordinator.transaction.generated",
}
COMMON = "org.apache.kafka.common.message"
CASES_A_RUN = 50_000


class Case(NamedTuple):
    module: str
    message: Message
    version: int
    data: bytes
    whole: bool = True


def java_class(module: str, message: Message) -> str:
    name, kind = message.__name__, message_facts(message).kind
    if kind in ("request", "response", "header"):
        return f"{COMMON}.{name}Data"
    if name == "QuorumStateData":
        return f"org.apache.kafka.raft.generated.{name}"
    shared = kind == "data" and module != "records_storage"
    return f"{COMMON if shared else PACKAGES.get(module, COMMON)}.{name}"


def ask(cases: list[Case], jars: Path) -> list[str]:
    lines = [f"{java_class(c.module, c.message)} {c.version} {c.data.hex()}\n" for c in cases]
    command = ["java", "-cp", f"{jars}/*", str(PROGRAM)]
    asked = subprocess.run(
        command, input="".join(lines), capture_output=True, text=True, check=True
    )
    return asked.stdout.splitlines()


def samples(source: random.Random, each: int) -> Iterator[Case]:
    """For each version the default message, and random ones whole and broken."""
    for module, message, version in every_version():
        yield Case(module, message, version, encode(message(), version))
        for _ in range(each):
            data = encode(random_message(message, version, source), version)
            yield Case(module, message, version, data)
            yield Case(module, message, version, mutated(data, source), whole=False)


def disagreements(cases: Iterable[Case], answers: Iterable[str]) -> Iterator[str]:
    for case, kafkas in zip(cases, answers, strict=True):
        ours = _our_answer(case)
        if ours.split(" ")[0] != kafkas.split(" ")[0]:
            yield f"{case.message.__name__} v{case.version}: {ours}, Kafka {kafkas}"
        # A broken one may hold a tag that nobody knows: Kafka keeps it, we do not.
        elif case.whole and ours != kafkas:
            yield f"{case.message.__name__} v{case.version}: writes {ours}, Kafka {kafkas}"


def _our_answer(case: Case) -> str:
    try:
        message, end = decoder(case.message, case.version)(memoryview(case.data), 0)
    except Malformed:
        return "bad"
    try:
        return f"{len(case.data) - end} {encode(message, case.version).hex()}"
    except ValueError:
        return f"{len(case.data) - end} unwritable"


def compare(jars: Path, seed: int, each: int) -> list[str]:
    cases = list(samples(random.Random(seed), each))
    found: list[str] = []
    for at in range(0, len(cases), CASES_A_RUN):
        some = cases[at : at + CASES_A_RUN]
        found += disagreements(some, ask(some, jars))
    print(f"{len(found)} disagreements in {len(cases)} messages, of seed {seed}")
    return found


def recorded(jars: Path) -> str:
    """As Kafka wrote them: the internal records, which no other oracle knows."""
    source = random.Random(0)
    cases = [
        Case(module, message, version, encode(random_message(message, version, source), version))
        for module, message, version in every_version()
        if module.startswith("records_")
    ]
    lines = {
        f"{case.module}.{case.message.__name__}.{case.version}": answer.split(" ")[1]
        for case, answer in zip(cases, ask(cases, jars), strict=True)
    }
    return json.dumps(lines, indent=1) + "\n"
