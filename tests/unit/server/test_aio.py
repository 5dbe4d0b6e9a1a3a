import os
import select
from pathlib import Path

import pytest

from ottla.server.aio import KernelSync, Unavailable, open_kernel_sync


def wait(sync: KernelSync) -> None:
    poll = select.poll()
    poll.register(sync.event_fd, select.POLLIN)
    assert poll.poll(10_000)


@pytest.fixture
def sync(tmp_path: Path) -> KernelSync:
    fd = os.open(tmp_path / "probe", os.O_RDWR | os.O_CREAT)
    try:
        found = open_kernel_sync(fd)
    finally:
        os.close(fd)
    if found is None:
        pytest.skip("this kernel or file system has no asynchronous sync")
    return found


def test_a_sync_is_announced_and_has_its_result(sync: KernelSync, tmp_path: Path) -> None:
    fd = os.open(tmp_path / "file", os.O_RDWR | os.O_CREAT)
    os.write(fd, b"x" * 10_000)
    sync.start(fd)
    wait(sync)
    assert sync.take_result() == 0
    assert sync.take_result() is None
    os.close(fd)


def test_one_can_follow_another(sync: KernelSync, tmp_path: Path) -> None:
    fd = os.open(tmp_path / "file", os.O_RDWR | os.O_CREAT)
    for _ in range(20):
        os.write(fd, b"x")
        sync.start(fd)
        wait(sync)
        assert sync.take_result() == 0
    os.close(fd)


def test_what_cannot_be_synced_so_is_left_to_the_thread(sync: KernelSync) -> None:
    reader, writer = os.pipe()
    with pytest.raises(Unavailable):
        sync.start(reader)
    assert open_kernel_sync(reader) is None
    os.close(reader)
    os.close(writer)
