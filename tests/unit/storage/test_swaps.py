"""What Kafka's cleaner left half done, finished as Kafka finishes it."""

from ottla.records.batch import iter_headers
from ottla.sim.disk import PowerCut
from ottla.storage.recovery import Trust
from tests.unit.storage.shelf import CONFIG, Kept, Shelf, batch

UNKNOWN = Trust(is_clean=False)


def filled() -> Shelf:
    shelf = Shelf(config=CONFIG)
    for at in range(60):
        shelf.append(batch(1 + at % 3, b"x" * (at * 37 % 90)))
    shelf.flush()
    shelf.close()
    return shelf


def swapped(shelf: Shelf) -> list[Kept]:
    """As Kafka's cleaner leaves two segments that became one; what remains of them."""
    second, third = shelf.log.base_offsets[1:3]
    ours = [one for one in shelf.kept if second <= one.base_offset]
    group = [
        one
        for one in ours
        if len(shelf.log.base_offsets) < 4 or one.base_offset < (shelf.log.base_offsets[3])
    ]
    kept = [one for at, one in enumerate(group) if at % 2 == 0 or at == len(group) - 1]
    shelf.put(shelf.path(second, ".log.swap"), b"".join(one.data for one in kept))
    shelf.put(shelf.path(second, ".index.swap"), b"")
    shelf.put(shelf.path(second, ".timeindex.swap"), b"")
    for base in (second, third):
        path = shelf.path(base, ".log")
        shelf.rename(path, path + ".deleted")
    return [one for one in shelf.kept if one not in group or one in kept]


def offsets_in(shelf: Shelf) -> list[int]:
    found = []
    for segment in shelf.log.segments:
        found += list(iter_headers(shelf.disk.contents(segment.file.path)))
    return [header.base_offset for header in found]


def test_a_compaction_that_kafka_had_all_but_finished_is_finished() -> None:
    shelf = filled()
    kept = swapped(shelf)

    repairs = shelf.load(UNKNOWN)

    assert any("finished a compaction" in line for line in repairs)
    assert offsets_in(shelf) == [one.base_offset for one in kept]
    assert shelf.log.end_offset == shelf.kept[-1].last_offset + 1
    assert not [path for path in shelf.disk.paths() if path.endswith((".swap", ".deleted"))]


def test_a_power_cut_while_it_is_finished_changes_nothing() -> None:
    is_over = False
    calls = 1
    while not is_over:
        shelf = filled()
        kept = swapped(shelf)
        shelf.disk.cut_after(calls)
        try:
            shelf.load(UNKNOWN)
            is_over = True
        except PowerCut:
            shelf.disk.crash()
            shelf.load(UNKNOWN)

        assert offsets_in(shelf) == [one.base_offset for one in kept]
        assert not [path for path in shelf.disk.paths() if path.endswith((".swap", ".deleted"))]
        calls += 2
    assert calls > 30


def test_a_swap_of_a_split_that_was_not_ended_is_undone() -> None:
    shelf = filled()
    second, third = shelf.log.base_offsets[1:3]
    before = offsets_in(shelf)
    shelf.put(shelf.path(third, ".log.swap"), b"")
    shelf.put(shelf.path(second, ".log.cleaned"), b"")

    shelf.load(UNKNOWN)

    assert offsets_in(shelf) == before
    assert not [path for path in shelf.disk.paths() if path.endswith((".swap", ".cleaned"))]


def test_a_swapped_segment_that_is_damaged_is_left_to_recovery() -> None:
    shelf = filled()
    second = shelf.log.base_offsets[1]
    shelf.put(shelf.path(second, ".log.swap"), shelf.kept[-1].data[:70])

    shelf.load(UNKNOWN)

    assert shelf.log.end_offset <= shelf.kept[-1].last_offset + 1
