"""Standard output for a stream: few writes, none late, and an end when the reader leaves."""

import asyncio
import os
import stat
from collections.abc import Callable

import click

BUFFER_BYTES_MAX = 64 << 10


class Sink:
    """What is written waits until the loop comes around.

    While records are there it does not, so a burst leaves in large pieces, and the last record
    before a pause leaves at once. Where nothing more can be written, `write` and `close` raise;
    if that shows between two records, `on_over` is called, and `trouble` is what to raise.
    """

    def __init__(self, fd: int, on_over: Callable[[], object]) -> None:
        self.trouble: Exception | None = None
        self._fd = fd
        self._on_over = on_over
        self._loop = asyncio.get_running_loop()
        self._waiting = bytearray()
        self._is_flush_due = False
        # Of a pipe without a reader epoll tells even the one who waits for something to read.
        self._is_watched = stat.S_ISFIFO(os.fstat(fd).st_mode)
        if self._is_watched:
            self._loop.add_reader(fd, self._on_reader_gone)

    def write(self, data: bytes) -> None:
        self._waiting += data
        if len(self._waiting) >= BUFFER_BYTES_MAX:
            self._flush()
        elif not self._is_flush_due:
            self._is_flush_due = True
            self._loop.call_soon(self._flush_between)

    def close(self) -> None:
        self._unwatch()
        self._flush()

    def _flush(self) -> None:
        if self.trouble is not None:
            raise self.trouble
        try:
            while self._waiting:
                del self._waiting[: os.write(self._fd, self._waiting)]
        except BrokenPipeError as error:
            self.trouble = error
            raise
        except OSError as error:
            self.trouble = click.ClickException(f"cannot write the records: {error.strerror}")
            raise self.trouble from error

    def _flush_between(self) -> None:
        self._is_flush_due = False
        if self.trouble is not None:
            return
        try:
            self._flush()
        except (BrokenPipeError, click.ClickException):
            self._unwatch()
            self._on_over()

    def _on_reader_gone(self) -> None:
        self.trouble = BrokenPipeError()
        self._unwatch()
        self._on_over()

    def _unwatch(self) -> None:
        if self._is_watched:
            self._is_watched = False
            self._loop.remove_reader(self._fd)
