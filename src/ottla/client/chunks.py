"""What one fetch brought of one partition: bytes until somebody takes the records."""

from typing import NamedTuple

from ottla.client.positions import Position
from ottla.names import TopicPartition
from ottla.records.batch import BatchHeader, Buffer, CorruptBatch, Record, iter_headers
from ottla.records.record import decode_batch


class FetchedRecords(NamedTuple):
    where: TopicPartition
    records: list[Record]
    next_offset: int
    high_watermark: int


class Chunk:
    """Whole batches. They are decoded one by one: as Python values records take far more room."""

    __slots__ = (
        "_at",
        "_decoded",
        "_headers",
        "_next_offset",
        "_offset",
        "_records",
        "generation",
        "position",
    )

    def __init__(self, position: Position, offset: int, records: Buffer) -> None:
        self.position = position
        self.generation = position.generation
        # Oldest last.
        self._headers = list(iter_headers(records))[::-1]
        if not self._headers:
            raise CorruptBatch(f"{len(records)} bytes are no whole batch")
        self._records = records
        self._at = 0
        # A batch may begin before the offset that was asked for.
        self._offset = self._next_offset = offset
        self._decoded: list[Record] = []

    @property
    def last(self) -> BatchHeader:
        return self._headers[0]

    @property
    def size(self) -> int:
        return len(self._records)

    @property
    def is_current(self) -> bool:
        return self.generation == self.position.generation

    def take(self, records_max: int) -> list[Record]:
        """Up to so many records, of one batch; none when all are taken."""
        while not self._decoded and self._headers:
            self._decode_next()
        taken = self._decoded[-records_max:][::-1]
        del self._decoded[-records_max:]
        if self._decoded:
            self.position.consumed = taken[-1].offset + 1
        else:
            # Compaction, control batches and our end leave offsets without records.
            self.position.consumed = self._next_offset
        return taken

    def _decode_next(self) -> None:
        header = self._headers[-1]
        records = decode_batch(self._records, self._at)
        self._headers.pop()
        self._at += header.size
        end = self.position.end
        if not header.is_control:
            self._decoded = [
                record
                for record in reversed(records)
                if record.offset >= self._offset and (end is None or record.offset < end)
            ]
        self._next_offset = header.next_offset
