"""Our own client on the simulated network: its parts without sockets, and this shell around them.

A client has one connection at a time. Whatever its parts ask for is sent on it; when it is lost, or
an answer does not come in time, they are told, and decide themselves what to do about it.
"""

from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

import msgspec

from ottla.client.requests import Backoff, ClientRequest, Role
from ottla.client.settings import BackoffSettings
from ottla.errors import Malformed, Refused
from ottla.names import Now
from ottla.protocol.connection import Connection
from ottla.protocol.facts import Buffer, Part
from ottla.sim.machine import HOST
from ottla.sim.network import CloseReason, End, SimNetwork
from ottla.sim.world import Clock, Timer, World

CONNECT_TIMEOUT_MS = 1_000
RECONNECT = BackoffSettings(10, 200)


@dataclass(slots=True, eq=False)
class Sent:
    role: Role
    asked: ClientRequest
    deadline_ms: int
    sent_ns: int = 0


def _bytes(parts: list[Part]) -> list[Buffer]:
    """A client sends nothing out of files."""
    return [part for part in parts if isinstance(part, bytes | bytearray | memoryview)]


class Tap(Protocol):
    """Sees what passes on the wire, before the client's parts do."""

    def sent(self, client: "SimClient", sent: Sent) -> None: ...

    def answered(self, client: "SimClient", sent: Sent, response: msgspec.Struct) -> None: ...

    def malformed(self, client: "SimClient", why: str) -> None: ...


class SimClient:
    def __init__(
        self,
        world: World,
        network: SimNetwork,
        host: str,
        roles: Sequence[Role],
        tap: Tap,
        on_turn: Callable[[Now], None],
    ) -> None:
        self.world = world
        self.host = host
        self.clock = Clock(world)
        self.rng = world.rng(host)
        self.is_closed = False
        self._network = network
        self.roles = roles
        self._tap = tap
        self._on_turn = on_turn
        self._backoff = Backoff(RECONNECT, self.rng.random)
        self._failures = 0
        self._connect_at_ms = 0
        self._end: End | None = None
        self._connection: Connection[Sent] | None = None
        self._connect_deadline_ms = 0
        # Asked for, and not sent yet; sent, and not answered yet.
        self._waiting: deque[Sent] = deque()
        self._awaited: dict[Sent, None] = {}
        self._timer: Timer | None = None
        self._is_turning = False

    @property
    def is_idle(self) -> bool:
        return not self._waiting and not self._awaited

    def turn(self) -> None:
        """Whatever happened: ask the parts what they want now, and write it."""
        if self._is_turning or self.is_closed:
            return
        self._is_turning = True
        now = self.clock.now()
        self._give_up_late(now)
        self._on_turn(now)
        for role in self.roles:
            for asked in role.poll(now):
                deadline_ms = now.mono_ms + asked.timeout_ms
                self._waiting.append(Sent(role, asked, deadline_ms))
        self._write(now)
        self._is_turning = False
        self._arm(now)

    def close(self) -> None:
        """The process ends; nobody tells its parts."""
        self.is_closed = True
        self.world.cancel(self._timer)
        end, self._end = self._end, None
        if end is not None and end.is_open:
            end.close()
        elif end is not None:
            end.vanish()

    # The end of the connection

    def opened(self, end: End) -> None:
        if end is not self._end:
            end.reset()
            return
        self._connection = Connection(self.host)
        end.send(_bytes(self._connection.hello()))
        self.turn()

    def received(self, end: End, data: bytes) -> None:
        if end is not self._end:
            return
        connection = self._connection
        assert connection is not None
        try:
            answers = connection.receive(data)
        except Malformed as malformed:
            self._tap.malformed(self, str(malformed))
            self._lose("it cannot be understood")
            self.turn()
            return
        parts = connection.take_parts()
        if parts:
            end.send(_bytes(parts))
        if connection.ready:
            self._failures = 0
        now = self.clock.now()
        for sent, response in answers:
            del self._awaited[sent]
            self._tap.answered(self, sent, response)
            sent.role.on_response(sent.asked.token, response, now)
        self.turn()

    def writable(self, end: End, queued_bytes: int) -> None:
        pass

    def closed(self, end: End, reason: CloseReason) -> None:
        if end is self._end:
            self._lose(reason.value)
            self.turn()

    # Within

    @property
    def _is_opening(self) -> bool:
        """Until the broker has said what it speaks."""
        return self._end is not None and (self._connection is None or not self._connection.ready)

    def _lose(self, why: str) -> None:
        """The connection is gone, or not worth keeping."""
        end, self._end, self._connection = self._end, None, None
        now = self.clock.now()
        self._failures += 1
        self._connect_at_ms = now.mono_ms + self._backoff.delay_ms(self._failures)
        if end is not None and end.is_open:
            end.reset()
        elif end is not None:
            end.vanish()
        waiting, awaited = self._waiting, self._awaited
        self._waiting, self._awaited = deque(), {}
        for sent in awaited:
            sent.role.on_lost(sent.asked.token, why, True, now)
        for sent in waiting:
            sent.role.on_lost(sent.asked.token, why, False, now)

    def _give_up_late(self, now: Now) -> None:
        if self._is_opening:
            if now.mono_ms >= self._connect_deadline_ms:
                self._lose("nobody answers")
        elif any(sent.deadline_ms <= now.mono_ms for sent in self._awaited):
            self._lose("no answer in time")
        for sent in [sent for sent in self._waiting if sent.deadline_ms <= now.mono_ms]:
            self._waiting.remove(sent)
            sent.role.on_lost(sent.asked.token, "no connection in time", False, now)

    def _write(self, now: Now) -> None:
        if not self._waiting:
            return
        if self._end is None:
            if now.mono_ms >= self._connect_at_ms:
                self._connect_deadline_ms = now.mono_ms + CONNECT_TIMEOUT_MS
                self._end = self._network.connect(self.host, HOST, self)
            return
        connection = self._connection
        if connection is None or not connection.ready:
            return
        while self._waiting:
            sent = self._waiting.popleft()
            sent.sent_ns = self.world.now_ns
            role, asked = sent.role, sent.asked
            try:
                parts = connection.send(
                    asked.request,
                    sent,
                    version_max=asked.version_max,
                    answered=asked.answered,
                )
            except Refused as refused:
                role.on_refused(asked.token, refused.why, now)
                continue
            self._tap.sent(self, sent)
            self._end.send(_bytes(parts))
            if asked.answered:
                self._awaited[sent] = None
            else:
                role.on_response(asked.token, None, now)

    def _arm(self, now: Now) -> None:
        deadlines = [role.next_deadline_ms() for role in self.roles]
        deadlines += [sent.deadline_ms for sent in self._awaited]
        deadlines += [sent.deadline_ms for sent in self._waiting]
        if self._end is None and self._waiting:
            deadlines.append(self._connect_at_ms)
        elif self._is_opening:
            deadlines.append(self._connect_deadline_ms)
        due = [deadline for deadline in deadlines if deadline is not None]
        self.world.cancel(self._timer)
        self._timer = None
        if due:
            # Never at once: a part that is due and has nothing to say would spin.
            delay_ns = max(self.clock.delay_ns(min(due)), 1_000_000)
            self._timer = self.world.schedule(delay_ns, f"{self.host} timer", self.turn)
