"""Record batch v2 (KIP-98): the 61-byte header that stands before the records.

      0 base offset           8       23 last offset delta   4
      8 batch length          4       27 base timestamp      8
     12 partition leader epoch 4      35 max timestamp       8
     16 magic                 1       43 producer id         8
     17 CRC-32C               4       51 producer epoch      2
     21 attributes            2       53 base sequence       4
                                      57 record count        4

The batch length counts from byte 12 on, the CRC covers byte 21 to the end: a leader gives a batch
its offset and its epoch without touching either.
"""

import struct
from collections.abc import Iterator, Sequence
from enum import IntEnum
from typing import NamedTuple

import crc32c

Buffer = bytes | bytearray | memoryview

HEADER_BYTES = 61
LENGTH_AT = 8
LEADER_EPOCH_AT = 12
MAGIC_AT = 16
CRC_AT = 17
ATTRIBUTES_AT = 21
LAST_OFFSET_DELTA_AT = 23
MAX_TIMESTAMP_AT = 35
RECORD_COUNT_AT = 57
# Base offset and batch length, which the batch length does not count.
LOG_OVERHEAD_BYTES = 12
MAGIC = 2
# A batch of the oldest format is no shorter; Kafka looks for that before it looks at the magic.
OLD_BATCH_LENGTH_MIN = 14

CODEC_MASK = 0x07
LOG_APPEND_TIME_BIT = 0x08
TRANSACTIONAL_BIT = 0x10
CONTROL_BIT = 0x20
DELETE_HORIZON_BIT = 0x40
KNOWN_ATTRIBUTES = 0x7F

NO_TIMESTAMP = -1
NO_PRODUCER_ID = -1
NO_PRODUCER_EPOCH = -1
NO_SEQUENCE = -1
NO_LEADER_EPOCH = -1
SEQUENCE_MAX = 2**31 - 1

_HEADER = struct.Struct(">qiibIhiqqqhii")
_HEAD = struct.Struct(">qii")
_CRC = struct.Struct(">I")
_ATTRIBUTES = struct.Struct(">h")
_TIMESTAMP = struct.Struct(">q")


class CorruptBatch(Exception):
    """Bytes that are not the record batch they claim to be: on a disk, from a peer, in a codec."""


class TimestampType(IntEnum):
    CREATE_TIME = 0
    LOG_APPEND_TIME = 1


def next_sequence(sequence: int, increment: int) -> int:
    """Sequence numbers wrap to 0 behind 2**31 - 1, as Kafka's do."""
    return (sequence + increment) & SEQUENCE_MAX


class Record(NamedTuple):
    """`offset` says where a record was read; a batch that is built counts from its base offset."""

    offset: int
    timestamp_ms: int
    key: bytes | None
    value: bytes | None
    headers: Sequence[tuple[str, bytes | None]] = ()


class BatchHeader(NamedTuple):
    base_offset: int
    batch_length: int
    partition_leader_epoch: int
    magic: int
    crc: int
    attributes: int
    last_offset_delta: int
    base_timestamp: int
    max_timestamp: int
    producer_id: int
    producer_epoch: int
    base_sequence: int
    record_count: int

    @property
    def size(self) -> int:
        return self.batch_length + LOG_OVERHEAD_BYTES

    @property
    def last_offset(self) -> int:
        return self.base_offset + self.last_offset_delta

    @property
    def next_offset(self) -> int:
        return self.base_offset + self.last_offset_delta + 1

    @property
    def last_sequence(self) -> int:
        if self.base_sequence == NO_SEQUENCE:
            return NO_SEQUENCE
        return next_sequence(self.base_sequence, self.last_offset_delta)

    @property
    def codec(self) -> int:
        return self.attributes & CODEC_MASK

    @property
    def timestamp_type(self) -> TimestampType:
        if self.attributes & LOG_APPEND_TIME_BIT:
            return TimestampType.LOG_APPEND_TIME
        return TimestampType.CREATE_TIME

    @property
    def is_transactional(self) -> bool:
        return self.attributes & TRANSACTIONAL_BIT != 0

    @property
    def is_control(self) -> bool:
        return self.attributes & CONTROL_BIT != 0

    @property
    def delete_horizon(self) -> int | None:
        """When tombstones of this batch may go: it stands for the base timestamp (KIP-534)."""
        return self.base_timestamp if self.attributes & DELETE_HORIZON_BIT else None


def read_header(buffer: Buffer, at: int = 0) -> BatchHeader:
    """The header at `at`. The batch itself may be longer than the buffer."""
    if len(buffer) - at < HEADER_BYTES:
        raise CorruptBatch(f"{len(buffer) - at} bytes are no batch header")
    header: BatchHeader = tuple.__new__(BatchHeader, _HEADER.unpack_from(buffer, at))
    if header.magic != MAGIC:
        raise CorruptBatch(f"magic {header.magic}")
    if header.batch_length < HEADER_BYTES - LOG_OVERHEAD_BYTES:
        raise CorruptBatch(f"batch length {header.batch_length}")
    return header


def pack_header(header: BatchHeader) -> bytes:
    return _HEADER.pack(*header)


def iter_headers(buffer: Buffer, at: int = 0) -> Iterator[BatchHeader]:
    """The headers of the whole batches in `buffer`; a last batch that is cut short is left out."""
    end = len(buffer)
    while end - at >= HEADER_BYTES:
        header = read_header(buffer, at)
        at += header.size
        if at > end:
            return
        yield header


def check_crc(buffer: Buffer, at: int, size: int) -> bool:
    view = memoryview(buffer)
    (stored,) = _CRC.unpack_from(view, at + CRC_AT)
    return bool(crc32c.crc32c(view[at + ATTRIBUTES_AT : at + size]) == stored)


def seal(batch: bytearray) -> None:
    """Write the CRC of a finished batch into it."""
    _CRC.pack_into(batch, CRC_AT, crc32c.crc32c(memoryview(batch)[ATTRIBUTES_AT:]))


def stamped_parts(batch: Buffer, base_offset: int, leader_epoch: int) -> tuple[bytes, memoryview]:
    """The batch with its place in the log, for one writev: 16 new bytes, and the rest uncopied."""
    head = _HEAD.pack(base_offset, len(batch) - LOG_OVERHEAD_BYTES, leader_epoch)
    return head, memoryview(batch)[MAGIC_AT:]


def with_timestamps(batch: Buffer, timestamp_type: TimestampType, max_timestamp: int) -> bytearray:
    """An owned copy that says when it was appended, or what its newest record really says.

    Attributes that nobody knows are dropped, as Kafka drops them here.
    """
    copy = bytearray(batch)
    (attributes,) = _ATTRIBUTES.unpack_from(copy, ATTRIBUTES_AT)
    attributes &= KNOWN_ATTRIBUTES & ~LOG_APPEND_TIME_BIT
    if timestamp_type is TimestampType.LOG_APPEND_TIME:
        attributes |= LOG_APPEND_TIME_BIT
    _ATTRIBUTES.pack_into(copy, ATTRIBUTES_AT, attributes)
    _TIMESTAMP.pack_into(copy, MAX_TIMESTAMP_AT, max_timestamp)
    seal(copy)
    return copy
