import struct

import pytest

from ottla.records.batch import (
    HEADER_BYTES,
    BatchHeader,
    CorruptBatch,
    TimestampType,
    check_crc,
    iter_headers,
    next_sequence,
    pack_header,
    read_header,
    stamped_parts,
    with_timestamps,
)
from ottla.records.record import encode_batch
from tests.unit.records.batches import WALL_MS, patched, record

HEADER = BatchHeader(
    base_offset=1000,
    batch_length=49,
    partition_leader_epoch=7,
    magic=2,
    crc=0xFFFFFFFF,
    attributes=0,
    last_offset_delta=4,
    base_timestamp=WALL_MS,
    max_timestamp=WALL_MS + 9,
    producer_id=5,
    producer_epoch=3,
    base_sequence=2**31 - 3,
    record_count=5,
)


def test_a_header_is_read_as_it_was_packed() -> None:
    packed = pack_header(HEADER)
    assert len(packed) == HEADER_BYTES
    assert read_header(b"before" + packed, 6) == HEADER


def test_a_header_knows_what_follows_from_its_fields() -> None:
    assert (HEADER.size, HEADER.last_offset, HEADER.next_offset) == (61, 1004, 1005)
    assert HEADER.last_sequence == 1
    assert HEADER._replace(base_sequence=-1).last_sequence == -1


@pytest.mark.parametrize(
    ("attributes", "codec", "kind", "transactional", "control", "horizon"),
    [
        (0x00, 0, TimestampType.CREATE_TIME, False, False, None),
        (0x04, 4, TimestampType.CREATE_TIME, False, False, None),
        (0x0B, 3, TimestampType.LOG_APPEND_TIME, False, False, None),
        (0x30, 0, TimestampType.CREATE_TIME, True, True, None),
        (0x40, 0, TimestampType.CREATE_TIME, False, False, WALL_MS),
    ],
)
def test_attributes_are_read_bit_by_bit(
    attributes: int,
    codec: int,
    kind: TimestampType,
    transactional: bool,
    control: bool,
    horizon: int | None,
) -> None:
    header = HEADER._replace(attributes=attributes)
    assert (header.codec, header.timestamp_type) == (codec, kind)
    assert (header.is_transactional, header.is_control) == (transactional, control)
    assert header.delete_horizon == horizon


@pytest.mark.parametrize(
    ("sequence", "increment", "after"),
    [(0, 0, 0), (5, 3, 8), (2**31 - 1, 1, 0), (2**31 - 2, 2, 0), (2**31 - 1, 2**31 - 1, 2**31 - 2)],
)
def test_sequences_wrap_to_zero(sequence: int, increment: int, after: int) -> None:
    assert next_sequence(sequence, increment) == after


@pytest.mark.parametrize(
    "batch",
    [
        encode_batch([record()])[:60],
        patched(encode_batch([record()]), magic=1),
        patched(encode_batch([record()]), batch_length=48),
        patched(encode_batch([record()]), batch_length=-1),
        b"",
    ],
)
def test_what_is_no_header_is_corrupt(batch: bytes) -> None:
    with pytest.raises(CorruptBatch):
        read_header(batch)


def test_headers_are_read_until_the_bytes_end_or_cut_a_batch_short() -> None:
    run = b"".join(encode_batch([record()], base_offset=offset) for offset in (5, 6, 7))
    assert [header.base_offset for header in iter_headers(run)] == [5, 6, 7]
    assert [header.base_offset for header in iter_headers(run[:-1])] == [5, 6]
    assert [header.base_offset for header in iter_headers(run[:30])] == []


def test_a_crc_covers_everything_behind_itself() -> None:
    batch = encode_batch([record()])
    before, behind = bytearray(batch), bytearray(batch)
    before[0] ^= 1
    behind[21] ^= 1
    size = len(batch)
    assert check_crc(b"xx" + batch + b"xx", 2, size)
    assert check_crc(before, 0, size)
    assert not check_crc(behind, 0, size)


@pytest.mark.parametrize("kind", [bytes, bytearray, memoryview])
def test_a_place_in_the_log_is_stamped_without_copying_the_batch(
    kind: type[bytes] | type[bytearray] | type[memoryview],
) -> None:
    batch = encode_batch([record()])
    head, rest = stamped_parts(kind(batch), 2**40, 9)
    stamped = read_header(head + bytes(rest))
    assert head + bytes(rest) == struct.pack(">qii", 2**40, len(batch) - 12, 9) + batch[16:]
    assert (stamped.base_offset, stamped.partition_leader_epoch) == (2**40, 9)
    assert check_crc(head + bytes(rest), 0, len(batch))


def test_append_time_is_set_in_a_copy_and_unknown_attributes_are_dropped() -> None:
    batch = patched(encode_batch([record()], transactional=True), attributes=0x0150)
    copy = with_timestamps(batch, TimestampType.LOG_APPEND_TIME, WALL_MS + 77)
    header = read_header(copy)
    assert (header.attributes, header.max_timestamp) == (0x58, WALL_MS + 77)
    assert check_crc(copy, 0, len(copy))
    again = read_header(with_timestamps(copy, TimestampType.CREATE_TIME, 5))
    assert (again.attributes, again.max_timestamp) == (0x50, 5)
