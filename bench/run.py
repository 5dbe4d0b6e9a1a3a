"""One run: every peer started, warmed in each row, measured in interleaved rounds, and stopped."""

import tempfile
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Protocol

from bench.build import BenchError
from bench.figures import Figure, Figures
from bench.meters import fdatasync_p50_us
from bench.peers import KAFKA_TOPIC_SETTINGS, Name, Peer, Topic, all_started
from bench.results import Cell, Results, RowResult
from bench.rows import COLD_PEERS, COLD_ROW, Row, cold, fill, reqload

TOLERANCE = 0.05
FLUSH_SAMPLES = 40


@dataclass(frozen=True, slots=True)
class Plan:
    """How long everything takes; the page prints it, because figures depend on it."""

    rounds: int
    round_s: float
    warm_s: float
    warm_rounds_max: int
    break_in_s: float  # a new Kafka compiles its hot code first
    idle_s: float
    cold_s: float

    def kept(self) -> dict[str, float]:
        return asdict(self)


FULL = Plan(
    rounds=3,
    round_s=3.0,
    warm_s=1.5,
    warm_rounds_max=8,
    break_in_s=15.0,
    idle_s=10.0,
    cold_s=3.0,
)
QUICK = Plan(
    rounds=2,
    round_s=0.45,
    warm_s=0.3,
    warm_rounds_max=3,
    break_in_s=9.0,
    idle_s=2.0,
    cold_s=0.5,
)


class Watch(Protocol):
    """Who is told how far the run is."""

    def begin(self, steps: int) -> None: ...
    def say(self, what: str) -> None: ...
    def step(self, what: str) -> None: ...


@dataclass(slots=True)
class Run:
    plan: Plan
    names: Sequence[Name]
    results: Results
    watch: Watch
    quick: bool

    def __call__(self, rows: Sequence[Row], with_cold: bool, folder: Path) -> None:
        rows = [row for row in rows if self._peers(row)]
        cold_names = [name for name in COLD_PEERS if name in self.names and with_cold]
        needed = [name for name in self.names if any(name in self._peers(row) for row in rows)]
        cells = sum(len(self._peers(row)) for row in rows)
        steps = len(cold_names) * self._cold_rounds + cells * (self.plan.rounds + 1)
        self.watch.begin(steps)
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=folder, prefix="data-") as scratch:
            self._cold(cold_names, Path(scratch))
            if needed:
                self.watch.say("starting " + ", ".join(needed))
                with all_started(needed, Path(scratch)) as peers:
                    self._break_in(peers)
                    for row in rows:
                        self._row(row, peers, Path(scratch))

    @property
    def _cold_rounds(self) -> int:
        return 1 if self.quick else self.plan.rounds

    def _peers(self, row: Row) -> list[Name]:
        wanted = row.quick if self.quick else row.peers
        return [name for name in self.names if name in wanted]

    def _cold(self, names: Sequence[Name], scratch: Path) -> None:
        if not names:
            return
        result = self.results.rows[COLD_ROW] = RowResult({name: Cell() for name in names})
        for turn in range(self._cold_rounds):
            for name in names:
                self.watch.step(f"cold process: {name}")
                folder = scratch / f"cold-{turn}-{name.name.lower()}"
                cell = result.cells[name]
                _attempt(cell, partial(cold, name, folder, self.plan.cold_s))

    def _break_in(self, peers: dict[Name, Peer]) -> None:
        name = next((name for name in peers if name in KAFKA_TOPIC_SETTINGS), None)
        if name is None:
            return
        topic, third_s = Topic("break-in"), self.plan.break_in_s / 3
        self.watch.say(f"breaking in {name}")
        peers[name].fresh(topic)
        for load in (("-tail",), ("-acks", "-1"), ("-mode", "fetch", "-max", "1024")):
            reqload(*load)(peers[name], topic, third_s)
        peers[name].discard(topic)

    def _row(self, row: Row, peers: dict[Name, Peer], scratch: Path) -> None:
        result = self.results.rows[row.name] = RowResult()
        for name in self._peers(row):
            cell = result.cells[name] = Cell()
            self.watch.step(f"{row.name}: {name}, warming")
            _attempt(cell, partial(self._prepare, row, peers[name], cell))
        names = list(result.cells)
        for turn in range(self.plan.rounds):
            if row.durable:
                result.flush_p50_us.append(fdatasync_p50_us(scratch, FLUSH_SAMPLES))
            # Each round begins with another peer: what the disk is left with burdens nobody always.
            for name in names[turn % len(names) :] + names[: turn % len(names)]:
                self.watch.step(f"{row.name}: {name}, round {turn + 1}")
                _attempt(result.cells[name], partial(self._round, row, peers[name]))
        for name in names:
            _attempt(result.cells[name], partial(self._discard, row, peers[name]))

    def _prepare(self, row: Row, peer: Peer, cell: Cell) -> Figures | None:
        """A new topic, and load until two rounds in a row agree."""
        topic = _topic(row, peer)
        peer.fresh(topic)
        if row.fill:
            fill(peer, topic, row.fill)
        if row.warms_by is None:
            return None
        before = 0.0
        for _ in range(self.plan.warm_rounds_max):
            now = row.measure(peer, topic, self.plan.warm_s)[row.warms_by]
            if abs(now - before) <= TOLERANCE * before:
                return None
            before = now
        cell.agreed = False
        return None

    def _round(self, row: Row, peer: Peer) -> Figures:
        topic = _topic(row, peer)
        if row.renewed:
            peer.discard(topic)
            peer.fresh(topic)
        peer.take_stall_ms()
        secs = self.plan.round_s if row.warms_by else self.plan.idle_s
        found = row.measure(peer, topic, secs)
        stall_ms = peer.take_stall_ms()
        return found if stall_ms is None else found | {Figure.STALL: stall_ms}

    def _discard(self, row: Row, peer: Peer) -> Figures | None:
        peer.discard(_topic(row, peer))
        return None


def _topic(row: Row, peer: Peer) -> Topic:
    # Two peers may be one process: the topic says which of them is meant.
    return Topic(f"{row.name}-{peer.name.name.lower().replace('_', '-')}", row.partitions)


def _attempt(cell: Cell, work: Callable[[], Figures | None]) -> None:
    """A peer that fails in a row is out of that row, by name; the run goes on."""
    if cell.trouble:
        return
    try:
        found = work()
    except BenchError as trouble:
        cell.trouble = str(trouble)
    else:
        if found:
            cell.rounds.append(found)
