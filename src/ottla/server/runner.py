"""The loop: sockets to inputs, effects to sockets, disk jobs to threads (DESIGN D2a)."""

import asyncio
import errno
import logging
import os
import socket
import time
from collections.abc import Callable
from typing import Any

from ottla.broker.effects import Close, DiskOp, Effect, FlushTicket, Mute, Report, Send, Unmute
from ottla.broker.node import Node
from ottla.limits import LISTENER_REST_MS, RECEIVE_BUFFER_BYTES
from ottla.names import ConnId, Now
from ottla.server.connection import Connection
from ottla.server.disk import OsDisk
from ottla.server.workers import Workers

log = logging.getLogger("ottla")

LISTEN_BACKLOG = 1024
CRASHED = 70


def clock() -> Now:
    return Now(time.monotonic_ns() // 1_000_000, time.time_ns() // 1_000_000)


class Shell:
    def __init__(self, node: Node, disk: OsDisk, loop: asyncio.AbstractEventLoop) -> None:
        self.node = node
        self.loop = loop
        self.workers = Workers(disk, loop, self._on_disk_done, self._on_flushed)
        self.receive_buffer = memoryview(bytearray(RECEIVE_BUFFER_BYTES))
        self.frame_bytes_max = node.config.int("socket.request.max.bytes")
        queued_bytes_max = node.config.int("queued.max.request.bytes")
        self.queued_bytes_max = queued_bytes_max if queued_bytes_max > 0 else 1 << 62
        self.queued_bytes = 0
        self.connections: dict[ConnId, Connection] = {}
        self._conns_drawn = 0
        self._sending: dict[Connection, None] = {}
        self._ready: dict[Connection, None] = {}
        self._starved: dict[Connection, None] = {}
        self._timer: asyncio.TimerHandle | None = None
        self._timer_ms = 1 << 62
        self._listener: socket.socket | None = None
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

    # Listening

    def listen(self, sock: socket.socket) -> None:
        sock.setblocking(False)
        sock.listen(LISTEN_BACKLOG)
        self._listener = sock
        self._accept_guarded = self.guarded(self._accept)
        self.loop.add_reader(sock.fileno(), self._accept_guarded)

    def stop_listening(self) -> None:
        if self._listener is not None:
            self.loop.remove_reader(self._listener.fileno())
            self._listener.close()
            self._listener = None

    def _accept(self) -> None:
        listener = self._listener
        if listener is None:
            return
        try:
            sock, address = listener.accept()
        except OSError as error:
            if error.errno in (errno.EMFILE, errno.ENFILE):
                self._rest_listener(listener)
            return
        sock.setblocking(False)
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        now = self.clock()
        self._conns_drawn += 1
        conn = ConnId(self._conns_drawn)
        connection = Connection(self, conn, sock, now)
        self.connections[conn] = connection
        self.watch_readable(connection)
        self.node.connected(conn, f"{address[0]}:{address[1]}", now)
        self.end_turn(now)

    def _rest_listener(self, listener: socket.socket) -> None:
        """Out of descriptors: the connections that live go on, new ones wait in the backlog."""
        log.warning("out of file descriptors; not accepting for %d ms", LISTENER_REST_MS)
        self.loop.remove_reader(listener.fileno())

        def resume() -> None:
            if self._listener is listener:
                self.loop.add_reader(listener.fileno(), self._accept_guarded)

        self.loop.call_later(LISTENER_REST_MS / 1000, resume)

    # For connections

    def watch_readable(self, connection: Connection) -> None:
        self.loop.add_reader(connection.fd, self.guarded(connection.on_readable))

    def watch_writable(self, connection: Connection, wanted: bool) -> None:
        if wanted:
            self.loop.add_writer(connection.fd, self.guarded(connection.flush))
        else:
            self.loop.remove_writer(connection.fd)

    def mark_sending(self, connection: Connection) -> None:
        self._sending[connection] = None

    def charge(self, count: int) -> None:
        """Bytes of frames that are not whole yet, of all connections together."""
        self.queued_bytes += count
        if count < 0 and self._starved and self.queued_bytes < self.queued_bytes_max:
            starved, self._starved = self._starved, {}
            for connection in starved:
                connection.start_reading()

    def is_over_budget(self, connection: Connection) -> bool:
        if self.queued_bytes < self.queued_bytes_max:
            return False
        self._starved[connection] = None
        return True

    def continue_later(self, connection: Connection) -> None:
        """Its turn is over with whole frames left: it joins the ready queue behind the others."""
        if not self._ready:
            self.loop.call_soon(self.guarded(self._run_ready))
        self._ready[connection] = None

    def _run_ready(self) -> None:
        ready, self._ready = self._ready, {}
        now = self.clock()
        for connection in ready:
            if not connection.is_closed and not connection.is_muted:
                connection.deliver_partial(now)
        self.end_turn(now)

    def close(self, connection: Connection, why: str) -> None:
        if connection.is_closed:
            return
        log.debug("closing connection %d: %s", connection.conn, why)
        del self.connections[connection.conn]
        self._sending.pop(connection, None)
        self._ready.pop(connection, None)
        self._starved.pop(connection, None)
        connection.drop()
        self.node.closed(connection.conn, self.clock())

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
        if self.node.needs_settling and not self._is_settling_soon:
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
        if self.node.needs_settling:
            self._is_settling_soon = True
            self.loop.call_soon(self._settle_guarded)

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
            log.info("closing %s: %s", connection.conn, effect.why)
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
        connection.start_reading()
        if connection.partial:
            self.continue_later(connection)

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
        def enter() -> None:
            now = self.clock()
            self.node.disk_done(op, result, now)
            self.end_turn(now)

        self.guarded(enter)()

    def _on_flushed(self, ticket: FlushTicket, error: Any) -> None:
        def enter() -> None:
            now = self.clock()
            self.node.flushed(ticket, error, now)
            self.end_turn(now)

        self.guarded(enter)()


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
