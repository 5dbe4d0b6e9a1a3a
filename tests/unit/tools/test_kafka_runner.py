"""What the runner of Apache Kafka says when it cannot run; that it can is shown by its users."""

from pathlib import Path

import pytest

from tools import kafka


@pytest.fixture
def bare_machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OTTLA_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("JAVA_HOME", raising=False)


@pytest.mark.usefixtures("bare_machine")
def test_without_maven_it_says_what_to_install() -> None:
    with pytest.raises(kafka.KafkaError, match="install Maven"):
        kafka.jars()


@pytest.mark.usefixtures("bare_machine")
def test_without_java_it_says_what_to_install() -> None:
    with pytest.raises(kafka.KafkaError, match="Java 17"):
        kafka.run_tool("DumpLogSegments", "--version")


def test_a_port_where_nobody_listens_is_not_ready() -> None:
    assert not kafka.is_ready("127.0.0.1", 1)
