"""DeleteTopics: by name and by id, and what becomes of those who use the topic."""

import pytest

from ottla.errors import ErrorCode
from ottla.protocol.schema.delete_topics import (
    DeletableTopicResult,
    DeleteTopicsRequest,
    DeleteTopicsResponse,
    DeleteTopicState,
)
from tests.unit.api.asking import restarted
from tests.unit.broker.harness import Client, Harness, fetched, produced

NONE = ErrorCode.NONE
INVALID = ErrorCode.INVALID_REQUEST
NOBODY = b"\x07" * 16


def by_name(*names: str, version: int = 6, timeout_ms: int = 1000) -> DeleteTopicsRequest:
    if version < 6:
        return DeleteTopicsRequest(topic_names=list(names), timeout_ms=timeout_ms)
    states = [DeleteTopicState(name=name) for name in names]
    return DeleteTopicsRequest(topics=states, timeout_ms=timeout_ms)


def by_id(*ids: bytes) -> DeleteTopicsRequest:
    states = [DeleteTopicState(topic_id=topic_id) for topic_id in ids]
    return DeleteTopicsRequest(topics=states, timeout_ms=1000)


def codes(response: DeleteTopicsResponse) -> list[tuple[str | None, int]]:
    return [(result.name, result.error_code) for result in response.responses]


@pytest.fixture
def client(harness: Harness) -> Client:
    return harness.connect()


@pytest.mark.parametrize("version", [1, 5, 6])
def test_a_topic_is_deleted_by_name_in_every_version(
    harness: Harness, client: Client, version: int
) -> None:
    topic_id = harness.partition("orders").topic_id
    request = by_name("orders", version=version)
    told_id = topic_id if version >= 6 else bytes(16)
    assert client.ask(request, version).responses == [DeletableTopicResult("orders", told_id)]
    assert harness.node.image.topics == {}


def test_a_topic_is_deleted_by_id(harness: Harness, client: Client) -> None:
    topic_id = harness.partition("orders").topic_id
    response = client.ask(by_id(topic_id), 6)
    assert response.responses == [DeletableTopicResult("orders", topic_id)]
    assert harness.node.hosting.topics == {}


def test_what_cannot_be_deleted_stops_no_other(harness: Harness, client: Client) -> None:
    request = by_name("nowhere", "orders")
    request.topics.append(DeleteTopicState(topic_id=NOBODY))
    assert sorted(codes(client.ask(request, 6)), key=str) == [
        ("nowhere", ErrorCode.UNKNOWN_TOPIC_OR_PARTITION),
        ("orders", NONE),
        (None, ErrorCode.UNKNOWN_TOPIC_ID),
    ]
    assert harness.node.image.topics == {}


def test_a_topic_that_is_named_twice_is_kept(harness: Harness, client: Client) -> None:
    assert codes(client.ask(by_name("orders", "orders"), 6)) == [("orders", INVALID)]
    both = by_name("orders")
    both.topics.append(DeleteTopicState(topic_id=harness.partition("orders").topic_id))
    assert codes(client.ask(both, 6)) == [("orders", INVALID)]
    assert list(harness.node.hosting.topics) == ["orders"]


def test_a_topic_is_in_use_until_its_deletion_is_committed(harness: Harness) -> None:
    admin, producer = harness.connect(), harness.connect()
    harness.holds_flushes = True
    sent = admin.send(by_name("orders"), 6)
    assert produced(producer.reply(producer.produce("orders", b"a", acks=1))).error_code == NONE
    assert not admin.has_reply(sent)
    harness.holds_flushes = False
    harness.settle()
    assert codes(admin.reply(sent)) == [("orders", NONE)]
    after = produced(producer.reply(producer.produce("orders", b"b", acks=1)))
    assert after.error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION


def test_the_second_of_two_who_delete_at_once_finds_no_topic(harness: Harness) -> None:
    first, second = harness.connect(), harness.connect()
    harness.holds_flushes = True
    sent = [client.send(by_name("orders"), 6) for client in (first, second)]
    harness.holds_flushes = False
    harness.settle()
    assert codes(first.reply(sent[0])) == [("orders", NONE)]
    unknown = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    assert codes(second.reply(sent[1])) == [("orders", unknown)]


def test_a_fetch_that_waits_for_the_topic_is_answered(harness: Harness, client: Client) -> None:
    fetch = client.fetch("orders", 0, max_wait_ms=60_000)
    harness.connect().ask(by_name("orders"), 6)
    unknown = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    assert fetched(client.reply(fetch)).error_code == unknown


def test_files_go_out_of_sight_at_once_and_from_the_disk_after_the_delay(
    harness: Harness, client: Client
) -> None:
    client.ask(by_name("orders"), 6)

    def doomed() -> list[str]:
        tops = dict.fromkeys(path.partition("/")[0] for path in harness.disk.paths())
        return [top.rpartition(".")[2] for top in tops if "orders" in top]

    assert [name.partition("-")[2] for name in doomed()] == ["delete"] * 3
    harness.advance(60_000)
    assert doomed() == []


def test_a_deletion_that_was_answered_survives_a_power_cut(
    harness: Harness, client: Client
) -> None:
    client.ask(by_name("orders"), 6)
    harness.disk.crash()
    after = restarted(harness)
    assert after.node.image.topics == {}
    assert after.node.hosting.topics == {}
    after.assert_nothing_left()


@pytest.mark.parametrize(("version", "code"), [(2, INVALID), (3, 73), (6, 73)])
def test_where_deleting_is_switched_off_every_topic_is_refused(version: int, code: int) -> None:
    harness = Harness({"delete.topic.enable": "false"})
    harness.create_topic("orders")
    request = by_name("orders", version=version)
    assert codes(harness.connect().ask(request, version)) == [("orders", code)]
    assert list(harness.node.hosting.topics) == ["orders"]
    harness.assert_nothing_left()


def test_a_request_whose_time_is_up_is_told_so_and_the_topic_goes_nevertheless(
    harness: Harness, client: Client
) -> None:
    harness.holds_flushes = True
    sent = client.send(by_name("orders", timeout_ms=100), 6)
    harness.advance(100)
    assert codes(client.reply(sent)) == [("orders", ErrorCode.REQUEST_TIMED_OUT)]
    harness.holds_flushes = False
    harness.settle()
    assert harness.node.hosting.topics == {}
