"""One partition's records on their way: batches that fill, wait, fly, and fly again in order.

Sequences (KIP-98, KIP-360) make a repeated batch harmless as long as these hold:

- a batch keeps its sequence, producer id and epoch for every attempt, until all of its partition's
  batches are off the wire and it is known that none of them was written;
- after a failure nothing is sent until all batches in flight have come back; then they go out
  again in their order;
- the first batch under a producer id goes alone. A broker that does not know a producer takes any
  sequence from it: were the first batch refused, the second would take its place.
"""

from bisect import insort
from collections import deque
from enum import Enum
from operator import attrgetter
from typing import NamedTuple

from ottla.client.requests import Backoff, earliest
from ottla.client.settings import ProducerSettings
from ottla.names import NO_UUID, TopicPartition, Uuid
from ottla.records.batch import (
    HEADER_BYTES,
    NO_PRODUCER_EPOCH,
    NO_PRODUCER_ID,
    NO_SEQUENCE,
    Record,
    next_sequence,
)
from ottla.records.record import encode_batch

PRODUCER_EPOCH_MAX = 32_767


class Identity(NamedTuple):
    """What InitProducerId gave."""

    producer_id: int = NO_PRODUCER_ID
    producer_epoch: int = NO_PRODUCER_EPOCH


class FreshStart(Enum):
    """How a partition's sequences begin anew, once nothing of it is on the wire."""

    NO = 0
    NEXT_EPOCH = 1
    NEW_ID = 2


class Batch:
    __slots__ = (
        "base_sequence",
        "created_ms",
        "deadline_ms",
        "encoded",
        "is_closed",
        "is_done",
        "maybe_written",
        "order",
        "records",
        "send_ids",
        "size",
        "why",
    )

    def __init__(self, order: int, created_ms: int, deadline_ms: int) -> None:
        self.order = order
        self.created_ms = created_ms
        self.deadline_ms = deadline_ms
        self.records: list[Record] = []
        self.send_ids: list[int] = []
        self.size = HEADER_BYTES
        # Takes no more records, and waits no longer for them.
        self.is_closed = False
        # Its fate was told: what comes back for it is of no interest.
        self.is_done = False
        # Some attempt may have reached a log.
        self.maybe_written = False
        self.encoded: bytes | None = None
        self.base_sequence = NO_SEQUENCE
        self.why = ""

    @property
    def content_bytes(self) -> int:
        """What its records were counted as when they were sent."""
        return self.size - HEADER_BYTES


_order = attrgetter("order")


class PartitionQueue:
    def __init__(self, where: TopicPartition, settings: ProducerSettings) -> None:
        self.where = where
        self.fresh: deque[Batch] = deque()
        self.retries: list[Batch] = []
        self.in_flight: list[Batch] = []
        self.fresh_start = FreshStart.NO
        self.identity = Identity()
        self._settings = settings
        self._next_order = 0
        self._next_sequence = 0
        # Whether the brokers know our producer id here.
        self._is_established = False
        self._topic_id = NO_UUID
        self._node: int | None = None
        # Batches must come back before any is sent.
        self._is_draining = False
        self._failures = 0
        self._retry_at_ms = 0

    @property
    def is_empty(self) -> bool:
        return not (self.fresh or self.retries or self.in_flight)

    def fits(self, size: int) -> bool:
        """Whether a record would join a batch that has begun, or begin the first."""
        if not self.fresh:
            return True
        batch = self.fresh[-1]
        return not batch.is_closed and batch.size + size <= self._settings.batch_bytes

    def append(self, record: Record, size: int, send_id: int, mono_ms: int) -> None:
        if not self.fresh or not self.fits(size):
            if self.fresh:
                self.fresh[-1].is_closed = True
            deadline_ms = mono_ms + self._settings.delivery_timeout_ms
            self.fresh.append(Batch(self._next_order, mono_ms, deadline_ms))
            self._next_order += 1
        batch = self.fresh[-1]
        batch.records.append(record)
        batch.send_ids.append(send_id)
        batch.size += size
        if batch.size >= self._settings.batch_bytes:
            batch.is_closed = True

    def ready_at_ms(self) -> int | None:
        """From when on a batch may leave; None if something has to happen first."""
        if self.in_flight and (self._is_draining or len(self.in_flight) >= self._in_flight_max()):
            return None
        if self.retries:
            return self._retry_at_ms
        if not self.fresh:
            return None
        batch = self.fresh[0]
        lingers_ms = 0 if batch.is_closed else batch.created_ms + self._settings.linger_ms
        return max(self._retry_at_ms, lingers_ms)

    def may_go_to(self, node: int) -> bool:
        """Two leaders at a time could write in any order."""
        return not self.in_flight or self._node == node

    def close(self) -> None:
        """What is there waits no longer for company."""
        if self.fresh:
            self.fresh[-1].is_closed = True

    def next_size(self) -> int:
        batch = self.retries[0] if self.retries else self.fresh[0]
        return len(batch.encoded) if batch.encoded is not None else batch.size

    def next_deadline_ms(self) -> int | None:
        heads = [batch for batch in self.in_flight if not batch.is_done][:1]
        heads += self.retries[:1]
        if self.fresh:
            heads.append(self.fresh[0])
        return earliest([batch.deadline_ms for batch in heads])

    def adopt(self, latest: Identity, topic_id: Uuid) -> bool:
        """Begin anew where that is due; False as long as it must wait for a producer id."""
        if topic_id != self._topic_id:
            # A topic of the same name: nobody there knows our sequences.
            self._topic_id = topic_id
            self._is_established = False
        if self.in_flight:
            return True
        if self.fresh_start is FreshStart.NEXT_EPOCH:
            epoch = self.identity.producer_epoch + 1
            if epoch <= PRODUCER_EPOCH_MAX:
                self._begin(Identity(self.identity.producer_id, epoch))
                return True
            self.fresh_start = FreshStart.NEW_ID
        is_new = latest.producer_id != self.identity.producer_id
        if is_new and (self.fresh_start is FreshStart.NEW_ID or not self.retries):
            self._is_established = False
            self._begin(latest)
        return self.fresh_start is FreshStart.NO and self.identity.producer_id != NO_PRODUCER_ID

    def take(self, node: int) -> Batch:
        """The next batch, with its bytes; the caller saw that there is one."""
        batch = self.retries.pop(0) if self.retries else self.fresh.popleft()
        batch.is_closed = True
        if batch.encoded is None:
            if self._settings.is_idempotent:
                batch.base_sequence = self._next_sequence
                self._next_sequence = next_sequence(self._next_sequence, len(batch.records))
            batch.encoded = encode_batch(
                batch.records,
                codec=self._settings.codec,
                level=self._settings.compression_level,
                producer_id=self.identity.producer_id,
                producer_epoch=self.identity.producer_epoch,
                base_sequence=batch.base_sequence,
            )
        self.in_flight.append(batch)
        self._node = node
        return batch

    def is_first(self, batch: Batch) -> bool:
        """Whether every batch before it has met its fate."""
        return all(other.order >= batch.order for other in (*self.retries, *self.in_flight))

    def on_written(self) -> None:
        self._is_established = True
        if not self._is_draining:
            self._failures = 0

    def on_retry(self, batch: Batch, mono_ms: int, backoff: Backoff | None) -> None:
        """It will go out again, after a while unless there is reason to do it at once."""
        insort(self.retries, batch, key=_order)
        if not self._is_draining:
            self._is_draining = True
            self._failures += 1
            delay_ms = backoff.delay_ms(self._failures) if backoff else 0
            self._retry_at_ms = mono_ms + delay_ms

    def on_back(self, batch: Batch) -> None:
        """It is off the wire, whatever became of it."""
        self.in_flight.remove(batch)
        if not self.in_flight:
            self._is_draining = False

    def expire(self, mono_ms: int) -> list[Batch]:
        """Batches whose time is over; one in flight stays there until it comes back."""
        due = [b for b in self.in_flight if not b.is_done and b.deadline_ms <= mono_ms]
        while self.retries and self.retries[0].deadline_ms <= mono_ms:
            due.append(self.retries.pop(0))
        while self.fresh and self.fresh[0].deadline_ms <= mono_ms:
            due.append(self.fresh.popleft())
        return due

    def take_waiting(self) -> list[Batch]:
        """Give up all that is not in flight."""
        waiting = [*self.retries, *self.fresh]
        self.retries.clear()
        self.fresh.clear()
        return waiting

    def _in_flight_max(self) -> int:
        if self._settings.is_idempotent and not self._is_established:
            return 1
        return self._settings.in_flight_max

    def _begin(self, identity: Identity) -> None:
        self.identity = identity
        self.fresh_start = FreshStart.NO
        self._next_sequence = 0
        for batch in self.retries:
            batch.encoded = None
            batch.base_sequence = NO_SEQUENCE
