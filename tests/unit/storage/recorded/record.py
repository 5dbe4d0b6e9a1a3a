"""Ask Kafka's own storage classes what they do, and write it down beside this file.

    python -m tests.unit.storage.recorded.record

One line an operation and its outcome; the tests run the same lines against ours. It needs a JDK.
"""

import random
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

from tools import kafka

HERE = Path(__file__).parent
ORACLE = "org.apache.kafka.storage.internals.log.StorageOracle"

SEQUENCE_MAX = 2**31 - 1
START_MS = 1_700_000_000_000

DIR_NAMES = (
    *("a-0", "orders-12", "my-topic-3", "a.b-1", "a-b.c-7", "a-", "-1", "a", "a-x", "a--1"),
    *("a-2147483647", "a-2147483648", "a_b-0", "__cluster_metadata-0"),
    "plain-0.b94548b1591d4cbb85e1ac88a3ebdde1-delete",
    "my-topic-3.b94548b1591d4cbb85e1ac88a3ebdde1-future",
    *("a.b.c-4.00-stray", "x-delete", "x-0-delete", "-0.aa-delete", "a-0.-delete"),
    *("a-0.b-other", "a-b.c-delete", "a-0.b c-delete", "a-0.x.y-delete"),
)
DELETIONS = (("a", 0), ("a.b-c", 12), ("x" * 249, 0), ("y" * 206, 7), ("y" * 204, 123))


class Client:
    """Producers that send the next batch, the same again, or nonsense."""

    def __init__(self, source: random.Random) -> None:
        self.source = source
        self.timestamp_ms = START_MS
        self.next: dict[int, tuple[int, int]] = {}
        self.sent: dict[int, list[tuple[int, int, int]]] = {}

    def operation(self) -> str:
        source = self.source
        self.timestamp_ms += source.randrange(5000)
        other = source.random()
        if other < 0.04:
            return f"reload {self.timestamp_ms}"
        if other < 0.07:
            return "snapshot"
        if other < 0.10:
            return f"expire {self.timestamp_ms + 86_400_000 - source.randrange(20_000)}"
        producer_id = source.choice((7, 8, 2**40))
        epoch, sequence, count = self.batch(producer_id)
        return f"append {producer_id} {epoch} {sequence} {count} {self.timestamp_ms}"

    def batch(self, producer_id: int) -> tuple[int, int, int]:
        source = self.source
        begin = (source.choice((0, 0, 3, -1)), source.choice((0, 5, SEQUENCE_MAX - 4)))
        epoch, sequence = self.next.setdefault(producer_id, begin)
        sent = self.sent.setdefault(producer_id, [])
        count = source.randrange(1, 4)
        kind = source.random()
        if kind < 0.3 and sent:
            epoch, sequence, count = source.choice(sent[-8:])
            return epoch, sequence, count + (source.random() < 0.2)
        if kind < 0.4:
            epoch = max(-1, epoch + source.choice((-1, 1)))
            sequence = source.choice((0, sequence, 1))
        elif kind < 0.5:
            sequence = min(SEQUENCE_MAX, max(0, sequence + source.choice((-3, -1, 1, 2))))
        if (epoch, sequence) == self.next[producer_id] or (
            epoch > self.next[producer_id][0] and sequence == 0
        ):
            self.next[producer_id] = (epoch, (sequence + count) & SEQUENCE_MAX)
            sent.append((epoch, sequence, count))
        return epoch, sequence, count


def producers(source: random.Random) -> Iterator[str]:
    for _ in range(25):
        yield "producers"
        client = Client(source)
        for _ in range(40):
            yield client.operation()
        yield "snapshot"


def epochs(source: random.Random) -> Iterator[str]:
    for _ in range(25):
        yield "epochs"
        epoch = offset = 0
        for _ in range(30):
            kind = source.random()
            if kind < 0.35:
                epoch += source.randrange(3)
                offset += source.randrange(6)
                yield f"assign {epoch} {offset}"
            elif kind < 0.42:
                back = source.randrange(4), source.randrange(10)
                yield f"assign {max(0, epoch - back[0])} {max(0, offset - back[1])}"
            elif kind < 0.50:
                yield f"end {max(-1, offset - source.randrange(8))}"
            elif kind < 0.56:
                yield f"start {max(0, offset - source.randrange(12))}"
            elif kind < 0.75:
                yield f"endOffsetFor {source.randrange(-1, epoch + 3)} {offset + 10}"
            elif kind < 0.90:
                yield f"epochFor {source.randrange(-1, offset + 4)}"
            elif kind < 0.95:
                yield "previous"
            else:
                yield f"startOf {source.randrange(0, epoch + 2)}"


def indexes(source: random.Random) -> Iterator[str]:
    for _ in range(12):
        base = source.choice((0, 1000, 5_000_000_000))
        yield f"indexes {base} {source.choice((96, 240, 1024))}"
        offset, position, entries = base, 0, 0
        timestamp_ms = source.choice((0, 5, START_MS))
        for _ in range(45):
            kind = source.random()
            if kind < 0.35 and entries < 8:
                entries += 1
                offset += source.randrange(1, 300)
                position += source.randrange(1, 5000)
                yield f"position {offset} {position}"
                yield f"time {timestamp_ms} {offset}"
                timestamp_ms += source.choice((0, 0, 1, 256, 1000))
            elif kind < 0.60:
                yield f"lookupOffset {base + source.randrange(0, offset - base + 400)}"
            elif kind < 0.85:
                yield f"lookupTime {max(0, timestamp_ms + source.randrange(-1500, 300))}"
            elif kind < 0.90:
                yield f"truncate {base + source.randrange(0, offset - base + 2)}"
        yield "bytes"


def names(_: random.Random) -> Iterator[str]:
    yield from (f"dir {name.encode().hex()}" for name in DIR_NAMES)
    yield from (f"deletion {topic.encode().hex()} {number}" for topic, number in DELETIONS)


TABLES: tuple[Callable[[random.Random], Iterator[str]], ...] = (
    producers,
    epochs,
    indexes,
    names,
)


def main() -> None:
    jars = ":".join(str(jar) for jar in sorted(kafka.jars().glob("*.jar")))
    with tempfile.TemporaryDirectory() as classes:
        source = HERE / "StorageOracle.java"
        subprocess.run(["javac", "-cp", jars, "-d", classes, str(source)], check=True)
        for table in TABLES:
            operations = "\n".join(table(random.Random(4300)))
            said = subprocess.run(
                ["java", f"-Djava.io.tmpdir={classes}", "-cp", f"{classes}:{jars}", ORACLE],
                input=operations,
                capture_output=True,
                text=True,
                check=True,
            ).stdout
            (HERE / f"{table.__name__}.txt").write_text(said)
            print(f"{table.__name__}: {len(said.splitlines())} operations")


if __name__ == "__main__":
    main()
