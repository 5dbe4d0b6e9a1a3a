import os
import random
import subprocess
import sys
from itertools import pairwise
from pathlib import Path

import pytest

from ottla.sim.checkers import check
from ottla.sim.disk import DiskFaults
from ottla.sim.history import History
from ottla.sim.inodes import CrashMode
from ottla.sim.swarm import (
    CERTAIN,
    FAULTS_MIN,
    HEAL_NS,
    PACKAGES,
    Plan,
    Swarm,
    Window,
    draw_plan,
    draw_shape,
    vacuous,
)
from ottla.sim.trace import FaultLedger
from ottla.sim.world import NS_PER_S, World
from tests.unit.sim import toy

PLANS = [draw_plan(random.Random(seed)) for seed in range(300)]
WINDOWS = [window for plan in PLANS for window in plan.windows]


def test_a_seed_draws_the_same_plan_again() -> None:
    assert draw_plan(random.Random(5)) == PLANS[5]


def test_windows_follow_each_other_and_end_before_the_heal() -> None:
    assert all(
        one.end_ns == other.start_ns for plan in PLANS for one, other in pairwise(plan.windows)
    )
    assert max(window.end_ns for window in WINDOWS) <= HEAL_NS


def test_about_a_quarter_of_the_windows_is_quiet() -> None:
    quiet = sum(not window.packages for window in WINDOWS)

    assert 0.1 < quiet / len(WINDOWS) < 0.3


def test_every_plan_has_faults_that_are_certain_to_strike() -> None:
    certain = [
        sum(any(name in CERTAIN for name in window.packages) for window in plan.windows)
        for plan in PLANS
    ]

    assert min(certain) >= FAULTS_MIN


def test_every_package_and_every_crash_mode_is_drawn() -> None:
    packages = dict.fromkeys(name for window in WINDOWS for name in window.packages)
    modes = dict.fromkeys(mode for plan in PLANS for mode in plan.crash_modes)

    assert sorted(packages) == sorted(PACKAGES)
    assert len(modes) == len(CrashMode)


def test_a_run_without_enough_operations_or_faults_proves_nothing() -> None:
    ledger = FaultLedger()
    ledger.fault("kill")

    assert len(vacuous(149, ledger)) == 2
    ledger.fault("kill")
    assert vacuous(150, ledger) == []


@pytest.mark.parametrize("name", PACKAGES)
def test_a_package_strikes_and_leaves_nothing_on(name: str) -> None:
    world = World(1)
    machine = toy.Machine(world, answers_early=False)
    machine.start()
    window = Window(NS_PER_S // 2, 3 * NS_PER_S, (name,))
    plan = Plan(draw_shape(random.Random(1)), (window,))
    swarm = Swarm(world, plan, machine, machine.disk, machine.network, "node")
    swarm.start()
    for number in range(1, 6):
        toy.Client(machine, History(), number)

    world.run_until(HEAL_NS + NS_PER_S)

    default = DiskFaults()
    struck = {**world.ledger.faults, **world.ledger.disturbances}
    assert struck
    assert machine.is_running
    assert swarm.has_healed
    assert machine.disk.capacity_pages is None
    assert machine.disk.faults == default
    assert not machine.network.faults.reset
    assert not machine.network.is_cut("client-1", "node")


def test_a_broker_that_keeps_its_promise_passes_under_every_fault() -> None:
    anomalies = [
        anomaly for seed in range(6) for anomaly in check(toy.run(seed)[1]) if anomaly.is_forbidden
    ]

    assert anomalies == []


def test_a_broker_that_answers_before_its_sync_is_found() -> None:
    found = [
        any(anomaly.is_forbidden for anomaly in check(toy.run(seed, answers_early=True)[1]))
        for seed in range(3)
    ]

    assert any(found)


def test_the_same_seed_gives_the_same_trace_under_any_hash_seed() -> None:
    root = Path(toy.__file__).parents[3]
    digests = [
        subprocess.run(
            [sys.executable, "-m", "tests.unit.sim.toy", "42"],
            cwd=root,
            env={**os.environ, "PYTHONHASHSEED": hash_seed},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for hash_seed in ("1", "2")
    ]

    assert digests[0] == digests[1]
    assert len(digests[0].strip()) == 64
