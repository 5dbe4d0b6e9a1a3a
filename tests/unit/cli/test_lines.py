import asyncio
import os
from pathlib import Path

import pytest

from ottla.cli.lines import LineTooLong, read_lines


async def collect(fd: int, line_bytes_max: int = 1000) -> list[bytes]:
    return [line async for lines in read_lines(fd, line_bytes_max) for line in lines]


def lines_of_file(path: Path, text: bytes) -> list[bytes]:
    path.write_bytes(text)
    fd = os.open(path, os.O_RDONLY)
    try:
        return asyncio.run(collect(fd))
    finally:
        os.close(fd)


def lines_of_pipe(text: bytes) -> list[bytes]:
    """No more than a pipe takes at once."""
    out, into = os.pipe()
    try:
        os.write(into, text)
        os.close(into)
        return asyncio.run(collect(out))
    finally:
        os.close(out)


@pytest.mark.parametrize(
    ("text", "lines"),
    [
        (b"", []),
        (b"\n", [b""]),
        (b"a\nb\n", [b"a", b"b"]),
        (b"a\n\nb", [b"a", b"", b"b"]),
        (b"a\r\nb\x0bc\x85\xff", [b"a\r", b"b\x0bc\x85\xff"]),
    ],
)
def test_a_line_ends_with_a_newline_or_with_the_input(
    tmp_path: Path, text: bytes, lines: list[bytes]
) -> None:
    assert lines_of_file(tmp_path / "text", text) == lines
    assert lines_of_pipe(text) == lines


def test_a_line_may_reach_over_what_is_read_at_once(tmp_path: Path) -> None:
    long = [b"x" * 300, b"y" * 400] * 1000
    assert lines_of_file(tmp_path / "text", b"\n".join(long)) == long


def test_lines_before_a_pause_do_not_wait_for_those_behind_it() -> None:
    async def talk() -> list[list[bytes]]:
        out, into = os.pipe()
        seen = []
        try:
            lines = read_lines(out, 1000)
            for text in (b"a\nb\nc", b"d\n"):
                os.write(into, text)
                seen.append(await anext(lines))
            await lines.aclose()
        finally:
            os.close(into)
            os.close(out)
        return seen

    assert asyncio.run(talk()) == [[b"a", b"b"], [b"cd"]]


def test_a_line_without_an_end_is_given_up_behind_those_before_it(tmp_path: Path) -> None:
    async def read(fd: int) -> list[bytes]:
        lines = read_lines(fd, 10)
        before = await anext(lines)
        with pytest.raises(LineTooLong):
            await anext(lines)
        return before

    (tmp_path / "text").write_bytes(b"a\nb\n" + b"x" * 11)
    with (tmp_path / "text").open("rb") as file:
        assert asyncio.run(read(file.fileno())) == [b"a", b"b"]
