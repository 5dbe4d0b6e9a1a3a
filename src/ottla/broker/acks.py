"""Produces that wait until they are durable (acks=all).

There are many and they end in order, so they have a way of their own beside parked requests: no
timer each, and nothing to run again. Those with the same timeout share a queue, and its head alone
is timed.
"""

from collections import deque
from collections.abc import Callable
from typing import TYPE_CHECKING

import msgspec

from ottla.broker.parked import Timers
from ottla.errors import ErrorCode
from ottla.names import Now
from ottla.protocol.schema.produce import PartitionProduceResponse, ProduceResponse

if TYPE_CHECKING:
    from ottla.broker.pipeline import Call, Message


class Acks(msgspec.Struct, eq=False):
    """The reply of one request, and how many of its partitions are not durable yet.

    Their answers say that the time is up until they hear better: at the deadline that is so, and
    what was durable by then is not taken back.
    """

    call: "Call"
    waits: "AckWaits"
    pending: int = 0
    is_done: bool = False
    deadline_ms: int = 0
    response: ProduceResponse | None = None
    queue: "deque[Acks] | None" = None

    def on_durable(self, answer: PartitionProduceResponse, now: Now) -> None:
        answer.error_code = 0
        self.pending -= 1
        if self.pending == 0 and self.response is not None:
            self.waits.complete(self, self.response)

    def on_lost(self, answer: PartitionProduceResponse, code: ErrorCode, now: Now) -> None:
        """The log that held the record is gone before the record was durable."""
        answer.error_code = code
        self.pending -= 1
        if self.pending == 0 and self.response is not None:
            self.waits.complete(self, self.response)


def round_up(timeout_ms: int) -> int:
    """To three significant bits: clients may choose 2**31 timeouts, and each has a queue."""
    step = 1 << max(0, timeout_ms.bit_length() - 3)
    return -(-timeout_ms // step) * step


class AckWaits:
    def __init__(self, timers: Timers, answer: "Callable[[Call, Message], None]") -> None:
        self._timers = timers
        self._answer = answer
        self._queues: dict[int, deque[Acks]] = {}
        # Nearly every request has the same: what was asked last, and what that became.
        self._asked_ms = self._rounded_ms = 0

    def __len__(self) -> int:
        return sum(len(queue) for queue in self._queues.values())

    def add(self, acks: Acks, response: ProduceResponse, timeout_ms: int, now: Now) -> None:
        if timeout_ms != self._asked_ms:
            self._asked_ms, self._rounded_ms = timeout_ms, round_up(timeout_ms)
        timeout_ms = self._rounded_ms
        acks.response = response
        acks.deadline_ms = now.mono_ms + timeout_ms
        queue = self._queues.get(timeout_ms)
        if queue is None:
            queue = self._queues[timeout_ms] = deque()
            self._time(timeout_ms, queue, acks.deadline_ms)
        acks.queue = queue
        queue.append(acks)

    def complete(self, acks: Acks, response: ProduceResponse) -> None:
        if acks.is_done:
            return
        acks.is_done = True
        queue = acks.queue
        while queue and queue[0].is_done:
            queue.popleft()
        self._answer(acks.call, response)

    def _time(self, timeout_ms: int, queue: deque[Acks], deadline_ms: int) -> None:
        def expire(now: Now) -> None:
            while queue and queue[0].deadline_ms <= now.mono_ms:
                late = queue.popleft()
                if not late.is_done:
                    assert late.response is not None
                    self.complete(late, late.response)
            if queue:
                self._time(timeout_ms, queue, queue[0].deadline_ms)
            else:
                del self._queues[timeout_ms]

        self._timers.add(deadline_ms, expire)
