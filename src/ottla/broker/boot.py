"""From a directory to a node: whose it is, how it was left, what it holds. Blocking.

Everything here runs on the `Disk` port, so that the simulator cuts the power in the middle of it.
"""

from typing import Any, NamedTuple

from ottla.broker.state import Identity, NodeState
from ottla.config import BrokerConfig, TopicConfig
from ottla.errors import DiskError, Malformed
from ottla.metadata.controller import (
    KRAFT_VERSION,
    METADATA_VERSION,
    Controller,
    Entropy,
)
from ottla.metadata.image import RESOURCE_TOPIC, Endpoint, Image
from ottla.metadata.records import decode_record
from ottla.metadata.standing import StandingRecords
from ottla.metadata.transactions import TransactionFilter, Written
from ottla.names import METADATA_TOPIC, METADATA_TOPIC_ID, NodeId, Now, TopicPartition, Uuid
from ottla.protocol.compile import decode
from ottla.protocol.schema.records_raft import VotersRecord
from ottla.raft.batches import read_controls, read_values, runs
from ottla.raft.directory import (
    QUORUM_STATE,
    WrongQuorum,
    bootstrap_values,
    check_voters,
    format_directory,
    read_quorum_state,
    voters_of_one,
    write_quorum_state,
)
from ottla.raft.replica import MetadataReplica
from ottla.raft.snapshots import METADATA_DIRECTORY, remove_partial_snapshots, snapshots_in
from ottla.raft.snapshotter import Snapshotter
from ottla.records.batch import CorruptBatch
from ottla.records.compress import TooLarge
from ottla.records.control import ControlType
from ottla.replication.hosting import Hosting
from ottla.storage.checkpoints import (
    CLEAN_SHUTDOWN,
    LOG_START_CHECKPOINT,
    META_PROPERTIES,
    RECOVERY_POINT_CHECKPOINT,
    CorruptCheckpoint,
    MetaProperties,
    decode_offsets,
    encode_offsets,
    encode_uuid,
    write_atomic,
)
from ottla.storage.disk import Disk, DiskFile
from ottla.storage.durable import MARKS_FILE, DurableMarks, WriteMarks
from ottla.storage.journal import replay_journal
from ottla.storage.log import Log
from ottla.storage.partition_meta import (
    DELETE_SUFFIX,
    PARTITION_METADATA,
    STRAY_SUFFIX,
    decode_partition_metadata,
    deletion_name,
    dir_name,
    encode_partition_metadata,
    parse_dir_name,
)
from ottla.storage.recovery import CorruptLog, Trust, load_log, read_file


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
        self.standing = StandingRecords()
        # Of the metadata log, behind its newest snapshot.
        self.bytes_behind = 0
        self.loaded: dict[TopicPartition, Log] = {}
        self.names = dict.fromkeys(disk.list(""))
        self.was_clean = CLEAN_SHUTDOWN in self.names
        self.recovery_points = read_file(disk, RECOVERY_POINT_CHECKPOINT) or b""
        marks = read_file(disk, MARKS_FILE) or b""
        self.marks = DurableMarks.load(marks, self.recovery_points)

    def run(self) -> Booted:
        identity = self._identify()
        journal_file = self._replay_journal()
        replica = self._load_metadata(identity)
        hosting = Hosting(identity.node_id, self.config, self.disk, self.image)
        self._load_partitions(hosting)
        if self.repairs or not self.was_clean:
            self.disk.sync_all()
        self._write_marks(replica.log, list(self.loaded.values()))
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
            journal_file,
        )
        return Booted(state, self.repairs)

    def _replay_journal(self) -> DiskFile | None:
        journal_file, count = replay_journal(self.disk, is_clean=self.was_clean)
        if count and self.was_clean:
            self.repairs.append(
                f"gave up {count} appends of our journal: another program has opened the directory "
                f"since our crash, and stopped cleanly. After a crash Ottla must come first."
            )
        elif count:
            self.repairs.append(f"wrote {count} appends of the last run's journal into place")
        return journal_file

    def _identify(self) -> Identity:
        disk, addresses = self.disk, self.addresses
        data = read_file(disk, META_PROPERTIES)
        if data is None:
            strangers = self._log_directories()
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
            self._format(identity)
        trust = Trust(
            is_clean=False,
            mark=self.marks.of(METADATA_DIRECTORY, METADATA_TOPIC_ID),
            wall_ms=self.now.wall_ms,
        )
        config = TopicConfig.resolve({}, self.config)
        try:
            log, repairs = load_log(
                disk, TopicPartition(METADATA_TOPIC, 0), METADATA_DIRECTORY, config, trust
            )
            voters = self._replay_metadata(log)
        except (CorruptLog, CorruptBatch, TooLarge, Malformed) as error:
            raise WrongDirectory(f"the metadata log cannot be read: {error}") from error
        self.repairs += repairs
        check_voters(voters, identity.node_id, identity.directory_id)
        self._check_features()
        last_epoch = max(log.epochs.latest_epoch, 0 if quorum is None else quorum.leader_epoch)
        write_quorum_state(disk, identity.node_id, last_epoch + 1)
        if log.active.size >= config.segment_bytes:
            # Commands see each other's records at once, so nothing can wait for a roll later on.
            log.on_rolled(log.roll_job().run(disk), self.now.wall_ms)
            log.leave_directory()
        self.controller.next_offset = log.end_offset
        snapshotter = Snapshotter(self.config, self.standing, self.bytes_behind)
        return MetadataReplica(log, last_epoch + 1, self.controller, snapshotter)

    def _format(self, identity: Identity) -> None:
        strangers = [name for name in self._log_directories() if name != METADATA_DIRECTORY]
        if strangers:
            raise WrongDirectory(
                f"the directory holds {strangers[0]} but no {QUORUM_STATE}: its metadata is gone. "
                f"Restore {METADATA_DIRECTORY}, or start with an empty directory."
            )
        endpoint = identity.controller_endpoints[0]
        format_directory(
            self.disk,
            voters_of_one(identity.node_id, identity.directory_id, endpoint),
            bootstrap_values(self.controller.bootstrap_levels()),
            self.now.wall_ms,
        )

    def _log_directories(self) -> list[str]:
        found = []
        for name in self.names:
            parsed = parse_dir_name(name)
            if parsed is not None and parsed.suffix == "":
                found.append(name)
        return found

    def _replay_metadata(self, log: Log) -> list[VotersRecord]:
        """The newest snapshot, then the log behind it, for the controller and for the broker."""
        disk = self.disk
        remove_partial_snapshots(disk)
        snapshots = snapshots_in(disk.list(METADATA_DIRECTORY))
        voters: list[VotersRecord] = []
        transactions = TransactionFilter()
        after = 0
        if snapshots:
            newest = snapshots[-1]
            after = newest.end_offset
            data = read_file(disk, f"{METADATA_DIRECTORY}/{newest.name}") or b""
            if not _is_whole(data):
                raise CorruptLog(f"{newest.name} is cut short")
            if log.end_offset < after:
                raise CorruptLog(f"it ends at {log.end_offset}, and {newest.name} reached further")
            voters += _voters(data)
            for _, _, value in read_values(data):
                self._replay(Written(value, after - 1), transactions)
        if log.segments[0].base_offset > after:
            raise CorruptLog(f"no snapshot reaches its begin at {log.segments[0].base_offset}")
        for segment, next_base in zip(log.segments, [*log.base_offsets[1:], None], strict=True):
            if next_base is not None and next_base <= after:
                continue
            for data in runs(disk, segment, after):
                self.bytes_behind += len(data)
                voters += _voters(data)
                for _, offset, value in read_values(data):
                    self._replay(Written(value, offset), transactions)
        self.controller.has_open_transaction = transactions.is_open
        return voters

    def _replay(self, written: Written, transactions: TransactionFilter) -> None:
        for value, offset in transactions.take(written):
            self.standing.replay(decode_record(value), value)
            # Decoded for each: the two share no object.
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
        loaded = self.loaded
        damaged: dict[TopicPartition, str] = {}
        topic_ids = {METADATA_DIRECTORY: METADATA_TOPIC_ID}
        for topic in self.image.topics.values():
            config = TopicConfig.resolve(
                self.image.configs_of(RESOURCE_TOPIC, topic.name), self.config
            )
            for index, image in topic.partitions.items():
                if self.addresses.node_id not in image.replicas:
                    continue
                partition = TopicPartition(topic.name, index)
                topic_ids[dir_name(partition)] = topic.topic_id
                mark = self.marks.of(dir_name(partition), topic.topic_id)
                # A recovery point names no topic id: it may be of a deleted topic of this name.
                durable_offset = 0 if mark is None else mark.offset
                trust = Trust(
                    # What was damaged is not listed, and is not clean because the rest is.
                    is_clean=self.was_clean and partition in recovery_points,
                    recovery_point=min(recovery_points.get(partition, 0), durable_offset),
                    start_offset=starts.get(partition, 0),
                    mark=mark,
                    wall_ms=self.now.wall_ms,
                )
                try:
                    log = self._load_partition(partition, topic.topic_id, config, trust)
                except CorruptLog as corrupt:
                    self.repairs.append(str(corrupt))
                    damaged[partition] = str(corrupt)
                    continue
                if log is not None:
                    loaded[partition] = log
        self.marks.keep(topic_ids)
        doomed = self._put_strays_aside(topic_ids)
        hosting.offer_loaded(loaded, damaged, doomed)

    def _write_marks(self, metadata: Log, logs: list[Log]) -> None:
        """What was found is durable now: a crash before the next flush must not unsay it.

        By the file of marks the directory is known as ours, whatever a crash does to the rest.
        """
        self.marks.on_loaded(metadata, METADATA_TOPIC_ID)
        for log in logs:
            self.marks.on_loaded(log, log.topic_id)
        recovery_points = encode_offsets({log.partition: log.recovery_point for log in logs})
        has_moved = bool(logs) and recovery_points != self.recovery_points
        if has_moved:
            self.marks.set_recovery_points(recovery_points)
        try:
            WriteMarks(self.marks.encode()).run(self.disk)
            if has_moved:
                write_atomic(self.disk, RECOVERY_POINT_CHECKPOINT, recovery_points)
        except DiskError as error:
            if not error.is_full:
                raise
            self.repairs.append(f"the durable marks are not written: {error.why}")

    def _load_partition(
        self, partition: TopicPartition, topic_id: Uuid, config: TopicConfig, trust: Trust
    ) -> Log | None:
        directory = dir_name(partition)
        if directory not in self.names:
            if trust.mark is not None and trust.mark.offset > trust.start_offset:
                raise CorruptLog(f"{directory} is gone, and records in it were durable")
            return None
        metadata_path = f"{directory}/{PARTITION_METADATA}"
        metadata = read_file(self.disk, metadata_path)
        try:
            stored_id = None if metadata is None else decode_partition_metadata(metadata)
        except CorruptCheckpoint as error:
            self.repairs.append(f"{directory}: {error}; it was written again")
            stored_id = None
        if stored_id not in (None, topic_id):
            # The topic was deleted and made again while this node was down.
            self._put_aside(directory, partition)
            return None
        if stored_id is None:
            write_atomic(self.disk, metadata_path, encode_partition_metadata(topic_id))
        log, repairs = load_log(self.disk, partition, directory, config, trust)
        log.topic_id = topic_id
        self.repairs += repairs
        return log

    def _put_strays_aside(self, topic_ids: dict[str, Uuid]) -> list[str]:
        """Directories that the metadata does not name; those that wait to be removed are told."""
        doomed = []
        for name in self.names:
            parsed = parse_dir_name(name)
            if parsed is None:
                continue
            if parsed.suffix == DELETE_SUFFIX:
                doomed.append(name)
            elif parsed.suffix == "" and name not in topic_ids:
                self._put_aside(name, parsed.topic_partition)
        return doomed

    def _put_aside(self, directory: str, partition: TopicPartition) -> None:
        """As Kafka does: nobody serves it, and an operator decides."""
        stray = deletion_name(partition, self.entropy.uuid()).removesuffix(DELETE_SUFFIX)
        stray += STRAY_SUFFIX
        self.disk.rename(directory, stray)
        self.disk.sync_dir("")
        self.repairs.append(f"{directory} belongs to no topic that is known; kept as {stray}")

    def _offsets(self, data: bytes, name: str) -> dict[TopicPartition, int]:
        try:
            return decode_offsets(data)
        except CorruptCheckpoint as error:
            self.repairs.append(f"{name} cannot be read ({error}); logs are recovered in full")
            self.was_clean = False
            return {}


def _voters(data: bytes) -> list[VotersRecord]:
    return [
        decode(VotersRecord, 0, value)
        for control_type, value in read_controls(data)
        if control_type is ControlType.KRAFT_VOTERS
    ]


def _is_whole(snapshot: bytes) -> bool:
    types = [control_type for control_type, _ in read_controls(snapshot)]
    return types[-1:] == [ControlType.SNAPSHOT_FOOTER]
