"""The programs that are compared, asked the same way, on topics that are new for each row."""

import json
import socket
import sys
import time
from collections.abc import Iterator
from concurrent.futures import Future
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import Any, Protocol

from confluent_kafka import KafkaException
from confluent_kafka.admin import AdminClient, NewTopic

from bench.build import BenchError
from bench.generator import drive, reqload_command
from bench.servers import Server, accepts, age_s, check_is_ours, serving
from tools.kafka import is_ready, kafka_broker

TOPIC_TIMEOUT_S = 60.0
FLOOR = Path(__file__).parent / "floor.py"
OTTLA = Path(sys.executable).parent / "ottla"


class Name(StrEnum):
    FLOOR = "floor"
    OTTLA = "ottla"
    OTTLA_PAGE_CACHE = "ottla, page cache"
    KAFKA = "kafka"
    KAFKA_FLUSH = "kafka, flush.messages=1"


FAMILIES: dict[str, tuple[Name, ...]] = {
    "floor": (Name.FLOOR,),
    "ottla": (Name.OTTLA, Name.OTTLA_PAGE_CACHE),
    "kafka": (Name.KAFKA, Name.KAFKA_FLUSH),
}
OTTLA_SETTINGS: dict[Name, tuple[str, ...]] = {
    Name.OTTLA: (),
    Name.OTTLA_PAGE_CACHE: ("ottla.durability=page-cache",),
}
# One process is Kafka twice: what differs is a setting of the topic.
KAFKA_TOPIC_SETTINGS: dict[Name, dict[str, str]] = {
    Name.KAFKA: {},
    Name.KAFKA_FLUSH: {"flush.messages": "1"},
}
# Kafka keeps a deleted topic's files for a minute otherwise, and the disk fills.
DELETE_AT_ONCE = {"file.delete.delay.ms": "0"}


@dataclass(frozen=True, slots=True)
class Topic:
    name: str
    partitions: int = 4


class Peer(Protocol):
    """What a row sees of a program."""

    @property
    def name(self) -> Name: ...
    @property
    def pid(self) -> int: ...
    @property
    def address(self) -> str: ...
    @property
    def ready_s(self) -> float: ...

    def fresh(self, topic: Topic) -> None:
        """Make an empty topic, and prove that every partition of it takes a record."""

    def discard(self, topic: Topic) -> None:
        """Delete it, so that one row's dirty pages do not burden the next."""

    def take_stall_ms(self) -> float | None:
        """The loop's longest stall since this was last asked, as the program itself saw it.

        None: it says nothing about it, and the tables print "not measured".
        """


@dataclass(slots=True)
class BrokerPeer:
    name: Name
    pid: int
    address: str
    ready_s: float
    topic_settings: dict[str, str] = field(default_factory=dict)
    control: socket.socket | None = None
    _admin: AdminClient | None = None

    def fresh(self, topic: Topic) -> None:
        settings = self.topic_settings | DELETE_AT_ONCE
        new = NewTopic(topic.name, topic.partitions, 1, config=settings)
        self._wait(self._client().create_topics([new])[topic.name])
        _prove(self, topic)

    def discard(self, topic: Topic) -> None:
        self._wait(self._client().delete_topics([topic.name])[topic.name])

    def take_stall_ms(self) -> float | None:
        if self.control is None:
            return None
        self.control.sendall(b'{"ask": "stats"}\n')
        while True:
            line = self._read_line(self.control)
            if "stats" in line:
                late_ms: float = line["stats"]["loop_late_ms_max"]
                return late_ms

    def _read_line(self, control: socket.socket) -> dict[str, Any]:
        received = b""
        while not received.endswith(b"\n"):
            byte = control.recv(1)
            if not byte:
                raise BenchError(f"{self.name} closed its control pipe")
            received += byte
        line: dict[str, Any] = json.loads(received)
        return line

    def forget_client(self) -> None:
        """Before the broker stops: the client would report that it lost it."""
        self._admin = None

    def _client(self) -> AdminClient:
        # Made late: its connection and its threads are not part of an idle broker.
        if self._admin is None:
            self._admin = AdminClient({"bootstrap.servers": self.address, "log_level": 3})
        return self._admin

    def _wait(self, future: "Future[None]") -> None:
        try:
            future.result(TOPIC_TIMEOUT_S)
        except (KafkaException, TimeoutError) as trouble:
            raise BenchError(f"{self.name}: {trouble or 'no answer'}") from None


class FloorPeer:
    """The floor has no topics: a new topic is a new process."""

    name = Name.FLOOR

    def __init__(self, folder: Path, stack: ExitStack) -> None:
        self._folder = folder
        self._outer = stack
        self._running = stack.enter_context(ExitStack())
        self._server = self._start(1)

    @property
    def pid(self) -> int:
        return self._server.pid

    @property
    def address(self) -> str:
        return self._server.address

    @property
    def ready_s(self) -> float:
        return self._server.ready_s

    def fresh(self, topic: Topic) -> None:
        self._running.close()
        self._server = self._start(topic.partitions)
        _prove(self, topic)

    def discard(self, topic: Topic) -> None:
        self.fresh(Topic(topic.name, 1))

    def take_stall_ms(self) -> float | None:
        return None

    def _start(self, partitions: int) -> Server:
        def command(port: int) -> list[str]:
            return [sys.executable, str(FLOOR), str(port), str(self._folder), str(partitions)]

        log = self._folder.with_suffix(".out")
        return self._running.enter_context(serving(command, log, accepts))


def _prove(peer: Peer, topic: Topic) -> None:
    """One record to each partition: a new topic is known before it is led."""
    flags = ["-conns", "1", "-spread", "-requests", str(topic.partitions)]
    deadline = time.monotonic() + TOPIC_TIMEOUT_S
    while True:
        try:
            drive(reqload_command(peer.address, topic.name, topic.partitions, flags), peer.pid)
        except BenchError:
            if time.monotonic() > deadline:
                raise
            time.sleep(0.1)
        else:
            return


@contextmanager
def started(name: Name, folder: Path) -> Iterator[Peer]:
    """One peer in a cold process of its own."""
    with ExitStack() as stack:
        if name is Name.FLOOR:
            yield FloorPeer(folder, stack)
        elif name in OTTLA_SETTINGS:
            yield _ottla(name, folder, stack)
        else:
            yield _kafka(folder, stack, [name])[0]


@contextmanager
def all_started(names: list[Name], folder: Path) -> Iterator[dict[Name, Peer]]:
    """Every peer, running beside the others; only one of them is loaded at a time."""
    peers: dict[Name, Peer] = {}
    with ExitStack() as stack:
        kafkas = [name for name in names if name in KAFKA_TOPIC_SETTINGS]
        if kafkas:
            peers |= {peer.name: peer for peer in _kafka(folder / "kafka", stack, kafkas)}
        for name in names:
            if name not in peers:
                peers[name] = stack.enter_context(started(name, folder / name.name.lower()))
        yield peers


def _ottla(name: Name, folder: Path, stack: ExitStack) -> Peer:
    ours, its = socket.socketpair()
    ours.settimeout(TOPIC_TIMEOUT_S)
    stack.callback(ours.close)

    def command(port: int) -> list[str]:
        sets = [part for setting in OTTLA_SETTINGS[name] for part in ("--set", setting)]
        where = ["--data", str(folder), "--listen", f"127.0.0.1:{port}", "--node-id", "1"]
        return [str(OTTLA), "start", *where, *sets, "--control-fd", str(its.fileno())]

    with its:
        log = folder.with_suffix(".out")
        server = stack.enter_context(serving(command, log, is_ready, (its.fileno(),)))
    peer = BrokerPeer(name, server.pid, server.address, server.ready_s, control=ours)
    stack.callback(peer.forget_client)
    return peer


def _kafka(folder: Path, stack: ExitStack, names: list[Name]) -> list[Peer]:
    broker = stack.enter_context(kafka_broker(data_dir=folder))
    ready_s = age_s(broker.pid)
    check_is_ours(broker.pid, broker.port)
    peers: list[Peer] = []
    for name in names:
        settings = KAFKA_TOPIC_SETTINGS[name]
        peer = BrokerPeer(name, broker.pid, broker.bootstrap, ready_s, settings)
        stack.callback(peer.forget_client)
        peers.append(peer)
    return peers
