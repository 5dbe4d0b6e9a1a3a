"""One seed: a broker, its clients, and what befalls them, from the first event to the verdict."""

import gc
import traceback
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from ottla.names import TopicPartition
from ottla.sim.audit import Auditor
from ottla.sim.checkers import Anomaly, LogWatch, check
from ottla.sim.churn import Admin, Churning
from ottla.sim.client import SimClient
from ottla.sim.disk import SimDisk
from ottla.sim.history import History
from ottla.sim.inodes import CrashMode
from ottla.sim.knobs import Settings, draw_knobs, turned
from ottla.sim.machine import Machine
from ottla.sim.network import SimNetwork
from ottla.sim.rot import EXCUSED, rot_a_batch
from ottla.sim.swarm import FAULTS_MIN, OPERATIONS_MIN, Shape, Swarm, draw_plan, vacuous
from ottla.sim.tap import WireTap
from ottla.sim.trace import Trace
from ottla.sim.workload import Asking, Consuming, Load, Producers, fetch_settings
from ottla.sim.world import NS_PER_MS, NS_PER_S, NS_PER_US, World

OK, CRASHED, STUCK, WRONG = 0, 10, 11, 12
# Clients that have too little done when the time is over go on for so long.
OVERTIME_NS = 10 * NS_PER_S
# Every pending operation is answered within this time of a healthy broker.
SETTLE_NS = 25 * NS_PER_S
ROT_RATE = 0.3
# How often somebody looks whether the moment for a power cut has come.
BUSY_LOOK_NS = 200 * NS_PER_US
# So much, not yet on disk, is a batch that can be torn in the middle.
EXPOSED_BYTES = 2_000
EXPOSED_LOOK_NS = 500 * NS_PER_US
REFILL_LOOK_NS = 5 * NS_PER_MS


@dataclass(slots=True)
class Verdict:
    seed: int
    virtual_ns: int = 0
    digest: str = ""
    operations: int = 0
    records_acked: int = 0
    lives: int = 0
    faults: dict[str, int] = field(default_factory=dict)
    disturbances: dict[str, int] = field(default_factory=dict)
    # Broken invariants and exceptions that nobody expects.
    crash: str = ""
    # What never ended, and why the run proves nothing.
    stuck: list[str] = field(default_factory=list)
    anomalies: list[Anomaly] = field(default_factory=list)
    # Allowed anomalies, by name.
    counted: dict[str, int] = field(default_factory=dict)
    recent: list[str] = field(default_factory=list)

    @property
    def exit_code(self) -> int:
        if self.crash:
            return CRASHED
        if self.anomalies:
            return WRONG
        return STUCK if self.stuck else OK

    def findings(self) -> list[str]:
        found = [f"crash: {self.crash}"] if self.crash else []
        found += [f"{a.name} {a.partition}: {a.detail}" for a in self.anomalies]
        return found + [f"stuck: {what}" for what in self.stuck]


def run_seed(
    seed: int,
    *,
    seconds: int = 10,
    echo: Callable[[str], None] | None = None,
    planted: Settings | None = None,
) -> Verdict:
    """The same for the same seed, wherever and whenever. `planted` is a mutant's."""
    gc_was_on = gc.isenabled()
    gc.disable()
    cluster = Cluster(seed, seconds, Trace(echo))
    try:
        with turned(draw_knobs(cluster.world.rng("knobs")) | (planted or {})):
            return cluster.run()
    finally:
        if gc_was_on:
            gc.enable()


class Cluster:
    def __init__(self, seed: int, seconds: int, trace: Trace) -> None:
        world = self.world = World(seed, trace)
        self.run_ns = seconds * NS_PER_S
        self.disk = SimDisk(world)
        self.network = SimNetwork(world)
        self.plan = draw_plan(world.rng("plan"), self.run_ns - 2 * NS_PER_S)
        self.history = History(cache_losses_ns=self.disk.losses_ns)
        self.log_watch = LogWatch()
        self.machine = Machine(
            world, self.network, self.disk, broker_settings(world), self.log_watch
        )
        self.tap = WireTap(self.history)
        shape = self.plan.shape
        world.clock.set_drift(shape.clock_drift_ppm)
        self.load = Load(world, self.network, shape, self.history, self.tap)
        self.verdict = Verdict(seed)
        # The log that rotted at the end.
        self.rotten: TopicPartition | None = None
        self.swarm = Swarm(world, self.plan, self.machine, self.disk, self.network, "node")

    def run(self) -> Verdict:
        verdict = self.verdict
        try:
            self._run()
        except Exception:
            # Whatever it is, nobody in the broker expected it: the process would have died of it.
            verdict.crash = traceback.format_exc()
        self._judge()
        return verdict

    def _run(self) -> None:
        world, load = self.world, self.load
        self.machine.start()
        self.admin = Admin(load, "setup")
        configs = topic_settings(self.plan.shape, world)
        self.churning = Churning(load, configs)
        self.producers = Producers(load)
        self.consuming: list[Consuming] = []
        self.asking = Asking(load, "asking")
        self.swarm.start()
        self._plan_stops()
        self._set_up(configs, lambda: self._begin(configs))
        world.run_until(self.run_ns)
        # A walk over many pages that go cold behind it at random would never end.
        self.disk.faults.would_block = 0.0
        world.run_while(lambda: load.operations < OPERATIONS_MIN, OVERTIME_NS)
        for _ in range(FAULTS_MIN):
            # Whatever was planned may have found the broker down already.
            if world.ledger.fault_count < FAULTS_MIN and self.machine.is_running:
                world.fault("kill")
                self.machine.kill()
                world.run_for(NS_PER_S)
        load.is_stopping = True
        if not world.run_while(lambda: not self._is_idle(), SETTLE_NS):
            self.verdict.stuck += self._who_waits()
        self._send_home(self._clients())
        self._end()

    def _end(self) -> None:
        """With nobody there: nothing is left over. Then perhaps one more blow, and the audit."""
        world = self.world
        self._rest()
        self.verdict.stuck += self.machine.leaks()
        blow = world.rng("end").choice(("", "kill", "power", "stop"))
        if blow and self.machine.is_running:
            world.note(f"at the end: {blow}")
            blows = {"kill": self.machine.kill, "power": self.machine.cut_power}
            blows.get(blow, self.machine.stop)()
            if blow in blows and world.rng("rot").random() < ROT_RATE:
                self._rot()
            world.run_while(lambda: self.machine.is_running, 5 * NS_PER_S)
        states = self.admin.states | self.churning.admin.states
        auditor = Auditor(self.load, states, self.rotten)
        auditor.run()
        self.verdict.stuck += auditor.stuck
        self._rest()
        if self.rotten is None:
            # The files of a log that is not served stay open.
            self.verdict.stuck += self.machine.leaks()

    def _rot(self) -> None:
        topic_ids = {
            f"{name}-{at}": self.admin.states[name].topic_id
            for name, partitions in self.load.topics.items()
            for at in range(partitions)
        }
        directory = rot_a_batch(self.disk, self.world.rng("rot"), topic_ids)
        if directory is not None:
            name, _, index = directory.rpartition("-")
            self.rotten = TopicPartition(name, int(index))

    def _rest(self) -> None:
        """Connections close, flushes end, deleted files go."""
        world = self.world
        world.run_while(lambda: not self.machine.is_running, 5 * NS_PER_S)
        world.run_while(lambda: bool(self.machine.leaks()), 5 * NS_PER_S)

    # Setting up

    def _set_up(self, configs: Mapping[str, str], then: Callable[[], None]) -> None:
        """The topics that last as long as the run."""
        partitions = self.plan.shape.partitions
        wanted = {"orders": partitions - partitions // 3}
        if partitions // 3:
            wanted["payments"] = partitions // 3

        def create_next() -> None:
            missing = [name for name in wanted if name not in self.load.topics]
            if not missing:
                then()
                return
            name = missing[0]

            def created() -> None:
                self.load.topics[name] = wanted[name]
                create_next()

            self.admin.create(name, wanted[name], dict(configs), created)

        create_next()

    def _begin(self, configs: Mapping[str, str]) -> None:
        self.producers.start()
        for at in range(self.plan.shape.consumers):
            consuming = Consuming(self.load, f"consumer{at}", fetch_settings(self.load, f"c{at}"))
            self.consuming.append(consuming)
            consuming.start()
        self.asking.start()
        self.churning.start()

    def _plan_stops(self) -> None:
        """Clean stops stand beside the swarm's faults: an operator who restarts, and who evicts."""
        rng = self.world.rng("operator")
        for _ in range(rng.choice((0, 0, 1, 2))):
            at_ns = rng.randint(NS_PER_S, self.run_ns - 3 * NS_PER_S)
            self.swarm.strike("clean_stop", self.machine.stop, at_ns)
        for _ in range(rng.choice((0, 3, 8))):
            at_ns = rng.randint(NS_PER_S, self.run_ns)
            self.world.schedule(at_ns - self.world.now_ns, "page cache is wanted", self._evict)

        cut_power, tear = self.machine.cut_power, self._cut_power_and_tear
        for name, cut, is_moment, every_ns in (
            (
                "busy_power_cut",
                cut_power,
                lambda: not self.machine.node.flusher.is_idle,
                BUSY_LOOK_NS,
            ),
            (
                "tearing_power_cut",
                tear,
                lambda: self._exposed_bytes() > EXPOSED_BYTES,
                EXPOSED_LOOK_NS,
            ),
            ("refill_power_cut", cut_power, lambda: self.churning.has_refilled, REFILL_LOOK_NS),
        ):
            for _ in range(rng.choice((0, 1, 2))):
                at_ns = rng.randint(NS_PER_S, self.plan.heal_ns)
                self.swarm.strike_when(is_moment, every_ns, name, cut, at_ns)

    def _cut_power_and_tear(self) -> None:
        """Of what was not synced some came through: that is what a checksum is for."""
        faults = self.disk.faults
        modes, faults.crash_modes = faults.crash_modes, (CrashMode.TORN, CrashMode.PAGES)
        self.machine.cut_power()
        faults.crash_modes = modes

    def _exposed_bytes(self) -> int:
        """The most that one log has in the page cache alone, journal or not."""
        logs = [partition.log for partition in self.machine.node.hosting.all_partitions()]
        exposed = [
            log.active.size - (log.durable_position if log.active is log.durable_segment else 0)
            for log in logs
        ]
        return max(exposed, default=0)

    def _evict(self) -> None:
        """Memory is short: what is clean goes, and what a failed sync only seemed to keep."""
        self.world.ledger.disturb("disk.evict")
        for path in self.disk.paths():
            self.disk.evict(path)

    # Ending

    def _clients(self) -> list[SimClient]:
        clients = [producing.client for producing in self.producers.running]
        clients += [consuming.client for consuming in self.consuming]
        clients += [self.asking.client, self.admin.client, *self.churning.clients]
        return clients

    def _is_idle(self) -> bool:
        producing = all(producing.is_idle for producing in self.producers.running)
        asking = self.asking.calls.is_idle and self.admin.calls.is_idle
        has_begun = bool(self.consuming)
        return has_begun and producing and asking and self.churning.is_idle

    def _who_waits(self) -> list[str]:
        waiting = [f"{p.client.host} waits" for p in self.producers.running if not p.is_idle]
        if not self.churning.is_idle:
            waiting.append("creating or deleting topics does not end")
        if not self.consuming:
            waiting.append("the topics could not be made")
        if not (self.asking.calls.is_idle and self.admin.calls.is_idle):
            waiting.append("a lookup is not answered")
        return waiting

    def _send_home(self, clients: list[SimClient]) -> None:
        for client in clients:
            client.close()

    def _judge(self) -> None:
        verdict, load = self.verdict, self.load
        verdict.virtual_ns = self.world.now_ns
        verdict.digest = self.world.trace.digest()
        verdict.operations = load.operations
        verdict.records_acked = sum(send.outcome.value == "ok" for send in self.history.sends)
        verdict.lives = self.machine.lives
        verdict.faults = self.world.ledger.faults
        verdict.disturbances = self.world.ledger.disturbances
        found = [*load.anomalies, *self.log_watch.anomalies, *self.machine.anomalies]
        found += [Anomaly("malformed-answer", "", why) for why in self.tap.malformed_answers]
        if not verdict.crash and not verdict.stuck:
            found += check(self.history)
            verdict.stuck += vacuous(load.operations, self.world.ledger)
        found = [anomaly for anomaly in found if self._is_owed(anomaly)]
        verdict.anomalies = [anomaly for anomaly in found if anomaly.is_forbidden]
        for anomaly in found:
            if not anomaly.is_forbidden:
                verdict.counted[anomaly.name] = verdict.counted.get(anomaly.name, 0) + 1
        verdict.recent = self.world.trace.recent()

    def _is_owed(self, anomaly: Anomaly) -> bool:
        """Nobody reads a topic at the end that was deleted, or a log that says it is damaged."""
        if self.rotten is not None and anomaly.partition.startswith(f"{self.rotten}@"):
            return anomaly.name not in EXCUSED
        if anomaly.name != "unseen":
            return True
        topic_ids = self.load.tap.topic_ids.values()
        return any(anomaly.partition.endswith(topic_id[:4].hex()) for topic_id in topic_ids)


def broker_settings(world: World) -> dict[str, str]:
    rng = world.rng("broker.settings")
    return {
        "node.id": "1",
        "process.roles": "broker,controller",
        "log.segment.delete.delay.ms": str(rng.choice((0, 100, 60_000))),
        "auto.create.topics.enable": "false",
        "metadata.log.max.record.bytes.between.snapshots": rng.choice(("1", "1000", "20971520")),
        "metadata.log.max.snapshot.interval.ms": rng.choice(("0", "500", "3600000")),
    }


def topic_settings(shape: Shape, world: World) -> dict[str, str]:
    rng = world.rng("topic.settings")
    settings = {
        "internal.segment.bytes": str(shape.segment_bytes),
        "index.interval.bytes": str(shape.index_interval_bytes),
        "file.delete.delay.ms": str(rng.choice((0, 100, 60_000))),
        "message.timestamp.type": rng.choice(("CreateTime", "CreateTime", "LogAppendTime")),
    }
    if rng.random() < 0.3:
        settings["segment.ms"] = str(rng.choice((200, 1_000)))
    if rng.random() < 0.3:
        settings["segment.index.bytes"] = str(rng.choice((64, 400)))
    return settings
