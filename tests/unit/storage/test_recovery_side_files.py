"""Indexes, snapshots and epochs in any state: a start believes them or makes them anew."""

import random
from collections.abc import Callable

import pytest

from ottla.storage.jobs import EPOCHS_FILE
from ottla.storage.producers import SNAPSHOT_SUFFIX, WINDOW_SUFFIX
from ottla.storage.recovery import Trust
from tests.unit.storage.shelf import (
    CONFIG,
    DIRECTORY,
    Shelf,
    batch,
)
from tests.unit.storage.twin import (
    CLEAN,
    UNKNOWN,
    assert_is_twin,
    filled,
    shelf_sequence,
    trust_in,
)

INDEX_FAULTS: tuple[tuple[str, Callable[[bytes], bytes | None]], ...] = (
    ("missing", lambda data: None),
    ("empty", lambda data: b""),
    ("one byte short", lambda data: data[:-1]),
    ("preallocated", lambda data: data + bytes(4096)),
    ("garbage behind", lambda data: data + b"\1" * len(data)),
    ("oversized", lambda data: data + data),
    ("all ones", lambda data: b"\xff" * len(data)),
    ("random", lambda data: random.Random(2).randbytes(len(data))),
    ("of a longer log", lambda data: data + b"\x7f\xff\xff\xf0" * (len(data) // 8 * 2 and 6)),
)


@pytest.mark.parametrize("fault", INDEX_FAULTS, ids=[name for name, _ in INDEX_FAULTS])
@pytest.mark.parametrize("suffix", [".index", ".timeindex"])
@pytest.mark.parametrize("trust", ["clean", "unclean"])
def test_indexes_in_any_state_do_no_harm(
    fault: tuple[str, Callable[[bytes], bytes | None]], suffix: str, trust: str
) -> None:
    shelf = filled(60, config=CONFIG)
    shelf.close()
    if trust == "clean" and suffix == ".timeindex" and fault[0] == "empty":
        # Believed: written and synced before the clean mark, an index is what it is.
        return
    for segment in shelf.log.segments:
        path = shelf.path(segment.base_offset, suffix)
        changed = fault[1](shelf.disk.contents(path))
        if changed is None:
            shelf.unlink(path)
        else:
            shelf.put(path, changed)
    kept = trust_in(shelf)

    shelf.load(CLEAN if trust == "clean" else kept)

    assert_is_twin(shelf, shelf.kept)


SNAPSHOT_FAULTS: tuple[tuple[str, Callable[[bytes], bytes | None]], ...] = (
    ("missing", lambda data: None),
    ("empty", lambda data: b""),
    ("short", lambda data: data[:-1]),
    ("flipped", lambda data: data[:-1] + bytes((data[-1] ^ 1,))),
)


@pytest.mark.parametrize("fault", SNAPSHOT_FAULTS, ids=[name for name, _ in SNAPSHOT_FAULTS])
@pytest.mark.parametrize("suffix", [SNAPSHOT_SUFFIX, WINDOW_SUFFIX])
@pytest.mark.parametrize("trust", ["clean", "unclean"])
@pytest.mark.parametrize("which", ["all", "newest"])
def test_without_its_snapshots_the_producer_state_comes_from_the_log(
    fault: tuple[str, Callable[[bytes], bytes | None]], suffix: str, trust: str, which: str
) -> None:
    shelf = filled(60, config=CONFIG)
    shelf.close()
    paths = [path for path in shelf.disk.paths() if path.endswith(suffix)]
    for path in paths if which == "all" else paths[-1:]:
        changed = fault[1](shelf.disk.contents(path))
        if changed is None:
            shelf.unlink(path)
        else:
            shelf.put(path, changed)
    kept = trust_in(shelf)

    shelf.load(CLEAN if trust == "clean" else kept)

    assert_is_twin(shelf, shelf.kept)


@pytest.mark.parametrize("contents", [b"", b"0\n1\n", b"rubbish", None])
@pytest.mark.parametrize("trust", [CLEAN, UNKNOWN])
def test_without_its_checkpoint_the_epochs_come_from_the_log(
    contents: bytes | None, trust: Trust
) -> None:
    shelf = filled(60, config=CONFIG)
    shelf.close()
    path = f"{DIRECTORY}/{EPOCHS_FILE}"
    if contents is None:
        shelf.unlink(path)
    else:
        shelf.put(path, contents)

    shelf.load(trust)

    if contents == b"":
        # A file that says: none. Kafka creates it so.
        return
    assert_is_twin(shelf, shelf.kept)


def test_snapshots_of_clean_stops_do_not_pile_up() -> None:
    shelf = Shelf()
    for _ in range(20):
        shelf.append(batch(1, producer=(5, 0, shelf_sequence(shelf))))
        shelf.flush()
        shelf.close()
        shelf.load(CLEAN)

    names = [int(path[4:24]) for path in shelf.disk.paths() if path.endswith(SNAPSHOT_SUFFIX)]
    assert names == sorted(dict.fromkeys((*shelf.log.base_offsets[1:], 20)))
    windows = [int(path[4:24]) for path in shelf.disk.paths() if path.endswith(WINDOW_SUFFIX)]
    assert windows == names


def test_an_epoch_that_only_batches_tell_of_is_written_down_before_they_count_as_durable() -> None:
    shelf = Shelf()
    shelf.append(batch())
    shelf.flush()
    shelf.append(batch(), epoch=3)
    shelf.disk.kill()

    shelf.load(Trust(is_clean=False))

    written = shelf.disk.durable_contents(f"{DIRECTORY}/{EPOCHS_FILE}")
    assert written == b"0\n2\n0 0\n3 1\n"
