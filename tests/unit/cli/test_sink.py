import asyncio
import os
from collections.abc import Iterator
from pathlib import Path

import click
import pytest

from ottla.cli.sink import BUFFER_BYTES_MAX, Sink


async def turn() -> None:
    """Twice: a watch of the selector is noticed in one turn and called in the next."""
    await asyncio.sleep(0)
    await asyncio.sleep(0)


def test_what_is_written_leaves_when_the_loop_comes_around() -> None:
    async def write() -> tuple[bytes, bytes]:
        out, into = os.pipe()
        os.set_blocking(out, False)
        sink = Sink(into, lambda: None)
        sink.write(b"a")
        sink.write(b"b")
        with pytest.raises(BlockingIOError):
            os.read(out, 10)
        await turn()
        first = os.read(out, 10)
        sink.write(b"c")
        sink.close()
        second = os.read(out, 10)
        os.close(into)
        os.close(out)
        return first, second

    assert asyncio.run(write()) == (b"ab", b"c")


def test_a_burst_does_not_pile_up_in_memory(tmp_path: Path) -> None:
    async def write() -> int:
        with (tmp_path / "out").open("wb") as file:
            sink = Sink(file.fileno(), lambda: None)
            sink.write(b"x" * BUFFER_BYTES_MAX)
            return (tmp_path / "out").stat().st_size

    assert asyncio.run(write()) == BUFFER_BYTES_MAX


def test_a_reader_that_leaves_ends_it_though_nothing_is_written() -> None:
    async def wait() -> Exception | None:
        out, into = os.pipe()
        over = asyncio.Event()
        sink = Sink(into, over.set)
        os.close(out)
        await over.wait()
        with pytest.raises(BrokenPipeError):
            sink.close()
        os.close(into)
        return sink.trouble

    assert isinstance(asyncio.run(wait()), BrokenPipeError)


@pytest.fixture
def full_disk() -> Iterator[int]:
    with open("/dev/full", "wb", buffering=0) as full:
        yield full.fileno()


def test_a_disk_that_is_full_is_told_by_name(full_disk: int) -> None:
    async def write() -> None:
        over: list[str] = []
        sink = Sink(full_disk, lambda: over.append("over"))
        sink.write(b"x")
        await turn()
        assert over == ["over"]
        with pytest.raises(click.ClickException, match="No space left on device"):
            sink.close()

    asyncio.run(write())


def test_trouble_is_told_to_the_writer_and_not_once_more_behind_his_back(full_disk: int) -> None:
    async def write() -> list[str]:
        over: list[str] = []
        sink = Sink(full_disk, lambda: over.append("over"))
        sink.write(b"x")
        with pytest.raises(click.ClickException):
            sink.write(b"x" * BUFFER_BYTES_MAX)
        await turn()
        return over

    assert asyncio.run(write()) == []
