"""Metadata: who asks for what, by name or id, and topics that come to be by being asked for."""

from typing import Any

import pytest

from ottla.errors import ErrorCode
from ottla.names import NO_UUID
from ottla.protocol.schema.metadata import (
    MetadataRequest,
    MetadataRequestTopic,
    MetadataResponse,
    MetadataResponseBroker,
    MetadataResponsePartition,
    MetadataResponseTopic,
)
from tests.unit.api.asking import delete, restarted
from tests.unit.broker.harness import Client, Harness

UNKNOWN_TOPIC = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
UNKNOWN_ID = ErrorCode.UNKNOWN_TOPIC_ID
INVALID = ErrorCode.INVALID_REQUEST
NOBODY = b"\x07" * 16
NOT_ASKED = -(2**31)
# Read, write, create, delete, alter, describe, describe and alter configs.
ALL_OF_A_TOPIC = sum(1 << operation for operation in (3, 4, 5, 6, 7, 8, 10, 11))
ALL_OF_THE_CLUSTER = sum(1 << operation for operation in (5, 7, 8, 9, 10, 11, 12))


def names(*asked: str | None, **more: Any) -> MetadataRequest:
    return MetadataRequest(topics=[MetadataRequestTopic(NO_UUID, name) for name in asked], **more)


def ids(*asked: bytes, **more: Any) -> MetadataRequest:
    return MetadataRequest(topics=[MetadataRequestTopic(each, None) for each in asked], **more)


def codes(response: MetadataResponse) -> list[tuple[str | None, int]]:
    return [(topic.name, topic.error_code) for topic in response.topics]


@pytest.fixture
def client(harness: Harness) -> Client:
    return harness.connect()


def test_an_answer_tells_brokers_leaders_and_replicas(harness: Harness, client: Client) -> None:
    harness.create_topic("one")
    assert client.ask(names("one"), 13) == MetadataResponse(
        brokers=[MetadataResponseBroker(1, "broker", 9092, None)],
        cluster_id=harness.node.cluster_id,
        controller_id=1,
        topics=[
            MetadataResponseTopic(
                name="one",
                topic_id=harness.partition("one").topic_id,
                partitions=[MetadataResponsePartition(0, 0, 1, 0, [1], [1], [])],
            )
        ],
    )


def test_a_restart_is_a_new_leader_epoch_of_the_same_topic(harness: Harness) -> None:
    topic_id = harness.partition("orders").topic_id
    harness.disk.kill()
    after = restarted(harness)
    topic = after.connect().ask(names("orders"), 13).topics[0]
    assert topic.topic_id == topic_id
    epochs = [(partition.leader_id, partition.leader_epoch) for partition in topic.partitions]
    assert epochs == [(1, 1)] * 3
    after.assert_nothing_left()


@pytest.mark.parametrize(
    ("version", "asked", "expected"),
    [
        (0, [], [("orders", 0), ("other", 0)]),
        (1, [], []),
        (1, None, [("orders", 0), ("other", 0)]),
        (13, [], []),
        (13, None, [("orders", 0), ("other", 0)]),
    ],
)
def test_null_asks_for_all_topics_and_in_version_0_nothing_does(
    harness: Harness,
    client: Client,
    version: int,
    asked: list[MetadataRequestTopic] | None,
    expected: list[tuple[str, int]],
) -> None:
    harness.create_topic("other")
    assert codes(client.ask(MetadataRequest(topics=asked), version)) == expected


def test_each_topic_is_told_once_in_the_order_of_the_request(
    harness: Harness, client: Client
) -> None:
    harness.create_topic("other")
    request = names("other", "a b", "orders", "other", allow_auto_topic_creation=False)
    assert codes(client.ask(request, 13)) == [
        ("other", 0),
        ("a b", ErrorCode.INVALID_TOPIC_EXCEPTION),
        ("orders", 0),
    ]


def test_topics_are_found_by_id_and_an_id_that_nobody_has_has_no_name(
    harness: Harness, client: Client
) -> None:
    topic_id = harness.partition("orders").topic_id
    response = client.ask(ids(topic_id, NOBODY), 13)
    assert [(topic.topic_id, *codes(response)[at]) for at, topic in enumerate(response.topics)] == [
        (topic_id, "orders", 0),
        (NOBODY, None, UNKNOWN_ID),
    ]


def test_where_there_are_ids_names_do_not_count(harness: Harness, client: Client) -> None:
    topic_id = harness.partition("orders").topic_id
    request = ids(topic_id)
    request.topics = [*(request.topics or []), MetadataRequestTopic(NO_UUID, "nowhere")]
    assert codes(client.ask(request, 13)) == [("orders", 0)]
    assert "nowhere" not in harness.node.image.topics


@pytest.mark.parametrize(
    ("version", "request_", "code"),
    [
        (11, ids(NOBODY), INVALID),
        (11, names(None), INVALID),
        (11, names("orders", None), INVALID),
        (12, names(None), ErrorCode.UNKNOWN_SERVER_ERROR),
    ],
)
def test_one_topic_that_cannot_be_meant_refuses_all(
    client: Client, version: int, request_: MetadataRequest, code: ErrorCode
) -> None:
    response = client.ask(request_, version)
    assert [each for _, each in codes(response)] == [code] * len(request_.topics or [])
    assert response.brokers == []


# Topics that come to be


def test_a_topic_that_is_asked_for_is_unknown_first_and_there_at_the_next_time(
    harness: Harness, client: Client
) -> None:
    assert codes(client.ask(names("new", "orders"), 13)) == [("new", UNKNOWN_TOPIC), ("orders", 0)]
    topic = client.ask(names("new"), 13).topics[0]
    assert (topic.error_code, len(topic.partitions)) == (0, 1)


@pytest.mark.parametrize(
    ("version", "allowed", "comes"),
    [(3, True, True), (4, True, True), (4, False, False), (13, False, False)],
)
def test_since_version_4_the_asker_may_forbid_it(
    harness: Harness, client: Client, version: int, allowed: bool, comes: bool
) -> None:
    request = names("new", allow_auto_topic_creation=allowed)
    assert codes(client.ask(request, version)) == [("new", UNKNOWN_TOPIC)]
    assert ("new" in harness.node.image.topics) is comes


def test_the_brokers_settings_say_whether_and_how_large() -> None:
    harness = Harness({"num.partitions": "3"})
    harness.connect().ask(names("new"), 13)
    assert len(harness.node.image.topics["new"].partitions) == 3
    harness = Harness({"auto.create.topics.enable": "false"})
    assert codes(harness.connect().ask(names("new"), 13)) == [("new", UNKNOWN_TOPIC)]
    assert harness.node.image.topics == {}


def test_ids_and_names_that_are_not_legal_create_nothing(harness: Harness, client: Client) -> None:
    client.ask(ids(NOBODY), 13)
    client.ask(names("", ".", "a/b", "x" * 250), 13)
    assert list(harness.node.image.topics) == ["orders"]


def test_a_name_that_collides_with_another_stays_unknown(harness: Harness, client: Client) -> None:
    harness.create_topic("a.b")
    for _ in range(2):
        assert codes(client.ask(names("a_b"), 13)) == [("a_b", UNKNOWN_TOPIC)]


def test_a_topic_that_many_ask_for_at_once_is_made_once(harness: Harness) -> None:
    clients = [harness.connect() for _ in range(3)]
    harness.holds_flushes = True
    for each in clients:
        assert codes(each.ask(names("new"), 13)) == [("new", UNKNOWN_TOPIC)]
    harness.holds_flushes = False
    harness.settle()
    assert codes(clients[0].ask(names("new"), 13)) == [("new", 0)]
    assert len(harness.node.image.topics_by_id) == 2


def test_a_deleted_topic_is_unknown_by_name_and_by_id(harness: Harness, client: Client) -> None:
    topic_id = harness.partition("orders").topic_id
    client.ask(delete("orders"), 6)
    asked = names("orders", allow_auto_topic_creation=False)
    assert codes(client.ask(asked, 13)) == [("orders", UNKNOWN_TOPIC)]
    assert codes(client.ask(ids(topic_id), 13)) == [(None, UNKNOWN_ID)]


# What the asker may do


@pytest.mark.parametrize(
    ("version", "topic", "cluster", "expected"),
    [
        (10, False, False, (NOT_ASKED, NOT_ASKED)),
        (10, True, False, (ALL_OF_A_TOPIC, NOT_ASKED)),
        (10, False, True, (NOT_ASKED, ALL_OF_THE_CLUSTER)),
        (11, True, False, (ALL_OF_A_TOPIC, NOT_ASKED)),
    ],
)
def test_operations_are_told_to_those_who_ask(
    client: Client, version: int, topic: bool, cluster: bool, expected: tuple[int, int]
) -> None:
    request = names(
        "orders",
        include_topic_authorized_operations=topic,
        include_cluster_authorized_operations=cluster,
    )
    response = client.ask(request, version)
    told = response.topics[0].topic_authorized_operations, response.cluster_authorized_operations
    assert told == expected
