"""Replies leave in the order of their requests, whatever waits in between."""

from collections.abc import Iterator

import pytest

from ottla.limits import SLOTS_PER_CONNECTION_MAX
from ottla.protocol.schema.api_versions import ApiVersionsRequest
from ottla.protocol.schema.metadata import MetadataRequest
from tests.unit.broker.harness import (
    METADATA,
    Harness,
    fetch_request,
    list_offsets_request,
    produce_request,
    produced,
    records_of,
    request_frame,
)

ASK_METADATA = MetadataRequest(topics=[])


@pytest.fixture
def harness() -> Iterator[Harness]:
    harness = Harness()
    harness.create_topic("orders", 2)
    yield harness
    harness.assert_nothing_left()


def test_a_reply_behind_a_parked_produce_waits_for_it(harness: Harness) -> None:
    client = harness.connect()
    harness.holds_flushes = True
    first = client.produce("orders", b"a", acks=-1)
    second = client.produce("orders", b"b", acks=1)
    assert client.order == []
    assert not client.is_muted
    harness.holds_flushes = False
    harness.settle()
    assert client.order == [first, second]
    assert [produced(client.reply(at)).base_offset for at in client.order] == [0, 1]


def test_a_parked_produce_in_the_middle_holds_back_only_what_follows(harness: Harness) -> None:
    client = harness.connect()
    harness.holds_flushes = True
    before = client.send(ASK_METADATA, 9)
    assert client.order == [before]
    parked = client.produce("orders", b"a", acks=-1)
    refused = client.produce("nowhere", b"b", acks=1)
    silent = client.produce("orders", b"c", acks=0)
    last = client.produce("orders", b"d", acks=1)
    assert client.order == [before]
    harness.holds_flushes = False
    harness.settle()
    assert client.order == [before, parked, refused, last]
    assert not client.has_reply(silent)
    assert produced(client.reply(last)).base_offset == 2


def test_what_is_not_a_produce_is_held_behind_a_parked_one(harness: Harness) -> None:
    client = harness.connect()
    harness.holds_flushes = True
    parked = client.produce("orders", b"a", acks=-1)
    held = client.fetch("orders", 0)
    later = client.send(ApiVersionsRequest(), 0)
    assert client.is_muted
    assert client.order == []
    assert len(client.waiting) == 1, "one frame is held by the node, the next one is not delivered"
    harness.holds_flushes = False
    harness.settle()
    assert client.order == [parked, held, later]
    # It ran only then, and saw what it was sent behind.
    assert len(records_of(client.reply(held))) > 0
    assert not client.is_muted


def test_a_held_request_that_parks_keeps_its_connection_muted(harness: Harness) -> None:
    client, other = harness.connect(), harness.connect()
    harness.holds_flushes = True
    parked = client.produce("orders", b"a", acks=-1)
    held = client.fetch("orders", 1)
    later = client.send(ApiVersionsRequest(), 0)
    harness.holds_flushes = False
    harness.settle()
    assert client.order == [parked]
    assert client.is_muted
    other.produce("orders", b"b", acks=1)
    assert client.order == [parked, held, later]
    assert not client.is_muted


def test_a_held_request_that_cannot_be_read_closes_behind_the_replies(harness: Harness) -> None:
    client = harness.connect()
    harness.holds_flushes = True
    parked = client.produce("orders", b"a", acks=-1)
    whole = request_frame(list_offsets_request("orders"), 7, 77, 2)
    client.send_frame(whole[:-3])
    assert client.is_muted
    assert client.closed_why is None
    harness.holds_flushes = False
    harness.settle()
    assert client.order == [parked]
    assert client.closed_why is not None


def test_a_parked_fetch_mutes_until_it_is_answered(harness: Harness) -> None:
    client = harness.connect()
    parked = client.fetch("orders", 0, max_wait_ms=500)
    later = client.send(ASK_METADATA, 9)
    assert client.is_muted
    assert client.order == []
    harness.advance(499)
    assert client.order == []
    harness.advance(1)
    assert client.order == [parked, later]
    assert not client.is_muted


def test_produces_in_flight_are_bounded_and_the_rest_is_not_read(harness: Harness) -> None:
    client = harness.connect()
    harness.holds_flushes = True
    for _ in range(SLOTS_PER_CONNECTION_MAX):
        client.lend(produce_request("orders", b"a"), 9)
    assert not harness.node.connections[client.conn].is_muted
    client.lend(produce_request("orders", b"a"), 9)
    assert client.is_muted
    client.lend(produce_request("orders", b"a"), 9)
    assert len(client.waiting) == 1
    harness.holds_flushes = False
    harness.settle()
    assert client.order == list(range(1, SLOTS_PER_CONNECTION_MAX + 3))
    assert not client.is_muted


def test_acks_0_is_never_answered_and_an_error_closes(harness: Harness) -> None:
    client = harness.connect()
    sent = client.produce("orders", b"a", acks=0)
    assert not client.has_reply(sent)
    assert client.closed_why is None
    assert harness.partition("orders").log.end_offset == 1
    client.produce("nowhere", b"a", acks=0)
    assert client.closed_why is not None


def test_a_client_that_goes_away_takes_its_held_frame_with_it(harness: Harness) -> None:
    client = harness.connect()
    harness.holds_flushes = True
    client.produce("orders", b"a", acks=-1)
    client.send(ASK_METADATA, METADATA)
    client.close()
    harness.holds_flushes = False
    harness.settle()
    assert client.order == []
    assert harness.partition("orders").log.end_offset == 1
    assert not harness.partition("orders").waiters


def test_a_fetch_that_waits_dies_with_its_connection(harness: Harness) -> None:
    client = harness.connect()
    client.fetch("orders", 0, max_wait_ms=10_000)
    assert harness.partition("orders").fetch_waiters
    client.close()
    assert not harness.partition("orders").fetch_waiters
    assert harness.node.timers.next_deadline_ms() is None


def test_a_woken_fetch_of_a_closed_connection_does_not_run(harness: Harness) -> None:
    client, other = harness.connect(), harness.connect()
    client.fetch("orders", 0)
    harness.holds_flushes = True
    other.produce("orders", b"a", acks=1)
    harness.finish_flush()
    assert harness.node.woken.queue
    harness.close(client, "gone while it was woken")
    harness.settle()
    assert client.order == []


def test_closing_with_a_produce_parked_and_a_fetch_held_leaves_nothing(harness: Harness) -> None:
    client = harness.connect()
    harness.holds_flushes = True
    client.produce("orders", b"a", acks=-1, timeout_ms=5)
    client.fetch("orders", 0)
    client.close()
    harness.advance(10)
    harness.holds_flushes = False
    harness.settle()
    assert client.order == []


def test_a_frame_is_only_lent_for_the_call(harness: Harness) -> None:
    """The harness overwrites each frame after the call: names that were kept would be rubbish."""
    client, other = harness.connect(), harness.connect()
    fetch = client.send(fetch_request("orders", 0, session=(0, 0)), 12)
    other.produce("orders", b"a" * 100, acks=-1)
    response = client.reply(fetch)
    assert response.responses[0].topic == "orders"
    session = response.session_id
    again = client.send(fetch_request("orders", 0, partitions=(), session=(session, 1)), 12)
    assert client.reply(again).responses[0].topic == "orders"
