"""Murmur2 as Kafka's clients use it to send equal keys to the same partition (F3).

The same bits as Java's default partitioner and librdkafka's `murmur2_random`, so that records
written by any of them and by us meet in one partition.
"""

import struct

SEED = 0x9747B28C
FACTOR = 0x5BD1E995
MASK = 0xFFFFFFFF

_WORD = struct.Struct("<I")


def murmur2(data: bytes) -> int:
    """Unsigned 32 bits; Java shows the same bits as a signed number."""
    size = len(data)
    state = SEED ^ size
    tail = size & ~3
    for (word,) in _WORD.iter_unpack(memoryview(data)[:tail]):
        word = word * FACTOR & MASK
        word = (word ^ word >> 24) * FACTOR & MASK
        state = state * FACTOR & MASK ^ word
    if size != tail:
        state = (state ^ int.from_bytes(data[tail:], "little")) * FACTOR & MASK
    state = (state ^ state >> 13) * FACTOR & MASK
    return state ^ state >> 15


def partition_for_key(key: bytes, partitions: int) -> int:
    """The sign bit is cleared and not the number negated, as Java does it."""
    return (murmur2(key) & 0x7FFFFFFF) % partitions
