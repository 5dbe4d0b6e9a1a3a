"""Descriptors of segments: those that are written keep theirs, the others share a few."""

import errno
import os
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path

import pytest

from ottla.errors import DiskError
from ottla.server.disk import OsDisk
from ottla.server.files import OsFile
from ottla.storage.segment import file_stem

OPEN_MAX = 2


@pytest.fixture
def disk(tmp_path: Path) -> OsDisk:
    disk = OsDisk(tmp_path / "data", followed_open_max=OPEN_MAX)
    disk._can_refuse_to_block = True
    return disk


@pytest.fixture
def thread() -> Iterator[ThreadPoolExecutor]:
    with ThreadPoolExecutor(1) as pool:
        yield pool


def path_of(number: int, directory: str = "t-0") -> str:
    return f"{directory}/{file_stem(number)}.log"


def content_of(number: int) -> bytes:
    return b"segment %d" % number


def made(disk: OsDisk, count: int, directory: str = "t-0") -> list[OsFile]:
    """Segments as a start finds them."""
    disk.mkdir(directory)
    files = []
    for number in range(count):
        files.append(disk.open(path_of(number, directory), create=True))
        disk.append(files[-1], 0, (content_of(number),))
    return files


def open_names(disk: OsDisk) -> list[str]:
    """What this process has open below the directory, by the kernel's own account."""
    links = [f"/proc/self/fd/{number}" for number in os.listdir("/proc/self/fd")]
    found = [os.readlink(link) for link in links if os.path.islink(link)]
    return sorted(name.removeprefix(f"{disk.root}/") for name in found if str(disk.root) in name)


def numbers_open(disk: OsDisk) -> list[int]:
    return [int(Path(name).name[:20]) for name in open_names(disk)]


def warm_read(disk: OsDisk, file: OsFile, size: int = 100) -> bytes:
    """As the core reads: a job warms what it would have to wait for."""
    data = disk.read(file, 0, size)
    if data is None:
        with ThreadPoolExecutor(1) as pool:
            pool.submit(disk.read_blocking, file, 0, size).result()
        data = disk.read(file, 0, size)
    assert data is not None
    return data


def roll(disk: OsDisk, thread: ThreadPoolExecutor, number: int) -> OsFile:
    """A job makes the file, the loop writes into it."""
    file = thread.submit(partial(disk.open, path_of(number), create=True)).result()
    disk.append(file, 0, (content_of(number),))
    return file


def test_a_start_keeps_few_closed_segments_open_and_each_that_is_written(disk: OsDisk) -> None:
    made(disk, 9)
    made(disk, 1, "u-0")
    made(disk, 1, "v-0")
    assert open_names(disk) == [
        *(path_of(number) for number in (6, 7, 8)),
        *(path_of(0, "u-0"), path_of(0, "v-0")),
    ]


def test_what_is_shut_is_a_cold_range_and_a_job_opens_it(disk: OsDisk) -> None:
    files = made(disk, 9)
    assert disk.read(files[0], 0, 100) is None
    assert not disk.is_cached(files[0], 0, 100)
    assert warm_read(disk, files[0]) == content_of(0)
    assert disk.is_cached(files[0], 0, 100)
    assert numbers_open(disk) == [0, 7, 8]


def test_the_one_that_nobody_asked_for_longest_is_shut(disk: OsDisk) -> None:
    files = made(disk, 5)
    assert numbers_open(disk) == [2, 3, 4]
    disk.read(files[2], 0, 1)
    warm_read(disk, files[0])
    assert numbers_open(disk) == [0, 2, 4]


def test_every_segment_can_be_read_synced_measured_and_cut(disk: OsDisk) -> None:
    files = made(disk, 9)
    assert [warm_read(disk, file) for file in files] == [content_of(at) for at in range(9)]
    for file in files:
        disk.sync(file)
        assert disk.size(file) == 9
        disk.truncate(file, 3)
    assert [warm_read(disk, file) for file in files] == [b"seg"] * 9
    assert len(numbers_open(disk)) == OPEN_MAX + 1


def test_a_roll_closes_nothing_before_the_loop_writes_to_the_new_segment(
    disk: OsDisk, thread: ThreadPoolExecutor
) -> None:
    (first,) = made(disk, 1)
    number = first.fileno()
    for at in range(1, 6):
        thread.submit(partial(disk.open, path_of(at), create=True)).result()
    assert first.fd == number
    assert os.pread(number, 7, 0) == b"segment"


def test_a_segment_is_shut_only_when_its_bytes_are_durable(
    disk: OsDisk, thread: ThreadPoolExecutor, monkeypatch: pytest.MonkeyPatch
) -> None:
    files = made(disk, 1)
    synced: list[str] = []
    real = os.fdatasync

    def note(fd: int) -> None:
        synced.append(os.readlink(f"/proc/self/fd/{fd}"))
        real(fd)

    monkeypatch.setattr(os, "fdatasync", note)
    for number in range(1, 5):
        files.append(roll(disk, thread, number))
    thread.submit(disk.sync, files[1]).result()
    files.append(roll(disk, thread, 5))
    assert [int(Path(name).name[:20]) for name in synced] == [0, 1]
    assert numbers_open(disk) == [2, 3, 4, 5], "one more was followed since room was made"
    assert [warm_read(disk, file) for file in files] == [content_of(at) for at in range(6)]


def test_a_sync_from_before_the_last_write_does_not_count(
    disk: OsDisk, thread: ThreadPoolExecutor
) -> None:
    (first,) = made(disk, 1)
    disk.sync(first)
    disk.append(first, 0, (b"S",))
    roll(disk, thread, 1)
    assert not first.is_synced
    disk.sync(first)
    assert first.is_synced


def test_a_sync_that_fails_while_room_is_made_is_told(
    disk: OsDisk, thread: ThreadPoolExecutor, monkeypatch: pytest.MonkeyPatch
) -> None:
    made(disk, 1)
    for number in range(1, 4):
        roll(disk, thread, number)

    def fail(fd: int) -> None:
        raise OSError(errno.EIO, "Input/output error")

    monkeypatch.setattr(os, "fdatasync", fail)
    with pytest.raises(DiskError):
        roll(disk, thread, 4)
    assert numbers_open(disk) == [0, 1, 2, 3]


def test_what_the_loop_is_about_to_send_stays_open(disk: OsDisk) -> None:
    files = made(disk, 9)
    number = files[0].fileno()
    with ThreadPoolExecutor(1) as pool:
        for file in files[1:]:
            pool.submit(disk.read_blocking, file, 0, 1).result()
    assert os.pread(number, 100, 0) == content_of(0)
    assert files[1].fileno() != number


def test_what_a_job_is_using_stays_open(disk: OsDisk, monkeypatch: pytest.MonkeyPatch) -> None:
    files = made(disk, 9)
    real = os.pread
    depth: list[int] = []

    def read_others_first(fd: int, size: int, at: int) -> bytes:
        if not depth:
            depth.append(fd)
            for file in files[1:]:
                disk.read_blocking(file, 0, 1)
        return real(fd, size, at)

    monkeypatch.setattr(os, "pread", read_others_first)
    assert disk.read_blocking(files[0], 0, 100) == content_of(0)


def test_a_renamed_log_is_read_where_it_is_now(disk: OsDisk) -> None:
    files = made(disk, 6)
    disk.rename("t-0", "t-0.doomed-delete")
    others = made(disk, 6)
    for other in others:
        disk.append(other, 0, (b"another",))
    assert [warm_read(disk, file) for file in files] == [content_of(at) for at in range(6)]


@pytest.mark.parametrize("remove", [OsDisk.remove_tree, None], ids=["tree", "one"])
def test_what_is_removed_stays_readable_until_it_is_closed(
    disk: OsDisk, remove: Callable[[OsDisk, str], None] | None
) -> None:
    files = made(disk, 6)
    if remove is not None:
        remove(disk, "t-0")
    else:
        for at in range(6):
            disk.unlink(path_of(at))
    made(disk, 9, "u-0")
    assert [warm_read(disk, file) for file in files] == [content_of(at) for at in range(6)]
    for file in files:
        disk.close(file)
    assert all(name.startswith("u-0/") for name in open_names(disk))


def test_another_file_in_its_place_is_not_taken_for_it(disk: OsDisk) -> None:
    files = made(disk, 6)
    place = disk.root / path_of(0)
    place.unlink()
    place.write_bytes(b"another")
    with pytest.raises(DiskError):
        disk.read_blocking(files[0], 0, 1)
    with pytest.raises(OSError):
        files[0].fileno()


def test_what_is_closed_is_gone_open_or_shut(disk: OsDisk) -> None:
    files = made(disk, 6)
    for file in files:
        disk.close(file)
    assert open_names(disk) == []
    for file in files:
        with pytest.raises(DiskError):
            disk.read_blocking(file, 0, 1)
        with pytest.raises(DiskError):
            disk.close(file)


def test_a_file_that_a_job_still_uses_is_closed_behind_it(
    disk: OsDisk, monkeypatch: pytest.MonkeyPatch
) -> None:
    files = made(disk, 1)
    real = os.pread

    def close_first(fd: int, size: int, at: int) -> bytes:
        disk.close(files[0])
        return real(fd, size, at)

    monkeypatch.setattr(os, "pread", close_first)
    assert disk.read_blocking(files[0], 0, 100) == content_of(0)
    assert open_names(disk) == []


def test_when_the_newest_is_closed_the_one_before_is_written_again(disk: OsDisk) -> None:
    """Recovery removes what follows a torn segment."""
    files = made(disk, 5)
    for file in files[2:]:
        disk.unlink(file.path)
        disk.close(file)
    disk.append(files[1], 0, (b"S",))
    made(disk, 9, "u-0")
    assert path_of(1) in open_names(disk)
    assert warm_read(disk, files[1]) == b"Segment 1"


def test_out_of_descriptors_those_of_closed_segments_are_given_up(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    disk = OsDisk(tmp_path / "data", followed_open_max=100)
    made(disk, 9)
    real, left = os.open, [errno.EMFILE]

    def refuse_once(path: str, flags: int, mode: int = 0o777) -> int:
        if left:
            raise OSError(left.pop(), "Too many open files")
        return real(path, flags, mode)

    monkeypatch.setattr(os, "open", refuse_once)
    disk.open("u", create=True)
    assert open_names(disk) == [path_of(8), "u"]
    left += [errno.EMFILE]
    with pytest.raises(DiskError):
        disk.open("v", create=True)


def test_readers_in_three_threads_and_a_log_that_rolls_never_meet_another_file(
    disk: OsDisk, thread: ThreadPoolExecutor
) -> None:
    files = made(disk, 12)
    wrong: list[bytes] = []
    is_over = threading.Event()

    def read_all() -> None:
        while not is_over.is_set():
            for at in range(12):
                data = disk.read_blocking(files[at], 0, 100)
                if data != content_of(at):
                    wrong.append(data)

    with ThreadPoolExecutor(3) as readers:
        readings = [readers.submit(read_all) for _ in range(3)]
        for number in range(12, 60):
            files.append(roll(disk, thread, number))
            for at in range(number):
                data = os.pread(files[at].fileno(), 100, 0)
                if data != content_of(at):
                    wrong.append(data)
        is_over.set()
        for reading in readings:
            reading.result()
    assert wrong == []
