"""The producer without its sockets: records in, produce requests out, deliveries back.

The order of one partition's records is the order of their sends. With `idempotent` each is written
once; `batches.py` says how.
"""

from collections.abc import Sequence
from typing import NamedTuple

import msgspec

from ottla.client.batches import Batch, FreshStart, PartitionQueue
from ottla.client.cluster import ClusterView, error_code
from ottla.client.errors import BufferFull, ClientError
from ottla.client.identity import IdentitySource
from ottla.client.outcomes import NOTHING_WRITTEN, Outcome, explain, outcome
from ottla.client.placing import Placing, Sending
from ottla.client.requests import Backoff, ClientRequest, Random, earliest
from ottla.client.settings import ProducerSettings
from ottla.errors import ErrorCode
from ottla.names import NO_UUID, Now, TopicPartition, Uuid
from ottla.protocol.schema.produce import (
    PartitionProduceData,
    PartitionProduceResponse,
    ProduceRequest,
    ProduceResponse,
    TopicProduceData,
)
from ottla.records.batch import HEADER_BYTES, Record

# What a record takes in a batch beside its content, at most; a header likewise.
RECORD_OVERHEAD_BYTES = 21
HEADER_OVERHEAD_BYTES = 10
# The last version that names its topics.
PRODUCE_BY_NAME = 12

NO_PARTITION = -1
NO_OFFSET = -1
TIMESTAMP_MAX = 2**63 - 1

Headers = Sequence[tuple[str, bytes | None]]


class Delivery(NamedTuple):
    """What became of one record. `maybe_written` is said of failures alone."""

    send_id: int
    topic: str
    partition: int
    offset: int
    timestamp_ms: int
    error: ErrorCode = ErrorCode.NONE
    why: str = ""
    maybe_written: bool = False


class _Sent(NamedTuple):
    node: int
    batches: dict[TopicPartition, Batch]
    names: dict[Uuid, str]


class Producer:
    def __init__(self, cluster: ClusterView, settings: ProducerSettings, random: Random) -> None:
        self.buffered_bytes = 0
        self._cluster = cluster
        self._settings = settings
        self._backoff = Backoff(settings.backoff, random)
        self._placing = Placing(cluster, settings, random)
        self._source = IdentitySource(self._backoff, settings.request_timeout_ms)
        self._sent: dict[int, _Sent] = {}
        self._in_flight: dict[int, int] = {}
        self._token = 0
        self._send_id = 0
        self._deliveries: list[Delivery] = []
        self._polled_ms = -1

    @property
    def is_idle(self) -> bool:
        """Nothing waits to be delivered."""
        return self.buffered_bytes == 0

    def send(
        self,
        topic: str,
        value: bytes | None,
        now: Now,
        *,
        key: bytes | None = None,
        headers: Headers = (),
        partition: int | None = None,
        timestamp_ms: int | None = None,
    ) -> int:
        """A number under which the record's delivery is reported. BufferFull: try again later."""
        size = RECORD_OVERHEAD_BYTES + _bytes_of(key) + _bytes_of(value)
        for name, content in headers:
            size += HEADER_OVERHEAD_BYTES + len(name.encode()) + _bytes_of(content)
        settings = self._settings
        wall_ms = now.wall_ms if timestamp_ms is None else timestamp_ms
        if not 0 <= wall_ms <= TIMESTAMP_MAX:
            why = f"{wall_ms} is no timestamp"
            raise ClientError("Produce", why, ErrorCode.INVALID_TIMESTAMP)
        if size + HEADER_BYTES > settings.request_bytes_max:
            why = f"a record of {size} bytes, requests have at most {settings.request_bytes_max}"
            raise ClientError("Produce", why, ErrorCode.MESSAGE_TOO_LARGE)
        if self.buffered_bytes and self.buffered_bytes + size > settings.buffer_bytes_max:
            raise BufferFull(self.buffered_bytes, settings.buffer_bytes_max)
        self._send_id += 1
        self.buffered_bytes += size
        record = Record(0, wall_ms, key, value, headers)
        updates = self._cluster.updates
        self._placing.add(
            Sending(topic, partition, record, size, self._send_id, now.mono_ms, updates)
        )
        return self._send_id

    def flush(self) -> None:
        """What was sent so far waits no longer for company."""
        for queue in self._placing.active.values():
            queue.close()

    def take_results(self) -> list[Delivery]:
        deliveries, self._deliveries = self._deliveries, []
        return deliveries

    # The role of asking

    def poll(self, now: Now) -> list[ClientRequest]:
        self._polled_ms = now.mono_ms
        for sending, code, why in self._placing.settle(now.mono_ms):
            self._fail_sending(sending, code, why)
        self._expire(now.mono_ms)
        requests: list[ClientRequest] = []
        for node, queues in self._ready(now.mono_ms).items():
            while queues and self._in_flight.get(node, 0) < self._settings.in_flight_max:
                requests.append(self._request(node, queues))
                queues = [queue for queue in queues if self._may_send(queue, node, now.mono_ms)]
        asking = self._source.poll(self._token + 1, now.mono_ms)
        self._token += len(asking)
        return requests + asking

    def on_response(self, token: int, response: msgspec.Struct | None, now: Now) -> None:
        if token == self._source.token:
            code = self._source.on_response(response, now.mono_ms)
            if code is not None:
                self._fail_waiting(code, "no producer id is given")
            return
        sent = self._take_sent(token)
        missing = dict(sent.batches)
        if response is None:
            for where, batch in missing.items():
                self._written(self._placing.queues[where], batch, NO_OFFSET, -1)
            return
        assert isinstance(response, ProduceResponse)
        for topic in response.responses:
            name = topic.name or sent.names.get(topic.topic_id, "")
            for found in topic.partition_responses:
                where = TopicPartition(name, found.index)
                if where in missing:
                    batch = missing.pop(where)
                    hint = found.current_leader
                    moved = self._cluster.learn_leader(
                        where, hint.leader_id, hint.leader_epoch, response.node_endpoints
                    )
                    backoff = None if moved else self._backoff
                    self._learn_fate(where, batch, found, sent.node, now.mono_ms, backoff)
        for where, batch in missing.items():
            batch.maybe_written = True
            batch.why = f"{self._cluster.name(sent.node)} says nothing about {where}"
            self._again(self._placing.queues[where], batch, now.mono_ms, self._backoff)

    def on_lost(self, token: int, why: str, was_sent: bool, now: Now) -> None:
        self._cluster.refresh()
        if token == self._source.token:
            self._source.on_lost(now.mono_ms)
            return
        for where, batch in self._take_sent(token).batches.items():
            batch.why = why
            batch.maybe_written |= was_sent
            self._again(self._placing.queues[where], batch, now.mono_ms, self._backoff)

    def on_refused(self, token: int, why: str, now: Now) -> None:
        if token == self._source.token:
            self._source.on_refused()
            self._fail_waiting(ErrorCode.UNSUPPORTED_VERSION, why)
            return
        for where, batch in self._take_sent(token).batches.items():
            queue = self._placing.queues[where]
            self._fail(queue, batch, ErrorCode.UNSUPPORTED_VERSION, why)
            self._back(queue, batch)

    def next_deadline_ms(self) -> int | None:
        deadlines = [self._source.next_deadline_ms(), self._placing.next_deadline_ms()]
        for queue in self._placing.active.values():
            deadlines.append(queue.next_deadline_ms())
            deadlines.append(self._ready_at_ms(queue))
        return earliest(deadlines, self._polled_ms)

    # Sending

    def _ready(self, mono_ms: int) -> dict[int, list[PartitionQueue]]:
        """The partitions that have something to send now, by their leaders."""
        ready: dict[int, list[PartitionQueue]] = {}
        for queue in self._placing.active.values():
            at_ms = self._ready_at_ms(queue)
            if at_ms is None or at_ms > mono_ms:
                continue
            partition = self._cluster.leader(queue.where)
            if partition is None:
                self._cluster.want(queue.where.topic)
                self._cluster.refresh()
            elif self._has_room(queue, partition.leader) and self._is_numbered(queue):
                ready.setdefault(partition.leader, []).append(queue)
        return ready

    def _ready_at_ms(self, queue: PartitionQueue) -> int | None:
        if self.buffered_bytes * 2 > self._settings.buffer_bytes_max:
            # Memory is short: nothing lingers.
            queue.close()
        return queue.ready_at_ms()

    def _has_room(self, queue: PartitionQueue, node: int) -> bool:
        if self._in_flight.get(node, 0) >= self._settings.in_flight_max:
            return False
        return queue.may_go_to(node)

    def _may_send(self, queue: PartitionQueue, node: int, mono_ms: int) -> bool:
        at_ms = self._ready_at_ms(queue)
        return at_ms is not None and at_ms <= mono_ms and self._has_room(queue, node)

    def _is_numbered(self, queue: PartitionQueue) -> bool:
        if not self._settings.is_idempotent:
            return True
        identity = self._source.identity
        if queue.adopt(identity, self._cluster.topics[queue.where.topic].topic_id):
            return True
        if queue.identity.producer_id == identity.producer_id:
            self._source.want()
        return False

    def _request(self, node: int, queues: list[PartitionQueue]) -> ClientRequest:
        """One batch of each partition, as many as one request may hold."""
        settings = self._settings
        topics: dict[str, TopicProduceData] = {}
        batches: dict[TopicPartition, Batch] = {}
        size = 0
        for queue in queues:
            where = queue.where
            if batches and size + queue.next_size() > settings.request_bytes_max:
                break
            batch = queue.take(node)
            assert batch.encoded is not None
            size += len(batch.encoded)
            batches[where] = batch
            data = topics.get(where.topic)
            if data is None:
                topic_id = self._cluster.topics[where.topic].topic_id
                data = topics[where.topic] = TopicProduceData(where.topic, topic_id, [])
            data.partition_data.append(PartitionProduceData(where.partition, batch.encoded))
            # To the end of the line.
            self._placing.active[where] = self._placing.active.pop(where)
        self._token += 1
        names = {data.topic_id: data.name for data in topics.values()}
        self._sent[self._token] = _Sent(node, batches, names)
        self._in_flight[node] = self._in_flight.get(node, 0) + 1
        return ClientRequest(
            node,
            self._token,
            ProduceRequest(None, settings.acks, settings.request_timeout_ms, list(topics.values())),
            settings.request_timeout_ms,
            version_max=PRODUCE_BY_NAME if NO_UUID in names else None,
            answered=settings.acks != 0,
        )

    def _take_sent(self, token: int) -> _Sent:
        sent = self._sent.pop(token)
        self._in_flight[sent.node] -= 1
        return sent

    # What comes back

    def _learn_fate(
        self,
        where: TopicPartition,
        batch: Batch,
        found: PartitionProduceResponse,
        node: int,
        mono_ms: int,
        backoff: Backoff | None,
    ) -> None:
        queue = self._placing.queues[where]
        code = error_code(found.error_code)
        fate = outcome(
            code,
            batch,
            is_idempotent=self._settings.is_idempotent,
            is_first=queue.is_first(batch),
        )
        if fate is Outcome.WRITTEN:
            self._written(queue, batch, found.base_offset, found.log_append_time_ms)
            return
        batch.maybe_written |= code not in NOTHING_WRITTEN
        why = f"{self._cluster.name(node)}: {explain(found) or code.name}"
        if fate is Outcome.FAILED:
            self._fail(queue, batch, code, why)
            self._back(queue, batch)
            return
        if fate is Outcome.AGAIN_IN_NEXT_EPOCH:
            queue.fresh_start = FreshStart.NEXT_EPOCH
        elif fate is Outcome.AGAIN_WITH_NEW_ID:
            queue.fresh_start = FreshStart.NEW_ID
        batch.why = why
        self._again(queue, batch, mono_ms, backoff)

    def _written(
        self, queue: PartitionQueue, batch: Batch, base_offset: int, append_time_ms: int
    ) -> None:
        queue.on_written()
        if not batch.is_done:
            topic, partition = queue.where
            for index, (send_id, record) in enumerate(
                zip(batch.send_ids, batch.records, strict=True)
            ):
                offset = base_offset + index if base_offset >= 0 else NO_OFFSET
                timestamp_ms = append_time_ms if append_time_ms >= 0 else record.timestamp_ms
                self._deliveries.append(Delivery(send_id, topic, partition, offset, timestamp_ms))
            self._settle(batch)
        self._back(queue, batch)

    def _again(
        self, queue: PartitionQueue, batch: Batch, mono_ms: int, backoff: Backoff | None
    ) -> None:
        if backoff is not None:
            self._cluster.refresh()
        if not batch.is_done:
            queue.on_retry(batch, mono_ms, backoff)
        self._back(queue, batch)

    def _back(self, queue: PartitionQueue, batch: Batch) -> None:
        queue.on_back(batch)
        if queue.is_empty:
            self._placing.active.pop(queue.where, None)

    # Failures

    def _expire(self, mono_ms: int) -> None:
        for queue in list(self._placing.active.values()):
            for batch in queue.expire(mono_ms):
                why = f"not delivered in {self._settings.delivery_timeout_ms} ms"
                # What is in flight may be written at any moment.
                batch.maybe_written |= batch in queue.in_flight
                if batch.why:
                    why = f"{why}; at last: {batch.why}"
                self._fail(queue, batch, ErrorCode.REQUEST_TIMED_OUT, why)
            if queue.is_empty:
                del self._placing.active[queue.where]

    def _fail_waiting(self, code: ErrorCode, why: str) -> None:
        for queue in list(self._placing.active.values()):
            for batch in queue.take_waiting():
                self._fail(queue, batch, code, why)
            if queue.is_empty:
                del self._placing.active[queue.where]

    def _fail(self, queue: PartitionQueue, batch: Batch, code: ErrorCode, why: str) -> None:
        if batch.is_done:
            return
        topic, partition = queue.where
        for send_id, record in zip(batch.send_ids, batch.records, strict=True):
            self._deliveries.append(
                Delivery(
                    send_id,
                    topic,
                    partition,
                    NO_OFFSET,
                    record.timestamp_ms,
                    code,
                    why,
                    batch.maybe_written,
                )
            )
        self._settle(batch)

    def _fail_sending(self, sending: Sending, code: ErrorCode, why: str) -> None:
        partition = NO_PARTITION if sending.partition is None else sending.partition
        self._deliveries.append(
            Delivery(
                sending.send_id,
                sending.topic,
                partition,
                NO_OFFSET,
                sending.record.timestamp_ms,
                code,
                why,
            )
        )
        self.buffered_bytes -= sending.size

    def _settle(self, batch: Batch) -> None:
        batch.is_done = True
        self.buffered_bytes -= batch.content_bytes


def _bytes_of(content: bytes | None) -> int:
    """Told here, while the caller can see it, and not when its batch leaves."""
    if content is None:
        return 0
    if type(content) is not bytes:
        raise TypeError(f"keys, values and header values are bytes, not {type(content).__name__}")
    return len(content)
