"""Durable marks: how a torn tail is told from rot at start (DESIGN D3).

A mark says: up to this offset the log was on disk, and the batch that ends there has this CRC.
Below it a bad checksum is rot; above it a torn tail, and is cut. All marks of a log directory stand
in one side file that Kafka ignores and that may be lost: without marks every bad batch above the
recovery point counts as a torn tail, as it does in Kafka.
"""

from typing import TYPE_CHECKING, NamedTuple

import msgspec
from crc32c import crc32c

from ottla.names import Now, Uuid

if TYPE_CHECKING:
    from ottla.storage.log import LogTicket

MARKS_FILE = "ottla-durable-marks"
FORMAT = 1
# CRC and size of what follows, in hexadecimal: the file is overwritten in place and never cut,
# because truncation makes some file systems flush it.
_HEAD_BYTES = 16
# Encoding a thousand marks takes a fraction of a millisecond: not in every round.
REWRITE_INTERVAL_MS = 100


class Mark(NamedTuple):
    # The log of a topic that was deleted says nothing about a later one of its name.
    topic_id: Uuid
    offset: int
    epoch: int
    crc: int


class _File(msgspec.Struct, frozen=True):
    format: int
    # The recovery points as we last wrote them: other content means that Kafka had the directory.
    recovery_points_crc: int
    marks: dict[str, Mark]


class DurableMarks:
    def __init__(self, recovery_points: bytes) -> None:
        self._marks: dict[str, Mark] = {}
        self._is_changed = False
        self._recovery_points_crc = crc32c(recovery_points)
        self._next_write_ms = 0

    @classmethod
    def load(cls, data: bytes, recovery_points: bytes) -> "DurableMarks":
        """No marks where the file is damaged, or older than the last stranger's clean stop."""
        marks = cls(recovery_points)
        try:
            body = data[_HEAD_BYTES : _HEAD_BYTES + int(data[8:_HEAD_BYTES], 16)]
            file = msgspec.json.decode(body, type=_File)
        except (msgspec.DecodeError, ValueError):
            return marks
        is_whole = data[:8] == b"%08x" % crc32c(body)
        is_known = file.format == FORMAT
        if is_whole and is_known and file.recovery_points_crc == marks._recovery_points_crc:
            marks._marks = file.marks
        return marks

    def of(self, directory: str, topic_id: Uuid) -> Mark | None:
        mark = self._marks.get(directory)
        return mark if mark is not None and mark.topic_id == topic_id else None

    def set_recovery_points(self, recovery_points: bytes) -> None:
        self._recovery_points_crc = crc32c(recovery_points)
        self._is_changed = True

    def on_flushed(self, ticket: "LogTicket") -> None:
        log = ticket.log
        if ticket.generation == log.generation and ticket.end_offset > 0:
            epoch = log.epochs.latest_epoch
            mark = Mark(log.topic_id, ticket.end_offset, epoch, ticket.batch_crc)
            self._marks[log.directory] = mark
            self._is_changed = True

    def forget(self, directory: str) -> None:
        if self._marks.pop(directory, None) is not None:
            self._is_changed = True

    def take_due(self, now: Now) -> bytes | None:
        """The file's new content, where it is time to write it."""
        if not self._is_changed or now.mono_ms < self._next_write_ms:
            return None
        self._is_changed = False
        self._next_write_ms = now.mono_ms + REWRITE_INTERVAL_MS
        return self.encode()

    def encode(self) -> bytes:
        body = msgspec.json.encode(_File(FORMAT, self._recovery_points_crc, self._marks))
        return b"%08x%08x" % (crc32c(body), len(body)) + body
