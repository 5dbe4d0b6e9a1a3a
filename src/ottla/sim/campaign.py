"""Many seeds, one after the other or several at once, and what came of them."""

import json
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from ottla.sim.cluster import CRASHED, OK, STUCK, WRONG, Verdict, run_seed
from ottla.sim.knobs import Settings

# Events that a failed seed shows of its end.
RECENT_SHOWN = 40


def run_seeds(
    seeds: Sequence[int],
    *,
    seconds: int = 10,
    jobs: int = 1,
    planted: Settings | None = None,
) -> Iterator[Verdict]:
    """In the order of the seeds. Each is its own world, wherever it runs."""
    run = partial(_run_one, seconds=seconds, planted=planted)
    if jobs <= 1:
        yield from map(run, seeds)
        return
    with ProcessPoolExecutor(jobs) as pool:
        yield from pool.map(run, seeds)


def _run_one(seed: int, *, seconds: int, planted: Settings | None) -> Verdict:
    verdict = run_seed(seed, seconds=seconds, planted=planted)
    # Between processes travels what is read.
    verdict.recent = verdict.recent[-RECENT_SHOWN:] if verdict.exit_code else []
    return verdict


@dataclass(slots=True)
class Summary:
    seeds: int = 0
    seconds: float = 0.0
    virtual_seconds: float = 0.0
    operations: int = 0
    records_acked: int = 0
    lives: int = 0
    faults: dict[str, int] = field(default_factory=dict)
    # Allowed anomalies are counted; forbidden ones fail their seed.
    counted: dict[str, int] = field(default_factory=dict)
    anomalies: dict[str, int] = field(default_factory=dict)
    failed: list[int] = field(default_factory=list)
    exit_codes: dict[int, int] = field(default_factory=dict)

    @property
    def exit_code(self) -> int:
        """The worst there was: the process dead, data wrong, something that never ended."""
        return next((code for code in (CRASHED, WRONG, STUCK) if code in self.exit_codes), OK)

    @property
    def seeds_per_hour(self) -> float:
        return self.seeds * 3600 / self.seconds if self.seconds else 0.0

    def add(self, verdict: Verdict) -> None:
        self.seeds += 1
        self.virtual_seconds += verdict.virtual_ns / 1e9
        self.operations += verdict.operations
        self.records_acked += verdict.records_acked
        self.lives += verdict.lives
        _add_counts(self.faults, verdict.faults)
        _add_counts(self.counted, verdict.counted)
        for anomaly in verdict.anomalies:
            _add_counts(self.anomalies, {anomaly.name: 1})
        if verdict.exit_code != OK:
            self.failed.append(verdict.seed)
            _add_counts(self.exit_codes, {verdict.exit_code: 1})

    def as_json(self) -> dict[str, Any]:
        return {
            "seeds": self.seeds,
            "failed": self.failed,
            "seconds": round(self.seconds, 1),
            "seeds_per_hour": round(self.seeds_per_hour),
            "virtual_seconds": round(self.virtual_seconds),
            "operations": self.operations,
            "records_acked": self.records_acked,
            "broker_lives": self.lives,
            "faults": dict(sorted(self.faults.items())),
            "anomalies": dict(sorted(self.anomalies.items())),
            "counted": dict(sorted(self.counted.items())),
            "exit_code": self.exit_code,
        }


def _add_counts(into: dict[Any, int], more: dict[Any, int]) -> None:
    for name, count in more.items():
        into[name] = into.get(name, 0) + count


def run_campaign(
    seeds: Sequence[int],
    *,
    seconds: int,
    jobs: int,
    on_verdict: Callable[[Verdict, Summary], None],
) -> Summary:
    summary = Summary()
    began = time.monotonic()
    for verdict in run_seeds(seeds, seconds=seconds, jobs=jobs):
        summary.add(verdict)
        summary.seconds = time.monotonic() - began
        on_verdict(verdict, summary)
    return summary


def ledger_line(verdict: Verdict) -> str:
    """One line of JSON for a seed, to be kept."""
    return json.dumps(
        {
            "seed": verdict.seed,
            "exit_code": verdict.exit_code,
            "hash": verdict.digest,
            "virtual_ms": verdict.virtual_ns // 1_000_000,
            "operations": verdict.operations,
            "records_acked": verdict.records_acked,
            "lives": verdict.lives,
            "faults": verdict.faults,
            "counted": verdict.counted,
            "findings": verdict.findings(),
        },
        sort_keys=True,
    )
