import errno
import os
import select
from collections.abc import Iterator
from pathlib import Path

import pytest

from ottla.server.aio import REFUSALS, DirectWriter, Unavailable

BLOCK = 512


def result_of(writer: DirectWriter) -> int | None:
    poll = select.poll()
    poll.register(writer.event_fd, select.POLLIN)
    assert poll.poll(10_000)
    return writer.take_result()


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path = tmp_path / "journal"
    path.write_bytes(bytes(64 * BLOCK))
    return path


@pytest.fixture
def writer(path: Path) -> Iterator[DirectWriter]:
    try:
        writer = DirectWriter(os.open(path, os.O_RDWR | os.O_DIRECT))
        writer.start(0, bytes(BLOCK))
    except (OSError, Unavailable) as refused:
        pytest.skip(f"no direct writes here: {refused}")
    if result_of(writer) in REFUSALS:
        pytest.skip("this file system refuses direct writes")
    yield writer
    writer.close()


def test_what_was_written_is_announced_and_stands_in_the_file(
    writer: DirectWriter, path: Path
) -> None:
    writer.start(2 * BLOCK, b"x" * BLOCK)
    assert result_of(writer) == 0
    assert writer.take_result() is None
    assert path.read_bytes()[BLOCK : 4 * BLOCK] == bytes(BLOCK) + b"x" * BLOCK + bytes(BLOCK)


def test_one_can_follow_another_and_each_write_has_its_own_bytes(
    writer: DirectWriter, path: Path
) -> None:
    for number in range(20):
        writer.start(number * BLOCK, bytes([number]) * BLOCK)
        assert result_of(writer) == 0
    found = path.read_bytes()
    assert [found[number * BLOCK] for number in range(20)] == list(range(20))


def test_a_page_that_was_read_before_shows_what_was_written_past_it(
    writer: DirectWriter, path: Path
) -> None:
    fd = os.open(path, os.O_RDWR)
    assert os.pread(fd, 4, 0) == bytes(4)
    os.pwrite(fd, b"page", 4096)
    writer.start(0, b"y" * BLOCK)
    assert result_of(writer) == 0
    assert os.pread(fd, 4, 0) == b"yyyy"
    assert os.pread(fd, 4, 4096) == b"page"
    os.close(fd)


def test_what_is_not_whole_blocks_is_refused_by_name(writer: DirectWriter) -> None:
    try:
        writer.start(7, b"x" * BLOCK)
    except Unavailable:
        return
    assert result_of(writer) == errno.EINVAL
