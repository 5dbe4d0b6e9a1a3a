"""The producer's core against a model of the brokers.

Covers: ottla.client.placing, ottla.client.identity, ottla.client.outcomes, ottla.client.partitioner
"""

from itertools import pairwise
from typing import cast

import pytest

from ottla.client.errors import BufferFull, ClientError
from ottla.client.producer import Delivery
from ottla.client.settings import ProducerSettings
from ottla.errors import ErrorCode
from ottla.protocol.schema.produce import (
    LeaderIdAndEpoch,
    PartitionProduceResponse,
    ProduceResponse,
    TopicProduceResponse,
)
from ottla.records.compress import Codec
from tests.unit.client.producing import ProducerDrive, headers, sequence


def test_a_record_is_delivered_with_its_offset() -> None:
    drive = ProducerDrive()
    send_id = drive.producer.send(
        "t", b"x", drive.now, key=b"k", headers=[("h", b"v")], partition=0, timestamp_ms=77
    )
    drive.run()
    assert drive.results() == [Delivery(send_id, "t", 0, 0, 77)]
    (record,) = drive.model.log("t").records()
    assert (record.key, record.value, list(record.headers)) == (b"k", b"x", [("h", b"v")])
    assert drive.producer.is_idle


def test_records_that_wait_a_little_share_a_batch() -> None:
    drive = ProducerDrive(ProducerSettings(linger_ms=10))
    drive.begin()
    drive.send(b"a")
    assert drive.take() == []
    assert drive.producer.next_deadline_ms() == drive.mono_ms + 10
    drive.mono_ms += 4
    drive.send(b"b")
    assert drive.take() == []
    drive.mono_ms += 6
    (request,) = drive.take()
    assert headers(request)[0].record_count == 2


def test_flush_sends_what_lingers() -> None:
    drive = ProducerDrive(ProducerSettings(linger_ms=10_000_000, delivery_timeout_ms=10**9))
    drive.send(b"a")
    drive.run()
    assert not drive.producer.is_idle
    drive.producer.flush()
    drive.run()
    assert drive.producer.is_idle


def test_a_full_batch_does_not_linger() -> None:
    drive = ProducerDrive(ProducerSettings(linger_ms=1_000, batch_bytes=500))
    drive.begin()
    for _ in range(10):
        drive.send(b"x" * 80)
    assert [headers(request)[0].record_count for request in drive.take()] == [4, 4]


def test_one_request_takes_one_batch_of_each_partition_of_a_broker() -> None:
    drive = ProducerDrive(partitions=4, nodes=2)
    for partition in range(4):
        drive.send(b"x", partition)
    drive.answer(drive.take()[0])
    requests = drive.take()
    assert [request.node for request in requests] == [1, 2]
    assert [len(headers(request)) for request in requests] == [2, 2]


def test_requests_stay_below_their_size() -> None:
    settings = ProducerSettings(linger_ms=0, request_bytes_max=1_000)
    drive = ProducerDrive(settings, partitions=3)
    for partition in range(3):
        drive.send(b"x" * 600, partition)
    drive.answer(drive.take()[0])
    assert [len(headers(request)) for request in drive.take()] == [1, 1, 1]


def test_compressed_batches_are_read_back() -> None:
    for codec in Codec:
        drive = ProducerDrive(ProducerSettings(codec=codec))
        for _ in range(50):
            drive.send(b"x" * 100)
        drive.run()
        assert drive.model.log("t").values() == [b"x" * 100] * 50


@pytest.mark.parametrize(
    ("code", "maybe_written"),
    [(ErrorCode.INVALID_RECORD, False), (ErrorCode.UNKNOWN_SERVER_ERROR, True)],
)
def test_a_failure_says_whether_the_record_may_be_written(
    code: ErrorCode, maybe_written: bool
) -> None:
    drive = ProducerDrive()
    drive.begin()
    drive.model.log("t").answers.append((code, False))
    (request,) = drive.fly(b"a")
    drive.answer(request)
    (delivery,) = drive.results()
    assert (delivery.error, delivery.maybe_written) == (code, maybe_written)
    assert delivery.why.startswith("model:9001")
    assert drive.producer.is_idle


def test_what_is_not_delivered_in_time_fails_and_frees_its_room() -> None:
    drive = ProducerDrive(ProducerSettings(linger_ms=0, delivery_timeout_ms=1_000))
    drive.begin()
    (request,) = drive.fly(b"a")
    drive.send(b"b")
    drive.lose(request)
    drive.mono_ms += 1_000
    assert drive.take() == []
    assert [(d.error, d.maybe_written) for d in drive.results()] == [
        (ErrorCode.REQUEST_TIMED_OUT, True),
        (ErrorCode.REQUEST_TIMED_OUT, False),
    ]
    assert drive.producer.is_idle


def test_an_answer_that_comes_too_late_changes_nothing() -> None:
    drive = ProducerDrive(ProducerSettings(linger_ms=0, delivery_timeout_ms=1_000))
    drive.begin()
    (request,) = drive.fly(b"a")
    drive.mono_ms += 1_000
    assert drive.take() == []
    assert len(drive.results()) == 1
    drive.answer(request)
    assert drive.results() == []
    drive.send(b"b")
    drive.run()
    assert drive.delivered() == [(ErrorCode.NONE, 2)]


def test_a_leader_that_moved_is_found_by_asking_again() -> None:
    drive = ProducerDrive(nodes=2)
    drive.begin()
    log = drive.model.log("t")
    log.leader, log.leader_epoch = 2, 1
    drive.send(b"a")
    drive.run()
    assert drive.delivered() == [(ErrorCode.NONE, 1)]


def test_a_hint_of_the_new_leader_is_followed_at_once() -> None:
    drive = ProducerDrive(nodes=2)
    drive.begin()
    (request,) = drive.fly(b"a")
    hint = PartitionProduceResponse(
        0, ErrorCode.NOT_LEADER_OR_FOLLOWER, current_leader=LeaderIdAndEpoch(2, 5)
    )
    topic_id = drive.cluster.topics["t"].topic_id
    answer = ProduceResponse([TopicProduceResponse("", topic_id, [hint])])
    drive.producer.on_response(request.token, answer, drive.now)
    (again,) = drive.take()
    assert again.node == 2
    assert headers(again) == headers(request)


def test_records_wait_for_a_topic_that_the_brokers_create() -> None:
    drive = ProducerDrive()
    drive.model.auto_create_partitions = 2
    drive.producer.send("new", b"x", drive.now)
    assert drive.take() == []
    drive.run()
    assert len(drive.results()) == 1
    assert len(drive.model.topics["new"][1]) == 2


def test_a_topic_that_never_comes_fails_in_time() -> None:
    drive = ProducerDrive(ProducerSettings(topic_timeout_ms=5_000))
    drive.producer.send("never", b"x", drive.now)
    drive.run()
    (delivery,) = drive.results()
    assert delivery.error == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    assert not delivery.maybe_written


def test_a_topic_that_cannot_be_fails_at_once() -> None:
    drive = ProducerDrive()
    begun_ms = drive.mono_ms
    drive.producer.send("not a name", b"x", drive.now)
    drive.run()
    assert drive.delivered() == [(ErrorCode.INVALID_TOPIC_EXCEPTION, -1)]
    assert drive.mono_ms - begun_ms < 2_000


def test_a_partition_that_is_not_there_fails_after_one_look() -> None:
    drive = ProducerDrive()
    drive.send(b"x", 7)
    drive.run()
    (delivery,) = drive.results()
    assert delivery.error == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    assert "no partition 7" in delivery.why


def test_a_partition_that_was_added_is_found() -> None:
    drive = ProducerDrive()
    drive.send(b"x", 1)
    topic_id, logs = drive.model.topics["t"]
    drive.model.create("t", 2)
    drive.model.topics["t"] = (topic_id, logs | {1: drive.model.log("t", 1)})
    drive.run()
    assert drive.delivered() == [(ErrorCode.NONE, 0)]


def test_equal_keys_share_a_partition() -> None:
    drive = ProducerDrive(partitions=12)
    for _ in range(3):
        drive.send(b"x", None, key=b"foobar")
    drive.run()
    assert [delivery.partition for delivery in drive.results()] == [6, 6, 6]


def test_records_without_a_key_stay_on_a_partition_until_its_batch_is_full() -> None:
    drive = ProducerDrive(ProducerSettings(batch_bytes=1_000), partitions=3)
    for _ in range(30):
        drive.send(b"x" * 79, None)
    drive.run()
    partitions = [d.partition for d in sorted(drive.results())]
    runs = [partitions[at : at + 9] for at in range(0, 27, 9)]
    assert all(len(dict.fromkeys(run)) == 1 for run in runs)
    assert all(before[0] != after[0] for before, after in pairwise(runs))


def test_the_sticky_partition_moves_on_also_where_batches_stay_small() -> None:
    drive = ProducerDrive(ProducerSettings(linger_ms=0, batch_bytes=1_000), partitions=3)
    partitions = []
    for _ in range(30):
        drive.send(b"x" * 79, None)
        drive.run()
        partitions += [delivery.partition for delivery in drive.results()]
    assert partitions[0] == partitions[9] != partitions[10] == partitions[19] != partitions[20]


def test_records_without_a_key_avoid_partitions_without_a_leader() -> None:
    drive = ProducerDrive(partitions=3)
    drive.model.log("t", 1).leader = -1
    drive.learn("t")
    for _ in range(20):
        drive.send(b"x" * 2_000, None)
    drive.run()
    assert {delivery.partition for delivery in drive.results()} == {0, 2}


def test_a_partitioner_of_the_user_comes_first() -> None:
    settings = ProducerSettings(partitioner=lambda topic, key, value, count: 1 if key else None)
    drive = ProducerDrive(settings, partitions=3)
    drive.send(b"x", None, key=b"tenant")
    drive.send(b"x", 2, key=b"tenant")
    drive.run()
    assert sorted(d.partition for d in drive.results()) == [1, 2]


def test_a_full_buffer_refuses_and_room_returns() -> None:
    drive = ProducerDrive(ProducerSettings(linger_ms=10**9, buffer_bytes_max=1_000))
    drive.send(b"x" * 400)
    drive.send(b"x" * 400)
    with pytest.raises(BufferFull):
        drive.send(b"x" * 400)
    drive.run()
    assert len(drive.results()) == 2, "with memory short nothing lingers"
    drive.send(b"x" * 400)


def test_a_record_that_no_request_can_hold_is_refused() -> None:
    drive = ProducerDrive()
    with pytest.raises(ClientError) as refused:
        drive.send(b"x" * 1_048_576)
    assert refused.value.code == ErrorCode.MESSAGE_TOO_LARGE


def test_content_that_is_no_bytes_is_refused() -> None:
    drive = ProducerDrive()
    with pytest.raises(TypeError):
        drive.producer.send("t", cast("bytes", "text"), drive.now)


def test_unanswered_records_are_delivered_once_they_left() -> None:
    drive = ProducerDrive(ProducerSettings(linger_ms=0, acks=0))
    drive.send(b"x")
    (request,) = drive.take()
    assert not request.answered
    drive.producer.on_response(request.token, None, drive.now)
    assert drive.delivered() == [(ErrorCode.NONE, -1)]


def test_without_idempotence_batches_carry_no_producer() -> None:
    drive = ProducerDrive(ProducerSettings(linger_ms=0, acks=1))
    drive.send(b"x")
    (request,) = drive.take()
    assert sequence(request) == (-1, -1, -1)


def test_brokers_that_give_no_topic_ids_are_spoken_to_by_name() -> None:
    drive = ProducerDrive(ProducerSettings(linger_ms=0, acks=1))
    drive.model.has_topic_ids = False
    drive.learn("t")
    drive.send(b"x")
    (request,) = drive.take()
    assert request.version_max == 12
    drive.answer(request)
    assert drive.delivered() == [(ErrorCode.NONE, 0)]


def test_settings_that_exclude_each_other_are_refused() -> None:
    with pytest.raises(ValueError, match="acks=all"):
        ProducerSettings(acks=1, idempotent=True)
    with pytest.raises(ValueError, match="acks is"):
        ProducerSettings(acks=2)
    with pytest.raises(ValueError, match="5 requests"):
        ProducerSettings(in_flight_max=6, idempotent=True)
