"""Bounds of the broker that a seed makes small, so that ten seconds reach what takes days.

A round that does not fit, a half of the journal that is full, a walk that ends inside a batch: with
the sizes of production a short run would never see them.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from random import Random
from typing import NamedTuple


class Knob(NamedTuple):
    module: str
    name: str
    choices: tuple[int, ...]


KNOBS = (
    Knob("ottla.storage.journal", "HALF_BYTES", (6_000, 30_000, 200_000)),
    Knob("ottla.storage.journal", "ROUND_BYTES_MAX", (300, 4_000, 65_536)),
    Knob("ottla.storage.journal", "LAZY_SYNC_MS", (20, 200, 1_000)),
    Knob("ottla.storage.durable", "REWRITE_INTERVAL_MS", (0, 100, 100)),
    Knob("ottla.storage.segment", "WALK_BYTES", (100, 700, 8_192)),
    Knob("ottla.storage.segment", "RECENT_BATCHES_MAX", (1, 4, 128)),
    Knob("ottla.storage.recovery", "SCAN_BYTES", (200, 5_000, 1 << 20)),
    Knob("ottla.broker.flushing", "IDLE_FLUSH_MS", (1, 10, 100)),
    Knob("ottla.broker.node", "WAKE_UPS_PER_TURN_MAX", (1, 64, 64)),
    Knob("ottla.metadata.controller", "PRODUCER_ID_BLOCK", (1, 3, 1_000)),
)

Settings = dict[tuple[str, str], object]


def draw_knobs(rng: Random) -> Settings:
    return {(knob.module, knob.name): rng.choice(knob.choices) for knob in KNOBS}


@contextmanager
def turned(settings: Settings) -> Iterator[None]:
    """Globals of modules, or attributes of what stands in them ("Log.append"), for a while."""
    undo: list[tuple[object, str, object]] = []
    try:
        for (module, path), value in settings.items():
            owner: object = import_module(module)
            *parents, name = path.split(".")
            for parent in parents:
                owner = getattr(owner, parent)
            undo.append((owner, name, getattr(owner, name)))
            setattr(owner, name, value)
        yield
    finally:
        for owner, name, before in reversed(undo):
            setattr(owner, name, before)
