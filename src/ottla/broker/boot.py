"""From a directory to a node: whose it is, how it was left, what it holds. Blocking.

Everything here runs on the `Disk` port, so that the simulator cuts the power in the middle of it.
"""

from collections.abc import Iterator
from typing import Any, NamedTuple

from ottla.broker.state import Identity, NodeState
from ottla.config import BrokerConfig, TopicConfig
from ottla.metadata.controller import (
    KRAFT_VERSION,
    METADATA_VERSION,
    Controller,
    Entropy,
)
from ottla.metadata.image import RESOURCE_TOPIC, Endpoint, Image
from ottla.metadata.records import decode_record
from ottla.names import METADATA_TOPIC, METADATA_TOPIC_ID, NodeId, Now, TopicPartition, Uuid
from ottla.protocol.compile import decode
from ottla.protocol.schema.records_raft import VotersRecord
from ottla.raft.batches import read_values
from ottla.raft.directory import (
    METADATA_DIRECTORY,
    WrongQuorum,
    bootstrap_values,
    check_voters,
    format_directory,
    read_quorum_state,
    voters_of_one,
    write_quorum_state,
)
from ottla.raft.replica import MetadataReplica
from ottla.records.batch import read_header
from ottla.records.control import ControlType, read_control_type
from ottla.records.record import decode_batch
from ottla.replication.hosting import Hosting
from ottla.storage.checkpoints import (
    CLEAN_SHUTDOWN,
    LOG_START_CHECKPOINT,
    META_PROPERTIES,
    RECOVERY_POINT_CHECKPOINT,
    CorruptCheckpoint,
    MetaProperties,
    decode_offsets,
    encode_uuid,
    write_atomic,
)
from ottla.storage.disk import Disk
from ottla.storage.durable import MARKS_FILE, DurableMarks
from ottla.storage.journal import replay_journal
from ottla.storage.log import Log
from ottla.storage.partition_meta import (
    PARTITION_METADATA,
    STRAY_SUFFIX,
    decode_partition_metadata,
    deletion_name,
    dir_name,
)
from ottla.storage.recovery import CorruptLog, Trust, load_log, read_file

CHECKPOINT_SUFFIX = ".checkpoint"


class WrongDirectory(Exception):
    """A data directory that this node must not open; the message says why and what to do."""


class Addresses(NamedTuple):
    node_id: NodeId
    endpoints: tuple[Endpoint, ...]
    controller_endpoints: tuple[Endpoint, ...]
    rack: str | None


class Booted(NamedTuple):
    state: NodeState
    repairs: list[str]


def boot(
    disk: Disk, config: BrokerConfig, addresses: Addresses, entropy: Entropy, now: Now
) -> Booted:
    return _Boot(disk, config, addresses, entropy, now).run()


class _Boot:
    def __init__(
        self, disk: Disk, config: BrokerConfig, addresses: Addresses, entropy: Entropy, now: Now
    ) -> None:
        self.disk = disk
        self.config = config
        self.addresses = addresses
        self.entropy = entropy
        self.now = now
        self.repairs: list[str] = []
        self.image = Image()
        self.controller = Controller(config, entropy)
        self.was_clean = disk.exists(CLEAN_SHUTDOWN)
        self.recovery_points = read_file(disk, RECOVERY_POINT_CHECKPOINT) or b""
        marks = read_file(disk, MARKS_FILE) or b""
        self.marks = DurableMarks.load(marks, self.recovery_points)
        self.journal_file, replayed = replay_journal(disk)
        if replayed:
            self.repairs.append(f"wrote {replayed} appends of the last run's journal into place")

    def run(self) -> Booted:
        identity = self._identify()
        replica = self._load_metadata(identity)
        hosting = Hosting(identity.node_id, self.config, self.disk, self.image)
        self._load_partitions(hosting)
        if self.was_clean:
            # From here on only a clean stop makes it clean again.
            self.disk.unlink(CLEAN_SHUTDOWN)
            self.disk.sync_dir("")
        state = NodeState(
            identity,
            self.config,
            self.disk,
            self.entropy,
            self.marks,
            self.image,
            hosting,
            replica,
            self.journal_file,
        )
        return Booted(state, self.repairs)

    def _identify(self) -> Identity:
        disk, addresses = self.disk, self.addresses
        data = read_file(disk, META_PROPERTIES)
        if data is None:
            strangers = [name for name in disk.list("") if dir_name_like(name)]
            if strangers:
                raise WrongDirectory(
                    f"the directory holds {strangers[0]} but no {META_PROPERTIES}: whose data is "
                    f"this? Restore the file, or start with an empty directory."
                )
            meta = MetaProperties(
                addresses.node_id, encode_uuid(self.entropy.uuid()), self.entropy.uuid()
            )
            write_atomic(disk, META_PROPERTIES, meta.encode())
        else:
            try:
                meta = MetaProperties.decode(data)
            except CorruptCheckpoint as error:
                raise WrongDirectory(f"{META_PROPERTIES} cannot be read: {error}") from error
        if meta.node_id != addresses.node_id:
            raise WrongDirectory(
                f"the directory belongs to node {meta.node_id}, and this is node "
                f"{addresses.node_id}: start with --node-id {meta.node_id}, or another directory."
            )
        if meta.directory_id is None:
            meta.directory_id = self.entropy.uuid()
            write_atomic(disk, META_PROPERTIES, meta.encode())
        return Identity(
            addresses.node_id,
            meta.cluster_id,
            meta.directory_id,
            addresses.endpoints,
            addresses.controller_endpoints,
            addresses.rack,
        )

    # Metadata

    def _load_metadata(self, identity: Identity) -> MetadataReplica:
        disk = self.disk
        quorum = read_quorum_state(disk)
        if quorum is None:
            format_directory(
                disk,
                voters_of_one(
                    identity.node_id, identity.directory_id, identity.controller_endpoints[0]
                ),
                bootstrap_values(self.controller.bootstrap_levels()),
                self.now.wall_ms,
            )
        log, repairs = load_log(
            disk,
            TopicPartition(METADATA_TOPIC, 0),
            METADATA_DIRECTORY,
            TopicConfig.resolve({}, self.config),
            Trust(is_clean=False, mark=self.marks.of(METADATA_DIRECTORY, METADATA_TOPIC_ID)),
        )
        self.repairs += repairs
        voters = self._replay_metadata(log)
        check_voters(voters, identity.node_id, identity.directory_id)
        self._check_features()
        last_epoch = max(log.epochs.latest_epoch, 0 if quorum is None else quorum.leader_epoch)
        write_quorum_state(disk, identity.node_id, last_epoch + 1)
        self.controller.next_offset = log.end_offset
        return MetadataReplica(log, last_epoch + 1, self.controller)

    def _replay_metadata(self, log: Log) -> list[VotersRecord]:
        """The newest snapshot, then the log behind it, for the controller and for the broker."""
        snapshots = [
            name
            for name in self.disk.list(METADATA_DIRECTORY)
            if name.endswith(CHECKPOINT_SUFFIX) and "-" in name
        ]
        voters: list[VotersRecord] = []
        after = 0
        if snapshots:
            newest = snapshots[-1]
            after = int(newest.partition("-")[0])
            data = read_file(self.disk, f"{METADATA_DIRECTORY}/{newest}") or b""
            voters += _voters(data)
            for _, _, value in read_values(data):
                self._replay(value, after - 1)
        for segment in log.segments:
            data = self.disk.read_blocking(segment.file, 0, segment.size)
            voters += _voters(data)
            for _, offset, value in read_values(data):
                if offset >= after:
                    self._replay(value, offset)
        return voters

    def _replay(self, value: bytes, offset: int) -> None:
        for replayed in (self.image, self.controller):
            record: Any = decode_record(value)
            if record is not None:
                replayed.replay(record, offset)

    def _check_features(self) -> None:
        for name, level_max in (
            ("metadata.version", METADATA_VERSION),
            ("kraft.version", KRAFT_VERSION),
        ):
            level = self.image.features.get(name, 0)
            if level > level_max:
                raise WrongQuorum(
                    f"the directory was written at {name} {level}; this version knows {level_max}"
                )

    # Partitions

    def _load_partitions(self, hosting: Hosting) -> None:
        recovery_points = self._offsets(self.recovery_points, RECOVERY_POINT_CHECKPOINT)
        starts_data = read_file(self.disk, LOG_START_CHECKPOINT) or b""
        starts = self._offsets(starts_data, LOG_START_CHECKPOINT)
        loaded: dict[TopicPartition, Log] = {}
        damaged: dict[TopicPartition, str] = {}
        for topic in self.image.topics.values():
            config = TopicConfig.resolve(
                self.image.configs_of(RESOURCE_TOPIC, topic.name), self.config
            )
            for index, image in topic.partitions.items():
                if self.addresses.node_id not in image.replicas:
                    continue
                partition = TopicPartition(topic.name, index)
                mark = self.marks.of(dir_name(partition), topic.topic_id)
                # A recovery point names no topic id: it may be of a deleted topic of this name.
                durable_offset = 0 if mark is None else mark.offset
                trust = Trust(
                    is_clean=self.was_clean,
                    recovery_point=min(recovery_points.get(partition, 0), durable_offset),
                    start_offset=starts.get(partition, 0),
                    mark=mark,
                )
                try:
                    log = self._load_partition(partition, topic.topic_id, config, trust)
                except CorruptLog as corrupt:
                    self.repairs.append(str(corrupt))
                    damaged[partition] = str(corrupt)
                    continue
                if log is not None:
                    loaded[partition] = log
        hosting.offer_loaded(loaded, damaged)

    def _load_partition(
        self, partition: TopicPartition, topic_id: Uuid, config: TopicConfig, trust: Trust
    ) -> Log | None:
        directory = dir_name(partition)
        if not self.disk.exists(directory):
            if trust.mark is not None and trust.mark.offset > trust.start_offset:
                raise CorruptLog(f"{directory} is gone, and records in it were durable")
            return None
        metadata = read_file(self.disk, f"{directory}/{PARTITION_METADATA}")
        try:
            is_ours = metadata is None or decode_partition_metadata(metadata) == topic_id
        except CorruptCheckpoint:
            is_ours = True
        if not is_ours:
            # The topic was deleted and made again while this node was down.
            stray = deletion_name(partition, self.entropy.uuid()).removesuffix("-delete")
            self.disk.rename(directory, stray + STRAY_SUFFIX)
            self.disk.sync_dir("")
            self.repairs.append(f"{directory} belongs to a deleted topic; kept as {stray}")
            return None
        log, repairs = load_log(self.disk, partition, directory, config, trust)
        self.repairs += repairs
        return log

    def _offsets(self, data: bytes, name: str) -> dict[TopicPartition, int]:
        try:
            return decode_offsets(data)
        except CorruptCheckpoint as error:
            self.repairs.append(f"{name} cannot be read ({error}); logs are recovered in full")
            self.was_clean = False
            return {}


def dir_name_like(name: str) -> bool:
    """A log's directory, as far as its name tells."""
    stem, _, number = name.rpartition("-")
    return bool(stem) and number.isdigit()


def _voters(data: bytes) -> Iterator[VotersRecord]:
    at = 0
    while at < len(data):
        header = read_header(data, at)
        if header.is_control:
            for record in decode_batch(data, at):
                if read_control_type(record.key) is ControlType.KRAFT_VOTERS:
                    yield decode(VotersRecord, 0, record.value or b"")
        at += header.size
