"""What a run found, in a form that a file can keep."""

import dataclasses
import json
import statistics
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from bench.figures import Figure, Figures
from bench.peers import Name


@dataclass(slots=True)
class Cell:
    """One peer in one row."""

    rounds: list[Figures] = field(default_factory=list)
    agreed: bool = True  # two warming rounds came within the tolerance
    trouble: str | None = None

    def median(self, figure: Figure) -> float | None:
        values = [one[figure] for one in self.rounds if figure in one]
        return statistics.median(values) if values else None


@dataclass(slots=True)
class RowResult:
    cells: dict[Name, Cell] = field(default_factory=dict)
    flush_p50_us: list[float] = field(default_factory=list)

    @property
    def flush_us(self) -> float | None:
        return statistics.median(self.flush_p50_us) if self.flush_p50_us else None


@dataclass(slots=True)
class StageResult:
    group: str
    name: str
    us: float | None  # None: what it times is not built
    why: str = ""


@dataclass(slots=True)
class Results:
    date: str
    command: str
    where: dict[str, str]
    plan: dict[str, float]
    rows: dict[str, RowResult] = field(default_factory=dict)
    stages: list[StageResult] = field(default_factory=list)

    def lookup(self, row: str, peer: Name, figure: Figure) -> float | None:
        cell = self.rows.get(row, RowResult()).cells.get(peer)
        return cell.median(figure) if cell else None

    def agreed(self, row: str, peer: Name) -> bool:
        cell = self.rows.get(row, RowResult()).cells.get(peer)
        return cell is None or cell.agreed

    @property
    def troubles(self) -> list[str]:
        return [
            f"{row}, {peer}: {cell.trouble}"
            for row, result in self.rows.items()
            for peer, cell in result.cells.items()
            if cell.trouble
        ]

    def write(self, path: Path) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(dataclasses.asdict(self), indent=1) + "\n")


def read(path: Path) -> Results:
    kept: dict[str, Any] = json.loads(path.read_text())
    rows = {
        name: RowResult(
            {Name(peer): _cell(cell) for peer, cell in row["cells"].items()}, row["flush_p50_us"]
        )
        for name, row in kept.pop("rows").items()
    }
    stages = [StageResult(**stage) for stage in kept.pop("stages")]
    return Results(**kept, rows=rows, stages=stages)


def _cell(kept: dict[str, Any]) -> Cell:
    rounds = [{Figure(name): value for name, value in one.items()} for one in kept["rounds"]]
    return Cell(rounds, kept["agreed"], kept["trouble"])
