"""The `Disk` port over a real directory."""

import errno
import os
import stat
from pathlib import Path

import pytest

from ottla.errors import DiskError
from ottla.server.disk import PROBE_BYTES, OsDisk


@pytest.fixture
def disk(tmp_path: Path) -> OsDisk:
    return OsDisk(tmp_path / "data")


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def test_the_directory_and_its_files_are_for_their_owner_alone(tmp_path: Path) -> None:
    root = tmp_path / "data"
    root.mkdir(mode=0o755)
    disk = OsDisk(root)
    disk.close(disk.open("file", create=True))
    disk.mkdir("directory")
    assert mode(root) == 0o700
    assert mode(root / "file") == 0o600
    assert mode(root / "directory") == 0o700
    assert disk.list("") == ["directory", "file"]


def test_a_second_process_is_kept_out(tmp_path: Path) -> None:
    disk = OsDisk(tmp_path / "data")
    disk.lock()
    pid = os.fork()
    if pid == 0:
        try:
            OsDisk(tmp_path / "data").lock()
        except DiskError:
            os._exit(7)
        os._exit(0)
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 7


def test_a_directory_that_cannot_be_is_a_disk_error(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"")
    with pytest.raises(DiskError):
        OsDisk(tmp_path / "file" / "data")
    with pytest.raises(DiskError):
        OsDisk(Path("/proc/self/nothing"))


def test_parts_are_written_one_behind_the_other(disk: OsDisk) -> None:
    file = disk.open("file", create=True)
    disk.append(file, 0, (b"ab", memoryview(b"cd"), bytearray(b"ef")))
    disk.append(file, 3, (b"X",))
    assert disk.read(file, 0, 100) == b"abcXef"
    assert disk.read(file, 4, 1) == b"e"
    assert disk.read_blocking(file, 2, 2) == b"cX"
    assert disk.size(file) == 6
    disk.truncate(file, 2)
    assert disk.read(file, 0, 100) == b"ab"


def test_a_short_write_is_finished(disk: OsDisk, monkeypatch: pytest.MonkeyPatch) -> None:
    file = disk.open("file", create=True)
    real = os.pwritev
    monkeypatch.setattr(os, "pwritev", lambda fd, parts, at: real(fd, [parts[0][:1]], at))
    disk.append(file, 0, (b"abc", b"def"))
    assert disk.read_blocking(file, 0, 10) == b"abcdef"


def test_a_full_device_is_said_to_be_full(disk: OsDisk, monkeypatch: pytest.MonkeyPatch) -> None:
    file = disk.open("file", create=True)
    monkeypatch.setattr(os, "pwritev", lambda fd, parts, at: 1)
    monkeypatch.setattr(os, "pwrite", lambda fd, data, at: 0)
    with pytest.raises(DiskError) as caught:
        disk.append(file, 0, (b"abc",))
    assert caught.value.is_full


def test_a_cold_page_is_none_and_not_a_wait(disk: OsDisk, monkeypatch: pytest.MonkeyPatch) -> None:
    file = disk.open("file", create=True)
    disk.append(file, 0, (bytes(2 * PROBE_BYTES),))
    disk._can_refuse_to_block = True

    def refuse(fd: int, buffers: object, at: int, flags: int) -> int:
        raise BlockingIOError(errno.EAGAIN, "cold")

    assert disk.is_cached(file, 0, 2 * PROBE_BYTES)
    monkeypatch.setattr(os, "preadv", refuse)
    assert disk.read(file, 0, 10) is None
    assert not disk.is_cached(file, 0, 2 * PROBE_BYTES)
    assert disk.is_cached(file, 0, 100), "a short range was just read or written"


def test_half_a_range_in_the_cache_is_a_cold_range(
    disk: OsDisk, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = disk.open("file", create=True)
    disk.append(file, 0, (b"abcdef",))
    disk._can_refuse_to_block = True
    monkeypatch.setattr(os, "preadv", lambda fd, buffers, at, flags: 3)
    assert disk.read(file, 0, 6) is None
    assert disk.read(file, 3, 6) == b"\0\0\0", "this one ends at the end of the file"


def test_where_nothing_can_be_refused_reads_are_plain(
    disk: OsDisk, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = disk.open("file", create=True)
    disk.append(file, 0, (b"abc",))
    disk._can_refuse_to_block = False
    monkeypatch.setattr(os, "preadv", None)
    assert disk.read(file, 0, 3) == b"abc"
    assert disk.is_cached(file, 0, 10 * PROBE_BYTES)


def test_a_read_that_fails_is_a_disk_error(disk: OsDisk, monkeypatch: pytest.MonkeyPatch) -> None:
    file = disk.open("file", create=True)
    disk._can_refuse_to_block = True

    def fail(*arguments: object) -> int:
        raise OSError(errno.EIO, "Input/output error")

    monkeypatch.setattr(os, "preadv", fail)
    with pytest.raises(DiskError):
        disk.read(file, 0, 1)


def test_what_is_not_there_is_a_disk_error(disk: OsDisk) -> None:
    for call in (
        lambda: disk.open("nothing"),
        lambda: disk.unlink("nothing"),
        lambda: disk.rename("nothing", "other"),
        lambda: disk.list("nothing"),
        lambda: disk.sync_dir("nothing"),
        lambda: disk.remove_tree("nothing"),
        lambda: disk.mkdir("nothing/at/all"),
    ):
        with pytest.raises(DiskError) as caught:
            call()
        assert caught.value.errno == errno.ENOENT
    assert not disk.exists("nothing")


def test_directories_come_and_go(disk: OsDisk) -> None:
    disk.mkdir("a")
    file = disk.open("a/file", create=True)
    disk.append(file, 0, (b"x",))
    disk.sync(file)
    disk.sync_dir("a")
    disk.sync_dir("")
    disk.rename("a", "b")
    assert disk.exists("b/file")
    disk.close(file)
    disk.remove_tree("b")
    assert disk.list("") == []
    with pytest.raises(DiskError):
        disk.close(file)
