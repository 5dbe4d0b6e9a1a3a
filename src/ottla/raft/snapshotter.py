"""When a snapshot of the metadata log is due, and its way from the records to the file."""

from collections.abc import Callable, Iterator
from typing import Protocol

from ottla.config import BrokerConfig
from ottla.errors import DiskError
from ottla.metadata.standing import StandingRecords
from ottla.names import Now
from ottla.raft.snapshots import Quorum, SnapshotId, WriteSnapshot, snapshot_batches
from ottla.storage.disk import DiskJob


class Host(Protocol):
    """The node, as far as a snapshot needs it."""

    def submit(self, job: DiskJob, on_done: Callable[[object, Now], None]) -> None: ...

    def on_storage_error(self, error: DiskError) -> None: ...


class Snapshotter:
    """Kafka's rules: after so many bytes of committed records, or after so long."""

    def __init__(self, config: BrokerConfig, standing: StandingRecords, bytes_behind: int) -> None:
        self.standing = standing
        self.quorum: Quorum = []
        self._bytes_max = config.int("metadata.log.max.record.bytes.between.snapshots")
        self._interval_ms = config.int("metadata.log.max.snapshot.interval.ms")
        self.bytes_behind = bytes_behind
        self._host: Host | None = None
        self._due_ms: int | None = None
        self._is_busy = False

    def attach(self, host: Host) -> None:
        self._host = host

    def on_committed(self, end: SnapshotId, size: int, timestamp_ms: int, now: Now) -> None:
        """A whole batch, whose records `standing` has replayed, and when it was appended."""
        self.bytes_behind += size
        if self._due_ms is None and self._interval_ms > 0:
            self._due_ms = now.mono_ms + self._interval_ms
        is_due = self._due_ms is not None and now.mono_ms >= self._due_ms
        if self.bytes_behind < self._bytes_max and not is_due:
            return
        if self._is_busy or not self.standing.are_all_known:
            return
        self._is_busy = True
        self.bytes_behind = 0
        self._due_ms = None
        batches = snapshot_batches(
            self.quorum, self.standing.values(), end.epoch, timestamp_ms, now.wall_ms
        )
        self._write(end, batches, 0, next(batches))

    def _write(
        self, end: SnapshotId, batches: Iterator[bytes], position: int, batch: bytes
    ) -> None:
        """The next batch is made when this one is written: in between others are served."""

        def on_written(result: object, now: Now) -> None:
            assert self._host is not None
            if isinstance(result, DiskError):
                # The next one may find room. Nothing is lost but time at a start.
                self._is_busy = False
                self._host.on_storage_error(result)
            elif following is None:
                self._is_busy = False
            else:
                self._write(end, batches, position + len(batch), following)

        following = next(batches, None)
        assert self._host is not None
        self._host.submit(WriteSnapshot(end, position, batch, following is None), on_written)
