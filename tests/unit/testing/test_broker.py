"""`ottla.testing.Broker`: a broker that nobody has to clean up after.

Covers: ottla.server.control.
"""

import json
import os
import select
import signal
import socket
import struct
import subprocess
import sys
from pathlib import Path

import pytest

from ottla.testing import Broker, BrokerFailed

PATIENCE_MS = 30_000

# A test process that says which broker it has, and then waits for what befalls it.
OWNER = """
import sys
from ottla.testing import Broker
with Broker(data=sys.argv[1]) as broker:
    print(broker.pid, flush=True)
    sys.stdin.read()
"""

API_VERSIONS = struct.pack(">ihhih", 10, 18, 0, 7, -1)


def answer_to_api_versions(port: int) -> bytes:
    with socket.create_connection(("127.0.0.1", port)) as connection:
        connection.sendall(API_VERSIONS)
        return connection.recv(1 << 16)


def test_a_broker_serves_on_a_port_of_its_own_and_leaves_nothing_behind() -> None:
    with Broker() as one, Broker() as other:
        assert one.port != other.port
        assert one.bootstrap_servers == f"127.0.0.1:{one.port}"
        assert answer_to_api_versions(one.port)[4:8] == struct.pack(">i", 7)
        data, pid = one.data, one.pid
        assert (data / "meta.properties").exists()
    assert not data.exists()
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)


def test_a_restarted_broker_has_its_address_and_its_data_again() -> None:
    with Broker() as broker:
        address = broker.bootstrap_servers
        cluster = (broker.data / "meta.properties").read_bytes()
        assert broker.stop() == 0
        assert (broker.data / ".kafka_cleanshutdown").exists()
        broker.restart()
        broker.kill()
        assert not (broker.data / ".kafka_cleanshutdown").exists()
        broker.restart()
        broker.restart()
        assert broker.bootstrap_servers == address
        assert (broker.data / "meta.properties").read_bytes() == cluster
        assert answer_to_api_versions(broker.port)


def test_the_port_of_a_broker_that_is_down_is_kept_for_it() -> None:
    with Broker() as broker, socket.socket() as other:
        broker.stop()
        with pytest.raises(OSError, match="in use"):
            other.bind(("127.0.0.1", broker.port))
        broker.restart()


def test_a_given_directory_is_kept_and_left_clean(tmp_path: Path) -> None:
    with Broker(data=tmp_path / "kept", node_id=7) as broker:
        assert broker.data == tmp_path / "kept"
    assert (tmp_path / "kept" / ".kafka_cleanshutdown").exists()
    assert "node.id=7" in (tmp_path / "kept" / "meta.properties").read_text()


def test_a_broker_ends_when_the_process_that_had_it_is_killed(tmp_path: Path) -> None:
    with subprocess.Popen(
        [sys.executable, "-c", OWNER, str(tmp_path / "data")],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as owner:
        assert owner.stdout is not None
        broker = os.pidfd_open(int(owner.stdout.readline()))
        owner.send_signal(signal.SIGKILL)
    try:
        poll = select.poll()
        poll.register(broker, select.POLLIN)
        assert poll.poll(PATIENCE_MS), "the broker outlived its owner"
    finally:
        os.close(broker)
    assert (tmp_path / "data" / ".kafka_cleanshutdown").exists()


def use_a_broker_that_dies() -> None:
    with Broker() as broker:
        os.kill(broker.pid, signal.SIGKILL)
        os.waitid(os.P_PID, broker.pid, os.WEXITED | os.WNOWAIT)


def use_a_broker_that_dies_and_fail() -> None:
    with Broker() as broker:
        os.kill(broker.pid, signal.SIGKILL)
        raise ZeroDivisionError


def test_a_broker_that_ends_by_itself_fails_the_test_that_used_it() -> None:
    with pytest.raises(BrokerFailed, match="ended by itself, with code -9"):
        use_a_broker_that_dies()


def test_a_failure_within_the_test_is_told_as_it_is() -> None:
    with pytest.raises(ZeroDivisionError):
        use_a_broker_that_dies_and_fail()


def test_a_broker_that_cannot_start_says_why() -> None:
    with (
        pytest.raises(BrokerFailed, match=r"(?s)ended with code 1.*num\.partitions"),
        Broker(num_partitions="many"),
    ):
        pass


def test_settings_are_kafkas_with_underscores_for_dots() -> None:
    assert Broker(log_segment_bytes=1 << 20, auto_create_topics_enable=False).settings == {
        "log.segment.bytes": "1048576",
        "auto.create.topics.enable": "false",
    }


def test_the_broker_tells_figures_about_itself() -> None:
    with Broker() as broker:
        before = broker.stats()
        answer_to_api_versions(broker.port)
        after = broker.stats()
        assert after["requests"] == before["requests"] + 1
        assert after["resident_bytes"] > 0
        assert after["resident_bytes_max"] >= after["resident_bytes"] // 2
        assert after["cpu_seconds"] >= before["cpu_seconds"] > 0
        assert after["loop_late_ms_max"] >= 0


def test_an_unknown_question_on_the_control_pipe_is_answered_and_does_no_harm(
    tmp_path: Path,
) -> None:
    ours, its = socket.socketpair()
    command = [sys.executable, "-m", "ottla", "start", "--listen", "127.0.0.1:0"]
    command += ["--data", str(tmp_path / "data"), "--control-fd", str(its.fileno())]
    with ours, its, (tmp_path / "log").open("wb") as log:
        process = subprocess.Popen(
            command, stdout=log, stderr=log, stdin=subprocess.DEVNULL, pass_fds=[its.fileno()]
        )
        its.close()
        with ours.makefile("rwb") as lines:
            assert json.loads(lines.readline()).keys() == {"ready"}
            for question in (b'{"ask": "the impossible"}', b"not json", b"[1]", b"{}"):
                lines.write(question + b"\n")
                lines.flush()
                assert json.loads(lines.readline()).keys() == {"error"}
            lines.write(b'{"ask": "st')
            lines.flush()
            lines.write(b'ats"}\n')
            lines.flush()
            assert json.loads(lines.readline()).keys() == {"stats"}
        ours.close()
        assert process.wait(PATIENCE_MS / 1000) == 0
