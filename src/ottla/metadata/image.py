"""The cluster's metadata as a broker or a controller sees it. Only `replay` changes it (D4)."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple

from ottla.names import NodeId, Uuid
from ottla.protocol.schema import records_metadata as schema

RESOURCE_TOPIC: Final = 2
RESOURCE_BROKER: Final = 4
NO_LEADER: Final = -1


class Endpoint(NamedTuple):
    listener: str
    host: str
    port: int
    security_protocol: int


@dataclass(slots=True)
class BrokerImage:
    node_id: NodeId
    epoch: int
    incarnation_id: Uuid
    endpoints: tuple[Endpoint, ...]
    rack: str | None
    is_fenced: bool
    log_dirs: tuple[Uuid, ...]


@dataclass(slots=True)
class PartitionImage:
    replicas: list[int]
    isr: list[int]
    leader: int
    leader_epoch: int
    partition_epoch: int
    directories: list[Uuid]
    eligible_leaders: list[int]


@dataclass(slots=True)
class TopicImage:
    name: str
    topic_id: Uuid
    partitions: dict[int, PartitionImage] = field(default_factory=dict)


class Image:
    """Replay of the metadata log up to some offset."""

    def __init__(self) -> None:
        self.topics: dict[str, TopicImage] = {}
        self.topics_by_id: dict[Uuid, TopicImage] = {}
        self.brokers: dict[NodeId, BrokerImage] = {}
        self.controllers: dict[NodeId, tuple[Endpoint, ...]] = {}
        self.configs: dict[tuple[int, str], dict[str, str]] = {}
        self.features: dict[str, int] = {}
        self.features_epoch = -1
        self.next_producer_id = 0

    def configs_of(self, resource_type: int, name: str) -> dict[str, str]:
        return self.configs.get((resource_type, name), {})

    def replay(self, record: Any, offset: int) -> None:
        apply = _REPLAY.get(type(record))
        if apply is not None:
            apply(self, record, offset)

    def _topic(self, record: schema.TopicRecord, offset: int) -> None:
        topic = TopicImage(record.name, record.topic_id)
        self.topics[record.name] = topic
        self.topics_by_id[record.topic_id] = topic

    def _remove_topic(self, record: schema.RemoveTopicRecord, offset: int) -> None:
        topic = self.topics_by_id.pop(record.topic_id)
        del self.topics[topic.name]
        self.configs.pop((RESOURCE_TOPIC, topic.name), None)

    def _partition(self, record: schema.PartitionRecord, offset: int) -> None:
        self.topics_by_id[record.topic_id].partitions[record.partition_id] = PartitionImage(
            replicas=record.replicas,
            isr=record.isr,
            leader=record.leader,
            leader_epoch=record.leader_epoch,
            partition_epoch=record.partition_epoch,
            directories=record.directories,
            eligible_leaders=record.eligible_leader_replicas or [],
        )

    def _partition_change(self, record: schema.PartitionChangeRecord, offset: int) -> None:
        """Fields that are absent keep their value; a named leader always raises the epoch."""
        partition = self.topics_by_id[record.topic_id].partitions[record.partition_id]
        if record.isr is not None:
            partition.isr = record.isr
        if record.replicas is not None:
            partition.replicas = record.replicas
        if record.directories is not None:
            partition.directories = record.directories
        if record.eligible_leader_replicas is not None:
            partition.eligible_leaders = record.eligible_leader_replicas
        if record.leader != LEADER_UNCHANGED:
            partition.leader = record.leader
            partition.leader_epoch += 1
        partition.partition_epoch += 1

    def _config(self, record: schema.ConfigRecord, offset: int) -> None:
        key = (record.resource_type, record.resource_name)
        configs = self.configs.setdefault(key, {})
        if record.value is None:
            configs.pop(record.name, None)
        else:
            configs[record.name] = record.value

    def _register_broker(self, record: schema.RegisterBrokerRecord, offset: int) -> None:
        node_id = NodeId(record.broker_id)
        self.brokers[node_id] = BrokerImage(
            node_id=node_id,
            epoch=record.broker_epoch,
            incarnation_id=record.incarnation_id,
            endpoints=_endpoints(record.end_points),
            rack=record.rack,
            is_fenced=record.fenced,
            log_dirs=tuple(record.log_dirs),
        )

    def _broker_change(self, record: schema.BrokerRegistrationChangeRecord, offset: int) -> None:
        broker = self.brokers[NodeId(record.broker_id)]
        if record.fenced != 0:
            broker.is_fenced = record.fenced > 0

    def _fence(self, record: schema.FenceBrokerRecord, offset: int) -> None:
        self.brokers[NodeId(record.id)].is_fenced = True

    def _unfence(self, record: schema.UnfenceBrokerRecord, offset: int) -> None:
        self.brokers[NodeId(record.id)].is_fenced = False

    def _unregister(self, record: schema.UnregisterBrokerRecord, offset: int) -> None:
        del self.brokers[NodeId(record.broker_id)]

    def _register_controller(self, record: schema.RegisterControllerRecord, offset: int) -> None:
        self.controllers[NodeId(record.controller_id)] = _endpoints(record.end_points)

    def _feature_level(self, record: schema.FeatureLevelRecord, offset: int) -> None:
        self.features_epoch = offset
        if record.feature_level == 0:
            self.features.pop(record.name, None)
        else:
            self.features[record.name] = record.feature_level

    def _producer_ids(self, record: schema.ProducerIdsRecord, offset: int) -> None:
        self.next_producer_id = record.next_producer_id


# PartitionChangeRecord names -1 for "no leader", so "as it was" needs another number.
LEADER_UNCHANGED: Final = -2

_REPLAY: Final[dict[type[Any], Callable[[Image, Any, int], None]]] = {
    schema.TopicRecord: Image._topic,
    schema.RemoveTopicRecord: Image._remove_topic,
    schema.PartitionRecord: Image._partition,
    schema.PartitionChangeRecord: Image._partition_change,
    schema.ConfigRecord: Image._config,
    schema.RegisterBrokerRecord: Image._register_broker,
    schema.BrokerRegistrationChangeRecord: Image._broker_change,
    schema.FenceBrokerRecord: Image._fence,
    schema.UnfenceBrokerRecord: Image._unfence,
    schema.UnregisterBrokerRecord: Image._unregister,
    schema.RegisterControllerRecord: Image._register_controller,
    schema.FeatureLevelRecord: Image._feature_level,
    schema.ProducerIdsRecord: Image._producer_ids,
}


def _endpoints(end_points: list[Any]) -> tuple[Endpoint, ...]:
    return tuple(Endpoint(e.name, e.host, e.port, e.security_protocol) for e in end_points)
