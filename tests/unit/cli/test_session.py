import errno
import os
import socket
from collections.abc import Iterator

import pytest

from ottla.cli.session import explain
from ottla.client.errors import ClientError
from ottla.errors import ErrorCode
from ottla.testing import Broker
from tests.unit.cli.programs import invoke

REFUSED = os.strerror(errno.ECONNREFUSED)


@pytest.fixture
def nobody() -> Iterator[str]:
    """An address where nothing listens, and nothing else will."""
    with socket.socket() as holder:
        holder.bind(("127.0.0.1", 0))
        yield f"127.0.0.1:{holder.getsockname()[1]}"


@pytest.mark.parametrize(
    "typed", [["topic", "list"], ["consume", "t"], ["bench"], ["topic", "create", "t"]]
)
def test_where_nothing_listens_the_error_names_it_and_what_to_do(
    nobody: str, typed: list[str]
) -> None:
    done = invoke("--bootstrap", nobody, *typed)
    assert (done.exit_code, done.stdout) == (1, "")
    assert done.stderr == (
        f"Error: nothing listens on {nobody}. Start a broker there with `ottla start`, or say "
        f"where one is with --bootstrap HOST:PORT.\n"
    )


def test_one_of_several_brokers_is_enough(nobody: str) -> None:
    with Broker() as broker:
        several = f"{nobody},{broker.bootstrap_servers}"
        assert invoke("--bootstrap", several, "topic", "list").exit_code == 0


@pytest.mark.parametrize(
    ("why", "said"),
    [
        (
            f"b:2: {REFUSED}",
            "nothing listens on b:2, where a:1 sent us. That is the address which the broker "
            "advertises: see `ottla start --advertise`.",
        ),
        (
            f"t-0: b:2 (node 7): {REFUSED}",
            "nothing listens on b:2, where a:1 sent us. That is the address which the broker "
            "advertises: see `ottla start --advertise`.",
        ),
        (
            f"a:1: Multiple exceptions: [Errno {errno.ECONNREFUSED}] Connect call failed",
            "nothing listens on a:1. Start a broker there with `ottla start`, or say where one is "
            "with --bootstrap HOST:PORT.",
        ),
        (
            "a:1: no connection in 5000 ms",
            "a:1: no connection in 5000 ms. Is a:1 a broker that can be reached from here?",
        ),
        ("no answer", "no answer [NETWORK_EXCEPTION]"),
    ],
)
def test_an_address_that_does_not_answer_is_told_apart_by_who_named_it(why: str, said: str) -> None:
    assert explain(ClientError("Metadata", why, ErrorCode.NETWORK_EXCEPTION), "a:1") == said


def test_what_a_broker_refuses_comes_with_its_code_and_with_advice_where_there_is_any() -> None:
    plain = ClientError("CreateTopics", "topic 'a': too many.", ErrorCode.INVALID_PARTITIONS)
    assert explain(plain, "a:1") == "topic 'a': too many [INVALID_PARTITIONS]"
    advised = ClientError("Fetch", "t-0: gone", ErrorCode.OFFSET_OUT_OF_RANGE)
    assert explain(advised, "a:1") == (
        "t-0: gone [OFFSET_OUT_OF_RANGE]. `--from earliest` begins with what is there."
    )
