"""Chance with a plan: what one seed's run looks like, and which faults strike when.

Every seed draws its own shape and its own few kinds of fault (swarm testing: a run in which
everything can fail never gets far enough to fail interestingly). Time is cut into windows; in each
some of the seed's faults are at work, in about a quarter of them none. Before the end all heals.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from random import Random
from typing import NamedTuple, Protocol, TypeVar

from ottla.sim.disk import SimDisk
from ottla.sim.inodes import CrashMode
from ottla.sim.network import SimNetwork
from ottla.sim.trace import FaultLedger
from ottla.sim.world import NS_PER_MS, NS_PER_S, World

_T = TypeVar("_T")

RUN_NS = 10 * NS_PER_S
# What is left is for recovery, retries and the final read.
HEAL_NS = 8 * NS_PER_S
OPERATIONS_MIN = 150
FAULTS_MIN = 2
QUIET_RATE = 0.25
# How many times somebody looks whether the moment has come.
LOOKS_MAX = 1_000


class Machine(Protocol):
    """The host of one broker: what can befall it besides its disk and its network."""

    @property
    def is_running(self) -> bool: ...

    def start(self) -> None: ...

    def kill(self) -> None: ...

    def cut_power(self) -> None: ...

    def pause(self, duration_ns: int) -> None:
        """The process stands still (SIGSTOP); its kernel does not."""


@dataclass(slots=True)
class Shape:
    """What clients do and how the broker is configured; the workload reads it."""

    partitions: int
    producers: int
    idempotent_producers: int
    consumers: int
    acks: tuple[int, ...]
    in_flight_max: int
    records_per_batch_max: int
    value_bytes_max: int
    think_ns_max: int
    request_timeout_ms: int
    compression: str
    segment_bytes: int
    index_interval_bytes: int
    clock_drift_ppm: int


class Window(NamedTuple):
    start_ns: int
    end_ns: int
    packages: tuple[str, ...]


@dataclass(slots=True)
class Plan:
    shape: Shape
    windows: tuple[Window, ...]
    heal_ns: int = HEAL_NS
    crash_modes: tuple[CrashMode, ...] = tuple(CrashMode)
    # Always on, in every window: they disturb and break nothing.
    would_block: float = 0.0
    write_back: float = 0.0
    suspend: float = 0.0
    split: float = 0.0


def draw_plan(rng: Random, heal_ns: int = HEAL_NS) -> Plan:
    return Plan(
        shape=draw_shape(rng),
        windows=_draw_windows(rng, heal_ns),
        heal_ns=heal_ns,
        crash_modes=_some_of(tuple(CrashMode), rng),
        would_block=rng.choice((0.0, 0.01, 0.1)),
        write_back=rng.choice((0.0, 0.05, 0.3)),
        suspend=rng.choice((0.0, 0.05, 0.3)),
        split=rng.choice((0.0, 0.05, 0.3)),
    )


def draw_shape(rng: Random) -> Shape:
    producers = rng.randint(2, 5)
    return Shape(
        partitions=rng.randint(1, 6),
        producers=producers,
        idempotent_producers=rng.choice((0, producers // 2, producers)),
        consumers=rng.randint(1, 3),
        acks=rng.choice(((-1,), (-1,), (-1, 1), (-1, 1, 0))),
        in_flight_max=rng.choice((1, 2, 5)),
        records_per_batch_max=rng.choice((1, 5, 50)),
        value_bytes_max=rng.choice((40, 200, 4_000)),
        think_ns_max=rng.choice((5, 20, 60)) * NS_PER_MS,
        request_timeout_ms=rng.choice((300, 1_000, 2_000)),
        compression=rng.choice(("none", "none", "gzip", "lz4", "zstd")),
        segment_bytes=rng.choice((4_096, 16_384, 100_000, 1 << 30)),
        index_interval_bytes=rng.choice((0, 100, 4_096)),
        clock_drift_ppm=rng.choice((0, 0, -50_000, 50_000)),
    )


def _draw_windows(rng: Random, heal_ns: int) -> tuple[Window, ...]:
    packages = _some_of(tuple(PACKAGES), rng)
    windows: list[Window] = []
    start_ns = rng.randint(200 * NS_PER_MS, NS_PER_S)
    while start_ns < heal_ns - NS_PER_S:
        end_ns = min(start_ns + rng.randint(500 * NS_PER_MS, 3 * NS_PER_S), heal_ns)
        is_quiet = rng.random() < QUIET_RATE
        windows.append(Window(start_ns, end_ns, () if is_quiet else _some_of(packages, rng)))
        start_ns = end_ns
    certain = tuple(name for name in packages if name in CERTAIN) or CERTAIN
    # Whatever else strikes or not, these do: a run without faults proves nothing.
    for at in rng.sample(range(len(windows)), FAULTS_MIN):
        window = windows[at]
        if not any(name in CERTAIN for name in window.packages):
            windows[at] = window._replace(packages=(*window.packages, rng.choice(certain)))
    return tuple(windows)


def vacuous(operations: int, ledger: FaultLedger) -> list[str]:
    """Why a run proves nothing, though nothing was wrong in it (DESIGN §6)."""
    reasons = []
    if operations < OPERATIONS_MIN:
        reasons.append(f"{operations} operations, at least {OPERATIONS_MIN} are wanted")
    if ledger.fault_count < FAULTS_MIN:
        reasons.append(f"{ledger.fault_count} faults, at least {FAULTS_MIN} are wanted")
    return reasons


class Swarm:
    """Carries a plan out on one broker, its disk and the network between it and its clients."""

    def __init__(
        self,
        world: World,
        plan: Plan,
        machine: Machine,
        disk: SimDisk,
        network: SimNetwork,
        host: str,
    ) -> None:
        self.world = world
        self.machine = machine
        self.disk = disk
        self.network = network
        self.host = host
        self.rng = world.rng("swarm")
        self.has_healed = False
        self._plan = plan
        self._down_until_ns: int | None = None
        self._undo: list[Callable[[], None]] = []
        self._errors_at_start = 0

    def start(self) -> None:
        faults = self.disk.faults
        faults.crash_modes = self._plan.crash_modes
        faults.would_block = self._plan.would_block
        faults.write_back = self._plan.write_back
        faults.suspend = self._plan.suspend
        self.network.faults.split = self._plan.split
        self.network.faults.reset_on_heal = 0.5
        for window in self._plan.windows:
            self._at(window.start_ns, f"window {window.packages}", self._begin, window)
        self.world.schedule(self._plan.heal_ns - self.world.now_ns, "heal", self.heal)
        self._watch()

    def heal(self) -> None:
        """No fault from here on; what is down comes up, and what was poisoned starts anew."""
        self._end_window()
        self.has_healed = True
        self.disk.cut_after(None)
        self.network.faults.split = 0.0
        self.network.heal_all()
        self.restart_if_poisoned()
        self._revive()

    # For the packages

    def restart_if_poisoned(self) -> None:
        """After an error of the device the log directory is offline until the next start.

        Some operators turn the whole machine off and on, and what a failed sync lost is gone.
        """
        if not self.machine.is_running or not self.is_poisoned:
            return
        self.world.note("operator restarts")
        if self.rng.random() < 0.5:
            self.machine.kill()
        else:
            self.machine.cut_power()

    def strike(self, name: str, action: Callable[[], None], at_ns: int) -> None:
        """Do it to a running process: wait for one if there is none, but not beyond the heal."""

        def attempt() -> None:
            if self.has_healed:
                return
            if self.machine.is_running:
                self.world.fault(name)
                action()
            else:
                self.world.schedule(50 * NS_PER_MS, f"{name} waits", attempt)

        self.world.schedule(max(at_ns - self.world.now_ns, 0), name, attempt)

    def strike_when(
        self,
        is_moment: Callable[[], bool],
        every_ns: int,
        name: str,
        action: Callable[[], None],
        at_ns: int,
    ) -> None:
        """Most power cuts find the disk at rest. This looks out for a bad moment, so often."""
        self.strike(name, partial(self._strike_when, is_moment, every_ns, action, LOOKS_MAX), at_ns)

    def _strike_when(
        self,
        is_moment: Callable[[], bool],
        every_ns: int,
        action: Callable[[], None],
        looks: int,
    ) -> None:
        if not self.machine.is_running or self.has_healed:
            return
        if is_moment() or looks == 0:
            action()
            return
        again = partial(self._strike_when, is_moment, every_ns, action, looks - 1)
        self.world.schedule(every_ns, "power waits", again)

    @property
    def is_poisoned(self) -> bool:
        """An error of the device since the last start."""
        return self._disk_errors() > self._errors_at_start

    def at_end(self, undo: Callable[[], None]) -> None:
        """When the window ends."""
        self._undo.append(undo)

    def clients(self) -> list[str]:
        """Hosts that are connected now."""
        return list(dict.fromkeys(end.remote for end in self.network.ends(self.host)))

    # Within

    def _at(self, at_ns: int, label: str, action: Callable[[Window], None], window: Window) -> None:
        delay_ns = max(at_ns - self.world.now_ns, 0)
        self.world.schedule(delay_ns, label, lambda: action(window))

    def _begin(self, window: Window) -> None:
        self._end_window()
        for name in window.packages:
            PACKAGES[name](self, window)

    def _end_window(self) -> None:
        undo, self._undo = self._undo, []
        for action in undo:
            action()

    def _disk_errors(self) -> int:
        faults = self.world.ledger.faults
        return sum(count for name, count in faults.items() if name.endswith("_EIO"))

    def _watch(self) -> None:
        """An operator: whatever ended the process, it is started again after a while."""
        now_ns = self.world.now_ns
        if self.machine.is_running:
            self._down_until_ns = None
        elif self._down_until_ns is None:
            self._down_until_ns = now_ns + self.rng.randint(0, 1_500 * NS_PER_MS)
        if self._down_until_ns is not None and (now_ns >= self._down_until_ns or self.has_healed):
            self._revive()
        self.world.schedule(50 * NS_PER_MS, "operator", self._watch)

    def _revive(self) -> None:
        if self.machine.is_running:
            return
        self._down_until_ns = None
        self._errors_at_start = self._disk_errors()
        if not self.has_healed and self.rng.random() < 0.2:
            # It may die again in the middle of its recovery.
            self.disk.cut_after(self.rng.randint(1, 100))
        self.machine.start()


# A package begins a kind of fault; what it turns on it turns off at the end of the window.


def _moment(swarm: Swarm, window: Window) -> int:
    return swarm.rng.randint(window.start_ns, window.end_ns)


def _kill(swarm: Swarm, window: Window) -> None:
    swarm.strike("kill", swarm.machine.kill, _moment(swarm, window))


def _cut_power(swarm: Swarm, window: Window) -> None:
    swarm.strike("power_cut", swarm.machine.cut_power, _moment(swarm, window))


def _die_in_call(swarm: Swarm, window: Window) -> None:
    """Between the append to the log and the one to its index, or anywhere else."""
    calls = swarm.rng.randint(1, 200)
    swarm.strike("die_in_call", lambda: swarm.disk.cut_after(calls), _moment(swarm, window))


def _pause(swarm: Swarm, window: Window) -> None:
    duration_ns = swarm.rng.randint(10 * NS_PER_MS, NS_PER_S)
    swarm.strike("pause", lambda: swarm.machine.pause(duration_ns), _moment(swarm, window))


def _cut(swarm: Swarm, window: Window) -> None:
    for client in swarm.clients():
        if swarm.rng.random() < 0.5:
            ways = [(client, swarm.host), (swarm.host, client)]
            source, target = swarm.rng.choice(ways)
            one_way = swarm.rng.random() < 0.5
            swarm.world.fault("network.cut", f"{source} {target}")
            swarm.network.cut(source, target, one_way=one_way)
            swarm.at_end(_healing(swarm, source, target, one_way))


def _healing(swarm: Swarm, source: str, target: str, one_way: bool) -> Callable[[], None]:
    return lambda: swarm.network.heal(source, target, one_way=one_way)


def _clog(swarm: Swarm, window: Window) -> None:
    for client in swarm.clients():
        ways = [(client, swarm.host), (swarm.host, client)]
        for source, target in ways:
            if swarm.rng.random() < 0.3:
                duration_ns = swarm.rng.randint(0, window.end_ns - window.start_ns)
                swarm.world.ledger.disturb("network.clog")
                swarm.network.clog(source, target, duration_ns)


def _reset(swarm: Swarm, window: Window) -> None:
    faults = swarm.network.faults
    faults.reset = swarm.rng.choice((0.005, 0.03, 0.1))
    faults.half_open = swarm.rng.choice((0.0, 0.3))
    faults.refuse = swarm.rng.choice((0.0, 0.2))

    def undo() -> None:
        faults.reset = faults.half_open = faults.refuse = 0.0

    swarm.at_end(undo)


def _slow_network(swarm: Swarm, window: Window) -> None:
    faults = swarm.network.faults
    faults.slow = swarm.rng.choice((0.02, 0.2))
    faults.window_bytes = swarm.rng.choice((1_000, 20_000, 262_144))

    def undo() -> None:
        faults.slow = 0.0
        faults.window_bytes = 262_144

    swarm.at_end(undo)


def _slow_reader(swarm: Swarm, window: Window) -> None:
    for end in swarm.network.ends(swarm.host):
        reader = end.peer if swarm.rng.random() < 0.7 else end
        if reader is not None and swarm.rng.random() < 0.5:
            swarm.world.ledger.disturb("network.stall")
            reader.stall(swarm.rng.randint(0, window.end_ns - window.start_ns))


def _slow_disk(swarm: Swarm, window: Window) -> None:
    faults = swarm.disk.faults
    faults.slow_job = swarm.rng.choice((0.05, 0.5))

    def undo() -> None:
        faults.slow_job = 0.0

    swarm.at_end(undo)


def _full_disk(swarm: Swarm, window: Window) -> None:
    swarm.disk.fill(swarm.rng.choice((0, 1, 5, 30)))
    swarm.at_end(swarm.disk.free_space)


def _broken_disk(swarm: Swarm, window: Window) -> None:
    """One kind of error; the log directory goes offline, and the operator restarts the broker."""
    faults = swarm.disk.faults
    rate = swarm.rng.choice((0.005, 0.03, 0.2))
    kind = swarm.rng.choice(("sync", "sync", "write", "read"))
    if swarm.rng.random() < 0.5:
        # A device that begins to fail often takes the machine with it, after an answer or two.
        swarm.strike_when(
            lambda: swarm.is_poisoned and swarm.rng.random() < 0.3,
            NS_PER_MS,
            "failing_power_cut",
            swarm.machine.cut_power,
            window.start_ns,
        )
    if kind == "sync":
        faults.sync_error = rate
    elif kind == "write":
        faults.write_error = rate
    else:
        faults.read_error = rate

    def undo() -> None:
        faults.sync_error = faults.write_error = faults.read_error = 0.0
        swarm.restart_if_poisoned()

    swarm.at_end(undo)


def _clock_jump(swarm: Swarm, window: Window) -> None:
    by_ms = swarm.rng.choice((-300_000, -1_000, -11, 11, 1_000, 300_000))
    swarm.world.fault("clock_jump", str(by_ms))
    swarm.world.clock.jump_wall(by_ms)


Package = Callable[[Swarm, Window], None]

PACKAGES: dict[str, Package] = {
    "kill": _kill,
    "power_cut": _cut_power,
    "die_in_call": _die_in_call,
    "pause": _pause,
    "cut": _cut,
    "clog": _clog,
    "reset": _reset,
    "slow_network": _slow_network,
    "slow_reader": _slow_reader,
    "slow_disk": _slow_disk,
    "full_disk": _full_disk,
    "broken_disk": _broken_disk,
    "clock_jump": _clock_jump,
}

# These strike whenever their window comes.
CERTAIN = ("kill", "power_cut", "die_in_call", "pause")


def _some_of(choices: tuple[_T, ...], rng: Random) -> tuple[_T, ...]:
    return tuple(choice for choice in choices if rng.random() < 0.4) or (rng.choice(choices),)
