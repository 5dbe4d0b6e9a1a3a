"""What the clients of a seed do: produce, fetch, look up offsets, create and delete topics.

All of it through our own client, with its retries, timeouts and reconnects. Every operation stands
in the history with its outcome.
"""

from collections.abc import Callable
from typing import Any

import msgspec

from ottla.client.cluster import ClusterView
from ottla.client.consumer import Fetcher
from ottla.client.positions import Start
from ottla.client.producer import Delivery, Producer
from ottla.client.requests import ANY_NODE, ClientRequest, Role
from ottla.client.settings import (
    BackoffSettings,
    ClientSettings,
    FetchSettings,
    ProducerSettings,
)
from ottla.names import Now, TopicPartition
from ottla.protocol.schema.list_offsets import (
    ListOffsetsPartition,
    ListOffsetsRequest,
    ListOffsetsTopic,
)
from ottla.records.compress import Codec
from ottla.sim.checkers import Anomaly
from ottla.sim.client import SimClient
from ottla.sim.history import History, Outcome, Payload, Send, classify, encode_payload
from ottla.sim.network import SimNetwork
from ottla.sim.swarm import Shape
from ottla.sim.tap import WireTap
from ottla.sim.world import NS_PER_MS, NS_PER_S, World

BACKOFF = BackoffSettings(10, 150)
# Bursts a second of all producers together: enough to count, few enough to be quick.
BURSTS_PER_S = 20
ASKING_NS = 300 * NS_PER_MS
SEEKING_NS = 2 * NS_PER_S

Then = Callable[[msgspec.Struct | None, Now], None]


class Load:
    """What the clients of one run share."""

    def __init__(
        self, world: World, network: SimNetwork, shape: Shape, history: History, tap: WireTap
    ) -> None:
        self.world = world
        self.network = network
        self.shape = shape
        self.history = history
        self.tap = tap
        self.topics: dict[str, int] = {}
        self.anomalies: list[Anomaly] = []
        self.bursts_done = 0
        self.is_stopping = False
        self._values = 0
        self._clients = 0

    @property
    def operations(self) -> int:
        """Those that were answered as asked."""
        return self.bursts_done + len(self.history.reads) + len(self.history.listed)

    @property
    def partitions(self) -> list[TopicPartition]:
        return [TopicPartition(name, at) for name, n in self.topics.items() for at in range(n)]

    def acknowledged(self, where: TopicPartition) -> int:
        """The end of what readers have been told of a partition."""
        key = self.tap.key(*where)
        reads = self.history.reads
        return max((read.high_watermark for read in reads if read.partition == key), default=0)

    def next_value(self) -> int:
        self._values += 1
        return self._values

    def client(
        self, name: str, roles: tuple[Role, ...], on_turn: Callable[[Now], None]
    ) -> SimClient:
        """A host of its own for every process, so that its chance is its own."""
        self._clients += 1
        host = f"{name}-{self._clients}"
        return SimClient(self.world, self.network, host, roles, self.tap, on_turn)

    def settings(self, client_id: str) -> ClientSettings:
        timeout_ms = self.shape.request_timeout_ms
        return ClientSettings(
            client_id=client_id,
            request_timeout_ms=timeout_ms,
            metadata_age_ms_max=3_000,
            backoff=BACKOFF,
        )

    def report(self, name: str, where: str, detail: str) -> None:
        self.anomalies.append(Anomaly(name, where, detail))


class Calls:
    """Single requests, each asked once: what it means that one was lost is for the asker to say."""

    def __init__(self, timeout_ms: int) -> None:
        self._timeout_ms = timeout_ms
        self._token = 0
        self._new: list[ClientRequest] = []
        self._then: dict[int, Then] = {}

    @property
    def is_idle(self) -> bool:
        return not self._then

    def ask(self, request: msgspec.Struct, then: Then) -> None:
        self._token += 1
        self._then[self._token] = then
        self._new.append(ClientRequest(ANY_NODE, self._token, request, self._timeout_ms))

    def poll(self, now: Now) -> list[ClientRequest]:
        new, self._new = self._new, []
        return new

    def on_response(self, token: int, response: msgspec.Struct | None, now: Now) -> None:
        self._then.pop(token)(response, now)

    def on_lost(self, token: int, why: str, was_sent: bool, now: Now) -> None:
        self._then.pop(token)(None, now)

    def on_refused(self, token: int, why: str, now: Now) -> None:
        self._then.pop(token)(None, now)

    def next_deadline_ms(self) -> int | None:
        return None


class Producing:
    """One producer process. `produce` sends a burst to one partition."""

    def __init__(self, load: Load, name: str, settings: ProducerSettings) -> None:
        self.load = load
        self.settings = settings
        self.client = load.client(name, (), self._on_turn)
        rng = self.rng = self.client.rng
        cluster = ClusterView(load.settings(name), rng.random)
        self.producer = Producer(cluster, settings, rng.random)
        self.client.roles = (cluster, self.producer)
        self._sends: dict[int, tuple[Send, list[int]]] = {}
        self.bursts_open = 0

    @property
    def is_idle(self) -> bool:
        return not self._sends

    def produce(self, where: TopicPartition, records: int, bytes_max: int) -> None:
        load = self.load
        key = load.tap.key(*where)
        assert key is not None
        now = self.client.clock.now()
        is_idempotent = self.settings.is_idempotent
        burst = [records]
        for _ in range(records):
            value = load.next_value()
            bytes_max = min(bytes_max, load.shape.segment_bytes // 2)
            size = self.rng.randint(30, bytes_max)
            data = encode_payload(Payload(key, value, 0), size)
            send = load.history.send(
                load.world.now_ns,
                self.client.host,
                key,
                (value,),
                acks=self.settings.acks,
                is_idempotent=is_idempotent,
            )
            send_id = self.producer.send(where.topic, data, now, partition=where.partition)
            self._sends[send_id] = (send, burst)
        self.bursts_open += 1
        self.client.turn()

    def crash(self) -> None:
        """What it had under way is never answered to anybody."""
        self.client.close()
        self._sends.clear()

    def _on_turn(self, now: Now) -> None:
        for delivery in self.producer.take_results():
            self._complete(delivery)

    def _complete(self, delivery: Delivery) -> None:
        send, burst = self._sends.pop(delivery.send_id)
        at_ns = self.load.world.now_ns
        outcome = classify(delivery.error, earlier_attempt_unknown=delivery.maybe_written)
        offset = delivery.offset if delivery.offset >= 0 else None
        send.complete(at_ns, outcome, offset)
        if outcome is Outcome.OK:
            burst[0] -= 1
        if burst[0] == 0:
            self.load.bursts_done += 1
        if not any(other is burst for _, other in self._sends.values()):
            self.bursts_open -= 1


class Consuming:
    """One consumer process, on every partition; from time to time it goes elsewhere."""

    def __init__(self, load: Load, name: str, settings: FetchSettings) -> None:
        self.load = load
        self.client = load.client(name, (), self._on_turn)
        rng = self.rng = self.client.rng
        cluster = ClusterView(load.settings(name), rng.random)
        self.fetcher = Fetcher(cluster, settings, rng.random)
        self.client.roles = (cluster, self.fetcher)
        self._next: dict[TopicPartition, int] = {}

    def assign(self, where: TopicPartition, start: Start, end: Any = None) -> None:
        self.fetcher.assign(where, start, end)
        self._next.pop(where, None)

    def start(self) -> None:
        for where in self.load.partitions:
            self.assign(where, self.rng.choice(("earliest", "latest")))
        self.client.turn()
        self._seek_later()

    def _seek_later(self) -> None:
        delay_ns = self.rng.randint(0, 2 * SEEKING_NS)
        self.load.world.schedule(delay_ns, f"{self.client.host} seeks", self._seek)

    def _seek(self) -> None:
        if self.client.is_closed or self.load.is_stopping:
            return
        where = self.rng.choice(self.load.partitions)
        end = self.fetcher.high_watermark(where)
        places: list[Start] = ["earliest", "latest"]
        if end > 0:
            places.append(self.rng.randint(0, end))
        self._next.pop(where, None)
        self.fetcher.seek(where, self.rng.choice(places))
        self.client.turn()
        self._seek_later()

    def _on_turn(self, now: Now) -> None:
        for where, records, next_offset, _ in self.fetcher.take_fetched():
            expected = self._next.get(where, records[0].offset)
            for record in records:
                if record.offset != expected:
                    detail = f"offset {record.offset} instead of {expected}"
                    self.load.report("consumer-skip", str(where), detail)
                expected = record.offset + 1
            self._next[where] = next_offset
        for error in self.fetcher.take_errors():
            self.load.report("consumer-error", str(error.where), f"{error.code.name} {error.why}")


class Asking:
    """Looks up the ends of the log."""

    def __init__(self, load: Load, name: str) -> None:
        self.load = load
        self.calls = Calls(load.shape.request_timeout_ms)
        self.client = load.client(name, (self.calls,), lambda now: None)
        self.rng = self.client.rng

    def start(self) -> None:
        delay_ns = self.rng.randint(0, 2 * ASKING_NS)
        self.load.world.schedule(delay_ns, f"{self.client.host} asks", self._ask)

    def _ask(self) -> None:
        if self.load.is_stopping:
            return
        if self.calls.is_idle:
            where = self.rng.choice(self.load.partitions)
            timestamp = self.rng.choice((-1, -1, -1, -2, -3, self.client.clock.now().wall_ms - 500))
            asked = ListOffsetsPartition(where.partition, -1, timestamp)
            topics = [ListOffsetsTopic(where.topic, [asked])]
            request = ListOffsetsRequest(-1, 0, topics, self.load.shape.request_timeout_ms)
            self.calls.ask(request, lambda response, now: None)
            self.client.turn()
        self.start()


def producer_settings(load: Load, name: str, *, is_idempotent: bool, acks: int) -> ProducerSettings:
    rng = load.world.rng(f"{name}.settings")
    shape = load.shape
    return ProducerSettings(
        acks=-1 if is_idempotent else acks,
        idempotent=is_idempotent,
        codec=Codec[shape.compression.upper()],
        linger_ms=rng.choice((0, 1, 5)),
        # A batch that fits into no segment is refused.
        batch_bytes=min(rng.choice((300, 16_384)), shape.segment_bytes // 2),
        in_flight_max=shape.in_flight_max,
        request_timeout_ms=shape.request_timeout_ms,
        delivery_timeout_ms=rng.choice((1_500, 3_000, 20_000)),
        topic_timeout_ms=3_000,
        backoff=BACKOFF,
    )


def fetch_settings(load: Load, name: str) -> FetchSettings:
    rng = load.world.rng(f"{name}.settings")
    return FetchSettings(
        fetch_bytes_min=rng.choice((1, 1, 500)),
        fetch_bytes_max=rng.choice((1_000, 20_000, 52_428_800)),
        partition_fetch_bytes_max=rng.choice((500, 5_000, 1_048_576)),
        fetch_wait_ms_max=rng.choice((100, 250, 500)),
        request_timeout_ms=load.shape.request_timeout_ms,
        reset="error",
        topic_timeout_ms=3_000,
        backoff=BACKOFF,
    )


class Producers:
    """All producer processes, and the pace at which they work; one may crash and come again."""

    def __init__(self, load: Load) -> None:
        self._load = load
        self._rng = load.world.rng("producers")
        self._serial = 0
        self.running: list[Producing] = []

    def start(self) -> None:
        shape = self._load.shape
        for at in range(shape.producers):
            is_idempotent = at < shape.idempotent_producers
            acks = shape.acks[at % len(shape.acks)]
            producing = self._begin(is_idempotent, acks)
            self.running.append(producing)
            self._go_on(at, self._rng.randint(0, NS_PER_S // 2), 0)

    def _begin(self, is_idempotent: bool, acks: int) -> Producing:
        self._serial += 1
        name = f"producer{self._serial}"
        settings = producer_settings(self._load, name, is_idempotent=is_idempotent, acks=acks)
        return Producing(self._load, name, settings)

    def _go_on(self, at: int, delay_ns: int, left: int) -> None:
        self._load.world.schedule(delay_ns, f"producer {at}", lambda: self._work(at, left))

    def _work(self, at: int, left: int) -> None:
        load, rng, shape = self._load, self._rng, self._load.shape
        if load.is_stopping:
            return
        producing = self.running[at]
        if rng.random() < 0.005:
            settings = producing.settings
            load.world.note(f"{producing.client.host} crashes")
            producing.crash()
            producing = self.running[at] = self._begin(settings.is_idempotent, settings.acks)
        if producing.bursts_open < shape.in_flight_max:
            where = rng.choice(load.partitions)
            records = rng.randint(1, shape.records_per_batch_max)
            producing.produce(where, records, shape.value_bytes_max)
        if left > 0:
            self._go_on(at, rng.randint(0, shape.think_ns_max), left - 1)
            return
        # A run of bursts one behind the other, then a rest that keeps the pace.
        run = rng.randint(1, 12)
        mean_ns = run * shape.producers * NS_PER_S // BURSTS_PER_S
        self._go_on(at, rng.randint(0, 2 * mean_ns), run - 1)
