import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from ottla.cli.sim import command

STORY = "start\ntopic t\nproduce t-0 values=a\n----\n"


def sim(*arguments: str) -> Result:
    return CliRunner().invoke(command, arguments)


def test_the_last_line_of_a_seed_is_its_hash() -> None:
    ran = sim("--seed", "16")

    assert ran.exit_code == 0
    assert ran.output.splitlines()[-1].startswith("seed 16 hash ")


def test_a_trace_prints_every_event() -> None:
    ran = sim("--seed", "16", "--trace")

    assert "000.000000 node boots, life 1" in ran.output.splitlines()


def test_a_seed_that_fails_says_what_was_found_and_how_to_see_it_again() -> None:
    ran = sim("--seed", "1", "--planted", "fetch-to-log-end")

    assert ran.exit_code == 12
    assert "found: uncommitted-read" in ran.output
    assert "again: ottla sim --seed 1 --trace" in ran.output


def test_many_seeds_are_summed_up_for_programs_and_kept_in_a_ledger(tmp_path: Path) -> None:
    ledger = tmp_path / "ledger.jsonl"

    ran = sim("--seeds", "2", "--start", "16", "--json", "--ledger", str(ledger))

    summary = json.loads(ran.stdout)
    assert (summary["seeds"], summary["failed"]) == (2, [])
    assert [json.loads(line)["seed"] for line in ledger.read_text().splitlines()] == [16, 17]


def test_many_seeds_are_summed_up_for_people() -> None:
    ran = sim("--seeds", "1", "--start", "16")

    assert ran.output.splitlines()[-1] == "seeds 16 to 16: 0 failed"


def test_a_story_is_printed_with_what_came_of_it(tmp_path: Path) -> None:
    path = tmp_path / "story.txt"
    path.write_text(STORY)

    assert "a -> offset 0" in sim("--scenario", str(path)).output


def test_the_planted_bugs_are_listed() -> None:
    assert "ack-before-sync" in sim("--planted", "list").output


@pytest.mark.parametrize(
    "arguments",
    [
        (),
        ("--seed", "1", "--seeds", "2"),
        ("--seeds", "2", "--trace"),
        ("--seed", "1", "--planted", "gremlin"),
    ],
)
def test_what_cannot_be_meant_is_refused(arguments: tuple[str, ...]) -> None:
    assert sim(*arguments).exit_code == 2
