"""Records of the cluster's metadata log."""

from typing import Annotated, ClassVar

from msgspec import Struct

from ottla.names import NO_UUID
from ottla.protocol.facts import (
    Message,
    Wire,
    blob,
    boolean,
    float64,
    int8,
    int16,
    int32,
    int64,
    string,
    uint16,
    uuid,
)


class AbortTransactionRecord(Struct, gc=False):
    """The records since the transaction's begin never happened."""

    WIRE: ClassVar[Message] = Message("metadata", versions="0", flexible="0+", key=25)

    reason: Annotated[string | None, Wire("0+", nullable="0+", tag=0)] = None


class AccessControlEntryRecord(Struct, gc=False):
    """An access rule exists."""

    WIRE: ClassVar[Message] = Message("metadata", versions="0", flexible="0+", key=18)

    id: Annotated[uuid, Wire("0+")] = NO_UUID
    resource_type: Annotated[int8, Wire("0+")] = 0
    resource_name: Annotated[string, Wire("0+")] = ""
    pattern_type: Annotated[int8, Wire("0+")] = 0
    principal: Annotated[string, Wire("0+")] = ""
    host: Annotated[string, Wire("0+")] = ""
    operation: Annotated[int8, Wire("0+")] = 0
    permission_type: Annotated[int8, Wire("0+")] = 0


class BeginTransactionRecord(Struct, gc=False):
    """Records from here on hold only when the transaction ends (KIP-868)."""

    WIRE: ClassVar[Message] = Message("metadata", versions="0", flexible="0+", key=23)

    name: Annotated[string | None, Wire("0+", nullable="0+", tag=0)] = None


class BrokerRegistrationChangeRecord(Struct, gc=False):
    """A registered broker is fenced, unfenced, shutting down, or has other directories."""

    WIRE: ClassVar[Message] = Message("metadata", versions="0-3", flexible="0+", key=17)

    broker_id: Annotated[int32, Wire("0+")] = 0
    broker_epoch: Annotated[int64, Wire("0+")] = 0
    fenced: Annotated[int8, Wire("0+", tag=0)] = 0
    in_controlled_shutdown: Annotated[int8, Wire("1+", tag=1)] = 0
    log_dirs: Annotated[list[uuid], Wire("2+", tag=2)] = []
    cordoned_log_dirs: Annotated[list[uuid] | None, Wire("3+", nullable="3+", tag=3)] = None


class ClearElrRecord(Struct, gc=False):
    """The eligible leader replicas of a topic, or of all, are forgotten."""

    WIRE: ClassVar[Message] = Message("metadata", versions="0", flexible="0+", key=28)

    topic_name: Annotated[string, Wire("0+")] = ""


class EntityData(Struct, gc=False):
    entity_type: Annotated[string, Wire("0+")] = ""
    entity_name: Annotated[string | None, Wire("0+", nullable="0+")] = ""


class ClientQuotaRecord(Struct, gc=False):
    """A quota holds for an entity, or no longer does."""

    WIRE: ClassVar[Message] = Message("metadata", versions="0", flexible="0+", key=14)

    entity: Annotated[list[EntityData], Wire("0+")] = []
    key: Annotated[string, Wire("0+")] = ""
    value: Annotated[float64, Wire("0+")] = 0.0
    remove: Annotated[boolean, Wire("0+")] = False


class ConfigRecord(Struct, gc=False):
    """A resource's config has a value, or with null none of its own."""

    WIRE: ClassVar[Message] = Message("metadata", versions="0", flexible="0+", key=4)

    resource_type: Annotated[int8, Wire("0+")] = 0
    resource_name: Annotated[string, Wire("0+")] = ""
    name: Annotated[string, Wire("0+")] = ""
    value: Annotated[string | None, Wire("0+", nullable="0+")] = ""


class DelegationTokenRecord(Struct, gc=False):
    """A delegation token exists."""

    WIRE: ClassVar[Message] = Message("metadata", versions="0", flexible="0+", key=10)

    owner: Annotated[string, Wire("0+")] = ""
    requester: Annotated[string, Wire("0+")] = ""
    renewers: Annotated[list[string], Wire("0+")] = []
    issue_timestamp: Annotated[int64, Wire("0+")] = 0
    max_timestamp: Annotated[int64, Wire("0+")] = 0
    expiration_timestamp: Annotated[int64, Wire("0+")] = 0
    token_id: Annotated[string, Wire("0+")] = ""


class EndTransactionRecord(Struct, gc=False):
    """The records since the transaction's begin hold."""

    WIRE: ClassVar[Message] = Message("metadata", versions="0", flexible="0+", key=24)


class FeatureLevelRecord(Struct, gc=False):
    """A feature is finalized at a level; level 0 takes it away."""

    WIRE: ClassVar[Message] = Message("metadata", versions="0", flexible="0+", key=12)

    name: Annotated[string, Wire("0+")] = ""
    feature_level: Annotated[int16, Wire("0+")] = 0


class FenceBrokerRecord(Struct, gc=False):
    """A broker is fenced; written by the oldest versions only."""

    WIRE: ClassVar[Message] = Message("metadata", versions="0", flexible="0+", key=7)

    id: Annotated[int32, Wire("0+")] = 0
    epoch: Annotated[int64, Wire("0+")] = 0


class NoOpRecord(Struct, gc=False):
    """Changes nothing; shows that the log still moves."""

    WIRE: ClassVar[Message] = Message("metadata", versions="0", flexible="0+", key=20)


class PartitionChangeRecord(Struct, gc=False):
    """Some facts of a partition changed; what is absent stayed."""

    WIRE: ClassVar[Message] = Message("metadata", versions="0-2", flexible="0+", key=5)

    partition_id: Annotated[int32, Wire("0+")] = -1
    topic_id: Annotated[uuid, Wire("0+")] = NO_UUID
    isr: Annotated[list[int32] | None, Wire("0+", nullable="0+", tag=0)] = None
    leader: Annotated[int32, Wire("0+", tag=1)] = -2
    replicas: Annotated[list[int32] | None, Wire("0+", nullable="0+", tag=2)] = None
    removing_replicas: Annotated[list[int32] | None, Wire("0+", nullable="0+", tag=3)] = None
    adding_replicas: Annotated[list[int32] | None, Wire("0+", nullable="0+", tag=4)] = None
    leader_recovery_state: Annotated[int8, Wire("0+", tag=5)] = -1
    directories: Annotated[list[uuid] | None, Wire("1+", nullable="1+", tag=8)] = None
    eligible_leader_replicas: Annotated[list[int32] | None, Wire("2+", nullable="2+", tag=6)] = None
    last_known_elr: Annotated[list[int32] | None, Wire("2+", nullable="2+", tag=7)] = None


class PartitionRecord(Struct, gc=False):
    """A partition exists, with all its facts."""

    WIRE: ClassVar[Message] = Message("metadata", versions="0-2", flexible="0+", key=3)

    partition_id: Annotated[int32, Wire("0+")] = -1
    topic_id: Annotated[uuid, Wire("0+")] = NO_UUID
    replicas: Annotated[list[int32], Wire("0+")] = []
    isr: Annotated[list[int32], Wire("0+")] = []
    removing_replicas: Annotated[list[int32], Wire("0+")] = []
    adding_replicas: Annotated[list[int32], Wire("0+")] = []
    leader: Annotated[int32, Wire("0+")] = -1
    leader_recovery_state: Annotated[int8, Wire("0+", tag=0)] = 0
    leader_epoch: Annotated[int32, Wire("0+")] = -1
    partition_epoch: Annotated[int32, Wire("0+")] = -1
    directories: Annotated[list[uuid], Wire("1+")] = []
    eligible_leader_replicas: Annotated[list[int32] | None, Wire("2+", nullable="2+", tag=1)] = None
    last_known_elr: Annotated[list[int32] | None, Wire("2+", nullable="2+", tag=2)] = None


class ProducerIdsRecord(Struct, gc=False):
    """A block of producer ids is given out, up to this one."""

    WIRE: ClassVar[Message] = Message("metadata", versions="0", flexible="0+", key=15)

    broker_id: Annotated[int32, Wire("0+")] = 0
    broker_epoch: Annotated[int64, Wire("0+")] = -1
    next_producer_id: Annotated[int64, Wire("0+")] = 0


class BrokerEndpoint(Struct, gc=False):
    name: Annotated[string, Wire("0+")] = ""
    host: Annotated[string, Wire("0+")] = ""
    port: Annotated[uint16, Wire("0+")] = 0
    security_protocol: Annotated[int16, Wire("0+")] = 0


class BrokerFeature(Struct, gc=False):
    name: Annotated[string, Wire("0+")] = ""
    min_supported_version: Annotated[int16, Wire("0+")] = 0
    max_supported_version: Annotated[int16, Wire("0+")] = 0


class RegisterBrokerRecord(Struct, gc=False):
    """A broker is registered; its epoch is this record's own offset."""

    WIRE: ClassVar[Message] = Message("metadata", versions="0-4", flexible="0+", key=0)

    broker_id: Annotated[int32, Wire("0+")] = 0
    is_migrating_zk_broker: Annotated[boolean, Wire("2+")] = False
    incarnation_id: Annotated[uuid, Wire("0+")] = NO_UUID
    broker_epoch: Annotated[int64, Wire("0+")] = 0
    end_points: Annotated[list[BrokerEndpoint], Wire("0+")] = []
    features: Annotated[list[BrokerFeature], Wire("0+")] = []
    rack: Annotated[string | None, Wire("0+", nullable="0+")] = ""
    fenced: Annotated[boolean, Wire("0+")] = True
    in_controlled_shutdown: Annotated[boolean, Wire("1+")] = False
    log_dirs: Annotated[list[uuid], Wire("3+", tag=0)] = []
    cordoned_log_dirs: Annotated[list[uuid] | None, Wire("4+", nullable="4+", tag=1)] = None


class ControllerEndpoint(Struct, gc=False):
    name: Annotated[string, Wire("0+")] = ""
    host: Annotated[string, Wire("0+")] = ""
    port: Annotated[uint16, Wire("0+")] = 0
    security_protocol: Annotated[int16, Wire("0+")] = 0


class ControllerFeature(Struct, gc=False):
    name: Annotated[string, Wire("0+")] = ""
    min_supported_version: Annotated[int16, Wire("0+")] = 0
    max_supported_version: Annotated[int16, Wire("0+")] = 0


class RegisterControllerRecord(Struct, gc=False):
    """A controller is registered."""

    WIRE: ClassVar[Message] = Message("metadata", versions="0", flexible="0+", key=27)

    controller_id: Annotated[int32, Wire("0+")] = 0
    incarnation_id: Annotated[uuid, Wire("0+")] = NO_UUID
    zk_migration_ready: Annotated[boolean, Wire("0+")] = False
    end_points: Annotated[list[ControllerEndpoint], Wire("0+")] = []
    features: Annotated[list[ControllerFeature], Wire("0+")] = []


class RemoveAccessControlEntryRecord(Struct, gc=False):
    """An access rule is gone."""

    WIRE: ClassVar[Message] = Message("metadata", versions="0", flexible="0+", key=19)

    id: Annotated[uuid, Wire("0+")] = NO_UUID


class RemoveDelegationTokenRecord(Struct, gc=False):
    """A delegation token is gone."""

    WIRE: ClassVar[Message] = Message("metadata", versions="0", flexible="0+", key=26)

    token_id: Annotated[string, Wire("0+")] = ""


class RemoveTopicRecord(Struct, gc=False):
    """A topic is gone, and all its partitions with it."""

    WIRE: ClassVar[Message] = Message("metadata", versions="0", flexible="0+", key=9)

    topic_id: Annotated[uuid, Wire("0+")] = NO_UUID


class RemoveUserScramCredentialRecord(Struct, gc=False):
    """A user's SCRAM credential is gone."""

    WIRE: ClassVar[Message] = Message("metadata", versions="0", flexible="0+", key=22)

    name: Annotated[string, Wire("0+")] = ""
    mechanism: Annotated[int8, Wire("0+")] = 0


class TopicRecord(Struct, gc=False):
    """A topic exists, under a name and an id."""

    WIRE: ClassVar[Message] = Message("metadata", versions="0", flexible="0+", key=2)

    name: Annotated[string, Wire("0+")] = ""
    topic_id: Annotated[uuid, Wire("0+")] = NO_UUID


class UnfenceBrokerRecord(Struct, gc=False):
    """A broker is unfenced; written by the oldest versions only."""

    WIRE: ClassVar[Message] = Message("metadata", versions="0", flexible="0+", key=8)

    id: Annotated[int32, Wire("0+")] = 0
    epoch: Annotated[int64, Wire("0+")] = 0


class UnregisterBrokerRecord(Struct, gc=False):
    """A broker's registration is gone."""

    WIRE: ClassVar[Message] = Message("metadata", versions="0", flexible="0+", key=1)

    broker_id: Annotated[int32, Wire("0+")] = 0
    broker_epoch: Annotated[int64, Wire("0+")] = 0


class UserScramCredentialRecord(Struct, gc=False):
    """A user has a SCRAM credential."""

    WIRE: ClassVar[Message] = Message("metadata", versions="0", flexible="0+", key=11)

    name: Annotated[string, Wire("0+")] = ""
    mechanism: Annotated[int8, Wire("0+")] = 0
    salt: Annotated[blob, Wire("0+")] = b""
    stored_key: Annotated[blob, Wire("0+")] = b""
    server_key: Annotated[blob, Wire("0+")] = b""
    iterations: Annotated[int32, Wire("0+")] = 0


class ZkMigrationStateRecord(Struct, gc=False):
    """How far a move from ZooKeeper came; only bridge versions use it."""

    WIRE: ClassVar[Message] = Message("metadata", versions="0", flexible="0+", key=21)

    zk_migration_state: Annotated[int8, Wire("0+")] = 0


RECORD_TYPES: dict[int, type[Struct]] = {
    0: RegisterBrokerRecord,
    1: UnregisterBrokerRecord,
    2: TopicRecord,
    3: PartitionRecord,
    4: ConfigRecord,
    5: PartitionChangeRecord,
    7: FenceBrokerRecord,
    8: UnfenceBrokerRecord,
    9: RemoveTopicRecord,
    10: DelegationTokenRecord,
    11: UserScramCredentialRecord,
    12: FeatureLevelRecord,
    14: ClientQuotaRecord,
    15: ProducerIdsRecord,
    17: BrokerRegistrationChangeRecord,
    18: AccessControlEntryRecord,
    19: RemoveAccessControlEntryRecord,
    20: NoOpRecord,
    21: ZkMigrationStateRecord,
    22: RemoveUserScramCredentialRecord,
    23: BeginTransactionRecord,
    24: EndTransactionRecord,
    25: AbortTransactionRecord,
    26: RemoveDelegationTokenRecord,
    27: RegisterControllerRecord,
    28: ClearElrRecord,
}
