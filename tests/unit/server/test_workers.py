"""Threads for what may block: answers come back through the loop, whatever happened."""

import asyncio
import threading
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

from ottla.broker.effects import DiskOp, FlushTicket
from ottla.errors import DiskError
from ottla.server.disk import OsDisk
from ottla.server.workers import Workers
from ottla.storage.disk import Disk, JobId


class Job:
    def __init__(self, work: Callable[[Disk], Any]) -> None:
        self.run = work


class Bench:
    """Workers, and what they answered."""

    def __init__(self, disk: OsDisk) -> None:
        self.loop = asyncio.get_running_loop()
        self.answers: list[tuple[Any, Any]] = []
        self.broken: list[BaseException] = []
        self.arrived = asyncio.Event()
        self.loop.set_exception_handler(self._on_unexpected)
        self.workers = Workers(disk, self.loop, self._note, self._note)

    def _note(self, what: Any, result: Any) -> None:
        assert threading.current_thread() is threading.main_thread()
        self.answers.append((what, result))
        self.arrived.set()

    def _on_unexpected(self, loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
        self.broken.append(context["exception"])
        self.arrived.set()

    async def until(self, count: int) -> None:
        while len(self.answers) + len(self.broken) < count:
            self.arrived.clear()
            await self.arrived.wait()


def on_bench(data: Path, test: Callable[[Bench], Any]) -> None:
    async def run() -> None:
        bench = Bench(OsDisk(data))
        try:
            await asyncio.wait_for(test(bench), 20)
        finally:
            bench.workers.stop()

    asyncio.run(run())


def fail(disk: Disk) -> None:
    raise DiskError(5, "the device answered EIO")


def break_something(disk: Disk) -> None:
    assert not "a broken invariant"


def test_a_job_answers_with_its_result_or_with_the_disks_error(tmp_path: Path) -> None:
    async def test(bench: Bench) -> None:
        good = DiskOp(JobId(1), Job(lambda disk: disk.list("")))
        bad = DiskOp(JobId(2), Job(fail))
        bench.workers.run(good)
        bench.workers.run(bad)
        await bench.until(2)
        results = dict(bench.answers)
        assert results[good] == []
        assert results[bad].errno == 5

    on_bench(tmp_path, test)


def test_what_a_job_may_not_raise_reaches_the_guard(tmp_path: Path) -> None:
    async def test(bench: Bench) -> None:
        bench.workers.run(DiskOp(JobId(1), Job(break_something)))
        await bench.until(1)
        assert isinstance(bench.broken[0], AssertionError)

    on_bench(tmp_path, test)


def test_a_slow_job_does_not_keep_another_waiting(tmp_path: Path) -> None:
    async def test(bench: Bench) -> None:
        gate = threading.Event()
        bench.workers.run(DiskOp(JobId(1), Job(lambda disk: gate.wait())))
        quick = DiskOp(JobId(2), Job(lambda disk: "quick"))
        bench.workers.run(quick)
        await bench.until(1)
        assert bench.answers == [(quick, "quick")]
        gate.set()
        await bench.until(2)

    on_bench(tmp_path, test)


def test_flush_rounds_keep_their_order(tmp_path: Path) -> None:
    async def test(bench: Bench) -> None:
        rounds = [FlushTicket([], None) for _ in range(20)]
        for ticket in rounds:
            bench.workers.flush(ticket)
        await bench.until(20)
        assert [ticket for ticket, _ in bench.answers] == rounds
        assert [error for _, error in bench.answers] == [None] * 20

    on_bench(tmp_path, test)


def test_stopping_waits_for_what_was_begun(tmp_path: Path) -> None:
    done: list[int] = []

    def note(at: int, disk: Disk) -> None:
        done.append(at)

    async def test(bench: Bench) -> None:
        for at in range(20):
            bench.workers.run(DiskOp(JobId(at), Job(partial(note, at))))

    on_bench(tmp_path, test)
    assert sorted(done) == list(range(20))


def test_what_comes_after_the_stop_is_not_begun_and_breaks_nothing(tmp_path: Path) -> None:
    ran: list[Disk] = []

    async def test(bench: Bench) -> None:
        bench.workers.stop()
        bench.workers.run(DiskOp(JobId(1), Job(ran.append)))
        bench.workers.flush(FlushTicket([], None))
        await asyncio.sleep(0)
        assert not bench.answers
        assert not bench.broken

    on_bench(tmp_path, test)
    assert not ran
