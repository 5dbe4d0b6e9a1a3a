"""Deadlines, and requests that wait for their turn to run again."""

import random
from functools import partial
from typing import TypeVar

from ottla.api.table import route_of
from ottla.broker.parked import TIMERS_SWEPT_MIN, Parked, Stir, Timer, Timers, Woken
from ottla.broker.pipeline import Call, Connection
from ottla.names import ConnId, Now
from tests.unit.broker.harness import KEY_OF

T = TypeVar("T")


def at(mono_ms: int) -> Now:
    return Now(mono_ms, 0)


def note(ran: list[T], name: T, now: Now) -> None:
    ran.append(name)


def parked() -> Parked:
    connection = Connection(ConnId(1), "peer")
    call = Call(connection, route_of(KEY_OF["Metadata"], 9), 9, 1, at(0))
    return Parked(call, lambda parked, now: None)


def test_what_is_due_runs_in_the_order_of_deadlines_and_then_of_adding() -> None:
    timers = Timers(Stir())
    ran: list[str] = []
    for name, deadline_ms in (("c", 30), ("a", 10), ("b", 20), ("a2", 10)):
        timers.add(deadline_ms, partial(note, ran, name))
    assert timers.next_deadline_ms() == 10
    timers.run_due(at(9))
    assert ran == []
    timers.run_due(at(20))
    assert ran == ["a", "a2", "b"]
    assert timers.next_deadline_ms() == 30
    timers.run_due(at(100))
    assert timers.next_deadline_ms() is None


def test_a_cancelled_timer_does_not_run_and_is_no_deadline() -> None:
    timers, ran = Timers(Stir()), []
    first = timers.add(10, lambda now: ran.append(1))
    timers.add(20, lambda now: ran.append(2))
    timers.cancel(first)
    timers.cancel(first)
    assert timers.next_deadline_ms() == 20
    timers.run_due(at(100))
    assert ran == [2]


def test_an_action_may_add_and_cancel_timers() -> None:
    timers, ran = Timers(Stir()), []
    later = timers.add(20, lambda now: ran.append("cancelled"))

    def act(now: Now) -> None:
        ran.append("first")
        timers.cancel(later)
        timers.add(15, lambda now: ran.append("added and due"))
        timers.add(500, lambda now: ran.append("added for later"))

    timers.add(10, act)
    timers.run_due(at(100))
    assert ran == ["first", "added and due"]
    assert timers.next_deadline_ms() == 500


def test_cancelled_timers_take_no_more_room_than_the_others() -> None:
    timers = Timers(Stir())
    kept = [timers.add(1_000_000 + n, lambda now: None) for n in range(10)]
    for n in range(50_000):
        timers.cancel(timers.add(2_000_000 + n, lambda now: None))
        assert len(timers._heap) <= 2 * (len(kept) + TIMERS_SWEPT_MIN) + 1
    assert timers.next_deadline_ms() == 1_000_000


def test_timers_agree_with_a_plain_list_whatever_is_done_to_them() -> None:
    source = random.Random(7)
    timers, now_ms = Timers(Stir()), 0
    ran: list[int] = []
    model: dict[Timer, tuple[int, int]] = {}
    for number in range(3000):
        kind = source.random()
        if kind < 0.5:
            deadline_ms = now_ms + source.randrange(100)
            timer = timers.add(deadline_ms, partial(note, ran, number))
            model[timer] = (deadline_ms, number)
        elif kind < 0.8 and model:
            timer = source.choice(list(model))
            del model[timer]
            timers.cancel(timer)
        else:
            now_ms += source.randrange(40)
            due = sorted(entry for entry in model.values() if entry[0] <= now_ms)
            model = {t: entry for t, entry in model.items() if entry[0] > now_ms}
            ran.clear()
            timers.run_due(at(now_ms))
            assert ran == [number for _, number in due]
        expected = min((entry[0] for entry in model.values()), default=None)
        assert timers.next_deadline_ms() == expected


def test_a_request_is_woken_once_however_often_and_never_when_it_is_done() -> None:
    woken, one, other = Woken(Stir()), parked(), parked()
    waiting: dict[Parked, None] = {}
    one.wait_in(waiting)
    other.wait_in(waiting)
    other.is_done = True
    woken.wake(one)
    woken.wake_all(waiting)
    assert list(woken.queue) == [one]
    assert not waiting


def test_who_stops_waiting_waits_nowhere() -> None:
    places: list[dict[Parked, None]] = [{}, {}, {}]
    one, other = parked(), parked()
    for place in places:
        one.wait_in(place)
        other.wait_in(place)
    one.stop_waiting()
    assert places == [{other: None}] * 3
    assert one.watched == []


def test_running_again_begins_with_waiting_nowhere() -> None:
    place: dict[Parked, None] = {}
    one = parked()
    for _ in range(100):
        one.wait_in(place)
        assert one.run(at(0)) is None
    assert not place
    assert one.watched == []


def test_once_its_time_is_up_it_runs_the_other_way() -> None:
    woken, one = Woken(Stir()), parked()
    one.retry = lambda parked, now: "retried"
    one.expire = lambda now: "expired"
    assert one.run(at(0)) == "retried"
    woken.expire(one)
    assert list(woken.queue) == [one]
    assert one.run(at(0)) == "expired"
    one.expire = None
    assert one.run(at(0)) == "retried", "who has no other way is told by its flag"
