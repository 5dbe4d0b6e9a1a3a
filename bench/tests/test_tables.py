"""What the bench says about figures, without measuring any."""

from pathlib import Path

from bench import page, results, tables
from bench.figures import Figure
from bench.goals import GOALS, Goal
from bench.peers import Name
from bench.results import Cell, Results, RowResult
from bench.rows import COLD_ROW, GROUPS, ROWS, Row

RATE = Goal(row="r", figure=Figure.RATE, goal=1.4, gate=1.1, over=Name.KAFKA)
IDLE = Goal(row="r", figure=Figure.IDLE, goal=1.0, gate=1.0)


def found(**rates: float) -> Results:
    cells = {Name[name]: Cell([{Figure.RATE: rate}]) for name, rate in rates.items()}
    rows = {"produce-16-acks-1": RowResult(cells, [100.0, 300.0, 200.0])}
    return Results("today", "python -m bench", {"CPU": "a fast one"}, {"rounds": 1}, rows)


def test_a_goal_of_more_passes_at_its_bound_and_misses_below() -> None:
    assert RATE.verdict(1.4, RATE.goal) == "PASS"
    assert RATE.verdict(1.39, RATE.goal) == "MISS"
    assert RATE.verdict(1.39, RATE.gate) == "PASS"


def test_a_goal_of_less_passes_at_its_bound_and_misses_above() -> None:
    assert IDLE.verdict(1.0, IDLE.goal) == "PASS"
    assert IDLE.verdict(0.2, IDLE.goal) == "PASS"
    assert IDLE.verdict(1.01, IDLE.goal) == "MISS"


def test_what_was_not_measured_neither_passes_nor_misses() -> None:
    assert IDLE.verdict(None, IDLE.goal) == "not run"
    assert tables.missed(found(KAFKA=10.0)) == []


def test_a_ratio_divides_our_median_by_the_other_one() -> None:
    goal = Goal(row="produce-16-acks-1", figure=Figure.RATE, goal=1, gate=1, over=Name.KAFKA)
    assert goal.measured(found(OTTLA=30.0, KAFKA=20.0).lookup) == 1.5
    assert goal.measured(found(OTTLA=30.0).lookup) is None


def test_a_ratio_can_be_to_another_row_of_ours() -> None:
    both = found(OTTLA=30.0)
    both.rows["other"] = RowResult({Name.OTTLA: Cell([{Figure.RATE: 10.0}])})
    goal = Goal(
        row="produce-16-acks-1",
        figure=Figure.RATE,
        goal=1,
        gate=1,
        over=Name.OTTLA,
        over_row="other",
    )
    assert goal.measured(both.lookup) == 3.0


def test_every_goal_is_about_a_row_that_measures_it_on_every_peer_it_names() -> None:
    rows: dict[str, Row] = {row.name: row for row in ROWS}
    for goal in GOALS:
        if goal.row == COLD_ROW:
            continue
        for name in (goal.row, goal.over_row or goal.row):
            row = rows[name]
            assert Name.OTTLA in row.peers
            assert goal.figure in (*row.group.columns, Figure.STALL)
        if goal.over:
            assert goal.over in rows[goal.over_row or goal.row].peers


def test_row_names_are_unique_and_every_row_stands_in_a_table() -> None:
    names = [row.name for row in ROWS]
    assert len(dict.fromkeys(names)) == len(names)
    assert all(row.group in GROUPS for row in ROWS)


def test_a_missed_gate_is_told() -> None:
    missed = tables.missed(found(OTTLA=10.0, KAFKA=20.0))
    assert [goal.row for goal in missed] == ["produce-16-acks-1"]


def test_the_tables_show_the_ratio_and_the_price_of_a_flush() -> None:
    lines = next(
        table.lines
        for table in tables.all_tables(found(OTTLA=30.0, KAFKA=20.0))
        if table.title.startswith("Produce, one record")
    )
    ours = lines[0]
    assert ours[:3] == ["16 connections, acks=1", "ottla", "30"]
    assert ours[-1] == "200"
    assert "1.50" in ours


def test_a_verdict_over_a_peer_that_never_settled_says_so() -> None:
    run = found(OTTLA=30.0, KAFKA=20.0)
    assert tables.goals(run).lines[0][2] == "1.50"
    run.rows["produce-16-acks-1"].cells[Name.KAFKA].agreed = False
    assert tables.goals(run).lines[0][2] == "1.50 (~)"


def test_a_peer_that_failed_is_shown_as_failed_and_counts_as_trouble() -> None:
    run = found(KAFKA=20.0)
    run.rows["produce-16-acks-1"].cells[Name.OTTLA] = Cell(trouble="error code 3\nmore")
    assert run.troubles == ["produce-16-acks-1, ottla: error code 3\nmore"]
    assert "failed: error code 3 |" in page.render(run, "")


def test_a_stall_that_the_broker_does_not_report_is_named_so() -> None:
    stalls = [one for one in tables.all_tables(found(OTTLA=1.0)) if "stall" in one.title]
    assert stalls[0].lines == [["every row", "ottla", "not measured"]]


def test_results_come_back_from_their_file_as_they_were(tmp_path: Path) -> None:
    run = found(OTTLA=30.0, KAFKA=20.0)
    run.stages = [results.StageResult("produce", "decode", None, "ottla.protocol is not built")]
    run.write(tmp_path / "run.json")
    assert results.read(tmp_path / "run.json") == run


def test_regeneration_keeps_what_people_wrote(tmp_path: Path) -> None:
    path = tmp_path / "benchmarks.md"
    page.rewrite(found(OTTLA=30.0, KAFKA=20.0), path)
    written = path.read_text().replace(
        page.KEPT_END, "The profile says: copying.\n" + page.KEPT_END
    )
    path.write_text(written)
    page.rewrite(found(OTTLA=99.0, KAFKA=20.0), path)
    text = path.read_text()
    assert text.count("The profile says: copying.") == 1
    assert text.count(page.KEPT_BEGIN) == 1
    assert "| 99 |" in text
