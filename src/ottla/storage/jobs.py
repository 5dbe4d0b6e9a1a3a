"""Blocking work on one log's files, as data (DESIGN D3): run in a thread, or as simulated events.

A job reads its own fields and the disk, and nothing of the core.
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING

from ottla.errors import DiskError
from ottla.storage.checkpoints import (
    LOG_START_CHECKPOINT,
    RECOVERY_POINT_CHECKPOINT,
    REPLICATION_CHECKPOINT,
    TEMPORARY_SUFFIX,
    write_atomic,
)
from ottla.storage.disk import Disk, DiskFile
from ottla.storage.durable import MARKS_FILE
from ottla.storage.journal import Round
from ottla.storage.partition_meta import PARTITION_METADATA
from ottla.storage.producers import SNAPSHOT_SUFFIX, WINDOW_SUFFIX
from ottla.storage.segment import INDEX_SUFFIX, LOG_SUFFIX, TIME_INDEX_SUFFIX, file_stem

if TYPE_CHECKING:
    from ottla.storage.log import LogTicket

EPOCHS_FILE = "leader-epoch-checkpoint"
# What more logs than this need synced, waits for the whole file system once.
SYNCED_ONE_BY_ONE_MAX = 8


def write_file(disk: Disk, path: str, data: bytes, sync: bool = False) -> None:
    """Write a file that may be lost, and is then made again: an index, a producer snapshot."""
    file = disk.open(path, create=True)
    try:
        # Not cut to nothing first: some file systems then flush it when it is closed.
        if data:
            disk.append(file, 0, (data,))
        if disk.size(file) > len(data):
            disk.truncate(file, len(data))
        if sync:
            disk.sync(file)
    finally:
        disk.close(file)


@dataclass(slots=True, frozen=True)
class ClosedSegment:
    base_offset: int
    offset_index: bytes
    time_index: bytes
    # Where the batches end, if there may be debris of a failed append behind them.
    cut: tuple[DiskFile, int] | None = None

    def write(self, disk: Disk, directory: str, sync: bool = False) -> None:
        if self.cut is not None:
            disk.truncate(*self.cut)
        stem = f"{directory}/{file_stem(self.base_offset)}"
        write_file(disk, stem + INDEX_SUFFIX, self.offset_index, sync)
        write_file(disk, stem + TIME_INDEX_SUFFIX, self.time_index, sync)


@dataclass(slots=True, frozen=True)
class ProducerFiles:
    """What recovery starts from, instead of the log's beginning."""

    end_offset: int
    snapshot: bytes
    window: bytes

    def write(self, disk: Disk, directory: str) -> None:
        stem = f"{directory}/{file_stem(self.end_offset)}"
        write_file(disk, stem + SNAPSHOT_SUFFIX, self.snapshot)
        write_file(disk, stem + WINDOW_SUFFIX, self.window)


@dataclass(slots=True, frozen=True)
class CreateSegment:
    """Roll. The directory is synced before the first append, so no ticket has to remember it."""

    directory: str
    base_offset: int
    closed: ClosedSegment
    producers: ProducerFiles

    def run(self, disk: Disk) -> DiskFile:
        # Whoever believes the segment believes its indexes unread: half of one would hide records
        # from lookups by time.
        self.closed.write(disk, self.directory, sync=True)
        self.producers.write(disk, self.directory)
        file = create_segment_files(disk, self.directory, self.base_offset)
        disk.sync_dir(self.directory)
        return file


def create_segment_files(disk: Disk, directory: str, base_offset: int) -> DiskFile:
    stem = f"{directory}/{file_stem(base_offset)}"
    write_file(disk, stem + INDEX_SUFFIX, b"")
    write_file(disk, stem + TIME_INDEX_SUFFIX, b"")
    return disk.open(stem + LOG_SUFFIX, create=True)


@dataclass(slots=True, frozen=True)
class CreateLog:
    """Make an empty log's directory. Run again after a crash half-way, it finishes the work."""

    directory: str
    partition_metadata: bytes

    def run(self, disk: Disk) -> DiskFile:
        file = self.make(disk, sync=True)
        disk.sync_dir(self.directory)
        disk.sync_dir("")
        return file

    def make(self, disk: Disk, sync: bool) -> DiskFile:
        if not disk.exists(self.directory):
            disk.mkdir(self.directory)
        # If it is torn, the log is empty, and the next start writes it again.
        write_file(disk, f"{self.directory}/{PARTITION_METADATA}", self.partition_metadata, sync)
        return create_segment_files(disk, self.directory, 0)


@dataclass(slots=True, frozen=True)
class CreateLogs:
    """Many at once: each by itself would wait for the device three times."""

    logs: tuple[CreateLog, ...]

    def run(self, disk: Disk) -> list[DiskFile]:
        is_alone = len(self.logs) < SYNCED_ONE_BY_ONE_MAX
        files: list[DiskFile] = []
        try:
            for log in self.logs:
                files.append(log.run(disk) if is_alone else log.make(disk, sync=False))
            if not is_alone:
                disk.sync_all()
        except DiskError:
            # On a full disk all are made again, and again, until there is room.
            for file in files:
                disk.close(file)
            raise
        return files


@dataclass(slots=True, frozen=True)
class RenameLog:
    """Take a deleted log out of sight before its files are removed, as Kafka does."""

    directory: str
    deleted_name: str

    def run(self, disk: Disk) -> None:
        if disk.exists(self.directory):
            disk.rename(self.directory, self.deleted_name)
            disk.sync_dir("")


@dataclass(slots=True, frozen=True)
class RemoveTree:
    path: str

    def run(self, disk: Disk) -> None:
        if disk.exists(self.path):
            disk.remove_tree(self.path)
            disk.sync_dir("")


@dataclass(slots=True, frozen=True)
class CloseFiles:
    """The last close of an unlinked file frees its blocks: 188 ms for 1 GiB."""

    files: tuple[DiskFile, ...]

    def run(self, disk: Disk) -> None:
        for file in self.files:
            disk.close(file)


@dataclass(slots=True, frozen=True)
class CloseLog:
    """A clean stop: all that recovery would otherwise have to find out is written down.

    It is durable with the `sync_all` that follows when all logs are closed.
    """

    directory: str
    active: ClosedSegment
    producers: ProducerFiles
    # None where the checkpoint has them.
    epochs: bytes | None

    def run(self, disk: Disk) -> None:
        self.active.write(disk, self.directory)
        self.producers.write(disk, self.directory)
        if self.epochs is not None:
            write_atomic(disk, f"{self.directory}/{EPOCHS_FILE}", self.epochs)


@dataclass(slots=True, frozen=True)
class WriteOffsets:
    """The checkpoints of a log directory. Whoever reads half of them recovers more, not less."""

    marks: bytes
    recovery_points: bytes
    starts: bytes
    high_watermarks: bytes

    def run(self, disk: Disk) -> None:
        # First: by what it says about the recovery points it is known to be ours.
        write_atomic(disk, MARKS_FILE, self.marks)
        write_atomic(disk, RECOVERY_POINT_CHECKPOINT, self.recovery_points)
        write_atomic(disk, LOG_START_CHECKPOINT, self.starts)
        write_atomic(disk, REPLICATION_CHECKPOINT, self.high_watermarks)


@dataclass(slots=True, frozen=True)
class WarmRange:
    """Bring a range into the page cache, so that the read that met a cold page can be repeated."""

    file: DiskFile
    position: int
    size: int

    def run(self, disk: Disk) -> None:
        disk.read_blocking(self.file, self.position, self.size)


def flush_logs(disk: Disk, tickets: "list[LogTicket]", journal: Round | None) -> None:
    """One flush round: one sync of the journal, or one of each file."""
    checkpoints = {
        f"{ticket.log.directory}/{EPOCHS_FILE}": ticket.epochs
        for ticket in tickets
        if ticket.epochs is not None
    }
    if len(checkpoints) < SYNCED_ONE_BY_ONE_MAX or not _have_written(disk, checkpoints):
        for ticket in tickets:
            if ticket.epochs is not None:
                ticket.lacks_epochs = not _has_written(disk, ticket.log.directory, ticket.epochs)
    if journal is not None:
        disk.append(journal.file, journal.position, (journal.data,))
        disk.sync(journal.file)
        return
    for ticket in tickets:
        for file in ticket.files:
            disk.sync(file)


def _has_written(disk: Disk, directory: str, epochs: bytes) -> bool:
    try:
        write_atomic(disk, f"{directory}/{EPOCHS_FILE}", epochs)
    except DiskError as error:
        if not error.is_full:
            raise
        # Nothing is lost: the ticket is not honoured, and a later round finds room.
        return False
    return True


def _have_written(disk: Disk, checkpoints: dict[str, bytes]) -> bool:
    """After a start every log begins a new epoch, and all may do so in one round."""
    try:
        for path, data in checkpoints.items():
            write_file(disk, path + TEMPORARY_SUFFIX, data)
    except DiskError as error:
        if not error.is_full:
            raise
        return False
    disk.sync_all()
    for path in checkpoints:
        disk.rename(path + TEMPORARY_SUFFIX, path)
    disk.sync_all()
    return True
