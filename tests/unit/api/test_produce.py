"""Produce: what is appended, what is refused with it, and when each acks is answered."""

from collections.abc import Callable

import pytest

from ottla.broker.stop import stop_cleanly
from ottla.errors import ErrorCode
from ottla.protocol.schema.produce import PartitionProduceResponse
from ottla.storage.jobs import CreateSegment
from tests.unit.api.asking import To, contents, delete, outcomes, produce, restarted, sequenced
from tests.unit.broker.harness import WALL_MS, Client, Harness, batch, produced

NONE = ErrorCode.NONE
OUT_OF_ORDER = ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER
UNKNOWN_TOPIC = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
HALF_A_SEGMENT = bytes(500_000)


def send(client: Client, records: bytes, acks: int = -1) -> PartitionProduceResponse:
    return produced(client.reply(client.produce("orders", records=records, acks=acks)))


def outcome(answer: PartitionProduceResponse) -> tuple[int, int]:
    return answer.error_code, answer.base_offset


# acks


@pytest.mark.parametrize(("acks", "answered"), [(0, False), (1, True), (-1, False)])
def test_only_acks_1_is_answered_before_the_flush(
    harness: Harness, acks: int, answered: bool
) -> None:
    client = harness.connect()
    harness.holds_flushes = True
    sent = client.produce("orders", b"a", acks=acks)
    assert client.has_reply(sent) is answered
    assert harness.partition("orders").log.end_offset == 1
    harness.holds_flushes = False
    harness.advance(10)
    assert client.has_reply(sent) is (acks != 0)


def test_what_is_appended_while_a_flush_is_under_way_waits_for_the_next(harness: Harness) -> None:
    client = harness.connect()
    harness.holds_flushes = True
    sent = [client.produce("orders", value) for value in (b"a", b"b")]
    harness.finish_flush()
    assert client.order == sent[:1]
    harness.holds_flushes = False
    harness.settle()
    assert client.order == sent


def test_an_answer_says_where_the_batch_stands_and_where_the_log_begins(harness: Harness) -> None:
    client = harness.connect()
    send(client, batch(b"a", b"b"))
    assert send(client, batch(b"c")) == PartitionProduceResponse(
        index=0, base_offset=2, log_append_time_ms=-1, log_start_offset=0
    )


def test_a_topic_with_log_append_time_is_answered_with_the_brokers_clock(harness: Harness) -> None:
    harness.create_topic("stamped", message_timestamp_type="LogAppendTime")
    client = harness.connect()
    harness.advance(1234)
    answer = produced(client.reply(client.produce("stamped", b"a")))
    assert answer.log_append_time_ms == WALL_MS + 1234


@pytest.mark.parametrize("acks", [0, 1, -1])
def test_the_next_fetch_of_the_producer_finds_its_record(harness: Harness, acks: int) -> None:
    client = harness.connect()
    client.produce("orders", b"a", acks=acks)
    assert contents(harness) == [b"a"]


def test_acks_0_appends_what_may_be_appended_and_closes_for_the_rest(harness: Harness) -> None:
    client = harness.connect()
    good, stray = To("orders", 1, batch(b"a")), To("nowhere", 0, batch(b"b"))
    client.send(produce(stray, good, acks=0), 9)
    assert client.closed_why == "a produce with acks=0 failed"
    assert contents(harness, partition=1) == [b"a"]


@pytest.mark.parametrize("acks", [-2, 2, 127])
def test_other_acks_are_refused_for_all_and_nothing_is_appended(
    harness: Harness, acks: int
) -> None:
    client = harness.connect()
    request = produce(To("orders", 0, batch(b"a")), To("orders", 1, batch(b"b")), acks=acks)
    code = ErrorCode.INVALID_REQUIRED_ACKS
    assert outcomes(client.ask(request, 9)) == [("orders", 0, code, -1), ("orders", 1, code, -1)]
    assert contents(harness) == []


def test_with_page_cache_durability_acks_all_waits_for_no_flush() -> None:
    harness = Harness({"ottla.durability": "page-cache"})
    harness.create_topic("orders")
    harness.holds_flushes = True
    assert outcome(send(harness.connect(), batch(b"a"))) == (NONE, 0)
    assert contents(harness) == [b"a"]
    harness.assert_nothing_left()


@pytest.mark.parametrize("min_isr", [1, 2, 3])
def test_a_topic_of_one_replica_never_needs_more_than_that_in_sync(
    harness: Harness, min_isr: int
) -> None:
    harness.create_topic("strict", min_insync_replicas=min_isr)
    client = harness.connect()
    assert outcome(produced(client.reply(client.produce("strict", b"a")))) == (NONE, 0)


# Several partitions


def test_answers_stand_by_topic_in_the_order_of_the_request_and_a_refusal_stops_no_other(
    harness: Harness,
) -> None:
    places = [("orders", 2), ("nowhere", 0), ("orders", 9), ("orders", 0)]
    request = produce(*[To(topic, index, batch(b"a")) for topic, index in places])
    assert outcomes(harness.connect().ask(request, 9)) == [
        ("orders", 2, NONE, 0),
        ("orders", 9, UNKNOWN_TOPIC, -1),
        ("orders", 0, NONE, 0),
        ("nowhere", 0, UNKNOWN_TOPIC, -1),
    ]


def test_of_a_partition_that_is_named_twice_the_last_batch_counts(harness: Harness) -> None:
    request = produce(To("orders", 0, batch(b"a")), To("orders", 0, batch(b"b")))
    assert outcomes(harness.connect().ask(request, 9)) == [("orders", 0, NONE, 0)]
    assert contents(harness) == [b"b"]


def test_a_transactional_batch_refuses_the_request_before_anything_is_appended(
    harness: Harness,
) -> None:
    stray = batch(b"b", producer_id=7, producer_epoch=0, base_sequence=0, transactional=True)
    request = produce(To("orders", 0, batch(b"a")), To("orders", 1, stray))
    code = ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED
    answer = harness.connect().ask(request, 9)
    assert outcomes(answer) == [("orders", 0, code, -1), ("orders", 1, code, -1)]
    assert contents(harness) == []


def test_a_batch_larger_than_a_segment_is_refused_and_its_neighbour_is_not(
    harness: Harness,
) -> None:
    harness.create_topic("small", segment_bytes=1 << 20, max_message_bytes=2 << 20)
    request = produce(To("small", 0, batch(bytes(1 << 20))), To("orders", 0, batch(b"a")))
    assert outcomes(harness.connect().ask(request, 9)) == [
        ("small", 0, ErrorCode.RECORD_LIST_TOO_LARGE, -1),
        ("orders", 0, NONE, 0),
    ]


@pytest.mark.parametrize("version", [12, 13])
def test_since_version_13_topics_are_named_by_id(harness: Harness, version: int) -> None:
    topic_id = harness.partition("orders").topic_id
    places = {12: To("orders", 0, batch(b"a")), 13: To("", 0, batch(b"a"), topic_id)}
    answer = harness.connect().ask(produce(places[version]), version)
    assert (answer.responses[0].name, answer.responses[0].topic_id) == {
        12: ("orders", bytes(16)),
        13: ("", topic_id),
    }[version]
    assert outcome(produced(answer)) == (NONE, 0)


@pytest.mark.parametrize("topic_id", [bytes(16), b"\x07" * 16])
def test_an_id_that_nobody_has_is_an_unknown_id(harness: Harness, topic_id: bytes) -> None:
    answer = harness.connect().ask(produce(To("", 0, batch(b"a"), topic_id)), 13)
    assert produced(answer).error_code == ErrorCode.UNKNOWN_TOPIC_ID


def test_what_is_deleted_before_it_is_durable_is_told_for_its_topic_alone(
    harness: Harness,
) -> None:
    harness.create_topic("doomed")
    client, admin = harness.connect(), harness.connect()
    harness.holds_flushes = True
    admin.produce("orders", b"a")
    harness.connect().send(delete("doomed"), 6)
    request = produce(To("doomed", 0, batch(b"b")), To("orders", 0, batch(b"c")))
    sent = client.send(request, 9)
    harness.holds_flushes = False
    harness.settle()
    code = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    assert outcomes(client.reply(sent)) == [("doomed", 0, code, 0), ("orders", 0, NONE, 1)]


# Idempotent producers


def test_a_batch_that_is_sent_again_is_answered_with_its_first_place(harness: Harness) -> None:
    client = harness.connect()
    batches = [sequenced(b"a", b"b", sequence=at) for at in range(0, 10, 2)]
    assert [outcome(send(client, data)) for data in batches + batches] == [
        (NONE, base_offset) for base_offset in (0, 2, 4, 6, 8)
    ] * 2
    assert harness.partition("orders").log.end_offset == 10


def test_a_batch_that_is_older_than_the_last_five_is_out_of_order(harness: Harness) -> None:
    client = harness.connect()
    batches = [sequenced(b"a", sequence=at) for at in range(6)]
    for data in batches:
        send(client, data)
    assert outcome(send(client, batches[1])) == (NONE, 1)
    assert outcome(send(client, batches[0])) == (OUT_OF_ORDER, -1)


@pytest.mark.parametrize(
    ("sequence", "epoch", "expected"),
    [
        (2, 1, (NONE, 2)),
        (3, 1, (OUT_OF_ORDER, -1)),
        (1, 1, (OUT_OF_ORDER, -1)),
        (2, 0, (ErrorCode.INVALID_PRODUCER_EPOCH, -1)),
        (0, 2, (NONE, 2)),
        (2, 2, (OUT_OF_ORDER, -1)),
    ],
)
def test_the_next_batch_follows_in_its_epoch_or_begins_a_new_one(
    harness: Harness, sequence: int, epoch: int, expected: tuple[int, int]
) -> None:
    client = harness.connect()
    send(client, sequenced(b"a", b"b", sequence=0, epoch=1))
    assert outcome(send(client, sequenced(b"c", sequence=sequence, epoch=epoch))) == expected


def test_sequences_are_counted_a_partition_and_a_producer(harness: Harness) -> None:
    client = harness.connect()
    send(client, sequenced(b"a", sequence=0))
    other = sequenced(b"b", sequence=0, producer_id=8)
    request = produce(To("orders", 0, other), To("orders", 1, sequenced(b"c", sequence=0)))
    assert outcomes(client.ask(request, 9)) == [("orders", 0, NONE, 1), ("orders", 1, NONE, 0)]


def test_at_the_deadline_what_was_durable_before_is_not_taken_back(harness: Harness) -> None:
    client = harness.connect()
    data = sequenced(b"a", sequence=0)
    send(client, data)
    harness.holds_flushes = True
    request = produce(To("orders", 0, data), To("orders", 1, data), timeout_ms=100)
    sent = client.send(request, 9)
    harness.advance(125)
    timed_out = ErrorCode.REQUEST_TIMED_OUT
    assert outcomes(client.reply(sent)) == [("orders", 0, NONE, 0), ("orders", 1, timed_out, 0)]


def test_a_gap_behind_a_pipelined_batch_is_refused_in_the_order_of_requests(
    harness: Harness,
) -> None:
    client = harness.connect()
    harness.holds_flushes = True
    sent = [client.produce("orders", records=sequenced(b"a", sequence=at)) for at in (0, 2, 1)]
    assert client.order == []
    harness.holds_flushes = False
    harness.settle()
    assert client.order == sent
    answers = [outcome(produced(client.reply(at))) for at in sent]
    assert answers == [(NONE, 0), (OUT_OF_ORDER, -1), (NONE, 1)]


def test_a_duplicate_of_what_is_not_durable_waits_as_the_first_did(harness: Harness) -> None:
    first, again = harness.connect(), harness.connect()
    harness.holds_flushes = True
    sent = first.produce("orders", records=sequenced(b"a", sequence=0))
    resent = again.produce("orders", records=sequenced(b"a", sequence=0))
    assert not again.has_reply(resent)
    harness.holds_flushes = False
    harness.settle()
    answer = PartitionProduceResponse(index=0, base_offset=0, log_start_offset=0)
    assert produced(first.reply(sent)) == answer
    # As Kafka does, a duplicate is answered with the time of the batch.
    answer.log_append_time_ms = WALL_MS
    assert produced(again.reply(resent)) == answer


def cleanly(harness: Harness) -> None:
    harness.advance(2000)
    assert harness.on_disk(lambda disk: stop_cleanly(harness.node))
    harness.disk.kill()


def by_kill(harness: Harness) -> None:
    harness.disk.kill()


def by_power_cut(harness: Harness) -> None:
    harness.disk.crash()


@pytest.mark.parametrize("end", [cleanly, by_kill, by_power_cut])
def test_a_restart_knows_every_batch_that_may_be_sent_again(
    harness: Harness, end: Callable[[Harness], None]
) -> None:
    client = harness.connect()
    batches = [sequenced(b"%d" % at, sequence=at) for at in range(6)]
    for data in batches:
        send(client, data)
    end(harness)
    after = restarted(harness)
    sender = after.connect()
    assert [outcome(send(sender, data)) for data in batches[1:]] == [
        (NONE, at) for at in range(1, 6)
    ]
    assert outcome(send(sender, sequenced(b"x", sequence=7))) == (OUT_OF_ORDER, -1)
    assert outcome(send(sender, sequenced(b"6", sequence=6))) == (NONE, 6)
    assert contents(after) == [b"%d" % at for at in range(7)]
    after.assert_nothing_left()


# Rolls


def fill(client: Client, topic: str, *partitions: int) -> None:
    for _ in range(2):
        client.ask(produce(*[To(topic, at, batch(HALF_A_SEGMENT)) for at in partitions]), 9)


def test_a_roll_in_the_middle_of_a_request_appends_nothing_before_it_has_ended(
    harness: Harness,
) -> None:
    harness.create_topic("small", 2, segment_bytes=1 << 20)
    client = harness.connect()
    fill(client, "small", 1)
    data = sequenced(HALF_A_SEGMENT, sequence=0)
    harness.holds_jobs = True
    sent = client.send(produce(To("small", 0, data), To("small", 1, data)), 9)
    assert [type(op.job) for op in harness.jobs] == [CreateSegment]
    assert harness.partition("small", 0).log.end_offset == 0
    harness.holds_jobs = False
    harness.settle()
    assert outcomes(client.reply(sent)) == [("small", 0, NONE, 0), ("small", 1, NONE, 2)]
    assert harness.partition("small", 0).log.end_offset == 1


def test_each_partition_that_has_to_roll_is_waited_for(harness: Harness) -> None:
    harness.create_topic("small", 2, segment_bytes=1 << 20)
    client = harness.connect()
    fill(client, "small", 0, 1)
    data = batch(HALF_A_SEGMENT)
    answer = client.ask(produce(To("small", 0, data), To("small", 1, data)), 9)
    assert outcomes(answer) == [("small", 0, NONE, 2), ("small", 1, NONE, 2)]
    for partition in (0, 1):
        log = harness.partition("small", partition).log
        assert [segment.base_offset for segment in log.segments] == [0, 2]


def test_a_topic_that_is_deleted_while_a_produce_waits_for_its_roll_is_unknown(
    harness: Harness,
) -> None:
    harness.create_topic("small", segment_bytes=1 << 20)
    client, admin = harness.connect(), harness.connect()
    fill(client, "small", 0)
    harness.holds_jobs = True
    request = produce(To("orders", 0, batch(b"a")), To("small", 0, batch(HALF_A_SEGMENT)))
    sent = client.send(request, 9)
    admin.send(delete("small"), 6)
    harness.holds_jobs = False
    harness.settle()
    assert outcomes(client.reply(sent)) == [("orders", 0, NONE, 0), ("small", 0, UNKNOWN_TOPIC, -1)]
    assert contents(harness) == [b"a"]


def test_acks_0_waits_for_a_roll_and_stays_without_an_answer(harness: Harness) -> None:
    harness.create_topic("small", segment_bytes=1 << 20)
    client = harness.connect()
    fill(client, "small", 0)
    sent = client.produce("small", HALF_A_SEGMENT, acks=0)
    assert not client.has_reply(sent)
    assert harness.partition("small").log.end_offset == 3
    later = client.produce("small", b"a", acks=1)
    assert produced(client.reply(later)).base_offset == 3
