"""Replies that wait, and the deadlines they wait for.

A parked reply is woken by whatever it waits for; its handler's read then runs again. Wake-ups are
coalesced: however often it is woken within a turn, it runs once.
"""

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from heapq import heapify, heappop, heappush
from typing import TYPE_CHECKING, Any

from ottla.names import Now

if TYPE_CHECKING:
    from ottla.broker.pipeline import Call, Message

# Cancelled timers stay in the heap until they are half of it.
TIMERS_SWEPT_MIN = 64


class Timer:
    __slots__ = ("action", "deadline_ms")

    def __init__(self, deadline_ms: int, action: Callable[[Now], None]) -> None:
        self.deadline_ms = deadline_ms
        self.action: Callable[[Now], None] | None = action


class Stir:
    """Something changed that `take_effects` sees to."""

    __slots__ = ("is_set",)

    def __init__(self) -> None:
        self.is_set = False


class Timers:
    """A heap of deadlines: a tick costs what is due, never a scan."""

    def __init__(self, stir: Stir) -> None:
        self._stir = stir
        self._heap: list[tuple[int, int, Timer]] = []
        self._drawn = 0
        self._cancelled = 0
        # The nearest deadline moved since somebody last asked for it.
        self.is_stirred = False

    def add(self, deadline_ms: int, action: Callable[[Now], None]) -> Timer:
        timer = Timer(deadline_ms, action)
        heap = self._heap
        if not heap or deadline_ms < heap[0][0]:
            self.is_stirred = self._stir.is_set = True
        self._drawn += 1
        heappush(heap, (deadline_ms, self._drawn, timer))
        return timer

    def cancel(self, timer: Timer) -> None:
        if timer.action is None:
            return
        timer.action = None
        self._cancelled += 1
        if self._cancelled > TIMERS_SWEPT_MIN and self._cancelled * 2 > len(self._heap):
            self._heap = [entry for entry in self._heap if entry[2].action is not None]
            heapify(self._heap)
            self._cancelled = 0

    def run_due(self, now: Now) -> None:
        heap = self._heap
        while heap and heap[0][0] <= now.mono_ms:
            timer = heappop(heap)[2]
            action, timer.action = timer.action, None
            if action is None:
                self._cancelled -= 1
            else:
                action(now)
                heap = self._heap

    def next_deadline_ms(self) -> int | None:
        self.is_stirred = False
        heap = self._heap
        while heap and heap[0][2].action is None:
            heappop(heap)
            self._cancelled -= 1
        return heap[0][0] if heap else None


@dataclass(slots=True, eq=False)
class Parked:
    """A request whose reply waits.

    `retry` answers None while it still has to wait. Once its time is up, `expire` runs in its
    place: it answers None only where nothing but our own flush is still to come.
    """

    call: "Call"
    retry: "Callable[[Parked, Now], Message | None]"
    expire: "Callable[[Now], Message | None] | None" = None
    deadline_ms: int | None = None
    # A parked produce lets later produces pass; whatever else is parked stops its connection.
    mutes: bool = True
    is_done: bool = False
    is_woken: bool = False
    is_expired: bool = False
    # What it holds of the memory for requests.
    frame_bytes: int = 0
    timer: Timer | None = None
    watched: list[dict[Any, None]] = field(default_factory=list)

    def wait_in(self, waiting: dict[Any, None]) -> None:
        """Be woken with all that wait there; a parked request that is done waits nowhere."""
        waiting[self] = None
        self.watched.append(waiting)

    def run(self, now: Now) -> "Message | None":
        """Once more, from the beginning; whoever still waits registers anew."""
        self.stop_waiting()
        if self.is_expired and self.expire is not None:
            return self.expire(now)
        return self.retry(self, now)

    def stop_waiting(self) -> None:
        for waiting in self.watched:
            waiting.pop(self, None)
        self.watched.clear()


class Stalled(Exception):
    """Nothing was done yet, and the whole request has to run again when something is ready.

    `watch` registers the parked request with what it waits for.
    """

    def __init__(self, watch: Callable[[Parked], None]) -> None:
        super().__init__("stalled")
        self.watch = watch


@dataclass(slots=True)
class Woken:
    """Parked requests to run again, in the order in which they were woken."""

    stir: Stir
    queue: deque[Parked] = field(default_factory=deque)

    def wake(self, parked: Parked) -> None:
        if not parked.is_done and not parked.is_woken:
            parked.is_woken = True
            self.queue.append(parked)
            self.stir.is_set = True

    def expire(self, parked: Parked) -> None:
        """Its time is up. It runs among the woken ones, so that many expire without a stall."""
        parked.is_expired = True
        self.wake(parked)

    def wake_all(self, waiting: dict[Any, None]) -> None:
        for parked in waiting:
            self.wake(parked)
        waiting.clear()
