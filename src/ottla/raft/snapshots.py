"""Snapshots of the metadata log: what it says up to some offset, in Kafka's files (KIP-630)."""

import re
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from itertools import islice
from typing import Final, NamedTuple

from ottla.errors import DiskError
from ottla.names import METADATA_TOPIC
from ottla.protocol.compile import encode
from ottla.protocol.schema import records_raft as raft
from ottla.raft.batches import control_batch, data_batch
from ottla.records.control import ControlType
from ottla.records.rules import Validated
from ottla.storage.disk import Disk
from ottla.storage.segment import file_stem

METADATA_DIRECTORY: Final = f"{METADATA_TOPIC}-0"
PARTIAL_SUFFIX: Final = ".part"
# The newest, and the one before: it is whole if a disk should have lost the other.
SNAPSHOTS_KEPT: Final = 2
# Of one batch: so many take a millisecond to put together.
BATCH_RECORDS_MAX: Final = 2000

_NAME = re.compile(r"([0-9]{20})-([0-9]{10})\.checkpoint")

Quorum = list[tuple[ControlType, bytes]]


class SnapshotId(NamedTuple):
    """Everything below `end_offset` is in it; the last batch before that is of this epoch."""

    end_offset: int
    epoch: int

    @property
    def name(self) -> str:
        return f"{file_stem(self.end_offset)}-{self.epoch:010d}.checkpoint"


def snapshots_in(names: Iterable[str]) -> list[SnapshotId]:
    """The oldest first."""
    found = filter(None, map(_NAME.fullmatch, names))
    return sorted(SnapshotId(int(match[1]), int(match[2])) for match in found)


def snapshot_batches(
    quorum: Quorum, values: Iterable[bytes], epoch: int, last_timestamp_ms: int, wall_ms: int
) -> Iterator[bytes]:
    """One batch at a time, so that the loop can do other things in between."""
    header = raft.SnapshotHeaderRecord(last_contained_log_timestamp=last_timestamp_ms)
    first = (ControlType.SNAPSHOT_HEADER, encode(header, 0))
    batch = control_batch([first, *quorum], wall_ms)
    yield _stamped(batch, 0, epoch)
    offset = batch.record_count
    rest = iter(values)
    while some := list(islice(rest, BATCH_RECORDS_MAX)):
        yield _stamped(data_batch(some, wall_ms), offset, epoch)
        offset += len(some)
    footer = encode(raft.SnapshotFooterRecord(), 0)
    yield _stamped(control_batch([(ControlType.SNAPSHOT_FOOTER, footer)], wall_ms), offset, epoch)


def _stamped(batch: Validated, offset: int, epoch: int) -> bytes:
    head, rest = batch.stamped_parts(offset, epoch)
    return head + bytes(rest)


@dataclass(slots=True, frozen=True)
class WriteSnapshot:
    """One batch of it. The last makes it count: a crash leaves it whole or not at all."""

    snapshot: SnapshotId
    position: int
    batch: bytes
    is_last: bool

    def run(self, disk: Disk) -> None:
        path = f"{METADATA_DIRECTORY}/{self.snapshot.name}"
        try:
            self._write(disk, path + PARTIAL_SUFFIX)
        except DiskError:
            with suppress(DiskError):
                disk.unlink(path + PARTIAL_SUFFIX)
            raise
        if self.is_last:
            disk.rename(path + PARTIAL_SUFFIX, path)
            disk.sync_dir(METADATA_DIRECTORY)
            for old in snapshots_in(disk.list(METADATA_DIRECTORY))[:-SNAPSHOTS_KEPT]:
                disk.unlink(f"{METADATA_DIRECTORY}/{old.name}")

    def _write(self, disk: Disk, path: str) -> None:
        file = disk.open(path, create=True)
        try:
            disk.append(file, self.position, (self.batch,))
            if self.is_last:
                disk.sync(file)
        finally:
            disk.close(file)


def remove_partial_snapshots(disk: Disk) -> None:
    """What a crash left of snapshots that it interrupted."""
    for name in disk.list(METADATA_DIRECTORY):
        if name.endswith(PARTIAL_SUFFIX):
            disk.unlink(f"{METADATA_DIRECTORY}/{name}")
