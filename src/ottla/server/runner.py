"""The loop: sockets to inputs, effects to sockets, disk jobs to threads (DESIGN D2a)."""

import asyncio
import logging
import os
import socket
import time
from collections.abc import Callable
from typing import Any

from ottla.broker.effects import Close, DiskOp, Effect, FlushTicket, Mute, Report, Send, Unmute
from ottla.broker.flushing import IDLE_FLUSH_MS
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
        loop.set_exception_handler(self._on_unexpected)
        self.workers = Workers(disk, loop, self._on_disk_done, self._on_flushed)
        self.receive_buffer = memoryview(bytearray(RECEIVE_BUFFER_BYTES))
        self.disk = disk
        self.overwrites_frames = bool(os.environ.get(DEBUG_FRAMES))
        config = node.config
        self.frame_bytes_max = config.int("socket.request.max.bytes")
        queued_bytes_max = config.int("queued.max.request.bytes")
        self.budget = Budget(queued_bytes_max if queued_bytes_max > 0 else QUEUED_REQUEST_BYTES_MAX)
        self.connections: dict[ConnId, Connection] = {}
        self._conns_drawn = 0
        # Connections with something to send at the end of this turn.
        self.sending: dict[Connection, None] = {}
        self._turns: list[Connection] = []
        self._timer: asyncio.TimerHandle | None = None
        self._timer_ms = 1 << 62
        self.is_draining = False
        self._listener = Listener(
            loop,
            self._on_connection,
            config.int("max.connections"),
            config.int("max.connections.per.ip"),
        )
        self._patrol = Patrol(config.int("connections.max.idle.ms"), self.close)
        self._quiet: asyncio.Event | None = None
        self._is_settling_soon = False
        self._stir = node.stir
        self._clocked = Now(0, 0)
        self._carry: dict[type, Callable[[Any, Now], None]] = {
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

    def _on_unexpected(self, loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
        """The one guard: what a callback of the loop raises is not an expected refusal.

        It ends the process, without a clean mark.
        """
        self.end_broken(context["message"], context.get("exception"))

    def end_broken(self, what: str, error: BaseException | None) -> None:
        log.critical("a broken invariant; stopping without a clean mark: %s", what, exc_info=error)
        logging.shutdown()
        os._exit(CRASHED)

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
        self.loop.call_later(self._patrol.visit_ms / 1000, self._visit)

    def drain(self) -> None:
        """Nobody new and no further request; those under way are answered."""
        self._listener.stop()
        self.is_draining = True
        now = self.clock()
        self.node.drain(now)
        self.end_turn(now)

    def watch_readable(self, connection: Connection) -> None:
        self.loop.add_reader(connection.fd, connection.on_readable)

    def watch_writable(self, connection: Connection, wanted: bool) -> None:
        if wanted:
            self.loop.add_writer(connection.fd, self._on_writable, connection)
        else:
            self.loop.remove_writer(connection.fd)

    def _on_writable(self, connection: Connection) -> None:
        connection.flush()
        if self.node.effects:
            # The last slice of a deleted file was sent, and it can be closed.
            self.end_turn(self.clock())

    def take_turn_later(self, connection: Connection) -> None:
        """Its turn is over with whole frames left: it waits for the next behind the others."""
        if not self._turns:
            self.loop.call_soon(self._take_turns)
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
        self.sending.pop(connection, None)
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
        if self.node.effects:
            self.carry_out(self.node.drain_effects(), now)
        if self.sending:
            self._send_queued()
        if (self._stir.is_set or self._quiet is not None) and not self._is_settling_soon:
            self._settle_soon()

    def _settle_soon(self) -> None:
        if not self._is_settling_soon:
            self._is_settling_soon = True
            self.loop.call_soon(self._settle)

    def _settle(self) -> None:
        self._is_settling_soon = False
        now = self.clock()
        self.carry_out(self.node.take_effects(), now)
        if self.sending:
            self._send_queued()
        # No deadline but a timer's is nearer than that.
        if self.node.timers.is_stirred or self._timer_ms > now.mono_ms + IDLE_FLUSH_MS:
            self._arm_timer(now)
        if self._quiet is not None and self.node.is_quiet:
            self._quiet.set()
        self.budget.feed(self.node.held_bytes)
        if self._stir.is_set:
            self._settle_soon()

    def _send_queued(self) -> None:
        sending, self.sending = self.sending, {}
        for connection in sending:
            if not connection.is_writing:
                connection.flush()

    def carry_out(self, effects: list[Effect], now: Now) -> None:
        node = self.node
        while effects:
            for effect in effects:
                if effect.__class__ is Send:
                    self._send(effect)
                else:
                    self._carry[effect.__class__](effect, now)
            effects = node.drain_effects()

    def _send(self, effect: Send) -> None:
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
        self._timer = self.loop.call_later(delay_ms / 1000, self._on_timer)

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
