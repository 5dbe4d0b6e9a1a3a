"""Control records: what brokers write into logs for each other, between the records of clients.

The key says what a control record is, the value is a message of its own, of `ottla.protocol`.
"""

import struct
from collections.abc import Sequence
from enum import IntEnum

from ottla.records.batch import (
    NO_LEADER_EPOCH,
    NO_PRODUCER_EPOCH,
    NO_PRODUCER_ID,
    CorruptBatch,
)
from ottla.records.record import Record, encode_batch

_KEY = struct.Struct(">hh")
KEY_VERSION = 0


class ControlType(IntEnum):
    ABORT = 0
    COMMIT = 1
    LEADER_CHANGE = 2
    SNAPSHOT_HEADER = 3
    SNAPSHOT_FOOTER = 4
    KRAFT_VERSION = 5
    KRAFT_VOTERS = 6


def encode_control_batch(
    records: Sequence[tuple[ControlType, bytes]],
    *,
    timestamp_ms: int,
    producer_id: int = NO_PRODUCER_ID,
    producer_epoch: int = NO_PRODUCER_EPOCH,
    transactional: bool = False,
    base_offset: int = 0,
    leader_epoch: int = NO_LEADER_EPOCH,
) -> bytes:
    return encode_batch(
        [
            Record(0, timestamp_ms, _KEY.pack(KEY_VERSION, control_type), value)
            for control_type, value in records
        ],
        producer_id=producer_id,
        producer_epoch=producer_epoch,
        transactional=transactional,
        control=True,
        base_offset=base_offset,
        leader_epoch=leader_epoch,
    )


def read_control_type(key: bytes | None) -> ControlType | None:
    """None for a type of a later version, which is skipped (as KIP-98 asks)."""
    if key is None or len(key) < _KEY.size:
        raise CorruptBatch("a control record without its type")
    version, number = _KEY.unpack_from(key)
    if version < KEY_VERSION:
        raise CorruptBatch(f"control record key of version {version}")
    try:
        return ControlType(number)
    except ValueError:
        return None
