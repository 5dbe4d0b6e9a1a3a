import pytest
from hypothesis import given
from hypothesis import strategies as st

from ottla.names import NO_UUID, TopicPartition
from ottla.storage.checkpoints import CorruptCheckpoint, decode_uuid
from ottla.storage.partition_meta import (
    DELETE_SUFFIX,
    FUTURE_SUFFIX,
    STRAY_SUFFIX,
    LogDirName,
    decode_partition_metadata,
    deletion_name,
    dir_name,
    encode_partition_metadata,
    parse_dir_name,
)
from tests.unit.storage.recorded import file_of_kafka, operations

UUID = bytes(range(16))


def test_the_file_of_kafka_is_read_and_written_back_byte_for_byte() -> None:
    recorded = file_of_kafka("partition.metadata")
    topic_id = decode_partition_metadata(recorded)
    assert topic_id == decode_uuid("ppfSMtqoR9eHATsr3MARVA")
    assert encode_partition_metadata(topic_id) == recorded


def test_a_later_version_is_read_by_its_first_two_lines() -> None:
    later = encode_partition_metadata(UUID).replace(b": 0", b": 7") + b"\nmore: yes"
    assert decode_partition_metadata(later) == UUID


@pytest.mark.parametrize(
    "data",
    [
        *(b"", b"version: 0", b"version: 0\ntopic_id: \n", b"version: 0\ntopic_id: AAAA"),
        *(b"version: x\ntopic_id: ppfSMtqoR9eHATsr3MARVA", b"version: -1\ntopic_id: a"),
        *(b"\xff\xfe", bytes(43), encode_partition_metadata(NO_UUID)),
        b"version: 0\ntopic_id: ppfSMtqoR9eHATsr3MA*VA",
    ],
)
def test_a_bad_file_is_called_corrupt(data: bytes) -> None:
    with pytest.raises(CorruptCheckpoint):
        decode_partition_metadata(data)


def test_directory_names_are_taken_apart_as_kafka_does() -> None:
    recorded = [pair for pair in operations("names") if pair[0][0] == "dir"]
    assert len(recorded) > 20
    for (_, name), said in recorded:
        found = parse_dir_name(bytes.fromhex(name).decode())
        if said[0] == "raised":
            assert found is None
        else:
            assert found is not None
            topic = bytes.fromhex(said[1]).decode()
            assert found.topic_partition == TopicPartition(topic, int(said[0]))


def test_names_of_deleted_logs_are_those_of_kafka() -> None:
    recorded = [pair for pair in operations("names") if pair[0][0] == "deletion"]
    assert recorded
    for (_, topic, partition), said in recorded:
        (theirs,) = said
        tp = TopicPartition(bytes.fromhex(topic).decode(), int(partition))
        uuid = bytes.fromhex(theirs.removesuffix(DELETE_SUFFIX)[-32:])
        assert deletion_name(tp, uuid) == theirs
        assert len(theirs) <= 255


@pytest.mark.parametrize(
    ("name", "suffix"),
    [
        ("a.b-3", ""),
        ("a.b-3.0123-delete", DELETE_SUFFIX),
        ("a.b-3.0123-future", FUTURE_SUFFIX),
        ("a.b-3.0123-stray", STRAY_SUFFIX),
    ],
)
def test_a_suffix_says_what_became_of_a_log(name: str, suffix: str) -> None:
    assert parse_dir_name(name) == LogDirName(TopicPartition("a.b", 3), suffix)


@pytest.mark.parametrize("name", ["a-01", "a-+1", "a-1 ", "a-\u0661", "", "ottla-journal", "a-0.b"])
def test_what_we_would_not_have_named_so_is_no_log(name: str) -> None:
    assert parse_dir_name(name) is None


@given(
    st.text("abcXYZ019._-", min_size=1, max_size=200),
    st.integers(0, 2**31 - 1),
    st.binary(min_size=16, max_size=16),
)
def test_names_come_back_as_they_went_in(topic: str, partition: int, uuid: bytes) -> None:
    tp = TopicPartition(topic, partition)
    assert parse_dir_name(dir_name(tp)) == LogDirName(tp, "")
    assert parse_dir_name(deletion_name(tp, uuid)) == LogDirName(tp, DELETE_SUFFIX)
