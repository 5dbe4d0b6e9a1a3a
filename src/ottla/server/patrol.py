"""Looks after connections on which nothing moves: a few of them at a time, each within seconds.

So no read and no send has to keep a timer for what nearly never happens.
"""

from collections import deque
from collections.abc import Callable
from typing import Final

from ottla.limits import (
    OUTPUT_STALL_MS,
    REQUEST_PROGRESS_BYTES,
    REQUEST_STALL_MS,
)
from ottla.names import Now
from ottla.server.connection import Connection

# So many visits and everybody was visited once.
VISITS_PER_ROUND: Final = 10
VISIT_MS_MAX: Final = 1000
VISIT_MS_MIN: Final = 10


class Watch:
    """What a connection looked like when something last moved on it."""

    __slots__ = ("connection", "received_bytes", "request_since_ms", "sent_bytes", "sent_since_ms")

    def __init__(self, connection: Connection) -> None:
        self.connection = connection
        self.received_bytes = 0
        self.sent_bytes = 0
        self.request_since_ms: int | None = None
        self.sent_since_ms: int | None = None

    def why_overdue(self, idle_ms_max: int, now_ms: int) -> str | None:
        connection = self.connection
        if idle_ms_max > 0 and now_ms - connection.last_active_ms > idle_ms_max:
            return f"it was idle for {idle_ms_max} ms"
        return self._why_sending(now_ms) or self._why_receiving(now_ms)

    def _why_sending(self, now_ms: int) -> str | None:
        connection = self.connection
        since_ms = self.sent_since_ms
        if not connection.out or connection.is_warming:
            self.sent_since_ms = None
        elif since_ms is None or connection.sent_bytes != self.sent_bytes:
            self.sent_since_ms = now_ms
            self.sent_bytes = connection.sent_bytes
        elif now_ms - since_ms > OUTPUT_STALL_MS:
            return f"it took no byte of an answer for {OUTPUT_STALL_MS} ms"
        return None

    def _why_receiving(self, now_ms: int) -> str | None:
        connection = self.connection
        since_ms = self.request_since_ms
        if not connection.is_expecting:
            self.request_since_ms = None
        elif (
            since_ms is None
            or connection.received_bytes - self.received_bytes >= REQUEST_PROGRESS_BYTES
        ):
            self.request_since_ms = now_ms
            self.received_bytes = connection.received_bytes
        elif now_ms - since_ms > REQUEST_STALL_MS:
            return f"half a request, and no more of it for {REQUEST_STALL_MS} ms"
        return None


class Patrol:
    def __init__(self, idle_ms_max: int, close: Callable[[Connection, str], None]) -> None:
        self._idle_ms_max = idle_ms_max
        self._close = close
        self._watches: deque[Watch] = deque()
        self.visit_ms = VISIT_MS_MAX
        if idle_ms_max > 0:
            self.visit_ms = max(VISIT_MS_MIN, min(VISIT_MS_MAX, idle_ms_max // VISITS_PER_ROUND))

    def add(self, connection: Connection) -> None:
        self._watches.append(Watch(connection))

    def visit(self, now: Now) -> None:
        watches = self._watches
        for _ in range(-(-len(watches) // VISITS_PER_ROUND)):
            watch = watches.popleft()
            connection = watch.connection
            if connection.is_closed:
                continue
            why = watch.why_overdue(self._idle_ms_max, now.mono_ms)
            if why is None:
                watches.append(watch)
            else:
                self._close(connection, why)
