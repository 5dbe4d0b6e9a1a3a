"""What is asked about topics and the cluster, and what the answers say."""

import pytest

from ottla.client import admin
from ottla.client.cluster import Broker
from ottla.client.errors import ClientError
from ottla.errors import ErrorCode
from ottla.protocol.schema.create_topics import CreatableTopicResult, CreateTopicsResponse
from ottla.protocol.schema.delete_topics import DeletableTopicResult, DeleteTopicsResponse
from ottla.protocol.schema.describe_cluster import DescribeClusterBroker, DescribeClusterResponse
from ottla.protocol.schema.describe_configs import (
    DescribeConfigsResourceResult,
    DescribeConfigsResponse,
    DescribeConfigsResult,
)
from ottla.protocol.schema.metadata import MetadataResponse, MetadataResponseTopic


def test_a_new_topic_leaves_to_the_broker_what_is_not_said() -> None:
    request = admin.create_topics([admin.NewTopic("t", configs={"a": "1"})], 500)
    (topic,) = request.topics
    assert (topic.name, topic.num_partitions, topic.replication_factor) == ("t", -1, -1)
    assert [(config.name, config.value) for config in topic.configs] == [("a", "1")]
    assert request.timeout_ms == 500


def test_an_error_names_the_api_the_topic_and_the_cause() -> None:
    found = CreatableTopicResult(name="t", error_code=36, error_message="it is there")
    with pytest.raises(ClientError) as refused:
        admin.created_topics(CreateTopicsResponse(topics=[found]))
    assert str(refused.value) == "CreateTopics: topic 't': it is there [TOPIC_ALREADY_EXISTS]"
    assert refused.value.code == ErrorCode.TOPIC_ALREADY_EXISTS


def test_a_code_of_a_later_kafka_is_an_unknown_error() -> None:
    found = DeletableTopicResult("t", error_code=30_000)
    with pytest.raises(ClientError) as refused:
        admin.check_deleted(DeleteTopicsResponse(responses=[found]))
    assert refused.value.code == ErrorCode.UNKNOWN_SERVER_ERROR


def test_topics_are_listed_by_name() -> None:
    found = [MetadataResponseTopic(0, name) for name in ("b", "a")]
    topics = admin.listed_topics(MetadataResponse(topics=found))
    assert [topic.name for topic in topics] == ["a", "b"]


def test_configs_say_whether_they_are_kafkas_default() -> None:
    configs = [
        DescribeConfigsResourceResult("a", "1", config_source=5),
        DescribeConfigsResourceResult("b", None, True, 1, True),
    ]
    result = DescribeConfigsResult(0, None, 2, "t", configs)
    assert admin.described_configs(DescribeConfigsResponse(results=[result])) == [
        admin.ConfigEntry("a", "1", True, False, False),
        admin.ConfigEntry("b", None, False, True, True),
    ]


def test_the_cluster_lists_its_brokers_by_id() -> None:
    brokers = [DescribeClusterBroker(2, "b", 2), DescribeClusterBroker(1, "a", 1)]
    response = DescribeClusterResponse(cluster_id="c", controller_id=2, brokers=brokers)
    assert admin.described_cluster(response) == admin.Cluster(
        "c", 2, (Broker(1, "a", 1), Broker(2, "b", 2))
    )
