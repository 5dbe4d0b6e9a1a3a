"""A broker of thirty lines on the simulated parts: it appends numbers, syncs, and answers.

It shows how the parts fit together, and that what they do to a broker is found by the checkers when
the broker is wrong. Run as a program it prints the digest of a seed.
"""

import sys
import zlib
from functools import partial

from ottla.errors import DiskError
from ottla.sim.disk import PowerCut, SimDisk
from ottla.sim.history import History, Outcome, Send
from ottla.sim.history import Read as HistoryRead
from ottla.sim.jobs import JobRunner
from ottla.sim.network import CloseReason, End, SimNetwork
from ottla.sim.swarm import RUN_NS, Swarm, draw_plan
from ottla.sim.world import NS_PER_MS, Timer, World
from ottla.storage.disk import Disk, DiskFile

RECORD = 8
TIMEOUT_NS = 300 * NS_PER_MS


def record(value: int) -> bytes:
    number = value.to_bytes(4, "big")
    return number + zlib.crc32(number).to_bytes(4, "big")


def values_in(contents: bytes) -> list[int]:
    """Up to the first record that is torn."""
    values = []
    for at in range(0, len(contents) - RECORD + 1, RECORD):
        value = int.from_bytes(contents[at : at + 4], "big")
        if contents[at : at + RECORD] != record(value):
            break
        values.append(value)
    return values


class Machine:
    def __init__(self, world: World, *, answers_early: bool) -> None:
        self.world = world
        self.disk = SimDisk(world)
        self.network = SimNetwork(world)
        self.answers_early = answers_early
        self.is_running = False
        self.is_paused = False
        self.file: DiskFile
        self.end_offset = 0
        self.jobs: JobRunner
        self.waiting: list[tuple[End, int, int]] = []
        self.is_flushing = False
        self.is_offline = False

    def start(self) -> None:
        def recover(disk: Disk) -> tuple[DiskFile, int]:
            file = disk.open("log", create=True)
            whole = len(values_in(disk.read_blocking(file, 0, disk.size(file))))
            disk.truncate(file, whole * RECORD)
            disk.sync(file)
            disk.sync_dir("")
            return file, whole

        try:
            self.file, self.end_offset = self.disk.run(self.disk.begin_boot(), recover)
        except PowerCut:
            self.disk.kill()
            return
        except DiskError:
            self.disk.kill()
            return
        self.jobs = JobRunner(self.world, self.disk, self.kill)
        self.waiting = []
        self.is_flushing = self.is_offline = False
        self.is_running = True
        self.network.listen("node", self)

    def kill(self) -> None:
        self.is_running = False
        self.jobs.die()
        self.network.kill("node")
        self.disk.kill()

    def cut_power(self) -> None:
        self.is_running = False
        self.jobs.die()
        self.network.vanish("node")
        self.disk.crash()

    def pause(self, duration_ns: int) -> None:
        self.is_paused = True

        def go_on() -> None:
            self.is_paused = False

        self.world.schedule(duration_ns, "go on", go_on)

    def opened(self, end: End) -> None:
        pass

    def writable(self, end: End, queued_bytes: int) -> None:
        pass

    def closed(self, end: End, reason: CloseReason) -> None:
        pass

    def received(self, end: End, data: bytes) -> None:
        # A request is four bytes; a split one is for a broker with more lines than this.
        if self.is_offline or self.is_paused or len(data) != 4:
            end.close()
            return
        value = int.from_bytes(data, "big")
        try:
            self.disk.append(self.file, self.end_offset * RECORD, (record(value),))
        except PowerCut:
            self.cut_power()
            return
        except DiskError:
            self.is_offline = True
            return
        self.waiting.append((end, value, self.end_offset))
        self.end_offset += 1
        if self.answers_early:
            self.answer_waiting(len(self.waiting))
        self.maybe_flush()

    def maybe_flush(self) -> None:
        if self.is_flushing or self.is_offline or not self.waiting:
            return
        self.is_flushing = True
        count = len(self.waiting)
        file = self.file
        self.jobs.submit("flush", lambda disk: disk.sync(file), partial(self.flushed, count))

    def flushed(self, count: int, result: object) -> None:
        self.is_flushing = False
        if isinstance(result, DiskError):
            self.is_offline = True
            return
        self.answer_waiting(count)
        self.maybe_flush()

    def answer_waiting(self, count: int) -> None:
        answered, self.waiting = self.waiting[:count], self.waiting[count:]
        for end, value, offset in answered:
            if end.is_open:
                end.send([value.to_bytes(4, "big") + offset.to_bytes(4, "big")])


class Client:
    """Sends number after number, each once, and never waits long."""

    def __init__(self, machine: Machine, history: History, number: int) -> None:
        self.machine = machine
        self.world = machine.world
        self.history = history
        self.host = f"client-{number}"
        self.next_value = number * 1_000_000
        self.send: Send | None = None
        self.timer: Timer | None = None
        self.connect()

    def connect(self) -> None:
        self.end = self.machine.network.connect(self.host, "node", self)
        self.timer = self.world.schedule(TIMEOUT_NS, "connect timeout", self.give_up)

    def give_up(self) -> None:
        self.world.cancel(self.timer)
        if self.send is not None:
            self.send.complete(self.world.now_ns, Outcome.INFO)
            self.send = None
        self.end.reset()
        self.world.schedule(20 * NS_PER_MS, "reconnect", self.connect)

    def opened(self, end: End) -> None:
        self.world.cancel(self.timer)
        self.produce()

    def produce(self) -> None:
        if not self.end.is_open:
            return
        self.next_value += 1
        self.send = self.history.send(self.world.now_ns, self.host, "log", [self.next_value])
        self.end.send([self.next_value.to_bytes(4, "big")])
        self.timer = self.world.schedule(TIMEOUT_NS, "send timeout", self.give_up)

    def received(self, end: End, data: bytes) -> None:
        if self.send is None or len(data) != 8 or data[:4] != self.next_value.to_bytes(4, "big"):
            self.give_up()
            return
        self.world.cancel(self.timer)
        offset = int.from_bytes(data[4:], "big")
        self.send.complete(self.world.now_ns, Outcome.OK, offset)
        self.send = None
        self.world.schedule(10 * NS_PER_MS, "think", self.produce)

    def writable(self, end: End, queued_bytes: int) -> None:
        pass

    def closed(self, end: End, reason: CloseReason) -> None:
        self.give_up()


def run(
    seed: int,
    *,
    answers_early: bool = False,
) -> tuple[World, History]:
    world = World(seed)
    machine = Machine(world, answers_early=answers_early)
    history = History(cache_losses_ns=machine.disk.losses_ns)
    machine.start()
    plan = draw_plan(world.rng("plan"))
    Swarm(world, plan, machine, machine.disk, machine.network, "node").start()
    for number in range(1, 4):
        Client(machine, history, number)
    world.run_until(RUN_NS)
    values = values_in(machine.disk.contents("log"))
    history.reads.append(
        HistoryRead(
            reader="offline",
            partition="log",
            invoked_ns=RUN_NS,
            completed_ns=RUN_NS,
            fetch_offset=0,
            records=tuple(enumerate(values)),
            high_watermark=len(values),
            log_start_offset=0,
            is_final=True,
        )
    )
    return world, history


if __name__ == "__main__":
    print(run(int(sys.argv[1]))[0].trace.digest())
