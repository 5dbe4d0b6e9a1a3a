"""Fetch sessions (KIP-227): every transition, what is told, and what they may cost."""

from collections.abc import Iterator
from typing import Any

import pytest

from ottla.broker import fetch_sessions
from ottla.broker.fetch_sessions import EPOCH_MAX, EVICTION_MS, FetchSessions
from ottla.config import BrokerConfig
from ottla.errors import ErrorCode, Refused
from ottla.names import Now
from ottla.protocol.schema.fetch import FetchRequest, FetchResponse, ForgottenTopic
from tests.unit.broker.harness import Client, Entropy, Harness, fetch_request, fetched, records_of

NOW = Now(1_000_000, 1_000_000)


@pytest.fixture
def harness() -> Iterator[Harness]:
    harness = Harness({"max.incremental.fetch.session.cache.slots": "3"})
    harness.create_topic("orders", 3)
    yield harness
    harness.assert_nothing_left()


def ask(client: Client, session: tuple[int, int], *partitions: int, **more: Any) -> FetchResponse:
    request = fetch_request(
        "orders", 0, partitions=partitions, max_wait_ms=0, session=session, **more
    )
    answer: FetchResponse = client.ask(request, 12)
    return answer


def begin(client: Client, *partitions: int) -> int:
    answer = ask(client, (0, 0), *partitions)
    assert answer.session_id > 0
    return answer.session_id


def told(answer: FetchResponse) -> list[int]:
    return [p.partition_index for topic in answer.responses for p in topic.partitions]


def forget(*partitions: int) -> list[ForgottenTopic]:
    return [ForgottenTopic(topic="orders", partitions=list(partitions))]


# What is told


def test_a_session_begins_with_everything_and_goes_on_with_what_changed(harness: Harness) -> None:
    client, producer = harness.connect(), harness.connect()
    answer = ask(client, (0, 0), 0, 1, 2)
    assert told(answer) == [0, 1, 2]
    session = answer.session_id
    assert told(ask(client, (session, 1))) == []
    producer.produce("orders", b"a", partition=1)
    answer = ask(client, (session, 2))
    assert told(answer) == [1]
    assert len(records_of(answer)) > 0


def test_data_that_was_not_taken_is_told_again(harness: Harness) -> None:
    client = harness.connect()
    client.produce("orders", b"a")
    session = begin(client, 0)
    for epoch in (1, 2, 3):
        assert told(ask(client, (session, epoch))) == [0]


def test_a_new_offset_replaces_the_old_one(harness: Harness) -> None:
    client = harness.connect()
    client.produce("orders", b"a")
    session = begin(client, 0)
    moved = fetch_request("orders", 1, session=(session, 1), max_wait_ms=0)
    assert told(client.ask(moved, 12)) == []
    assert told(ask(client, (session, 2))) == []


def test_an_error_is_told_each_time(harness: Harness) -> None:
    client = harness.connect()
    session = begin(client, 0, 7)
    for epoch in (1, 2):
        answer = ask(client, (session, epoch))
        assert told(answer) == [7]
        assert fetched(answer).error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION


def test_a_new_high_watermark_alone_is_told(harness: Harness) -> None:
    client = harness.connect()
    session = begin(client, 0)
    client.produce("orders", b"a")
    request = fetch_request("orders", 1, session=(session, 1), max_wait_ms=0)
    answer = client.ask(request, 12)
    assert told(answer) == [0]
    assert fetched(answer).high_watermark == 1
    assert told(ask(client, (session, 2))) == []


def test_partitions_that_were_served_go_behind_those_that_were_not(harness: Harness) -> None:
    client = harness.connect()
    for index in range(3):
        client.produce("orders", bytes(1000), partition=index)
    session = begin(client, 0, 1, 2)
    served = []
    for epoch in range(1, 7):
        request = fetch_request("orders", 0, partitions=(), session=(session, epoch))
        request.max_bytes = 100
        answer = client.ask(request, 12)
        served += [p.partition_index for p in answer.responses[0].partitions if p.records]
    assert served == [0, 1, 2, 0, 1, 2]


def test_partitions_come_and_go_within_a_session(harness: Harness) -> None:
    client = harness.connect()
    session = begin(client, 0)
    assert told(ask(client, (session, 1), 1)) == [1]
    for index in range(2):
        client.produce("orders", b"a", partition=index)
    answer = ask(client, (session, 2), forget=forget(0))
    assert told(answer) == [1]


def test_forgetting_what_was_never_there_is_no_error(harness: Harness) -> None:
    client = harness.connect()
    session = begin(client, 0)
    assert ask(client, (session, 1), forget=forget(1, 2, 9)).error_code == 0


def test_a_session_that_forgot_everything_ends(harness: Harness) -> None:
    client = harness.connect()
    session = begin(client, 0)
    answer = ask(client, (session, 1), forget=forget(0))
    assert (answer.error_code, answer.session_id) == (0, 0)
    assert ask(client, (session, 2)).error_code == ErrorCode.FETCH_SESSION_ID_NOT_FOUND
    assert len(harness.node.fetch_sessions) == 0


# Epochs and ids


def test_without_a_session_everything_is_told_and_nothing_is_kept(harness: Harness) -> None:
    client = harness.connect()
    assert told(ask(client, (0, -1), 0, 1)) == [0, 1]
    assert len(harness.node.fetch_sessions) == 0


def test_a_session_that_never_was_is_not_found(harness: Harness) -> None:
    client = harness.connect()
    for session in ((0, 1), (77, 1), (-5, 3)):
        assert ask(client, session, 0).error_code == ErrorCode.FETCH_SESSION_ID_NOT_FOUND


@pytest.mark.parametrize("epoch", [2, 5, EPOCH_MAX, -7])
def test_the_wrong_epoch_is_refused_and_the_session_lives(harness: Harness, epoch: int) -> None:
    client = harness.connect()
    session = begin(client, 0)
    answer = ask(client, (session, epoch))
    assert answer.error_code == ErrorCode.INVALID_FETCH_SESSION_EPOCH
    assert ask(client, (session, 1)).error_code == 0


def test_an_epoch_that_was_used_is_refused(harness: Harness) -> None:
    client = harness.connect()
    session = begin(client, 0)
    assert ask(client, (session, 1)).error_code == 0
    assert ask(client, (session, 1)).error_code == ErrorCode.INVALID_FETCH_SESSION_EPOCH


def test_the_final_epoch_ends_a_session(harness: Harness) -> None:
    client = harness.connect()
    session = begin(client, 0)
    answer = ask(client, (session, -1), 0)
    assert (answer.error_code, answer.session_id) == (0, 0)
    assert told(answer) == [0]
    assert ask(client, (session, 1)).error_code == ErrorCode.FETCH_SESSION_ID_NOT_FOUND


def test_epoch_zero_with_an_id_begins_anew(harness: Harness) -> None:
    client = harness.connect()
    session = begin(client, 0)
    answer = ask(client, (session, 0), 0, 1)
    assert told(answer) == [0, 1]
    assert answer.session_id not in (0, session)
    assert ask(client, (session, 1)).error_code == ErrorCode.FETCH_SESSION_ID_NOT_FOUND
    assert len(harness.node.fetch_sessions) == 1


def test_the_epoch_after_the_largest_is_one(harness: Harness) -> None:
    client = harness.connect()
    session = begin(client, 0)
    harness.node.fetch_sessions._sessions[session].epoch = EPOCH_MAX
    assert ask(client, (session, EPOCH_MAX)).error_code == 0
    assert ask(client, (session, 1)).error_code == 0


def test_names_and_topic_ids_do_not_mix_in_a_session(harness: Harness) -> None:
    client = harness.connect()
    session = begin(client, 0)
    request = FetchRequest(max_wait_ms=0, session_id=session, session_epoch=1)
    assert client.ask(request, 13).error_code == ErrorCode.FETCH_SESSION_TOPIC_ID_ERROR
    by_id = client.ask(FetchRequest(max_wait_ms=0, session_id=0, session_epoch=0), 13)
    request = fetch_request("orders", 0, session=(by_id.session_id, 1), max_wait_ms=0)
    assert client.ask(request, 12).error_code == ErrorCode.FETCH_SESSION_TOPIC_ID_ERROR


def test_versions_before_sessions_know_none(harness: Harness) -> None:
    client = harness.connect()
    request = fetch_request("orders", 0, max_wait_ms=0, session=(0, -1))
    assert client.ask(request, 6).session_id == 0
    assert len(harness.node.fetch_sessions) == 0


# Room


def test_a_full_cache_gives_no_session_until_one_was_unused_for_long(harness: Harness) -> None:
    client = harness.connect()
    sessions = [begin(client, 0) for _ in range(3)]
    assert ask(client, (0, 0), 0).session_id == 0
    harness.advance(EVICTION_MS - 1)
    assert ask(client, (sessions[0], 1)).error_code == 0
    harness.advance(2)
    newcomer = begin(client, 0)
    assert ask(client, (sessions[0], 2)).error_code == 0
    assert ask(client, (sessions[1], 1)).error_code == ErrorCode.FETCH_SESSION_ID_NOT_FOUND
    assert ask(client, (newcomer, 1)).error_code == 0
    assert len(harness.node.fetch_sessions) == 3


def test_a_session_that_is_larger_than_all_room_is_not_begun(
    harness: Harness, monkeypatch: pytest.MonkeyPatch
) -> None:
    client = harness.connect()
    kept = begin(client, 0)
    monkeypatch.setattr(fetch_sessions, "SESSION_BYTES_MAX", 2000)
    answer = ask(client, (0, 0), *range(10))
    assert answer.session_id == 0
    assert told(answer)[:3] == [0, 1, 2]
    assert ask(client, (kept, 1)).error_code == 0
    assert len(harness.node.fetch_sessions) == 1


def test_a_session_that_outgrows_all_room_ends(
    harness: Harness, monkeypatch: pytest.MonkeyPatch
) -> None:
    client = harness.connect()
    session = begin(client, 0)
    monkeypatch.setattr(fetch_sessions, "SESSION_BYTES_MAX", 2000)
    answer = ask(client, (session, 1), *range(10))
    assert answer.error_code == ErrorCode.FETCH_SESSION_ID_NOT_FOUND
    assert len(harness.node.fetch_sessions) == 0


def test_what_sessions_cost_is_given_back(harness: Harness) -> None:
    client = harness.connect()
    session = begin(client, 0, 1, 2)
    ask(client, (session, 1), 5, 6, 7, forget=forget(0, 1))
    ask(client, (session, -1))
    other = begin(client, 0)
    ask(client, (other, 0), 0)
    ask(client, (other, -1))
    for live in list(harness.node.fetch_sessions._sessions):
        ask(client, (live, -1))
    assert harness.node.fetch_sessions._size == 0


# Sessions and time


def test_a_session_serves_a_waiting_fetch_and_the_next_one(harness: Harness) -> None:
    client, producer = harness.connect(), harness.connect()
    session = begin(client, 0, 1)
    waiting = client.send(
        fetch_request("orders", 0, partitions=(), session=(session, 1), max_wait_ms=500), 12
    )
    assert not client.has_reply(waiting)
    producer.produce("orders", b"a", partition=1)
    assert told(client.reply(waiting)) == [1]
    assert told(ask(client, (session, 2))) == [1]


def test_a_waiting_fetch_whose_partition_is_forgotten_elsewhere_lets_go_of_it(
    harness: Harness,
) -> None:
    client, other, producer = (harness.connect() for _ in range(3))
    session = begin(client, 0, 1)
    waiting = client.send(
        fetch_request("orders", 0, partitions=(), session=(session, 1), max_wait_ms=500), 12
    )
    harness.holds_flushes = True
    producer.produce("orders", b"a", acks=1)
    harness.finish_flush()
    # Woken, and before it runs its session forgets the partition that woke it.
    other.lend(
        fetch_request("orders", 1, partitions=(), session=(session, 2), forget=forget(0)), 12
    )
    harness.settle()
    harness.advance(500)
    assert told(client.reply(waiting)) == []


# The cache by itself


def test_ids_are_drawn_until_one_is_free() -> None:
    config, _ = BrokerConfig.load({})

    class Stubborn(Entropy):
        drawn = iter((5, 5, 0, 5, 6))

        def session_id(self) -> int:
            return next(self.drawn)

    sessions = FetchSessions(config, Stubborn())
    request = fetch_request("orders", 0, session=(0, 0))
    for expected in (5, 6):
        context = sessions.open(request, 12, NOW)
        assert context.answer([]).session_id == expected
    with pytest.raises(Refused):
        sessions.open(fetch_request("orders", 0, session=(7, 1)), 12, NOW)
