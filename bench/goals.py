"""What the bench must show, as data: goals, and gates below which the work is not done.

From the acceptance table of the issue that built the spine, its paragraph on power, and the budget
of DESIGN D7. `possible` is what the floor program reached on the day the goals were set.
"""

from collections.abc import Callable
from dataclasses import dataclass

from bench.figures import STYLES, Figure
from bench.peers import Name

# (row, peer, figure) → its median, or None where it was not measured
Lookup = Callable[[str, Name, Figure], float | None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Goal:
    """A figure of ours, by itself or over another one: that of `over`, in `over_row`."""

    row: str
    figure: Figure
    goal: float
    gate: float
    over: Name | None = None
    over_row: str | None = None
    possible: str = "-"

    @property
    def more_is_better(self) -> bool:
        return STYLES[self.figure].more_is_better

    @property
    def subject(self) -> str:
        text = STYLES[self.figure].label
        if self.over is None:
            return text
        where = f" in {self.over_row}" if self.over_row else ""
        return f"{text}, ratio to {self.over}{where}"

    def measured(self, lookup: Lookup) -> float | None:
        ours = lookup(self.row, Name.OTTLA, self.figure)
        if ours is None or self.over is None:
            return ours
        other = lookup(self.over_row or self.row, self.over, self.figure)
        return ours / other if other else None

    def cells(self) -> list[tuple[str, Name]]:
        """Where it looks."""
        if self.over is None:
            return [(self.row, Name.OTTLA)]
        return [(self.row, Name.OTTLA), (self.over_row or self.row, self.over)]

    def verdict(self, value: float | None, against: float) -> str:
        if value is None:
            return "not run"
        return "PASS" if (value >= against) is self.more_is_better or value == against else "MISS"


def _rate(row: str, goal: float, gate: float, possible: str, over: Name = Name.KAFKA) -> Goal:
    return Goal(row=row, figure=Figure.RATE, goal=goal, gate=gate, over=over, possible=possible)


def _cpu(row: str, goal: float, gate: float, possible: str, over: Name = Name.KAFKA) -> Goal:
    return Goal(row=row, figure=Figure.CPU, goal=goal, gate=gate, over=over, possible=possible)


SMALL_REQUESTS = (
    "produce-1-acks-1",
    "produce-16-acks-1",
    "produce-100-acks-1",
    "fetch-1kb",
)

GOALS: tuple[Goal, ...] = (
    _rate("produce-1-acks-1", 1.4, 1.1, "1.6"),
    _rate("produce-16-acks-1", 1.4, 1.05, "1.9"),
    _rate("produce-100-acks-1", 1.2, 0.85, "1.5"),
    _rate("produce-16-acks-all", 1.1, 0.85, "1.5"),
    _rate("produce-16-acks-all", 6, 4.5, "8", Name.KAFKA_FLUSH),
    _rate("produce-100-acks-all", 1.1, 0.8, "1.4"),
    _rate("produce-100-acks-all", 8, 5.5, "10", Name.KAFKA_FLUSH),
    _rate("produce-16x5-acks-all", 1.3, 1.0, "1.8"),
    *(_cpu(row, 0.65, 0.85, "0.42 to 0.53") for row in SMALL_REQUESTS),
    _rate("produce-100kb-acks-1", 1.0, 0.75, "0.8"),
    _cpu("produce-100kb-acks-1", 0.9, 1.1, "0.9"),
    _rate("fetch-1mib", 1.0, 0.8, "0.9"),
    _cpu("fetch-1mib", 1.0, 1.2, "1.05"),
    _rate("fetch-1kb", 1.5, 1.15, "1.8"),
    *(
        Goal(row=row, figure=Figure.P99, goal=0.7, gate=1.0, over=Name.KAFKA)
        for row in ("end-to-end-acks-1", "end-to-end-acks-all")
    ),
    Goal(row="cold", figure=Figure.READY, goal=0.25, gate=0.5, possible="0.10"),
    Goal(row="cold", figure=Figure.IDLE_RSS, goal=64, gate=80, possible="26"),
    Goal(row="cold", figure=Figure.LOADED_RSS, goal=120, gate=160, possible="52"),
    *(
        _cpu(row, 1.5, 2.0, "1.0", Name.FLOOR)
        for row in ("produce-16-acks-1", "produce-100-acks-1", "fetch-1kb")
    ),
    Goal(
        row="partitions-1000",
        figure=Figure.CPU,
        goal=1.3,
        gate=1.3,
        over=Name.OTTLA,
        over_row="partitions-1",
    ),
    Goal(
        row="connections-1000",
        figure=Figure.CPU,
        goal=1.3,
        gate=1.3,
        over=Name.OTTLA,
        over_row="connections-10",
    ),
    Goal(row="idle", figure=Figure.IDLE, goal=1.0, gate=1.0),
    Goal(row="neighbour", figure=Figure.P99, goal=5.0, gate=5.0),
    *(
        Goal(row=row, figure=Figure.STALL, goal=10.0, gate=10.0)
        for row in ("produce-16-acks-all", "produce-100kb-acks-1")
    ),
)
