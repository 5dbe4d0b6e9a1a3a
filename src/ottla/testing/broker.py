"""One broker as a subprocess that cannot outlive the test process.

The two share a control pipe. The kernel closes it when the test process ends, however that comes
about, and then the broker ends too; nobody has to clean up after a crash of the tests.
"""

import json
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import IO, Any, Self

HOST = "127.0.0.1"
START_SECONDS_MAX = 60.0
STOP_SECONDS_MAX = 60.0
ANSWER_SECONDS_MAX = 10.0
RECEIVE_BYTES = 64 << 10
LOG_LINES_SHOWN = 20

Setting = str | int | float | bool


class BrokerFailed(Exception):
    """The broker did not start, or ended by itself; the message holds the end of its log."""


class Broker:
    """A context manager: a broker on a free port, with its data thrown away at the end.

    Settings are Kafka's, with underscores for dots: `Broker(auto_create_topics_enable=False)`.
    With `data` the directory is kept, and left clean.
    """

    def __init__(self, *, data: str | Path | None = None, **settings: Setting) -> None:
        self.node_id = int(settings.pop("node_id", 1))
        self.settings = {key.replace("_", "."): _text(value) for key, value in settings.items()}
        self.port = 0
        self._given = None if data is None else Path(data)
        self._data: Path | None = self._given
        self._log: IO[bytes] | None = None
        self._process: subprocess.Popen[bytes] | None = None
        self._pipe: socket.socket | None = None
        self._received = b""
        self._held_port: socket.socket | None = None

    def __enter__(self) -> Self:
        self._log = tempfile.TemporaryFile(prefix="ottla-log-")
        if self._data is None:
            self._data = Path(tempfile.mkdtemp(prefix="ottla-data-"))
        try:
            self._start()
        except BaseException:
            self._clean_up()
            raise
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        trouble: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        try:
            if self._process is not None and trouble is None:
                self._leave(self._process)
        finally:
            self._clean_up()

    def _leave(self, process: "subprocess.Popen[bytes]") -> None:
        code = process.poll()
        if code is not None:
            raise self._failed(f"the broker ended by itself, with code {code}")
        # Nobody opens what is thrown away, so its broker need not take the time to stop cleanly.
        if self._given is not None and self.stop() != 0:
            raise self._failed("the broker could not leave its directory clean")

    @property
    def bootstrap_servers(self) -> str:
        return f"{HOST}:{self.port}"

    @property
    def pid(self) -> int:
        return self._running.pid

    @property
    def data(self) -> Path:
        assert self._data is not None, "the data directory is made when the broker starts"
        return self._data

    @property
    def log(self) -> str:
        """All that the broker said so far, over all its starts."""
        assert self._log is not None, "the broker was not started"
        self._log.seek(0)
        return self._log.read().decode(errors="replace")

    def kill(self) -> None:
        """SIGKILL: what is not on disk or in the page cache by now is lost."""
        self._end(signal.SIGKILL)

    def stop(self) -> int:
        """SIGTERM: a controlled shutdown. The exit code is 0 when the directory was left clean."""
        return self._end(signal.SIGTERM)

    def restart(self) -> None:
        """Start it again, at the same address and over the same data; a running one is stopped."""
        if self._process is not None:
            self.stop()
        self._start()

    def stats(self) -> dict[str, Any]:
        """The broker's own figures about itself."""
        stats: dict[str, Any] = self._ask("stats")
        return stats

    @property
    def _running(self) -> "subprocess.Popen[bytes]":
        assert self._process is not None, "the broker is not running"
        return self._process

    def _start(self) -> None:
        ours, its = socket.socketpair()
        command = [sys.executable, "-P", "-m", "ottla", "start", "--data", str(self.data)]
        command += ["--listen", f"{HOST}:{self.port}", "--node-id", str(self.node_id)]
        command += ["--control-fd", str(its.fileno())]
        for key, value in self.settings.items():
            command += ["--set", f"{key}={value}"]
        self._pipe, self._received = ours, b""
        with its:
            self._process = subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=self._log,
                stderr=subprocess.STDOUT,
                pass_fds=[its.fileno()],
            )
        address = self._hear("ready", START_SECONDS_MAX)
        self.port = int(address.rpartition(":")[2])
        self._release_port()

    def _end(self, signal_number: int) -> int:
        process = self._running
        process.send_signal(signal_number)
        try:
            code = process.wait(STOP_SECONDS_MAX)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
            raise self._failed(f"the broker did not stop in {STOP_SECONDS_MAX:.0f} s") from None
        finally:
            self._process = None
            self._close_pipe()
        self._hold_port()
        return code

    def _hold_port(self) -> None:
        """Nobody else gets the port until the broker is back: not even a client's own connection
        that would reach itself, as the kernel may connect a socket to its own port."""
        holder = socket.socket()
        holder.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            holder.bind((HOST, self.port))
        except OSError:
            holder.close()
        else:
            self._held_port = holder

    def _release_port(self) -> None:
        if self._held_port is not None:
            self._held_port.close()
            self._held_port = None

    def _ask(self, question: str) -> Any:
        pipe = self._pipe
        assert pipe is not None, "the broker is not running"
        with suppress(BrokenPipeError):  # it ended: reading tells so, and why
            pipe.sendall(json.dumps({"ask": question}).encode() + b"\n")
        return self._hear(question, ANSWER_SECONDS_MAX)

    def _hear(self, what: str, seconds_max: float) -> Any:
        """The next line of the broker, which must be about this."""
        pipe = self._pipe
        assert pipe is not None
        pipe.settimeout(seconds_max)
        while b"\n" not in self._received:
            try:
                part = pipe.recv(RECEIVE_BYTES)
            except TimeoutError:
                raise self._failed(f"no word of {what} in {seconds_max:.0f} s") from None
            except ConnectionResetError:
                part = b""
            if not part:
                code = self._running.wait()
                raise self._failed(f"the broker ended with code {code}")
            self._received += part
        line, _, self._received = self._received.partition(b"\n")
        said: dict[str, Any] = json.loads(line)
        return said[what]

    def _failed(self, why: str) -> BrokerFailed:
        return BrokerFailed("\n".join([why, *self.log.splitlines()[-LOG_LINES_SHOWN:]]))

    def _close_pipe(self) -> None:
        if self._pipe is not None:
            self._pipe.close()
            self._pipe = None

    def _clean_up(self) -> None:
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            self._process = None
        self._close_pipe()
        self._release_port()
        if self._log is not None:
            self._log.close()
            self._log = None
        if self._given is None and self._data is not None:
            shutil.rmtree(self._data, ignore_errors=True)
            self._data = None


def _text(value: Setting) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
