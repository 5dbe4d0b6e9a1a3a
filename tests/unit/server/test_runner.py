"""The loop around the node: its one guard, its timers, its end."""

import re
import selectors
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

import pytest

from ottla.errors import DiskError
from ottla.names import ConnId, Now
from ottla.protocol.schema.metadata import MetadataRequest
from ottla.server.runner import CRASHED
from ottla.storage.checkpoints import CLEAN_SHUTDOWN
from tests.unit.broker.harness import fetch_request, produce_request, produced, records_of
from tests.unit.server.shells import Served, serve
from tests.unit.server.test_connection import make_topic

METADATA = MetadataRequest(topics=[])

# A broker in a process of its own, in which something is broken from the first request on.
BROKEN = """
import sys
from pathlib import Path
from ottla.broker.node import Node
from ottla.server.main import Options, serve
from ottla.storage.jobs import CreateLog

def broken(*arguments, **more):
    assert not "a broken invariant"

where = sys.argv[2]
if where == "received":
    Node.received = broken
elif where == "job":
    create = CreateLog.run
    CreateLog.run = lambda self, disk: broken() if self.directory == "t-0" else create(self, disk)
else:
    real = Node.flushed
    Node.flushed = lambda self, *a: real(self, *a) if not self.connections else broken()
say = lambda address: print(address, flush=True)
sys.exit(serve(Options(Path(sys.argv[1]), ("127.0.0.1", 0)), say))
"""
# The shell's own program, with few descriptors.
POOR = """
import resource, runpy, sys
resource.setrlimit(resource.RLIMIT_NOFILE, (64, 64))
sys.argv[0] = "ottla"
runpy.run_module("ottla", run_name="__main__")
"""
ASK_VERSIONS = b"\0\0\0\x0a\0\x12\0\0\0\0\0\1\0\0"
# Metadata version 8, which makes a topic t: it is received, flushed, and files are made.
MAKE_TOPIC = b"\0\0\0\x14\0\3\0\x08\0\0\0\1\0\0\0\0\0\1\0\1t\1\0\0"


@contextmanager
def broker(*command: str) -> Iterator[tuple["subprocess.Popen[str]", int]]:
    with subprocess.Popen(
        [sys.executable, *command], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        try:
            assert process.stdout is not None
            line = process.stdout.readline()
            found = re.search(r"127\.0\.0\.1:(\d+)", line)
            assert found is not None, line
            yield process, int(found[1])
        finally:
            process.kill()


def receive_answer(sock: socket.socket) -> bytes:
    data = b""
    while len(data) < 4 or len(data) - 4 < int.from_bytes(data[:4], "big"):
        more = sock.recv(65536)
        if not more:
            return data
        data += more
    return data


@pytest.mark.parametrize("where", ["received", "job", "flushed"])
def test_a_broken_invariant_ends_the_process_without_a_clean_mark(
    tmp_path: Path, where: str
) -> None:
    data = tmp_path / "data"
    with broker("-c", BROKEN, str(data), where) as (process, port):
        with socket.create_connection(("127.0.0.1", port)) as sock, suppress(ConnectionError):
            sock.sendall(MAKE_TOPIC)
            while sock.recv(65536):
                pass
        _, errors = process.communicate(timeout=30)
        assert process.returncode == CRASHED, errors
        assert "a broken invariant" in errors
    assert not (data / CLEAN_SHUTDOWN).exists()


def test_sigterm_answers_who_waits_and_leaves_a_clean_mark(tmp_path: Path) -> None:
    data = tmp_path / "data"
    start = ("-m", "ottla", "start", "--data", str(data), "--listen", "127.0.0.1:0")
    # Fetch version 4 of partition 0 of topic t, which would wait for an hour.
    fetch = b"\0\1\0\4\0\0\0\7\0\0" + b"\xff" * 4 + (3_600_000).to_bytes(4, "big")
    fetch += b"\0\0\0\1\x7f\xff\xff\xff\0\0\0\0\1\0\1t\0\0\0\1" + bytes(12) + b"\0\0\xff\xff"
    with broker(*start) as (process, port), socket.create_connection(("127.0.0.1", port)) as sock:
        answer = b""
        while b"\0\0\0\1t" not in answer:
            sock.sendall(MAKE_TOPIC)
            answer = receive_answer(sock)
        # One behind the other: when the first is answered, the second has been read as well.
        sock.sendall(MAKE_TOPIC + len(fetch).to_bytes(4, "big") + fetch)
        receive_answer(sock)
        process.send_signal(signal.SIGTERM)
        assert receive_answer(sock)[4:8] == b"\0\0\0\7"
        assert sock.recv(1) == b""
        _, errors = process.communicate(timeout=30)
        assert process.returncode == 0, errors
    assert (data / CLEAN_SHUTDOWN).exists()


def test_a_process_out_of_descriptors_serves_who_is_there(tmp_path: Path) -> None:
    start = ("-c", POOR, "start", "--data", str(tmp_path / "data"), "--listen", "127.0.0.1:0")
    with broker(*start) as (process, port), ExitStack() as stack:
        first = stack.enter_context(socket.create_connection(("127.0.0.1", port)))
        first.sendall(ASK_VERSIONS)
        assert receive_answer(first)
        selector = stack.enter_context(selectors.DefaultSelector())
        for _ in range(100):
            sock = stack.enter_context(socket.create_connection(("127.0.0.1", port)))
            sock.sendall(ASK_VERSIONS)
            selector.register(sock, selectors.EVENT_READ)
        first.sendall(ASK_VERSIONS)
        assert receive_answer(first)
        # Whoever got in leaves again, and so everybody gets in.
        while selector.get_map():
            for key, _ in selector.select():
                assert isinstance(key.fileobj, socket.socket)
                assert receive_answer(key.fileobj)
                selector.unregister(key.fileobj)
                key.fileobj.close()
        process.send_signal(signal.SIGTERM)
        _, errors = process.communicate(timeout=30)
        assert process.returncode == 0, errors
        assert "not accepting" in errors


def test_a_fetch_that_waits_is_answered_when_its_time_is_up(tmp_path: Path) -> None:
    async def test(served: Served) -> None:
        client = await served.connect()
        await make_topic(client, "orders")
        answer = await client.ask(fetch_request("orders", 0, max_wait_ms=30), 12)
        assert records_of(answer) == b""

    serve(tmp_path, test)


def test_draining_answers_who_waits_and_reads_nothing_further(tmp_path: Path) -> None:
    async def test(served: Served) -> None:
        client, other = await served.connect(), await served.connect()
        await make_topic(client, "orders")
        client.push(client.frame(fetch_request("orders", 0, max_wait_ms=20_000), 12))
        partition = served.node.hosting.topics["orders"].partitions[0]
        await served.until(lambda: bool(partition.fetch_waiters))
        served.shell.drain()
        await client.reply(2)
        count = len(served.node.served)
        other.push(other.frame(METADATA, 9))
        await served.turns()
        assert len(served.node.served) == count
        await served.until(lambda: served.node.is_quiet)

    serve(tmp_path, test)


def test_a_job_that_fails_is_an_answer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async def test(served: Served) -> None:
        client = await served.connect()
        await make_topic(client, "orders")

        def fail(*arguments: object) -> None:
            raise DiskError(5, "the device answered EIO")

        for name in ("sync", "append"):
            monkeypatch.setattr(served.disk, name, fail)
        answer = await client.ask(produce_request("orders", b"a"), 9)
        assert produced(answer).error_code == 56
        assert (await client.ask(METADATA, 9)).brokers

    serve(tmp_path, test, {"ottla.durability": "durable"})


def test_frames_are_overwritten_on_demand(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async def test(served: Served) -> None:
        client = await served.connect()
        kept: list[memoryview] = []
        received = served.node.received

        def keep(conn: ConnId, frame: memoryview, now: Now) -> None:
            kept.append(frame)
            received(conn, frame, now)

        monkeypatch.setattr(served.node, "received", keep)
        await client.ask(METADATA, 9)
        assert bytes(kept[0]) == b"\xee" * len(kept[0])
        kept.clear()

    serve(tmp_path, test)
