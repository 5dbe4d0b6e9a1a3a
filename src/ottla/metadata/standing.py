"""The metadata records that still stand, as bytes: what a snapshot of the log is made of.

The image forgets what this version has no use for. A snapshot may not: quotas, ACLs and
credentials in a log that Kafka wrote must be there when Kafka opens it again.
"""

from collections.abc import Callable, Hashable
from dataclasses import dataclass, field
from typing import Any, Final

from ottla.metadata.records import decode_record, encode_record
from ottla.names import Uuid
from ottla.protocol.schema import records_metadata as schema

RESOURCE_TOPIC: Final = 2
METADATA_VERSION: Final = "metadata.version"


@dataclass(slots=True)
class _Topic:
    name: str
    value: bytes
    partitions: dict[int, bytes] = field(default_factory=dict)


class StandingRecords:
    """Replay of the log up to some offset. What a later record undoes is gone."""

    def __init__(self) -> None:
        # By type, in the order in which Kafka writes an image.
        self._plain: dict[type[Any], dict[Hashable, bytes]] = {cls: {} for cls in _KEYS}
        self._topics: dict[Uuid, _Topic] = {}
        self._configs: dict[tuple[int, str], dict[str, bytes]] = {}
        # A record of a type that nobody here knows would be missing from a snapshot.
        self.are_all_known = True

    def replay(self, record: Any | None, value: bytes) -> None:
        """A record, None if its type is not known, and how it stands in the log."""
        cls = type(record)
        key_of = _KEYS.get(cls)
        if record is None:
            self.are_all_known = False
        elif key_of is not None:
            records = self._plain[cls]
            if _says_nothing(record):
                records.pop(key_of(record), None)
            else:
                records[key_of(record)] = value
        elif cls in _REMOVALS:
            removed, key_of = _REMOVALS[cls]
            self._plain[removed].pop(key_of(record), None)
        else:
            _REPLAY.get(cls, _ignore)(self, record, value)

    def values(self) -> list[bytes]:
        """Kafka reads the rest of an image in the light of its metadata version."""
        features = dict(self._plain[schema.FeatureLevelRecord])
        level = features.pop(METADATA_VERSION, None)
        values = [] if level is None else [level]
        values += features.values()
        for cls in _CLUSTER:
            values += self._plain[cls].values()
        for topic in self._topics.values():
            values.append(topic.value)
            values += topic.partitions.values()
        for configs in self._configs.values():
            values += configs.values()
        for cls in _REST:
            values += self._plain[cls].values()
        return values

    def _topic(self, record: schema.TopicRecord, value: bytes) -> None:
        self._topics[record.topic_id] = _Topic(record.name, value)

    def _remove_topic(self, record: schema.RemoveTopicRecord, value: bytes) -> None:
        topic = self._topics.pop(record.topic_id)
        self._configs.pop((RESOURCE_TOPIC, topic.name), None)

    def _partition(self, record: schema.PartitionRecord, value: bytes) -> None:
        self._topics[record.topic_id].partitions[record.partition_id] = value

    def _partition_change(self, change: schema.PartitionChangeRecord, value: bytes) -> None:
        """Fields that are absent keep their value; a named leader always raises the epoch."""
        partitions = self._topics[change.topic_id].partitions
        partition = decode_record(partitions[change.partition_id])
        assert isinstance(partition, schema.PartitionRecord)
        for name in _PARTITION_FIELDS:
            changed = getattr(change, name)
            if changed is not None:
                setattr(partition, name, changed)
        if change.leader != LEADER_UNCHANGED:
            partition.leader = change.leader
            partition.leader_epoch += 1
        if change.leader_recovery_state != RECOVERY_STATE_UNCHANGED:
            partition.leader_recovery_state = change.leader_recovery_state
        partition.partition_epoch += 1
        partitions[change.partition_id] = encode_record(partition)

    def _clear_eligible(self, record: schema.ClearElrRecord, value: bytes) -> None:
        """Of one topic, or of all."""
        for topic in self._topics.values():
            if record.topic_name not in ("", topic.name):
                continue
            for index, stored in topic.partitions.items():
                partition = decode_record(stored)
                assert isinstance(partition, schema.PartitionRecord)
                if partition.eligible_leader_replicas or partition.last_known_elr:
                    partition.eligible_leader_replicas = partition.last_known_elr = None
                    topic.partitions[index] = encode_record(partition)

    def _config(self, record: schema.ConfigRecord, value: bytes) -> None:
        resource = (record.resource_type, record.resource_name)
        if record.value is not None:
            self._configs.setdefault(resource, {})[record.name] = value
            return
        configs = self._configs.get(resource, {})
        configs.pop(record.name, None)
        if not configs:
            self._configs.pop(resource, None)

    def _broker_change(self, change: schema.BrokerRegistrationChangeRecord, value: bytes) -> None:
        broker = self._broker(change.broker_id)
        if change.fenced != 0:
            broker.fenced = change.fenced > 0
        if change.in_controlled_shutdown != 0:
            broker.in_controlled_shutdown = change.in_controlled_shutdown > 0
        if change.log_dirs:
            broker.log_dirs = change.log_dirs
        if change.cordoned_log_dirs is not None:
            broker.cordoned_log_dirs = change.cordoned_log_dirs
        self._keep_broker(broker)

    def _fence(self, record: schema.FenceBrokerRecord, value: bytes) -> None:
        broker = self._broker(record.id)
        broker.fenced = True
        self._keep_broker(broker)

    def _unfence(self, record: schema.UnfenceBrokerRecord, value: bytes) -> None:
        broker = self._broker(record.id)
        broker.fenced = False
        self._keep_broker(broker)

    def _broker(self, broker_id: int) -> schema.RegisterBrokerRecord:
        broker = decode_record(self._plain[schema.RegisterBrokerRecord][broker_id])
        assert isinstance(broker, schema.RegisterBrokerRecord)
        return broker

    def _keep_broker(self, broker: schema.RegisterBrokerRecord) -> None:
        self._plain[schema.RegisterBrokerRecord][broker.broker_id] = encode_record(broker)


LEADER_UNCHANGED: Final = -2
RECOVERY_STATE_UNCHANGED: Final = -1
_PARTITION_FIELDS: Final = (
    "replicas",
    "isr",
    "removing_replicas",
    "adding_replicas",
    "directories",
    "eligible_leader_replicas",
    "last_known_elr",
)

# An entity has one name of a type, so that a name is never compared with none.
# Records of which the last one of a key stands.
_KEYS: Final[dict[type[Any], Callable[[Any], Hashable]]] = {
    schema.FeatureLevelRecord: lambda record: record.name,
    schema.ZkMigrationStateRecord: lambda record: None,
    schema.RegisterBrokerRecord: lambda record: record.broker_id,
    schema.RegisterControllerRecord: lambda record: record.controller_id,
    schema.ClientQuotaRecord: lambda record: (
        tuple(sorted((e.entity_type, e.entity_name is None, e.entity_name) for e in record.entity)),
        record.key,
    ),
    schema.ProducerIdsRecord: lambda record: None,
    schema.AccessControlEntryRecord: lambda record: record.id,
    schema.UserScramCredentialRecord: lambda record: (record.name, record.mechanism),
    schema.DelegationTokenRecord: lambda record: record.token_id,
}
_CLUSTER: Final = tuple(_KEYS)[1:4]
_REST: Final = tuple(_KEYS)[4:]

_REMOVALS: Final[dict[type[Any], tuple[type[Any], Callable[[Any], Hashable]]]] = {
    schema.UnregisterBrokerRecord: (schema.RegisterBrokerRecord, lambda r: r.broker_id),
    schema.RemoveAccessControlEntryRecord: (schema.AccessControlEntryRecord, lambda r: r.id),
    schema.RemoveUserScramCredentialRecord: (
        schema.UserScramCredentialRecord,
        lambda record: (record.name, record.mechanism),
    ),
    schema.RemoveDelegationTokenRecord: (schema.DelegationTokenRecord, lambda r: r.token_id),
}

_REPLAY: Final[dict[type[Any], Callable[[StandingRecords, Any, bytes], None]]] = {
    schema.TopicRecord: StandingRecords._topic,
    schema.RemoveTopicRecord: StandingRecords._remove_topic,
    schema.PartitionRecord: StandingRecords._partition,
    schema.PartitionChangeRecord: StandingRecords._partition_change,
    schema.ClearElrRecord: StandingRecords._clear_eligible,
    schema.ConfigRecord: StandingRecords._config,
    schema.BrokerRegistrationChangeRecord: StandingRecords._broker_change,
    schema.FenceBrokerRecord: StandingRecords._fence,
    schema.UnfenceBrokerRecord: StandingRecords._unfence,
}


def _says_nothing(record: Any) -> bool:
    """A level of 0 takes a feature back, as a quota is taken back by its own kind of record."""
    if isinstance(record, schema.FeatureLevelRecord):
        return record.feature_level == 0
    return isinstance(record, schema.ClientQuotaRecord) and record.remove


def _ignore(standing: StandingRecords, record: Any, value: bytes) -> None:
    """What only frames others: transactions, and records that say that time passed."""
