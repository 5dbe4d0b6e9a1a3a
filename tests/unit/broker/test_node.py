"""The node as a whole: waiting and waking, the disk's moods, time, and nothing left behind."""

from collections.abc import Iterator
from typing import Any

import pytest

from ottla.api import table
from ottla.api.table import route_of
from ottla.broker.flushing import IDLE_FLUSH_MS
from ottla.errors import DiskError, ErrorCode
from ottla.limits import (
    REPORT_CHARACTERS_MAX,
    REPORTED_ONCE_MAX,
    SEARCHES_PER_TURN_MAX,
    WAKE_UPS_PER_TURN_MAX,
)
from ottla.protocol.schema.create_topics import (
    CreatableTopic,
    CreatableTopicConfig,
    CreateTopicsRequest,
)
from ottla.protocol.schema.delete_topics import DeleteTopicsRequest, DeleteTopicState
from ottla.protocol.schema.describe_configs import (
    DescribeConfigsRequest,
    DescribeConfigsResource,
)
from ottla.protocol.schema.fetch import FetchRequest, FetchTopic
from ottla.protocol.schema.init_producer_id import InitProducerIdRequest
from ottla.protocol.schema.list_offsets import ListOffsetsPartition
from ottla.protocol.schema.metadata import MetadataRequest, MetadataRequestTopic
from ottla.storage.jobs import CreateLogs, CreateSegment, WarmRange
from tests.unit.broker.harness import (
    WALL_MS,
    Client,
    Harness,
    batch,
    fetch_request,
    fetched,
    list_offsets_request,
    produce_request,
    produced,
    records_of,
)

NEW_PRODUCER = InitProducerIdRequest(transactional_id=None)
IO_ERROR = DiskError(5, "the device answered EIO")
STORAGE_ERROR = ErrorCode.KAFKA_STORAGE_ERROR


@pytest.fixture
def harness() -> Iterator[Harness]:
    harness = Harness()
    harness.create_topic("orders", 2)
    yield harness
    harness.assert_nothing_left()


def named_topic(name: str) -> MetadataRequest:
    return MetadataRequest(topics=[MetadataRequestTopic(name=name)])


def create(name: str, timeout_ms: int = 1000, **more: Any) -> CreateTopicsRequest:
    topic = CreatableTopic(name=name, num_partitions=1, replication_factor=1)
    return CreateTopicsRequest(topics=[topic], timeout_ms=timeout_ms, **more)


def fill(client: Client, topic: str, count: int, size: int = 1000) -> None:
    for _ in range(count):
        assert produced(client.reply(client.produce(topic, bytes(size)))).error_code == 0


# Waiting for data


def test_a_fetch_waits_for_a_record_and_gets_it(harness: Harness) -> None:
    consumer, producer = harness.connect(), harness.connect()
    fetch = consumer.fetch("orders", 0)
    assert not consumer.has_reply(fetch)
    producer.produce("orders", b"a")
    assert len(records_of(consumer.reply(fetch))) > 0
    assert not harness.partition("orders").fetch_waiters


def test_a_fetch_waits_until_there_are_min_bytes(harness: Harness) -> None:
    consumer, producer = harness.connect(), harness.connect()
    fetch = consumer.fetch("orders", 0, min_bytes=300, max_wait_ms=1000)
    producer.produce("orders", bytes(100))
    assert not consumer.has_reply(fetch)
    producer.produce("orders", bytes(100))
    assert len(records_of(consumer.reply(fetch))) >= 300


def test_a_fetch_that_waited_long_enough_gets_what_there_is(harness: Harness) -> None:
    consumer, producer = harness.connect(), harness.connect()
    fetch = consumer.fetch("orders", 0, min_bytes=10_000, max_wait_ms=100)
    producer.produce("orders", b"a")
    harness.advance(99)
    assert not consumer.has_reply(fetch)
    harness.advance(1)
    assert len(records_of(consumer.reply(fetch))) > 0


def test_an_impatient_fetch_still_sees_what_our_own_flush_hides(harness: Harness) -> None:
    client = harness.connect()
    harness.holds_flushes = True
    assert produced(client.reply(client.produce("orders", b"a", acks=1))).base_offset == 0
    fetch = client.fetch("orders", 0, max_wait_ms=0, min_bytes=0)
    assert not client.has_reply(fetch)
    assert harness.flushes, "somebody waits, so the round starts at once"
    harness.holds_flushes = False
    harness.settle()
    assert len(records_of(client.reply(fetch))) > 0


def test_the_latest_offset_counts_a_record_that_acks_1_just_answered(harness: Harness) -> None:
    client = harness.connect()
    harness.holds_flushes = True
    client.produce("orders", b"a", acks=1)
    asked = client.list_offsets("orders")
    assert not client.has_reply(asked)
    harness.holds_flushes = False
    harness.settle()
    assert client.reply(asked).topics[0].partitions[0].offset == 1


def test_the_latest_offset_is_answered_while_others_never_stop_producing(harness: Harness) -> None:
    """What is waited for is the flush of what was there when the request came, not of all since."""
    client, producer = harness.connect(), harness.connect()
    harness.holds_flushes = True
    producer.produce("orders", b"a", acks=1)
    asked = client.list_offsets("orders")
    assert not client.has_reply(asked)
    producer.produce("orders", b"b", acks=1)
    harness.finish_flush()
    producer.produce("orders", b"c", acks=1)
    assert client.has_reply(asked)
    assert client.reply(asked).topics[0].partitions[0].offset >= 1


def test_an_expired_fetch_is_answered_while_others_never_stop_producing(harness: Harness) -> None:
    client, producer = harness.connect(), harness.connect()
    harness.holds_flushes = True
    producer.produce("orders", b"a", acks=1)
    fetch = client.fetch("orders", 0, max_wait_ms=0, min_bytes=100_000)
    producer.produce("orders", b"b", acks=1)
    harness.finish_flush()
    producer.produce("orders", b"c", acks=1)
    assert client.has_reply(fetch)


def test_a_request_woken_often_within_a_turn_runs_once(harness: Harness) -> None:
    consumer = harness.connect()
    consumer.fetch("orders", 0, min_bytes=1 << 20)
    parked = next(iter(harness.node.connections[consumer.conn].parked))
    woken = harness.node.woken
    for _ in range(5):
        woken.wake(parked)
    assert len(woken.queue) == 1
    harness.settle()


def test_wake_ups_beyond_the_bound_wait_for_the_next_turn(harness: Harness) -> None:
    consumers = [harness.connect() for _ in range(WAKE_UPS_PER_TURN_MAX + 10)]
    fetches = [consumer.fetch("orders", 0) for consumer in consumers]
    producer = harness.connect()
    harness.holds_flushes = True
    producer.produce("orders", b"a", acks=1)
    harness.finish_flush()
    harness.turn()
    answered = [c.has_reply(at) for c, at in zip(consumers, fetches, strict=True)]
    assert answered.count(True) == WAKE_UPS_PER_TURN_MAX
    assert harness.node.next_deadline_ms() == harness.now.mono_ms
    harness.turn()
    assert all(c.has_reply(at) for c, at in zip(consumers, fetches, strict=True))


def test_fetches_that_expire_together_are_answered_over_several_turns(harness: Harness) -> None:
    consumers = [harness.connect() for _ in range(WAKE_UPS_PER_TURN_MAX + 10)]
    for consumer in consumers:
        consumer.fetch("orders", 0, max_wait_ms=100)
    harness.now = harness.now._replace(mono_ms=harness.now.mono_ms + 100)
    harness.node.tick(harness.now)
    harness.turn()
    assert len([c for c in consumers if c.order]) == WAKE_UPS_PER_TURN_MAX
    harness.settle()
    assert all(c.order for c in consumers)


# Produce that waits


def test_acks_all_waits_for_the_flush_and_acks_1_does_not(harness: Harness) -> None:
    slow, quick = harness.connect(), harness.connect()
    harness.holds_flushes = True
    waiting = slow.produce("orders", b"a", acks=-1)
    at_once = quick.produce("orders", b"b", acks=1)
    assert not slow.has_reply(waiting)
    assert produced(quick.reply(at_once)).base_offset == 1
    assert harness.partition("orders").high_watermark == 0
    harness.holds_flushes = False
    harness.settle()
    assert produced(slow.reply(waiting)).error_code == 0
    harness.advance(IDLE_FLUSH_MS)
    assert harness.partition("orders").high_watermark == 2


def test_a_produce_that_waits_for_two_partitions_is_answered_once_with_both(
    harness: Harness,
) -> None:
    client = harness.connect()
    request = produce_request("orders", b"a")
    request.topic_data[0].partition_data += (
        produce_request("orders", b"b", partition=1).topic_data[0].partition_data
    )
    answer = client.reply(client.send(request, 9))
    codes = [p.error_code for p in answer.responses[0].partition_responses]
    assert codes == [0, 0]
    assert len(client.order) == 1


def test_a_produce_whose_time_is_up_is_told_so_and_the_record_stays(harness: Harness) -> None:
    client = harness.connect()
    harness.holds_flushes = True
    sent = client.produce("orders", b"a", timeout_ms=100)
    harness.advance(99)
    assert not client.has_reply(sent)
    # Deadlines of produces are rounded up, by a quarter at most.
    harness.advance(26)
    assert produced(client.reply(sent)).error_code == ErrorCode.REQUEST_TIMED_OUT
    harness.holds_flushes = False
    harness.settle()
    assert harness.partition("orders").high_watermark == 1
    assert client.order == [sent]


# Opening, rolling, cold pages


def test_requests_for_a_partition_that_is_being_made_wait_for_it(harness: Harness) -> None:
    admin, producer, consumer, asker = (harness.connect() for _ in range(4))
    harness.holds_jobs = True
    created = admin.send(create("new"), 7)
    assert isinstance(harness.jobs[0].job, CreateLogs)
    sent = producer.produce("new", b"a")
    fetch = consumer.fetch("new", 0)
    asked = asker.list_offsets("new")
    assert not admin.has_reply(created)
    harness.holds_jobs = False
    harness.settle()
    assert admin.reply(created).topics[0].error_code == 0
    assert produced(producer.reply(sent)).error_code == 0
    assert len(records_of(consumer.reply(fetch))) > 0
    assert asker.reply(asked).topics[0].partitions[0].error_code == 0


def test_a_fetch_that_meets_a_partition_being_made_keeps_its_session(harness: Harness) -> None:
    admin, consumer = harness.connect(), harness.connect()
    first = consumer.send(fetch_request("orders", 0, session=(0, 0), max_wait_ms=0), 12)
    session = consumer.reply(first).session_id
    harness.holds_jobs = True
    admin.send(create("new"), 7)
    fetch = consumer.send(fetch_request("new", 0, session=(session, 1), max_wait_ms=100), 12)
    assert not consumer.has_reply(fetch)
    harness.holds_jobs = False
    harness.advance(100)
    assert consumer.reply(fetch).error_code == 0
    again = consumer.send(
        fetch_request("new", 0, partitions=(), session=(session, 2), max_wait_ms=0), 12
    )
    assert consumer.reply(again).error_code == 0
    assert len(harness.node.fetch_sessions) == 1


def test_a_fetch_expires_while_one_of_its_partitions_is_being_made(harness: Harness) -> None:
    admin, consumer = harness.connect(), harness.connect()
    harness.create_topic("again")
    request = fetch_request("orders", 0, max_wait_ms=100)
    request.topics += fetch_request("again", 0).topics
    fetch = consumer.send(request, 12)
    admin.ask(DeleteTopicsRequest(topics=[DeleteTopicState(name="again")], timeout_ms=1000), 6)
    harness.holds_jobs = True
    admin.send(create("again"), 7)
    harness.advance(100)
    harness.holds_jobs = False
    harness.settle()
    assert consumer.has_reply(fetch)


def test_a_produce_waits_for_a_roll_and_nothing_is_appended_meanwhile(harness: Harness) -> None:
    harness.create_topic("small", segment_bytes=1 << 20)
    client, other = harness.connect(), harness.connect()
    fill(client, "small", 2, 500_000)
    harness.holds_jobs = True
    sent = client.produce("small", bytes(500_000))
    assert isinstance(harness.jobs[0].job, CreateSegment)
    late = other.produce("small", b"late", acks=1)
    assert not other.has_reply(late)
    assert harness.partition("small").log.end_offset == 2
    harness.holds_jobs = False
    harness.settle()
    assert produced(client.reply(sent)).base_offset == 2
    assert produced(other.reply(late)).base_offset == 3
    assert [s.base_offset for s in harness.partition("small").log.segments] == [0, 2]


def test_produces_behind_one_that_waits_for_a_roll_keep_their_order(harness: Harness) -> None:
    harness.create_topic("small", segment_bytes=1 << 20)
    client = harness.connect()
    fill(client, "small", 2, 500_000)
    client.order.clear()
    harness.holds_jobs = harness.holds_flushes = True
    first = client.produce("orders", b"a")
    rolling = client.produce("small", bytes(500_000))
    behind = client.produce("orders", b"b", acks=1)
    assert client.is_muted
    harness.holds_flushes = False
    harness.settle()
    assert client.order == [first]
    harness.holds_jobs = False
    harness.settle()
    assert client.order == [first, rolling, behind]
    assert not client.is_muted


def test_a_cold_read_is_made_warm_and_runs_again(harness: Harness) -> None:
    client = harness.connect()
    fill(client, "orders", 300)
    harness.advance(2000)
    harness.disk.evict("orders-0/00000000000000000000.log")
    harness.holds_jobs = True
    fetch = client.fetch("orders", 5, partition_max_bytes=2000)
    assert isinstance(harness.jobs[0].job, WarmRange)
    assert client.is_muted
    harness.holds_jobs = False
    harness.settle()
    assert len(records_of(client.reply(fetch))) > 0


def test_a_fetch_expires_into_a_cold_read(harness: Harness) -> None:
    client = harness.connect()
    fill(client, "orders", 300)
    harness.advance(2000)
    fetch = client.fetch("orders", 5, partition_max_bytes=2000, min_bytes=1 << 20, max_wait_ms=50)
    assert not client.has_reply(fetch)
    harness.disk.evict("orders-0/00000000000000000000.log")
    harness.advance(50)
    assert len(records_of(client.reply(fetch))) > 0


def test_a_topic_may_be_deleted_while_a_cold_read_of_it_is_warmed(harness: Harness) -> None:
    client, admin = harness.connect(), harness.connect()
    fill(client, "orders", 300)
    harness.advance(2000)
    harness.disk.evict("orders-0/00000000000000000000.log")
    harness.holds_jobs = True
    fetch = client.fetch("orders", 5, partition_max_bytes=2000)
    admin.send(DeleteTopicsRequest(topics=[DeleteTopicState(name="orders")], timeout_ms=1000), 6)
    harness.jobs.rotate(-1)
    harness.holds_jobs = False
    harness.settle()
    assert not harness.node.is_storage_offline
    assert fetched(client.reply(fetch)).error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION


def test_a_cold_read_of_a_client_that_left_is_forgotten(harness: Harness) -> None:
    client = harness.connect()
    fill(client, "orders", 300)
    harness.advance(2000)
    harness.disk.evict("orders-0/00000000000000000000.log")
    harness.holds_jobs = True
    client.fetch("orders", 5, partition_max_bytes=2000)
    client.close()
    harness.holds_jobs = False
    harness.settle()
    assert not harness.node.woken.queue


def test_deleting_a_topic_answers_those_who_wait_for_it(harness: Harness) -> None:
    admin, consumer, producer = (harness.connect() for _ in range(3))
    fetch = consumer.fetch("orders", 0, max_wait_ms=60_000)
    harness.holds_flushes = True
    sent = producer.produce("orders", b"a")
    admin.send(DeleteTopicsRequest(topics=[DeleteTopicState(name="orders")], timeout_ms=1000), 6)
    harness.holds_flushes = False
    harness.settle()
    assert consumer.has_reply(fetch)
    assert producer.has_reply(sent)


# Ids, topics, lines for the operator


def test_producer_ids_are_unique_and_one_request_to_the_controller_serves_many(
    harness: Harness,
) -> None:
    clients = [harness.connect() for _ in range(20)]
    harness.holds_flushes = True
    asked = [client.send(NEW_PRODUCER, 4) for client in clients]
    appended = harness.node.metadata.log.end_offset
    harness.holds_flushes = False
    harness.settle()
    ids = [c.reply(at).producer_id for c, at in zip(clients, asked, strict=True)]
    assert len(dict.fromkeys(ids)) == len(ids)
    assert harness.node.metadata.log.end_offset == appended


def test_a_topic_that_is_asked_for_comes_to_be(harness: Harness) -> None:
    client = harness.connect()
    answer = client.ask(named_topic("new"), 9)
    assert answer.topics[0].error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    answer = client.ask(named_topic("new"), 9)
    assert answer.topics[0].error_code == 0
    assert produced(client.reply(client.produce("new", b"a"))).error_code == 0


def test_many_topics_that_are_asked_for_are_one_command(
    harness: Harness, monkeypatch: pytest.MonkeyPatch
) -> None:
    client = harness.connect()
    names = [f"t{number}" for number in range(50)]
    request = MetadataRequest(topics=[MetadataRequestTopic(name=name) for name in names])
    commands = []
    ask = harness.node.ask_controller

    def count(*arguments: Any) -> None:
        commands.append(arguments)
        ask(*arguments)

    monkeypatch.setattr(harness.node, "ask_controller", count)
    client.ask(request, 9)
    assert len(commands) == 1
    answer = client.ask(request, 9)
    assert [topic.error_code for topic in answer.topics] == [0] * 50


def test_what_is_said_once_is_said_once_and_bounded(harness: Harness) -> None:
    node = harness.node
    for number in range(REPORTED_ONCE_MAX + 50):
        node.report_once(f"{number}")
        node.report_once(f"{number}")
    harness.settle()
    assert len(harness.reports) == REPORTED_ONCE_MAX


def test_a_long_line_is_cut(harness: Harness) -> None:
    harness.node.report_once("x" * 100_000)
    harness.settle()
    assert len(harness.reports[-1].text) <= REPORT_CHARACTERS_MAX


# Stopping


def test_stopping_answers_a_fetch_that_waits_for_more(harness: Harness) -> None:
    consumer, producer = harness.connect(), harness.connect()
    producer.produce("orders", b"a")
    fetch = consumer.fetch("orders", 0, min_bytes=10_000, max_wait_ms=60_000)
    assert not consumer.has_reply(fetch)
    harness.node.drain(harness.now)
    harness.settle()
    assert len(records_of(consumer.reply(fetch))) > 0


def test_stopping_answers_a_fetch_whose_data_is_not_flushed_yet(harness: Harness) -> None:
    consumer, producer = harness.connect(), harness.connect()
    fetch = consumer.fetch("orders", 0, min_bytes=10_000, max_wait_ms=60_000)
    harness.holds_flushes = True
    sent = producer.produce("orders", b"a")
    harness.node.drain(harness.now)
    harness.settle()
    harness.holds_flushes = False
    harness.settle()
    assert consumer.has_reply(fetch)
    assert produced(producer.reply(sent)).error_code == 0
    assert harness.node.is_quiet


# Absurd but well-formed


def test_a_fetch_of_nothing_is_answered_at_once(harness: Harness) -> None:
    client = harness.connect()
    request = FetchRequest(max_wait_ms=60_000, min_bytes=1, max_bytes=1, topics=[])
    assert client.ask(request, 12).error_code == 0
    request = FetchRequest(max_wait_ms=60_000, min_bytes=1, topics=[FetchTopic(topic="orders")])
    assert client.ask(request, 12).error_code == 0


def test_a_name_that_grows_when_it_is_read_cannot_be_echoed(harness: Harness) -> None:
    """32,767 bytes that are not UTF-8 become three times as many: no answer can hold the name."""
    client = harness.connect()
    name = b"\xff" * 32_767
    frame = b"\0\x03\0\x08\0\0\0\x07\0\0" + b"\0\0\0\x01" + b"\x7f\xff" + name + b"\1\0\0"
    client.asked[7] = (3, 8)
    client.send_frame(frame)
    harness.settle()
    assert client.closed_why is not None or client.has_reply(7)


def test_a_batch_helper_makes_what_the_node_takes(harness: Harness) -> None:
    client = harness.connect()
    sent = client.produce("orders", records=batch(b"a", b"b"))
    assert produced(client.reply(sent)).error_code == 0
    assert harness.partition("orders").log.end_offset == 2


def test_a_refusal_that_names_what_was_asked_fits_its_answer(harness: Harness) -> None:
    client = harness.connect()
    name = "n" * 32_000
    described = DescribeConfigsRequest(
        resources=[
            DescribeConfigsResource(resource_type=kind, resource_name=name) for kind in (2, 4)
        ]
    )
    assert all(row.error_code for row in client.ask(described, 4).results)
    request = create("new")
    request.topics[0].configs = [CreatableTopicConfig(name, "1"), CreatableTopicConfig(name, None)]
    assert client.ask(request, 7).topics[0].error_code == ErrorCode.INVALID_CONFIG


def test_versions_that_a_client_makes_up_are_one_route() -> None:
    routes = [route_of(18, version) for version in range(100, 200)]
    assert all(route is routes[0] for route in routes)
    assert all(key != (18, version) for key in table._routes for version in range(100, 200))


def test_long_answers_are_made_a_few_rows_a_turn(harness: Harness) -> None:
    asker, neighbour = harness.connect(), harness.connect()
    for number in range(10):
        harness.create_topic(f"t{number}")
    request = DescribeConfigsRequest(
        resources=[DescribeConfigsResource(2, f"t{number}") for number in (*range(10), *range(10))]
    )
    asked = asker.lend(request, 4)
    assert asker.is_muted
    harness.turn()
    assert not asker.has_reply(asked)
    other = neighbour.lend(MetadataRequest(topics=[]), 9)
    assert neighbour.has_reply(other)
    harness.settle()
    names = [result.resource_name for result in asker.reply(asked).results]
    assert names == [f"t{number}" for number in range(10)], "each once"


def test_searches_by_time_take_turns(harness: Harness) -> None:
    client = harness.connect()
    partitions = 3 * SEARCHES_PER_TURN_MAX
    harness.create_topic("times", partitions)
    for index in range(partitions):
        client.produce("times", b"a", partition=index)
    request = list_offsets_request("times", WALL_MS)
    request.topics[0].partitions = [
        ListOffsetsPartition(index, -1, WALL_MS) for index in range(partitions)
    ]
    before = harness.turns
    answer = client.ask(request, 7)
    assert [row.offset for row in answer.topics[0].partitions] == [0] * partitions
    assert [row.partition_index for row in answer.topics[0].partitions] == list(range(partitions))
    assert harness.turns - before >= 2, "the first pass came with the request"
