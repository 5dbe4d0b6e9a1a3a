"""Commands on topics, as Kafka 4.3 answers them.

Covers: ottla.metadata.placement, ottla.metadata.topic_names.
"""

from typing import Any

import pytest

from ottla.errors import ErrorCode, Refused
from ottla.metadata.controller import Controller, Outcome
from ottla.metadata.placement import place_replicas
from ottla.metadata.topic_names import collision_key, why_invalid
from ottla.metadata.topics import PARTITIONS_PER_REQUEST_MAX
from ottla.names import NO_UUID
from ottla.protocol.schema import records_metadata as schema
from ottla.protocol.schema.create_topics import CreatableTopic
from ottla.protocol.schema.delete_topics import (
    DeletableTopicResult,
    DeleteTopicsRequest,
    DeleteTopicState,
)
from tests.unit.metadata.commands import (
    assignments,
    controller,
    create,
    created,
    directory_of,
    run,
    topic,
    topic_id,
    written,
)


def errors(outcome: Outcome) -> list[tuple[str, ErrorCode]]:
    return [(each.name, ErrorCode(each.error_code)) for each in outcome.response.topics]


def only_error(outcome: Outcome) -> ErrorCode:
    """The only topic is refused, in words too, and nothing is to be written."""
    result = outcome.response.topics[0]
    assert outcome.records == []
    assert result.error_message
    assert (result.topic_id, result.num_partitions, result.replication_factor) == (NO_UUID, -1, -1)
    return ErrorCode(result.error_code)


# Creating


def test_a_topic_becomes_its_record_its_configs_and_its_partitions() -> None:
    outcome = create(controller(), topic("t", partitions=2, retention_ms="5", segment_ms="7"))

    a = topic_id(1)
    alone: dict[str, Any] = {
        "topic_id": a,
        "replicas": [1],
        "isr": [1],
        "leader": 1,
        "leader_epoch": 0,
        "partition_epoch": 0,
        "directories": [directory_of(1)],
    }
    assert outcome.records == [
        schema.TopicRecord(name="t", topic_id=a),
        schema.ConfigRecord(2, "t", "retention.ms", "5"),
        schema.ConfigRecord(2, "t", "segment.ms", "7"),
        schema.PartitionRecord(partition_id=0, **alone),
        schema.PartitionRecord(partition_id=1, **alone),
    ]
    assert outcome.response.topics == [created("t", 1, partitions=2)]
    assert written(outcome.records)


def test_topics_of_one_request_are_made_or_refused_each_on_its_own() -> None:
    outcome = create(controller(), topic("a"), topic("no!"), topic("b", partitions=0), topic("c"))

    assert errors(outcome) == [
        ("a", ErrorCode.NONE),
        ("no!", ErrorCode.INVALID_TOPIC_EXCEPTION),
        ("b", ErrorCode.INVALID_PARTITIONS),
        ("c", ErrorCode.NONE),
    ]
    assert [each.name for each in outcome.records if isinstance(each, schema.TopicRecord)] == [
        "a",
        "c",
    ]


def test_validate_only_answers_alike_and_writes_nothing() -> None:
    one = controller()
    run(one, create(one, topic("there")))
    topics = (topic("a"), topic("there"), topic("b", replicas=2), topic("c", nope="1"))

    checked = create(one, *topics, validate_only=True)

    assert checked.records == []
    assert (
        errors(checked)
        == errors(create(one, *topics))
        == [
            ("a", ErrorCode.NONE),
            ("there", ErrorCode.TOPIC_ALREADY_EXISTS),
            ("b", ErrorCode.INVALID_REPLICATION_FACTOR),
            ("c", ErrorCode.INVALID_CONFIG),
        ]
    )


def test_a_name_that_a_request_repeats_is_refused_once_and_not_made() -> None:
    outcome = create(controller(), topic("a"), topic("b"), topic("a"), topic("a", partitions=3))

    assert errors(outcome) == [("a", ErrorCode.INVALID_REQUEST), ("b", ErrorCode.NONE)]
    assert outcome.records[0].name == "b"


def test_minus_one_asks_for_the_brokers_defaults() -> None:
    settings = {"num.partitions": "4", "default.replication.factor": "2"}

    outcome = create(controller(3, settings), topic("t", partitions=-1, replicas=-1))

    assert outcome.response.topics == [created("t", 1, partitions=4, replicas=2)]


@pytest.mark.parametrize("name", ["t", "a.b", "a_b", "A-1", "...", "x" * 249])
def test_a_good_name_may_be_given(name: str) -> None:
    assert why_invalid(name) is None
    assert create(controller(), topic(name)).response.topics == [created(name, 1)]


@pytest.mark.parametrize("name", ["", ".", "..", "a b", "a/b", "ä", "a\n", "a\0", "x" * 250, "٣"])
def test_a_name_that_no_directory_could_have_is_refused(name: str) -> None:
    assert why_invalid(name)
    assert only_error(create(controller(), topic(name))) == ErrorCode.INVALID_TOPIC_EXCEPTION


def test_the_metadata_topics_name_is_not_to_be_had() -> None:
    outcome = create(controller(), topic("__cluster_metadata"))

    assert only_error(outcome) == ErrorCode.INVALID_REQUEST


@pytest.mark.parametrize(
    ("there", "asked", "code"),
    [
        ("a", "a", ErrorCode.TOPIC_ALREADY_EXISTS),
        ("a.b", "a.b", ErrorCode.TOPIC_ALREADY_EXISTS),
        ("a.b", "a_b", ErrorCode.INVALID_TOPIC_EXCEPTION),
        ("a_b", "a.b", ErrorCode.INVALID_TOPIC_EXCEPTION),
        ("a_b.c", "a.b_c", ErrorCode.INVALID_TOPIC_EXCEPTION),
        ("a-b", "a_b", ErrorCode.NONE),
        ("a", "A", ErrorCode.NONE),
    ],
)
def test_a_name_that_is_taken_or_too_much_like_one_is_refused(
    there: str, asked: str, code: ErrorCode
) -> None:
    one = controller()
    run(one, create(one, topic(there)))

    assert errors(create(one, topic(asked))) == [(asked, code)]


def test_names_collide_where_periods_and_underscores_alone_tell_them_apart() -> None:
    assert collision_key("a.b_c") == collision_key("a_b.c") != collision_key("a.bc")


@pytest.mark.parametrize(
    ("asked", "code"),
    [
        (topic("t", partitions=0), ErrorCode.INVALID_PARTITIONS),
        (topic("t", partitions=-2), ErrorCode.INVALID_PARTITIONS),
        (topic("t", replicas=0), ErrorCode.INVALID_REPLICATION_FACTOR),
        (topic("t", replicas=-2), ErrorCode.INVALID_REPLICATION_FACTOR),
        (topic("t", replicas=2), ErrorCode.INVALID_REPLICATION_FACTOR),
        (topic("t", partitions=0, replicas=0), ErrorCode.INVALID_REPLICATION_FACTOR),
        (topic("t", no_such_key="1"), ErrorCode.INVALID_CONFIG),
        (topic("t", retention_ms="long"), ErrorCode.INVALID_CONFIG),
        (topic("t", retention_ms=None), ErrorCode.INVALID_CONFIG),
    ],
    ids=[
        "no partitions",
        "partitions below -1",
        "no replicas",
        "replicas below -1",
        "more replicas than brokers",
        "replicas are looked at before partitions",
        "a config that does not exist",
        "a config with a bad value",
        "a config that is null",
    ],
)
def test_a_topic_that_cannot_be_is_refused(asked: CreatableTopic, code: ErrorCode) -> None:
    assert only_error(create(controller(), asked)) == code


def test_a_topics_configs_must_agree_with_what_its_broker_says() -> None:
    """As Kafka's controller checks them: over the broker's values, not over the defaults."""
    settings = {"log.cleaner.max.compaction.lag.ms": "5"}
    asked = topic("t", min_compaction_lag_ms="6")

    assert errors(create(controller(), asked)) == [("t", ErrorCode.NONE)]
    assert only_error(create(controller(settings=settings), asked)) == ErrorCode.INVALID_CONFIG


@pytest.mark.parametrize(
    ("counts", "is_refused"),
    [
        ([PARTITIONS_PER_REQUEST_MAX], False),
        ([PARTITIONS_PER_REQUEST_MAX + 1], True),
        ([PARTITIONS_PER_REQUEST_MAX, 1], True),
        ([PARTITIONS_PER_REQUEST_MAX, 0, -5], False),
        ([PARTITIONS_PER_REQUEST_MAX + 1, -5], True),
        # -1 stands for the broker's default, here 2.
        ([PARTITIONS_PER_REQUEST_MAX - 1, -1], True),
        ([2**31 - 1], True),
    ],
)
def test_a_request_for_too_many_partitions_is_refused_as_a_whole(
    counts: list[int], is_refused: bool
) -> None:
    topics = [topic(f"t{number}", count) for number, count in enumerate(counts)]

    outcome = create(controller(settings={"num.partitions": "2"}), *topics)

    refused = [(each.name, ErrorCode.POLICY_VIOLATION) for each in topics]
    assert (errors(outcome) == refused) is is_refused
    assert (outcome.records == []) is is_refused


def test_partitions_placed_by_hand_count_towards_the_bound() -> None:
    placed = {index: [1] for index in range(PARTITIONS_PER_REQUEST_MAX + 1)}

    assert only_error(create(controller(), topic("t", placed=placed))) == ErrorCode.POLICY_VIOLATION


# Placing


def test_partitions_go_where_they_were_placed_by_hand() -> None:
    outcome = create(controller(3), topic("t", placed={1: [3, 1], 0: [2, 3]}))

    partitions = [each for each in outcome.records if isinstance(each, schema.PartitionRecord)]
    assert [(each.partition_id, each.replicas, each.isr, each.leader) for each in partitions] == [
        (0, [2, 3], [2, 3], 2),
        (1, [3, 1], [3, 1], 3),
    ]
    assert [each.directories for each in partitions] == [
        [directory_of(2), directory_of(3)],
        [directory_of(3), directory_of(1)],
    ]
    assert outcome.response.topics == [created("t", 1, partitions=2, replicas=2)]


@pytest.mark.parametrize(
    ("pairs", "partitions", "replicas", "code"),
    [
        ([(0, [1])], -1, 1, ErrorCode.INVALID_REQUEST),
        ([(0, [1])], 1, -1, ErrorCode.INVALID_REQUEST),
        ([(0, [1]), (0, [2])], -1, -1, ErrorCode.INVALID_REPLICA_ASSIGNMENT),
        ([(0, [])], -1, -1, ErrorCode.INVALID_REPLICA_ASSIGNMENT),
        ([(0, [4])], -1, -1, ErrorCode.INVALID_REPLICA_ASSIGNMENT),
        ([(0, [1, -1])], -1, -1, ErrorCode.INVALID_REPLICA_ASSIGNMENT),
        ([(0, [1, 2, 1])], -1, -1, ErrorCode.INVALID_REPLICA_ASSIGNMENT),
        ([(1, [1])], -1, -1, ErrorCode.INVALID_REPLICA_ASSIGNMENT),
        ([(0, [1]), (2, [1])], -1, -1, ErrorCode.INVALID_REPLICA_ASSIGNMENT),
        ([(-1, [1]), (0, [1])], -1, -1, ErrorCode.INVALID_REPLICA_ASSIGNMENT),
        ([(0, [1]), (1, [1, 2])], -1, -1, ErrorCode.INVALID_REPLICA_ASSIGNMENT),
    ],
    ids=[
        "a replication factor beside it",
        "a number of partitions beside it",
        "a partition twice",
        "no broker",
        "a broker that is not registered",
        "a broker that cannot be",
        "a broker twice",
        "it does not begin at 0",
        "a gap",
        "a partition below 0",
        "different replication factors",
    ],
)
def test_a_placement_by_hand_that_cannot_be_is_refused(
    pairs: list[tuple[int, list[int]]], partitions: int, replicas: int, code: ErrorCode
) -> None:
    asked = CreatableTopic(
        name="t",
        num_partitions=partitions,
        replication_factor=replicas,
        assignments=assignments(*pairs),
    )

    assert only_error(create(controller(3), asked)) == code


def test_leaders_go_round_and_followers_come_after_them() -> None:
    assert place_replicas([1, 2, 3], 4, 2, start=0) == [[1, 2], [2, 3], [3, 1], [1, 2]]
    assert place_replicas([1, 2, 3], 2, 3, start=5) == [[3, 1, 2], [1, 2, 3]]
    assert place_replicas([7], 3, 1, start=2) == [[7], [7], [7]]


@pytest.mark.parametrize("brokers", [[], [1], [1, 2]])
def test_more_replicas_than_brokers_cannot_be_placed(brokers: list[int]) -> None:
    with pytest.raises(Refused) as refused:
        place_replicas(brokers, 1, len(brokers) + 1, start=0)
    assert refused.value.code == ErrorCode.INVALID_REPLICATION_FACTOR


# Deleting


@pytest.fixture
def three() -> Controller:
    """With the topics a, b and c, whose ids are the first, the second and the third."""
    one = controller()
    run(one, create(one, topic("a"), topic("b", partitions=3, retention_ms="5"), topic("c")))
    return one


def delete(one: Controller, *states: tuple[str | None, int]) -> Outcome:
    """By name, or by the number of an id, where 0 is none."""
    topics = [
        DeleteTopicState(name, topic_id(number) if number else NO_UUID) for name, number in states
    ]
    return one.delete_topics(DeleteTopicsRequest(topics=topics), 6)


def rows(outcome: Outcome) -> list[tuple[str | None, bytes, ErrorCode]]:
    for row in outcome.response.responses:
        assert bool(row.error_code) == bool(row.error_message)
    return [
        (row.name, row.topic_id, ErrorCode(row.error_code)) for row in outcome.response.responses
    ]


def removals(*numbers: int) -> list[schema.RemoveTopicRecord]:
    return [schema.RemoveTopicRecord(topic_id=topic_id(number)) for number in numbers]


def test_topics_are_deleted_by_name_and_by_id_and_told_by_both(three: Controller) -> None:
    outcome = delete(three, ("b", 0), (None, 1))

    assert outcome.records == removals(2, 1)
    assert outcome.response.responses == [
        DeletableTopicResult(name="b", topic_id=topic_id(2)),
        DeletableTopicResult(name="a", topic_id=topic_id(1)),
    ]
    run(three, outcome)
    assert list(three.image.topics) == ["c"]
    assert three.image.configs == {}


def test_before_version_6_topics_are_deleted_by_name_alone(three: Controller) -> None:
    outcome = three.delete_topics(DeleteTopicsRequest(topic_names=["c", "nope"]), 5)

    assert outcome.records == removals(3)
    assert rows(outcome) == [
        ("nope", NO_UUID, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION),
        ("c", topic_id(3), ErrorCode.NONE),
    ]


@pytest.mark.parametrize(
    ("asked", "answered"),
    [
        ([("nope", 0)], [("nope", NO_UUID, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)]),
        ([(None, 9)], [(None, topic_id(9), ErrorCode.UNKNOWN_TOPIC_ID)]),
        ([("a", 1)], [("a", topic_id(1), ErrorCode.INVALID_REQUEST)]),
        ([(None, 0)], [(None, NO_UUID, ErrorCode.INVALID_REQUEST)]),
        ([("a", 0), ("a", 0)], [("a", NO_UUID, ErrorCode.INVALID_REQUEST)]),
        ([(None, 1), (None, 1)], [(None, topic_id(1), ErrorCode.INVALID_REQUEST)]),
        ([("a", 0), (None, 1)], [("a", topic_id(1), ErrorCode.INVALID_REQUEST)]),
    ],
    ids=[
        "a name that is not known",
        "an id that is not known",
        "name and id in one row",
        "neither name nor id",
        "a name twice",
        "an id twice",
        "a name and the same topic's id",
    ],
)
def test_a_topic_that_is_not_named_well_is_not_deleted(
    three: Controller,
    asked: list[tuple[str | None, int]],
    answered: list[tuple[str | None, bytes, ErrorCode]],
) -> None:
    outcome = delete(three, *asked)

    assert rows(outcome) == answered
    assert outcome.records == []


def test_what_is_refused_does_not_keep_others_from_being_deleted(three: Controller) -> None:
    outcome = delete(three, ("a", 0), ("nope", 0), ("b", 0), (None, 2), ("c", 0))

    assert outcome.records == removals(1, 3)
    assert rows(outcome) == [
        ("nope", NO_UUID, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION),
        ("a", topic_id(1), ErrorCode.NONE),
        ("b", topic_id(2), ErrorCode.INVALID_REQUEST),
        ("c", topic_id(3), ErrorCode.NONE),
    ]


def test_a_request_that_names_very_many_topics_is_answered_in_one_pass() -> None:
    """One frame may hold more. Counted one by one against all others, these took minutes."""
    names = [str(number) for number in range(100_000)]

    outcome = controller().delete_topics(DeleteTopicsRequest(topic_names=names), 5)

    assert len(outcome.response.responses) == len(names)
