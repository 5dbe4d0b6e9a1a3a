"""The threads of a shell, as events: jobs that start late, overlap, and answer out of order."""

from collections.abc import Callable
from typing import Any

from ottla.errors import DiskError
from ottla.sim.disk import PowerCut, Running, SimDisk
from ottla.sim.world import World
from ottla.storage.disk import Disk

# A thread that dies with its process has made at most so many calls more.
DYING_CALLS_MAX = 8

Work = Callable[[Disk], Any]
OnDone = Callable[[Any], None]


class _Flight:
    """A job between its submission and the delivery of its result."""

    __slots__ = ("has_run", "name", "on_done", "running", "work")

    def __init__(self, name: str, work: Work, on_done: OnDone) -> None:
        self.name = name
        self.work = work
        self.on_done = on_done
        self.running: Running | None = None
        self.has_run = False


class JobRunner:
    """Of one process. A job is three events: begun, run (as of its end), answered.

    A flush round is a job like any other: what is appended between its beginning and its run may
    miss it.
    """

    def __init__(self, world: World, disk: SimDisk, on_cut: Callable[[], None]) -> None:
        self._world = world
        self._disk = disk
        self._on_cut = on_cut
        self._rng = world.rng(f"{disk.name}.jobs")
        self._flights: dict[_Flight, None] = {}

    @property
    def in_flight(self) -> int:
        return len(self._flights)

    def submit(self, name: str, work: Work, on_done: OnDone) -> None:
        """`on_done` gets what `work` returned, or the DiskError that it raised."""
        flight = _Flight(name, work, on_done)
        self._flights[flight] = None
        self._later(flight, "begin", self._begin)

    def die(self) -> None:
        """The process ends, wherever its threads are: each did some part of its job, or all.

        To be called before `SimDisk.kill` or `SimDisk.crash`.
        """
        flights, self._flights = self._flights, {}
        for flight in flights:
            # A thread that sleeps inside a call finds the process gone when it wakes.
            if flight.running is None or flight.has_run or self._rng.random() < 0.5:
                continue
            flight.running.is_suspendable = False
            calls = self._rng.randint(0, DYING_CALLS_MAX)
            try:
                self._disk.run(flight.running, flight.work, calls_max=calls)
            except (PowerCut, DiskError):
                continue

    def _later(self, flight: _Flight, what: str, then: Callable[[_Flight], None]) -> None:
        faults = self._disk.faults
        delay_ns = self._rng.randint(0, faults.job_ns_max)
        if faults.slow_job and self._rng.random() < faults.slow_job:
            delay_ns += self._rng.randint(0, faults.slow_job_ns_max)
            self._world.ledger.disturb(f"{self._disk.name}.slow_job")

        def event() -> None:
            if flight in self._flights:
                then(flight)

        self._world.schedule(delay_ns, f"{self._disk.name} {what} {flight.name}", event)

    def _begin(self, flight: _Flight) -> None:
        flight.running = self._disk.begin()
        self._later(flight, "run", self._run)

    def _run(self, flight: _Flight) -> None:
        assert flight.running is not None
        flight.has_run = True
        result: Any
        try:
            result = self._disk.run(flight.running, flight.work)
        except DiskError as error:
            result = error
        except PowerCut:
            # Of a process that died while this thread slept, everybody has been told.
            if flight in self._flights:
                self._on_cut()
            return

        def answer(_: _Flight) -> None:
            del self._flights[flight]
            flight.on_done(result)

        if flight in self._flights:
            self._later(flight, "answer", answer)
