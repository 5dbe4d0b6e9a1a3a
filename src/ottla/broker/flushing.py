"""Flush rounds: one in flight, and it serves every log that was dirty when it began (DESIGN D3)."""

from typing import Protocol

from ottla.broker.effects import FlushTicket
from ottla.errors import DiskError
from ottla.names import Now
from ottla.storage.durable import DurableMarks
from ottla.storage.log import LogTicket

# A round starts at once when somebody waits for it, else within this time.
IDLE_FLUSH_MS = 10


class Flushable(Protocol):
    """A log's owner: the partition, or the metadata replica."""

    def draw_ticket(self) -> LogTicket: ...

    def on_flushed(self, ticket: LogTicket, now: Now) -> None: ...


class Flusher:
    def __init__(self, marks: DurableMarks) -> None:
        self._dirty: dict[Flushable, None] = {}
        self._in_flight: FlushTicket | None = None
        self._owners: list[Flushable] = []
        self._marks = marks
        self._due_ms: int | None = None
        self._is_wanted = False
        self.rounds = 0

    def mark_dirty(self, owner: Flushable, now: Now) -> None:
        """Called for each append: the log behind `owner` holds bytes that no ticket covers."""
        self._dirty[owner] = None
        if self._due_ms is None:
            self._due_ms = now.mono_ms + IDLE_FLUSH_MS

    def want(self) -> None:
        """Somebody waits for what is dirty now."""
        self._is_wanted = True

    def forget(self, owner: Flushable) -> None:
        self._dirty.pop(owner, None)

    @property
    def is_idle(self) -> bool:
        return self._in_flight is None and not self._dirty

    def maybe_start(self, now: Now) -> FlushTicket | None:
        if self._in_flight is not None or self._due_ms is None:
            return None
        if not self._is_wanted and now.mono_ms < self._due_ms:
            return None
        self._due_ms = None
        self._is_wanted = False
        if not self._dirty:
            return None
        self._owners = list(self._dirty)
        self._dirty.clear()
        tickets = [owner.draw_ticket() for owner in self._owners]
        self._in_flight = FlushTicket(tickets, self._marks.take_due(now))
        self.rounds += 1
        return self._in_flight

    def on_flushed(self, ticket: FlushTicket, error: DiskError | None, now: Now) -> None:
        assert ticket is self._in_flight
        owners, self._owners, self._in_flight = self._owners, [], None
        if error is not None:
            return
        for owner, log_ticket in zip(owners, ticket.logs, strict=True):
            owner.on_flushed(log_ticket, now)
            self._marks.on_flushed(log_ticket)

    def next_deadline_ms(self) -> int | None:
        return None if self._in_flight is not None else self._due_ms
