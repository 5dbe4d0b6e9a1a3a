"""The producer's core against a model of the brokers.

Covers: ottla.client.placing, ottla.client.identity, ottla.client.outcomes, ottla.client.partitioner
"""

import random
from itertools import pairwise

import pytest

from ottla.client.errors import BufferFull, ClientError
from ottla.client.producer import Delivery, Producer
from ottla.client.requests import ClientRequest
from ottla.client.settings import ProducerSettings
from ottla.errors import ErrorCode
from ottla.protocol.schema.init_producer_id import InitProducerIdRequest
from ottla.protocol.schema.produce import (
    LeaderIdAndEpoch,
    PartitionProduceResponse,
    ProduceRequest,
    ProduceResponse,
    TopicProduceResponse,
)
from ottla.records.batch import BatchHeader, read_header
from ottla.records.compress import Codec
from tests.unit.client.model import ModelCluster
from tests.unit.client.roles import Drive, half

OUT_OF_ORDER = ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER
EAGER = ProducerSettings(linger_ms=0)


class ProducerDrive(Drive):
    def __init__(
        self, settings: ProducerSettings = EAGER, *, partitions: int = 1, nodes: int = 1
    ) -> None:
        super().__init__(ModelCluster(nodes))
        self.model.create("t", partitions)
        self.producer = Producer(self.cluster, settings, half)
        self.role = self.producer
        self.learn("t")

    def send(self, value: bytes, partition: int | None = 0, **rest: object) -> int:
        return self.producer.send("t", value, self.now, partition=partition, **rest)  # type: ignore[arg-type]

    def begin(self) -> None:
        """Past the first record, which goes alone."""
        self.send(b"first")
        self.run()
        assert self.delivered() == [(ErrorCode.NONE, 0)]

    def delivered(self) -> list[tuple[ErrorCode, int]]:
        return [(delivery.error, delivery.offset) for delivery in self.results()]

    def results(self) -> list[Delivery]:
        return self.producer.take_results()

    def fly(self, *values: bytes) -> list[ClientRequest]:
        """Each in a request of its own."""
        requests = []
        for value in values:
            self.send(value)
            (request,) = self.take()
            requests.append(request)
        return requests


def headers(request: ClientRequest) -> list[BatchHeader]:
    assert isinstance(request.request, ProduceRequest)
    return [
        read_header(data.records)  # type: ignore[arg-type]
        for topic in request.request.topic_data
        for data in topic.partition_data
    ]


def sequence(request: ClientRequest) -> tuple[int, int, int]:
    (header,) = headers(request)
    return header.producer_id, header.producer_epoch, header.base_sequence


def test_a_record_is_delivered_with_its_offset() -> None:
    drive = ProducerDrive()
    send_id = drive.send(b"x", key=b"k", headers=[("h", b"v")], timestamp_ms=77)
    drive.run()
    assert drive.results() == [Delivery(send_id, "t", 0, 0, 77)]
    (record,) = drive.model.log("t").records()
    assert (record.key, record.value, list(record.headers)) == (b"k", b"x", [("h", b"v")])
    assert drive.producer.is_idle


def test_no_batch_leaves_before_a_producer_id_is_there() -> None:
    drive = ProducerDrive()
    drive.send(b"x")
    (request,) = drive.take()
    assert isinstance(request.request, InitProducerIdRequest)
    assert drive.take() == []
    drive.answer(request)
    (request,) = drive.take()
    assert isinstance(request.request, ProduceRequest)


def test_the_first_batch_of_a_partition_goes_alone() -> None:
    drive = ProducerDrive()
    drive.send(b"a")
    drive.answer(drive.take()[0])
    (first,) = drive.take()
    drive.send(b"b")
    assert drive.take() == []
    drive.answer(first)
    assert len(drive.take()) == 1


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


def test_a_retry_after_a_lost_response_keeps_its_sequence_and_writes_once() -> None:
    drive = ProducerDrive()
    drive.begin()
    (request,) = drive.fly(b"a")
    drive.reach(request)
    assert drive.take() == []
    drive.mono_ms += 100
    (again,) = drive.take()
    assert headers(again) == headers(request)
    drive.answer(again)
    assert drive.delivered() == [(ErrorCode.NONE, 1)]
    assert drive.model.log("t").values() == [b"first", b"a"]


def test_five_are_in_flight_and_no_sixth() -> None:
    drive = ProducerDrive()
    drive.begin()
    requests = drive.fly(b"a", b"b", b"c", b"d", b"e")
    drive.send(b"f")
    assert drive.take() == []
    drive.answer(requests[0])
    assert len(drive.take()) == 1


def test_five_in_flight_with_a_failure_in_the_middle_are_retried_in_order() -> None:
    drive = ProducerDrive()
    drive.begin()
    log = drive.model.log("t")
    log.answers.extend(
        [(ErrorCode.NONE, True), (ErrorCode.NONE, True), (ErrorCode.NOT_ENOUGH_REPLICAS, False)]
    )
    requests = drive.fly(b"a", b"b", b"c", b"d", b"e")
    sequences = [sequence(request) for request in requests]
    for request in requests[:4]:
        drive.answer(request)
        drive.mono_ms += 1_000
        assert drive.take() == [], "the one that is still on its way could arrive behind"
    drive.answer(requests[4])
    retries = drive.take()
    assert [sequence(request) for request in retries] == sequences[2:]
    for request in retries:
        drive.answer(request)
    assert log.values() == [b"first", b"a", b"b", b"c", b"d", b"e"]
    assert drive.delivered() == [(ErrorCode.NONE, offset) for offset in range(1, 6)]


def test_retries_back_off_and_a_success_ends_that() -> None:
    drive = ProducerDrive()
    drive.begin()
    log = drive.model.log("t")
    (request,) = drive.fly(b"a")
    waits = []
    for _ in range(6):
        log.answers.append((ErrorCode.NOT_ENOUGH_REPLICAS, False))
        drive.answer(request)
        deadline_ms = drive.producer.next_deadline_ms()
        assert deadline_ms is not None
        waits.append(deadline_ms - drive.mono_ms)
        drive.mono_ms = deadline_ms
        (request,) = drive.take()
    assert waits == [100, 200, 400, 800, 1_000, 1_000]
    drive.answer(request)
    assert drive.delivered() == [(ErrorCode.NONE, 1)]


def test_a_gap_before_a_batch_that_was_never_written_begins_a_new_epoch() -> None:
    drive = ProducerDrive()
    drive.begin()
    log = drive.model.log("t")
    log.answers.append((ErrorCode.MESSAGE_TOO_LARGE, False))
    requests = drive.fly(b"a", b"b", b"c")
    producer_id, epoch, _ = sequence(requests[0])
    for request in requests:
        drive.answer(request)
    drive.mono_ms += 1_000
    retries = drive.take()
    assert [sequence(request) for request in retries] == [
        (producer_id, epoch + 1, 0),
        (producer_id, epoch + 1, 1),
    ]
    for request in retries:
        drive.answer(request)
    assert log.values() == [b"first", b"b", b"c"]
    codes = [ErrorCode.MESSAGE_TOO_LARGE, ErrorCode.NONE, ErrorCode.NONE]
    assert [code for code, _ in drive.delivered()] == codes


def test_a_forgotten_sequence_of_a_batch_that_may_be_written_is_a_failure() -> None:
    drive = ProducerDrive()
    drive.begin()
    log = drive.model.log("t")
    (request,) = drive.fly(b"a")
    drive.reach(request)
    drive.mono_ms += 1_000
    log.answers.append((OUT_OF_ORDER, False))
    drive.answer(drive.take()[0])
    (delivery,) = drive.results()
    assert delivery.error == OUT_OF_ORDER
    assert delivery.maybe_written
    assert log.values() == [b"first", b"a"]


def test_an_unknown_producer_begins_a_new_epoch() -> None:
    drive = ProducerDrive()
    drive.begin()
    drive.model.log("t").answers.append((ErrorCode.UNKNOWN_PRODUCER_ID, False))
    (request,) = drive.fly(b"a")
    producer_id, epoch, _ = sequence(request)
    drive.answer(request)
    drive.mono_ms += 1_000
    (again,) = drive.take()
    assert sequence(again) == (producer_id, epoch + 1, 0)


def test_a_fenced_epoch_gets_a_new_producer_id() -> None:
    drive = ProducerDrive()
    drive.begin()
    log = drive.model.log("t")
    log.answers.append((ErrorCode.INVALID_PRODUCER_EPOCH, False))
    (request,) = drive.fly(b"a")
    before = sequence(request)
    drive.answer(request)
    drive.mono_ms += 1_000
    (asking,) = drive.take()
    assert isinstance(asking.request, InitProducerIdRequest)
    drive.answer(asking)
    (again,) = drive.take()
    after = sequence(again)
    assert after[0] != before[0]
    assert after[1:] == (0, 0)
    drive.answer(again)
    assert log.values() == [b"first", b"a"]


def test_after_the_last_epoch_comes_a_new_producer_id() -> None:
    drive = ProducerDrive()
    drive.begin()
    queue = drive.producer._placing.queues[next(iter(drive.producer._placing.queues))]
    queue.identity = queue.identity._replace(producer_epoch=32_767)
    drive.model.log("t").answers.append((ErrorCode.UNKNOWN_PRODUCER_ID, False))
    (request,) = drive.fly(b"a")
    drive.answer(request)
    drive.mono_ms += 1_000
    (asking,) = drive.take()
    assert isinstance(asking.request, InitProducerIdRequest)


def test_a_duplicate_is_a_delivery_without_an_offset() -> None:
    drive = ProducerDrive()
    drive.begin()
    drive.model.log("t").answers.append((ErrorCode.DUPLICATE_SEQUENCE_NUMBER, False))
    (request,) = drive.fly(b"a")
    drive.answer(request)
    assert drive.delivered() == [(ErrorCode.NONE, -1)]


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


def test_nothing_goes_to_a_new_leader_while_the_old_one_may_still_write() -> None:
    drive = ProducerDrive(nodes=2)
    drive.begin()
    (request,) = drive.fly(b"a")
    drive.model.log("t").leader, drive.model.log("t").leader_epoch = 2, 1
    drive.learn("t")
    drive.send(b"b")
    assert drive.take() == []
    drive.lose(request)
    drive.mono_ms += 1_000
    assert [(r.node, sequence(r)[2]) for r in drive.take()] == [(2, 1), (2, 2)]


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


def test_a_topic_of_the_same_name_begins_alone_again() -> None:
    drive = ProducerDrive()
    drive.begin()
    drive.model.create("t")
    drive.learn("t")
    (request,) = drive.fly(b"a")
    drive.send(b"b")
    assert drive.take() == []
    drive.answer(request)
    drive.run()
    assert drive.model.log("t").values() == [b"a", b"b"]


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
        drive.producer.send("t", "text", drive.now)  # type: ignore[arg-type]


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


@pytest.mark.parametrize("seed", range(60))
def test_whatever_is_lost_or_refused_each_record_is_written_once_and_in_order(seed: int) -> None:
    rng = random.Random(seed)
    settings = ProducerSettings(linger_ms=0, batch_bytes=200, delivery_timeout_ms=10**9)
    drive = ProducerDrive(settings, partitions=2, nodes=2)
    drive.producer._backoff._random = rng.random
    codes = [
        (ErrorCode.NOT_ENOUGH_REPLICAS, False),
        (ErrorCode.NOT_ENOUGH_REPLICAS_AFTER_APPEND, True),
        (ErrorCode.REQUEST_TIMED_OUT, True),
        (ErrorCode.NOT_LEADER_OR_FOLLOWER, False),
        (ErrorCode.MESSAGE_TOO_LARGE, False),
    ]
    sent: dict[int, tuple[int, bytes]] = {}
    waiting: dict[int, list[ClientRequest]] = {1: [], 2: []}
    results: list[Delivery] = []

    def step(is_calm: bool) -> None:
        for request in drive.take():
            waiting[max(request.node, 1)].append(request)
        for request in drive.cluster.poll(drive.now):
            drive._answer(drive.cluster, request)
        for node, requests in waiting.items():
            if not requests or rng.random() < 0.3:
                continue
            if not is_calm and rng.random() < 0.1:
                # The connection breaks: the first so many had reached the broker.
                reached = rng.randint(0, len(requests))
                for request in requests[:reached]:
                    drive.model.handle(node, request.request)
                while requests:
                    drive.lose(requests.pop(0))
            else:
                drive.answer(requests.pop(0))
        drive.mono_ms += rng.choice((1, 1, 50))
        results.extend(drive.results())

    for number in range(150):
        partition = rng.randrange(2)
        value = b"%d" % number + b"x" * rng.randrange(80)
        sent[drive.send(value, partition)] = (partition, value)
        log = drive.model.log("t", partition)
        if rng.random() < 0.1:
            log.answers.append(rng.choice(codes))
        if rng.random() < 0.02:
            log.leader = 3 - log.leader
            log.leader_epoch += 1
        step(is_calm=False)
    for index in range(2):
        drive.model.log("t", index).answers.clear()
    for _ in range(2_000):
        step(is_calm=True)
    assert drive.producer.is_idle
    assert sorted(result.send_id for result in results) == list(sent)
    for partition in range(2):
        values = drive.model.log("t", partition).values()
        acked = [r for r in results if not r.error and r.partition == partition]
        assert len(dict.fromkeys(values)) == len(values), "written twice"
        assert [values[r.offset] for r in acked] == [sent[r.send_id][1] for r in acked]
        of_sent = {value: send_id for send_id, (where, value) in sent.items() if where == partition}
        order = [of_sent[value] for value in values if value is not None]
        assert order == sorted(order)
        refused = [r for r in results if r.error and not r.maybe_written]
        assert not [r for r in refused if r.partition == partition and sent[r.send_id][1] in values]


def test_a_retry_that_fails_again_goes_before_those_that_still_wait() -> None:
    drive = ProducerDrive(partitions=2)
    drive.model.log("t", 1).leader = 1
    drive.begin()
    drive.send(b"first", 1)
    drive.run()
    drive.results()
    requests = drive.fly(b"a", b"b", b"c")
    for request in requests:
        drive.lose(request)
    others = []
    for _ in range(4):
        drive.send(b"x", 1)
        others += drive.take()
    drive.mono_ms += 1_000
    (again,) = drive.take()
    assert headers(again) == headers(requests[0])
    drive.lose(again)
    for other in others:
        drive.answer(other)
    drive.mono_ms += 1_000
    retries = drive.take()
    assert [headers(retry) for retry in retries] == [headers(request) for request in requests]
