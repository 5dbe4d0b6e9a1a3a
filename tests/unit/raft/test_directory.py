from collections.abc import Callable
from contextlib import suppress
from functools import partial
from typing import Any, TypeVar

import msgspec
import pytest

from ottla.metadata.image import Endpoint
from ottla.metadata.records import decode_record
from ottla.names import METADATA_TOPIC_ID, NodeId
from ottla.protocol.compile import decode
from ottla.protocol.schema import records_raft as raft
from ottla.protocol.schema.records_metadata import FeatureLevelRecord
from ottla.raft.batches import read_values
from ottla.raft.directory import (
    BOOTSTRAP,
    FIRST_SNAPSHOT,
    QUORUM_STATE,
    QuorumState,
    WrongQuorum,
    bootstrap_values,
    check_voters,
    format_directory,
    leader_change,
    read_quorum_state,
    voters_of_one,
    write_quorum_state,
)
from ottla.raft.snapshots import METADATA_DIRECTORY
from ottla.records.batch import check_crc, iter_headers
from ottla.records.control import ControlType, read_control_type
from ottla.records.record import decode_batch
from ottla.sim.disk import PowerCut, SimDisk
from ottla.sim.world import World
from ottla.storage.disk import Disk
from ottla.storage.partition_meta import decode_partition_metadata

T = TypeVar("T")

WALL_MS = 1_700_000_000_000
NODE = NodeId(1)
DIRECTORY_ID = bytes(range(16))
VOTERS = voters_of_one(NODE, DIRECTORY_ID, Endpoint("CONTROLLER", "host", 9093, 0))
LEVEL = FeatureLevelRecord(name="metadata.version", feature_level=30)
FILES = [
    f"{METADATA_DIRECTORY}/00000000000000000000-0000000000.checkpoint",
    f"{METADATA_DIRECTORY}/00000000000000000000.index",
    f"{METADATA_DIRECTORY}/00000000000000000000.log",
    f"{METADATA_DIRECTORY}/00000000000000000000.timeindex",
    f"{METADATA_DIRECTORY}/partition.metadata",
    "bootstrap.checkpoint",
]


def on(disk: SimDisk, work: Callable[[Disk], T]) -> T:
    return disk.run(disk.begin_boot(), work)


def new_disk(seed: int = 1) -> SimDisk:
    return SimDisk(World(seed))


def format_it(disk: Disk) -> None:
    format_directory(disk, VOTERS, bootstrap_values([LEVEL]), WALL_MS)


def formatted() -> SimDisk:
    disk = new_disk()
    on(disk, format_it)
    return disk


def with_quorum_state(contents: bytes) -> SimDisk:
    disk = formatted()
    on(disk, lambda port: write_quorum_state(port, NODE, 1))
    disk.put(QUORUM_STATE, contents)
    return disk


# quorum-state


def test_quorum_state_has_kafkas_bytes() -> None:
    disk = formatted()

    on(disk, lambda port: write_quorum_state(port, NODE, 1))

    assert disk.contents(QUORUM_STATE) == (
        b'{"leaderId":1,"leaderEpoch":1,"votedId":-1,'
        b'"votedDirectoryId":"AAAAAAAAAAAAAAAAAAAAAA","data_version":1}'
    )


def test_quorum_state_is_read_as_it_was_written_last() -> None:
    disk = formatted()
    assert on(disk, read_quorum_state) is None

    for epoch in (1, 2, 2**31 - 2):
        on(disk, partial(write_quorum_state, leader_id=NODE, leader_epoch=epoch))
        assert on(disk, read_quorum_state) == QuorumState(NODE, epoch)


def test_an_epoch_is_durable_when_its_write_returns() -> None:
    """Before it is used: no epoch may ever have two leaders."""
    for seed in range(20):
        disk = new_disk(seed)
        on(disk, format_it)
        on(disk, lambda port: write_quorum_state(port, NODE, 5))
        disk.crash()

        assert on(disk, read_quorum_state) == QuorumState(NODE, 5)


def test_a_power_cut_leaves_the_old_epoch_or_the_new_one() -> None:
    found: dict[int, None] = {}
    for calls in range(9):
        for seed in range(10):
            disk = new_disk(seed)
            on(disk, format_it)
            on(disk, lambda port: write_quorum_state(port, NODE, 1))
            disk.cut_after(calls)
            with suppress(PowerCut):
                on(disk, lambda port: write_quorum_state(port, NODE, 2))
            disk.crash()
            state = on(disk, read_quorum_state)
            assert state is not None
            found[state.leader_epoch] = None

    assert sorted(found) == [1, 2]


@pytest.mark.parametrize(
    "contents",
    [
        # Of a leader that this node voted for; of none yet; of a later minor version.
        b'{"leaderId":3,"leaderEpoch":9,"votedId":3,"votedDirectoryId":"AAECAwQFBgcICQoLDA0ODw",'
        b'"data_version":1}',
        b'{"leaderId":3,"leaderEpoch":9,"data_version":1}',
        b'{"clusterId":"","leaderId":3,"leaderEpoch":9,"votedId":-1,"appliedOffset":0,'
        b'"currentVoters":[{"voterId":1}],"data_version":0}',
    ],
    ids=["a vote was given", "only what counts", "Kafka's version 0"],
)
def test_what_kafka_wrote_is_read(contents: bytes) -> None:
    assert on(with_quorum_state(contents), read_quorum_state) == QuorumState(3, 9)


@pytest.mark.parametrize(
    "contents",
    [
        b"",
        b"\0" * 100,
        b'{"leaderId":1,"leaderEpo',
        b'{"leaderId":1}',
        b'{"leaderId":1,"leaderEpoch":"1"}',
        b'{"leaderId":1,"leaderEpoch":-1}',
        b'{"leaderId":1,"leaderEpoch":2147483647}',
        b'{"leaderId":1,"leaderEpoch":1,"votedDirectoryId":"short"}',
        b'{"leaderId":1,"leaderEpoch":1,"votedDirectoryId":"\xff"}',
    ],
)
def test_a_quorum_state_that_cannot_be_read_is_not_guessed(contents: bytes) -> None:
    with pytest.raises(WrongQuorum, match="quorum-state"):
        on(with_quorum_state(contents), read_quorum_state)


# A new directory


def test_a_new_directory_holds_kafkas_files() -> None:
    disk = formatted()

    assert disk.paths() == FILES
    assert disk.open_paths() == []
    metadata = disk.contents(f"{METADATA_DIRECTORY}/partition.metadata")
    assert decode_partition_metadata(metadata) == METADATA_TOPIC_ID
    assert disk.contents(f"{METADATA_DIRECTORY}/00000000000000000000.log") == b""


def test_a_directory_that_was_half_made_is_finished() -> None:
    """After a power cut at any call, the same again, until the whole is there."""
    whole = formatted()
    calls = 0
    while True:
        disk = new_disk(calls)
        disk.cut_after(calls)
        try:
            on(disk, format_it)
        except PowerCut:
            disk.crash()
            on(disk, format_it)
        else:
            break
        disk.crash()
        assert [path for path in disk.paths() if not path.endswith(".tmp")] == FILES
        for path in FILES:
            assert disk.contents(path) == whole.contents(path)
        calls += 1
    assert calls > 10


def records_of(snapshot: bytes) -> list[tuple[int, Any]]:
    """Every record with its offset: control records by type, others as metadata records."""
    found: list[tuple[int, Any]] = []
    at = 0
    for header in iter_headers(snapshot):
        assert check_crc(snapshot, at, header.size)
        assert header.partition_leader_epoch == 0
        for record in decode_batch(snapshot, at):
            assert record.timestamp_ms == WALL_MS
            value = record.value or b""
            if not header.is_control:
                found.append((record.offset, decode_record(value)))
                continue
            kind = read_control_type(record.key)
            assert kind is not None
            found.append((record.offset, decode(MESSAGES[kind], 0, value)))
        at += header.size
    assert at == len(snapshot)
    return found


MESSAGES: dict[ControlType, type[msgspec.Struct]] = {
    ControlType.LEADER_CHANGE: raft.LeaderChangeMessage,
    ControlType.SNAPSHOT_HEADER: raft.SnapshotHeaderRecord,
    ControlType.SNAPSHOT_FOOTER: raft.SnapshotFooterRecord,
    ControlType.KRAFT_VERSION: raft.KRaftVersionRecord,
    ControlType.KRAFT_VOTERS: raft.VotersRecord,
}
HEADER = raft.SnapshotHeaderRecord(last_contained_log_timestamp=WALL_MS)
FOOTER = raft.SnapshotFooterRecord()


def test_the_first_snapshot_names_the_voters() -> None:
    """KIP-853: a quorum whose voters may change keeps them in its log, from the first snapshot."""
    assert records_of(formatted().contents(FIRST_SNAPSHOT)) == [
        (0, HEADER),
        (1, raft.KRaftVersionRecord(kraft_version=1)),
        (2, VOTERS),
        (3, FOOTER),
    ]


def test_the_bootstrap_snapshot_holds_the_first_levels() -> None:
    data = formatted().contents(BOOTSTRAP)

    assert records_of(data) == [(0, HEADER), (1, LEVEL), (2, FOOTER)]
    assert [decode_record(value) for _, _, value in read_values(data)] == [LEVEL]


def test_a_bootstrap_of_nothing_is_a_header_and_a_footer() -> None:
    disk = new_disk()
    on(disk, lambda port: format_directory(port, VOTERS, [], WALL_MS))

    assert records_of(disk.contents(BOOTSTRAP)) == [(0, HEADER), (1, FOOTER)]


# Voters


def test_a_quorum_of_one_has_one_voter() -> None:
    assert VOTERS.voters == [
        raft.VotersRecordVoter(
            voter_id=1,
            voter_directory_id=DIRECTORY_ID,
            endpoints=[raft.Endpoint(name="CONTROLLER", host="host", port=9093)],
            kraft_version_feature=raft.KRaftVersionFeature(0, 1),
        )
    ]


def test_an_epoch_begins_with_its_leader_and_the_voters() -> None:
    head, rest = leader_change(NODE, VOTERS, WALL_MS).stamped_parts(0, 0)

    voter = raft.LeaderChangeMessageVoter(voter_id=1)
    assert records_of(head + bytes(rest)) == [
        (0, raft.LeaderChangeMessage(leader_id=1, voters=[voter], granting_voters=[voter])),
        (1, raft.KRaftVersionRecord(kraft_version=1)),
        (2, VOTERS),
    ]


def voters(*ids: int, directory: bytes = DIRECTORY_ID) -> raft.VotersRecord:
    return raft.VotersRecord(voters=[raft.VotersRecordVoter(each, directory) for each in ids])


@pytest.mark.parametrize(
    "said",
    [
        [],
        [voters(1)],
        # A static quorum of Kafka's knows no directories.
        [voters(1, directory=bytes(16))],
        [voters(1, 2, 3), voters(1)],
        [voters(2), voters(1)],
    ],
    ids=["none", "itself", "itself without a directory", "others once", "another once"],
)
def test_a_directory_is_opened_when_its_node_alone_votes(said: list[raft.VotersRecord]) -> None:
    check_voters(said, NODE, DIRECTORY_ID)


@pytest.mark.parametrize(
    ("said", "why"),
    [
        ([voters(2)], "has the voters 2; .* node 1"),
        ([voters(1, 2, 3)], "has the voters 1, 2, 3; .* node 1"),
        ([voters(1), voters(1, 2)], "has the voters 1, 2; .* node 1"),
        ([voters()], "has the voters ; .* node 1"),
        ([voters(1, directory=b"x" * 16)], "a copy of another voter's"),
    ],
    ids=["another", "three", "three by now", "nobody", "another directory"],
)
def test_a_directory_of_another_quorum_is_refused(said: list[raft.VotersRecord], why: str) -> None:
    with pytest.raises(WrongQuorum, match=why):
        check_voters(said, NODE, DIRECTORY_ID)
