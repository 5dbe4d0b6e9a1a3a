"""What must hold inside one broker after every event, and what must be left of it at the end."""

from ottla.broker.node import Node
from ottla.records.batch import CorruptBatch, iter_headers
from ottla.replication.partition import Partition
from ottla.sim.checkers import Anomaly, LogWatch
from ottla.sim.disk import SimDisk
from ottla.storage.log import Log


def partition_key(topic: str, index: int, topic_id: bytes) -> str:
    """A topic that is made again under its name is another one."""
    return f"{topic}-{index}@{topic_id[:4].hex()}"


class NodeWatch:
    """Of one process. Tells the watch of all lives what its logs say of themselves."""

    def __init__(self, node: Node, disk: SimDisk, log_watch: LogWatch) -> None:
        self._node = node
        self._disk = disk
        self._log_watch = log_watch
        self._seen: dict[Log, tuple[int, int, int, int]] = {}
        self._keys: dict[Partition, str] = {}

    def after_turn(self) -> None:
        node = self._node
        seen = self._seen
        metadata = node.metadata
        log = metadata.log
        state = (log.start_offset, metadata.high_watermark, log.end_offset, log.durable_offset)
        if seen.get(log) != state:
            seen[log] = state
            self._observe("__cluster_metadata", *state)
        for topic in node.hosting.topics_by_id.values():
            for partition in topic.partitions.values():
                log = partition.log
                state = (
                    log.start_offset,
                    partition.high_watermark,
                    log.end_offset,
                    log.durable_offset,
                )
                if seen.get(log) != state:
                    seen[log] = state
                    self._observe(self._key(partition), *state)

    def _observe(self, key: str, start: int, high_watermark: int, end: int, durable: int) -> None:
        assert durable <= end, (key, durable, end)
        assert high_watermark <= durable, (key, high_watermark, durable)
        self._log_watch.observe(key, start, high_watermark, end)

    def _key(self, partition: Partition) -> str:
        key = self._keys.get(partition)
        if key is None:
            name, index = partition.partition
            key = self._keys[partition] = partition_key(name, index, partition.topic_id)
        return key

    def read_contents(self) -> None:
        """Every batch below the high watermark: none is ever another one."""
        if self._node.is_storage_offline:
            # After a failed sync the journal may be the only one to have some of them.
            return
        for topic in self._node.hosting.topics_by_id.values():
            for partition in topic.partitions.values():
                self._read_log(self._key(partition), partition)

    def _read_log(self, key: str, partition: Partition) -> None:
        for segment in partition.log.segments:
            data = self._disk.peek(segment.file, 0, segment.size)
            try:
                for header in iter_headers(data):
                    if header.next_offset > partition.high_watermark:
                        return
                    self._log_watch.content(key, header.base_offset, header.crc)
            except CorruptBatch as corrupt:
                self._log_watch.anomalies.append(Anomaly("damaged", key, str(corrupt)))
                return

    def leaks(self, ends: int) -> list[str]:
        """After the last client has gone and all is quiet.

        `ends` are connections that are open as far as the broker can know: half-open ones.
        """
        node = self._node
        found = []
        if len(node.connections) > ends:
            found.append(f"{len(node.connections)} connections are known, {ends} are open")
        if not node.is_quiet:
            found.append("something is still on its way to the disk")
        # The journal, and a file for each segment.
        expected = 1
        logs = [p.log for p in node.hosting.all_partitions()] + [node.metadata.log]
        for log in logs:
            expected += len(log.segments)
            for segment in log.segments:
                if segment.pins:
                    found.append(f"{segment.file.path} is pinned {segment.pins} times")
        for partition in node.hosting.all_partitions():
            for what, waiting in (
                ("acknowledgements", partition.waiters),
                ("data", partition.fetch_waiters),
                ("a roll", partition.roll_waiters),
            ):
                if waiting:
                    found.append(f"{len(waiting)} wait for {what} of {partition.partition}")
        if len(self._disk.open_paths()) > expected:
            found.append(f"{len(self._disk.open_paths())} files are open, {expected} are in use")
        return found
