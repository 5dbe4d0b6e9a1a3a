"""Records on the way to a partition's queue; they wait here for their topic to be known."""

from collections import deque
from typing import NamedTuple

from ottla.client.batches import PartitionQueue
from ottla.client.cluster import FINAL_TOPIC_ERRORS, ClusterView, Topic
from ottla.client.murmur2 import partition_for_key
from ottla.client.partitioner import StickyPartitions
from ottla.client.requests import Random, earliest
from ottla.client.settings import ProducerSettings
from ottla.errors import ErrorCode
from ottla.names import TopicPartition
from ottla.records.batch import Record


class Sending(NamedTuple):
    topic: str
    partition: int | None
    record: Record
    size: int
    send_id: int
    began_ms: int
    # What the cluster view had seen: a partition that is missing now may be in the next answer.
    updates: int


class Unplaceable(NamedTuple):
    sending: Sending
    code: ErrorCode
    why: str


class Placing:
    def __init__(self, cluster: ClusterView, settings: ProducerSettings, random: Random) -> None:
        self.queues: dict[TopicPartition, PartitionQueue] = {}
        # Those that hold anything, the longest unserved first.
        self.active: dict[TopicPartition, PartitionQueue] = {}
        self._cluster = cluster
        self._settings = settings
        self._sticky = StickyPartitions(settings.batch_bytes, random)
        self._waiting: dict[str, deque[Sending]] = {}
        self._seen_updates = -1

    def add(self, sending: Sending) -> None:
        topic = self._cluster.topics.get(sending.topic)
        # Behind others that wait, for the sake of order.
        if topic is not None and sending.topic not in self._waiting and self._place(topic, sending):
            return
        self._cluster.want(sending.topic, create=True)
        self._cluster.refresh()
        self._waiting.setdefault(sending.topic, deque()).append(sending)

    def settle(self, mono_ms: int) -> list[Unplaceable]:
        """Place what waits, as far as it can be; gives what never will be."""
        if not self._waiting:
            return []
        failed: list[Unplaceable] = []
        if self._seen_updates != self._cluster.updates:
            self._seen_updates = self._cluster.updates
            for waiting in self._waiting.values():
                self._settle_topic(waiting, failed)
        for waiting in self._waiting.values():
            while waiting and self._deadline_ms(waiting[0]) <= mono_ms:
                failed.append(self._too_late(waiting.popleft()))
        self._waiting = {topic: waiting for topic, waiting in self._waiting.items() if waiting}
        return failed

    def take_all(self) -> list[Sending]:
        """Give up everything that waits here."""
        waiting = [sending for sendings in self._waiting.values() for sending in sendings]
        self._waiting.clear()
        return waiting

    def next_deadline_ms(self) -> int | None:
        return earliest([self._deadline_ms(waiting[0]) for waiting in self._waiting.values()])

    def _settle_topic(self, waiting: deque[Sending], failed: list[Unplaceable]) -> None:
        while waiting:
            sending = waiting[0]
            topic = self._cluster.topics.get(sending.topic)
            if topic is None:
                error = self._cluster.topic_errors.get(sending.topic)
                if error not in FINAL_TOPIC_ERRORS or error is None:
                    return
                why = f"the brokers refuse topic {sending.topic!r}"
                failed.append(Unplaceable(sending, error, why))
            elif not self._place(topic, sending):
                if sending.updates == self._cluster.updates:
                    return
                count = len(topic.partitions)
                why = f"topic {sending.topic!r} has no partition {sending.partition}, but {count}"
                code = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
                failed.append(Unplaceable(sending, code, why))
            waiting.popleft()

    def _place(self, topic: Topic, sending: Sending) -> bool:
        partition = sending.partition
        if partition is None:
            partition = self._by_content(topic, sending.record)
        if partition is not None:
            if partition not in topic.partitions:
                return False
            queue = self._queue(TopicPartition(topic.name, partition))
        elif topic.partitions:
            queue = self._queue(TopicPartition(topic.name, self._sticky.partition(topic)))
            if not queue.fits(sending.size):
                queue = self._queue(TopicPartition(topic.name, self._sticky.switch(topic)))
            self._sticky.count(topic.name, sending.size)
        else:
            return False
        queue.append(sending.record, sending.size, sending.send_id, sending.began_ms)
        self.active[queue.where] = queue
        return True

    def _by_content(self, topic: Topic, record: Record) -> int | None:
        count = len(topic.partitions)
        if self._settings.partitioner is not None:
            chosen = self._settings.partitioner(topic.name, record.key, record.value, count)
            if chosen is not None:
                return chosen
        if record.key is None or count == 0:
            return None
        return partition_for_key(record.key, count)

    def _queue(self, where: TopicPartition) -> PartitionQueue:
        queue = self.queues.get(where)
        if queue is None:
            queue = self.queues[where] = PartitionQueue(where, self._settings)
        return queue

    def _deadline_ms(self, sending: Sending) -> int:
        return sending.began_ms + self._settings.topic_timeout_ms

    def _too_late(self, sending: Sending) -> Unplaceable:
        code = self._cluster.topic_errors.get(sending.topic, ErrorCode.REQUEST_TIMED_OUT)
        why = f"topic {sending.topic!r} is not known after {self._settings.topic_timeout_ms} ms"
        return Unplaceable(sending, code, why)
