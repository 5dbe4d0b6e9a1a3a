"""Every planted bug is found; `OTTLA_SIM_MUTANT_SEEDS=200` looks for the rare ones too."""

import os

import pytest

from ottla.sim.campaign import run_seeds
from ottla.sim.mutants import MUTANTS

FULL = int(os.environ.get("OTTLA_SIM_MUTANT_SEEDS", "0"))
# A bug that is not rare shows in the first ten or so.
SEEDS = 40


@pytest.mark.parametrize("name", [n for n, mutant in MUTANTS.items() if FULL or not mutant.is_rare])
def test_a_planted_bug_is_found(name: str) -> None:
    mutant = MUTANTS[name]

    verdicts = run_seeds(range(1, (FULL or SEEDS) + 1), planted=mutant.settings)

    assert any(verdict.exit_code for verdict in verdicts), mutant.about
