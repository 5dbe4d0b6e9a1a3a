"""Processes of ours that serve on one port: from a cold start, timed, to their certain end."""

import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from bench.build import BenchError
from tools.kafka import DIE_WITH_PARENT

READY_TIMEOUT_S = 30.0
STOP_TIMEOUT_S = 20.0
TCP_LISTEN = "0A"  # linux/tcp_states.h


@dataclass(slots=True)
class Server:
    process: "subprocess.Popen[bytes]"
    address: str
    ready_s: float
    log: Path

    @property
    def pid(self) -> int:
        return self.process.pid

    def stop(self) -> None:
        self.process.send_signal(signal.SIGTERM)
        try:
            self.process.wait(STOP_TIMEOUT_S)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
            raise BenchError(f"It did not stop on SIGTERM:\n{_tail(self.log)}") from None


@contextmanager
def serving(
    command: Callable[[int], list[str]],
    log: Path,
    ready: Callable[[str, int], bool],
    pass_fds: tuple[int, ...] = (),
) -> Iterator[Server]:
    """Runs what `command` makes of a free port; the kernel ends it if we die before."""
    port = free_port()
    shim = [sys.executable, "-I", "-S", "-c", DIE_WITH_PARENT, str(os.getpid())]
    with log.open("wb") as output:
        process = subprocess.Popen(
            [*shim, *command(port)],
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
            pass_fds=pass_fds,
        )
    server = Server(process, f"127.0.0.1:{port}", 0, log)
    try:
        # The shim's own start is not the server's.
        started = _wait_until(server, lambda: b"prctl" not in _command_line(process.pid), 0.0005)
        server.ready_s = _wait_until(server, lambda: ready("127.0.0.1", port), 0.005) - started
        check_is_ours(process.pid, port)  # takes tens of ms, so not while the clock runs
        yield server
        server.stop()
    finally:
        if process.poll() is None:
            process.kill()
            process.wait()


def accepts(host: str, port: int) -> bool:
    try:
        with socket.create_connection((host, port), timeout=5):
            return True
    except OSError:
        return False


def listens(pid: int, port: int) -> bool:
    """Whether this very process has the port.

    Another program may take a free one first; it would answer too, and be measured in its place.
    """
    inodes = [
        fields[9]
        for table in ("tcp", "tcp6")
        for fields in map(str.split, Path(f"/proc/net/{table}").read_text().splitlines()[1:])
        if fields[3] == TCP_LISTEN and int(fields[1].rpartition(":")[2], 16) == port
    ]
    wanted = [f"socket:[{inode}]" for inode in inodes]
    return bool(wanted) and any(
        _link(descriptor) in wanted for descriptor in Path(f"/proc/{pid}/fd").iterdir()
    )


def check_is_ours(pid: int, port: int) -> None:
    if not listens(pid, port):
        raise BenchError(f"Another program listens on port {port}: run again")


def _link(descriptor: Path) -> str:
    try:
        return os.readlink(descriptor)
    except FileNotFoundError:  # closed since it was listed
        return ""


def age_s(pid: int) -> float:
    """How long a process has run, in the kernel's ticks of 10 ms."""
    # The name in the second field may hold spaces, so count from behind its bracket.
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return time.clock_gettime(time.CLOCK_BOOTTIME) - int(fields[19]) / os.sysconf("SC_CLK_TCK")


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def _command_line(pid: int) -> bytes:
    return Path(f"/proc/{pid}/cmdline").read_bytes()


def _wait_until(server: Server, true: Callable[[], bool], every_s: float) -> float:
    deadline = time.monotonic() + READY_TIMEOUT_S
    while not true():
        if server.process.poll() is not None:
            raise BenchError(f"It ended while starting:\n{_tail(server.log)}")
        if time.monotonic() > deadline:
            raise BenchError(f"It was not ready in {READY_TIMEOUT_S:.0f} s:\n{_tail(server.log)}")
        time.sleep(every_s)
    return time.monotonic()


def _tail(log: Path) -> str:
    return "\n".join(log.read_text(errors="replace").splitlines()[-20:])
