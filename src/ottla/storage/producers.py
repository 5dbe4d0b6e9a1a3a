"""What one log remembers of its idempotent producers (KIP-98, KIP-360).

By it a resent batch is recognised and answered with its first offset, and a gap is refused. The
state is a function of the log: it is rebuilt from batch headers wherever its files are lost.
"""

import struct
from collections.abc import Iterator
from typing import NamedTuple

import crc32c
import msgspec

from ottla.errors import ErrorCode, Refused

SNAPSHOT_SUFFIX = ".snapshot"
# Ours alone. Kafka's loader acts on the suffixes that it knows and leaves this file be.
WINDOW_SUFFIX = ".ottla-producers"

NO_PRODUCER_EPOCH = -1
NO_SEQUENCE = -1
NO_OFFSET = -1
NO_TIMESTAMP = -1
SEQUENCE_MAX = 2**31 - 1

# As many as a producer may have in flight.
WINDOW_BATCHES = 5
EXPIRY_SLICE_ENTRIES = 1_000

_BATCH = struct.Struct(">iiqqq")
_OLDER_BYTES = (WINDOW_BATCHES - 1) * _BATCH.size

_SNAPSHOT_VERSION = 1
_SNAPSHOT_HEAD = struct.Struct(">hIi")
_SNAPSHOT_ENTRY = struct.Struct(">qhiqiqiq")
_CRC_END = 6

_WINDOW_VERSION = 1
_WINDOW_HEAD = struct.Struct(">hI")
_WINDOW_ENTRY = struct.Struct(">qhB")


class CorruptSnapshot(Exception):
    """A file of producer state that cannot be trusted: the log has what it held."""


class Duplicate(NamedTuple):
    """The batch that a resent one was when it was appended."""

    base_offset: int
    last_offset: int
    timestamp_ms: int


class ProducerBatch(NamedTuple):
    base_sequence: int
    last_sequence: int
    base_offset: int
    last_offset: int
    timestamp_ms: int


class ProducerEntry(msgspec.Struct, gc=False):
    """One producer in one log: 0.4 KB, of which the window is packed."""

    producer_id: int
    producer_epoch: int
    coordinator_epoch: int = -1
    last_timestamp_ms: int = NO_TIMESTAMP
    current_txn_first_offset: int = NO_OFFSET
    # Beside the window, where every append looks.
    last_sequence: int = NO_SEQUENCE
    window: bytes = b""

    def batches(self) -> list[ProducerBatch]:
        """The window, oldest first."""
        return [ProducerBatch._make(fields) for fields in _BATCH.iter_unpack(self.window)]


class Producers:
    """The producers of one log, up to `map_end_offset` (exclusive), which its owner moves."""

    __slots__ = ("_entries", "_sweep", "map_end_offset")

    def __init__(self, map_end_offset: int = 0) -> None:
        self._entries: dict[int, ProducerEntry] = {}
        self._sweep: list[int] = []
        self.map_end_offset = map_end_offset

    def __len__(self) -> int:
        return len(self._entries)

    def get(self, producer_id: int) -> ProducerEntry | None:
        return self._entries.get(producer_id)

    def check(
        self, producer_id: int, producer_epoch: int, base_sequence: int, last_sequence: int
    ) -> Duplicate | None:
        """May a client's batch be appended? None for yes, its offsets where it was before."""
        entry = self._entries.get(producer_id)
        if entry is None:
            return None
        if (
            base_sequence == entry.last_sequence + 1
            and producer_epoch == entry.producer_epoch
            # Without an epoch any sequence was let in: the next one may be there already.
            and producer_epoch >= 0
        ):
            return None
        return _check_out_of_line(entry, producer_epoch, base_sequence, last_sequence)

    def update(
        self,
        producer_id: int,
        producer_epoch: int,
        base_sequence: int,
        last_sequence: int,
        base_offset: int,
        last_offset: int,
        timestamp_ms: int,
    ) -> None:
        """Remember a batch that stands in the log now, whoever brought it."""
        batch = _BATCH.pack(base_sequence, last_sequence, base_offset, last_offset, timestamp_ms)
        entry = self._entries.get(producer_id)
        if entry is None:
            entry = self._entries[producer_id] = ProducerEntry(producer_id, producer_epoch)
            entry.window = batch
        elif producer_epoch == entry.producer_epoch:
            entry.window = entry.window[-_OLDER_BYTES:] + batch
        else:
            entry.producer_epoch = producer_epoch
            entry.window = batch
        entry.last_sequence = last_sequence
        entry.last_timestamp_ms = timestamp_ms

    def expire(self, wall_ms: int, expiration_ms: int) -> bool:
        """Forget some producers that have been silent for long; True while others wait.

        A call looks at a bounded number of them, the next call at the next ones; after False a
        new sweep begins.
        """
        if not self._sweep:
            self._sweep = list(self._entries)
        part = self._sweep[-EXPIRY_SLICE_ENTRIES:]
        del self._sweep[-EXPIRY_SLICE_ENTRIES:]
        for producer_id in part:
            entry = self._entries.get(producer_id)
            if (
                entry is not None
                and entry.current_txn_first_offset == NO_OFFSET
                and wall_ms - entry.last_timestamp_ms >= expiration_ms
            ):
                del self._entries[producer_id]
        return bool(self._sweep)

    def truncate_from_end(self, offset: int) -> bool:
        """The log ends at `offset` now. True: nothing is known any more, rebuild the state.

        What a batch displaced cannot be had back from the window.
        """
        if offset >= self.map_end_offset:
            return False
        self._entries.clear()
        self._sweep.clear()
        self.map_end_offset = 0
        return True

    def encode_snapshot(self) -> bytes:
        """Kafka's file: the last batch of every producer."""
        flat: list[int] = []
        for entry in self._entries.values():
            base_offset = last_offset = NO_OFFSET
            if entry.window:
                _, _, base_offset, last_offset, _ = _BATCH.unpack(entry.window[-_BATCH.size :])
            flat += (
                entry.producer_id,
                entry.producer_epoch,
                entry.last_sequence,
                last_offset,
                last_offset - base_offset,
                entry.last_timestamp_ms,
                entry.coordinator_epoch,
                entry.current_txn_first_offset,
            )
        count = len(self._entries)
        entries = struct.pack(">i" + _SNAPSHOT_ENTRY.format[1:] * count, count, *flat)
        return struct.pack(">hI", _SNAPSHOT_VERSION, crc32c.crc32c(entries)) + entries

    @classmethod
    def decode_snapshot(cls, data: bytes, map_end_offset: int = 0) -> "Producers":
        """The state that a snapshot holds; `map_end_offset` is in its file's name."""
        if len(data) < _SNAPSHOT_HEAD.size:
            raise CorruptSnapshot(f"a producer snapshot of {len(data)} bytes")
        version, crc, count = _SNAPSHOT_HEAD.unpack_from(data)
        if version != _SNAPSHOT_VERSION:
            raise CorruptSnapshot(f"a producer snapshot of version {version}")
        if crc != crc32c.crc32c(data[_CRC_END:]):
            raise CorruptSnapshot("a producer snapshot with a wrong checksum")
        if len(data) != _SNAPSHOT_HEAD.size + count * _SNAPSHOT_ENTRY.size:
            raise CorruptSnapshot(f"a producer snapshot of {count} entries in {len(data)} bytes")
        producers = cls(map_end_offset)
        for fields in _SNAPSHOT_ENTRY.iter_unpack(data[_SNAPSHOT_HEAD.size :]):
            producers._entries[fields[0]] = _entry_of(*fields)
        return producers

    def encode_window(self) -> bytes:
        """A side file of ours: the batches before the last one, which a snapshot leaves out."""
        parts: list[bytes] = []
        for entry in self._entries.values():
            if len(entry.window) > _BATCH.size:
                batches = len(entry.window) // _BATCH.size
                parts.append(_WINDOW_ENTRY.pack(entry.producer_id, entry.producer_epoch, batches))
                parts.append(entry.window)
        body = b"".join(parts)
        return _WINDOW_HEAD.pack(_WINDOW_VERSION, crc32c.crc32c(body)) + body

    def decode_window(self, data: bytes) -> None:
        """Complete what a snapshot gave.

        Kafka may have written that snapshot after us: a window counts only where its last batch
        is the snapshot's.
        """
        if len(data) < _WINDOW_HEAD.size:
            raise CorruptSnapshot(f"producer windows in {len(data)} bytes")
        version, crc = _WINDOW_HEAD.unpack_from(data)
        if version != _WINDOW_VERSION:
            raise CorruptSnapshot(f"producer windows of version {version}")
        if crc != crc32c.crc32c(data[_WINDOW_HEAD.size :]):
            raise CorruptSnapshot("producer windows with a wrong checksum")
        for producer_id, producer_epoch, window in _windows(data):
            entry = self._entries.get(producer_id)
            if (
                entry is not None
                and entry.window
                and entry.producer_epoch == producer_epoch
                and window.endswith(entry.window)
            ):
                entry.window = window


def _windows(data: bytes) -> Iterator[tuple[int, int, bytes]]:
    at = _WINDOW_HEAD.size
    while at < len(data):
        try:
            producer_id, producer_epoch, batches = _WINDOW_ENTRY.unpack_from(data, at)
        except struct.error as error:
            raise CorruptSnapshot("producer windows end early") from error
        begin = at + _WINDOW_ENTRY.size
        at = begin + batches * _BATCH.size
        if at > len(data) or batches > WINDOW_BATCHES:
            raise CorruptSnapshot(f"a producer window of {batches} batches")
        yield producer_id, producer_epoch, data[begin:at]


def _check_out_of_line(
    entry: ProducerEntry, producer_epoch: int, base_sequence: int, last_sequence: int
) -> Duplicate | None:
    if producer_epoch < entry.producer_epoch:
        raise Refused(
            ErrorCode.INVALID_PRODUCER_EPOCH,
            f"producer {entry.producer_id} has epoch {entry.producer_epoch} by now,"
            f" the batch {producer_epoch}",
        )
    if producer_epoch > entry.producer_epoch:
        if base_sequence == 0 or entry.producer_epoch == NO_PRODUCER_EPOCH:
            return None
        raise Refused(
            ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER,
            f"producer {entry.producer_id} begins epoch {producer_epoch}"
            f" at sequence {base_sequence}, not 0",
        )
    for batch in entry.batches():
        if batch.base_sequence == base_sequence and batch.last_sequence == last_sequence:
            return Duplicate(batch.base_offset, batch.last_offset, batch.timestamp_ms)
    if base_sequence == 0 and entry.last_sequence == SEQUENCE_MAX:
        return None
    if entry.producer_epoch == NO_PRODUCER_EPOCH:
        return None
    raise Refused(
        ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER,
        f"producer {entry.producer_id} is at sequence {entry.last_sequence},"
        f" the batch begins at {base_sequence}",
    )


def _entry_of(
    producer_id: int,
    producer_epoch: int,
    last_sequence: int,
    last_offset: int,
    offset_delta: int,
    timestamp_ms: int,
    coordinator_epoch: int,
    current_txn_first_offset: int,
) -> ProducerEntry:
    entry = ProducerEntry(
        producer_id, producer_epoch, coordinator_epoch, timestamp_ms, current_txn_first_offset
    )
    if offset_delta < 0:
        raise CorruptSnapshot(f"a batch of producer {producer_id} ends before it begins")
    if last_offset >= 0:
        base_sequence = last_sequence - offset_delta
        if base_sequence < 0:  # sequences go on at 0 after the largest
            base_sequence += SEQUENCE_MAX + 1
        entry.last_sequence = last_sequence
        entry.window = _BATCH.pack(
            base_sequence, last_sequence, last_offset - offset_delta, last_offset, timestamp_ms
        )
    return entry
