import pytest
from hypothesis import given
from hypothesis import strategies as st

from ottla.config_properties import parse_properties
from ottla.errors import DiskError
from ottla.names import TopicPartition
from ottla.sim.disk import PowerCut, SimDisk
from ottla.sim.world import World
from ottla.storage.checkpoints import (
    CLEAN_SHUTDOWN,
    CLEANER_CHECKPOINT,
    LOG_START_CHECKPOINT,
    META_PROPERTIES,
    RECOVERY_POINT_CHECKPOINT,
    CorruptCheckpoint,
    MetaProperties,
    decode_offsets,
    decode_uuid,
    encode_clean_shutdown,
    encode_offsets,
    encode_uuid,
    write_atomic,
)
from ottla.storage.disk import Disk
from tests.unit.storage.recorded import file_of_kafka

OLD, NEW = b"old" * 3000, b"new"
DIRECTORY_ID = decode_uuid("wDr2-NoxSROJVOlUqtimow")


def disk_with_a_checkpoint(seed: int) -> SimDisk:
    disk = SimDisk(World(seed))
    disk.run(disk.begin_boot(), prepare)
    return disk


def prepare(port: Disk) -> None:
    longer = b"left by a crash, and longer than what comes now"
    for path, contents in (("checkpoint", OLD), ("checkpoint.tmp", longer)):
        file = port.open(path, create=True)
        port.append(file, 0, (contents,))
        port.sync(file)
        port.close(file)
    port.sync_dir("")


def write(disk: SimDisk) -> None:
    disk.run(disk.begin_boot(), lambda port: write_atomic(port, "checkpoint", NEW))


@pytest.mark.parametrize("calls", range(1, 8))
def test_a_power_cut_at_any_step_leaves_the_old_checkpoint_or_the_new(calls: int) -> None:
    for seed in range(40):
        disk = disk_with_a_checkpoint(seed)
        disk.cut_after(calls)
        with pytest.raises(PowerCut):
            write(disk)
        disk.crash()
        assert disk.contents("checkpoint") in (OLD, NEW)


def test_a_checkpoint_that_was_written_survives_a_power_cut() -> None:
    for seed in range(40):
        disk = disk_with_a_checkpoint(seed)
        write(disk)
        assert disk.open_paths() == []
        disk.crash()
        assert disk.contents("checkpoint") == NEW


def test_a_checkpoint_that_could_not_be_synced_replaces_nothing() -> None:
    disk = disk_with_a_checkpoint(1)
    disk.faults.sync_error = 1.0
    with pytest.raises(DiskError):
        write(disk)
    assert disk.contents("checkpoint") == OLD
    assert disk.open_paths() == []


def test_an_offset_checkpoint_of_kafka_is_read_and_written_back_byte_for_byte() -> None:
    recorded = file_of_kafka(RECOVERY_POINT_CHECKPOINT)
    offsets = decode_offsets(recorded)
    assert offsets == {
        TopicPartition("orders", 0): 120,
        TopicPartition("orders", 1): 0,
        TopicPartition("plain", 0): 9,
    }
    assert encode_offsets(offsets) == recorded
    assert encode_offsets({}) == file_of_kafka(LOG_START_CHECKPOINT)


def test_a_checkpoint_that_kafka_only_created_is_empty() -> None:
    assert decode_offsets(file_of_kafka(CLEANER_CHECKPOINT)) == {}


@pytest.mark.parametrize(
    "data",
    [
        *(b"1\n0\n", b"zero\n0\n", b"0\nmany\n", b"0\n2\na 0 1\n", b"0\n0\na 0 1\n"),
        *(b"0\n1\na 0\n", b"0\n1\na 0 1 2\n", b"0\n1\na b 1\n", b"0\n1\na 0 -1\n"),
        *(b"0\n1\na 0 1_0\n", b"0\n1\na 0 99999999999999999999\n", b"\xff\xfe\n", bytes(64)),
    ],
)
def test_a_bad_offset_checkpoint_is_called_corrupt(data: bytes) -> None:
    with pytest.raises(CorruptCheckpoint):
        decode_offsets(data)


@given(
    st.dictionaries(
        st.builds(
            TopicPartition,
            st.text("abcXYZ019._-", min_size=1, max_size=20),
            st.integers(0, 2**31 - 1),
        ),
        st.integers(0, 2**63 - 1),
    )
)
def test_offsets_come_back_as_they_went_in(offsets: dict[TopicPartition, int]) -> None:
    assert decode_offsets(encode_offsets(offsets)) == offsets


def test_the_mark_of_a_clean_stop_is_that_of_kafka() -> None:
    recorded = file_of_kafka(CLEAN_SHUTDOWN)
    assert encode_clean_shutdown(14) == recorded


def test_the_properties_of_a_directory_are_those_of_kafka_but_for_the_date() -> None:
    recorded = file_of_kafka(META_PROPERTIES)
    properties = MetaProperties.decode(recorded)
    assert properties == MetaProperties(1, "MkU3OEVBNTcwNTJENDM2Qk", DIRECTORY_ID)
    dated = recorded.splitlines(keepends=True)
    assert properties.encode() == b"".join([dated[0], *dated[2:]])


def test_properties_that_a_later_version_wrote_stay_in_the_file() -> None:
    data = b"version=1\nlater.key = a value \ncluster.id:x\nnode.id=3\n"
    properties = MetaProperties.decode(data)
    assert properties == MetaProperties(3, "x", None, {"later.key": "a value "})
    assert MetaProperties.decode(properties.encode()) == properties


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"version=0\nbroker.id=1\n",
        b"version=2\ncluster.id=x\nnode.id=1\n",
        b"version=1\nnode.id=1\n",
        b"version=1\ncluster.id=x\n",
        b"version=1\ncluster.id=x\nnode.id=one\n",
        b"version=1\ncluster.id=x\nnode.id=1\ndirectory.id=short\n",
        b"version=1\ncluster.id=\\u12\nnode.id=1\n",
    ],
)
def test_properties_of_a_directory_that_say_too_little_are_called_corrupt(data: bytes) -> None:
    with pytest.raises(CorruptCheckpoint):
        MetaProperties.decode(data)


def test_characters_that_mean_something_in_java_properties_are_escaped() -> None:
    properties = MetaProperties(1, " a:b=c#d!e\\f\tg\u00e9\U0001f600", None, {"a key": "v w"})
    lines = properties.encode().splitlines()
    assert lines[3] == rb"cluster.id=\ a\:b\=c\#d\!e\\f\tg\u00E9\uD83D\uDE00"
    assert lines[4] == rb"a\ key=v w"


TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)


@given(TEXT, st.dictionaries(TEXT.map(lambda key: "other." + key), TEXT))
def test_properties_come_back_as_they_went_in(cluster_id: str, other: dict[str, str]) -> None:
    properties = MetaProperties(7, cluster_id, DIRECTORY_ID, other)
    assert MetaProperties.decode(properties.encode()) == properties
    assert parse_properties(properties.encode().decode())["cluster.id"] == cluster_id


@pytest.mark.parametrize("text", ["", "AAAA", "A" * 21, "A" * 23, "+" * 22, "A" * 21 + "\n"])
def test_what_is_no_id_is_called_corrupt(text: str) -> None:
    with pytest.raises(CorruptCheckpoint):
        decode_uuid(text)


@given(st.binary(min_size=16, max_size=16))
def test_ids_come_back_as_they_went_in(uuid: bytes) -> None:
    assert decode_uuid(encode_uuid(uuid)) == uuid
    assert decode_uuid(encode_uuid(uuid) + "==") == uuid
