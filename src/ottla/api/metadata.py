"""Metadata: brokers, topics, leaders; and topics made because somebody asked for them."""

from collections.abc import Iterable
from contextlib import suppress
from typing import Final

from ottla.broker.node import Node
from ottla.broker.pipeline import Call
from ottla.errors import ErrorCode, Refused
from ottla.metadata.image import NO_LEADER, PartitionImage, TopicImage
from ottla.metadata.topic_names import why_invalid
from ottla.names import INTERNAL_TOPICS, NO_UUID, NodeId, Uuid
from ottla.protocol.schema.create_topics import CreatableTopic, CreateTopicsRequest
from ottla.protocol.schema.metadata import (
    MetadataRequest,
    MetadataRequestTopic,
    MetadataResponse,
    MetadataResponseBroker,
    MetadataResponsePartition,
    MetadataResponseTopic,
)

# Without an authorizer everybody may do all that an ACL could grant, as bits of AclOperation.
ALL_TOPIC_OPERATIONS: Final = 0b1101_1111_1000
ALL_CLUSTER_OPERATIONS: Final = 0b1_1111_1010_0000
CREATE_TOPICS_VERSION: Final = 7
# Earlier versions can say ids and nameless topics on the wire, and may not.
TOPIC_IDS_FROM: Final = 12


def handle(node: Node, call: Call, request: MetadataRequest) -> MetadataResponse:
    image = node.image
    asked = request.topics
    with_operations = request.include_topic_authorized_operations
    if asked is None or (call.version == 0 and not asked):
        topics = [_topic(node, topic, with_operations) for topic in image.topics.values()]
    elif code := _refusal(call.version, asked):
        return _refused(asked, code)
    else:
        missing: list[str] = []
        topics = [_asked_topic(node, request, missing, *key) for key in _distinct(asked)]
        if missing:
            _create(node, missing)
    return MetadataResponse(
        brokers=[
            MetadataResponseBroker(node_id, host, port, rack)
            for node_id, host, port, rack in node.endpoints(image.brokers)
        ],
        cluster_id=node.cluster_id,
        controller_id=node.node_id,
        topics=topics,
        cluster_authorized_operations=(
            ALL_CLUSTER_OPERATIONS
            if request.include_cluster_authorized_operations
            else MetadataResponse().cluster_authorized_operations
        ),
    )


def _refusal(version: int, asked: list[MetadataRequestTopic]) -> ErrorCode | None:
    """For one such topic Kafka refuses the whole request."""
    for topic in asked:
        if version < TOPIC_IDS_FROM and (topic.topic_id != NO_UUID or topic.name is None):
            return ErrorCode.INVALID_REQUEST
    if all(topic.topic_id == NO_UUID for topic in asked):
        for topic in asked:
            if topic.name is None:
                return ErrorCode.UNKNOWN_SERVER_ERROR
    return None


def _refused(asked: list[MetadataRequestTopic], code: ErrorCode) -> MetadataResponse:
    topics = [
        MetadataResponseTopic(error_code=code, name=topic.name or "", topic_id=topic.topic_id)
        for topic in asked
    ]
    return MetadataResponse(topics=topics)


def _distinct(asked: list[MetadataRequestTopic]) -> Iterable[tuple[str, Uuid]]:
    """Each topic once. Where there are ids, names do not count."""
    ids = [("", topic.topic_id) for topic in asked if topic.topic_id != NO_UUID]
    return dict.fromkeys(ids or [(topic.name or "", NO_UUID) for topic in asked])


def _asked_topic(
    node: Node, request: MetadataRequest, missing: list[str], name: str, topic_id: Uuid
) -> MetadataResponseTopic:
    image = node.image
    with_operations = request.include_topic_authorized_operations
    if topic_id != NO_UUID:
        topic = image.topics_by_id.get(topic_id)
        if topic is None:
            return MetadataResponseTopic(
                error_code=ErrorCode.UNKNOWN_TOPIC_ID, name=None, topic_id=topic_id
            )
        return _topic(node, topic, with_operations)
    topic = image.topics.get(name)
    if topic is not None:
        return _topic(node, topic, with_operations)
    code = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    if why_invalid(name) is not None:
        code = ErrorCode.INVALID_TOPIC_EXCEPTION
    elif request.allow_auto_topic_creation and node.config.boolean("auto.create.topics.enable"):
        missing.append(name)
    return MetadataResponseTopic(error_code=code, name=name, is_internal=name in INTERNAL_TOPICS)


def _create(node: Node, names: list[str]) -> None:
    """The asker comes back: it was told that the topics are unknown, and that passes."""
    wanted = [CreatableTopic(name=name, num_partitions=-1, replication_factor=-1) for name in names]
    with suppress(Refused):
        # Where the controller can write nothing, they stay unknown.
        node.ask_controller(
            CreateTopicsRequest(topics=wanted), CREATE_TOPICS_VERSION, lambda response, now: None
        )


def _topic(node: Node, topic: TopicImage, with_operations: bool) -> MetadataResponseTopic:
    answer = MetadataResponseTopic(
        name=topic.name,
        topic_id=topic.topic_id,
        is_internal=topic.name in INTERNAL_TOPICS,
        partitions=[_partition(node, index, p) for index, p in topic.partitions.items()],
    )
    if with_operations:
        answer.topic_authorized_operations = ALL_TOPIC_OPERATIONS
    return answer


def _partition(node: Node, index: int, partition: PartitionImage) -> MetadataResponsePartition:
    brokers = node.image.brokers
    offline = [
        replica
        for replica in partition.replicas
        if (broker := brokers.get(NodeId(replica))) is None or broker.is_fenced
    ]
    has_leader = partition.leader != NO_LEADER and partition.leader not in offline
    return MetadataResponsePartition(
        error_code=0 if has_leader else ErrorCode.LEADER_NOT_AVAILABLE,
        partition_index=index,
        leader_id=partition.leader if has_leader else NO_LEADER,
        leader_epoch=partition.leader_epoch,
        replica_nodes=partition.replicas,
        isr_nodes=partition.isr,
        offline_replicas=offline,
    )
