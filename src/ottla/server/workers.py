"""Threads for what may block: they run only calls that release the interpreter lock (D2a).

One thread serves flush rounds, so that they keep their order; a few serve all other jobs.
"""

import asyncio
import os
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from functools import partial
from typing import Any

from ottla.broker.effects import DiskOp, FlushTicket
from ottla.errors import DiskError
from ottla.server.aio import DIRECT_BYTES_MAX, REFUSALS, DirectWriter, Unavailable
from ottla.server.disk import OsDisk
from ottla.storage.disk import DiskFile, DiskJob
from ottla.storage.jobs import flush_logs
from ottla.storage.journal import Round

JOB_THREADS = 2

OnDone = Callable[[Any], None]


class Workers:
    def __init__(
        self,
        disk: OsDisk,
        loop: asyncio.AbstractEventLoop,
        on_disk_done: Callable[[DiskOp, Any], None],
        on_flushed: Callable[[FlushTicket, DiskError | None], None],
    ) -> None:
        self._disk = disk
        self._loop = loop
        self._on_disk_done = on_disk_done
        self._on_flushed = on_flushed
        self._jobs = ThreadPoolExecutor(JOB_THREADS, "ottla-disk")
        self._flushes = ThreadPoolExecutor(1, "ottla-flush")
        self._writer: DirectWriter | None = None
        self._is_probed = False
        self._has_written = False
        self._writing: FlushTicket | None = None
        self._has_stopped = False

    def run(self, op: DiskOp) -> None:
        self.submit(op.job, partial(self._on_disk_done, op))

    def submit(self, job: DiskJob, on_done: OnDone) -> None:
        """Run a job in a thread; `on_done` gets what it returned, or its DiskError, in the loop."""
        if not self._has_stopped:
            self._answer_to(self._jobs.submit(job.run, self._disk), on_done)

    def flush(self, ticket: FlushTicket) -> None:
        """In the kernel where it is nothing but one write into the journal, else in the thread."""
        if self._has_stopped:
            return
        if ticket.journal is None or not self._starts_direct(ticket, ticket.journal):
            self._flush_in_thread(ticket)

    def _starts_direct(self, ticket: FlushTicket, journal: Round) -> bool:
        for log in ticket.logs:
            if log.epochs is not None:
                return False
        if not self._is_probed:
            self._is_probed = True
            self._open_writer(journal.file)
        if self._writer is None or len(journal.data) > DIRECT_BYTES_MAX:
            return False
        try:
            self._writer.start(journal.position, journal.data)
        except Unavailable:
            self._close_writer()
            return False
        self._writing = ticket
        return True

    def _open_writer(self, file: DiskFile) -> None:
        """Where it is refused, now or with the first write, the thread serves."""
        try:
            self._writer = DirectWriter(self._disk.open_direct(file))
        except (DiskError, Unavailable):
            return
        self._loop.add_reader(self._writer.event_fd, self._on_written)

    def _close_writer(self) -> None:
        if self._writer is not None:
            self._loop.remove_reader(self._writer.event_fd)
            self._writer.close()
            self._writer = None

    def _on_written(self) -> None:
        ticket, writer = self._writing, self._writer
        if ticket is None or writer is None:
            return
        result = writer.take_result()
        if result is None:
            return
        self._writing = None
        if result == 0:
            self._has_written = True
            self._on_flushed(ticket, None)
        elif result in REFUSALS and not self._has_written:
            self._close_writer()
            self._flush_in_thread(ticket)
        else:
            self._on_flushed(ticket, DiskError(result, f"the journal: {os.strerror(result)}"))

    def _flush_in_thread(self, ticket: FlushTicket) -> None:
        flushing = self._flushes.submit(flush_logs, self._disk, ticket.logs, ticket.journal)
        self._answer_to(flushing, partial(self._on_flushed, ticket))

    def _answer_to(self, future: "Future[Any]", on_done: OnDone) -> None:
        """In the loop, where what a job may not raise meets the shell's guard."""

        def answer() -> None:
            try:
                result = future.result()
            except DiskError as error:
                result = error
            on_done(result)

        future.add_done_callback(lambda _: self._loop.call_soon_threadsafe(answer))

    def stop(self) -> None:
        """Wait for what was begun. The loop winds down yet: what it finds due is not begun."""
        self._has_stopped = True
        self._jobs.shutdown()
        self._flushes.shutdown()
        self._close_writer()
