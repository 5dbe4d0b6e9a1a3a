"""One process around a node, in virtual time: what `ottla.server` is to sockets and threads.

It keeps the shell's rules (DESIGN D2a): whole frames only, so many a turn, none while muted,
answers at once and all else once an iteration. A frame is overwritten when the call that it was
lent for has returned, so that a view which was kept shows rubbish.
"""

from collections.abc import Callable
from functools import partial
from typing import Any

from ottla.broker.effects import Close, DiskOp, FlushTicket, Mute, Report, Send, Unmute
from ottla.broker.node import Node
from ottla.errors import DiskError
from ottla.limits import FRAMES_PER_TURN_MAX, SEND_QUEUE_BYTES_MAX, TURN_BYTES_OUT_MAX
from ottla.names import ConnId
from ottla.sim.disk import PowerCut, SimDisk
from ottla.sim.jobs import JobRunner
from ottla.sim.network import Buffer, CloseReason, End, LateBytes
from ottla.sim.world import Action, Timer, World
from ottla.storage.disk import Disk
from ottla.storage.jobs import flush_logs
from ottla.storage.segment import FileSlice

SIZE_BYTES = 4
OVERWRITE = 0xEE
# A deadline that is due and at which nothing happens would be due for ever.
TICKS_AT_ONCE_MAX = 100


class _Connection:
    __slots__ = ("conn", "end", "is_closed", "is_muted", "partial")

    def __init__(self, conn: ConnId, end: End) -> None:
        self.conn = conn
        self.end = end
        self.partial = bytearray()
        self.is_muted = False
        self.is_closed = False


class SimShell:
    """The owner of the broker's ends of connections, as long as its process lives."""

    def __init__(self, world: World, node: Node, disk: SimDisk, on_cut: Action) -> None:
        self.world = world
        self.node = node
        self.disk = disk
        self.jobs = JobRunner(world, disk, on_cut)
        self.reports: list[Report] = []
        # Called after every input, when its effects are carried out.
        self.after_turn: Action = lambda: None
        self._on_cut = on_cut
        self._is_dead = False
        self._is_paused = False
        self._deferred: list[Action] = []
        self._connections: dict[ConnId, _Connection] = {}
        self._by_end: dict[End, _Connection] = {}
        self._conns_drawn = 0
        self._is_settling_soon = False
        self._timer: Timer | None = None
        self._timer_ms = 1 << 62
        self._ticked_ns = -1
        self._ticks_at_once = 0
        self._frame_bytes_max = node.config.int("socket.request.max.bytes")
        self._carry: dict[type, Callable[[Any], None]] = {
            Send: self._send,
            Close: self._close,
            Mute: self._mute,
            Unmute: self._unmute,
            DiskOp: self._run_job,
            FlushTicket: self._flush,
            Report: self._report,
        }

    # The process

    def enter(self, action: Action) -> None:
        """Every input comes through here: later if the process is stopped, never if it is dead."""
        if self._is_dead:
            return
        if self._is_paused:
            self._deferred.append(action)
            return
        try:
            action()
        except PowerCut:
            self._on_cut()
            return
        self.after_turn()

    def pause(self) -> None:
        self._is_paused = True

    def resume(self) -> None:
        self._is_paused = False
        deferred, self._deferred = self._deferred, []
        for action in deferred:
            self.enter(action)

    def die(self) -> None:
        self._is_dead = True
        self.world.cancel(self._timer)
        self.jobs.die()

    def close_all(self) -> None:
        for connection in list(self._connections.values()):
            self._drop(connection)

    # The ends of connections

    def opened(self, end: End) -> None:
        self._conns_drawn += 1
        connection = _Connection(ConnId(self._conns_drawn), end)
        self._by_end[end] = connection

        def accept() -> None:
            if not connection.is_closed:
                self._connections[connection.conn] = connection
                self.node.connected(connection.conn, end.remote, self.world.now())
                self.end_turn()

        self.enter(accept)

    def received(self, end: End, data: bytes) -> None:
        connection = self._by_end[end]
        connection.partial += data
        self.enter(partial(self._readable, connection))

    def writable(self, end: End, queued_bytes: int) -> None:
        if queued_bytes <= SEND_QUEUE_BYTES_MAX and not end.is_reading:
            connection = self._by_end.get(end)
            if connection is not None and not connection.is_muted:
                end.resume_reading()

    def closed(self, end: End, reason: CloseReason) -> None:
        connection = self._by_end.pop(end)
        connection.is_closed = True

        def forget() -> None:
            if self._connections.pop(connection.conn, None) is not None:
                self.node.closed(connection.conn, self.world.now())
                self.end_turn()

        self.enter(forget)

    def _readable(self, connection: _Connection) -> None:
        if not connection.is_closed and not connection.is_muted:
            self._deliver(connection)
            self.end_turn()

    def _deliver(self, connection: _Connection) -> None:
        node, now = self.node, self.world.now()
        received = connection.partial
        at = 0
        for _ in range(FRAMES_PER_TURN_MAX):
            if len(received) - at < SIZE_BYTES:
                break
            size = int.from_bytes(received[at : at + SIZE_BYTES], "big", signed=True)
            if not 0 <= size <= self._frame_bytes_max:
                self._close(Close(connection.conn, f"a frame of {size} bytes was announced"))
                return
            start = at + SIZE_BYTES
            if len(received) - start < size:
                break
            at = start + size
            lent = received[start:at]
            with memoryview(lent) as frame:
                node.received(connection.conn, frame, now)
            lent[:] = bytes((OVERWRITE,)) * size
            self._carry_out()
            if connection.is_closed:
                return
            if connection.is_muted or connection.end.queued_bytes > TURN_BYTES_OUT_MAX:
                break
        del received[:at]
        if connection.is_muted or connection.end.queued_bytes > SEND_QUEUE_BYTES_MAX:
            connection.end.pause_reading()
        elif len(received) >= SIZE_BYTES and at > 0:
            self._soon("reads on", partial(self._readable, connection))

    def _drop(self, connection: _Connection) -> None:
        if connection.is_closed:
            return
        connection.is_closed = True
        del self._connections[connection.conn]
        del self._by_end[connection.end]
        connection.end.close()
        self.node.closed(connection.conn, self.world.now())

    # Turns

    def end_turn(self) -> None:
        self._carry_out()
        if self.node.needs_settling and not self._is_settling_soon:
            self._is_settling_soon = True
            self._soon("settles", self._settle)

    def _settle(self) -> None:
        self._is_settling_soon = False
        carry = self._carry
        for effect in self.node.take_effects():
            carry[effect.__class__](effect)
        self._arm_timer()
        self.end_turn()

    def _soon(self, what: str, action: Action) -> None:
        self.world.schedule(0, f"node {what}", partial(self.enter, action))

    def _arm_timer(self) -> None:
        deadline_ms = self.node.next_deadline_ms()
        if deadline_ms is None or deadline_ms >= self._timer_ms:
            return
        self.world.cancel(self._timer)
        self._timer_ms = deadline_ms
        delay_ns = self.world.clock.delay_ns(deadline_ms)
        self._timer = self.world.schedule(delay_ns, "node timer", partial(self.enter, self._tick))

    def _tick(self) -> None:
        self._timer = None
        self._timer_ms = 1 << 62
        self._ticks_at_once = self._ticks_at_once + 1 if self.world.now_ns == self._ticked_ns else 0
        self._ticked_ns = self.world.now_ns
        assert self._ticks_at_once < TICKS_AT_ONCE_MAX, "the timer spins"
        self.node.tick(self.world.now())
        self.end_turn()
        self._arm_timer()

    # Effects

    def _carry_out(self) -> None:
        node, carry = self.node, self._carry
        while node.effects:
            for effect in node.drain_effects():
                carry[effect.__class__](effect)

    def _send(self, effect: Send) -> None:
        connection = self._connections.get(effect.conn)
        if connection is not None and connection.end.is_open:
            connection.end.send([self._part(part) for part in effect.parts])
            return
        for part in effect.parts:
            if isinstance(part, FileSlice):
                part.release()

    def _part(self, part: Any) -> Buffer | LateBytes:
        """A slice of a file is read when it leaves, as `sendfile` does it."""
        if not isinstance(part, FileSlice):
            data: Buffer = part
            return data
        file_slice = part

        def read(position: int, size: int) -> bytes | None:
            if not file_slice.is_valid():
                return None
            start = file_slice.position + position
            return self.disk.peek(file_slice.segment.file, start, size)

        def release() -> None:
            if self._is_dead:
                return
            file_slice.release()
            self._soon("settles", self.end_turn)

        return LateBytes(file_slice.size, read, release)

    def _close(self, effect: Close) -> None:
        connection = self._connections.get(effect.conn)
        if connection is not None:
            self.world.note(f"node closes {connection.end}: {effect.why}")
            self._drop(connection)

    def _mute(self, effect: Mute) -> None:
        connection = self._connections.get(effect.conn)
        if connection is not None:
            connection.is_muted = True

    def _unmute(self, effect: Unmute) -> None:
        connection = self._connections.get(effect.conn)
        if connection is not None:
            connection.is_muted = False
            connection.end.resume_reading()
            if connection.partial:
                self._soon("reads on", partial(self._readable, connection))

    def _run_job(self, op: DiskOp) -> None:
        def done(result: Any) -> None:
            self.node.disk_done(op, result, self.world.now())
            self.end_turn()

        name = op.job.__class__.__name__
        self.jobs.submit(name, op.job.run, lambda result: self.enter(partial(done, result)))

    def _flush(self, ticket: FlushTicket) -> None:
        def work(disk: Disk) -> None:
            flush_logs(disk, ticket.logs, ticket.journal)

        def done(result: object) -> None:
            error = result if isinstance(result, DiskError) else None
            self.node.flushed(ticket, error, self.world.now())
            self.end_turn()

        self.jobs.submit("flush", work, lambda result: self.enter(partial(done, result)))

    def _report(self, effect: Report) -> None:
        self.world.note(f"node says {effect.level}: {effect.text}")
        self.reports.append(effect)
