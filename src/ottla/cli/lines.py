"""Lines of a file, a pipe or a terminal, without making the event loop wait for them."""

import asyncio
import os
from collections.abc import AsyncGenerator

READ_BYTES = 256 << 10


class LineTooLong(Exception):
    """No end of it in so many bytes: it is not kept in memory in the hope of one."""


async def read_lines(fd: int, line_bytes_max: int) -> AsyncGenerator[list[bytes], None]:
    """As many as are there; without their ends, and the last one may do without."""
    partial = b""
    async for chunk in _chunks(fd):
        *lines, partial = (partial + chunk).split(b"\n")
        yield lines
        if len(partial) > line_bytes_max:
            raise LineTooLong(f"it has more than {line_bytes_max:,} bytes")
    if partial:
        yield [partial]


async def _chunks(fd: int) -> AsyncGenerator[bytes, None]:
    while True:
        await _readable(fd)
        chunk = os.read(fd, READ_BYTES)
        if not chunk:
            return
        yield chunk


async def _readable(fd: int) -> None:
    """A watch for this one time: a lasting one would spin while nobody has room for more."""
    loop = asyncio.get_running_loop()
    ready = loop.create_future()

    def on_readable() -> None:
        if not ready.done():
            ready.set_result(None)

    try:
        loop.add_reader(fd, on_readable)
    except PermissionError:
        # A regular file: it can always be read, and epoll takes none. Others have their turn.
        await asyncio.sleep(0)
        return
    try:
        await ready
    finally:
        loop.remove_reader(fd)
