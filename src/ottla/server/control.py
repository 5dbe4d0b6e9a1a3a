"""The control pipe: a broker that belongs to another process answers it, and ends with it.

Lines of JSON both ways. The broker says `{"ready": "HOST:PORT"}` once, and answers `{"ask":
"stats"}` with `{"stats": {...}}`. The pipe closes when its owner ends, however that comes about.
"""

import asyncio
import os
import resource
import socket
import sys
from collections.abc import Callable
from typing import Any

import msgspec

from ottla.server.runner import Shell

LINE_BYTES_MAX = 64 << 10
BEAT_SECONDS = 0.005
KIBIBYTE = 1024


class Control:
    def __init__(self, fd: int, shell: Shell, on_owner_gone: Callable[[], None]) -> None:
        self._sock = socket.socket(fileno=fd)
        self._sock.setblocking(False)
        self._sock.set_inheritable(False)
        self._shell = shell
        self._on_owner_gone = on_owner_gone
        self._partial = b""
        self._pulse: Pulse | None = None
        shell.loop.add_reader(fd, self._on_readable)

    def say_ready(self, address: str) -> None:
        self._say({"ready": address})

    def close(self) -> None:
        if self._sock.fileno() >= 0:
            self._shell.loop.remove_reader(self._sock.fileno())
            self._sock.close()

    def _on_readable(self) -> None:
        try:
            data = self._sock.recv(LINE_BYTES_MAX)
        except BlockingIOError:
            return
        except OSError:
            data = b""
        *lines, self._partial = (self._partial + data).split(b"\n")
        if not data or len(self._partial) > LINE_BYTES_MAX:
            self._end()
            return
        for line in lines:
            self._answer(line)

    def _answer(self, line: bytes) -> None:
        try:
            asked = msgspec.json.decode(line, type=dict[str, str]).get("ask")
        except msgspec.DecodeError:
            asked = None
        if asked == "stats":
            self._say({"stats": self._stats()})
        else:
            self._say({"error": "the only question known here is {'ask': 'stats'}"})

    def _stats(self) -> dict[str, Any]:
        if self._pulse is None:
            # Only who asks for figures pays for the beats.
            self._pulse = Pulse(self._shell.loop)
        node = self._shell.node
        usage = resource.getrusage(resource.RUSAGE_SELF)
        return {
            **node.metrics.as_dict(),
            "connections": len(node.connections),
            "cpu_seconds": usage.ru_utime + usage.ru_stime,
            "loop_late_ms_max": self._pulse.take_late_ms_max(),
            "resident_bytes": _resident_bytes(),
            "resident_bytes_max": usage.ru_maxrss * (1 if sys.platform == "darwin" else KIBIBYTE),
        }

    def _say(self, value: dict[str, Any]) -> None:
        if self._sock.fileno() < 0:
            return
        try:
            self._sock.sendall(msgspec.json.encode(value) + b"\n")
        except OSError:
            self._end()

    def _end(self) -> None:
        self.close()
        self._on_owner_gone()


class Pulse:
    """How late the loop runs what is due: its longest stall, less one beat at most."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._late_seconds_max = 0.0
        self._due = 0.0
        self._arm()

    def take_late_ms_max(self) -> float:
        """The longest since it was last asked for; a stall that goes on now counts."""
        late = max(self._late_seconds_max, self._loop.time() - self._due)
        self._late_seconds_max = 0.0
        return max(0.0, round(late * 1000, 3))

    def _arm(self) -> None:
        self._due = self._loop.time() + BEAT_SECONDS
        self._loop.call_later(BEAT_SECONDS, self._beat)

    def _beat(self) -> None:
        self._late_seconds_max = max(self._late_seconds_max, self._loop.time() - self._due)
        self._arm()


def _resident_bytes() -> int:
    try:
        with open("/proc/self/statm", encoding="ascii") as statm:
            return int(statm.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except OSError:
        return 0  # no /proc here: the highest figure stands beside it
