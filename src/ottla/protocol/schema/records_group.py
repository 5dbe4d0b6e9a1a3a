"""Records of `__consumer_offsets`, and what consumers tell each other."""

from typing import Annotated, ClassVar

from msgspec import Struct, field

from ottla.names import NO_UUID
from ottla.protocol.facts import (
    Message,
    Wire,
    blob,
    int8,
    int16,
    int32,
    int64,
    string,
    uint16,
    uuid,
)


class ConsumerGroupCurrentMemberAssignmentKey(Struct, gc=False):
    """What a member of a consumer group holds now."""

    WIRE: ClassVar[Message] = Message("coordinator-key", versions="0", flexible="none", key=8)

    group_id: Annotated[string, Wire("0")] = ""
    member_id: Annotated[string, Wire("0")] = ""


class ConsumerGroupMemberMetadataKey(Struct, gc=False):
    """What a member of a consumer group said of itself."""

    WIRE: ClassVar[Message] = Message("coordinator-key", versions="0", flexible="none", key=5)

    group_id: Annotated[string, Wire("0")] = ""
    member_id: Annotated[string, Wire("0")] = ""


class ConsumerGroupMetadataKey(Struct, gc=False):
    """A consumer group as a whole."""

    WIRE: ClassVar[Message] = Message("coordinator-key", versions="0", flexible="none", key=3)

    group_id: Annotated[string, Wire("0")] = ""


class ConsumerGroupPartitionMetadataKey(Struct, gc=False):
    """The topics that a consumer group is subscribed to; no longer written."""

    WIRE: ClassVar[Message] = Message("coordinator-key", versions="0", flexible="none", key=4)

    group_id: Annotated[string, Wire("0")] = ""


class ConsumerGroupRegularExpressionKey(Struct, gc=False):
    """A regular expression that members subscribe with."""

    WIRE: ClassVar[Message] = Message("coordinator-key", versions="0", flexible="none", key=16)

    group_id: Annotated[string, Wire("0")] = ""
    regular_expression: Annotated[string, Wire("0")] = ""


class ConsumerGroupTargetAssignmentMemberKey(Struct, gc=False):
    """What a member of a consumer group is meant to hold."""

    WIRE: ClassVar[Message] = Message("coordinator-key", versions="0", flexible="none", key=7)

    group_id: Annotated[string, Wire("0")] = ""
    member_id: Annotated[string, Wire("0")] = ""


class ConsumerGroupTargetAssignmentMetadataKey(Struct, gc=False):
    """The target assignment of a consumer group as a whole."""

    WIRE: ClassVar[Message] = Message("coordinator-key", versions="0", flexible="none", key=6)

    group_id: Annotated[string, Wire("0")] = ""


class GroupMetadataKey(Struct, gc=False):
    """A classic group."""

    WIRE: ClassVar[Message] = Message("coordinator-key", versions="0", flexible="none", key=2)

    group: Annotated[string, Wire("0")] = ""


class LegacyOffsetCommitKey(Struct, gc=False):
    """A committed offset, in the first form."""

    WIRE: ClassVar[Message] = Message("coordinator-key", versions="0", flexible="none", key=0)

    group: Annotated[string, Wire("0")] = ""
    topic: Annotated[string, Wire("0")] = ""
    partition: Annotated[int32, Wire("0")] = 0


class OffsetCommitKey(Struct, gc=False):
    """How far a group has read in one partition."""

    WIRE: ClassVar[Message] = Message("coordinator-key", versions="0", flexible="none", key=1)

    group: Annotated[string, Wire("0")] = ""
    topic: Annotated[string, Wire("0")] = ""
    partition: Annotated[int32, Wire("0")] = 0


class ShareGroupCurrentMemberAssignmentKey(Struct, gc=False):
    """What a member of a share group holds now."""

    WIRE: ClassVar[Message] = Message("coordinator-key", versions="0", flexible="none", key=14)

    group_id: Annotated[string, Wire("0")] = ""
    member_id: Annotated[string, Wire("0")] = ""


class ShareGroupMemberMetadataKey(Struct, gc=False):
    """What a member of a share group said of itself."""

    WIRE: ClassVar[Message] = Message("coordinator-key", versions="0", flexible="none", key=10)

    group_id: Annotated[string, Wire("0")] = ""
    member_id: Annotated[string, Wire("0")] = ""


class ShareGroupMetadataKey(Struct, gc=False):
    """A share group as a whole."""

    WIRE: ClassVar[Message] = Message("coordinator-key", versions="0", flexible="none", key=11)

    group_id: Annotated[string, Wire("0")] = ""


class ShareGroupStatePartitionMetadataKey(Struct, gc=False):
    """Which share partitions a share group has a state for."""

    WIRE: ClassVar[Message] = Message("coordinator-key", versions="0", flexible="none", key=15)

    group_id: Annotated[string, Wire("0")] = ""


class ShareGroupTargetAssignmentMemberKey(Struct, gc=False):
    """What a member of a share group is meant to hold."""

    WIRE: ClassVar[Message] = Message("coordinator-key", versions="0", flexible="none", key=13)

    group_id: Annotated[string, Wire("0")] = ""
    member_id: Annotated[string, Wire("0")] = ""


class ShareGroupTargetAssignmentMetadataKey(Struct, gc=False):
    """The target assignment of a share group as a whole."""

    WIRE: ClassVar[Message] = Message("coordinator-key", versions="0", flexible="none", key=12)

    group_id: Annotated[string, Wire("0")] = ""


class StreamsGroupCurrentMemberAssignmentKey(Struct, gc=False):
    """Which tasks a member of a Streams group holds now."""

    WIRE: ClassVar[Message] = Message("coordinator-key", versions="0", flexible="none", key=22)

    group_id: Annotated[string, Wire("0")] = ""
    member_id: Annotated[string, Wire("0")] = ""


class StreamsGroupMemberMetadataKey(Struct, gc=False):
    """What a member of a Streams group said of itself."""

    WIRE: ClassVar[Message] = Message("coordinator-key", versions="0", flexible="none", key=19)

    group_id: Annotated[string, Wire("0")] = ""
    member_id: Annotated[string, Wire("0")] = ""


class StreamsGroupMetadataKey(Struct, gc=False):
    """A Streams group as a whole."""

    WIRE: ClassVar[Message] = Message("coordinator-key", versions="0", flexible="none", key=17)

    group_id: Annotated[string, Wire("0")] = ""


class StreamsGroupTargetAssignmentMemberKey(Struct, gc=False):
    """Which tasks a member of a Streams group is meant to hold."""

    WIRE: ClassVar[Message] = Message("coordinator-key", versions="0", flexible="none", key=21)

    group_id: Annotated[string, Wire("0")] = ""
    member_id: Annotated[string, Wire("0")] = ""


class StreamsGroupTargetAssignmentMetadataKey(Struct, gc=False):
    """The target assignment of a Streams group as a whole."""

    WIRE: ClassVar[Message] = Message("coordinator-key", versions="0", flexible="none", key=20)

    group_id: Annotated[string, Wire("0")] = ""


class StreamsGroupTopologyKey(Struct, gc=False):
    """The topology of a Streams group."""

    WIRE: ClassVar[Message] = Message("coordinator-key", versions="0", flexible="none", key=23)

    group_id: Annotated[string, Wire("0")] = ""


class ConsumerGroupCurrentMemberAssignmentValueTopicPartitions(Struct, gc=False):
    topic_id: Annotated[uuid, Wire("0+")] = NO_UUID
    partitions: Annotated[list[int32], Wire("0+")] = []
    assignment_epochs: Annotated[list[int32] | None, Wire("0+", nullable="0+", tag=0)] = []


class ConsumerGroupCurrentMemberAssignmentValue(Struct, gc=False):
    """The member's epochs, its partitions, and those that it must give up."""

    WIRE: ClassVar[Message] = Message("coordinator-value", versions="0", flexible="0+", key=8)

    member_epoch: Annotated[int32, Wire("0+")] = 0
    previous_member_epoch: Annotated[int32, Wire("0+")] = 0
    state: Annotated[int8, Wire("0+")] = 0
    assigned_partitions: Annotated[
        list[ConsumerGroupCurrentMemberAssignmentValueTopicPartitions], Wire("0+")
    ] = []
    partitions_pending_revocation: Annotated[
        list[ConsumerGroupCurrentMemberAssignmentValueTopicPartitions], Wire("0+")
    ] = []


class ClassicProtocol(Struct, gc=False):
    name: Annotated[string, Wire("0+")] = ""
    metadata: Annotated[blob, Wire("0+")] = b""


class ClassicMemberMetadata(Struct, gc=False):
    session_timeout_ms: Annotated[int32, Wire("0+")] = 0
    supported_protocols: Annotated[list[ClassicProtocol], Wire("0+")] = []


class ConsumerGroupMemberMetadataValue(Struct, gc=False):
    """Its subscription, rack, assignor and, for a classic member, its protocols."""

    WIRE: ClassVar[Message] = Message("coordinator-value", versions="0", flexible="0+", key=5)

    instance_id: Annotated[string | None, Wire("0+", nullable="0+")] = ""
    rack_id: Annotated[string | None, Wire("0+", nullable="0+")] = ""
    client_id: Annotated[string, Wire("0+")] = ""
    client_host: Annotated[string, Wire("0+")] = ""
    subscribed_topic_names: Annotated[list[string], Wire("0+")] = []
    subscribed_topic_regex: Annotated[string | None, Wire("0+", nullable="0+")] = ""
    rebalance_timeout_ms: Annotated[int32, Wire("0+")] = -1
    server_assignor: Annotated[string | None, Wire("0+", nullable="0+")] = ""
    classic_member_metadata: Annotated[
        ClassicMemberMetadata | None, Wire("0+", nullable="0+", tag=0)
    ] = field(default_factory=ClassicMemberMetadata)


class ConsumerGroupMetadataValue(Struct, gc=False):
    """The group's epoch, and a hash of the metadata that it was computed from."""

    WIRE: ClassVar[Message] = Message("coordinator-value", versions="0", flexible="0+", key=3)

    epoch: Annotated[int32, Wire("0+")] = 0
    metadata_hash: Annotated[int64, Wire("0+", tag=0)] = 0


class PartitionMetadata(Struct, gc=False):
    partition: Annotated[int32, Wire("0+")] = 0
    racks: Annotated[list[string], Wire("0+")] = []


class TopicMetadata(Struct, gc=False):
    topic_id: Annotated[uuid, Wire("0+")] = NO_UUID
    topic_name: Annotated[string, Wire("0+")] = ""
    num_partitions: Annotated[int32, Wire("0+")] = 0
    partition_metadata: Annotated[list[PartitionMetadata], Wire("0+")] = []


class ConsumerGroupPartitionMetadataValue(Struct, gc=False):
    """The partition counts of those topics; no longer written."""

    WIRE: ClassVar[Message] = Message("coordinator-value", versions="0", flexible="0+", key=4)

    topics: Annotated[list[TopicMetadata], Wire("0+")] = []


class ConsumerGroupRegularExpressionValue(Struct, gc=False):
    """The topics that it matched, and when and at which metadata version."""

    WIRE: ClassVar[Message] = Message("coordinator-value", versions="0", flexible="0+", key=16)

    topics: Annotated[list[string], Wire("0+")] = []
    version: Annotated[int64, Wire("0+")] = 0
    timestamp: Annotated[int64, Wire("0+")] = 0


class ConsumerGroupTargetAssignmentMemberValueTopicPartition(Struct, gc=False):
    topic_id: Annotated[uuid, Wire("0+")] = NO_UUID
    partitions: Annotated[list[int32], Wire("0+")] = []


class ConsumerGroupTargetAssignmentMemberValue(Struct, gc=False):
    """The partitions that the member is meant to hold."""

    WIRE: ClassVar[Message] = Message("coordinator-value", versions="0", flexible="0+", key=7)

    topic_partitions: Annotated[
        list[ConsumerGroupTargetAssignmentMemberValueTopicPartition], Wire("0+")
    ] = []


class ConsumerGroupTargetAssignmentMetadataValue(Struct, gc=False):
    """The epoch of the target assignment, and when it was made."""

    WIRE: ClassVar[Message] = Message("coordinator-value", versions="0", flexible="0+", key=6)

    assignment_epoch: Annotated[int32, Wire("0+")] = 0
    assignment_timestamp: Annotated[int64, Wire("0+", tag=0, ignorable=True)] = 0


class MemberMetadata(Struct, gc=False):
    member_id: Annotated[string, Wire("0+")] = ""
    group_instance_id: Annotated[string | None, Wire("3+", nullable="3+", ignorable=True)] = None
    client_id: Annotated[string, Wire("0+")] = ""
    client_host: Annotated[string, Wire("0+")] = ""
    rebalance_timeout: Annotated[int32, Wire("1+", ignorable=True)] = -1
    session_timeout: Annotated[int32, Wire("0+")] = 0
    subscription: Annotated[blob, Wire("0+")] = b""
    assignment: Annotated[blob, Wire("0+")] = b""


class GroupMetadataValue(Struct, gc=False):
    """A classic group's generation, leader, protocol and members."""

    WIRE: ClassVar[Message] = Message("coordinator-value", versions="0-4", flexible="4+", key=2)

    protocol_type: Annotated[string, Wire("0+")] = ""
    generation: Annotated[int32, Wire("0+")] = 0
    protocol: Annotated[string | None, Wire("0+", nullable="0+")] = ""
    leader: Annotated[string | None, Wire("0+", nullable="0+")] = ""
    current_state_timestamp: Annotated[int64, Wire("2+", ignorable=True)] = -1
    members: Annotated[list[MemberMetadata], Wire("0+")] = []


class LegacyOffsetCommitValue(Struct, gc=False):
    """A committed offset, in the first form."""

    WIRE: ClassVar[Message] = Message("coordinator-value", versions="0", flexible="none", key=0)

    offset: Annotated[int64, Wire("0")] = 0
    metadata: Annotated[string, Wire("0")] = ""
    commit_timestamp: Annotated[int64, Wire("0")] = 0


class OffsetCommitValue(Struct, gc=False):
    """The committed offset, its leader epoch and what the client noted beside it."""

    WIRE: ClassVar[Message] = Message("coordinator-value", versions="0-4", flexible="4+", key=1)

    offset: Annotated[int64, Wire("0+")] = 0
    leader_epoch: Annotated[int32, Wire("3+", ignorable=True)] = -1
    metadata: Annotated[string, Wire("0+")] = ""
    commit_timestamp: Annotated[int64, Wire("0+")] = 0
    expire_timestamp: Annotated[int64, Wire("1", ignorable=True)] = -1
    topic_id: Annotated[uuid, Wire("4+", tag=0, ignorable=True)] = NO_UUID


class ShareGroupCurrentMemberAssignmentValueTopicPartitions(Struct, gc=False):
    topic_id: Annotated[uuid, Wire("0+")] = NO_UUID
    partitions: Annotated[list[int32], Wire("0+")] = []


class ShareGroupCurrentMemberAssignmentValue(Struct, gc=False):
    """The member's epochs, state and partitions."""

    WIRE: ClassVar[Message] = Message("coordinator-value", versions="0", flexible="0+", key=14)

    member_epoch: Annotated[int32, Wire("0+")] = 0
    previous_member_epoch: Annotated[int32, Wire("0+")] = 0
    state: Annotated[int8, Wire("0+")] = 0
    assigned_partitions: Annotated[
        list[ShareGroupCurrentMemberAssignmentValueTopicPartitions], Wire("0+")
    ] = []


class ShareGroupMemberMetadataValue(Struct, gc=False):
    """Its rack, client and subscription."""

    WIRE: ClassVar[Message] = Message("coordinator-value", versions="0", flexible="0+", key=10)

    rack_id: Annotated[string | None, Wire("0+", nullable="0+")] = ""
    client_id: Annotated[string, Wire("0+")] = ""
    client_host: Annotated[string, Wire("0+")] = ""
    subscribed_topic_names: Annotated[list[string], Wire("0+")] = []


class ShareGroupMetadataValue(Struct, gc=False):
    """The group's epoch, and a hash of the metadata that it was computed from."""

    WIRE: ClassVar[Message] = Message("coordinator-value", versions="0", flexible="0+", key=11)

    epoch: Annotated[int32, Wire("0+")] = 0
    metadata_hash: Annotated[int64, Wire("0+")] = 0


class TopicPartitionsInfo(Struct, gc=False):
    topic_id: Annotated[uuid, Wire("0+")] = NO_UUID
    topic_name: Annotated[string, Wire("0+")] = ""
    partitions: Annotated[list[int32], Wire("0+")] = []


class ShareGroupStatePartitionMetadataValueTopicInfo(Struct, gc=False):
    topic_id: Annotated[uuid, Wire("0+")] = NO_UUID
    topic_name: Annotated[string, Wire("0+")] = ""


class ShareGroupStatePartitionMetadataValue(Struct, gc=False):
    """Share partitions being initialized, initialized, and being deleted."""

    WIRE: ClassVar[Message] = Message("coordinator-value", versions="0", flexible="0+", key=15)

    initializing_topics: Annotated[list[TopicPartitionsInfo], Wire("0+")] = []
    initialized_topics: Annotated[list[TopicPartitionsInfo], Wire("0+")] = []
    deleting_topics: Annotated[
        list[ShareGroupStatePartitionMetadataValueTopicInfo], Wire("0+")
    ] = []


class ShareGroupTargetAssignmentMemberValueTopicPartition(Struct, gc=False):
    topic_id: Annotated[uuid, Wire("0+")] = NO_UUID
    partitions: Annotated[list[int32], Wire("0+")] = []


class ShareGroupTargetAssignmentMemberValue(Struct, gc=False):
    """The partitions that the member is meant to hold."""

    WIRE: ClassVar[Message] = Message("coordinator-value", versions="0", flexible="0+", key=13)

    topic_partitions: Annotated[
        list[ShareGroupTargetAssignmentMemberValueTopicPartition], Wire("0+")
    ] = []


class ShareGroupTargetAssignmentMetadataValue(Struct, gc=False):
    """The epoch of the target assignment, and when it was made."""

    WIRE: ClassVar[Message] = Message("coordinator-value", versions="0", flexible="0+", key=12)

    assignment_epoch: Annotated[int32, Wire("0+")] = 0
    assignment_timestamp: Annotated[int64, Wire("0+", tag=0, ignorable=True)] = 0


class StreamsGroupCurrentMemberAssignmentValueTaskIds(Struct, gc=False):
    subtopology_id: Annotated[string, Wire("0+")] = ""
    partitions: Annotated[list[int32], Wire("0+")] = []
    assignment_epochs: Annotated[list[int32] | None, Wire("0+", nullable="0+", tag=0)] = []


class StreamsGroupCurrentMemberAssignmentValue(Struct, gc=False):
    """The member's epochs, its tasks, and those that it must give up."""

    WIRE: ClassVar[Message] = Message("coordinator-value", versions="0", flexible="0+", key=22)

    member_epoch: Annotated[int32, Wire("0+")] = 0
    previous_member_epoch: Annotated[int32, Wire("0+")] = 0
    state: Annotated[int8, Wire("0+")] = 0
    active_tasks: Annotated[list[StreamsGroupCurrentMemberAssignmentValueTaskIds], Wire("0+")] = []
    standby_tasks: Annotated[list[StreamsGroupCurrentMemberAssignmentValueTaskIds], Wire("0+")] = []
    warmup_tasks: Annotated[list[StreamsGroupCurrentMemberAssignmentValueTaskIds], Wire("0+")] = []
    active_tasks_pending_revocation: Annotated[
        list[StreamsGroupCurrentMemberAssignmentValueTaskIds], Wire("0+")
    ] = []
    standby_tasks_pending_revocation: Annotated[
        list[StreamsGroupCurrentMemberAssignmentValueTaskIds], Wire("0+")
    ] = []
    warmup_tasks_pending_revocation: Annotated[
        list[StreamsGroupCurrentMemberAssignmentValueTaskIds], Wire("0+")
    ] = []


class Endpoint(Struct, gc=False):
    host: Annotated[string, Wire("0+")] = ""
    port: Annotated[uint16, Wire("0+")] = 0


class KeyValue(Struct, gc=False):
    key: Annotated[string, Wire("0+")] = ""
    value: Annotated[string, Wire("0+")] = ""


class StreamsGroupMemberMetadataValue(Struct, gc=False):
    """Its client, process, endpoint and tags."""

    WIRE: ClassVar[Message] = Message("coordinator-value", versions="0", flexible="0+", key=19)

    instance_id: Annotated[string | None, Wire("0+", nullable="0+")] = ""
    rack_id: Annotated[string | None, Wire("0+", nullable="0+")] = ""
    client_id: Annotated[string, Wire("0+")] = ""
    client_host: Annotated[string, Wire("0+")] = ""
    rebalance_timeout_ms: Annotated[int32, Wire("0+")] = -1
    topology_epoch: Annotated[int32, Wire("0+")] = 0
    process_id: Annotated[string, Wire("0+")] = ""
    user_endpoint: Annotated[Endpoint | None, Wire("0+", nullable="0+")] = None
    client_tags: Annotated[list[KeyValue], Wire("0+")] = []


class LastAssignmentConfig(Struct, gc=False):
    key: Annotated[string, Wire("0+")] = ""
    value: Annotated[string, Wire("0+")] = ""


class StreamsGroupMetadataValue(Struct, gc=False):
    """The group's epoch and the topology that was validated for it."""

    WIRE: ClassVar[Message] = Message("coordinator-value", versions="0", flexible="0+", key=17)

    epoch: Annotated[int32, Wire("0+")] = 0
    metadata_hash: Annotated[int64, Wire("0+")] = 0
    validated_topology_epoch: Annotated[int32, Wire("0+", tag=0)] = -1
    last_assignment_configs: Annotated[
        list[LastAssignmentConfig] | None, Wire("0+", nullable="0+", tag=1)
    ] = []


class StreamsGroupTargetAssignmentMemberValueTaskIds(Struct, gc=False):
    subtopology_id: Annotated[string, Wire("0+")] = ""
    partitions: Annotated[list[int32], Wire("0+")] = []


class StreamsGroupTargetAssignmentMemberValue(Struct, gc=False):
    """Its active, standby and warm-up tasks."""

    WIRE: ClassVar[Message] = Message("coordinator-value", versions="0", flexible="0+", key=21)

    active_tasks: Annotated[list[StreamsGroupTargetAssignmentMemberValueTaskIds], Wire("0+")] = []
    standby_tasks: Annotated[list[StreamsGroupTargetAssignmentMemberValueTaskIds], Wire("0+")] = []
    warmup_tasks: Annotated[list[StreamsGroupTargetAssignmentMemberValueTaskIds], Wire("0+")] = []


class StreamsGroupTargetAssignmentMetadataValue(Struct, gc=False):
    """The epoch of the target assignment, and when it was made."""

    WIRE: ClassVar[Message] = Message("coordinator-value", versions="0", flexible="0+", key=20)

    assignment_epoch: Annotated[int32, Wire("0+")] = 0
    assignment_timestamp: Annotated[int64, Wire("0+", tag=0, ignorable=True)] = 0


class TopicConfig(Struct, gc=False):
    key: Annotated[string, Wire("0+")] = ""
    value: Annotated[string, Wire("0+")] = ""


class StreamsGroupTopologyValueTopicInfo(Struct, gc=False):
    name: Annotated[string, Wire("0+")] = ""
    partitions: Annotated[int32, Wire("0+")] = 0
    replication_factor: Annotated[int16, Wire("0+")] = 0
    topic_configs: Annotated[list[TopicConfig], Wire("0+")] = []


class CopartitionGroup(Struct, gc=False):
    source_topics: Annotated[list[int16], Wire("0+")] = []
    source_topic_regex: Annotated[list[int16], Wire("0+")] = []
    repartition_source_topics: Annotated[list[int16], Wire("0+")] = []


class Subtopology(Struct, gc=False):
    subtopology_id: Annotated[string, Wire("0+")] = ""
    source_topics: Annotated[list[string], Wire("0+")] = []
    source_topic_regex: Annotated[list[string], Wire("0+")] = []
    state_changelog_topics: Annotated[list[StreamsGroupTopologyValueTopicInfo], Wire("0+")] = []
    repartition_sink_topics: Annotated[list[string], Wire("0+")] = []
    repartition_source_topics: Annotated[list[StreamsGroupTopologyValueTopicInfo], Wire("0+")] = []
    copartition_groups: Annotated[list[CopartitionGroup], Wire("0+")] = []


class StreamsGroupTopologyValue(Struct, gc=False):
    """Its subtopologies, with their source, sink and internal topics."""

    WIRE: ClassVar[Message] = Message("coordinator-value", versions="0", flexible="0+", key=23)

    epoch: Annotated[int32, Wire("0+")] = 0
    subtopologies: Annotated[list[Subtopology], Wire("0+")] = []


class ConsumerProtocolAssignmentTopicPartition(Struct, gc=False):
    topic: Annotated[string, Wire("0+")] = ""
    partitions: Annotated[list[int32], Wire("0+")] = []


class ConsumerProtocolAssignment(Struct, gc=False):
    """What a classic consumer was assigned, inside SyncGroup's bytes."""

    WIRE: ClassVar[Message] = Message("data", versions="0-3", flexible="none")

    assigned_partitions: Annotated[list[ConsumerProtocolAssignmentTopicPartition], Wire("0+")] = []
    user_data: Annotated[blob | None, Wire("0+", nullable="0+")] = None


class ConsumerProtocolSubscriptionTopicPartition(Struct, gc=False):
    topic: Annotated[string, Wire("1+")] = ""
    partitions: Annotated[list[int32], Wire("1+")] = []


class ConsumerProtocolSubscription(Struct, gc=False):
    """What a classic consumer wants, inside JoinGroup's bytes."""

    WIRE: ClassVar[Message] = Message("data", versions="0-3", flexible="none")

    topics: Annotated[list[string], Wire("0+")] = []
    user_data: Annotated[blob | None, Wire("0+", nullable="0+")] = None
    owned_partitions: Annotated[
        list[ConsumerProtocolSubscriptionTopicPartition], Wire("1+", ignorable=True)
    ] = []
    generation_id: Annotated[int32, Wire("2+", ignorable=True)] = -1
    rack_id: Annotated[string | None, Wire("3+", nullable="3+", ignorable=True)] = None
