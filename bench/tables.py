"""The tables, as plain rows of text: the terminal and the page show the same ones."""

from collections.abc import Iterator
from dataclasses import dataclass

from bench.figures import STYLES, Figure, written
from bench.goals import GOALS, Goal
from bench.peers import Name
from bench.results import Results, RowResult
from bench.rows import COLD_ROW, GROUPS, ROWS, START, Group

NOT_MEASURED = "not measured"


@dataclass(frozen=True, slots=True)
class Table:
    title: str
    header: list[str]
    lines: list[list[str]]


def all_tables(results: Results) -> list[Table]:
    tables = [*(_group(results, group) for group in GROUPS), _stalls(results), _stages(results)]
    return [table for table in (goals(results), *tables) if table.lines]


def goals(results: Results) -> Table:
    """Those of the rows that were asked for."""
    header = ["row", "ottla's", "measured", "goal", "", "gate", "", "floor then"]
    asked = [goal for goal in GOALS if goal.row in results.rows]
    return Table("Goals and gates", header, [_goal(goal, results) for goal in asked])


def missed(results: Results) -> list[Goal]:
    """The gates that were measured and not passed."""
    found = [(goal, goal.measured(results.lookup)) for goal in GOALS]
    return [goal for goal, value in found if goal.verdict(value, goal.gate) == "MISS"]


def _goal(goal: Goal, results: Results) -> list[str]:
    value = goal.measured(results.lookup)
    sign = "≥" if goal.more_is_better else "≤"
    settled = all(results.agreed(row, peer) for row, peer in goal.cells())
    absent = NOT_MEASURED if goal.figure is Figure.STALL else "not run"
    return [
        goal.row,
        goal.subject,
        absent if value is None else f"{value:,.2f}" + ("" if settled else " (~)"),
        f"{sign} {goal.goal:g}",
        goal.verdict(value, goal.goal),
        f"{sign} {goal.gate:g}",
        goal.verdict(value, goal.gate),
        goal.possible,
    ]


def _group(results: Results, group: Group) -> Table:
    header = ["", "peer", *(_label(one, group) for one in group.columns)]
    header += [f"{STYLES[one].label.split()[0]} ÷ Kafka" for one in group.ratios]
    rows = [(row.name, row.title) for row in ROWS if row.group is group]
    if group is START:
        rows = [(COLD_ROW, "")]
    found = [(title, results.rows[name]) for name, title in rows if name in results.rows]
    durable = any(result.flush_p50_us for _, result in found)
    lines = []
    for title, result in found:
        lines += list(_lines(title, result, group, durable))
    return Table(group.title, [*header, "F µs"] if durable else header, lines)


def _label(figure: Figure, group: Group) -> str:
    per = {Figure.RATE: f"{group.unit}s/s", Figure.CPU: f"CPU µs/{group.unit}"}
    per[Figure.BUSY] = f"machine µs/{group.unit}"
    return per.get(figure, STYLES[figure].label)


def _lines(title: str, result: RowResult, group: Group, durable: bool) -> Iterator[list[str]]:
    kafka = result.cells.get(Name.KAFKA)
    for turn, (name, cell) in enumerate(result.cells.items()):
        line = ["" if turn else title, name if cell.agreed else f"{name} (~)"]
        if cell.trouble:
            yield [*line, "failed: " + cell.trouble.splitlines()[0]]
            continue
        line += [written(one, cell.median(one)) for one in group.columns]
        for one in group.ratios:
            own, theirs = cell.median(one), kafka.median(one) if kafka else None
            line.append(f"{own / theirs:.2f}" if own is not None and theirs else "-")
        if durable:
            flush_us = result.flush_us
            line.append("" if turn or flush_us is None else f"{flush_us:.0f}")
        yield line


def _stalls(results: Results) -> Table:
    lines = []
    for name, result in results.rows.items():
        for peer, cell in result.cells.items():
            stall_ms = cell.median(Figure.STALL)
            if stall_ms is not None:
                lines.append([name, peer, written(Figure.STALL, stall_ms)])
    if not lines and any(Name.OTTLA in result.cells for result in results.rows.values()):
        lines = [["every row", Name.OTTLA, NOT_MEASURED]]
    return Table("The loop's longest stall", ["row", "peer", "ms"], lines)


def _stages(results: Results) -> Table:
    lines = []
    for stage in results.stages:
        us = f"{NOT_MEASURED}: {stage.why}" if stage.us is None else f"{stage.us:.3f}"
        lines.append([stage.group, stage.name, us])
    return Table("Stages of the budget of D7", ["path", "stage", "µs"], lines)
