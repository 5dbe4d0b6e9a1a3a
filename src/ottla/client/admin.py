"""Requests about topics and the cluster, and what their answers say; no state."""

from collections.abc import Mapping
from typing import NamedTuple

from ottla.client.cluster import Broker, Topic, error_code, read_topic
from ottla.client.errors import ClientError
from ottla.errors import ErrorCode
from ottla.names import Uuid
from ottla.protocol.schema.create_topics import (
    CreatableTopic,
    CreatableTopicConfig,
    CreateTopicsRequest,
    CreateTopicsResponse,
)
from ottla.protocol.schema.delete_topics import (
    DeleteTopicsRequest,
    DeleteTopicsResponse,
    DeleteTopicState,
)
from ottla.protocol.schema.describe_cluster import DescribeClusterRequest, DescribeClusterResponse
from ottla.protocol.schema.describe_configs import (
    DescribeConfigsRequest,
    DescribeConfigsResource,
    DescribeConfigsResponse,
)
from ottla.protocol.schema.metadata import (
    MetadataRequest,
    MetadataRequestTopic,
    MetadataResponse,
)

# What the broker has as its default.
BROKERS_CHOICE = -1
TOPIC_RESOURCE = 2


class NewTopic(NamedTuple):
    name: str
    partitions: int = BROKERS_CHOICE
    replication_factor: int = BROKERS_CHOICE
    configs: Mapping[str, str] = {}


class CreatedTopic(NamedTuple):
    name: str
    topic_id: Uuid
    partitions: int
    replication_factor: int


class ConfigEntry(NamedTuple):
    name: str
    value: str | None
    is_default: bool
    is_read_only: bool
    is_sensitive: bool


class Cluster(NamedTuple):
    cluster_id: str
    controller_id: int
    brokers: tuple[Broker, ...]


# Kafka numbers where a value comes from; this one is its default.
DEFAULT_SOURCE = 5


def create_topics(
    topics: list[NewTopic], timeout_ms: int, *, validate_only: bool = False
) -> CreateTopicsRequest:
    return CreateTopicsRequest(
        [
            CreatableTopic(
                topic.name,
                topic.partitions,
                topic.replication_factor,
                [],
                [CreatableTopicConfig(name, value) for name, value in topic.configs.items()],
            )
            for topic in topics
        ],
        timeout_ms,
        validate_only,
    )


def created_topics(response: CreateTopicsResponse) -> list[CreatedTopic]:
    for found in response.topics:
        _check("CreateTopics", found.error_code, f"topic {found.name!r}", found.error_message)
    return [
        CreatedTopic(found.name, found.topic_id, found.num_partitions, found.replication_factor)
        for found in response.topics
    ]


def delete_topics(names: list[str], timeout_ms: int) -> DeleteTopicsRequest:
    return DeleteTopicsRequest(
        topics=[DeleteTopicState(name=name) for name in names], timeout_ms=timeout_ms
    )


def check_deleted(response: DeleteTopicsResponse) -> None:
    for found in response.responses:
        _check("DeleteTopics", found.error_code, f"topic {found.name!r}", found.error_message)


def list_topics() -> MetadataRequest:
    return MetadataRequest(topics=None, allow_auto_topic_creation=False)


def describe_topics(names: list[str]) -> MetadataRequest:
    return MetadataRequest(
        topics=[MetadataRequestTopic(name=name) for name in names], allow_auto_topic_creation=False
    )


def listed_topics(response: MetadataResponse) -> list[Topic]:
    for found in response.topics:
        _check("Metadata", found.error_code, f"topic {found.name!r}", None)
    return sorted((read_topic(found) for found in response.topics), key=lambda topic: topic.name)


def describe_topic_configs(name: str) -> DescribeConfigsRequest:
    return DescribeConfigsRequest([DescribeConfigsResource(TOPIC_RESOURCE, name, None)])


def described_configs(response: DescribeConfigsResponse) -> list[ConfigEntry]:
    entries = []
    for result in response.results:
        named = f"resource {result.resource_name!r}"
        _check("DescribeConfigs", result.error_code, named, result.error_message)
        entries += [
            ConfigEntry(
                config.name,
                config.value,
                config.config_source == DEFAULT_SOURCE,
                config.read_only,
                config.is_sensitive,
            )
            for config in result.configs
        ]
    return entries


def describe_cluster() -> DescribeClusterRequest:
    return DescribeClusterRequest()


def described_cluster(response: DescribeClusterResponse) -> Cluster:
    _check("DescribeCluster", response.error_code, "the cluster", response.error_message)
    brokers = [Broker(b.broker_id, b.host, b.port, b.rack) for b in response.brokers]
    return Cluster(response.cluster_id, response.controller_id, tuple(sorted(brokers)))


def _check(api: str, number: int, what: str, why: str | None) -> None:
    code = error_code(number)
    if code != ErrorCode.NONE:
        raise ClientError(api, f"{what}: {why}" if why else what, code)
