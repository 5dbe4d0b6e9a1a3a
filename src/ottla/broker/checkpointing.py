"""Which part of each log needs no recovery: written once a minute and at a clean stop."""

from collections.abc import Iterable
from typing import Final

from ottla.names import Now
from ottla.replication.hosting import Hosting
from ottla.replication.partition import Partition
from ottla.storage.checkpoints import encode_offsets
from ottla.storage.durable import DurableMarks, WriteMarks
from ottla.storage.jobs import WriteOffsets

# As Kafka's `log.flush.offset.checkpoint.interval.ms` has it.
OFFSETS_INTERVAL_MS: Final = 60_000


def offsets_of(partitions: Iterable[Partition], marks: DurableMarks) -> WriteOffsets:
    """Offsets that are on disk. `marks` know of the recovery points before they are written."""
    logs = [(partition.partition, partition) for partition in partitions]
    recovery_points = encode_offsets({name: p.log.recovery_point for name, p in logs})
    marks.set_recovery_points(recovery_points)
    return WriteOffsets(
        marks.encode(),
        recovery_points,
        encode_offsets({name: p.log.start_offset for name, p in logs}),
        encode_offsets({name: p.high_watermark for name, p in logs}),
    )


class Checkpointer:
    """What is due of a directory's side files, as jobs: one at a time, for they share a file."""

    def __init__(self, hosting: Hosting, marks: DurableMarks) -> None:
        self._hosting = hosting
        self._marks = marks
        self._offsets_due_ms: int | None = None
        self._is_writing = False

    def take_due(self, now: Now) -> WriteMarks | WriteOffsets | None:
        """To be followed by `on_written`."""
        marks = self._marks
        if self._is_writing:
            return None
        if self._offsets_due_ms is not None and now.mono_ms >= self._offsets_due_ms:
            self._is_writing = True
            self._offsets_due_ms = None
            marks.take_change()
            return offsets_of(self._hosting.all_partitions(), marks)
        if marks.due_ms is not None and now.mono_ms >= marks.due_ms:
            self._is_writing = True
            if self._offsets_due_ms is None:
                self._offsets_due_ms = now.mono_ms + OFFSETS_INTERVAL_MS
            return WriteMarks(marks.take_change())
        return None

    def on_written(self) -> None:
        self._is_writing = False

    def next_deadline_ms(self) -> int | None:
        if self._is_writing:
            return None
        marks_due_ms, offsets_due_ms = self._marks.due_ms, self._offsets_due_ms
        if marks_due_ms is None or offsets_due_ms is None:
            return offsets_due_ms if marks_due_ms is None else marks_due_ms
        return min(marks_due_ms, offsets_due_ms)
