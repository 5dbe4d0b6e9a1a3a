"""Records that become lines, by way of real processes."""

import base64
import json
import signal
from datetime import UTC, datetime

import pytest

from ottla.cli.consume import json_line, text_line
from ottla.client.shell import ConsumedRecord
from ottla.testing import Broker
from tests.unit.cli.programs import end, invoke, run, run_in_terminal, start


@pytest.fixture(scope="module")
def numbers(broker: Broker) -> str:
    """Ten records in one partition, whose values are their offsets."""
    run(broker, "topic", "create", "numbers")
    run(broker, "produce", "numbers", stdin=b"0\n1\n2\n3\n4\n5\n6\n7\n8\n9\n")
    return "numbers"


def record(
    key: bytes | None = None,
    value: bytes | None = b"v",
    headers: tuple[tuple[str, bytes | None], ...] = (),
) -> ConsumedRecord:
    return ConsumedRecord("t", 1, 2, 3, key, value, headers)


def test_json_says_everything_of_a_record() -> None:
    line = json_line(record(b"k", b"\xff", (("h", None), ("h", b"\xfe"), ("h", "ž".encode()))))
    assert line.endswith(b"\n")
    assert line.count(b"\n") == 1
    assert json.loads(line) == {
        "topic": "t",
        "partition": 1,
        "offset": 2,
        "timestamp": 3,
        "key": "k",
        "value": {"base64": base64.b64encode(b"\xff").decode()},
        "headers": [
            {"key": "h", "value": None},
            {"key": "h", "value": {"base64": base64.b64encode(b"\xfe").decode()}},
            {"key": "h", "value": "ž"},
        ],
    }
    assert json.loads(json_line(record(None, None)))["value"] is None


def test_text_is_the_value_as_it_is_but_for_a_terminal() -> None:
    plain = text_line(None, is_terminal=False)
    assert plain(record(b"k", b"a\xff\x1b")) == b"a\xff\x1b\n"
    assert plain(record(b"k", None)) == b"null\n"
    shown = text_line(None, is_terminal=True)
    assert shown(record(b"k", "ž\t\x1b".encode() + b"\xff")) == "ž\t\\x1b\\xff\n".encode()


def test_text_has_the_key_in_front_where_a_separator_is_given() -> None:
    line = text_line(b": ", is_terminal=False)
    assert line(record(b"k", b"v")) == b"k: v\n"
    assert line(record(None, b"v")) == b"null: v\n"


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--until-end"], "0 1 2 3 4 5 6 7 8 9"),
        (["--max", "3"], "0 1 2"),
        (["--from", "7", "--until-end"], "7 8 9"),
        (["--from", "7", "--max", "1", "--partition", "0"], "7"),
        (["--from", "latest", "--until-end"], ""),
        (["--from", "@0", "--until-end", "--max", "1"], "0"),
        (["--from", "1970-01-01", "--max", "1"], "0"),
        (["--from", "2500-01-01T00:00Z", "--until-end"], ""),
    ],
)
def test_reading_begins_and_ends_where_it_is_told_to(
    broker: Broker, numbers: str, options: list[str], said: str
) -> None:
    done = run(broker, "consume", numbers, *options)
    assert (done.code, done.err) == (0, "")
    assert done.out.split() == said.split()


def test_a_time_begins_with_the_first_record_of_that_time(broker: Broker) -> None:
    run(broker, "topic", "create", "timed")
    run(broker, "produce", "timed", stdin=b"a\n")
    first = json.loads(run(broker, "consume", "timed", "--until-end", "--json").out)
    after = datetime.fromtimestamp((first["timestamp"] + 1) / 1000, UTC)
    at = after.replace(microsecond=(first["timestamp"] + 1) % 1000 * 1000)
    for moment, said in ((at.isoformat(), ""), (f"@{first['timestamp']}", "a\n")):
        done = run(broker, "consume", "timed", "--from", moment, "--until-end")
        assert (done.code, done.out) == (0, said)


@pytest.mark.parametrize("where", ["", "soon", "-1", "@", "@x", "2026-13-01", "1.5", "9" * 20])
def test_a_beginning_that_is_none_is_a_usage_error(where: str) -> None:
    done = invoke("consume", "t", "--from", where)
    assert done.exit_code == 2
    assert "is none of earliest, latest, an offset such as 42, a time such as" in done.stderr


def test_an_offset_that_is_not_there_is_refused(broker: Broker, numbers: str) -> None:
    done = run(broker, "consume", numbers, "--from", "99")
    assert (done.code, done.out) == (1, "")
    assert "offset 99 is not there" in done.err
    assert "`--from earliest` begins with what is there." in done.err


def test_an_offset_needs_a_partition_where_there_are_several(broker: Broker) -> None:
    run(broker, "topic", "create", "several", "--partitions", "2")
    done = run(broker, "consume", "several", "--from", "0")
    assert done.code == 2
    assert "an offset is one partition's: say which with --partition" in done.err
    done = run(broker, "consume", "several", "--partition", "1", "--partition", "2")
    assert done.code == 1
    assert done.err == "Error: topic 'several' has partitions 0 to 1, not 2\n"


def test_partitions_that_were_not_chosen_are_not_read(broker: Broker) -> None:
    run(broker, "topic", "create", "chosen", "--partitions", "3")
    for partition in ("0", "1", "2"):
        run(broker, "produce", "chosen", "--partition", partition, stdin=partition.encode())
    done = run(broker, "consume", "chosen", "--partition", "0", "--partition", "2", "--until-end")
    assert sorted(done.out.split()) == ["0", "2"]


def test_following_prints_each_record_when_it_comes_and_ends_with_ctrl_c(broker: Broker) -> None:
    run(broker, "topic", "create", "followed")
    tail = start(broker, "consume", "followed")
    assert tail.stdout is not None
    for line in (b"a\n", b"b\n"):
        run(broker, "produce", "followed", stdin=line)
        assert tail.stdout.readline() == line
    tail.send_signal(signal.SIGINT)
    assert end(tail) == (0, "", "")


def test_a_reader_that_leaves_ends_a_consumer_that_waits(broker: Broker, numbers: str) -> None:
    tail = start(broker, "consume", numbers)
    assert tail.stdout is not None
    assert tail.stdout.readline() == b"0\n"
    tail.stdout.close()
    with tail:
        assert tail.wait(60) == 0
        assert tail.stderr is not None
        assert tail.stderr.read() == b""


def test_a_terminal_is_told_how_many_there_were(broker: Broker, numbers: str) -> None:
    done = run_in_terminal(broker, "consume", numbers, "--from", "8", "--until-end")
    assert done == (0, "8\n9\n2 records\n", "")


def test_what_was_produced_with_keys_is_what_is_consumed_with_keys(broker: Broker) -> None:
    lines = b"k1\tv1\nk2\tv2\n\tv3\n"
    run(broker, "produce", "pairs", "--key-separator", "\\t", stdin=lines)
    done = run(broker, "consume", "pairs", "--key-separator", "\\t", "--until-end")
    assert done.out.encode() == lines
