"""One partition's log: segments, offsets, epochs and producer state.

Appends go to the page cache inline. Everything that may wait for a device is handed out as a job
(`jobs.py`) or a ticket of a flush round, whose result comes back as an input (DESIGN D3).
"""

from bisect import bisect_right
from collections.abc import Callable
from typing import Final

import msgspec
from crc32c import crc32c

from ottla.config import TopicConfig
from ottla.errors import DiskError, ErrorCode, Refused
from ottla.names import NO_UUID, TopicPartition, Uuid
from ottla.records.batch import CorruptBatch, stamped_parts
from ottla.records.validate import Validated
from ottla.storage.disk import Disk, DiskFile
from ottla.storage.epochs import LeaderEpochs
from ottla.storage.jobs import ClosedSegment, CloseLog, CreateSegment, ProducerFiles
from ottla.storage.journal import Journal
from ottla.storage.producers import Duplicate, Producers
from ottla.storage.segment import WARM_BYTES, FileSlice, Segment, WouldBlock

RELATIVE_OFFSET_MAX: Final = 2**31 - 1
SEGMENT_POSITION_MAX: Final = 2**31 - 1
BATCH_OVERHEAD_BYTES: Final = 12


class Appended(msgspec.Struct, frozen=True, gc=False):
    base_offset: int
    last_offset: int
    log_append_time_ms: int
    duplicate: bool


class LogTicket(msgspec.Struct, eq=False):
    """A promise to sync what this log held when the ticket was drawn (D3).

    Truncation, deletion and a failed sync void it by moving the log's generation on.
    """

    log: "Log"
    generation: int
    end_offset: int
    segment: Segment
    position: int
    files: tuple[DiskFile, ...]
    epochs: bytes | None
    batch_crc: int
    # Said by the round: there was no room for their checkpoint.
    lacks_epochs: bool = False


class Log:
    """The replicated log of one partition on one broker."""

    def __init__(
        self, partition: TopicPartition, directory: str, disk: Disk, config: TopicConfig
    ) -> None:
        self.partition = partition
        self.directory = directory
        self.disk = disk
        self.config = config
        self.segments: list[Segment] = []
        self.base_offsets: list[int] = []
        self.start_offset = 0
        self.end_offset = 0
        self.durable_offset = 0
        # Below it recovery need not look. It stays behind where the page cache is trusted.
        self.recovery_point = 0
        self.durable_segment: Segment | None = None
        self.durable_position = 0
        self.last_batch_crc = 0
        self.generation = 0
        self.epochs = LeaderEpochs()
        self.producers = Producers()
        self.unsynced: list[DiskFile] = []
        self.journal: Journal | None = None
        self.topic_id: Uuid = NO_UUID
        self.is_dirty = False
        # Rounds and jobs under way that write into the directory, and what waits for their end.
        self.directory_users = 0
        self._when_unused: Callable[[], None] | None = None
        # The log's end and its active segment as a clean stop wrote them down.
        self.left_clean_at: tuple[int, int] | None = None
        # Behind the last batch may stand a part of one whose append failed.
        self.has_debris = False

    @property
    def active(self) -> Segment:
        return self.segments[-1]

    def join_journal(self, journal: Journal, topic_id: Uuid) -> None:
        """Small appends become durable by the journal's rounds from now on."""
        self.journal = journal
        self.topic_id = topic_id
        self.active.journal_key = topic_id + self.active.file.path.encode()

    def add_segment(self, segment: Segment) -> None:
        segment.journal_key = self.topic_id + segment.file.path.encode()
        assert not self.segments or segment.base_offset > self.segments[-1].base_offset
        segment.roll_jitter_ms = self._roll_jitter_ms(segment)
        self.segments.append(segment)
        self.base_offsets.append(segment.base_offset)

    def _roll_jitter_ms(self, segment: Segment) -> int:
        """Kafka draws it for each segment. Ours comes from the name, so that replays agree."""
        if self.config.segment_jitter_ms == 0:
            return 0
        jitter_ms = min(self.config.segment_jitter_ms, self.config.segment_ms)
        return crc32c(segment.file.path.encode()) % jitter_ms

    # Appending

    def must_roll(self, batch: Validated, wall_ms: int) -> bool:
        """Whether Kafka would start a new segment before this batch."""
        segment = self.segments[-1]
        size = segment.size
        config = self.config
        if size + batch.size > config.segment_bytes:
            if batch.size > config.segment_bytes:
                raise Refused(
                    ErrorCode.RECORD_LIST_TOO_LARGE,
                    f"a batch of {batch.size} bytes, and segments of {config.segment_bytes}",
                )
            return size > 0
        if size == 0:
            return False
        first_ms = segment.first_timestamp_ms
        if first_ms >= 0:
            waited_ms = batch.max_timestamp_ms - first_ms
        else:
            waited_ms = wall_ms - segment.created_wall_ms
        if waited_ms > config.segment_ms - segment.roll_jitter_ms:
            return True
        if segment.has_full_index:
            return True
        last_offset = self.end_offset + batch.last_offset_delta
        return last_offset - segment.base_offset > RELATIVE_OFFSET_MAX

    def roll_job(self) -> CreateSegment:
        """Close the active segment's indexes and make the next segment's files.

        The directory is in use until `leave_directory`.
        """
        self.directory_users += 1
        return CreateSegment(
            self.directory, self.end_offset, self._closed_active(), self._producer_files()
        )

    def close_job(self) -> CloseLog | None:
        """None where the files are still those that the last clean stop left."""
        if (self.end_offset, self.active.base_offset) == self.left_clean_at:
            return None
        return CloseLog(
            self.directory,
            self._closed_active(),
            self._producer_files(),
            self.epochs.encode() if self.epochs.take_dirty() else None,
        )

    def _closed_active(self) -> ClosedSegment:
        active = self.segments[-1]
        active.time_index.maybe_append(active.max_timestamp_ms, active.max_timestamp_offset)
        return ClosedSegment(
            active.base_offset,
            active.offset_index.encode(),
            active.time_index.encode(),
            (active.file, active.size) if self.has_debris else None,
        )

    def _producer_files(self) -> ProducerFiles:
        producers = self.producers
        return ProducerFiles(
            self.end_offset, producers.encode_snapshot(), producers.encode_window()
        )

    def on_rolled(self, file: DiskFile, wall_ms: int) -> None:
        self.unsynced.append(self.active.file)
        self.has_debris = False
        self.active.forget_recent()
        self.add_segment(Segment(self.end_offset, file, wall_ms, self.config.segment_index_bytes))

    def append(self, batch: Validated, leader_epoch: int, wall_ms: int) -> Appended:
        """Give the batch its offsets and write it. The caller has seen to `must_roll`."""
        (
            data,
            size,
            _,
            last_offset_delta,
            max_timestamp_ms,
            max_timestamp_delta,
            log_append_time_ms,
            crc,
            producer_id,
            producer_epoch,
            base_sequence,
            last_sequence,
            _,
        ) = batch
        base_offset = self.end_offset
        last_offset = base_offset + last_offset_delta
        if producer_id >= 0:
            duplicate = self.producers.check(
                producer_id, producer_epoch, base_sequence, last_sequence
            )
            if duplicate is not None:
                return _appended_before(duplicate)
        segment = self.segments[-1]
        if leader_epoch > self.epochs.latest_epoch:
            self.epochs.assign(leader_epoch, base_offset)
        parts = stamped_parts(data, base_offset, leader_epoch)
        try:
            self.disk.append(segment.file, segment.size, parts)
        except DiskError:
            # The next append writes over it; a roll or a clean stop cuts what is left of it.
            self.has_debris = True
            raise
        if self.journal is not None:
            self.journal.note(segment, size, parts)
        segment.on_appended(
            base_offset,
            last_offset,
            size,
            max_timestamp_ms,
            base_offset + max_timestamp_delta,
            self.config.index_interval_bytes,
        )
        self.end_offset = self.producers.map_end_offset = last_offset + 1
        self.last_batch_crc = crc
        self.is_dirty = True
        if producer_id >= 0:
            self.producers.update(
                producer_id,
                producer_epoch,
                base_sequence,
                last_sequence,
                base_offset,
                last_offset,
                max_timestamp_ms,
            )
        return Appended(base_offset, last_offset, log_append_time_ms, False)

    def trust_page_cache(self) -> None:
        """`ottla.durability=page-cache`: what was written counts as durable, by name."""
        self.durable_offset = self.end_offset
        self.durable_segment = self.segments[-1]
        self.durable_position = self.durable_segment.size

    # Flushing

    def draw_ticket(self) -> LogTicket:
        """`leave_directory` when the round is over, whatever came of it."""
        active = self.segments[-1]
        self.directory_users += 1
        files = (*self.unsynced, active.file)
        self.unsynced = []
        self.is_dirty = False
        epochs = self.epochs.encode() if self.epochs.take_dirty() else None
        return LogTicket(
            self,
            self.generation,
            self.end_offset,
            active,
            active.size,
            files,
            epochs,
            self.last_batch_crc,
        )

    def on_flushed(self, ticket: LogTicket) -> bool:
        """Whether the durable offset moved."""
        if ticket.lacks_epochs:
            # Recovery believes no batch without them.
            self.epochs.dirty = True
            return False
        if ticket.generation != self.generation or ticket.end_offset <= self.durable_offset:
            return False
        self.durable_offset = ticket.end_offset
        self.recovery_point = ticket.end_offset
        self.durable_segment = ticket.segment
        self.durable_position = ticket.position
        return True

    # Reading

    def read(
        self, offset: int, end_offset: int, bytes_max: int, first_batch_whole: bool
    ) -> FileSlice | None:
        """The bytes from the batch that holds `offset` on, below `end_offset`; None if none.

        A first batch larger than `bytes_max` is answered whole if asked for, else not at all
        (KIP-74). Raises WouldBlock where the walk meets bytes that are not in the page cache, and
        CorruptBatch.
        """
        at = bisect_right(self.base_offsets, offset) - 1
        assert at >= 0
        while at < len(self.segments):
            segment = self.segments[at]
            limit = self._limit_in(segment, end_offset)
            position = segment.known_position(offset)
            first_size = 0
            if position is None:
                position, first_size = segment.find(self.disk, offset)
            available = limit - position
            if available <= 0:
                if segment.base_offset >= end_offset or limit < segment.size:
                    return None
                at += 1
                continue
            if available > bytes_max:
                first_size = first_size or self._batch_size(segment, position)
                if first_size <= bytes_max:
                    return FileSlice(segment, position, bytes_max)
                return FileSlice(segment, position, first_size) if first_batch_whole else None
            return FileSlice(segment, position, available)
        return None

    def _limit_in(self, segment: Segment, end_offset: int) -> int:
        """The position in `segment` up to which offsets are below `end_offset`."""
        if end_offset >= self.end_offset:
            return segment.size
        if end_offset == self.durable_offset and self.durable_segment is not None:
            if segment is self.durable_segment:
                return self.durable_position
            return segment.size if segment.base_offset < end_offset else 0
        if end_offset <= segment.base_offset:
            return 0
        position = segment.known_position(end_offset)
        return segment.find(self.disk, end_offset)[0] if position is None else position

    def _batch_size(self, segment: Segment, position: int) -> int:
        head = self.disk.read(segment.file, position, BATCH_OVERHEAD_BYTES)
        if head is None:
            raise WouldBlock(segment, position, WARM_BYTES)
        size = int.from_bytes(head[8:12], "big") + BATCH_OVERHEAD_BYTES
        if len(head) < BATCH_OVERHEAD_BYTES or position + size > segment.size:
            raise CorruptBatch(f"{segment.file.path} ends inside a batch at {position}")
        return size

    def check_offset(self, offset: int, end_offset: int) -> None:
        if not self.start_offset <= offset <= end_offset:
            raise Refused(
                ErrorCode.OFFSET_OUT_OF_RANGE,
                f"{self.partition} holds offsets {self.start_offset} to {end_offset}, not {offset}",
            )

    # Letting go

    def close(self, retire: Callable[[DiskFile], None], when_unused: Callable[[], None]) -> None:
        """Void all tickets. Files and directory are let go once no round and no job uses them."""
        self.generation += 1
        self.is_dirty = False

        def let_go() -> None:
            for segment in self.segments:
                segment.retire_when_unpinned(retire)
            when_unused()

        self._when_unused = let_go
        self._maybe_let_go()

    def leave_directory(self) -> None:
        self.directory_users -= 1
        self._maybe_let_go()

    def _maybe_let_go(self) -> None:
        if self.directory_users == 0 and self._when_unused is not None:
            # Forgotten as it runs: a log that holds on to it would be a cycle, found by nobody.
            let_go, self._when_unused = self._when_unused, None
            let_go()


def _appended_before(duplicate: Duplicate) -> Appended:
    return Appended(duplicate.base_offset, duplicate.last_offset, duplicate.timestamp_ms, True)
