"""One client's socket: frames in, replies out (DESIGN D2a).

All connections read into one shared buffer. A connection owns memory only for a frame that is not
whole yet, and that grows with the bytes that came, never with the bytes that were announced.
"""

import os
import socket
import struct
from collections import deque
from typing import TYPE_CHECKING, cast

from ottla.limits import (
    FRAMES_PER_TURN_MAX,
    SEND_QUEUE_BYTES_MAX,
    TURN_BYTES_OUT_MAX,
)
from ottla.names import ConnId, Now
from ottla.protocol.facts import Buffer, Part
from ottla.storage.segment import FileSlice

if TYPE_CHECKING:
    from ottla.server.runner import Shell

SIZE_BYTES = 4
_read_size = struct.Struct(">i").unpack_from


class Connection:
    __slots__ = (
        "conn",
        "fd",
        "is_closed",
        "is_muted",
        "is_reading",
        "is_writing",
        "last_active_ms",
        "out",
        "out_bytes",
        "partial",
        "shell",
        "sock",
    )

    def __init__(self, shell: "Shell", conn: ConnId, sock: socket.socket, now: Now) -> None:
        self.shell = shell
        self.conn = conn
        self.sock = sock
        self.fd = sock.fileno()
        self.partial = bytearray()
        self.out: deque[Part] = deque()
        self.out_bytes = 0
        self.is_muted = False
        self.is_closed = False
        self.is_reading = True
        self.is_writing = False
        self.last_active_ms = now.mono_ms

    # In

    def on_readable(self) -> None:
        """The reader's callback, inside the shell's guard."""
        shell = self.shell
        if self.is_muted or self.out_bytes > SEND_QUEUE_BYTES_MAX or shell.is_over_budget(self):
            # Only now: most clients send nothing while they wait, and never get here.
            self.stop_reading()
            return
        buffer = shell.receive_buffer
        try:
            count = self.sock.recv_into(buffer)
        except BlockingIOError:
            return
        except OSError:
            count = 0
        if count == 0:
            shell.close(self, "the client went away")
            return
        now = shell.clock()
        self.last_active_ms = now.mono_ms
        if self.partial:
            shell.charge(count)
            self.partial += buffer[:count]
            self.deliver_partial(now)
        else:
            used = self._deliver(buffer[:count], now)
            if used < count and not self.is_closed:
                shell.charge(count - used)
                self.partial += buffer[used:count]
        shell.end_turn(now)

    def deliver_partial(self, now: Now) -> None:
        """Deliver what is whole among the bytes that this connection owns."""
        view = memoryview(self.partial)
        used = self._deliver(view, now)
        view.release()
        if self.is_closed:
            return
        self.shell.charge(-used)
        if used == len(self.partial):
            self.partial = bytearray()
        elif used:
            del self.partial[:used]

    def _deliver(self, view: memoryview, now: Now) -> int:
        """Give whole frames to the node; how many bytes were used up."""
        shell = self.shell
        node = shell.node
        at, end = 0, len(view)
        for _ in range(FRAMES_PER_TURN_MAX):
            if end - at < SIZE_BYTES:
                return at
            size = _read_size(view, at)[0]
            if not 0 <= size <= shell.frame_bytes_max:
                shell.close(self, f"a frame of {size} bytes was announced")
                return end
            if end - at - SIZE_BYTES < size:
                return at
            start = at + SIZE_BYTES
            at = start + size
            node.received(self.conn, view[start:at], now)
            if node.effects:
                shell.carry_out(now)
                if self.is_closed:
                    return end
                if self.is_muted or self.out_bytes > TURN_BYTES_OUT_MAX:
                    break
        if end - at >= SIZE_BYTES and not self.is_muted:
            shell.continue_later(self)
        return at

    # Out

    def queue(self, parts: list[Part]) -> None:
        if not self.out:
            self.shell.mark_sending(self)
        self.out.extend(parts)
        for part in parts:
            self.out_bytes += len(part)

    def flush(self) -> None:
        """Send as much as the socket takes."""
        out = self.out
        try:
            while out:
                part = out[0]
                if isinstance(part, FileSlice):
                    self._send_slice(part)
                else:
                    self._send_bytes()
        except BlockingIOError:
            self._want_write(True)
            return
        except OSError:
            self.shell.close(self, "the client went away")
            return
        self._want_write(False)
        if not self.is_reading and not self.is_muted:
            self.start_reading()

    def _send_bytes(self) -> None:
        """Everything up to the next slice leaves in one call."""
        out = self.out
        data = cast("Buffer", out.popleft())
        more = 0
        if out:
            parts = [data]
            while out and not isinstance(out[0], FileSlice):
                parts.append(cast("Buffer", out.popleft()))
            if len(parts) > 1:
                data = b"".join(parts)
            more = socket.MSG_MORE if out else 0
        try:
            sent = self.sock.send(data, more)
        except BlockingIOError:
            out.appendleft(data)
            raise
        self.out_bytes -= sent
        if sent < len(data):
            out.appendleft(memoryview(data)[sent:])
            raise BlockingIOError

    def _send_slice(self, part: FileSlice) -> None:
        """The length was announced: a slice that cannot be sent whole ends the connection."""
        if not part.is_valid():
            raise ConnectionAbortedError("the log was truncated under a slice")
        sent = os.sendfile(self.fd, part.segment.file.fileno(), part.position, part.size)
        if sent == 0:
            raise ConnectionAbortedError("a segment is shorter than announced")
        self.out_bytes -= sent
        part.position += sent
        part.size -= sent
        if part.size == 0:
            self.out.popleft()
            part.release()

    def _want_write(self, wanted: bool) -> None:
        if wanted != self.is_writing and not self.is_closed:
            self.is_writing = wanted
            self.shell.watch_writable(self, wanted)

    # Pausing

    def stop_reading(self) -> None:
        if self.is_reading:
            self.is_reading = False
            self.shell.loop.remove_reader(self.fd)

    def start_reading(self) -> None:
        if not self.is_reading and not self.is_closed:
            self.is_reading = True
            self.shell.watch_readable(self)

    def drop(self) -> None:
        """Let go of everything; the shell has told the node."""
        self.is_closed = True
        self.shell.loop.remove_reader(self.fd)
        if self.is_writing:
            self.shell.loop.remove_writer(self.fd)
        for part in self.out:
            if isinstance(part, FileSlice):
                part.release()
        self.out.clear()
        self.shell.charge(-len(self.partial))
        self.partial = bytearray()
        self.sock.close()
