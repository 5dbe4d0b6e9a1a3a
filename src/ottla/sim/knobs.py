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
    names: tuple[str, ...]
    # One value for each name.
    choices: tuple[tuple[int, ...], ...]


def _knob(module: str, name: str, *choices: int) -> Knob:
    return Knob(module, (name,), tuple((choice,) for choice in choices))


KNOBS = (
    # A round always fits into an empty half, keys and all. Halves are whole blocks.
    Knob(
        "ottla.storage.journal",
        ("HALF_BYTES", "ROUND_BYTES_MAX"),
        ((6_144, 1_500), (30_720, 300), (30_720, 4_000), (204_800, 65_536)),
    ),
    _knob("ottla.storage.journal", "LAZY_SYNC_MS", 20, 200, 1_000),
    _knob("ottla.storage.durable", "WRITE_INTERVAL_MS", 0, 100, 1_000),
    _knob("ottla.broker.checkpointing", "OFFSETS_INTERVAL_MS", 200, 2_000, 60_000),
    _knob("ottla.storage.segment", "WALK_BYTES", 100, 700, 8_192),
    _knob("ottla.storage.segment", "RECENT_BATCHES_MAX", 1, 4, 128),
    _knob("ottla.storage.recovery", "SCAN_BYTES", 200, 5_000, 1 << 20),
    _knob("ottla.broker.flushing", "IDLE_FLUSH_MS", 1, 10, 100),
    _knob("ottla.broker.node", "WAKE_UPS_PER_TURN_MAX", 1, 64, 64),
    _knob("ottla.metadata.controller", "PRODUCER_ID_BLOCK", 1, 3, 1_000),
    _knob("ottla.raft.batches", "RUN_BYTES", 100, 2_000, 1 << 20),
    _knob("ottla.raft.snapshots", "BATCH_RECORDS_MAX", 1, 5, 2_000),
)

Settings = dict[tuple[str, str], object]


def draw_knobs(rng: Random) -> Settings:
    settings: Settings = {}
    for knob in KNOBS:
        chosen = rng.choice(knob.choices)
        for name, value in zip(knob.names, chosen, strict=True):
            settings[knob.module, name] = value
    return settings


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
