"""Lines that become records, by way of real processes.

Covers: ottla.cli.produce, ottla.cli.sending.
"""

import json
import shlex
import signal
import subprocess
from pathlib import Path
from typing import Any

import pytest

from ottla.testing import Broker
from tests.unit.cli.programs import PROGRAM, end, run, run_in_terminal, start


def consumed(broker: Broker, topic: str) -> list[dict[str, Any]]:
    done = run(broker, "consume", topic, "--until-end", "--json")
    assert done.code == 0, done.err
    return [json.loads(line) for line in done.out.splitlines()]


def test_each_line_is_a_record_byte_for_byte(broker: Broker) -> None:
    done = run(broker, "produce", "bytes", stdin=b"a\r\n\n\xff\xfe\nno newline")
    assert (done.code, done.err) == (0, "the broker created topic bytes\n")
    values = [record["value"] for record in consumed(broker, "bytes")]
    assert values == ["a\r", "", {"base64": "//4="}, "no newline"]


def test_keys_headers_and_the_partition_go_with_the_record(broker: Broker) -> None:
    run(broker, "topic", "create", "keyed", "--partitions", "5")
    options = ["--key-separator", "::", "--partition", "3", "--header", "a=1", "--header", "a=ž="]
    done = run(broker, "produce", "keyed", *options, stdin=b"k::v::w\n::\n")
    assert done.code == 0
    headers = [{"key": "a", "value": "1"}, {"key": "a", "value": "ž="}]
    records = consumed(broker, "keyed")
    assert [(r["partition"], r["offset"], r["key"], r["value"]) for r in records] == [
        (3, 0, "k", "v::w"),
        (3, 1, "", ""),
    ]
    assert [record["headers"] for record in records] == [headers, headers]


@pytest.mark.parametrize("compression", ["gzip", "snappy", "lz4", "zstd"])
def test_a_file_is_sent_with_every_compression(
    broker: Broker, tmp_path: Path, compression: str
) -> None:
    lines = [f"line {number}" for number in range(5000)]
    (tmp_path / "lines").write_text("\n".join(lines))
    topic = f"file-{compression}"
    options = ["--file", str(tmp_path / "lines"), "--compression", compression, "--json"]
    done = run(broker, "produce", topic, *options)
    counts = json.loads(done.out)
    assert counts.pop("seconds") >= 0
    assert counts == {
        "topic": topic,
        "records": 5000,
        "bytes": sum(len(line) + 1 for line in lines),
        "partitions": [{"partition": 0, "records": 5000, "last_offset": 4999}],
    }
    assert [record["value"] for record in consumed(broker, topic)] == lines


@pytest.mark.parametrize("acks", ["0", "1", "all"])
def test_records_arrive_whoever_has_to_acknowledge_them(broker: Broker, acks: str) -> None:
    run(broker, "topic", "create", f"acks-{acks}")
    done = run(broker, "produce", f"acks-{acks}", "--acks", acks, stdin=b"a\nb\n")
    assert (done.code, done.err) == (0, "")
    read = run(broker, "consume", f"acks-{acks}", "--max", "2")
    assert read.out == "a\nb\n"


def test_no_input_is_no_record_and_no_failure(broker: Broker) -> None:
    run(broker, "topic", "create", "silent")
    done = run(broker, "produce", "silent")
    assert (done.code, done.err) == (0, "")
    assert done.out.startswith("0 records (0 B) to silent in ")


def test_what_cannot_be_read_is_named(broker: Broker, tmp_path: Path) -> None:
    done = run(broker, "produce", "t", "--file", str(tmp_path / "nothing"))
    assert done.code == 2
    assert "nothing' does not exist" in done.err
    shell = f"{shlex.join(PROGRAM)} produce t <&-"
    closed = subprocess.run(["sh", "-c", shell], capture_output=True, check=False)
    assert closed.returncode == 1
    assert closed.stderr == b"Error: cannot read standard input: Bad file descriptor\n"


def test_a_line_without_its_key_stops_behind_those_that_had_one(broker: Broker) -> None:
    run(broker, "topic", "create", "half")
    done = run(broker, "produce", "half", "--key-separator", ":", stdin=b"a:1\nb:2\noops\nc:3\n")
    assert (done.code, done.out) == (1, "")
    assert done.err == ("Error: line 3 has no key separator ':'\n2 of 2 records arrived in half.\n")
    assert [record["value"] for record in consumed(broker, "half")] == ["1", "2"]


def test_a_record_that_is_too_large_is_named_by_its_line(broker: Broker) -> None:
    run(broker, "topic", "create", "large", "--config", "max.message.bytes=1000")
    done = run(broker, "produce", "large", stdin=b"small\n" + b"x" * 2000)
    assert done.code == 1
    assert done.err.startswith("Error: line ")
    assert "MESSAGE_TOO_LARGE" in done.err
    done = run(broker, "produce", "large", stdin=b"small\n" + b"x" * (3 << 20))
    assert done.code == 1
    assert done.err == (
        "Error: line 2: it has more than 1,048,576 bytes\n1 of 1 record arrived in large.\n"
    )


def test_a_partition_that_is_not_there_is_refused_at_once(broker: Broker) -> None:
    run(broker, "topic", "create", "narrow", "--partitions", "2")
    done = run(broker, "produce", "narrow", "--partition", "2", stdin=b"a\n")
    assert done.code == 1
    assert done.err == "Error: topic 'narrow' has partitions 0 to 1, not 2\n"


def test_what_was_read_before_ctrl_c_still_arrives(broker: Broker) -> None:
    run(broker, "topic", "create", "cut")
    tail = start(broker, "consume", "cut")
    producer = start(broker, "produce", "cut", stdin=subprocess.PIPE)
    assert producer.stdin is not None
    assert tail.stdout is not None
    producer.stdin.write(b"a\nb\n")
    producer.stdin.flush()
    # When it was consumed, it was read.
    assert [tail.stdout.readline(), tail.stdout.readline()] == [b"a\n", b"b\n"]
    producer.send_signal(signal.SIGINT)
    done = end(producer)
    assert done.code == 1
    assert done.err == "Error: interrupted\n2 of 2 records arrived in cut.\n"
    tail.send_signal(signal.SIGINT)
    assert end(tail) == (0, "", "")


def test_a_terminal_is_told_how_to_end_and_gets_no_bar(broker: Broker) -> None:
    run(broker, "topic", "create", "typed")
    done = run_in_terminal(broker, "produce", "typed", typed=b"one\ntwo\n\x04")
    assert done.code == 0
    assert "A record each line; Ctrl-D ends.\n" in done.out
    assert "2 records (8 B) to typed in " in done.out
    assert [record["value"] for record in consumed(broker, "typed")] == ["one", "two"]


def test_a_topic_that_nobody_creates_is_not_waited_for_long() -> None:
    with Broker(auto_create_topics_enable=False) as broker:
        done = run(broker, "produce", "nowhere", stdin=b"a\n")
    assert done.code == 1
    assert done.err.startswith("Error: there is no topic 'nowhere'. `ottla topic list` shows")
