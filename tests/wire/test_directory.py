"""Whose a data directory is, and what goes from it.

Covers: ottla.server.main.
"""

import stat
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from ottla.testing import Broker, BrokerFailed
from tests.wire.raw import Raw
from tests.wire.samples import PATIENCE_S


def start(data: Path, node_id: int = 1) -> None:
    with Broker(data=data, node_id=node_id):
        pass


def wait_for(broker: Broker, condition: Callable[[], bool]) -> None:
    """Ask the broker for something, again and again, until it has done what we wait for."""
    deadline = time.monotonic() + PATIENCE_S
    while not condition():
        assert time.monotonic() < deadline, "it did not come about"
        broker.stats()


def test_a_second_broker_on_a_directory_is_refused_and_does_no_harm(tmp_path: Path) -> None:
    with Broker(data=tmp_path) as first, Raw(first) as client:
        client.create("t")
        with pytest.raises(BrokerFailed, match=r"If another broker has it open"):
            start(tmp_path)
        assert client.produce("t", b"x", acks=-1)["error_code"] == 0
    with Broker(data=tmp_path) as again, Raw(again) as client:
        assert client.end_offset("t") == 1


def test_another_node_is_refused_by_name(tmp_path: Path) -> None:
    start(tmp_path)
    with pytest.raises(BrokerFailed, match=r"belongs to node 1, and this is node 2"):
        start(tmp_path, node_id=2)
    start(tmp_path)


def test_a_directory_with_somebodys_logs_and_no_name_on_it_is_refused(tmp_path: Path) -> None:
    (tmp_path / "orders-0").mkdir()
    with pytest.raises(BrokerFailed, match=r"orders-0 but no meta\.properties"):
        start(tmp_path)


def test_nobody_else_may_look_into_a_directory(tmp_path: Path) -> None:
    start(tmp_path / "new")
    assert stat.S_IMODE((tmp_path / "new").stat().st_mode) == 0o700
    files = [path for path in (tmp_path / "new").rglob("*") if path.is_file()]
    assert files
    assert [path for path in files if stat.S_IMODE(path.stat().st_mode) & 0o077] == []


def test_the_files_of_a_deleted_topic_go() -> None:
    with Broker() as broker, Raw(broker) as client:
        client.create("going", file_delete_delay_ms="0")
        client.create("staying", file_delete_delay_ms="0")
        client.produce("going", b"x", acks=-1)
        client.delete("going")
        wait_for(broker, lambda: not list(broker.data.glob("going-*")))
        assert (broker.data / "staying-0").is_dir()


def test_the_files_of_a_topic_deleted_before_a_kill_go_after_it() -> None:
    with Broker(log_segment_delete_delay_ms=0) as broker:
        with Raw(broker) as client:
            client.create("going", file_delete_delay_ms="3600000")
            client.produce("going", b"x", acks=-1)
            client.delete("going")
            wait_for(broker, lambda: not (broker.data / "going-0").exists())
        assert list(broker.data.glob("going-0.*-delete"))
        broker.kill()
        broker.restart()
        wait_for(broker, lambda: not list(broker.data.glob("going-*")))


def test_a_topic_made_again_under_its_name_has_nothing_of_the_old_one() -> None:
    with Broker() as broker:
        with Raw(broker) as client:
            client.create("t")
            client.produce("t", b"old", acks=-1)
            client.delete("t")
            client.create("t")
            assert client.end_offset("t") == 0
            assert client.produce("t", b"new", acks=-1)["base_offset"] == 0
        broker.kill()
        broker.restart()
        with Raw(broker) as client:
            assert client.end_offset("t") == 1
            assert b"new" in client.fetch("t", 0)["records"]
