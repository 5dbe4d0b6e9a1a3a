"""Which partition a record goes to: the one it names, the one of its key, or the sticky one."""

from ottla.client.cluster import Topic
from ottla.client.requests import Random


class StickyPartitions:
    """Records without a key stay on one partition until a batch's worth went there (KIP-794).

    Small batches on every partition would cost a request more than they spread.
    """

    def __init__(self, batch_bytes: int, random: Random) -> None:
        self._batch_bytes = batch_bytes
        self._random = random
        # Topic to [partition, bytes that went there].
        self._current: dict[str, list[int]] = {}

    def partition(self, topic: Topic) -> int:
        current = self._current.get(topic.name)
        if current is None or current[1] >= self._batch_bytes:
            return self.switch(topic)
        partition = topic.partitions.get(current[0])
        if partition is None or partition.leader < 0:
            return self.switch(topic)
        return current[0]

    def count(self, topic: str, size: int) -> None:
        self._current[topic][1] += size

    def switch(self, topic: Topic) -> int:
        """To another partition, of those that have a leader if any has."""
        before = self._current.get(topic.name)
        led = [p.partition_index for p in topic.partitions.values() if p.leader >= 0]
        choice = led or list(topic.partitions)
        if before is not None and len(choice) > 1:
            choice = [index for index in choice if index != before[0]]
        chosen = choice[int(self._random() * len(choice))]
        self._current[topic.name] = [chosen, 0]
        return chosen
