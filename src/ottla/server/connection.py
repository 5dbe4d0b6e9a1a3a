"""One client's socket: frames in, replies out (DESIGN D2a).

All connections read into one shared buffer. A connection owns memory only for a frame that is not
whole yet, and that grows with the bytes that came, never with the bytes that were announced.
"""

import os
import socket
import struct
from collections import deque
from typing import TYPE_CHECKING, cast

from ottla.errors import DiskError
from ottla.limits import (
    COPIED_SLICE_BYTES_MAX,
    FRAMES_PER_TURN_MAX,
    RECEIVE_BUFFER_BYTES,
    SEND_QUEUE_BYTES_MAX,
    TURN_BYTES_OUT_MAX,
)
from ottla.names import ConnId, Now
from ottla.protocol.facts import Buffer, Part
from ottla.storage.segment import FileSlice

if TYPE_CHECKING:
    from ottla.server.runner import Shell

SIZE_BYTES = 4
# What a frame is overwritten with after the call that it was lent for, where that is asked for.
RUBBISH = b"\xee"
_read_size = struct.Struct(">i").unpack_from


class Connection:
    __slots__ = (
        "address",
        "conn",
        "fd",
        "is_closed",
        "is_ended",
        "is_muted",
        "is_queued",
        "is_reading",
        "is_warming",
        "is_writing",
        "last_active_ms",
        "out",
        "out_bytes",
        "partial",
        "received_bytes",
        "sent_bytes",
        "shell",
        "sock",
        "warm_bytes",
    )

    def __init__(
        self, shell: "Shell", conn: ConnId, sock: socket.socket, address: str, now: Now
    ) -> None:
        self.shell = shell
        self.conn = conn
        self.sock = sock
        self.fd = sock.fileno()
        self.address = address
        self.partial = bytearray()
        self.out: deque[Part] = deque()
        self.out_bytes = 0
        # Bytes at the head of the slice that is next, of which the page cache was asked.
        self.warm_bytes = 0
        self.received_bytes = 0
        self.sent_bytes = 0
        self.is_muted = False
        self.is_closed = False
        self.is_ended = False
        self.is_reading = True
        self.is_writing = False
        self.is_warming = False
        # Whole frames are left from its last turn, and wait for the next one.
        self.is_queued = False
        self.last_active_ms = now.mono_ms

    # In

    def on_readable(self) -> None:
        """The reader's callback, inside the shell's guard."""
        shell = self.shell
        if (
            self.is_muted
            or self.is_queued
            or self.out_bytes > SEND_QUEUE_BYTES_MAX
            or shell.is_draining
        ):
            # Only now: most clients send nothing while they wait, and never get here.
            self.stop_reading()
            return
        budget = shell.budget
        held_elsewhere = shell.node.held_bytes
        if budget.used + held_elsewhere < budget.bytes_max:
            room = RECEIVE_BUFFER_BYTES
        else:
            room = budget.room_for(self, held_elsewhere)
            if room == 0:
                self.stop_reading()
                return
        buffer = shell.receive_buffer
        try:
            count = self.sock.recv_into(buffer, room)
        except BlockingIOError:
            return
        except OSError:
            shell.close(self, "the client went away")
            return
        if count == 0:
            self._end()
            return
        now = shell.clock()
        self.last_active_ms = now.mono_ms
        self.received_bytes += count
        if self.partial:
            budget.used += count
            self.partial += buffer[:count]
            self.deliver_partial(now)
        else:
            used = self._deliver(buffer, count, now)
            if used < count and not self.is_closed:
                budget.used += count - used
                self.partial += buffer[used:count]
                self._queue_if_whole()
        shell.end_turn(now)

    def _end(self) -> None:
        """The client says no more. If it half closed, it still gets the answers it waits for."""
        if self.out or self.shell.node.owes(self.conn):
            self.is_ended = True
            self.stop_reading()
        else:
            self.shell.close(self, "the client went away")

    def take_turn(self, now: Now) -> None:
        """The shell's queue has come round to this one."""
        self.is_queued = False
        if self.is_closed or self.is_muted:
            return
        if self.out_bytes > SEND_QUEUE_BYTES_MAX:
            self.stop_reading()
            return
        self.deliver_partial(now)
        if not self.is_queued and not self.is_muted:
            self.start_reading()

    def resume(self) -> None:
        """What held it back may be over: first what is here already, then what comes."""
        if self.is_muted or self.is_ended:
            return
        if self.out_bytes > SEND_QUEUE_BYTES_MAX:
            # What is sent last calls again.
            self.stop_reading()
        elif not self._queue_if_whole():
            self.start_reading()

    def deliver_partial(self, now: Now) -> None:
        """Deliver what is whole among the bytes that this connection owns."""
        view = memoryview(self.partial)
        used = self._deliver(view, len(view), now)
        view.release()
        if self.is_closed or not used:
            return
        shell = self.shell
        shell.budget.used -= used
        if used == len(self.partial):
            self.partial = bytearray()
        else:
            del self.partial[:used]
            self._queue_if_whole()
        shell.budget.forget(self)
        shell.budget.feed(shell.node.held_bytes)

    def _deliver(self, view: memoryview, end: int, now: Now) -> int:
        """Give whole frames to the node; how many bytes were used up.

        Between two frames the node's effects are carried out, which may mute or close. After the
        last one that is left to the end of the turn.
        """
        shell = self.shell
        node = shell.node
        at = 0
        for _ in range(FRAMES_PER_TURN_MAX):
            if end - at < SIZE_BYTES:
                break
            size = _read_size(view, at)[0]
            if not 0 <= size <= shell.frame_bytes_max:
                node.metrics.malformed_frames += 1
                shell.close(self, f"a frame of {size} bytes was announced")
                return end
            if end - at - SIZE_BYTES < size:
                break
            start = at + SIZE_BYTES
            at = start + size
            node.received(self.conn, view[start:at], now)
            if shell.overwrites_frames:
                view[start:at] = RUBBISH * size
            if at < end and node.effects:
                shell.carry_out(node.drain_effects(), now)
                if self.is_closed:
                    return end
                if self.is_muted or self.out_bytes > TURN_BYTES_OUT_MAX:
                    break
        return at

    def _queue_if_whole(self) -> bool:
        """With a whole frame left, it joins the others that wait for their turn."""
        partial = self.partial
        if len(partial) < SIZE_BYTES or self.is_muted:
            return False
        size = _read_size(partial, 0)[0]
        if len(partial) - SIZE_BYTES < size <= self.shell.frame_bytes_max:
            return False
        if not self.is_queued:
            self.is_queued = True
            self.shell.take_turn_later(self)
        return True

    @property
    def is_expecting(self) -> bool:
        """Half a request is here, and nothing but its sender keeps the rest from coming."""
        return self.is_reading and len(self.partial) > 0 and not self.is_muted

    # Out

    def queue(self, parts: list[Part]) -> None:
        out = self.out
        if not out:
            self.shell.sending[self] = None
        for part in parts:
            out.append(part)
            self.out_bytes += len(part)

    def flush(self) -> None:
        """Send as much as the socket takes, and of files no more than is fair to the others."""
        if self.is_warming:
            return
        out = self.out
        file_bytes_left = TURN_BYTES_OUT_MAX
        try:
            while out:
                part = out[0]
                if part.__class__ is not FileSlice:
                    file_bytes_left -= self._send_bytes(file_bytes_left)
                elif file_bytes_left <= 0:
                    raise BlockingIOError
                elif self._is_warm(part, file_bytes_left):
                    file_bytes_left -= self._send_slice(part, file_bytes_left)
                else:
                    self._want_write(False)
                    return
        except BlockingIOError:
            self._want_write(True)
            return
        except (OSError, DiskError):
            self.shell.close(self, "the client went away")
            return
        if self.is_writing:
            self._want_write(False)
        if self.is_ended:
            self._end()
        elif not self.is_reading:
            self.resume()

    def _send_bytes(self, file_bytes_max: int) -> int:
        """Everything up to the next slice that `sendfile` is for leaves in one call.

        Small slices leave with it as copies; how many bytes that was of files.
        """
        out = self.out
        data = cast("Buffer", out.popleft())
        more = copied = 0
        if out:
            parts = [data]
            while out:
                part = out[0]
                if isinstance(part, FileSlice):
                    found = self._copied(part) if copied < file_bytes_max else None
                    if found is None:
                        break
                    copied += len(found)
                    part = found
                parts.append(cast("Buffer", part))
                out.popleft()
            if len(parts) > 1:
                data = b"".join(parts)
            more = socket.MSG_MORE if out else 0
        try:
            sent = self.sock.send(data, more)
        except BlockingIOError:
            out.appendleft(data)
            raise
        self.out_bytes -= sent
        self.sent_bytes += sent
        if sent < len(data):
            out.appendleft(memoryview(data)[sent:])
            raise BlockingIOError
        return copied

    def _copied(self, part: FileSlice) -> bytes | None:
        """A small slice that the page cache has; None where `sendfile` is for it."""
        if part.size > COPIED_SLICE_BYTES_MAX:
            return None
        self._check_valid(part)
        data = self.shell.disk.read(part.segment.file, part.position, part.size)
        if data is not None:
            if len(data) < part.size:
                raise ConnectionAbortedError("a segment is shorter than announced")
            part.release()
        return data

    def _check_valid(self, part: FileSlice) -> None:
        if not part.is_valid():
            raise ConnectionAbortedError("the log was truncated under a slice")

    def _is_warm(self, part: FileSlice, bytes_max: int) -> bool:
        """A cold range is read ahead in a thread: `sendfile` would stop the loop for it (D2b)."""
        self._check_valid(part)
        if self.warm_bytes > 0:
            return True
        size = min(part.size, bytes_max)
        shell = self.shell
        if shell.disk.is_cached(part.segment.file, part.position, size):
            self.warm_bytes = size
            return True
        self.is_warming = True
        shell.warm(self, part, size)
        return False

    def on_warm(self, size: int) -> None:
        """Sent without a further look, whatever the page cache has lost again meanwhile."""
        self.is_warming = False
        self.warm_bytes = size
        self.flush()

    def _send_slice(self, part: FileSlice, bytes_max: int) -> int:
        """The length was announced: a slice that cannot be sent whole ends the connection."""
        size = min(part.size, self.warm_bytes, bytes_max)
        sent = os.sendfile(self.fd, part.segment.file.fileno(), part.position, size)
        if sent == 0:
            raise ConnectionAbortedError("a segment is shorter than announced")
        self.out_bytes -= sent
        self.sent_bytes += sent
        self.warm_bytes -= sent
        part.position += sent
        part.size -= sent
        if part.size == 0:
            self.warm_bytes = 0
            self.out.popleft()
            part.release()
        return sent

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
        if not self.is_reading and not self.is_closed and not self.is_ended:
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
        self.shell.budget.used -= len(self.partial)
        self.partial = bytearray()
        self.sock.close()
