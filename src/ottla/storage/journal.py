"""The journal: one sync for a whole flush round, whatever is dirty (DESIGN D3a).

Syncing every dirty log costs a device flush each. So a round writes its small appends once more,
into one preallocated file, and syncs that alone; the segments are synced later, in the background.
After a crash its bytes are written to where they belonged before anything reads a file: a redo
journal over the `Disk` port.

The file has two halves. Rounds fill one; when it is full or has waited long enough, the other takes
over while the files that the first one covers are synced. Each round names the oldest generation
that still counts, so that a half whose files were synced is not replayed. A round's checksum goes
on from that of the round before: behind the newest round of a half stand, often exactly where the
next one will be, those of an earlier life, and they must not pass for its own. An entry carries its
topic's id: what was written for a deleted topic never reaches a new one of the same name. After a
replay, and at a clean stop, the journal is emptied durably before a log is appended to or opened by
Kafka: bytes that recovery cut off must not come back over what was acknowledged since.
"""

import struct
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from crc32c import crc32c

from ottla.names import Now, Uuid
from ottla.storage.checkpoints import CorruptCheckpoint
from ottla.storage.disk import Buffer, Disk, DiskFile
from ottla.storage.partition_meta import PARTITION_METADATA, decode_partition_metadata
from ottla.storage.segment import Segment

JOURNAL_FILE: Final = "ottla-journal"
HALF_BYTES: Final = 8 << 20
# Rounds with more than this are cheaper to sync where they are than to write twice.
ROUND_BYTES_MAX: Final = 64 << 10
# Segments are synced this long after their bytes entered the journal, if its half is not full.
LAZY_SYNC_MS: Final = 1000
# Rounds begin and end at blocks, so that they may pass the page cache by (O_DIRECT).
BLOCK_BYTES: Final = 512
MAGIC: Final = 0x4F544A33

# Checksum, magic, generation, oldest generation, number, body size.
_ROUND = struct.Struct(">IIQQII")
_ENTRY = struct.Struct(">HQI")  # path size, position, data size
_pack_entry = _ENTRY.pack
_UUID_BYTES = 16


class Round(NamedTuple):
    """What one flush round writes into the journal, and where: whole blocks."""

    file: DiskFile
    position: int
    data: bytes


@dataclass(slots=True, frozen=True)
class SyncSegments:
    """Background: make durable in place what a half of the journal holds."""

    files: tuple[DiskFile, ...]

    def run(self, disk: Disk) -> None:
        for file in self.files:
            disk.sync(file)


@dataclass(slots=True, frozen=True)
class PrepareJournal:
    """Preallocate and zero: a sync of bytes that are overwritten in place moves no metadata."""

    def run(self, disk: Disk) -> DiskFile:
        file = disk.open(JOURNAL_FILE, create=True)
        disk.append(file, 0, (bytes(2 * HALF_BYTES),))
        disk.sync(file)
        disk.sync_dir("")
        return file


@dataclass(slots=True, eq=False)
class _Half:
    start: int
    generation: int = 0
    used: int = 0
    rounds: int = 0
    # Of the newest round.
    checksum: int = 0
    # Files with bytes that only this half makes durable.
    files: dict[DiskFile, None] = field(default_factory=dict)
    is_syncing: bool = False

    @property
    def is_free(self) -> bool:
        return not self.files and not self.is_syncing


class Journal:
    """Collects the appends of a round. Only the core touches it; bytes leave it as a `Round`."""

    def __init__(self) -> None:
        self._file: DiskFile | None = None
        self._half = _Half(0, generation=1)
        self._other = _Half(HALF_BYTES)
        # Of each append its head, its key and its bytes, one behind the other.
        self._entries: list[Buffer] = []
        self._files: dict[DiskFile, None] = {}
        self._bytes = 0
        self._is_bypassed = True
        self._sync_due_ms: int | None = None

    def open(self, file: DiskFile) -> None:
        """Rounds may use it from the next one on: this one holds appends that were not noted."""
        self._file = file

    def note(self, segment: Segment, size: int, parts: Sequence[Buffer]) -> None:
        """An append at the segment's end that the next round makes durable."""
        if self._is_bypassed:
            return
        self._bytes += size
        if self._bytes > ROUND_BYTES_MAX:
            self._is_bypassed = True
            self._entries.clear()
            return
        key = segment.journal_key
        # What was lent is copied: the round is written after the frame is gone.
        self._entries += (_pack_entry(len(key), segment.size, size), key, *map(bytes, parts))
        self._files[segment.file] = None

    def take_round(self, now: Now) -> Round | None:
        """The round's bytes, or None where the round has to sync its files itself."""
        entries, files = self._entries, self._files
        is_bypassed = self._is_bypassed or not entries
        self._entries = []
        self._files = {}
        self._bytes = 0
        self._is_bypassed = self._file is None
        if is_bypassed or self._file is None:
            return None
        body = b"".join(entries)
        half = self._half
        size = _ROUND.size + len(body)
        padding = -size % BLOCK_BYTES
        if half.used + size + padding > HALF_BYTES:
            if not self._other.is_free:
                return None
            half = self._switch()
        oldest = half.generation if self._other.is_free else self._other.generation
        head = _ROUND.pack(0, MAGIC, half.generation, oldest, half.rounds, len(body))[4:]
        half.checksum = crc32c(body, crc32c(head, half.checksum))
        position = half.start + half.used
        half.used += size + padding
        half.rounds += 1
        half.files.update(files)
        if self._sync_due_ms is None:
            self._sync_due_ms = now.mono_ms + LAZY_SYNC_MS
        data = b"".join((half.checksum.to_bytes(4, "big"), head, body, bytes(padding)))
        return Round(self._file, position, data)

    def _switch(self) -> _Half:
        self._half, self._other = self._other, self._half
        half = self._half
        half.generation = self._other.generation + 1
        half.used = half.rounds = half.checksum = 0
        self._sync_due_ms = None
        return half

    def take_sync(self, now: Now) -> SyncSegments | None:
        """The files of a half that rounds have left, to be synced where they are."""
        due = self._sync_due_ms
        if due is not None and now.mono_ms >= due and self._other.is_free:
            self._switch()
        other = self._other
        if other.is_syncing or not other.files:
            return None
        other.is_syncing = True
        return SyncSegments(tuple(other.files))

    def on_synced(self) -> None:
        self._other.is_syncing = False
        self._other.files.clear()

    def forget(self, file: DiskFile) -> None:
        """Closed or deleted: nobody will ask for its bytes again."""
        for covered in (self._files, self._half.files, self._other.files):
            covered.pop(file, None)

    def next_deadline_ms(self) -> int | None:
        return self._sync_due_ms if self._other.is_free else None


# At start and at a clean stop. Blocking.


class _Entry(NamedTuple):
    topic_id: Uuid
    path: str
    position: int
    data: bytes


def replay_journal(disk: Disk, *, is_clean: bool = False) -> tuple[DiskFile | None, int]:
    """Write what a crash left behind to where it belongs; the file to go on with, and how much.

    Afterwards the journal is empty, durably. A clean stop of ours empties it before it says so:
    where a clean directory has a journal with bytes in it, somebody else has written to the logs
    since, and they are given up instead. Nothing less may decide that: they were acknowledged.
    """
    if not disk.exists(JOURNAL_FILE):
        return None, 0
    file = disk.open(JOURNAL_FILE)
    if disk.size(file) != 2 * HALF_BYTES:
        # The crash came while it was being made: it never held a round.
        disk.close(file)
        disk.unlink(JOURNAL_FILE)
        return None, 0
    entries = _live_entries(disk, file)
    if is_clean:
        empty_journal(disk, file)
        return file, len(entries)
    owners: dict[str, Uuid | None] = {}
    targets: dict[str, DiskFile] = {}
    replayed = 0
    for entry in entries:
        directory = entry.path.rpartition("/")[0]
        if directory not in owners:
            owners[directory] = _topic_id_of(disk, directory)
        if owners[directory] != entry.topic_id or not disk.exists(entry.path):
            continue
        target = targets.get(entry.path)
        if target is None:
            target = targets[entry.path] = disk.open(entry.path)
        disk.append(target, entry.position, (entry.data,))
        replayed += 1
    if targets:
        disk.sync_all()
    for target in targets.values():
        disk.close(target)
    empty_journal(disk, file)
    return file, replayed


def empty_journal(disk: Disk, file: DiskFile) -> None:
    for start in (0, HALF_BYTES):
        disk.append(file, start, (bytes(_ROUND.size),))
    disk.sync(file)


def _live_entries(disk: Disk, file: DiskFile) -> list[_Entry]:
    halves = [list(_rounds(disk.read_blocking(file, at, HALF_BYTES))) for at in (0, HALF_BYTES)]
    halves = [half for half in halves if half]
    # By generation: every round of a half has the same.
    halves.sort(key=lambda rounds: rounds[0][0])
    oldest = halves[-1][-1][1] if halves else 0
    return [
        entry
        for rounds in halves
        for generation, _, body in rounds
        if generation >= oldest
        for entry in _entries_of(body)
    ]


def _rounds(data: bytes) -> Iterator[tuple[int, int, bytes]]:
    """The generation, the oldest live generation and the body of each whole round of a half."""
    at = number = checksum = 0
    expected_generation = -1
    while len(data) - at >= _ROUND.size:
        stored, magic, generation, oldest, found_number, size = _ROUND.unpack_from(data, at)
        end = at + _ROUND.size + size
        if magic != MAGIC or found_number != number or end > len(data):
            return
        if number > 0 and generation != expected_generation:
            return
        checksum = crc32c(memoryview(data)[at + 4 : end], checksum)
        if checksum != stored:
            return
        yield generation, oldest, data[at + _ROUND.size : end]
        expected_generation = generation
        number += 1
        at = end + -end % BLOCK_BYTES


def _entries_of(body: bytes) -> Iterator[_Entry]:
    at = 0
    while at < len(body):
        key_size, position, size = _ENTRY.unpack_from(body, at)
        at += _ENTRY.size
        topic_id = body[at : at + _UUID_BYTES]
        path = body[at + _UUID_BYTES : at + key_size].decode()
        at += key_size
        yield _Entry(topic_id, path, position, body[at : at + size])
        at += size


def _topic_id_of(disk: Disk, directory: str) -> Uuid | None:
    path = f"{directory}/{PARTITION_METADATA}"
    if not disk.exists(path):
        return None
    file = disk.open(path)
    try:
        return decode_partition_metadata(disk.read_blocking(file, 0, disk.size(file)))
    except CorruptCheckpoint:
        return None
    finally:
        disk.close(file)
