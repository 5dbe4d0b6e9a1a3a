import json
import subprocess
import sys

import pytest

from ottla.testing import Broker
from tests.unit.cli.programs import PROGRAM, end, environment, invoke, run, start

IMPORTED_BY_HELP = """
import json, sys
from ottla.cli.main import ottla
ottla({arguments!r}, standalone_mode=False)
print(json.dumps(list(sys.modules)), file=sys.stderr)
"""


@pytest.mark.parametrize(
    "arguments", [["--help"], ["topic", "--help"], ["consume", "--help"], ["bench", "--help"]]
)
def test_help_imports_neither_asyncio_nor_the_schema_nor_rich(arguments: list[str]) -> None:
    done = subprocess.run(
        [sys.executable, "-P", "-c", IMPORTED_BY_HELP.format(arguments=arguments)],
        capture_output=True,
        text=True,
        check=True,
    )
    imported = json.loads(done.stderr)
    heavy = ("asyncio", "msgspec", "rich", "ottla.client", "ottla.protocol", "ottla.server")
    assert [name for name in imported if name.startswith(heavy)] == []
    assert done.stdout.startswith("Usage: ")


def test_a_session_from_the_first_topic_to_its_end(broker: Broker) -> None:
    made = run(broker, "topic", "create", "letters", "--partitions", "1")
    assert made.out == "created topic letters with 1 partition, replication factor 1\n"
    sent = run(broker, "produce", "letters", stdin=b"first\nsecond\nthird\n")
    assert sent.out.startswith("3 records (19 B) to letters in ")
    read = run(broker, "consume", "letters", "--until-end")
    assert read.out == "first\nsecond\nthird\n"
    told = run(broker, "topic", "describe", "letters")
    assert "letters" in told.out
    gone = run(broker, "topic", "delete", "letters")
    assert gone.out == "deleted topic letters\n"
    every = (made, sent, read, told, gone)
    assert [done.code for done in every] == [0] * 5
    assert [done.err for done in every] == [""] * 5


@pytest.mark.parametrize(
    ("typed", "said"),
    [
        (["topc"], "No command 'topc'. Did you mean 'topic'?"),
        (["xyzzy"], "No command 'xyzzy'. There are start, topic, produce"),
        (["topic", "craete"], "No command 'craete'. Did you mean 'create'?"),
        (["produce"], "Missing argument 'TOPIC'"),
        (["--bootstrap", "h:x", "topic", "list"], "'h:x' is not HOST:PORT"),
        (["topic", "list", "--bootstrap", "h:0"], "'h:0' is not HOST:PORT"),
        (["topic", "create", "t", "--config", "a"], "'a' is not KEY=VALUE"),
    ],
)
def test_what_is_not_understood_exits_with_2(typed: list[str], said: str) -> None:
    done = invoke(*typed)
    assert done.exit_code == 2
    assert said in done.stderr


def test_the_bootstrap_may_stand_before_or_behind_the_command() -> None:
    for typed in (
        ["--bootstrap", "127.0.0.1:1", "topic", "list"],
        ["topic", "list", "--bootstrap", "127.0.0.1:1"],
        ["--bootstrap", "127.0.0.1:2", "topic", "list", "--bootstrap", "127.0.0.1:1"],
    ):
        done = invoke(*typed)
        assert done.exit_code == 1
        assert "nothing listens on 127.0.0.1:1." in done.stderr


def test_a_reader_that_has_had_enough_of_a_listing_is_no_failure(broker: Broker) -> None:
    process = subprocess.Popen(
        [*PROGRAM, "topic", "list", "--json"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=environment(broker),
    )
    assert process.stdout is not None
    process.stdout.close()
    _, err = process.communicate()
    assert (process.returncode, err) == (0, b"")


def test_a_failure_exits_with_1_and_says_what_to_do(broker: Broker) -> None:
    done = end(start(broker, "consume", "no-such-topic"))
    assert done.code == 1
    assert done.err == (
        "Error: there is no topic 'no-such-topic'. `ottla topic list` shows what is there, "
        "`ottla topic create no-such-topic` makes it.\n"
    )
