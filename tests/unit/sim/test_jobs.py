from collections.abc import Callable

import pytest

from ottla.errors import DiskError
from ottla.sim.disk import SimDisk
from ottla.sim.inodes import CrashMode
from ottla.sim.jobs import JobRunner
from ottla.sim.world import NS_PER_S, World
from ottla.storage.disk import Disk, DiskFile


class Machine:
    """One process on one disk, and what its jobs answered."""

    def __init__(self, seed: int = 1) -> None:
        self.world = World(seed)
        self.disk = SimDisk(self.world)
        self.answers: list[object] = []
        self.cuts = 0
        self.jobs = JobRunner(self.world, self.disk, self.on_cut)

    def on_cut(self) -> None:
        self.cuts += 1
        self.jobs.die()
        self.disk.kill()

    def open(self, path: str) -> DiskFile:
        def work(disk: Disk) -> DiskFile:
            file = disk.open(path, create=True)
            disk.sync_dir("")
            return file

        return self.disk.run(self.disk.begin_boot(), work)

    def submit(self, work: Callable[[Disk], object], name: str = "job") -> None:
        self.jobs.submit(name, work, self.answers.append)

    def run(self) -> None:
        self.world.run_for(10 * NS_PER_S)


def raise_disk_error(disk: Disk) -> None:
    raise DiskError(5, "no luck")


def syncing(file: DiskFile) -> Callable[[Disk], None]:
    return lambda disk: disk.sync(file)


def test_a_job_answers_with_its_result_or_its_error_and_not_at_once() -> None:
    machine = Machine()
    machine.submit(lambda disk: disk.list(""))
    machine.submit(raise_disk_error)
    at_once = list(machine.answers)

    machine.run()

    machine.answers.sort(key=str)
    names, error = machine.answers
    assert (at_once, names, machine.jobs.in_flight) == ([], [], 0)
    assert isinstance(error, DiskError)


def test_jobs_overlap_and_answer_out_of_order() -> None:
    orders: dict[tuple[object, ...], None] = {}
    for seed in range(20):
        machine = Machine(seed)
        machine.submit(lambda disk: "first")
        machine.submit(lambda disk: "second")
        machine.run()
        orders[tuple(machine.answers)] = None

    assert sorted(orders) == [("first", "second"), ("second", "first")]


def test_a_sync_covers_what_was_there_when_its_job_began_and_maybe_more() -> None:
    survivors: dict[bytes, None] = {}
    for seed in range(100):
        machine = Machine(seed)
        machine.disk.faults.crash_modes = (CrashMode.LOST,)
        file = machine.open("a")
        machine.disk.append(file, 0, (b"before",))
        running = machine.disk.begin()
        machine.disk.append(file, 6, (b", during",))

        machine.disk.run(running, syncing(file))
        machine.disk.crash()

        survivors[machine.disk.contents("a")] = None

    assert b"before" in survivors
    assert b"before, during" in survivors
    assert all(survivor.startswith(b"before") for survivor in survivors)


def test_an_older_sync_that_ends_late_takes_nothing_back_from_a_newer_one() -> None:
    for seed in range(100):
        machine = Machine(seed)
        machine.disk.faults.crash_modes = (CrashMode.LOST,)
        file = machine.open("a")
        machine.disk.append(file, 0, (b"one",))
        older = machine.disk.begin()
        machine.disk.append(file, 3, (b" two",))
        machine.disk.run(machine.disk.begin(), syncing(file))
        machine.disk.append(file, 7, (b" three",))

        machine.disk.run(older, syncing(file))
        machine.disk.crash()

        assert machine.disk.contents("a").startswith(b"one two")


def test_a_sync_covers_what_its_own_job_wrote() -> None:
    def replace(disk: Disk) -> None:
        file = disk.open("a.tmp", create=True)
        disk.append(file, 0, (b"whole",))
        disk.sync(file)
        disk.close(file)
        disk.rename("a.tmp", "a")
        disk.sync_dir("")

    for seed in range(50):
        machine = Machine(seed)
        machine.submit(replace)
        machine.run()

        machine.disk.crash()

        assert machine.disk.paths() == ["a"]
        assert machine.disk.contents("a") == b"whole"


def test_a_directory_sync_may_miss_names_that_others_made_since_its_job_began() -> None:
    survivors: dict[tuple[str, ...], None] = {}
    for seed in range(100):
        machine = Machine(seed)
        running = machine.disk.begin()
        machine.disk.run(machine.disk.begin(), lambda disk: disk.open("late", create=True))

        machine.disk.run(running, lambda disk: disk.sync_dir(""))
        machine.disk.crash()

        survivors[tuple(machine.disk.paths())] = None

    assert sorted(survivors) == [(), ("late",)]


def test_others_may_run_between_two_calls_of_a_job() -> None:
    machine = Machine()
    machine.disk.faults.suspend = 1.0
    file = machine.open("a")
    sizes: list[int] = []

    def watch(disk: Disk) -> None:
        sizes.extend(disk.size(file) for _ in range(50))

    def append() -> None:
        assert not machine.disk.in_job
        machine.disk.append(file, len(machine.disk.contents("a")), (b"x",))

    machine.submit(watch)
    for at in range(100):
        machine.world.schedule(at * 500_000, "append", append)
    machine.run()

    assert len(dict.fromkeys(sizes)) > 10
    assert sizes == sorted(sizes)


def test_a_job_that_sleeps_while_its_process_dies_makes_no_further_call() -> None:
    machine = Machine()
    machine.disk.faults.suspend = 1.0
    machine.disk.faults.suspend_ns_max = NS_PER_S
    file = machine.open("a")

    def write_on(disk: Disk) -> None:
        for at in range(100):
            disk.size(file)
            disk.append(file, at, (b"x",))

    def die() -> None:
        machine.jobs.die()
        machine.disk.kill()
        sizes.append(len(machine.disk.contents("a")))

    sizes: list[int] = []
    machine.submit(write_on)
    machine.world.schedule(5 * NS_PER_S, "kill", die)
    machine.run()

    assert 0 < sizes[0] < 100
    assert len(machine.disk.contents("a")) == sizes[0]
    assert (machine.answers, machine.cuts) == ([], 0)


def test_a_process_dies_with_its_jobs_done_half_wholly_or_not_at_all() -> None:
    found: dict[tuple[str, ...], None] = {}

    def work(disk: Disk) -> None:
        for name in "abc":
            disk.open(name, create=True)

    for seed in range(60):
        machine = Machine(seed)
        machine.disk.faults.job_ns_max = 1_000
        machine.submit(work)
        machine.world.run_for(1_000)
        machine.jobs.die()
        machine.disk.kill()
        machine.run()
        found[tuple(machine.disk.paths())] = None

    assert sorted(found) == [(), ("a",), ("a", "b"), ("a", "b", "c")]


@pytest.mark.parametrize("seed", range(10))
def test_a_job_that_has_run_is_not_run_again_by_the_death_of_its_process(seed: int) -> None:
    machine = Machine(seed)
    runs: list[int] = []
    machine.submit(lambda disk: runs.append(1))
    machine.world.run_while(lambda: not runs, NS_PER_S)

    machine.jobs.die()
    machine.run()

    assert (runs, machine.answers) == ([1], [])


def test_power_that_fails_inside_a_job_is_told_once() -> None:
    machine = Machine()
    machine.disk.cut_after(2)

    machine.submit(lambda disk: [disk.exists("a") for _ in range(5)])
    machine.run()

    assert (machine.cuts, machine.answers, machine.jobs.in_flight) == (1, [], 0)
