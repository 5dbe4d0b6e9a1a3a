"""Kafka's own tools and kcat against a broker of ours. `make compat` runs these."""

import shutil
from collections.abc import Iterator

import pytest

from ottla.testing import Broker
from tools.kafka import KafkaError, jars, run_tool


@pytest.fixture(scope="session")
def kafka_tools() -> None:
    """Java and Kafka's jars. Whoever asks for these tests wants them run: nothing is skipped."""
    try:
        jars()
        done = run_tool("DumpLogSegments", "--version")
    except KafkaError as missing:
        pytest.fail(str(missing))
    assert done.returncode == 0, done.stderr


@pytest.fixture(scope="session")
def kcat() -> str:
    found = shutil.which("kcat")
    if found is None:
        pytest.fail("there is no kcat: apt-get install kcat")
    return found


@pytest.fixture(scope="session")
def broker() -> Iterator[Broker]:
    with Broker() as broker:
        yield broker
