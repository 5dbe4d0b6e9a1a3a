"""Covers: ottla.sim.inodes, ottla.sim.tree."""

import errno
from collections.abc import Callable
from typing import TypeVar

import pytest

from ottla.errors import DiskError
from ottla.sim.disk import PowerCut, SimDisk
from ottla.sim.inodes import PAGE, SECTOR, CrashMode
from ottla.sim.world import World
from ottla.storage.disk import Disk, DiskFile

T = TypeVar("T")
SEEDS = range(300)


def a_disk(seed: int = 1, mode: CrashMode | None = None) -> SimDisk:
    disk = SimDisk(World(seed))
    if mode is not None:
        disk.faults.crash_modes = (mode,)
    return disk


def boot(disk: SimDisk, work: Callable[[Disk], T]) -> T:
    return disk.run(disk.begin_boot(), work)


def create(disk: SimDisk, path: str = "a", contents: bytes = b"") -> DiskFile:
    """A file whose name and contents are durable."""

    def work(disk: Disk) -> DiskFile:
        file = disk.open(path, create=True)
        disk.append(file, 0, (contents,))
        disk.sync(file)
        disk.sync_dir("")
        return file

    return boot(disk, work)


def sync(disk: SimDisk, file: DiskFile) -> None:
    boot(disk, lambda disk: disk.sync(file))


def contents_after_crash(disk: SimDisk, path: str = "a") -> bytes:
    disk.crash()
    return disk.contents(path)


def outcomes(build: Callable[[int], SimDisk], show: Callable[[SimDisk], T]) -> dict[T, None]:
    """Everything that `show` sees after a power cut, over many seeds."""
    found: dict[T, None] = {}
    for seed in SEEDS:
        disk = build(seed)
        disk.crash()
        found[show(disk)] = None
    return found


# The port.


def test_what_is_appended_can_be_read_at_any_position() -> None:
    disk = a_disk()
    file = create(disk)
    data = bytes(range(256)) * 40

    disk.append(file, 0, (data[:100], bytearray(data[100:5000]), memoryview(data)[5000:]))

    assert disk.read(file, 0, len(data)) == data
    assert disk.read(file, 4090, 20) == data[4090:4110]
    assert disk.read(file, len(data) - 3, 100) == data[-3:]
    assert disk.read(file, len(data), 1) == b""


def test_a_hole_reads_as_zeros_and_takes_no_space() -> None:
    disk = a_disk()
    file = create(disk, contents=b"x")
    boot(disk, lambda disk: disk.truncate(file, 10 * PAGE))

    disk.append(file, 2 * PAGE + 5, (b"y",))

    assert disk.read(file, 0, 3) == b"x\0\0"
    assert disk.contents("a") == b"x".ljust(2 * PAGE + 5, b"\0") + b"y".ljust(8 * PAGE - 5, b"\0")
    assert disk.used_pages == 2


def test_what_a_truncation_cut_does_not_show_again_when_the_file_grows() -> None:
    disk = a_disk()
    file = create(disk, contents=b"z" * 9000)

    boot(disk, lambda disk: disk.truncate(file, 10))
    disk.append(file, 12, (b"new",))

    assert disk.contents("a") == b"z" * 10 + b"\0\0new"


def test_a_truncation_is_visible_through_every_open_handle() -> None:
    disk = a_disk()
    file = create(disk, contents=b"z" * 9000)
    other = boot(disk, lambda disk: disk.open("a"))

    boot(disk, lambda disk: disk.truncate(file, 10))

    assert disk.peek(other, 5, 100) == b"z" * 5
    assert boot(disk, lambda disk: disk.size(other)) == 10


def test_an_unlinked_file_stays_readable_until_its_last_handle_closes() -> None:
    disk = a_disk()
    file = create(disk, contents=b"kept")

    boot(disk, lambda disk: disk.unlink("a"))

    assert disk.read(file, 0, 4) == b"kept"
    assert (disk.paths(), disk.used_pages) == ([], 1)
    boot(disk, lambda disk: disk.close(file))
    assert (disk.open_paths(), disk.used_pages) == ([], 0)


def test_a_rename_replaces_a_file_and_moves_a_directory() -> None:
    disk = a_disk()

    def work(disk: Disk) -> list[str]:
        disk.mkdir("log")
        for name in ("log/a", "log/b"):
            disk.append(disk.open(name, create=True), 0, (name.encode(),))
        disk.rename("log/a", "log/b")
        disk.rename("log", "log.deleted")
        return disk.list("")

    assert boot(disk, work) == ["log.deleted"]
    assert disk.contents("log.deleted/b") == b"log/a"
    assert disk.paths() == ["log.deleted/b"]


def test_a_tree_is_removed_with_everything_in_it() -> None:
    disk = a_disk()

    def work(disk: Disk) -> tuple[bool, list[str]]:
        disk.mkdir("log")
        disk.mkdir("log/below")
        disk.close(disk.open("log/below/a", create=True))
        disk.remove_tree("log")
        return disk.exists("log"), disk.list("")

    assert boot(disk, work) == (False, [])


@pytest.mark.parametrize(
    ("number", "work"),
    [
        (errno.ENOENT, lambda disk: disk.open("none")),
        (errno.ENOENT, lambda disk: disk.open("none/a", create=True)),
        (errno.ENOENT, lambda disk: disk.unlink("none")),
        (errno.ENOENT, lambda disk: disk.rename("none", "a")),
        (errno.ENOENT, lambda disk: disk.list("none")),
        (errno.ENOENT, lambda disk: disk.remove_tree("none")),
        (errno.ENOTDIR, lambda disk: disk.list("a")),
        (errno.ENOTDIR, lambda disk: disk.rename("dir", "a")),
        (errno.EISDIR, lambda disk: disk.open("dir")),
        (errno.EISDIR, lambda disk: disk.unlink("dir")),
        (errno.EISDIR, lambda disk: disk.rename("a", "dir")),
        (errno.ENOTEMPTY, lambda disk: disk.rename("other", "dir")),
        (errno.EEXIST, lambda disk: disk.mkdir("dir")),
    ],
)
def test_a_call_that_makes_no_sense_is_refused_as_linux_does(
    number: int, work: Callable[[Disk], object]
) -> None:
    disk = a_disk()
    create(disk, "a")
    boot(disk, lambda disk: disk.mkdir("dir"))
    boot(disk, lambda disk: disk.mkdir("other"))
    create(disk, "dir/below")

    with pytest.raises(DiskError) as refused:
        boot(disk, work)

    assert refused.value.errno == number
    assert disk.paths() == ["a", "dir/below"]


def test_a_blocking_call_outside_a_job_is_a_bug() -> None:
    disk = a_disk()
    file = create(disk)

    with pytest.raises(AssertionError, match="may block"):
        disk.sync(file)


def test_a_closed_handle_is_a_bug() -> None:
    disk = a_disk()
    file = create(disk)
    boot(disk, lambda disk: disk.close(file))

    with pytest.raises(AssertionError, match="closed"):
        disk.append(file, 0, (b"x",))


def test_a_cold_read_finds_nothing_until_a_blocking_read_warmed_it() -> None:
    disk = a_disk()
    file = create(disk, contents=b"z" * 9000)
    disk.faults.would_block = 1.0

    first = disk.read(file, 0, 9000)
    disk.faults.would_block = 0.0
    still_cold = disk.read(file, 5000, 10)
    boot(disk, lambda disk: disk.read_blocking(file, 0, 9000))

    assert (first, still_cold) == (None, None)
    assert disk.read(file, 0, 9000) == b"z" * 9000


# What survives.


@pytest.mark.parametrize("seed", range(20))
def test_what_was_synced_survives_a_power_cut(seed: int) -> None:
    disk = a_disk(seed)
    file = create(disk, contents=b"a" * 5000)
    disk.append(file, 5000, (b"b" * 5000,))
    sync(disk, file)
    disk.append(file, 10000, (b"c" * 5000,))

    survivor = contents_after_crash(disk)

    assert survivor[:10000] == b"a" * 5000 + b"b" * 5000


@pytest.mark.parametrize(
    ("mode", "expected"),
    [(CrashMode.LOST, b"durable"), (CrashMode.KEPT, b"durable, or not")],
)
def test_a_power_cut_may_take_all_or_nothing(mode: CrashMode, expected: bytes) -> None:
    disk = a_disk(mode=mode)
    file = create(disk, contents=b"durable")
    disk.append(file, 7, (b", or not",))

    assert contents_after_crash(disk) == expected


def test_a_power_cut_may_keep_any_prefix() -> None:
    written = bytes(range(1, 200))

    def build(seed: int) -> SimDisk:
        disk = a_disk(seed, CrashMode.PREFIX)
        disk.append(create(disk), 0, (written,))
        return disk

    survivors = outcomes(build, lambda disk: disk.contents("a"))

    assert all(written.startswith(survivor) for survivor in survivors)
    assert len(survivors) > 50


def test_a_power_cut_may_keep_later_pages_and_zeros_for_earlier_ones() -> None:
    def build(seed: int) -> SimDisk:
        disk = a_disk(seed, CrashMode.PAGES)
        disk.append(create(disk), 0, (b"x" * PAGE + b"y" * PAGE,))
        return disk

    survivors = outcomes(build, lambda disk: disk.contents("a"))

    assert bytes(PAGE) + b"y" * PAGE in survivors
    assert b"x" * PAGE + bytes(PAGE) in survivors


def test_a_power_cut_may_keep_the_size_without_the_data() -> None:
    disk = a_disk(mode=CrashMode.ZERO_TAIL)
    disk.append(create(disk, contents=b"durable"), 7, (b"x" * 1000,))

    survivor = contents_after_crash(disk)

    assert survivor == b"durable".ljust(len(survivor), b"\0")


def test_an_overwritten_page_tears_between_sectors_and_never_within_one() -> None:
    def build(seed: int) -> SimDisk:
        disk = a_disk(seed, CrashMode.TORN)
        disk.append(create(disk, contents=b"o" * PAGE), 0, (b"n" * PAGE,))
        return disk

    survivors = list(outcomes(build, lambda disk: disk.contents("a")))

    sectors = [image[at : at + SECTOR] for image in survivors for at in range(0, PAGE, SECTOR)]
    assert len(survivors) > 50
    assert sorted(dict.fromkeys(sectors)) == [b"n" * SECTOR, b"o" * SECTOR]


def test_files_survive_independently_of_each_other() -> None:
    def build(seed: int) -> SimDisk:
        disk = a_disk(seed)
        disk.append(create(disk, "a"), 0, (b"first",))
        disk.append(create(disk, "b"), 0, (b"second",))
        return disk

    survivors = outcomes(build, lambda disk: (disk.contents("a"), disk.contents("b")))

    assert (b"", b"second") in survivors
    assert (b"first", b"") in survivors


def test_a_truncation_that_was_not_synced_may_be_undone_with_all_that_followed() -> None:
    def build(seed: int) -> SimDisk:
        disk = a_disk(seed, CrashMode.KEPT)
        file = create(disk, contents=b"before")
        boot(disk, lambda disk: disk.truncate(file, 2))
        disk.append(file, 2, (b"tter",))
        return disk

    survivors = outcomes(build, lambda disk: disk.contents("a"))

    assert sorted(survivors) == [b"before", b"better"]


def test_a_synced_truncation_stands() -> None:
    def build(seed: int) -> SimDisk:
        disk = a_disk(seed)
        file = create(disk, contents=b"before")
        boot(disk, lambda disk: disk.truncate(file, 2))
        sync(disk, file)
        return disk

    assert list(outcomes(build, lambda disk: disk.contents("a"))) == [b"be"]


def test_a_name_survives_for_certain_only_when_its_directory_was_synced() -> None:
    def build(seed: int) -> SimDisk:
        disk = a_disk(seed)
        create(disk, "synced")
        boot(disk, lambda disk: disk.sync(disk.open("unsynced", create=True)))
        return disk

    survivors = outcomes(build, lambda disk: tuple(disk.paths()))

    assert sorted(survivors) == [("synced",), ("synced", "unsynced")]


def test_a_rename_is_done_or_undone_and_nothing_between() -> None:
    def build(seed: int) -> SimDisk:
        disk = a_disk(seed)
        create(disk, "a", b"old")
        create(disk, "a.tmp", b"new")
        boot(disk, lambda disk: disk.rename("a.tmp", "a"))
        return disk

    survivors = outcomes(build, lambda disk: (tuple(disk.paths()), disk.contents("a")))

    assert sorted(survivors) == [(("a",), b"new"), (("a", "a.tmp"), b"old")]


def test_an_unlink_that_was_not_synced_may_be_undone() -> None:
    def build(seed: int) -> SimDisk:
        disk = a_disk(seed)
        create(disk, "a", b"back")
        boot(disk, lambda disk: disk.unlink("a"))
        return disk

    survivors = outcomes(build, lambda disk: [disk.contents(path) for path in disk.paths()] == [])

    assert len(survivors) == 2


def test_the_sync_of_a_directory_covers_the_earlier_life_of_its_names() -> None:
    def build(seed: int) -> SimDisk:
        disk = a_disk(seed)

        def work(disk: Disk) -> None:
            for name in ("one", "two"):
                disk.mkdir(name)
            disk.sync_dir("")
            disk.close(disk.open("one/a", create=True))
            disk.rename("one/a", "two/a")
            disk.sync_dir("two")

        boot(disk, work)
        return disk

    assert list(outcomes(build, lambda disk: tuple(disk.paths()))) == [("two/a",)]


def test_kill_9_takes_the_handles_and_leaves_the_page_cache() -> None:
    disk = a_disk()
    file = create(disk, contents=b"synced")
    disk.append(file, 6, (b", cached",))
    boot(disk, lambda disk: disk.unlink("a"))
    kept = create(disk, "b")
    disk.append(kept, 0, (b"cached",))

    disk.kill()

    assert (disk.paths(), disk.open_paths(), disk.used_pages) == (["b"], [], 1)
    assert disk.contents("b") == b"cached"
    with pytest.raises(PowerCut):
        disk.append(kept, 0, (b"of a former life",))


def test_the_durability_of_a_range_can_be_asked() -> None:
    disk = a_disk()
    file = create(disk, contents=b"synced")
    disk.append(file, 6, (b", cached",))
    boot(disk, lambda disk: disk.sync(disk.open("nameless", create=True)))

    assert disk.is_durable("a", 0, 6)
    assert not disk.is_durable("a", 0, 7)
    assert not disk.is_durable("a", 0, 100)
    assert not disk.is_durable("nameless", 0, 0)
    assert disk.durable_contents("a") == b"synced"


# Faults.


def test_a_failed_sync_is_followed_by_one_that_succeeds_and_saves_nothing() -> None:
    lost = 0
    for seed in range(40):
        disk = a_disk(seed)
        file = create(disk)
        disk.append(file, 0, (b"x" * PAGE,))
        disk.faults.sync_error = 1.0
        with pytest.raises(DiskError):
            sync(disk, file)
        disk.faults.sync_error = 0.0

        sync(disk, file)

        assert disk.contents("a") == b"x" * PAGE
        lost += contents_after_crash(disk) == bytes(PAGE)
    assert 5 < lost < 35


def test_an_eviction_shows_what_a_failed_sync_lost() -> None:
    disk = a_disk(seed=3)
    file = create(disk)
    disk.append(file, 0, (b"x" * (8 * PAGE),))
    disk.faults.sync_error = 1.0
    with pytest.raises(DiskError):
        sync(disk, file)

    before = disk.contents("a")
    disk.evict("a")

    assert before == b"x" * (8 * PAGE)
    assert disk.contents("a") != before
    assert disk.read(file, 0, 1) is None


def test_a_failed_append_leaves_a_prefix_behind() -> None:
    world = World(2)
    disk = SimDisk(world)
    file = create(disk)
    disk.faults.write_error = 1.0

    with pytest.raises(DiskError):
        disk.append(file, 0, (b"abc" * 100, b"def" * 100))

    left = disk.contents("a")
    assert (b"abc" * 100 + b"def" * 100).startswith(left)
    assert world.ledger.faults == {"disk.append_EIO": 1}


def test_a_full_disk_cuts_an_append_at_a_page_and_room_brings_it_back() -> None:
    disk = a_disk()
    file = create(disk, contents=b"x" * 100)
    disk.fill(free_pages=1)

    with pytest.raises(DiskError) as full:
        disk.append(file, 100, (b"y" * 5000, b"z" * 5000))
    landed = disk.contents("a")
    disk.free_space()
    disk.append(file, len(landed), (b"!",))

    assert full.value.errno == errno.ENOSPC
    assert landed == (b"x" * 100 + b"y" * 5000 + b"z" * 5000)[: 2 * PAGE]
    assert disk.contents("a") == landed + b"!"


def test_a_disk_can_be_full_between_the_log_and_its_index() -> None:
    disk = a_disk()
    log, index = create(disk, "log"), create(disk, "index")
    boot(disk, lambda disk: disk.truncate(index, 10 * PAGE))
    disk.fill(free_pages=1)

    disk.append(log, 0, (b"x",))
    with pytest.raises(DiskError):
        disk.append(index, 0, (b"entry",))

    assert disk.contents("log") == b"x"
    assert disk.contents("index") == bytes(10 * PAGE)


def test_a_full_disk_still_takes_what_was_allocated_before() -> None:
    disk = a_disk()
    file = create(disk, contents=b"x" * 100)
    disk.fill()

    disk.append(file, 50, (b"y" * 100,))

    assert disk.contents("a") == b"x" * 50 + b"y" * 100


@pytest.mark.parametrize(
    ("kind", "zeros"), [("page", range(PAGE, 2 * PAGE)), ("sector", range(5632, 6144))]
)
def test_rot_zeroes_a_page_or_a_sector(kind: str, zeros: range) -> None:
    disk = a_disk()
    create(disk, contents=b"x" * (3 * PAGE))

    disk.rot("a", 5700, "page" if kind == "page" else "sector")

    damaged = [at for at, byte in enumerate(disk.contents("a")) if byte == 0]
    assert damaged == list(zeros)
    assert disk.durable_contents("a") == disk.contents("a")


def test_rot_flips_one_bit_and_the_size_stays() -> None:
    disk = a_disk()
    create(disk, contents=b"x" * 100)

    disk.rot("a", 70)

    damaged = disk.contents("a")
    assert [at for at in range(100) if damaged[at] != ord("x")] == [70]
    assert (damaged[70] ^ ord("x")).bit_count() == 1


def test_a_file_can_be_replaced_behind_everybodys_back() -> None:
    disk = a_disk()
    create(disk, contents=b"whole")

    disk.put("a", b"torn"[:3])

    assert contents_after_crash(disk) == b"tor"


def test_power_may_fail_in_the_middle_of_an_append() -> None:
    disk = a_disk(seed=5)
    file = create(disk)
    disk.cut_after(2)
    disk.append(file, 0, (b"whole",))

    with pytest.raises(PowerCut):
        disk.append(file, 5, (b"x" * 1000,))
    with pytest.raises(PowerCut):
        disk.read(file, 0, 1)
    disk.kill()

    left = disk.contents("a")
    assert left == b"whole" + b"x" * (len(left) - 5)
    assert len(left) < 1005


def test_a_seed_draws_the_same_images_again() -> None:
    def story(seed: int) -> tuple[str, bytes]:
        world = World(seed)
        disk = SimDisk(world)
        disk.faults.write_back = 0.5
        file = create(disk)
        for at in range(50):
            disk.append(file, at * 300, (bytes([at]) * 300,))
        disk.crash()
        return world.trace.digest(), disk.contents("a")

    assert story(9) == story(9)
    assert story(9) != story(10)
