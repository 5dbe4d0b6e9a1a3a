"""Flush rounds: one in flight, and it serves every log that was dirty when it began (DESIGN D3)."""

from collections import deque
from typing import Protocol

from ottla.broker.effects import FlushTicket
from ottla.broker.parked import Stir
from ottla.errors import DiskError
from ottla.names import Now
from ottla.storage.disk import DiskFile
from ottla.storage.durable import DurableMarks
from ottla.storage.journal import Journal, SyncSegments
from ottla.storage.log import LogTicket

# A round starts at once when somebody waits for it, else within this time (ADR 0009).
IDLE_FLUSH_MS = 100
# A round over a thousand files takes a tenth of a second: unwaited ones may take up a tenth of
# the time, so that they come the later the longer they take.
IDLE_FLUSH_SHARE = 10
IDLE_FLUSH_MS_MAX = 1_000
# Turns for which a round may wait for more to come, and of them those in which nothing came.
GATHER_TURNS_MAX = 8
GATHER_IDLE_TURNS_MAX = 3


class Flushable(Protocol):
    """A log's owner: the partition, or the metadata replica."""

    def draw_ticket(self) -> LogTicket: ...

    def on_flushed(self, ticket: LogTicket, now: Now) -> None: ...


class Flusher:
    def __init__(self, marks: DurableMarks, journal: Journal, stir: Stir) -> None:
        self._stir = stir
        self.journal = journal
        self._dirty: dict[Flushable, None] = {}
        self._in_flight: FlushTicket | None = None
        self._owners: list[Flushable] = []
        self._marks = marks
        self._due_ms: int | None = None
        self._idle_ms = IDLE_FLUSH_MS
        self._begun_ms = 0
        self._is_wanted = False
        self._has_given_up = False
        # Turns for which the next round may still gather, and what came since the last look.
        self._turns_left = 0
        self._idle_turns_left = 0
        self._has_more = False
        self._rounds_begun = 0
        self._syncs_begun = 0
        self._syncs_done = 0
        # Files to close, and the round and the sync after which no thread can hold them any more.
        self._retired: deque[tuple[int, int, DiskFile]] = deque()

    def mark_dirty(self, owner: Flushable, now: Now) -> None:
        """Called for each append: the log behind `owner` holds bytes that no ticket covers."""
        self._dirty[owner] = None
        if self._due_ms is None:
            self._stir.is_set = True
            self._due_ms = now.mono_ms + self._idle_ms

    def want(self) -> None:
        """Somebody waits for what is dirty now."""
        self._is_wanted = self._has_more = True
        if self._in_flight is None:
            self._stir.is_set = True

    def give_up(self) -> None:
        """No further round: after a failed one a success would say what is not true."""
        self._has_given_up = True

    def forget(self, owner: Flushable) -> None:
        self._dirty.pop(owner, None)

    @property
    def is_idle(self) -> bool:
        return self._in_flight is None and not self._dirty

    def maybe_start(self, now: Now) -> FlushTicket | None:
        if self._in_flight is not None or self._due_ms is None or self._has_given_up:
            return None
        if not self._is_wanted and now.mono_ms < self._due_ms:
            return None
        if self._turns_left and self._gathers():
            return None
        self._due_ms = None
        self._is_wanted = False
        if not self._dirty:
            return None
        self._owners = list(self._dirty)
        self._dirty.clear()
        tickets = [owner.draw_ticket() for owner in self._owners]
        self._in_flight = FlushTicket(tickets, self.journal.take_round(now))
        self._begun_ms = now.mono_ms
        self._rounds_begun += 1
        return self._in_flight

    def _gathers(self) -> bool:
        """Whether to leave it for another turn: two small rounds cost more than one of both.

        Without this, clients that ask again as soon as they are answered would fall into two
        halves, each waiting while the other is served.
        """
        self._turns_left -= 1
        if not self._has_more:
            self._idle_turns_left -= 1
        self._has_more = False
        if self._turns_left == 0 or self._idle_turns_left == 0:
            self._turns_left = 0
            return False
        self._stir.is_set = True
        return True

    def take_sync(self, now: Now) -> SyncSegments | None:
        """Segments that the journal made durable, to be synced where they are in the background."""
        job = self.journal.take_sync(now)
        if job is not None:
            self._syncs_begun += 1
        return job

    def on_synced(self) -> None:
        self._syncs_done += 1
        self.journal.on_synced()

    def retire(self, file: DiskFile) -> None:
        """Its log let go of it; a round or a sync under way in a thread may still use it."""
        self.journal.forget(file)
        self._retired.append((self._rounds_begun, self._syncs_begun, file))

    def take_closable(self) -> tuple[DiskFile, ...]:
        retired = self._retired
        rounds_done = self._rounds_begun - (self._in_flight is not None)
        closable = []
        # Both counts only rise: behind the first that has to wait, all wait.
        while retired and retired[0][0] <= rounds_done and retired[0][1] <= self._syncs_done:
            closable.append(retired.popleft()[2])
        return tuple(closable)

    def on_flushed(self, ticket: FlushTicket, error: DiskError | None, now: Now) -> None:
        assert ticket is self._in_flight
        owners, self._owners, self._in_flight = self._owners, [], None
        self._stir.is_set = True
        took_ms = now.mono_ms - self._begun_ms
        self._idle_ms = min(max(IDLE_FLUSH_MS, took_ms * IDLE_FLUSH_SHARE), IDLE_FLUSH_MS_MAX)
        if self._is_wanted:
            # Those who are answered now are about to ask again.
            self._turns_left = GATHER_TURNS_MAX
            self._idle_turns_left = GATHER_IDLE_TURNS_MAX
            self._has_more = False
        for log_ticket in ticket.logs:
            log_ticket.log.leave_directory()
        if error is not None:
            return
        for owner, log_ticket in zip(owners, ticket.logs, strict=True):
            owner.on_flushed(log_ticket, now)
            if not log_ticket.lacks_epochs:
                self._marks.on_flushed(log_ticket, now)
            elif log_ticket.generation == log_ticket.log.generation:
                # A full disk: once more, until there is room.
                self.mark_dirty(owner, now)

    def next_deadline_ms(self) -> int | None:
        if self._has_given_up:
            return None
        round_due_ms = None if self._in_flight is not None else self._due_ms
        sync_due_ms = self.journal.next_deadline_ms()
        if round_due_ms is None or sync_due_ms is None:
            return sync_due_ms if round_due_ms is None else round_due_ms
        return min(round_due_ms, sync_due_ms)
