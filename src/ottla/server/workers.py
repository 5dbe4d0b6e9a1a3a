"""Threads for what may block: they run only calls that release the interpreter lock (D2a).

One thread serves flush rounds, so that they keep their order; a few serve all other jobs.
"""

import asyncio
import os
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from functools import partial
from typing import Any, cast

from ottla.broker.effects import DiskOp, FlushTicket
from ottla.errors import DiskError
from ottla.server.aio import KernelSync, Unavailable, open_kernel_sync
from ottla.storage.disk import Disk, DiskFile, DiskJob
from ottla.storage.jobs import flush_logs

JOB_THREADS = 2

OnDone = Callable[[Any], None]


class Workers:
    def __init__(
        self,
        disk: Disk,
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
        self._sync: KernelSync | None = None
        self._is_probed = False
        self._syncing: FlushTicket | None = None

    def run(self, op: DiskOp) -> None:
        self.submit(op.job, partial(self._on_disk_done, op))

    def submit(self, job: DiskJob, on_done: OnDone) -> None:
        """Run a job in a thread; `on_done` gets what it returned, or its DiskError, in the loop."""
        self._answer_to(self._jobs.submit(job.run, self._disk), on_done)

    def flush(self, ticket: FlushTicket) -> None:
        """In the kernel where it is nothing but one sync, else in the thread."""
        journal = ticket.journal
        if journal is None or not self._can_sync(journal.file):
            self._flush_in_thread(ticket)
            return
        for log in ticket.logs:
            if log.epochs is not None:
                self._flush_in_thread(ticket)
                return
        sync = cast("KernelSync", self._sync)
        try:
            self._disk.append(journal.file, journal.position, (journal.data,))
            sync.start(journal.file.fileno())
        except DiskError as error:
            self._loop.call_soon(self._on_flushed, ticket, error)
        except Unavailable:
            self._flush_in_thread(ticket)
        else:
            self._syncing = ticket

    def _can_sync(self, file: DiskFile) -> bool:
        if not self._is_probed:
            self._is_probed = True
            self._sync = open_kernel_sync(file.fileno())
            if self._sync is not None:
                self._loop.add_reader(self._sync.event_fd, self._on_synced)
        return self._sync is not None

    def _on_synced(self) -> None:
        ticket, sync = self._syncing, self._sync
        if ticket is None or sync is None:
            return
        result = sync.take_result()
        if result is None:
            return
        self._syncing = None
        error = DiskError(result, f"sync of the journal: {os.strerror(result)}") if result else None
        self._on_flushed(ticket, error)

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
        self._jobs.shutdown()
        self._flushes.shutdown()
