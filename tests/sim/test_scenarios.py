"""Stories as text: `pytest --rewrite` writes down what happens now, and the diff is the review."""

from pathlib import Path

import pytest

from ottla.sim.scenario import parse, play

SCENARIOS = sorted((Path(__file__).parents[1] / "scenarios").glob("*.txt"))


@pytest.mark.parametrize("path", SCENARIOS, ids=[path.stem for path in SCENARIOS])
def test_a_scenario_goes_as_it_is_written(path: Path, request: pytest.FixtureRequest) -> None:
    text = path.read_text()

    played = "\n".join(block.text() for block in play(parse(text)))

    if request.config.getoption("--rewrite"):
        path.write_text(played)
    else:
        assert played == text
