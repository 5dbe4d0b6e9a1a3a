"""The sparse indexes of one segment, held in memory and written as Kafka's `.index`, `.timeindex`.

A file may end in zeros: Kafka preallocates its indexes, and cuts them only at a roll and at a
clean stop. An index may always hold fewer entries than it could: a lookup then scans further.
"""

import sys
from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Iterator
from itertools import compress, count, islice
from operator import ge, gt

INDEX_BYTES_MAX = 10 * 1024 * 1024
NO_TIMESTAMP = -1

# Kafka reads both fields as signed.
RELATIVE_OFFSET_MAX = 2**31 - 1


class OffsetIndex:
    """Where in the segment's file some of its batches begin, each by its last offset."""

    __slots__ = ("_positions", "_relative_offsets", "base_offset", "entries_max", "last_offset")

    ENTRY_BYTES = 8

    def __init__(self, base_offset: int, index_bytes_max: int = INDEX_BYTES_MAX) -> None:
        self.base_offset = base_offset
        self.entries_max = self.max_entries(index_bytes_max)
        self.last_offset = base_offset
        self._relative_offsets = array("i")
        self._positions = array("i")

    @classmethod
    def max_entries(cls, index_bytes_max: int) -> int:
        return index_bytes_max // cls.ENTRY_BYTES

    def __len__(self) -> int:
        return len(self._positions)

    @property
    def is_full(self) -> bool:
        """Time to roll; an index that recovery rebuilds may grow beyond it."""
        return len(self._positions) >= self.entries_max

    def entries(self) -> Iterator[tuple[int, int]]:
        for relative_offset, position in zip(self._relative_offsets, self._positions, strict=True):
            yield self.base_offset + relative_offset, position

    def append(self, offset: int, position: int) -> None:
        assert offset > self.last_offset or not self._positions
        self._relative_offsets.append(offset - self.base_offset)
        self._positions.append(position)
        self.last_offset = offset

    def lookup(self, offset: int) -> tuple[int, int]:
        """The last entry at or before `offset`, else the segment's begin."""
        slot = bisect_right(self._relative_offsets, offset - self.base_offset) - 1
        if slot < 0:
            return self.base_offset, 0
        return self.base_offset + self._relative_offsets[slot], self._positions[slot]

    def lookup_position(self, offset: int) -> int:
        """Where to begin to read for `offset`."""
        slot = bisect_right(self._relative_offsets, offset - self.base_offset) - 1
        return self._positions[slot] if slot >= 0 else 0

    def truncate_to(self, offset: int) -> None:
        """Drop the entries at and above `offset`."""
        self._keep(bisect_left(self._relative_offsets, offset - self.base_offset))

    def _keep(self, entries: int) -> None:
        del self._relative_offsets[entries:], self._positions[entries:]
        self.last_offset = self.base_offset + (self._relative_offsets[-1] if entries else 0)

    def encode(self) -> bytes:
        return self.encode_from(0)

    def encode_from(self, entry_number: int) -> bytes:
        positions = self._positions[entry_number:]
        words = array("i", bytes(len(positions) * self.ENTRY_BYTES))
        words[0::2] = self._relative_offsets[entry_number:]
        words[1::2] = positions
        return _big_endian(words).tobytes()

    @classmethod
    def decode(
        cls, base_offset: int, data: bytes, index_bytes_max: int = INDEX_BYTES_MAX
    ) -> "OffsetIndex":
        """The entries up to the first that does not rise, be it preallocation or rot.

        Whether they fit the log is the loader's to check.
        """
        index = cls(base_offset, index_bytes_max)
        words = _words(data, cls.ENTRY_BYTES)
        relative_offsets, positions = words[0::2], words[1::2]
        keep = min(_rising(relative_offsets), _rising(positions))
        # Rising from nothing: an index has no entry for a segment's begin.
        if keep and (relative_offsets[0] < 0 or positions[0] <= 0):
            keep = 0
        index._relative_offsets, index._positions = relative_offsets, positions
        index._keep(keep)
        return index

    @classmethod
    def is_sane(cls, data: bytes) -> bool:
        """Whole entries that rise, and nothing but zeros behind them."""
        return _is_sane(data, cls.ENTRY_BYTES, len(cls.decode(0, data)))


class TimeIndex:
    """The largest timestamp so far, and its offset, at some points of the segment."""

    __slots__ = (
        "_relative_offsets",
        "_timestamps",
        "base_offset",
        "entries_max",
        "last_offset",
        "last_timestamp",
    )

    ENTRY_BYTES = 12

    def __init__(self, base_offset: int, index_bytes_max: int = INDEX_BYTES_MAX) -> None:
        self.base_offset = base_offset
        self.entries_max = self.max_entries(index_bytes_max)
        self.last_timestamp = NO_TIMESTAMP
        self.last_offset = base_offset
        self._timestamps = array("q")
        self._relative_offsets = array("i")

    @classmethod
    def max_entries(cls, index_bytes_max: int) -> int:
        return index_bytes_max // cls.ENTRY_BYTES

    def __len__(self) -> int:
        return len(self._timestamps)

    @property
    def is_full(self) -> bool:
        """Time to roll: the one entry left is for the largest timestamp, at the roll itself."""
        return len(self._timestamps) >= self.entries_max - 1

    @property
    def last_entry(self) -> tuple[int, int]:
        """The largest timestamp that is indexed, and its offset."""
        return self.last_timestamp, self.last_offset

    def entries(self) -> Iterator[tuple[int, int]]:
        for timestamp, relative_offset in zip(
            self._timestamps, self._relative_offsets, strict=True
        ):
            yield timestamp, self.base_offset + relative_offset

    def maybe_append(self, timestamp: int, offset: int) -> None:
        """Note the segment's largest timestamp so far; nothing where it has not risen since."""
        if timestamp > self.last_timestamp:
            assert offset >= self.last_offset
            self._relative_offsets.append(offset - self.base_offset)
            self._timestamps.append(timestamp)
            self.last_timestamp = timestamp
            self.last_offset = offset

    def lookup(self, timestamp: int) -> tuple[int, int]:
        """The last entry at or before `timestamp`: no record before its offset is later."""
        slot = bisect_right(self._timestamps, timestamp) - 1
        if slot < 0:
            return NO_TIMESTAMP, self.base_offset
        return self._timestamps[slot], self.base_offset + self._relative_offsets[slot]

    def offset_after(self, timestamp: int) -> int | None:
        """Where the first entry later than `timestamp` points, if there is one."""
        slot = bisect_right(self._timestamps, timestamp)
        if slot == len(self._timestamps):
            return None
        return self.base_offset + self._relative_offsets[slot]

    def truncate_to(self, offset: int) -> None:
        """Drop the entries at and above `offset`."""
        self._keep(bisect_left(self._relative_offsets, offset - self.base_offset))

    def _keep(self, entries: int) -> None:
        del self._timestamps[entries:], self._relative_offsets[entries:]
        self.last_timestamp = self._timestamps[-1] if entries else NO_TIMESTAMP
        self.last_offset = self.base_offset + (self._relative_offsets[-1] if entries else 0)

    def encode(self) -> bytes:
        return self.encode_from(0)

    def encode_from(self, entry_number: int) -> bytes:
        # An entry is three words, of which the timestamp is two.
        timestamps = _big_endian(self._timestamps[entry_number:])
        halves = array("i", timestamps.tobytes())
        words = array("i", bytes(len(timestamps) * self.ENTRY_BYTES))
        words[0::3] = halves[0::2]
        words[1::3] = halves[1::2]
        words[2::3] = _big_endian(self._relative_offsets[entry_number:])
        return words.tobytes()

    @classmethod
    def decode(
        cls, base_offset: int, data: bytes, index_bytes_max: int = INDEX_BYTES_MAX
    ) -> "TimeIndex":
        """As `OffsetIndex.decode`; several timestamps may stand at one offset."""
        index = cls(base_offset, index_bytes_max)
        words = _big_endian(_words(data, cls.ENTRY_BYTES))
        halves = array("i", bytes(len(words) // 3 * 8))
        halves[0::2] = words[0::3]
        halves[1::2] = words[1::3]
        index._timestamps = _big_endian(array("q", halves.tobytes()))
        index._relative_offsets = _big_endian(words[2::3])
        keep = min(_rising(index._timestamps), _rising(index._relative_offsets, weakly=True))
        if keep and (index._timestamps[0] < 0 or index._relative_offsets[0] < 0):
            keep = 0
        index._keep(keep)
        return index

    @classmethod
    def is_sane(cls, data: bytes) -> bool:
        """Whole entries that rise, and nothing but zeros behind them."""
        return _is_sane(data, cls.ENTRY_BYTES, len(cls.decode(0, data)))


def _words(data: bytes, entry_bytes: int) -> "array[int]":
    """A file's whole entries in this machine's byte order, without the zeros that it ends in."""
    used = len(data.rstrip(b"\0"))
    entries = min(-(-used // entry_bytes), len(data) // entry_bytes)
    return _big_endian(array("i", data[: entries * entry_bytes]))


def _big_endian(values: "array[int]") -> "array[int]":
    """Swap in place, to or from the byte order of the files."""
    if sys.byteorder == "little":
        values.byteswap()
    return values


def _rising(values: "array[int]", weakly: bool = False) -> int:
    """How many of the first values rise, one above the other."""
    falls = map(gt if weakly else ge, values, islice(values, 1, None))
    return next(compress(count(1), falls), len(values))


def _is_sane(data: bytes, entry_bytes: int, entries: int) -> bool:
    return len(data) % entry_bytes == 0 and not data[entries * entry_bytes :].strip(b"\0")
