"""Fetch: what a reader may see, how much of it, and when it is told."""

from typing import Any

import pytest

from ottla.errors import ErrorCode
from ottla.protocol.schema.fetch import (
    AbortedTransaction,
    EpochEndOffset,
    FetchResponse,
    ForgottenTopic,
    LeaderIdAndEpoch,
    NodeEndpoint,
    PartitionData,
    ReplicaState,
)
from tests.unit.api.asking import At, To, delete, fetch, produce, reads, restarted, values
from tests.unit.broker.harness import Client, Harness, batch, fetched

NONE = ErrorCode.NONE
UNKNOWN_TOPIC = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
OUT_OF_RANGE = ErrorCode.OFFSET_OUT_OF_RANGE
FENCED = ErrorCode.FENCED_LEADER_EPOCH
SIZE = len(batch(bytes(1000)))


@pytest.fixture
def client(harness: Harness) -> Client:
    return harness.connect()


def fill(client: Client, *partitions: int, count: int = 1) -> None:
    """So many batches of SIZE bytes into each."""
    for _ in range(count):
        client.ask(produce(*[To("orders", at, batch(bytes(1000))) for at in partitions]), 9)


def sizes(response: FetchResponse) -> list[int]:
    return [size for *_, size in reads(response)]


# How much


@pytest.mark.parametrize(
    ("bytes_max", "expected"),
    [
        (1 << 20, [2 * SIZE, 2 * SIZE, 2 * SIZE]),
        (4 * SIZE, [2 * SIZE, 2 * SIZE, 0]),
        (3 * SIZE, [2 * SIZE, SIZE, 0]),
        (3 * SIZE - 1, [2 * SIZE, 0, 0]),
        (2 * SIZE - 1, [2 * SIZE - 1, 0, 0]),
        (SIZE - 1, [SIZE, 0, 0]),
        (0, [SIZE, 0, 0]),
    ],
)
def test_max_bytes_is_shared_in_the_order_of_the_request_and_the_first_batch_comes_whole(
    client: Client, bytes_max: int, expected: list[int]
) -> None:
    fill(client, 0, 1, 2, count=2)
    request = fetch(*[At("orders", index) for index in range(3)], max_bytes=bytes_max)
    assert sizes(client.ask(request, 12)) == expected


@pytest.mark.parametrize(
    ("limits", "expected"),
    [
        ((1, 1, 1), [SIZE, 0, 0]),
        ((0, SIZE, 1), [SIZE, SIZE, 0]),
        ((SIZE, 2 * SIZE, SIZE + 10), [SIZE, 2 * SIZE, SIZE + 10]),
    ],
)
def test_each_partition_has_a_limit_of_its_own_and_only_the_first_may_pass_it(
    client: Client, limits: tuple[int, ...], expected: list[int]
) -> None:
    fill(client, 0, 1, 2, count=2)
    places = [At("orders", index, 0, limit) for index, limit in enumerate(limits)]
    assert sizes(client.ask(fetch(*places), 12)) == expected


def test_the_first_partition_with_data_counts_as_the_first(client: Client) -> None:
    fill(client, 2)
    request = fetch(*[At("orders", index, 0, 1) for index in range(3)])
    assert sizes(client.ask(request, 12)) == [0, 0, SIZE]


def test_the_broker_has_a_limit_too() -> None:
    harness = Harness({"fetch.max.bytes": str(2 * SIZE)})
    harness.create_topic("orders")
    client = harness.connect()
    fill(client, 0, count=3)
    assert sizes(client.ask(fetch(At("orders", 0)), 12)) == [2 * SIZE]
    harness.assert_nothing_left()


def test_a_fetch_from_the_middle_of_a_batch_brings_all_of_the_batch(client: Client) -> None:
    client.produce("orders", b"a", b"b", b"c")
    client.produce("orders", b"d")
    response = client.ask(fetch(At("orders", 0, 1)), 12)
    assert values(response) == [(0, b"a"), (1, b"b"), (2, b"c"), (3, b"d")]


@pytest.mark.parametrize("bytes_max", [-1, -(2**31)])
def test_less_than_nothing_is_refused(client: Client, bytes_max: int) -> None:
    response = client.ask(fetch(At("orders", 0, 0, bytes_max)), 12)
    assert reads(response) == [("orders", 0, ErrorCode.UNKNOWN_SERVER_ERROR, 0)]


# What


@pytest.mark.parametrize(("isolation", "aborted"), [(0, None), (1, [])])
def test_an_answer_tells_the_bounds_and_the_records(
    client: Client, isolation: int, aborted: list[AbortedTransaction] | None
) -> None:
    client.produce("orders", b"a", b"b")
    answer = fetched(client.ask(fetch(At("orders", 0, 2), isolation_level=isolation), 12))
    assert answer == PartitionData(
        partition_index=0,
        high_watermark=2,
        last_stable_offset=2,
        log_start_offset=0,
        aborted_transactions=aborted,
        records=memoryview(b""),
    )


@pytest.mark.parametrize(("offset", "code"), [(-1, OUT_OF_RANGE), (0, NONE), (3, OUT_OF_RANGE)])
def test_offsets_outside_the_log_are_out_of_range_at_once(
    client: Client, offset: int, code: ErrorCode
) -> None:
    client.produce("orders", b"a", b"b")
    answer = fetched(client.ask(fetch(At("orders", 0, offset), max_wait_ms=5000), 12))
    assert (answer.error_code, answer.high_watermark) == (code, -1 if code else 2)


def test_what_is_not_flushed_is_neither_shown_nor_out_of_range(harness: Harness) -> None:
    client, producer = harness.connect(), harness.connect()
    producer.produce("orders", b"a")
    harness.holds_flushes = True
    producer.produce("orders", b"b", b"c", acks=1)
    assert values(client.ask(fetch(At("orders", 0)), 12)) == [(0, b"a")]
    ahead = [harness.connect() for _ in range(3)]
    sent = [reader.send(fetch(At("orders", 0, 1 + at)), 12) for at, reader in enumerate(ahead)]
    assert [reader.order for reader in ahead] == [[], [], []]
    harness.holds_flushes = False
    harness.settle()
    answers = [values(reader.reply(at)) for at, reader in zip(sent, ahead, strict=True)]
    assert answers == [[(1, b"b"), (2, b"c")], [(1, b"b"), (2, b"c")], []]


def test_a_record_that_another_partition_hides_is_not_waited_for(harness: Harness) -> None:
    """There is something to answer with, so nobody has to wait for the flush."""
    client, producer = harness.connect(), harness.connect()
    producer.produce("orders", b"a")
    harness.holds_flushes = True
    producer.produce("orders", b"b", partition=1, acks=1)
    response = client.ask(fetch(At("orders", 0), At("orders", 1)), 12)
    assert values(response) == [(0, b"a")]


def test_a_partition_that_is_named_twice_is_read_once_where_it_was_named_last(
    client: Client,
) -> None:
    client.produce("orders", b"a")
    client.produce("orders", b"b")
    response = client.ask(fetch(At("orders", 0, 0), At("orders", 0, 1)), 12)
    assert values(response) == [(1, b"b")]


@pytest.mark.parametrize(("version", "named"), [(12, True), (13, False)])
def test_since_version_13_topics_are_named_by_id(
    harness: Harness, client: Client, version: int, named: bool
) -> None:
    client.produce("orders", b"a")
    topic_id = harness.partition("orders").topic_id
    place = At("orders", 0) if named else At("", 0, topic_id=topic_id)
    response = client.ask(fetch(place), version)
    topic = response.responses[0]
    assert (topic.topic, topic.topic_id) == (("orders", bytes(16)) if named else ("", topic_id))
    assert values(response) == [(0, b"a")]


# When


def test_unknown_partitions_stand_last_and_keep_nobody_from_waiting(harness: Harness) -> None:
    client = harness.connect()
    request = fetch(At("nowhere", 0), At("orders", 9), At("orders", 0), max_wait_ms=100)
    sent = client.send(request, 12)
    harness.advance(99)
    assert not client.has_reply(sent)
    harness.advance(1)
    assert reads(client.reply(sent)) == [
        ("orders", 0, NONE, 0),
        ("nowhere", 0, UNKNOWN_TOPIC, 0),
        ("orders", 9, UNKNOWN_TOPIC, 0),
    ]


@pytest.mark.parametrize(
    "places",
    [
        [At("nowhere", 0)],
        [At("orders", 0), At("orders", 1, 77)],
        [At("orders", 0), At("orders", 1, leader_epoch=5)],
        [],
    ],
)
def test_with_nothing_to_wait_for_or_something_wrong_the_answer_comes_at_once(
    client: Client, places: list[At]
) -> None:
    assert client.has_reply(client.send(fetch(*places, max_wait_ms=5000), 12))


def test_min_bytes_are_counted_over_all_partitions(harness: Harness) -> None:
    client, producer = harness.connect(), harness.connect()
    places = [At("orders", index) for index in range(3)]
    sent = client.send(fetch(*places, max_wait_ms=5000, min_bytes=3 * SIZE), 12)
    for index in range(3):
        assert not client.has_reply(sent)
        fill(producer, index)
    assert sizes(client.reply(sent)) == [SIZE, SIZE, SIZE]


def test_one_of_several_partitions_that_is_deleted_answers_for_all(harness: Harness) -> None:
    harness.create_topic("doomed")
    client, admin = harness.connect(), harness.connect()
    sent = client.send(fetch(At("orders", 0), At("doomed", 0), max_wait_ms=60_000), 12)
    admin.ask(delete("doomed"), 6)
    assert reads(client.reply(sent)) == [("orders", 0, NONE, 0), ("doomed", 0, UNKNOWN_TOPIC, 0)]


@pytest.mark.parametrize("isolation", [-1, 2])
def test_an_isolation_level_that_nobody_knows_is_refused_as_kafka_does(
    client: Client, isolation: int
) -> None:
    response = client.ask(fetch(At("orders", 0), isolation_level=isolation), 12)
    code = ErrorCode.UNKNOWN_SERVER_ERROR
    assert (response.error_code, reads(response)) == (code, [("orders", 0, code, 0)])


# Epochs


@pytest.mark.parametrize(
    ("leader_epoch", "code"),
    [(-2, NONE), (-1, NONE), (0, FENCED), (1, NONE), (2, ErrorCode.UNKNOWN_LEADER_EPOCH)],
)
def test_a_reader_must_know_the_leaders_own_epoch_or_none(
    harness: Harness, leader_epoch: int, code: ErrorCode
) -> None:
    harness.disk.kill()
    after = restarted(harness)
    request = fetch(At("orders", 0, leader_epoch=leader_epoch))
    assert reads(after.connect().ask(request, 12)) == [("orders", 0, code, 0)]
    after.assert_nothing_left()


@pytest.mark.parametrize(
    ("version", "leader", "endpoints"),
    [
        (15, LeaderIdAndEpoch(), []),
        (16, LeaderIdAndEpoch(1, 1), [NodeEndpoint(1, "broker", 9092, None)]),
    ],
)
def test_a_fenced_reader_is_told_the_leader_since_version_16(
    harness: Harness, version: int, leader: LeaderIdAndEpoch, endpoints: list[NodeEndpoint]
) -> None:
    topic_id = harness.partition("orders").topic_id
    harness.disk.kill()
    after = restarted(harness)
    request = fetch(At("", 0, leader_epoch=0, topic_id=topic_id), At("", 1, 99, topic_id=topic_id))
    response = after.connect().ask(request, version)
    told = [answer for topic in response.responses for answer in topic.partitions]
    assert [answer.error_code for answer in told] == [FENCED, OUT_OF_RANGE]
    assert [answer.current_leader for answer in told] == [leader, LeaderIdAndEpoch()]
    assert response.node_endpoints == endpoints


@pytest.mark.parametrize(
    ("fetched_epoch", "offset", "diverging"),
    [
        (-1, 2, (-1, -1)),
        (0, 2, (-1, -1)),
        (0, 3, (0, 2)),
        (1, 3, (-1, -1)),
        (1, 4, (1, 3)),
        (2, 3, (-1, -1)),
        (2, 4, (2, 3)),
    ],
)
def test_a_reader_whose_last_record_is_none_of_this_log_is_told_where_the_two_part(
    harness: Harness, fetched_epoch: int, offset: int, diverging: tuple[int, int]
) -> None:
    harness.connect().produce("orders", b"a", b"b")
    harness.disk.kill()
    second = restarted(harness)
    second.connect().produce("orders", b"c")
    second.disk.kill()
    third = restarted(second)
    request = fetch(At("orders", 0, offset, fetched_epoch=fetched_epoch), max_wait_ms=0)
    answer = fetched(third.connect().ask(request, 12))
    assert (answer.error_code, answer.diverging_epoch) == (NONE, EpochEndOffset(*diverging))


@pytest.mark.parametrize(
    ("version", "replica"),
    [(12, {"replica_id": 2}), (15, {"replica_state": ReplicaState(2, 5)})],
)
def test_a_broker_that_keeps_no_replica_may_not_follow(
    harness: Harness, version: int, replica: dict[str, Any]
) -> None:
    place = {
        12: At("orders", 0),
        15: At("", 0, topic_id=harness.partition("orders").topic_id),
    }[version]
    answer = fetched(harness.connect().ask(fetch(place, **replica), version))
    assert answer.error_code == ErrorCode.NOT_LEADER_OR_FOLLOWER


# Sessions


def begin(client: Client, *places: At) -> int:
    session_id = client.ask(fetch(*places, session=(0, 0)), 12).session_id
    assert session_id > 0
    return int(session_id)


def test_a_session_is_told_only_what_changed(client: Client) -> None:
    places = [At("orders", index) for index in range(3)]
    session = begin(client, *places)
    assert reads(client.ask(fetch(session=(session, 1)), 12)) == []
    fill(client, 1)
    assert reads(client.ask(fetch(session=(session, 2)), 12)) == [("orders", 1, NONE, SIZE)]
    moved = fetch(At("orders", 1, 1), session=(session, 3))
    assert reads(client.ask(moved, 12)) == []


def test_a_session_that_is_woken_by_a_partition_it_never_named_again_is_told(
    harness: Harness,
) -> None:
    client, producer = harness.connect(), harness.connect()
    session = begin(client, At("orders", 0), At("orders", 1))
    sent = client.send(fetch(session=(session, 1), max_wait_ms=5000), 12)
    fill(producer, 1)
    assert reads(client.reply(sent)) == [("orders", 1, NONE, SIZE)]


def test_a_partition_that_was_served_goes_behind_the_others_so_that_none_starves(
    client: Client,
) -> None:
    fill(client, 0, 1, 2, count=2)
    places = [At("orders", index, 0, SIZE) for index in range(3)]
    session = begin(client, *places)
    order = []
    for epoch in range(1, 5):
        response = client.ask(fetch(session=(session, epoch), max_bytes=SIZE), 12)
        order += [index for _, index, _, size in reads(response) if size]
    assert order == [0, 1, 2, 0]


def test_a_forgotten_partition_is_not_read_and_the_last_one_ends_the_session(
    client: Client, harness: Harness
) -> None:
    fill(client, 0, 1)
    session = begin(client, At("orders", 0), At("orders", 1))
    forget = [ForgottenTopic(topic="orders", partitions=[0])]
    response = client.ask(fetch(session=(session, 1), forgotten_topics_data=forget), 12)
    assert reads(response) == [("orders", 1, NONE, SIZE)]
    forget = [ForgottenTopic(topic="orders", partitions=[1])]
    response = client.ask(fetch(session=(session, 2), forgotten_topics_data=forget), 12)
    assert (response.session_id, reads(response)) == (0, [])
    assert len(harness.node.fetch_sessions) == 0


@pytest.mark.parametrize(
    ("stranger", "epoch", "code"),
    [
        (True, 1, ErrorCode.FETCH_SESSION_ID_NOT_FOUND),
        (False, 2, ErrorCode.INVALID_FETCH_SESSION_EPOCH),
        (False, 1, NONE),
    ],
)
def test_a_session_is_known_by_its_id_and_its_next_epoch(
    client: Client, stranger: bool, epoch: int, code: ErrorCode
) -> None:
    session = begin(client, At("orders", 0))
    session_id = session ^ 1 if stranger else session
    response = client.ask(fetch(session=(session_id, epoch)), 12)
    assert (response.error_code, reads(response)) == (code, [])


def test_a_session_does_not_change_from_names_to_ids(client: Client) -> None:
    session = begin(client, At("orders", 0))
    response = client.ask(fetch(session=(session, 1)), 13)
    assert response.error_code == ErrorCode.FETCH_SESSION_TOPIC_ID_ERROR


def test_an_error_in_a_session_is_told_until_it_is_over(harness: Harness, client: Client) -> None:
    session = begin(client, At("orders", 0), At("later", 0))
    for epoch in (1, 2):
        response = client.ask(fetch(session=(session, epoch)), 12)
        assert reads(response) == [("later", 0, UNKNOWN_TOPIC, 0)]
    harness.create_topic("later")
    assert reads(client.ask(fetch(session=(session, 3)), 12)) == [("later", 0, NONE, 0)]
    assert reads(client.ask(fetch(session=(session, 4)), 12)) == []
