"""ListOffsets: which offset a partition begins at, ends at, or had at a time."""

from ottla.client.positions import Position
from ottla.names import TopicPartition
from ottla.protocol.schema.list_offsets import (
    ListOffsetsPartition,
    ListOffsetsPartitionResponse,
    ListOffsetsRequest,
    ListOffsetsResponse,
    ListOffsetsTopic,
)

CONSUMER = -1


def list_offsets(asked: list[tuple[Position, int, int]], timeout_ms: int) -> ListOffsetsRequest:
    """Of (position, timestamp, leader epoch) each; a partition may be named once."""
    topics: dict[str, ListOffsetsTopic] = {}
    for position, timestamp, leader_epoch in asked:
        name, index = position.where
        topic = topics.get(name)
        if topic is None:
            topic = topics[name] = ListOffsetsTopic(name, [])
        topic.partitions.append(ListOffsetsPartition(index, leader_epoch, timestamp))
    return ListOffsetsRequest(CONSUMER, 0, list(topics.values()), timeout_ms)


def listed_offsets(
    response: ListOffsetsResponse,
) -> dict[TopicPartition, ListOffsetsPartitionResponse]:
    return {
        TopicPartition(topic.name, found.partition_index): found
        for topic in response.topics
        for found in topic.partitions
    }
