"""Commands on topics: what is checked, in Kafka's order, and the records that follow."""

from collections import Counter
from typing import TYPE_CHECKING, Any, Final

from ottla.config import validate_topic_overrides
from ottla.errors import ErrorCode, Refused
from ottla.metadata.image import RESOURCE_TOPIC
from ottla.metadata.placement import place_replicas
from ottla.metadata.topic_names import collision_key, why_invalid
from ottla.names import METADATA_TOPIC, NO_UUID, NodeId
from ottla.protocol.schema import records_metadata as schema
from ottla.protocol.schema.create_topics import (
    CreatableTopic,
    CreatableTopicResult,
    CreateTopicsRequest,
)
from ottla.protocol.schema.delete_topics import DeletableTopicResult, DeleteTopicsRequest

if TYPE_CHECKING:
    from ottla.metadata.controller import Controller

# As Apache Kafka bounds one request.
PARTITIONS_PER_REQUEST_MAX: Final = 10_000


def plan_create_topics(
    controller: "Controller", request: CreateTopicsRequest
) -> tuple[list[Any], list[CreatableTopicResult]]:
    records: list[Any] = []
    results: list[CreatableTopicResult] = []
    total = sum(_partition_count(controller, topic) for topic in request.topics)
    if total > PARTITIONS_PER_REQUEST_MAX:
        return [], [_refused(topic, _too_many_partitions()) for topic in request.topics]
    seen: dict[str, int] = {}
    for topic in request.topics:
        seen[topic.name] = seen.get(topic.name, 0) + 1
    taken = {collision_key(name): name for name in controller.image.topics}
    for topic in request.topics:
        if seen[topic.name] == 0:
            continue
        try:
            if seen[topic.name] > 1:
                raise Refused(ErrorCode.INVALID_REQUEST, "Duplicate topic name.")
            _check_name(topic.name, taken)
            placed = _place(controller, topic)
            created = _records(controller, topic, placed)
            results.append(_created(topic, created[0].topic_id, placed))
            if not request.validate_only:
                records += created
        except Refused as refused:
            results.append(_refused(topic, refused))
        seen[topic.name] = 0
    return records, results


def _partition_count(controller: "Controller", topic: CreatableTopic) -> int:
    if topic.assignments:
        return len(topic.assignments)
    if topic.num_partitions == -1:
        return controller.config.int("num.partitions")
    return max(0, topic.num_partitions)


def _too_many_partitions() -> Refused:
    return Refused(
        ErrorCode.POLICY_VIOLATION, "Excessively large number of partitions per request."
    )


def _refused(topic: CreatableTopic, refused: Refused) -> CreatableTopicResult:
    return CreatableTopicResult(name=topic.name, error_code=refused.code, error_message=refused.why)


def _check_name(name: str, taken: dict[str, str]) -> None:
    if name == METADATA_TOPIC:
        raise Refused(
            ErrorCode.INVALID_REQUEST, f"Creation of internal topic {name} is prohibited."
        )
    why = why_invalid(name)
    if why is not None:
        raise Refused(ErrorCode.INVALID_TOPIC_EXCEPTION, f"Topic name is invalid: {why}")
    other = taken.get(collision_key(name))
    if other == name:
        raise Refused(ErrorCode.TOPIC_ALREADY_EXISTS, f"Topic '{name}' already exists.")
    if other is not None:
        raise Refused(
            ErrorCode.INVALID_TOPIC_EXCEPTION,
            f"Topic '{name}' collides with existing topic: {other}",
        )


def _place(controller: "Controller", topic: CreatableTopic) -> list[list[int]]:
    for config in topic.configs:
        if config.value is None:
            raise Refused(
                ErrorCode.INVALID_CONFIG,
                f"Null value not supported for topic configs: {config.name}",
            )
    validate_topic_overrides(
        {config.name: config.value for config in topic.configs if config.value is not None},
        controller.config,
    )
    brokers = [broker.node_id for broker in controller.image.brokers.values()]
    if topic.assignments:
        return _check_assignments(topic, brokers)
    replication_factor = topic.replication_factor
    if replication_factor < -1 or replication_factor == 0:
        raise Refused(
            ErrorCode.INVALID_REPLICATION_FACTOR,
            "Replication factor must be larger than 0, or -1 to use the default value.",
        )
    partitions = topic.num_partitions
    if partitions < -1 or partitions == 0:
        raise Refused(
            ErrorCode.INVALID_PARTITIONS,
            "Number of partitions was set to an invalid non-positive value.",
        )
    if replication_factor == -1:
        replication_factor = controller.config.int("default.replication.factor")
    if partitions == -1:
        partitions = controller.config.int("num.partitions")
    start = len(controller.image.topics)
    return place_replicas(list(brokers), partitions, replication_factor, start)


def _check_assignments(topic: CreatableTopic, brokers: list[Any]) -> list[list[int]]:
    if topic.replication_factor != -1:
        raise Refused(
            ErrorCode.INVALID_REQUEST,
            "A manual partition assignment was specified, but replication factor was not set "
            "to -1.",
        )
    if topic.num_partitions != -1:
        raise Refused(
            ErrorCode.INVALID_REQUEST,
            "A manual partition assignment was specified, but numPartitions was not set to -1.",
        )
    placed: dict[int, list[int]] = {}
    for assignment in topic.assignments:
        replicas = assignment.broker_ids
        if assignment.partition_index in placed:
            index = assignment.partition_index
            why = f"Found multiple manual partition assignments for partition {index}"
            raise Refused(ErrorCode.INVALID_REPLICA_ASSIGNMENT, why)
        if not replicas:
            why = "The manual partition assignment includes an empty replica list."
            raise Refused(ErrorCode.INVALID_REPLICA_ASSIGNMENT, why)
        for replica in replicas:
            if replica not in brokers:
                why = (
                    f"The manual partition assignment includes broker {replica}, but no such "
                    f"broker is registered."
                )
                raise Refused(ErrorCode.INVALID_REPLICA_ASSIGNMENT, why)
        if len(dict.fromkeys(replicas)) != len(replicas):
            why = "The manual partition assignment includes the same broker more than once."
            raise Refused(ErrorCode.INVALID_REPLICA_ASSIGNMENT, why)
        placed[assignment.partition_index] = list(replicas)
    if sorted(placed) != list(range(len(placed))):
        why = "partitions should be a consecutive 0-based integer sequence"
        raise Refused(ErrorCode.INVALID_REPLICA_ASSIGNMENT, why)
    if len({len(replicas): None for replicas in placed.values()}) > 1:
        why = (
            "The manual partition assignment includes partitions of different replication factors."
        )
        raise Refused(ErrorCode.INVALID_REPLICA_ASSIGNMENT, why)
    return [placed[index] for index in range(len(placed))]


def _records(controller: "Controller", topic: CreatableTopic, placed: list[list[int]]) -> list[Any]:
    topic_id = controller.entropy.uuid()
    brokers = controller.image.brokers
    records: list[Any] = [schema.TopicRecord(name=topic.name, topic_id=topic_id)]
    for config in topic.configs:
        if config.value is not None:
            records.append(
                schema.ConfigRecord(
                    resource_type=RESOURCE_TOPIC,
                    resource_name=topic.name,
                    name=config.name,
                    value=config.value,
                )
            )
    for index, replicas in enumerate(placed):
        directories = [brokers[NodeId(replica)].log_dirs[0] for replica in replicas]
        records.append(
            schema.PartitionRecord(
                partition_id=index,
                topic_id=topic_id,
                replicas=replicas,
                isr=list(replicas),
                leader=replicas[0],
                leader_epoch=0,
                partition_epoch=0,
                directories=directories,
            )
        )
    return records


def _created(
    topic: CreatableTopic, topic_id: bytes, placed: list[list[int]]
) -> CreatableTopicResult:
    return CreatableTopicResult(
        name=topic.name,
        error_message=None,
        topic_id=topic_id,
        num_partitions=len(placed),
        replication_factor=len(placed[0]),
    )


def plan_delete_topics(
    controller: "Controller", request: DeleteTopicsRequest, version: int
) -> tuple[list[Any], list[DeletableTopicResult]]:
    asked = [(topic.name, topic.topic_id) for topic in request.topics]
    asked += [(name, NO_UUID) for name in request.topic_names]
    results: list[DeletableTopicResult] = []
    found: dict[bytes, list[DeletableTopicResult]] = {}
    for (name, topic_id), times in Counter(asked).items():
        result = DeletableTopicResult(name=name, topic_id=topic_id)
        try:
            _find_doomed(controller, result, times > 1)
            found.setdefault(result.topic_id, []).append(result)
        except Refused as refused:
            result.error_code, result.error_message = refused.code, refused.why
            results.append(result)
    records: list[Any] = []
    for topic_id, same in found.items():
        results.append(same[0])
        if len(same) == 1:
            records.append(schema.RemoveTopicRecord(topic_id=topic_id))
        else:
            same[0].error_code = ErrorCode.INVALID_REQUEST
            same[
                0
            ].error_message = "The provided topic name maps to an ID that was already supplied."
    return records, results


def _find_doomed(controller: "Controller", result: DeletableTopicResult, repeated: bool) -> None:
    """Fill in the topic that a row means, or refuse the row."""
    name, topic_id = result.name, result.topic_id
    image = controller.image
    if name is not None and topic_id != NO_UUID:
        raise Refused(
            ErrorCode.INVALID_REQUEST, "You may not specify both topic name and topic id."
        )
    if name is None and topic_id == NO_UUID:
        raise Refused(ErrorCode.INVALID_REQUEST, "Neither topic name nor id were specified.")
    if repeated:
        raise Refused(ErrorCode.INVALID_REQUEST, "Duplicate topic name or id.")
    topic = image.topics_by_id.get(topic_id) if name is None else image.topics.get(name)
    if topic is None:
        unknown = (
            ErrorCode.UNKNOWN_TOPIC_ID if name is None else ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
        )
        raise Refused(unknown, "This server does not host this topic.")
    result.name, result.topic_id = topic.name, topic.topic_id
