"""Durable marks: how a torn tail is told from rot at start (DESIGN D3).

A mark says: up to this offset the log was on disk, and the batch that ends there has this CRC.
Below it a bad checksum is rot; above it a torn tail, and is cut. All marks of a log directory stand
in one side file that Kafka ignores and that may be lost: without marks every bad batch above the
recovery point counts as a torn tail, as it does in Kafka.

The file is written behind the rounds, not in them. What it does not say yet the journal says.
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING

import msgspec
from crc32c import crc32c

from ottla.names import Now, Uuid
from ottla.storage.checkpoints import write_atomic
from ottla.storage.disk import Disk

if TYPE_CHECKING:
    from ottla.storage.log import Log, LogTicket

MARKS_FILE = "ottla-durable-marks"
FORMAT = 1
# Of a last batch that nobody looked at: its segment was believed.
UNKNOWN_CRC = 0
_CRC_BYTES = 8
# Encoding a thousand marks takes a fraction of a millisecond, writing them two syncs.
WRITE_INTERVAL_MS = 1000


class Mark(msgspec.Struct, array_like=True, frozen=True, gc=False):
    # The log of a topic that was deleted says nothing about a later one of its name.
    topic_id: Uuid
    offset: int
    epoch: int
    crc: int


class _File(msgspec.Struct, frozen=True):
    format: int
    # The recovery points as we last wrote them, and as they were before: they are replaced after
    # this file. Other content means that Kafka had the directory.
    recovery_points_crcs: tuple[int, ...]
    marks: dict[str, Mark]


@dataclass(slots=True, frozen=True)
class WriteMarks:
    data: bytes

    def run(self, disk: Disk) -> None:
        write_atomic(disk, MARKS_FILE, self.data)


class DurableMarks:
    def __init__(self, recovery_points: bytes) -> None:
        self._marks: dict[str, Mark] = {}
        self._recovery_points_crcs: tuple[int, ...] = (crc32c(recovery_points),)
        # Whether the directory was ours when the marks were read.
        self.are_known = False
        # When what changed is to be written.
        self.due_ms: int | None = None

    @classmethod
    def load(cls, data: bytes, recovery_points: bytes) -> "DurableMarks":
        marks = cls(recovery_points)
        body = data[_CRC_BYTES:]
        if data[:_CRC_BYTES] != b"%08x" % crc32c(body):
            return marks
        try:
            file = msgspec.json.decode(body, type=_File)
        except msgspec.DecodeError:
            return marks
        if file.format == FORMAT:
            marks.are_known = marks._recovery_points_crcs[0] in file.recovery_points_crcs
            marks._marks = file.marks if marks.are_known else {}
        return marks

    def of(self, directory: str, topic_id: Uuid) -> Mark | None:
        """None where nothing is known; where nothing was ever flushed, a mark at offset 0."""
        mark = self._marks.get(directory)
        if mark is not None and mark.topic_id == topic_id:
            return mark
        return Mark(topic_id, 0, -1, 0) if self.are_known else None

    def keep(self, topic_ids: dict[str, Uuid]) -> None:
        """Forget all marks but those of these directories."""
        marks = self._marks.items()
        self._marks = {d: mark for d, mark in marks if topic_ids.get(d) == mark.topic_id}

    def set_recovery_points(self, recovery_points: bytes) -> None:
        """They are written next. A crash between the two files must not void the marks."""
        self._recovery_points_crcs = (self._recovery_points_crcs[-1], crc32c(recovery_points))

    def on_flushed(self, ticket: "LogTicket", now: Now) -> None:
        log = ticket.log
        if ticket.generation == log.generation and ticket.end_offset > 0:
            self._mark(log, log.topic_id, ticket.end_offset, ticket.batch_crc)
            if self.due_ms is None:
                self.due_ms = now.mono_ms + WRITE_INTERVAL_MS

    def on_loaded(self, log: "Log", topic_id: Uuid) -> None:
        """At start all that was found is made durable, whoever wrote it."""
        self._mark(log, topic_id, log.end_offset, log.last_batch_crc)

    def _mark(self, log: "Log", topic_id: Uuid, end_offset: int, crc: int) -> None:
        self._marks[log.directory] = Mark(topic_id, end_offset, log.epochs.latest_epoch, crc)

    def forget(self, directory: str) -> None:
        self._marks.pop(directory, None)

    def take_change(self) -> bytes:
        """The file's new content, which is written now."""
        self.due_ms = None
        return self.encode()

    def encode(self) -> bytes:
        body = msgspec.json.encode(_File(FORMAT, self._recovery_points_crcs, self._marks))
        return b"%08x" % crc32c(body) + body
