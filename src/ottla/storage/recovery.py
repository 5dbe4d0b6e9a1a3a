"""Loading a partition's directory at start, and telling a torn tail from rot.

After a clean stop the files are believed. Otherwise every batch from the recovery point on is read.
A bad one is the torn tail of a crash, and is cut off with all that follows, unless it was durable:
below the durable mark or the recovery point, or anywhere after a clean stop, it is rot, and the log
stops (DESIGN D3).
"""

import re
from collections.abc import Iterator
from typing import NamedTuple

from ottla.config import TopicConfig
from ottla.names import TopicPartition
from ottla.records.batch import HEADER_BYTES, BatchHeader, CorruptBatch, read_header
from ottla.records.kernel import batch_spans
from ottla.storage.checkpoints import CorruptCheckpoint, write_atomic
from ottla.storage.disk import Disk, DiskFile
from ottla.storage.durable import UNKNOWN_CRC, Mark
from ottla.storage.epochs import UNDEFINED_EPOCH, LeaderEpochs
from ottla.storage.index import OffsetIndex, TimeIndex
from ottla.storage.jobs import EPOCHS_FILE, create_segment_files
from ottla.storage.log import RELATIVE_OFFSET_MAX, SEGMENT_POSITION_MAX, Log
from ottla.storage.producers import (
    SNAPSHOT_SUFFIX,
    WINDOW_SUFFIX,
    CorruptSnapshot,
    Producers,
)
from ottla.storage.segment import (
    INDEX_SUFFIX,
    LOG_SUFFIX,
    TIME_INDEX_SUFFIX,
    Segment,
    file_stem,
)
from ottla.storage.swaps import finish_swaps

SCAN_BYTES = 1 << 20
NO_END = 1 << 63
SEGMENT_SUFFIXES = (LOG_SUFFIX, INDEX_SUFFIX, TIME_INDEX_SUFFIX)
_NUMBERED = re.compile(r"([0-9]{20})(\.[a-z-]+)")


class CorruptLog(Exception):
    """Rot: bytes that were durable are not what was written. This log stops, and says so."""


class Trust(NamedTuple):
    """What is known about the files of a log before they are read."""

    is_clean: bool
    recovery_point: int = 0
    start_offset: int = 0
    mark: Mark | None = None
    wall_ms: int = 0

    @property
    def durable_offset(self) -> int:
        """What was on disk up to here is there, or it is rot."""
        if self.is_clean:
            return NO_END
        return max(self.recovery_point, 0 if self.mark is None else self.mark.offset)


class _Tear(NamedTuple):
    position: int
    offset: int
    why: str


def load_log(
    disk: Disk,
    partition: TopicPartition,
    directory: str,
    config: TopicConfig,
    trust: Trust,
) -> tuple[Log, list[str]]:
    """The log, and what was repaired on the way, for the operator. Blocking: at boot.

    Its bytes and names are durable with the `sync_all` that follows when all logs are loaded: a
    process that was killed may have left some in the page cache.
    """
    repairs = finish_swaps(disk, directory)
    while True:
        log = Log(partition, directory, disk, config)
        is_loaded = False
        try:
            is_loaded = _Loader(disk, log, trust, repairs).load()
        finally:
            for segment in log.segments if not is_loaded else ():
                disk.close(segment.file)
        if is_loaded:
            return log, repairs
        # A cut took batches that the producers' state was made of: all is made anew.


def read_file(disk: Disk, path: str) -> bytes | None:
    return read_whole(disk, path) if disk.exists(path) else None


def read_whole(disk: Disk, path: str) -> bytes:
    file = disk.open(path)
    try:
        return disk.read_blocking(file, 0, disk.size(file))
    finally:
        disk.close(file)


class _Loader:
    def __init__(self, disk: Disk, log: Log, trust: Trust, repairs: list[str]) -> None:
        self.disk = disk
        self.log = log
        self.trust = trust
        self.repairs = repairs
        self.numbers: dict[str, list[int]] = {}
        self.names = dict.fromkeys(disk.list(log.directory))
        for name in self.names:
            match = _NUMBERED.fullmatch(name)
            if match is not None:
                self.numbers.setdefault(match[2], []).append(int(match[1]))
        self.has_epochs = False
        self.known_epochs = LeaderEpochs()
        self.scanned: list[Segment] = []
        self.has_met_mark = False
        # From which position on a segment may be in the page cache alone.
        self.unsure: list[tuple[Segment, int]] = []

    def load(self) -> bool:
        """False where it has to begin again, because the files are others now."""
        log, disk, trust = self.log, self.disk, self.trust
        bases = self.numbers.get(LOG_SUFFIX, [])
        if not bases:
            bases = [trust.start_offset]
            disk.close(create_segment_files(disk, log.directory, bases[0]))
            disk.sync_dir(log.directory)
        self._load_epochs()
        log.end_offset = bases[0]
        self._load_producers(bases[-1])
        snapshot_offset = log.producers.map_end_offset
        self._load_segments(bases)
        log.end_offset = max(log.end_offset, log.active.base_offset)
        self._check_end()
        if log.end_offset < snapshot_offset:
            return False
        log.start_offset = max(trust.start_offset, bases[0])
        log.producers.map_end_offset = log.end_offset
        log.epochs.truncate_from_end(log.end_offset)
        log.epochs.truncate_from_start(log.start_offset)
        for segment, position in () if trust.is_clean else self.unsure:
            self._write_again(segment, position)
        if log.epochs.take_dirty():
            # Before a mark covers the batches that brought them.
            write_atomic(disk, f"{log.directory}/{EPOCHS_FILE}", log.epochs.encode())
        self._remove_strays()
        if snapshot_offset == log.end_offset and trust.is_clean and not self.scanned:
            log.left_clean_at = log.end_offset, log.active.base_offset
        log.trust_page_cache()
        log.recovery_point = log.end_offset
        return True

    def _check_end(self) -> None:
        """Records may be gone without a trace of damage: whole batches, or whole files."""
        end_offset = self.log.end_offset
        mark_offset = 0 if self.trust.mark is None else self.trust.mark.offset
        durable_offset = max(mark_offset, self.trust.start_offset)
        if end_offset < durable_offset:
            self._stop(end_offset, f"the log ends there, and reached {durable_offset}")
        if self._lacks_mark():
            self._stop(mark_offset, "no batch ends there any more")

    def _lacks_mark(self) -> bool:
        """Not one of the batches that were read ends at the mark. (No CRC covers an offset.)"""
        mark = self.trust.mark
        if mark is None or self.has_met_mark or not self.scanned:
            return False
        return self.scanned[0].base_offset < mark.offset

    def _stop(self, offset: int, why: str) -> None:
        raise CorruptLog(
            f"{self.log.directory} is damaged at offset {offset} ({why}), which was "
            f"durable: it is not served. Restore a copy, or remove the directory to give up "
            f"what follows."
        )

    def _read(self, name: str) -> bytes | None:
        if name not in self.names:
            return None
        return read_whole(self.disk, f"{self.log.directory}/{name}")

    def _load_epochs(self) -> None:
        data = self._read(EPOCHS_FILE)
        if data is None:
            return
        try:
            self.log.epochs = LeaderEpochs.decode(data)
            self.known_epochs = LeaderEpochs.decode(data)
            self.has_epochs = True
        except CorruptCheckpoint as error:
            self.repairs.append(f"{self.log.directory}: {error}; the epochs come from the batches")

    def _load_producers(self, last_base_offset: int) -> None:
        """The newest snapshot that can be read. Batches from its offset on complete it."""
        log = self.log
        windows = dict.fromkeys(self.numbers.get(WINDOW_SUFFIX, ()))
        for offset in sorted(self.numbers.get(SNAPSHOT_SUFFIX, ()), reverse=True):
            if offset > last_base_offset and not self.trust.is_clean:
                continue
            if offset not in windows:
                # Kafka's snapshot keeps one batch a producer: the log has the other four.
                continue
            stem = file_stem(offset)
            try:
                snapshot = self._read(stem + SNAPSHOT_SUFFIX) or b""
                log.producers = Producers.decode_snapshot(snapshot, offset)
                log.producers.decode_window(self._read(stem + WINDOW_SUFFIX) or b"")
                return
            except CorruptSnapshot as error:
                self.repairs.append(
                    f"{log.directory}: {error}; an older snapshot or the batches serve"
                )
                log.producers = Producers()

    def _load_segments(self, bases: list[int]) -> None:
        disk, log = self.disk, self.log
        for at, base_offset in enumerate(bases):
            stem = f"{log.directory}/{file_stem(base_offset)}"
            file = disk.open(stem + LOG_SUFFIX)
            segment = Segment(base_offset, file, self.trust.wall_ms, log.config.segment_index_bytes)
            log.add_segment(segment)
            is_last = at == len(bases) - 1
            end_offset = NO_END if is_last else bases[at + 1]
            if self._can_believe(segment, stem, end_offset):
                if not is_last or self._believe_last(segment):
                    continue
                self.repairs.append(f"{stem}: the indexes do not fit the log and were made again")
            tear = self._scan(segment)
            if tear is None and not is_last:
                tear = self._find_gap(segment, end_offset)
            if tear is not None and self._cut(segment, tear, bases[at + 1 :]):
                return

    def _find_gap(self, segment: Segment, next_base_offset: int) -> _Tear | None:
        """Batches may be missing between two segments: the file lost them whole in the crash.

        In a compacted log they may have been removed. Where nothing is known of what was durable,
        as after Kafka had the directory, a log may also have been compacted once.
        """
        end_offset = self.log.end_offset
        if end_offset >= next_base_offset or self.trust.mark is None:
            return None
        if self.log.config.compacted and self.trust.durable_offset >= next_base_offset:
            return None
        why = f"the next segment begins at {next_base_offset}"
        return _Tear(segment.size, end_offset, why)

    def _can_believe(self, segment: Segment, stem: str, end_offset: int) -> bool:
        """Whether this segment may be used unread, its indexes included."""
        if not self.trust.is_clean and end_offset > self.trust.recovery_point:
            return False
        if end_offset != NO_END and self.log.producers.map_end_offset < end_offset:
            return False
        if not self.has_epochs:
            return False
        name = file_stem(segment.base_offset)
        offsets = self._read(name + INDEX_SUFFIX)
        times = self._read(name + TIME_INDEX_SUFFIX)
        if offsets is None or times is None:
            return False
        if not OffsetIndex.is_sane(offsets) or not TimeIndex.is_sane(times):
            self.repairs.append(f"{stem}: an index is damaged and was made again")
            return False
        index_bytes_max = self.log.config.segment_index_bytes
        segment.offset_index = OffsetIndex.decode(segment.base_offset, offsets, index_bytes_max)
        segment.time_index = TimeIndex.decode(segment.base_offset, times, index_bytes_max)
        segment.has_full_index = segment.offset_index.is_full or segment.time_index.is_full
        segment.size = self.disk.size(segment.file)
        if times and not len(segment.time_index):
            # An entry of nothing but zeros looks as if there were none.
            return False
        segment.max_timestamp_ms, segment.max_timestamp_offset = segment.time_index.last_entry
        last_offset, position = segment.offset_index.lookup(segment.offset_index.last_offset)
        if position > segment.size or max(last_offset, segment.max_timestamp_offset) > end_offset:
            self.repairs.append(f"{stem}: the indexes are of another log and were made again")
            return False
        return True

    def _believe_last(self, segment: Segment) -> bool:
        """Walk the few batches behind the last index entry to the end of the log.

        False where they do not lead there: the files are of different moments.
        """
        log = self.log
        end_offset, position = segment.offset_index.lookup(segment.offset_index.last_offset)
        if position >= max(segment.size, 1):
            return False
        try:
            if segment.size >= HEADER_BYTES:
                head = self.disk.read_blocking(segment.file, 0, HEADER_BYTES)
                segment.first_timestamp_ms = read_header(head).max_timestamp
            headers = [h for h, _ in self._batches(segment.file, position, segment.size)]
        except (_Damage, CorruptBatch):
            return False
        if headers:
            is_indexed = len(segment.offset_index) > 0
            if is_indexed and headers[0].last_offset != segment.offset_index.last_offset:
                return False
            if log.producers.map_end_offset < headers[0].base_offset:
                return False
            end_offset = headers[-1].next_offset
        if segment.max_timestamp_offset > end_offset:
            return False
        for header in headers:
            log.last_batch_crc = header.crc
            if header.max_timestamp > segment.max_timestamp_ms:
                segment.max_timestamp_ms = header.max_timestamp
                segment.max_timestamp_offset = header.last_offset
            self._note_producer(header)
        log.end_offset = end_offset
        return True

    def _scan(self, segment: Segment) -> _Tear | None:
        """Read every batch, and make the indexes, epochs and producer state anew."""
        log = self.log
        size = self.disk.size(segment.file)
        mark = self.trust.mark
        self.scanned.append(segment)
        segment.size = 0
        segment.has_full_index = False
        segment.max_timestamp_ms, segment.max_timestamp_offset = -1, segment.base_offset
        next_offset = segment.base_offset
        if mark is None or next_offset >= mark.offset:
            self.unsure.append((segment, 0))
        tear: _Tear | None = None
        index_bytes_max = log.config.segment_index_bytes
        segment.offset_index = OffsetIndex(segment.base_offset, index_bytes_max)
        segment.time_index = TimeIndex(segment.base_offset, index_bytes_max)
        try:
            for header, position in self._batches(segment.file, 0, size):
                self._check_place(segment, header, position, next_offset)
                segment.on_appended(
                    header.base_offset,
                    header.last_offset,
                    header.size,
                    header.max_timestamp,
                    header.last_offset,
                    log.config.index_interval_bytes,
                )
                next_offset = header.next_offset
                log.last_batch_crc = header.crc
                if mark is not None and next_offset == mark.offset:
                    self.has_met_mark = True
                    self.unsure.append((segment, position + header.size))
                    if mark.crc not in (UNKNOWN_CRC, header.crc):
                        self._stop(header.base_offset, "another batch stands where it was")
                if header.partition_leader_epoch > log.epochs.latest_epoch:
                    log.epochs.assign(header.partition_leader_epoch, header.base_offset)
                self._note_producer(header)
        except _Damage as damage:
            tear = _Tear(damage.position, next_offset, damage.why)
        log.end_offset = next_offset
        return tear

    def _write_again(self, segment: Segment, position: int) -> None:
        """After a sync that failed the page cache shows what the device never got, as clean.

        A process that starts then reads it, and syncs in vain: only what is written is synced.
        """
        disk = self.disk
        while position < segment.size:
            size = min(SCAN_BYTES, segment.size - position)
            data = disk.read_blocking(segment.file, position, size)
            disk.append(segment.file, position, (data,))
            position += size

    def _note_producer(self, header: BatchHeader) -> None:
        log = self.log
        if header.producer_id < 0 or header.is_control:
            return
        if header.base_offset >= log.producers.map_end_offset:
            log.producers.update(
                header.producer_id,
                header.producer_epoch,
                header.base_sequence,
                header.last_sequence,
                header.base_offset,
                header.last_offset,
                header.max_timestamp,
            )

    def _batches(
        self, file: DiskFile, position: int, size: int
    ) -> Iterator[tuple[BatchHeader, int]]:
        """Sound batches with their positions; _Damage where one is not."""
        chunk = SCAN_BYTES
        while position < size:
            data = self.disk.read_blocking(file, position, min(chunk, size - position))
            headers, end, why = batch_spans(data)
            at = position
            for header in headers:
                yield header, at
                at += header.size
            position += end
            if why is not None:
                raise _Damage(position, why)
            if end == 0:
                chunk = _next_chunk(data, size - position, position)
            else:
                chunk = SCAN_BYTES

    def _check_place(
        self, segment: Segment, header: BatchHeader, position: int, next_offset: int
    ) -> None:
        if header.base_offset < next_offset:
            raise _Damage(position, f"offset {header.base_offset} comes again")
        if header.last_offset < header.base_offset:
            raise _Damage(position, f"a batch from {header.base_offset} to {header.last_offset}")
        if header.last_offset - segment.base_offset > RELATIVE_OFFSET_MAX:
            raise _Damage(position, f"offset {header.last_offset} is too far for this segment")
        if position > SEGMENT_POSITION_MAX:
            raise _Damage(position, "the segment is too large")
        if self.trust.mark is None or header.base_offset >= self.trust.mark.offset:
            return
        # Nor is a batch's epoch covered. The checkpoint was written before it was durable.
        epoch, known = header.partition_leader_epoch, self.known_epochs
        if known.epoch_for_offset(header.base_offset) not in (UNDEFINED_EPOCH, epoch):
            raise _Damage(position, f"a batch of epoch {epoch} where that epoch is not")

    def _cut(self, segment: Segment, tear: _Tear, later_bases: list[int]) -> bool:
        """Take away what is torn. True where nothing of the log is left behind it."""
        log, disk = self.log, self.disk
        is_debris = tear.offset in later_bases[:1]
        is_above = tear.offset >= self.trust.durable_offset and not self._lacks_mark()
        if not is_debris and not is_above:
            self._stop(tear.offset, tear.why)
        disk.truncate(segment.file, tear.position)
        disk.sync(segment.file)
        self.repairs.append(
            f"{log.directory}: cut a torn tail at offset {tear.offset} ({tear.why})"
        )
        if is_debris:
            # Debris of an append that failed before the roll: no record is missing.
            return False
        for suffix, numbers in self.numbers.items():
            for number in numbers:
                if number > tear.offset or (number in later_bases and suffix in SEGMENT_SUFFIXES):
                    disk.unlink(f"{log.directory}/{file_stem(number)}{suffix}")
        disk.sync_dir(log.directory)
        return True

    def _remove_strays(self) -> None:
        """Producer snapshots of clean stops would pile up: Kafka keeps those of its segments."""
        log = self.log
        snapshots = self.numbers.get(SNAPSHOT_SUFFIX, [])
        kept = dict.fromkeys([*log.base_offsets, *snapshots[-1:]])
        for suffix in (SNAPSHOT_SUFFIX, WINDOW_SUFFIX):
            for number in self.numbers.get(suffix, ()):
                if number not in kept and number < log.end_offset:
                    self.disk.unlink(f"{log.directory}/{file_stem(number)}{suffix}")


class _Damage(Exception):
    def __init__(self, position: int, why: str) -> None:
        super().__init__(why)
        self.position = position
        self.why = why


def _next_chunk(data: bytes, left: int, position: int) -> int:
    """How much to read for the one batch that did not fit, if the file has it whole."""
    try:
        wanted = read_header(data).size if len(data) >= HEADER_BYTES else HEADER_BYTES
    except CorruptBatch as error:
        raise _Damage(position, str(error)) from error
    if wanted > left or wanted <= len(data):
        raise _Damage(position, f"the last batch has {left} of {wanted} bytes")
    return wanted
