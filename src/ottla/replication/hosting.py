"""Which partitions this broker hosts, as the committed metadata says."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Protocol

from ottla.config import BrokerConfig, TopicConfig, topic_warnings
from ottla.errors import DiskError
from ottla.metadata.image import RESOURCE_TOPIC, Image, PartitionImage, TopicImage
from ottla.names import NodeId, Now, TopicPartition, Uuid
from ottla.protocol.schema import records_metadata as schema
from ottla.replication.directories import Directories
from ottla.replication.partition import Host, Partition
from ottla.storage.disk import Disk, DiskFile
from ottla.storage.jobs import CreateLog, CreateLogs, RemoveTree, RenameLog
from ottla.storage.journal import Journal
from ottla.storage.log import Log
from ottla.storage.partition_meta import deletion_name, dir_name, encode_partition_metadata
from ottla.storage.segment import Segment

# A partition whose files found no room is made again after so long.
CREATE_RETRY_MS = 1000


class HostNode(Host, Protocol):
    """What hosting needs of its node beyond what a partition does."""

    def after(self, delay_ms: int, action: Callable[[Now], None]) -> None: ...

    @property
    def journal(self) -> Journal: ...

    def retire(self, file: DiskFile) -> None: ...

    def report(self, level: str, text: str) -> None: ...

    def forget_log(self, partition: Partition) -> None: ...

    def new_uuid(self) -> Uuid: ...


@dataclass(slots=True, eq=False)
class HostedTopic:
    name: str
    topic_id: Uuid
    config: TopicConfig
    partitions: dict[int, Partition] = field(default_factory=dict)
    # Partitions whose files are being made: requests for them wait here.
    opening: dict[int, dict[Any, None]] = field(default_factory=dict)
    # Partitions whose files are not to be trusted, with the reason.
    damaged: dict[int, str] = field(default_factory=dict)


class Hosting:
    def __init__(self, node_id: NodeId, config: BrokerConfig, disk: Disk, image: Image) -> None:
        self.node_id = node_id
        self.config = config
        self.disk = disk
        self.image = image
        self.topics: dict[str, HostedTopic] = {}
        self.topics_by_id: dict[Uuid, HostedTopic] = {}
        self._loaded: dict[TopicPartition, Log] = {}
        self._damaged: dict[TopicPartition, str] = {}
        self._doomed: list[str] = []
        self._directories = Directories()
        self._to_make: list[tuple[HostedTopic, int]] = []
        self._is_making = False
        self._opening = 0
        self._when_open: list[Callable[[Now], None]] = []
        self._node: HostNode | None = None

    def attach(self, node: HostNode) -> None:
        self._node = node

    @property
    def node(self) -> HostNode:
        assert self._node is not None
        return self._node

    def offer_loaded(
        self,
        logs: dict[TopicPartition, Log],
        damaged: dict[TopicPartition, str],
        doomed: list[str],
    ) -> None:
        """Logs that recovery found, or had to give up, for when the metadata names them.

        `doomed` are directories whose topic a former process deleted, and whose files it did not.
        """
        self._loaded = logs
        self._damaged = damaged
        self._doomed = doomed

    def all_partitions(self) -> list[Partition]:
        return [p for topic in self.topics.values() for p in topic.partitions.values()]

    def when_open(self, action: Callable[[Now], None], now: Now) -> None:
        """Run once every partition that is being made now can be used."""
        if self._opening:
            self._when_open.append(action)
        else:
            action(now)

    # The committed metadata changed (after the image's own replay)

    def on_committed(self, record: Any, now: Now) -> None:
        if isinstance(record, schema.PartitionRecord):
            self._host(record.topic_id, record.partition_id, now)
        elif isinstance(record, schema.PartitionChangeRecord):
            self._change(record.topic_id, record.partition_id)
        elif isinstance(record, schema.RemoveTopicRecord):
            self._remove(record.topic_id, now)
        elif isinstance(record, schema.ConfigRecord) and record.resource_type == RESOURCE_TOPIC:
            self._configure(record.resource_name)

    def take_up(self, now: Now) -> None:
        """Host everything that the image names: once, after boot."""
        for topic in list(self.image.topics.values()):
            for index in topic.partitions:
                self._host(topic.topic_id, index, now)
        for directory in self._doomed:
            self._remove_later(directory, self.config.int("log.segment.delete.delay.ms"))

    def _topic(self, image: TopicImage) -> HostedTopic:
        hosted = self.topics_by_id.get(image.topic_id)
        if hosted is None:
            hosted = HostedTopic(image.name, image.topic_id, self._config_of(image.name))
            self.topics[image.name] = hosted
            self.topics_by_id[image.topic_id] = hosted
            for warning in topic_warnings(self.image.configs_of(RESOURCE_TOPIC, image.name)):
                self.node.report("warning", f"topic {image.name}: {warning}")
        return hosted

    def _config_of(self, topic: str) -> TopicConfig:
        return TopicConfig.resolve(self.image.configs_of(RESOURCE_TOPIC, topic), self.config)

    def _host(self, topic_id: Uuid, index: int, now: Now) -> None:
        image = self.image.topics_by_id[topic_id]
        if self.node_id not in image.partitions[index].replicas:
            return
        topic = self._topic(image)
        partition = TopicPartition(image.name, index)
        loaded = self._loaded.pop(partition, None)
        if loaded is not None:
            self._open(topic, index, loaded)
            return
        why = self._damaged.pop(partition, None)
        if why is not None:
            topic.damaged[index] = why
            return
        self._create(topic, index, now)

    def _create(self, topic: HostedTopic, index: int, now: Now) -> None:
        topic.opening[index] = {}
        self._opening += 1
        directory = dir_name(TopicPartition(topic.name, index))

        def start(now: Now) -> None:
            if self.topics_by_id.get(topic.topic_id) is topic:
                self._to_make.append((topic, index))
                self._make_next()
            else:
                self._on_made(topic, index, None, now)

        self._directories.enter(directory, start, now)

    def _make_next(self) -> None:
        """One job at a time, with all that came together while the last one ran."""
        making, self._to_make = self._to_make, []
        if self._is_making or not making:
            self._to_make = making
            return
        self._is_making = True
        job = CreateLogs(
            tuple(
                CreateLog(
                    dir_name(TopicPartition(topic.name, index)),
                    encode_partition_metadata(topic.topic_id),
                )
                for topic, index in making
            )
        )

        def on_made(result: Any, now: Now) -> None:
            self._is_making = False
            if isinstance(result, DiskError):
                self.node.on_storage_error(result)
            for at, (topic, index) in enumerate(making):
                one = result if isinstance(result, DiskError) else result[at]
                self._on_made(topic, index, one, now)
            self._make_next()

        self.node.submit(job, on_made)

    def _on_made(
        self, topic: HostedTopic, index: int, result: DiskFile | DiskError | None, now: Now
    ) -> None:
        waiting = topic.opening.pop(index)
        self._opening -= 1
        partition = TopicPartition(topic.name, index)
        is_wanted = self.topics_by_id.get(topic.topic_id) is topic
        if isinstance(result, DiskError):
            topic.damaged[index] = f"the partition's files could not be made: {result.why}"
            if is_wanted and result.is_full:
                self.node.after(CREATE_RETRY_MS, lambda now: self._retry(topic, index, now))
        elif result is not None and is_wanted:
            log = Log(partition, dir_name(partition), self.disk, topic.config)
            log.add_segment(Segment(0, result, now.wall_ms, topic.config.segment_index_bytes))
            self._open(topic, index, log)
        elif result is not None:
            self.node.retire(result)
        self._directories.leave(dir_name(partition), now)
        self.node.wake(waiting)
        if self._opening == 0:
            actions, self._when_open = self._when_open, []
            for action in actions:
                action(now)

    def _retry(self, topic: HostedTopic, index: int, now: Now) -> None:
        """There may be room by now."""
        if self.topics_by_id.get(topic.topic_id) is topic:
            del topic.damaged[index]
            self._create(topic, index, now)

    def _open(self, topic: HostedTopic, index: int, log: Log) -> None:
        if self.node.syncs:
            log.join_journal(self.node.journal, topic.topic_id)
        partition = Partition(log.partition, topic.topic_id, log, self.node, topic.config)
        topic.partitions[index] = partition
        self._lead(partition, self.image.topics_by_id[topic.topic_id].partitions[index])

    def _lead(self, partition: Partition, image: PartitionImage) -> None:
        partition.lead(image)

    def _change(self, topic_id: Uuid, index: int) -> None:
        topic = self.topics_by_id.get(topic_id)
        partition = None if topic is None else topic.partitions.get(index)
        if partition is not None:
            self._lead(partition, self.image.topics_by_id[topic_id].partitions[index])

    def _configure(self, name: str) -> None:
        topic = self.topics.get(name)
        if topic is not None:
            topic.config = self._config_of(name)
            for partition in topic.partitions.values():
                partition.configure(topic.config)

    def _remove(self, topic_id: Uuid, now: Now) -> None:
        topic = self.topics_by_id.pop(topic_id, None)
        if topic is None:
            return
        if self.topics.get(topic.name) is topic:
            del self.topics[topic.name]
        delay_ms = topic.config.file_delete_delay_ms
        for partition in topic.partitions.values():
            self._delete(partition, delay_ms, now)
        for index in (*topic.opening, *topic.damaged):
            gone = TopicPartition(topic.name, index)
            self._directories.enter(dir_name(gone), self._removal(gone, delay_ms), now)

    def _delete(self, partition: Partition, delay_ms: int, now: Now) -> None:
        remove = self._removal(partition.partition, delay_ms)

        def start(now: Now) -> None:
            # A flush round or a roll may be writing into the directory.
            partition.close(self.node.retire, lambda: remove(now), now)

        self._directories.enter(partition.log.directory, start, now)
        self.node.forget_log(partition)

    def _removal(self, partition: TopicPartition, delay_ms: int) -> Callable[[Now], None]:
        """Takes a directory out of sight, makes its name free, and removes its files later."""
        node, directory = self.node, dir_name(partition)

        def rename(now: Now) -> None:
            doomed = deletion_name(partition, node.new_uuid())

            def renamed(result: object, now: Now) -> None:
                self._report(result, now)
                self._remove_later(doomed, delay_ms)
                self._directories.leave(directory, now)

            node.submit(RenameLog(directory, doomed), renamed)

        return rename

    def _remove_later(self, directory: str, delay_ms: int) -> None:
        node = self.node
        node.after(delay_ms, lambda now: node.submit(RemoveTree(directory), self._report))

    def _report(self, result: object, now: Now) -> None:
        if isinstance(result, DiskError):
            self.node.on_storage_error(result)
