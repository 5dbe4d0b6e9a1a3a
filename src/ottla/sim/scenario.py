"""Stories about one broker as text: commands, and what came of them (in the manner of etcd).

A scenario is blocks of commands, each followed by a line of dashes and by the output expected of
it. What it prints is what a client or an operator would see, and never a time or a seed's chance.
"""

from collections.abc import Callable
from typing import NamedTuple

from ottla.client.cluster import ClusterView
from ottla.client.consumer import Fetcher
from ottla.client.producer import Delivery, Producer
from ottla.client.settings import BackoffSettings, ClientSettings, FetchSettings, ProducerSettings
from ottla.errors import ErrorCode
from ottla.names import Now, TopicPartition
from ottla.sim.checkers import LogWatch
from ottla.sim.churn import Admin
from ottla.sim.client import SimClient
from ottla.sim.disk import SimDisk
from ottla.sim.history import History
from ottla.sim.inodes import CrashMode
from ottla.sim.machine import Machine
from ottla.sim.network import SimNetwork
from ottla.sim.swarm import draw_shape
from ottla.sim.tap import WireTap
from ottla.sim.workload import Load
from ottla.sim.world import NS_PER_MS, NS_PER_S, World
from ottla.storage.segment import LOG_SUFFIX

DASHES = "----"
PATIENCE_NS = 5 * NS_PER_S
BACKOFF = BackoffSettings(10, 100)
SETTINGS = {"node.id": "1", "process.roles": "broker,controller"}

Words = dict[str, str]


class Block(NamedTuple):
    """Comments, commands, and the output that they are expected to have."""

    comments: tuple[str, ...]
    commands: tuple[str, ...]
    output: tuple[str, ...]

    def text(self) -> str:
        return "\n".join([*self.comments, *self.commands, DASHES, *self.output]) + "\n"


def parse(text: str) -> list[Block]:
    blocks = []
    for paragraph in text.strip().split("\n\n"):
        lines = paragraph.splitlines()
        at = lines.index(DASHES) if DASHES in lines else len(lines)
        comments = tuple(line for line in lines[:at] if line.startswith("#"))
        commands = tuple(line for line in lines[:at] if not line.startswith("#"))
        blocks.append(Block(comments, commands, tuple(lines[at + 1 :])))
    return blocks


def play(blocks: list[Block]) -> list[Block]:
    """The same story with the output that it has now."""
    stage = Stage()
    return [
        block._replace(output=tuple(line for c in block.commands for line in stage.do(c)))
        for block in blocks
    ]


class Stage:
    """One broker and one client; every command runs until it is answered."""

    def __init__(self) -> None:
        world = self.world = World(1)
        self.disk = SimDisk(world)
        self.network = SimNetwork(world)
        self.machine = Machine(world, self.network, self.disk, SETTINGS, LogWatch())
        shape = draw_shape(world.rng("shape"))
        shape.request_timeout_ms = 1_000
        history = History()
        self.load = Load(world, self.network, shape, history, WireTap(history))
        self.writers: dict[str, Writer] = {}
        self._lines: list[str] = []
        self._reports_seen = 0
        self._verbs: dict[str, Callable[[list[str], Words], None]] = {
            "start": self._start,
            "topic": self._topic,
            "produce": self._produce,
            "wait": self._wait,
            "fetch": self._fetch,
            "show": self._show,
            "run": self._run,
            "kill": self._kill,
            "power": self._power,
            "stop": self._stop,
            "disk": self._disk,
            "tear": self._tear,
            "rot": self._rot,
        }

    def do(self, command: str) -> list[str]:
        verb, *rest = command.split()
        names = [word for word in rest if "=" not in word]
        words = dict(word.split("=", 1) for word in rest if "=" in word)
        self._verbs[verb](names, words)
        self._say_reports()
        lines, self._lines = self._lines, []
        return lines

    # The broker

    def _start(self, names: list[str], words: Words) -> None:
        self.machine.start()
        self._reports_seen = 0
        self._lines += [f"broker repairs: {repair}" for repair in self.machine.repairs]
        self.world.run_for(100 * NS_PER_MS)
        self._lines.append("broker runs" if self.machine.is_running else "broker did not start")

    def _kill(self, names: list[str], words: Words) -> None:
        self.machine.kill()

    def _power(self, names: list[str], words: Words) -> None:
        """`power cut`: of what was not synced, so much is left."""
        self.disk.faults.crash_modes = (CrashMode(words.get("left", "lost")),)
        self.machine.cut_power()

    def _stop(self, names: list[str], words: Words) -> None:
        self.machine.stop()
        self.world.run_while(lambda: self.machine.is_running, PATIENCE_NS)

    def _say_reports(self) -> None:
        shell = self.machine.shell
        reports = shell.reports if shell is not None else []
        for report in reports[self._reports_seen :]:
            self._lines.append(f"broker says: {report.text}")
        self._reports_seen = len(reports)

    # The disk

    def _disk(self, names: list[str], words: Words) -> None:
        if names == ["full"]:
            self.disk.fill()
        elif names == ["free"]:
            self.disk.free_space()
        elif names == ["sound"]:
            self.disk.faults.sync_error = 0.0
        else:
            assert names == ["sync", "fails"], names
            self.disk.faults.sync_error = 1.0

    def _log(self, directory: str) -> str:
        return [p for p in self.disk.paths() if p.startswith(f"{directory}/") and LOG_SUFFIX in p][
            -1
        ]

    def _tear(self, names: list[str], words: Words) -> None:
        """The last bytes of a log are gone."""
        path = self._log(names[0])
        self.disk.put(path, self.disk.contents(path)[: -int(words["bytes"])])

    def _rot(self, names: list[str], words: Words) -> None:
        self.disk.rot(self._log(names[0]), int(words["position"]))

    # Clients

    def _topic(self, names: list[str], words: Words) -> None:
        admin = Admin(self.load, "admin")
        done: list[str] = []
        admin.create(names[0], int(words.get("partitions", "1")), {}, lambda: done.append(""))
        self.world.run_while(lambda: not done, PATIENCE_NS)
        admin.client.close()
        self._lines.append(f"topic {names[0]} is there" if done else "no answer")

    def _produce(self, names: list[str], words: Words) -> None:
        """Each value is a batch of its own. With `later`, nobody waits for the answers yet."""
        where = _where(names[0])
        acks = {"all": -1, "1": 1, "0": 0}[words.get("acks", "all")]
        key = f"acks={acks}"
        writer = self.writers.get(key)
        if writer is None:
            writer = self.writers[key] = Writer(self.load, acks)
        writer.produce(where, words["values"].split(","), int(words.get("bytes", "0")))
        if "later" in names:
            self.world.run_for(_duration(words.get("after", "1ms")))
        else:
            self._wait([], {})

    def _wait(self, names: list[str], words: Words) -> None:
        writers = self.writers.values()
        self.world.run_while(lambda: any(writer.waiting for writer in writers), PATIENCE_NS)
        for writer in writers:
            self._lines += writer.take_lines()

    def _fetch(self, names: list[str], words: Words) -> None:
        reader = Reader(self.load, _where(names[0]))
        self.world.run_while(lambda: not reader.is_done, PATIENCE_NS)
        reader.client.close()
        self._lines += reader.lines or ["nothing"]
        if not reader.is_done:
            self._lines.append("not served")

    def _show(self, names: list[str], words: Words) -> None:
        node = self.machine.node
        for partition in node.hosting.all_partitions():
            log = partition.log
            self._lines.append(
                f"{partition.partition} start={log.start_offset} "
                f"high_watermark={partition.high_watermark} end={log.end_offset}"
            )

    def _run(self, names: list[str], words: Words) -> None:
        self.world.run_for(_duration(words["for"]))


class Writer:
    """A producer of text."""

    def __init__(self, load: Load, acks: int) -> None:
        self.waiting: dict[int, str] = {}
        self._lines: list[str] = []
        self._client = load.client("writer", (), self._on_turn)
        rng = self._client.rng
        cluster = ClusterView(ClientSettings(request_timeout_ms=1_000, backoff=BACKOFF), rng.random)
        settings = ProducerSettings(
            acks=acks,
            linger_ms=0,
            batch_bytes=1,
            request_timeout_ms=1_000,
            delivery_timeout_ms=3_000,
            backoff=BACKOFF,
        )
        self._producer = Producer(cluster, settings, rng.random)
        self._client.roles = (cluster, self._producer)

    def produce(self, where: TopicPartition, values: list[str], size: int) -> None:
        """Dots make a value longer, and are not printed."""
        now = self._client.clock.now()
        for value in values:
            data = value.ljust(size, ".").encode()
            send_id = self._producer.send(where.topic, data, now, partition=where.partition)
            self.waiting[send_id] = value
        self._client.turn()

    def take_lines(self) -> list[str]:
        lines, self._lines = self._lines, []
        return lines + [f"{value} is not answered" for value in self.waiting.values()]

    def _on_turn(self, now: Now) -> None:
        for delivery in self._producer.take_results():
            self._lines.append(f"{self.waiting.pop(delivery.send_id)} -> {_fate(delivery)}")


class Reader:
    """Everything of one partition, once."""

    def __init__(self, load: Load, where: TopicPartition) -> None:
        self.lines: list[str] = []
        self.is_done = False
        self.client: SimClient = load.client("reader", (), self._on_turn)
        rng = self.client.rng
        cluster = ClusterView(ClientSettings(request_timeout_ms=1_000, backoff=BACKOFF), rng.random)
        settings = FetchSettings(request_timeout_ms=1_000, reset="error", backoff=BACKOFF)
        self._fetcher = Fetcher(cluster, settings, rng.random)
        self._fetcher.assign(where, "earliest", "latest")
        self.client.roles = (cluster, self._fetcher)
        self.client.turn()

    def _on_turn(self, now: Now) -> None:
        for fetched in self._fetcher.take_fetched():
            for record in fetched.records:
                value = (record.value or b"").decode().rstrip(".")
                self.lines.append(f"{record.offset} {value}")
        for error in self._fetcher.take_errors():
            self.lines.append(error.code.name)
        self.is_done = self._fetcher.is_finished


def _fate(delivery: Delivery) -> str:
    if delivery.error == ErrorCode.NONE:
        return f"offset {delivery.offset}" if delivery.offset >= 0 else "sent"
    maybe = " (perhaps written)" if delivery.maybe_written else ""
    return f"{delivery.error.name}{maybe}"


def _where(name: str) -> TopicPartition:
    topic, _, partition = name.rpartition("-")
    return TopicPartition(topic, int(partition))


def _duration(text: str) -> int:
    if text.endswith("ms"):
        return int(text[:-2]) * NS_PER_MS
    return int(text.removesuffix("s")) * NS_PER_S
