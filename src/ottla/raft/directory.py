"""The metadata log's directory as Kafka lays it out for a dynamic quorum of one (KIP-853).

Blocking: called at boot, before anything is served.
"""

from typing import Annotated, NamedTuple

import msgspec

from ottla.metadata.controller import KRAFT_VERSION
from ottla.metadata.image import Endpoint
from ottla.metadata.records import encode_record
from ottla.names import METADATA_TOPIC_ID, NodeId, Uuid
from ottla.protocol.compile import encode
from ottla.protocol.schema import records_raft as raft
from ottla.raft.batches import control_batch
from ottla.raft.snapshots import METADATA_DIRECTORY, Quorum, SnapshotId, snapshot_batches
from ottla.records.control import ControlType
from ottla.records.rules import Validated
from ottla.storage.checkpoints import CorruptCheckpoint, decode_uuid, encode_uuid, write_atomic
from ottla.storage.disk import Disk
from ottla.storage.jobs import CreateLog
from ottla.storage.partition_meta import encode_partition_metadata
from ottla.storage.recovery import read_file

QUORUM_STATE = f"{METADATA_DIRECTORY}/quorum-state"
FIRST_SNAPSHOT = f"{METADATA_DIRECTORY}/{SnapshotId(0, 0).name}"
BOOTSTRAP = "bootstrap.checkpoint"
NO_VOTE = -1


class WrongQuorum(Exception):
    """A directory whose metadata quorum is not this node alone."""


class QuorumState(NamedTuple):
    """The election state, as far as a quorum of one needs it."""

    leader_id: int
    leader_epoch: int


class _QuorumStateFile(msgspec.Struct, rename="camel"):
    leader_id: int
    # This node's own will be the next one, and has to fit into 31 bits.
    leader_epoch: Annotated[int, msgspec.Meta(ge=0, le=2**31 - 2)]
    voted_id: int = NO_VOTE
    voted_directory_id: str = encode_uuid(bytes(16))
    data_version: int = msgspec.field(default=1, name="data_version")


def read_quorum_state(disk: Disk) -> QuorumState | None:
    data = read_file(disk, QUORUM_STATE)
    if data is None:
        return None
    try:
        file = msgspec.json.decode(data, type=_QuorumStateFile)
        decode_uuid(file.voted_directory_id)
    except (msgspec.DecodeError, UnicodeDecodeError, CorruptCheckpoint) as error:
        # Guessing would mean to vote twice in an epoch: better not to start.
        raise WrongQuorum(f"{QUORUM_STATE} cannot be read: {error}") from error
    return QuorumState(file.leader_id, file.leader_epoch)


def write_quorum_state(disk: Disk, leader_id: NodeId, leader_epoch: int) -> None:
    """Durable before the epoch is used: no epoch may ever have two leaders."""
    file = _QuorumStateFile(leader_id, leader_epoch)
    write_atomic(disk, QUORUM_STATE, msgspec.json.encode(file))


def format_directory(
    disk: Disk, voters: raft.VotersRecord, bootstrap: list[bytes], wall_ms: int
) -> None:
    """Make a new cluster's metadata log. Run again after a crash half-way, it finishes."""
    disk.close(
        CreateLog(METADATA_DIRECTORY, encode_partition_metadata(METADATA_TOPIC_ID)).run(disk)
    )
    write_atomic(disk, FIRST_SNAPSHOT, _snapshot(quorum_records(voters), [], wall_ms))
    write_atomic(disk, BOOTSTRAP, _snapshot([], bootstrap, wall_ms))


def voters_of_one(node_id: NodeId, directory_id: Uuid, endpoint: Endpoint) -> raft.VotersRecord:
    voter = raft.VotersRecordVoter(
        voter_id=node_id,
        voter_directory_id=directory_id,
        endpoints=[raft.Endpoint(name=endpoint.listener, host=endpoint.host, port=endpoint.port)],
        kraft_version_feature=raft.KRaftVersionFeature(
            min_supported_version=0, max_supported_version=KRAFT_VERSION
        ),
    )
    return raft.VotersRecord(voters=[voter])


def quorum_records(voters: raft.VotersRecord) -> Quorum:
    """Who votes, and by which rules, as each epoch and each snapshot say it anew."""
    version = raft.KRaftVersionRecord(kraft_version=KRAFT_VERSION)
    return [
        (ControlType.KRAFT_VERSION, encode(version, 0)),
        (ControlType.KRAFT_VOTERS, encode(voters, 0)),
    ]


def leader_change(node_id: NodeId, voters: raft.VotersRecord, wall_ms: int) -> Validated:
    """The first batch of every epoch: who leads it, and with whom."""
    voter = raft.LeaderChangeMessageVoter(voter_id=node_id)
    message = raft.LeaderChangeMessage(leader_id=node_id, voters=[voter], granting_voters=[voter])
    return control_batch(
        [
            (ControlType.LEADER_CHANGE, encode(message, 0)),
            *quorum_records(voters),
        ],
        wall_ms,
    )


def check_voters(voters: list[raft.VotersRecord], node_id: NodeId, directory_id: Uuid) -> None:
    """A directory of another quorum is refused by name, never joined by mistake (D4)."""
    if not voters:
        return
    last = voters[-1].voters
    if len(last) != 1 or last[0].voter_id != node_id:
        ids = ", ".join(str(voter.voter_id) for voter in last)
        raise WrongQuorum(
            f"the metadata quorum of this directory has the voters {ids}; this version runs a "
            f"quorum of one, node {node_id}"
        )
    if last[0].voter_directory_id not in (directory_id, bytes(16)):
        raise WrongQuorum("this directory is a copy of another voter's, and may not vote as it")


def _snapshot(quorum: Quorum, values: list[bytes], wall_ms: int) -> bytes:
    return b"".join(snapshot_batches(quorum, values, 0, wall_ms, wall_ms))


def bootstrap_values(records: list[object]) -> list[bytes]:
    return [encode_record(record) for record in records]
