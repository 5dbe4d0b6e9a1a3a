"""Every planted bug is found. `OTTLA_SIM_MUTANT_SEEDS=200` looks for each from seed 1 on."""

import os

import pytest

from ottla.sim.campaign import run_seeds
from ottla.sim.mutants import MUTANTS

FULL = int(os.environ.get("OTTLA_SIM_MUTANT_SEEDS", "0"))
# From the hint on: enough for a change that moves what a seed does.
SEEDS_FROM_HINT = 25


@pytest.mark.parametrize("name", list(MUTANTS))
def test_a_planted_bug_is_found(name: str) -> None:
    mutant = MUTANTS[name]
    seeds = range(1, FULL + 1) if FULL else range(mutant.hint, mutant.hint + SEEDS_FROM_HINT)

    verdicts = run_seeds(seeds, planted=mutant.settings)

    assert any(verdict.exit_code for verdict in verdicts), mutant.about
