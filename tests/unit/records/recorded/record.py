"""Ask Kafka's own record classes what they do, and write it down beside this file.

    python -m tests.unit.records.recorded.record

One line an operation and its outcome; the tests run the same lines against ours. It needs a JDK.
"""

import random
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

from ottla.records.batch import Record
from ottla.records.compress import Codec, compress
from ottla.records.record import encode_batch
from tests.unit.records.batches import (
    WALL_MS,
    bytes_mutated,
    header_mutated,
    patched,
    random_batch,
    random_records,
    record,
    with_payload,
)
from tests.unit.records.recorded import word_of
from tools import kafka

HERE = Path(__file__).parent
LONG_MAX = 2**63 - 1


def validate(batch: bytes, **rules: int) -> str:
    words = {
        "version": 9,
        "compacted": 0,
        "append_time": 0,
        "before": LONG_MAX,
        "after": 3_600_000,
        "wall": WALL_MS,
        "target": -1,
        "most": 1 << 20,
    } | {name: int(value) for name, value in rules.items()}
    return f"validate {' '.join(map(str, words.values()))} {word_of(batch)}"


def headers_said(_: random.Random) -> Iterator[str]:
    one = encode_batch([record()])
    for length in (-1, 0, 13, 14, 15, 26, 47, 48, 49, 50, 2**31 - 13, 2**31 - 12, 2**31 - 1):
        yield validate(patched(one, batch_length=length))
    for size in (0, 11, 12, 16, 17, 26, 27, 60, 61, len(one) - 1):
        yield validate(one[:size])
    for length in (14, 15, 48):
        yield validate(patched(one, batch_length=length)[: length + 12])
    for magic in (-1, 0, 1, 2, 3, 127):
        yield validate(patched(one, magic=magic))
    for attributes in range(256):
        yield validate(patched(one, attributes=attributes))
    for codec in range(1, 8):
        for version in (3, 6, 7):
            yield validate(patched(one, attributes=codec), version=version)
    for number in (-(2**31), -1, 0, 1, 2, 2**31 - 1):
        yield validate(patched(one, last_offset_delta=number))
        yield validate(patched(one, record_count=number))
        yield validate(patched(one, record_count=number, last_offset_delta=number))
        yield validate(patched(one, producer_id=5, base_sequence=number))
        yield validate(patched(one, producer_id=number, base_sequence=-1))
        yield validate(patched(one, base_offset=number))
        yield validate(patched(one, leader_epoch=number))
        yield validate(patched(one, producer_id=5, producer_epoch=-1, base_sequence=0), target=4)
    for tail in (b"\0", bytes(11), bytes(12), b"\xff" * 30, one, one[:30], one[:16], one[:17]):
        yield validate(one + tail)
    wrong_magic = patched(one, magic=5)
    yield validate(one + wrong_magic[:17])
    yield validate(wrong_magic + one)
    yield validate(one[:17] + b"\0\0\0\0" + one[21:])
    for most in (len(one) - 1, len(one)):
        yield validate(one, most=most)
        yield validate(one[:17] + b"\0\0\0\0" + one[21:], most=most)


def times_said(_: random.Random) -> Iterator[str]:
    extremes = (-(2**63), -2, -1, 0, 1, WALL_MS - 1001, WALL_MS - 1000, WALL_MS, 2**63 - 1)
    for timestamp in (*extremes, WALL_MS + 1000, WALL_MS + 1001):
        one = encode_batch([record(timestamp_ms=timestamp)])
        for bounds in ({}, {"before": 1000, "after": 1000}, {"before": 0, "after": 0}):
            for append_time in (0, 1):
                yield validate(one, append_time=append_time, **bounds)
            yield validate(patched(one, attributes=8), **bounds)
        yield validate(patched(one, max_timestamp=5))
        yield validate(patched(one, max_timestamp=-1))
        yield validate(patched(one, attributes=8), append_time=1)
    three = [record(timestamp_ms=WALL_MS + delta) for delta in (0, 90, -90)]
    late = [record(timestamp_ms=WALL_MS + delta) for delta in (0, 9000, 9001, -9001, -1)]
    for codec in Codec:
        yield validate(encode_batch(three, codec=codec))
        yield validate(patched(encode_batch(three, codec=codec), max_timestamp=WALL_MS))
        yield validate(encode_batch(three, codec=codec), append_time=1)
        yield validate(encode_batch(late, codec=codec), before=9000, after=9000)
        keys = [record(key=key) for key in (b"k", None, b"", None)]
        yield validate(encode_batch(keys, codec=codec), compacted=1)
        both = [record(key=None), record(timestamp_ms=WALL_MS + 9000)]
        yield validate(encode_batch(both, codec=codec), compacted=1, after=0)
        yield validate(encode_batch(keys, codec=codec), compacted=1, append_time=1)


def payloads_said(_: random.Random) -> Iterator[str]:
    """Framing that is wrong in each place, where Kafka sees it too."""
    one = encode_batch([record(headers=(("h", b"x"),))])
    payload = one[61:]
    long_varint = b"\x80\x80\x80\x80\x80\x01"
    bad = [payload[:cut] for cut in range(len(payload))]
    bad += [payload + b"\0", payload * 2, long_varint + payload, b"\x01" + payload[1:]]
    bad += [
        payload[:1] + b"\0" + long_varint * 2 + payload[2:],
        payload[:4] + b"\x7f" + payload[5:],
    ]
    for content in bad:
        yield validate(with_payload(one, content))
    for codec in Codec:
        if codec:
            coded = compress(codec, payload)
            batch = patched(one, attributes=codec)
            yield validate(with_payload(batch, coded))
            yield validate(with_payload(batch, b""))
            yield validate(with_payload(batch, b"not compressed"))
            yield validate(with_payload(batch, coded[: len(coded) // 2]))
            yield validate(with_payload(batch, coded[:-1]))
            yield validate(with_payload(batch, compress(codec, payload * 2)))
            yield validate(with_payload(batch, coded + coded))


def mutations_said(source: random.Random) -> Iterator[str]:
    for _ in range(400):
        codec = source.choice((0, 0, 0, 1, 2, 3, 4))
        batch = random_batch(source, codec)
        kind = source.random()
        target = -1
        if kind < 0.6:
            batch = header_mutated(source, batch)
        elif kind < 0.7 and not codec:
            batch = bytes_mutated(source, batch)
        else:
            target = source.choice((-1, 0, 1, 2, 3, 4))
        yield validate(
            batch,
            version=source.choice((3, 6, 7, 13)),
            compacted=source.random() < 0.3,
            append_time=source.random() < 0.2,
            before=source.choice((LONG_MAX, 2000, 0)),
            after=source.choice((LONG_MAX, 3_600_000, 0)),
            target=target,
            most=source.choice((1 << 20, 1 << 20, 150)),
        )


def build(records: list[Record], codec: int, *fields: int) -> str:
    words = []
    for each in records:
        parts = [str(each.timestamp_ms), word_of(each.key), word_of(each.value)]
        for name, content in each.headers:
            parts += (word_of(name.encode()), word_of(content))
        words.append(":".join(parts))
    return f"build {codec} {' '.join(map(str, fields))} {' '.join(words)}"


def builds_said(source: random.Random) -> Iterator[str]:
    for _ in range(60):
        records = random_records(source)
        yield build(records, source.choice(list(Codec)), 0, -1, -1, -1, -1, 0)
        yield build(records, Codec.NONE, 2**40, 9, 2**35, 2**15 - 1, 2**31 - 1, 1)


def reads_said(source: random.Random) -> Iterator[str]:
    for codec in Codec:
        for _ in range(6):
            yield f"read {random_batch(source, codec).hex()}"


def controls_said(_: random.Random) -> Iterator[str]:
    yield from (f"control key {number}" for number in range(7))
    yield from (f"control {words}" for words in ("marker commit", "marker abort", "leader"))


TABLES: dict[str, tuple[Callable[[random.Random], Iterator[str]], ...]] = {
    "validation": (headers_said, times_said, payloads_said, mutations_said),
    "encoding": (builds_said, reads_said),
    "control": (controls_said,),
}


def main() -> None:
    jars = ":".join(str(jar) for jar in sorted(kafka.jars().glob("*.jar")))
    with tempfile.TemporaryDirectory() as classes:
        source = HERE / "RecordsOracle.java"
        subprocess.run(["javac", "-cp", jars, "-d", classes, str(source)], check=True)
        for table, makers in TABLES.items():
            lines = [line for maker in makers for line in maker(random.Random(4300))]
            said = subprocess.run(
                ["java", "-cp", f"{classes}:{jars}", "RecordsOracle"],
                input="\n".join(lines),
                capture_output=True,
                text=True,
                check=True,
            ).stdout
            (HERE / f"{table}.txt").write_text(said)
            print(f"{table}: {len(said.splitlines())} operations")


if __name__ == "__main__":
    main()
