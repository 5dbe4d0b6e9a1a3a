"""Bounds made small for a run, and what a planted bug replaces.

Covers: ottla.sim.mutants
"""

import random

import pytest

from ottla.sim.knobs import KNOBS, draw_knobs, turned
from ottla.sim.mutants import MUTANTS
from ottla.storage import journal
from ottla.storage.log import Log

HALF = ("ottla.storage.journal", "HALF_BYTES")


def test_a_seed_draws_the_same_knobs_again() -> None:
    assert draw_knobs(random.Random(3)) == draw_knobs(random.Random(3))


def test_every_knob_is_there_to_be_turned() -> None:
    drawn = draw_knobs(random.Random(1))

    with turned(drawn):
        pass

    assert len(drawn) == sum(len(knob.names) for knob in KNOBS)


def test_a_knob_is_turned_back_however_the_run_ends() -> None:
    before = journal.HALF_BYTES

    with pytest.raises(ZeroDivisionError), turned({HALF: 0}):
        divmod(1, journal.HALF_BYTES)

    assert before == journal.HALF_BYTES


def test_a_method_is_replaced_in_its_class() -> None:
    methods = vars(Log)
    before = methods["append"]

    with turned({("ottla.storage.log", "Log.append"): len}):
        assert methods["append"] is len

    assert methods["append"] is before


@pytest.mark.parametrize("name", list(MUTANTS))
def test_a_planted_bug_has_its_place_in_the_broker_and_leaves_it(name: str) -> None:
    mutant = MUTANTS[name]

    with turned(mutant.settings):
        pass

    assert mutant.about
    assert mutant.settings
