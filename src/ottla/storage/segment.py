"""One segment: a run of record batches in a file, and its sparse indexes.

Only the last segment of a log is written to. Index entries are collected in memory and written when
the segment closes or the node stops cleanly; after a crash they are rebuilt from the batches, as
Kafka does.
"""

from collections.abc import Callable

from ottla.records.batch import CorruptBatch
from ottla.records.kernel import find_batch
from ottla.storage.disk import Disk, DiskFile
from ottla.storage.index import INDEX_BYTES_MAX, OffsetIndex, TimeIndex

LOG_SUFFIX = ".log"
INDEX_SUFFIX = ".index"
TIME_INDEX_SUFFIX = ".timeindex"
# A header hop reads one index interval and a header at least; most walks end within the first read.
WALK_BYTES = 8192
# What is read from a device at once, where a walk meets a cold page.
WARM_BYTES = 64 << 10
RECENT_BATCHES_MAX = 128


def file_stem(base_offset: int) -> str:
    return f"{base_offset:020d}"


class WouldBlock(Exception):
    """The bytes are not in the page cache: read them in a job, then ask again.

    The range begins where the walk met the cold page, so that each repetition gets further.
    """

    def __init__(self, segment: "Segment", position: int, size: int) -> None:
        super().__init__(segment.file.path)
        self.segment = segment
        self.position = position
        self.size = size


class FileSlice:
    """A run of bytes of a segment file, to be sent later (DESIGN D2b).

    It pins the file, so that deletion waits for it, and remembers the truncation generation: bytes
    that were cut and written again must not be sent under the length that was announced for them.
    """

    __slots__ = ("generation", "position", "segment", "size")

    def __init__(self, segment: "Segment", position: int, size: int) -> None:
        self.segment = segment
        self.position = position
        self.size = size
        self.generation = segment.generation
        segment.pins += 1

    def __len__(self) -> int:
        return self.size

    def is_valid(self) -> bool:
        return self.generation == self.segment.generation

    def release(self) -> None:
        self.segment.unpin()


class Segment:
    __slots__ = (
        "base_offset",
        "bytes_since_index",
        "created_wall_ms",
        "file",
        "first_timestamp_ms",
        "generation",
        "has_full_index",
        "journal_key",
        "max_timestamp_ms",
        "max_timestamp_offset",
        "offset_index",
        "older_batches",
        "pins",
        "recent_batches",
        "retire",
        "roll_jitter_ms",
        "size",
        "time_index",
    )

    def __init__(
        self,
        base_offset: int,
        file: DiskFile,
        created_wall_ms: int,
        index_bytes_max: int = INDEX_BYTES_MAX,
    ) -> None:
        self.base_offset = base_offset
        self.file = file
        # The topic's id and the path: what the journal writes beside this segment's bytes.
        self.journal_key = b""
        self.size = 0
        self.offset_index = OffsetIndex(base_offset, index_bytes_max)
        self.time_index = TimeIndex(base_offset, index_bytes_max)
        self.bytes_since_index = 0
        self.has_full_index = False
        # Kafka rolls by the timestamp of the first batch, or by creation where it has none.
        self.first_timestamp_ms = -1
        self.roll_jitter_ms = 0
        self.created_wall_ms = created_wall_ms
        self.max_timestamp_ms = -1
        self.max_timestamp_offset = base_offset
        self.generation = 0
        self.pins = 0
        # Set when the log lets go of this segment: called once nobody is sending from it.
        self.retire: Callable[[DiskFile], None] | None = None
        # Where the newest batches start, so that a consumer at the tail costs no read: two
        # generations, the older forgotten when the newer is full.
        self.recent_batches: dict[int, int] = {}
        self.older_batches: dict[int, int] = {}

    def on_appended(
        self,
        base_offset: int,
        last_offset: int,
        size: int,
        max_timestamp_ms: int,
        max_timestamp_offset: int,
        index_interval_bytes: int,
    ) -> None:
        """Account for a batch that was written at the end of the file."""
        position = self.size
        if position == 0:
            self.first_timestamp_ms = max_timestamp_ms
        if max_timestamp_ms > self.max_timestamp_ms:
            self.max_timestamp_ms = max_timestamp_ms
            self.max_timestamp_offset = max_timestamp_offset
        if self.bytes_since_index > index_interval_bytes:
            self.offset_index.append(last_offset, position)
            self.time_index.maybe_append(self.max_timestamp_ms, self.max_timestamp_offset)
            self.bytes_since_index = 0
            self.has_full_index = self.offset_index.is_full or self.time_index.is_full
        self.bytes_since_index += size
        recent = self.recent_batches
        recent[base_offset] = position
        if len(recent) >= RECENT_BATCHES_MAX:
            self.older_batches = recent
            self.recent_batches = {}
        self.size = position + size

    def known_position(self, offset: int) -> int | None:
        """Where the batch that starts at `offset` lies, if it is among the newest."""
        position = self.recent_batches.get(offset)
        if position is None:
            position = self.older_batches.get(offset)
        return position

    def forget_recent(self) -> None:
        """Closed: readers at the tail are in the next segment now."""
        self.recent_batches = {}
        self.older_batches = {}

    def find(self, disk: Disk, offset: int) -> tuple[int, int]:
        """Position and size of the first batch whose last offset is at least `offset`.

        Answers (size of the segment, 0) where no such batch is. Raises WouldBlock, and CorruptBatch
        where the batches do not lead to the segment's end.
        """
        position = self.offset_index.lookup_position(offset)
        while position < self.size:
            data = disk.read(self.file, position, min(WALK_BYTES, self.size - position))
            if data is None:
                raise WouldBlock(self, position, WARM_BYTES)
            at, size = find_batch(data, offset)
            if size > 0:
                return position + at, size
            if at == 0:
                raise CorruptBatch(f"{self.file.path} ends inside a batch at {position}")
            position += at
        if position > self.size:
            raise CorruptBatch(f"a batch of {self.file.path} ends beyond the segment")
        return self.size, 0

    def unpin(self) -> None:
        assert self.pins > 0
        self.pins -= 1
        if self.pins == 0 and self.retire is not None:
            retire, self.retire = self.retire, None
            retire(self.file)

    def retire_when_unpinned(self, retire: Callable[[DiskFile], None]) -> None:
        """Let go of the file. Slices that were promised to clients stay readable until sent."""
        if self.pins == 0:
            retire(self.file)
        else:
            self.retire = retire
