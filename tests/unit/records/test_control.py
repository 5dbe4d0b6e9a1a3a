import pytest

from ottla.records.batch import CorruptBatch
from ottla.records.control import (
    ControlType,
    encode_control_batch,
    read_control_type,
)
from ottla.records.record import decode_fetched
from tests.unit.records.batches import WALL_MS
from tests.unit.records.recorded import operations

SAID = {tuple(words): bytes.fromhex(said[0]) for words, said in operations("control")}


@pytest.mark.parametrize("kind", list(ControlType))
def test_keys_are_kafkas(kind: ControlType) -> None:
    key = SAID["control", "key", str(int(kind))]
    ((_, (written,)),) = decode_fetched(encode_control_batch([(kind, b"")], timestamp_ms=0))
    assert written.key == key
    assert read_control_type(key) is kind


@pytest.mark.parametrize(
    ("word", "kind"), [("commit", ControlType.COMMIT), ("abort", ControlType.ABORT)]
)
def test_a_transaction_marker_is_kafkas_byte_for_byte(word: str, kind: ControlType) -> None:
    theirs = SAID["control", "marker", word]
    assert theirs == encode_control_batch(
        [(kind, b"\0\0\0\0\0\x29")],
        timestamp_ms=WALL_MS,
        producer_id=5,
        producer_epoch=3,
        transactional=True,
        base_offset=1000,
        leader_epoch=7,
    )
    ((header, (marker,)),) = decode_fetched(theirs)
    assert header.is_control
    assert read_control_type(marker.key) is kind


def test_a_leader_change_is_kafkas_byte_for_byte() -> None:
    theirs = SAID["control", "leader"]
    ((_, (change,)),) = decode_fetched(theirs)
    assert change.value is not None
    assert theirs == encode_control_batch(
        [(ControlType.LEADER_CHANGE, change.value)],
        timestamp_ms=WALL_MS,
        base_offset=1000,
        leader_epoch=7,
    )


def test_several_control_records_share_a_batch() -> None:
    kinds = [ControlType.SNAPSHOT_HEADER, ControlType.KRAFT_VERSION, ControlType.KRAFT_VOTERS]
    batch = encode_control_batch([(kind, b"v") for kind in kinds], timestamp_ms=WALL_MS)
    ((header, records),) = decode_fetched(batch)
    assert [read_control_type(record.key) for record in records] == kinds
    assert (header.record_count, header.is_transactional) == (3, False)


def test_a_type_of_a_later_version_is_none_of_ours() -> None:
    assert read_control_type(b"\0\0\0\x63") is None
    assert read_control_type(b"\0\1\0\1and more") is ControlType.COMMIT


@pytest.mark.parametrize("key", [None, b"", b"\0\0\0", b"\xff\xff\0\1"])
def test_a_key_without_a_type_is_corrupt(key: bytes | None) -> None:
    with pytest.raises(CorruptBatch):
        read_control_type(key)
