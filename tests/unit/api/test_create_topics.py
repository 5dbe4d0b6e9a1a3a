"""CreateTopics: what the controller decides, and that the answer waits for the files."""

from typing import Any

import pytest

from ottla.config_keys import ConfigSource
from ottla.errors import ErrorCode
from ottla.protocol.schema.create_topics import (
    CreatableReplicaAssignment,
    CreatableTopic,
    CreatableTopicConfig,
    CreatableTopicConfigs,
    CreateTopicsRequest,
    CreateTopicsResponse,
)
from tests.unit.api.asking import delete
from tests.unit.broker.harness import Client, Harness

NONE = ErrorCode.NONE


def topic(name: str, partitions: int = 1, **configs: str) -> CreatableTopic:
    return CreatableTopic(
        name=name,
        num_partitions=partitions,
        replication_factor=1,
        configs=[CreatableTopicConfig(key.replace("_", "."), configs[key]) for key in configs],
    )


def request(*topics: CreatableTopic, timeout_ms: int = 1000, **more: Any) -> CreateTopicsRequest:
    return CreateTopicsRequest(topics=list(topics), timeout_ms=timeout_ms, **more)


def codes(response: CreateTopicsResponse) -> list[tuple[str, int]]:
    return [(result.name, result.error_code) for result in response.topics]


@pytest.fixture
def client(harness: Harness) -> Client:
    return harness.connect()


def test_a_topic_can_be_used_when_the_answer_comes(harness: Harness, client: Client) -> None:
    harness.holds_jobs = True
    sent = client.send(request(topic("new", 2)), 7)
    assert harness.jobs
    assert not client.has_reply(sent)
    harness.holds_jobs = False
    harness.settle()
    assert codes(client.reply(sent)) == [("new", NONE)]
    assert list(harness.node.hosting.topics["new"].partitions) == [0, 1]


def test_nothing_is_answered_or_shown_before_the_record_is_committed(
    harness: Harness, client: Client
) -> None:
    harness.holds_flushes = True
    sent = client.send(request(topic("new")), 7)
    assert not client.has_reply(sent)
    assert "new" not in harness.node.image.topics
    harness.holds_flushes = False
    harness.settle()
    assert codes(client.reply(sent)) == [("new", NONE)]


def test_the_answer_tells_the_topic_as_it_was_made(harness: Harness, client: Client) -> None:
    result = client.ask(request(topic("new", 2, segment_bytes="2097152")), 7).topics[0]
    image = harness.node.image.topics["new"]
    assert (result.topic_id, result.num_partitions, result.replication_factor) == (
        image.topic_id,
        2,
        1,
    )
    of_topic = ConfigSource.DYNAMIC_TOPIC_CONFIG
    assert [row for row in result.configs if row.config_source == of_topic] == [
        CreatableTopicConfigs("segment.bytes", "2097152", False, of_topic, False)
    ]


def test_one_refusal_stops_no_other_topic(harness: Harness, client: Client) -> None:
    topics = [topic("orders"), topic("a b"), topic("new"), topic("odd", no_such_key="1")]
    assert codes(client.ask(request(*topics), 7)) == [
        ("orders", ErrorCode.TOPIC_ALREADY_EXISTS),
        ("a b", ErrorCode.INVALID_TOPIC_EXCEPTION),
        ("new", NONE),
        ("odd", ErrorCode.INVALID_CONFIG),
    ]
    assert list(harness.node.hosting.topics) == ["orders", "new"]


def test_a_name_that_stands_twice_is_refused_once_and_never_made(
    harness: Harness, client: Client
) -> None:
    answer = client.ask(request(topic("twice"), topic("new"), topic("twice")), 7)
    assert codes(answer) == [("twice", ErrorCode.INVALID_REQUEST), ("new", NONE)]
    assert "twice" not in harness.node.image.topics


def test_two_requests_at_once_make_one_topic(harness: Harness) -> None:
    first, second = harness.connect(), harness.connect()
    harness.holds_flushes = True
    sent = [client.send(request(topic("new")), 7) for client in (first, second)]
    harness.holds_flushes = False
    harness.settle()
    assert codes(first.reply(sent[0])) == [("new", NONE)]
    assert codes(second.reply(sent[1])) == [("new", ErrorCode.TOPIC_ALREADY_EXISTS)]


def test_a_request_that_only_checks_makes_nothing_and_names_what_it_would(
    harness: Harness, client: Client
) -> None:
    result = client.ask(request(topic("new", 4), validate_only=True), 7).topics[0]
    assert (result.error_code, result.num_partitions) == (NONE, 4)
    assert "new" not in harness.node.image.topics
    assert not harness.jobs


@pytest.mark.parametrize(
    ("partitions", "replicas", "code"),
    [
        (-1, -1, NONE),
        (0, 1, ErrorCode.INVALID_PARTITIONS),
        (-2, 1, ErrorCode.INVALID_PARTITIONS),
        (1, 0, ErrorCode.INVALID_REPLICATION_FACTOR),
        (1, 2, ErrorCode.INVALID_REPLICATION_FACTOR),
        (10_001, 1, ErrorCode.POLICY_VIOLATION),
    ],
)
def test_numbers_are_the_brokers_own_or_possible(
    client: Client, partitions: int, replicas: int, code: ErrorCode
) -> None:
    wanted = CreatableTopic("new", partitions, replicas)
    result = client.ask(request(wanted), 7).topics[0]
    assert (result.error_code, result.num_partitions) == (code, -1 if code else 1)


@pytest.mark.parametrize(
    ("placed", "code"),
    [
        ({0: [1], 1: [1]}, NONE),
        ({1: [1]}, ErrorCode.INVALID_REPLICA_ASSIGNMENT),
        ({0: []}, ErrorCode.INVALID_REPLICA_ASSIGNMENT),
        ({0: [2]}, ErrorCode.INVALID_REPLICA_ASSIGNMENT),
        ({0: [1, 1]}, ErrorCode.INVALID_REPLICA_ASSIGNMENT),
    ],
)
def test_replicas_placed_by_hand_stand_on_brokers_that_exist(
    client: Client, placed: dict[int, list[int]], code: ErrorCode
) -> None:
    assignments = [CreatableReplicaAssignment(index, placed[index]) for index in placed]
    wanted = CreatableTopic("new", -1, -1, assignments)
    assert codes(client.ask(request(wanted), 7)) == [("new", code)]


def test_a_request_whose_time_is_up_is_told_so_and_the_topic_comes_nevertheless(
    harness: Harness, client: Client
) -> None:
    harness.holds_flushes = True
    sent = client.send(request(topic("new"), timeout_ms=100), 7)
    harness.advance(99)
    assert not client.has_reply(sent)
    harness.advance(1)
    assert codes(client.reply(sent)) == [("new", ErrorCode.REQUEST_TIMED_OUT)]
    harness.holds_flushes = False
    harness.settle()
    assert "new" in harness.node.hosting.topics


@pytest.mark.parametrize("timeout_ms", [0, -1])
def test_a_request_without_patience_is_answered_at_once(
    harness: Harness, client: Client, timeout_ms: int
) -> None:
    harness.holds_flushes = True
    sent = client.send(request(topic("new"), timeout_ms=timeout_ms), 7)
    assert codes(client.reply(sent)) == [("new", ErrorCode.REQUEST_TIMED_OUT)]


def test_a_topic_that_is_made_again_has_a_new_id_and_no_records(
    harness: Harness, client: Client
) -> None:
    client.produce("orders", b"a")
    former = harness.partition("orders").topic_id
    client.ask(delete("orders"), 6)
    result = client.ask(request(topic("orders")), 7).topics[0]
    assert result.topic_id not in (former, bytes(16))
    assert harness.partition("orders").log.end_offset == 0
