"""The small types that every package shares, named as Kafka names them (DESIGN §4)."""

from typing import NamedTuple, NewType

ConnId = NewType("ConnId", int)
NodeId = NewType("NodeId", int)
ProducerId = NewType("ProducerId", int)

# Sixteen bytes, as on the wire: they hash and compare faster than uuid.UUID.
Uuid = bytes

NO_UUID: Uuid = bytes(16)
METADATA_TOPIC_ID: Uuid = bytes(15) + b"\x01"
METADATA_TOPIC = "__cluster_metadata"
# Topics of the broker's own, as Kafka names them.
INTERNAL_TOPICS: dict[str, None] = dict.fromkeys(
    ("__consumer_offsets", "__transaction_state", "__share_group_state")
)


class Now(NamedTuple):
    """Time, as every input carries it.

    Timeouts and leases use the monotonic clock, timestamps and retention the wall clock.
    """

    mono_ms: int
    wall_ms: int


class TopicPartition(NamedTuple):
    topic: str
    partition: int

    def __str__(self) -> str:
        return f"{self.topic}-{self.partition}"
