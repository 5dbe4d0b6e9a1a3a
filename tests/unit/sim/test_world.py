"""Covers: ottla.sim.trace."""

import pytest

from ottla.names import Now
from ottla.sim.trace import RECENT_EVENTS_MAX, Trace
from ottla.sim.world import NS_PER_MS, NS_PER_S, WALL_EPOCH_MS, Clock, World


def test_events_run_in_order_of_time_and_ties_in_order_of_scheduling() -> None:
    world = World(1)
    ran: list[str] = []
    world.schedule(20, "late", lambda: ran.append("late"))
    world.schedule(10, "first", lambda: ran.append("first"))
    world.schedule(10, "second", lambda: ran.append("second"))

    world.run_until(100)

    assert ran == ["first", "second", "late"]
    assert world.now_ns == 100


def test_a_cancelled_event_never_runs() -> None:
    world = World(1)
    ran: list[str] = []
    timer = world.schedule(10, "cancelled", lambda: ran.append("cancelled"))

    world.cancel(timer)
    world.run_until(100)

    assert (ran, timer.pending, world.trace.count) == ([], False, 0)


def test_run_until_leaves_later_events_for_later() -> None:
    world = World(1)
    ran: list[int] = []
    world.schedule(10, "a", lambda: ran.append(world.now_ns))
    world.schedule(11, "b", lambda: ran.append(world.now_ns))

    world.run_until(10)

    assert ran == [10]
    assert world.next_event_ns() == 11


def test_run_while_says_whether_the_condition_ended_in_time() -> None:
    world = World(1)
    ran: list[int] = []
    for at_ns in (10, 20, 30):
        world.schedule(at_ns, "event", lambda: ran.append(world.now_ns))

    assert world.run_while(lambda: len(ran) < 2, limit_ns=25)
    assert not world.run_while(lambda: len(ran) < 3, limit_ns=5)
    assert ran == [10, 20]


def test_time_that_passes_beneath_an_event_never_outruns_the_run_around_it() -> None:
    world = World(1)
    ran: list[str] = []

    def sleep() -> None:
        world.run_for(50)
        ran.append("woke")

    world.schedule(10, "sleeper", sleep)
    world.schedule(20, "beneath", lambda: ran.append("beneath"))
    world.schedule(40, "beyond", lambda: ran.append("beyond"))

    world.run_until(30)

    assert ran == ["beneath", "woke"]
    assert world.now_ns == 30


def test_invariants_are_checked_after_every_event() -> None:
    world = World(1)
    counts: list[int] = []
    world.invariants.append(lambda: counts.append(world.now_ns))
    world.schedule(1, "a", lambda: None)
    world.schedule(2, "b", lambda: None)

    world.run_until(5)

    assert counts == [1, 2]


def test_a_stream_depends_on_the_seed_and_its_name_alone() -> None:
    draws = World(7).rng("disk").random()

    world = World(7)
    world.rng("network").random()

    assert world.rng("disk").random() == draws
    assert world.rng("network") is world.rng("network")
    assert World(8).rng("disk").random() != draws


def test_the_hash_covers_the_time_the_words_and_the_bytes() -> None:
    def digest(at_ns: int, what: str, data: bytes) -> str:
        trace = Trace()
        trace.add(at_ns, what, data)
        return trace.digest()

    known = digest(1, "a", b"x")
    others = [digest(2, "a", b"x"), digest(1, "b", b"x"), digest(1, "a", b"")]

    assert digest(1, "a", b"x") == known
    assert known not in others


def test_a_trace_keeps_its_last_events_as_lines_and_echoes_each() -> None:
    lines: list[str] = []
    trace = Trace(lines.append)
    for at in range(RECENT_EVENTS_MAX + 5):
        trace.add(at * NS_PER_MS, f"event {at}")

    assert trace.recent() == lines[5:]
    assert lines[3] == "000.003000 event 3"


def test_faults_are_counted_apart_from_disturbances() -> None:
    world = World(1)
    world.fault("disk.sync_EIO", "a.log")
    world.ledger.disturb("disk.would_block")

    assert world.ledger.faults == {"disk.sync_EIO": 1}
    assert world.ledger.disturbances == {"disk.would_block": 1}
    assert world.ledger.fault_count == 1


def test_a_clock_shows_virtual_time() -> None:
    world = World(1)
    world.run_until(1_500 * NS_PER_MS)

    assert world.now() == Now(1_500, WALL_EPOCH_MS + 1_500)


def test_a_jump_moves_wall_time_and_never_monotonic_time() -> None:
    world = World(1)
    world.clock.jump_wall(-300_000)

    assert world.now() == Now(0, WALL_EPOCH_MS - 300_000)


def test_a_reboot_restarts_monotonic_time_and_keeps_wall_time() -> None:
    world = World(1)
    world.run_until(2 * NS_PER_S)
    world.clock.reboot()
    world.run_until(3 * NS_PER_S)

    assert world.now() == Now(1_000, WALL_EPOCH_MS + 3_000)


@pytest.mark.parametrize("drift_ppm", [-50_000, -333, 0, 1, 333, 50_000])
def test_a_deadline_is_reached_exactly_when_the_clock_shows_it(drift_ppm: int) -> None:
    world = World(1)
    world.run_until(1_234_567)
    clock = Clock(world, drift_ppm)
    world.run_until(7_654_321)
    clock.set_drift(drift_ppm + 7)

    delay_ns = clock.delay_ns(1_000)
    world.run_for(delay_ns - 2)
    before_ms = clock.now().mono_ms
    world.run_for(2)

    assert (before_ms, clock.now().mono_ms) == (999, 1_000)
    assert clock.delay_ns(1_000) == 0
