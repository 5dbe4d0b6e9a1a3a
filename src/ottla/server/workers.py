"""Threads for what may block: they run only calls that release the interpreter lock (D2a).

One thread serves flush rounds, so that they keep their order; a few serve all other jobs.
"""

import asyncio
import os
import threading
from collections.abc import Callable
from functools import partial
from queue import SimpleQueue
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
        guarded: Callable[[Callable[[], None]], Callable[[], None]],
    ) -> None:
        self._disk = disk
        self._loop = loop
        self._on_disk_done = on_disk_done
        self._on_flushed = on_flushed
        self._guarded = guarded
        self._jobs: SimpleQueue[tuple[DiskJob, OnDone] | None] = SimpleQueue()
        self._flushes: SimpleQueue[FlushTicket | None] = SimpleQueue()
        self._sync: KernelSync | None = None
        self._is_probed = False
        self._syncing: FlushTicket | None = None
        self._threads = [
            threading.Thread(
                target=self._serve, args=(self._serve_jobs,), name=f"ottla-disk-{at}", daemon=True
            )
            for at in range(JOB_THREADS)
        ]
        flusher = threading.Thread(
            target=self._serve, args=(self._serve_flushes,), name="ottla-flush", daemon=True
        )
        self._threads.append(flusher)
        for thread in self._threads:
            thread.start()

    def run(self, op: DiskOp) -> None:
        self.submit(op.job, partial(self._on_disk_done, op))

    def submit(self, job: DiskJob, on_done: OnDone) -> None:
        """Run a job in a thread; `on_done` gets what it returned, or its DiskError, in the loop."""
        self._jobs.put((job, on_done))

    def flush(self, ticket: FlushTicket) -> None:
        """In the kernel where it is nothing but one sync, else in the thread."""
        journal = ticket.journal
        if journal is None or not self._can_sync(journal.file):
            self._flushes.put(ticket)
            return
        if any(log.epochs is not None for log in ticket.logs):
            self._flushes.put(ticket)
            return
        sync = cast("KernelSync", self._sync)
        try:
            self._disk.append(journal.file, journal.position, (journal.data,))
            sync.start(journal.file.fileno())
        except DiskError as error:
            self._loop.call_soon(self._guarded(partial(self._on_flushed, ticket, error)))
        except Unavailable:
            self._flushes.put(ticket)
        else:
            self._syncing = ticket

    def _can_sync(self, file: DiskFile) -> bool:
        if not self._is_probed:
            self._is_probed = True
            self._sync = open_kernel_sync(file.fileno())
            if self._sync is not None:
                self._loop.add_reader(self._sync.event_fd, self._guarded(self._on_synced))
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

    def stop(self) -> None:
        for _ in range(JOB_THREADS):
            self._jobs.put(None)
        self._flushes.put(None)
        for thread in self._threads:
            thread.join()

    def _serve(self, serve: Callable[[], None]) -> None:
        """What a job may not raise ends the process, as it would in the loop."""
        try:
            serve()
        except BaseException as error:
            self._answer(partial(_crash, error))

    def _answer(self, callback: Callable[[], None]) -> None:
        self._loop.call_soon_threadsafe(self._guarded(callback))

    def _serve_jobs(self) -> None:
        while (task := self._jobs.get()) is not None:
            job, on_done = task
            result: Any
            try:
                result = job.run(self._disk)
            except DiskError as error:
                result = error
            self._answer(partial(on_done, result))

    def _serve_flushes(self) -> None:
        while (ticket := self._flushes.get()) is not None:
            error: DiskError | None = None
            try:
                flush_logs(self._disk, ticket.logs, ticket.journal)
            except DiskError as failed:
                error = failed
            self._answer(partial(self._on_flushed, ticket, error))


def _crash(error: BaseException) -> None:
    raise error
