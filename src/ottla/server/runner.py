"""The loop: sockets to inputs, effects to sockets, disk jobs to threads (DESIGN D2a)."""

import asyncio
import logging
import os
import socket
import time
from collections.abc import Callable
from functools import partial
from typing import Any

from ottla.broker.effects import Close, DiskOp, Effect, FlushTicket, Mute, Report, Send, Unmute
from ottla.broker.node import Node
from ottla.limits import QUEUED_REQUEST_BYTES_MAX, RECEIVE_BUFFER_BYTES
from ottla.names import ConnId, Now
from ottla.server.budget import Budget
from ottla.server.connection import Connection
from ottla.server.disk import OsDisk
from ottla.server.listening import Listener
from ottla.server.patrol import Patrol
from ottla.server.workers import Workers
from ottla.storage.jobs import WarmRange
from ottla.storage.segment import FileSlice

log = logging.getLogger("ottla")

CRASHED = 70
# Set, each frame is overwritten after the call that it was lent for: a view that was kept shows.
DEBUG_FRAMES = "OTTLA_DEBUG_FRAMES"


def clock() -> Now:
    return Now(time.monotonic_ns() // 1_000_000, time.time_ns() // 1_000_000)


class Shell:
    def __init__(self, node: Node, disk: OsDisk, loop: asyncio.AbstractEventLoop) -> None:
        self.node = node
        self.loop = loop
        self.workers = Workers(disk, loop, self._on_disk_done, self._on_flushed, self.guarded)
        self.receive_buffer = memoryview(bytearray(RECEIVE_BUFFER_BYTES))
        self.disk = disk
        self.overwrites_frames = bool(os.environ.get(DEBUG_FRAMES))
        config = node.config
        self.frame_bytes_max = config.int("socket.request.max.bytes")
        queued_bytes_max = config.int("queued.max.request.bytes")
        self.budget = Budget(queued_bytes_max if queued_bytes_max > 0 else QUEUED_REQUEST_BYTES_MAX)
        self.connections: dict[ConnId, Connection] = {}
        self._conns_drawn = 0
        self._sending: dict[Connection, None] = {}
        self._turns: list[Connection] = []
        self._timer: asyncio.TimerHandle | None = None
        self._timer_ms = 1 << 62
        self.is_draining = False
        self._listener = Listener(
            loop,
            self.guarded,
            self._on_connection,
            config.int("max.connections"),
            config.int("max.connections.per.ip"),
        )
        self._patrol = Patrol(config.int("connections.max.idle.ms"), self.close)
        self._visit_guarded = self.guarded(self._visit)
        self._quiet: asyncio.Event | None = None
        self._is_settling_soon = False
        self._settle_guarded = self.guarded(self._settle)
        self._clocked = Now(0, 0)
        self._carry: dict[type, Callable[[Any, Now], None]] = {
            Send: self._send,
            Close: self._close,
            Mute: self._mute,
            Unmute: self._unmute,
            DiskOp: lambda effect, now: self.workers.run(effect),
            FlushTicket: lambda effect, now: self.workers.flush(effect),
            Report: lambda effect, now: log.log(LEVELS[effect.level], effect.text),
        }

    def clock(self) -> Now:
        """The loop reads the monotonic clock once an iteration; within it, time stands."""
        mono_ms = int(self.loop.time() * 1000)
        if mono_ms != self._clocked.mono_ms:
            self._clocked = Now(mono_ms, time.time_ns() // 1_000_000)
        return self._clocked

    def guarded(self, callback: Callable[[], None]) -> Callable[[], None]:
        """The one guard: what is not an expected refusal ends the process, without a clean mark."""

        def enter() -> None:
            try:
                callback()
            except Exception:
                log.critical("a broken invariant; stopping without a clean mark", exc_info=True)
                logging.shutdown()
                os._exit(CRASHED)

        return enter

    # Connections

    def listen(self, sock: socket.socket) -> None:
        self._listener.listen(sock)
        self._visit()

    def _on_connection(self, sock: socket.socket, address: str, port: int) -> None:
        now = self.clock()
        self._conns_drawn += 1
        connection = Connection(self, ConnId(self._conns_drawn), sock, address, now)
        self.connections[connection.conn] = connection
        self.watch_readable(connection)
        self._patrol.add(connection)
        self.node.connected(connection.conn, f"{address}:{port}", now)
        self.end_turn(now)

    def _visit(self) -> None:
        self._patrol.visit(self.clock())
        self.loop.call_later(self._patrol.visit_ms / 1000, self._visit_guarded)

    def drain(self) -> None:
        """Nobody new and no further request; those under way are answered."""
        self._listener.stop()
        self.is_draining = True
        now = self.clock()
        self.node.drain(now)
        self.end_turn(now)

    def watch_readable(self, connection: Connection) -> None:
        self.loop.add_reader(connection.fd, self.guarded(connection.on_readable))

    def watch_writable(self, connection: Connection, wanted: bool) -> None:
        if wanted:
            self.loop.add_writer(
                connection.fd, self.guarded(partial(self._on_writable, connection))
            )
        else:
            self.loop.remove_writer(connection.fd)

    def _on_writable(self, connection: Connection) -> None:
        connection.flush()
        if self.node.effects:
            # The last slice of a deleted file was sent, and it can be closed.
            self.end_turn(self.clock())

    def mark_sending(self, connection: Connection) -> None:
        self._sending[connection] = None

    def take_turn_later(self, connection: Connection) -> None:
        """Its turn is over with whole frames left: it waits for the next behind the others."""
        if not self._turns:
            self.loop.call_soon(self.guarded(self._take_turns))
        self._turns.append(connection)

    def _take_turns(self) -> None:
        turns, self._turns = self._turns, []
        now = self.clock()
        for connection in turns:
            connection.take_turn(now)
        self.end_turn(now)

    def warm(self, connection: Connection, part: FileSlice, size: int) -> None:
        """Read a cold range in a thread; its connection sends on when it is in the page cache."""
        # Pinned: the connection may close meanwhile, and the topic be deleted.
        pinned = FileSlice(part.segment, part.position, size)

        def done(result: Any) -> None:
            pinned.release()
            if not connection.is_closed:
                # If it cannot be read, sendfile says so.
                connection.on_warm(size)
            self.end_turn(self.clock())

        self.workers.submit(WarmRange(part.segment.file, part.position, size), done)

    def close(self, connection: Connection, why: str) -> None:
        if connection.is_closed:
            return
        log.debug("closing connection %d: %s", connection.conn, why)
        del self.connections[connection.conn]
        self._sending.pop(connection, None)
        connection.drop()
        self._listener.on_closed(connection.address)
        self.node.closed(connection.conn, self.clock())
        self.budget.forget(connection)
        self.budget.feed(self.node.held_bytes)
        self._settle_soon()

    async def wait_quiet(self) -> None:
        """Until nothing is on its way to the disk any more."""
        if not self.node.is_quiet:
            self._quiet = asyncio.Event()
            await self._quiet.wait()

    def close_all(self) -> None:
        for connection in list(self.connections.values()):
            connection.flush()
            self.close(connection, "the broker stops")

    # Effects

    def end_turn(self, now: Now) -> None:
        """After each input: answers leave at once, all else once an iteration of the loop.

        So one flush round serves all the connections that were readable together.
        """
        self.carry_out(now)
        self._send_queued()
        if self.node.needs_settling or self._quiet is not None:
            self._settle_soon()

    def _settle_soon(self) -> None:
        if not self._is_settling_soon:
            self._is_settling_soon = True
            self.loop.call_soon(self._settle_guarded)

    def _settle(self) -> None:
        self._is_settling_soon = False
        now = self.clock()
        for effect in self.node.take_effects():
            self._carry[effect.__class__](effect, now)
        self.carry_out(now)
        self._send_queued()
        self._arm_timer(now)
        if self._quiet is not None and self.node.is_quiet:
            self._quiet.set()
        self.budget.feed(self.node.held_bytes)
        if self.node.needs_settling:
            self._settle_soon()

    def _send_queued(self) -> None:
        sending = self._sending
        if sending:
            self._sending = {}
            for connection in sending:
                if not connection.is_writing:
                    connection.flush()

    def carry_out(self, now: Now) -> None:
        node = self.node
        carry = self._carry
        while node.effects:
            for effect in node.drain_effects():
                carry[effect.__class__](effect, now)

    def _send(self, effect: Send, now: Now) -> None:
        connection = self.connections.get(effect.conn)
        if connection is not None:
            connection.queue(effect.parts)
        else:
            release_slices(effect)

    def _close(self, effect: Close, now: Now) -> None:
        connection = self.connections.get(effect.conn)
        if connection is not None:
            log.info("closing connection %d: %s", connection.conn, effect.why)
            # Answers to what came before have been given, and are not taken back.
            connection.flush()
            self.close(connection, effect.why)

    def _mute(self, effect: Mute, now: Now) -> None:
        connection = self.connections.get(effect.conn)
        if connection is not None:
            connection.is_muted = True

    def _unmute(self, effect: Unmute, now: Now) -> None:
        connection = self.connections.get(effect.conn)
        if connection is None:
            return
        connection.is_muted = False
        connection.resume()

    # Time and disk

    def _arm_timer(self, now: Now) -> None:
        """A timer that fires too early costs a turn; one is moved only to be earlier."""
        deadline_ms = self.node.next_deadline_ms()
        if deadline_ms is None or deadline_ms >= self._timer_ms:
            return
        if self._timer is not None:
            self._timer.cancel()
        self._timer_ms = deadline_ms
        delay_ms = max(0, deadline_ms - now.mono_ms)
        self._timer = self.loop.call_later(delay_ms / 1000, self.guarded(self._on_timer))

    def _on_timer(self) -> None:
        self._timer = None
        self._timer_ms = 1 << 62
        now = self.clock()
        self.node.tick(now)
        self.end_turn(now)
        # It may have come a moment too early to find anything due: then nothing else arms it anew.
        self._arm_timer(now)

    def _on_disk_done(self, op: DiskOp, result: Any) -> None:
        now = self.clock()
        self.node.disk_done(op, result, now)
        self.end_turn(now)

    def _on_flushed(self, ticket: FlushTicket, error: Any) -> None:
        now = self.clock()
        self.node.flushed(ticket, error, now)
        self.end_turn(now)


LEVELS = {
    "debug": logging.DEBUG,
    "info": logging.INFO,
    "warning": logging.WARNING,
    "error": logging.ERROR,
}


def release_slices(effect: Effect) -> None:
    """The client is gone; what was pinned for it is let go."""
    if isinstance(effect, Send):
        for part in effect.parts:
            release = getattr(part, "release", None)
            if release is not None:
                release()
