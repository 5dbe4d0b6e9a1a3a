"""Damage to what was durable, which one copy cannot survive: it must stop, and say so.

Struck while the broker is down, below the durable mark of a log: above it a bad checksum is a torn
tail, and is cut.
"""

from contextlib import suppress
from random import Random
from typing import NamedTuple

from ottla.records.batch import CorruptBatch, iter_headers
from ottla.sim.disk import SimDisk
from ottla.storage.checkpoints import RECOVERY_POINT_CHECKPOINT
from ottla.storage.durable import MARKS_FILE, DurableMarks
from ottla.storage.segment import LOG_SUFFIX

# What an honest broker may leave of a damaged log: nothing, or all of it.
EXCUSED = dict.fromkeys(
    ("unseen", "lost-write", "moved-write", "lost-read", "hole", "damaged", "reused-offset")
)

# No checksum covers a batch's base offset. In a segment that recovery need not read nobody can tell
# that it changed, here as in Kafka.
UNCOVERED_BYTES = 8


class _Spot(NamedTuple):
    path: str
    position: int
    size: int


def rot_a_batch(disk: SimDisk, rng: Random, topic_ids: dict[str, bytes]) -> str | None:
    """The directory of the log that was struck, if there was anything to strike."""
    spots = [
        spot
        for directory, topic_id in topic_ids.items()
        for spot in _spots(disk, directory, topic_id)
    ]
    if not spots:
        return None
    spot = rng.choice(spots)
    disk.rot(spot.path, spot.position + rng.randrange(UNCOVERED_BYTES, spot.size))
    return spot.path.partition("/")[0]


def _spots(disk: SimDisk, directory: str, topic_id: bytes) -> list[_Spot]:
    marks = DurableMarks.load(
        _contents(disk, MARKS_FILE), _contents(disk, RECOVERY_POINT_CHECKPOINT)
    )
    mark = marks.of(directory, topic_id)
    spots: list[_Spot] = []
    for path in disk.paths():
        if mark is None or not (path.startswith(f"{directory}/") and path.endswith(LOG_SUFFIX)):
            continue
        position = 0
        # What the journal alone has is not in its place yet.
        with suppress(CorruptBatch):
            for header in iter_headers(disk.contents(path)):
                if header.next_offset > mark.offset:
                    break
                spots.append(_Spot(path, position, header.size))
                position += header.size
    return spots


def _contents(disk: SimDisk, path: str) -> bytes:
    return disk.contents(path) if path in disk.paths() else b""
