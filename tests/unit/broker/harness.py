"""A node and nothing around it: bytes and requests in, effects out, time and disk by hand.

It keeps the rules of a shell (one call an input, frames lent for the call, none while muted) and
nothing else happens on its own: `settle` runs what is due now, unless jobs or flushes are held.
"""

import random
from collections import deque
from collections.abc import Callable, Mapping
from typing import Any, TypeVar, cast

import msgspec

from ottla.api.table import route_of
from ottla.broker.boot import Addresses, boot
from ottla.broker.effects import Close, DiskOp, Effect, FlushTicket, Mute, Report, Send, Unmute
from ottla.broker.node import Node
from ottla.config import BrokerConfig
from ottla.errors import DiskError
from ottla.metadata.image import Endpoint
from ottla.names import NO_UUID, ConnId, NodeId, Now
from ottla.protocol.apis import request_header_version, response_header_version, response_type
from ottla.protocol.compile import decode, encode
from ottla.protocol.schema.create_topics import (
    CreatableTopic,
    CreatableTopicConfig,
    CreateTopicsRequest,
)
from ottla.protocol.schema.fetch import (
    FetchPartition,
    FetchRequest,
    FetchResponse,
    FetchTopic,
    PartitionData,
)
from ottla.protocol.schema.headers import RequestHeader
from ottla.protocol.schema.index import APIS
from ottla.protocol.schema.list_offsets import (
    ListOffsetsPartition,
    ListOffsetsRequest,
    ListOffsetsTopic,
)
from ottla.protocol.schema.produce import (
    PartitionProduceData,
    PartitionProduceResponse,
    ProduceRequest,
    ProduceResponse,
    TopicProduceData,
)
from ottla.records.batch import Record
from ottla.records.record import encode_batch
from ottla.replication.partition import Partition
from ottla.sim.disk import SimDisk
from ottla.sim.world import World
from ottla.storage.disk import Disk
from ottla.storage.jobs import flush_logs
from ottla.storage.segment import FileSlice, Segment

T = TypeVar("T")

WALL_MS = 1_700_000_000_000
ADDRESSES = Addresses(
    NodeId(1),
    (Endpoint("PLAINTEXT", "broker", 9092, 0),),
    (Endpoint("CONTROLLER", "broker", 9093, 0),),
    None,
)
KEY_OF = {name: key for key, name, *_ in APIS}
PRODUCE, FETCH, LIST_OFFSETS, METADATA, CREATE_TOPICS = 0, 1, 2, 3, 19
INIT_PRODUCER_ID = 22
# What `settle` may need, at most: more is a broker that keeps itself busy.
TURNS_MAX = 5000


class Entropy:
    def __init__(self, seed: int = 1) -> None:
        self._source = random.Random(seed)

    def uuid(self) -> bytes:
        return self._source.randbytes(16)

    def session_id(self) -> int:
        return self._source.randint(1, 2**31 - 1)


class Client:
    """One connection, and what came back on it."""

    def __init__(self, harness: "Harness", conn: ConnId) -> None:
        self.harness = harness
        self.conn = conn
        self.is_muted = False
        self.closed_why: str | None = None
        self.waiting: deque[bytes] = deque()
        # Of requests that are not answered: how to read the reply.
        self.asked: dict[int, tuple[int, int]] = {}
        self.replies: dict[int, Any] = {}
        # Correlation ids in the order of the replies.
        self.order: list[int] = []
        self._drawn = 0

    def send(self, message: msgspec.Struct, version: int, key: int | None = None) -> int:
        """Whatever is due happens; the correlation id."""
        correlation_id = self.lend(message, version, key)
        self.harness.settle()
        return correlation_id

    def lend(self, message: msgspec.Struct, version: int, key: int | None = None) -> int:
        """The node gets the frame, and no turn ends."""
        if key is None:
            key = KEY_OF[type(message).__name__.removesuffix("Request")]
        self._drawn += 1
        self.asked[self._drawn] = (key, version)
        self.send_frame(request_frame(message, version, self._drawn, key))
        return self._drawn

    def send_frame(self, frame: bytes) -> None:
        self.waiting.append(frame)
        self.harness.deliver(self)

    def reply(self, correlation_id: int) -> Any:
        """The reply, which must be there."""
        assert correlation_id in self.replies, "no reply yet"
        return self.replies[correlation_id]

    def has_reply(self, correlation_id: int) -> bool:
        return correlation_id in self.replies

    def ask(self, message: msgspec.Struct, version: int) -> Any:
        return self.reply(self.send(message, version))

    def produce(self, topic: str, *values: bytes, acks: int = -1, **more: Any) -> int:
        return self.send(produce_request(topic, *values, acks=acks, **more), 9)

    def fetch(self, topic: str, offset: int, **more: Any) -> int:
        return self.send(fetch_request(topic, offset, **more), 12)

    def list_offsets(self, topic: str, timestamp: int = -1) -> int:
        return self.send(list_offsets_request(topic, timestamp), 7)

    def close(self) -> None:
        self.harness.close(self, "the test closed it")
        self.harness.settle()

    def take(self, effect: Send) -> None:
        frame = b"".join(self.harness.bytes_of(part) for part in effect.parts)
        assert int.from_bytes(frame[:4], "big") == len(frame) - 4
        correlation_id = int.from_bytes(frame[4:8], "big")
        key, version = self.asked.pop(correlation_id)
        at = 8 + response_header_version(key, version)
        self.replies[correlation_id] = read_reply(key, version, frame[at:])
        self.order.append(correlation_id)


def read_reply(key: int, version: int, body: bytes) -> Any:
    if key == 18 and body[:2] == b"\0\x23":
        version = 0
    return decode(response_type(key), version, body)


class Harness:
    def __init__(
        self,
        settings: Mapping[str, str] | None = None,
        disk: SimDisk | None = None,
        start: bool = True,
        entropy_seed: int = 1,
    ) -> None:
        self.disk = disk if disk is not None else SimDisk(World(1))
        self.now = Now(1_000_000, WALL_MS)
        self.config, _ = BrokerConfig.load(dict(settings or {}))
        booted = self.disk.run(
            self.disk.begin_boot(),
            lambda disk: boot(disk, self.config, ADDRESSES, Entropy(entropy_seed), self.now),
        )
        self.node = Node(booted.state, route_of, self.now)
        self.clients: dict[ConnId, Client] = {}
        self.holds_jobs = False
        self.holds_flushes = False
        self.jobs: deque[DiskOp] = deque()
        self.flushes: deque[FlushTicket] = deque()
        self.flushes_begun = 0
        self.reports: list[Report] = []
        self.segments: dict[Segment, None] = {}
        self.is_ready = False
        self.turns = 0
        self._conns_drawn = 0
        if start:
            self.node.start(self.now, self._on_ready)
            self.settle()
            assert self.is_ready

    def _on_ready(self, now: Now) -> None:
        self.is_ready = True

    # Verbs

    def connect(self) -> Client:
        self._conns_drawn += 1
        client = Client(self, ConnId(self._conns_drawn))
        self.clients[client.conn] = client
        self.node.connected(client.conn, "peer", self.now)
        return client

    def create_topic(self, name: str, partitions: int = 1, **configs: object) -> None:
        client = self.connect()
        topic = CreatableTopic(
            name=name,
            num_partitions=partitions,
            replication_factor=1,
            configs=[
                CreatableTopicConfig(key.replace("_", "."), str(value))
                for key, value in configs.items()
            ],
        )
        answer = client.ask(CreateTopicsRequest(topics=[topic], timeout_ms=1000), 7)
        assert answer.topics[0].error_code == 0, answer
        client.close()

    def partition(self, topic: str, index: int = 0) -> Partition:
        return self.node.hosting.topics[topic].partitions[index]

    def advance(self, ms: int) -> None:
        """Time passes, deadline by deadline."""
        end_ms = self.now.mono_ms + ms
        self.settle()
        while True:
            due_ms = self.node.next_deadline_ms()
            if due_ms is None or due_ms > end_ms:
                break
            self._at(max(due_ms, self.now.mono_ms))
            self.node.tick(self.now)
            self.settle()
        self._at(end_ms)

    def _at(self, mono_ms: int) -> None:
        self.now = Now(mono_ms, self.now.wall_ms + mono_ms - self.now.mono_ms)

    def settle(self) -> None:
        """Turn by turn, until nothing is left but what is held or waits for time."""
        for _ in range(TURNS_MAX):
            self.turn()
            if self.jobs and not self.holds_jobs:
                self.finish_job()
            elif self.flushes and not self.holds_flushes:
                self.finish_flush()
            elif self._is_due():
                self.node.tick(self.now)
            elif not self.node.effects and not self.node.needs_settling:
                return
        raise AssertionError("the node does not come to rest")

    def _is_due(self) -> bool:
        due_ms = self.node.next_deadline_ms()
        return due_ms is not None and due_ms <= self.now.mono_ms

    def turn(self) -> None:
        """The end of one iteration of a shell's loop."""
        self.turns += 1
        for effect in self.node.take_effects():
            self._carry_out(effect)
        self._carry_out_rest()

    def deliver(self, client: Client) -> None:
        while client.waiting and not client.is_muted and client.closed_why is None:
            lent = bytearray(client.waiting.popleft())
            self.node.received(client.conn, memoryview(lent), self.now)
            # The frame was lent for the call: a view of it that was kept now shows rubbish.
            lent[:] = b"\xee" * len(lent)
            self._carry_out_rest()

    def finish_job(self) -> DiskOp:
        op = self.jobs.popleft()
        result: Any
        try:
            result = self.on_disk(op.job.run)
        except DiskError as error:
            result = error
        self.node.disk_done(op, result, self.now)
        self._carry_out_rest()
        return op

    def finish_flush(self, error: DiskError | None = None) -> None:
        ticket = self.flushes.popleft()
        if error is None:
            try:
                self.on_disk(lambda disk: flush_logs(disk, ticket.logs, ticket.journal))
            except DiskError as failed:
                error = failed
        self.node.flushed(ticket, error, self.now)
        self._carry_out_rest()

    def on_disk(self, work: Callable[[Disk], T]) -> T:
        return self.disk.run(self.disk.begin(), work)

    def close(self, client: Client, why: str) -> None:
        if client.closed_why is None:
            client.closed_why = why
            self.node.closed(client.conn, self.now)

    # Effects

    def _carry_out_rest(self) -> None:
        while self.node.effects:
            for effect in self.node.drain_effects():
                self._carry_out(effect)

    def _carry_out(self, effect: Effect) -> None:
        if isinstance(effect, DiskOp):
            self.jobs.append(effect)
        elif isinstance(effect, FlushTicket):
            assert not self.flushes, "one round is in flight at a time"
            self.flushes_begun += 1
            self.flushes.append(effect)
        elif isinstance(effect, Report):
            self.reports.append(effect)
        else:
            self._tell(self.clients[effect.conn], effect)

    def _tell(self, client: Client, effect: Send | Close | Mute | Unmute) -> None:
        if isinstance(effect, Send):
            for part in effect.parts:
                if isinstance(part, FileSlice):
                    self.segments[part.segment] = None
            if client.closed_why is None:
                client.take(effect)
            for part in effect.parts:
                if isinstance(part, FileSlice):
                    part.release()
        elif isinstance(effect, Close):
            self.close(client, effect.why)
        elif isinstance(effect, Mute):
            client.is_muted = True
        else:
            client.is_muted = False
            self.deliver(client)

    def bytes_of(self, part: Any) -> bytes:
        if not isinstance(part, FileSlice):
            return bytes(part)
        assert part.is_valid()
        return self.disk.peek(part.segment.file, part.position, part.size)

    # What must hold at the end of every test

    def assert_nothing_left(self) -> None:
        """Nobody waits, nothing is pinned, no timer goes on for a client that is gone."""
        for client in list(self.clients.values()):
            self.close(client, "the test is over")
        self.holds_jobs = self.holds_flushes = False
        self.settle()
        node = self.node
        assert not node.connections
        assert not node.woken.queue
        assert not self.jobs
        partitions = node.hosting.all_partitions()
        for partition in partitions:
            assert not partition.fetch_waiters
            assert not partition.roll_waiters
            assert not partition.waiters
            for segment in partition.log.segments:
                self.segments[segment] = None
        for topic in node.hosting.topics.values():
            assert not topic.opening
        assert [segment.pins for segment in self.segments if segment.pins] == []
        self.clients.clear()


# Requests


def request_frame(message: msgspec.Struct, version: int, correlation_id: int, key: int) -> bytes:
    header = RequestHeader(key, version, correlation_id, "test")
    return encode(header, request_header_version(key, version)) + encode(message, version)


def batch(*values: bytes, **more: Any) -> bytes:
    return encode_batch([Record(0, WALL_MS, None, value, ()) for value in values], **more)


def produce_request(
    topic: str,
    *values: bytes,
    acks: int = -1,
    partition: int = 0,
    records: bytes | None = None,
    timeout_ms: int = 30_000,
) -> ProduceRequest:
    data = records if records is not None else batch(*values)
    return ProduceRequest(
        acks=acks,
        timeout_ms=timeout_ms,
        topic_data=[TopicProduceData(topic, NO_UUID, [PartitionProduceData(partition, data)])],
    )


def fetch_request(
    topic: str,
    offset: int,
    *,
    partitions: tuple[int, ...] = (0,),
    max_wait_ms: int = 500,
    min_bytes: int = 1,
    partition_max_bytes: int = 1 << 20,
    session: tuple[int, int] = (0, -1),
    forget: list[Any] | None = None,
) -> FetchRequest:
    return FetchRequest(
        max_wait_ms=max_wait_ms,
        min_bytes=min_bytes,
        max_bytes=1 << 20,
        session_id=session[0],
        session_epoch=session[1],
        topics=[
            FetchTopic(
                topic=topic,
                partitions=[
                    FetchPartition(
                        partition=index,
                        fetch_offset=offset,
                        partition_max_bytes=partition_max_bytes,
                    )
                    for index in partitions
                ],
            )
        ]
        if partitions
        else [],
        forgotten_topics_data=forget or [],
    )


def list_offsets_request(topic: str, timestamp: int = -1, partition: int = 0) -> ListOffsetsRequest:
    return ListOffsetsRequest(
        replica_id=-1,
        topics=[ListOffsetsTopic(topic, [ListOffsetsPartition(partition, -1, timestamp)])],
    )


# Answers


def produced(response: ProduceResponse) -> PartitionProduceResponse:
    """The only partition's answer."""
    return response.responses[0].partition_responses[0]


def fetched(response: FetchResponse) -> PartitionData:
    return response.responses[0].partitions[0]


def records_of(response: FetchResponse) -> bytes:
    return bytes(cast("memoryview", fetched(response).records or b""))
