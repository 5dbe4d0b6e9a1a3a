"""Sequences and retries: what keeps records once and in order (KIP-98, KIP-360)."""

import random

import pytest

from ottla.client.producer import Delivery
from ottla.client.requests import ClientRequest
from ottla.client.settings import ProducerSettings
from ottla.errors import ErrorCode
from ottla.protocol.schema.init_producer_id import InitProducerIdRequest
from ottla.protocol.schema.produce import ProduceRequest
from tests.unit.client.producing import ProducerDrive, headers, sequence

OUT_OF_ORDER = ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER


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


class Storm:
    """Requests wait at their brokers, and connections break with what is on them."""

    CODES = (
        (ErrorCode.NOT_ENOUGH_REPLICAS, False),
        (ErrorCode.NOT_ENOUGH_REPLICAS_AFTER_APPEND, True),
        (ErrorCode.REQUEST_TIMED_OUT, True),
        (ErrorCode.NOT_LEADER_OR_FOLLOWER, False),
        (ErrorCode.MESSAGE_TOO_LARGE, False),
    )

    def __init__(self, seed: int) -> None:
        settings = ProducerSettings(linger_ms=0, batch_bytes=200, delivery_timeout_ms=10**9)
        self.rng = random.Random(seed)
        self.drive = ProducerDrive(settings, partitions=2, nodes=2)
        self.sent: dict[int, tuple[int, bytes]] = {}
        self.results: list[Delivery] = []
        self._waiting: dict[int, list[ClientRequest]] = {1: [], 2: []}

    def blow(self, number: int) -> None:
        rng = self.rng
        partition = rng.randrange(2)
        value = b"%d" % number + b"x" * rng.randrange(80)
        self.sent[self.drive.send(value, partition)] = (partition, value)
        log = self.drive.model.log("t", partition)
        if rng.random() < 0.1:
            log.answers.append(rng.choice(self.CODES))
        if rng.random() < 0.02:
            log.leader = 3 - log.leader
            log.leader_epoch += 1
        self.step(breaks=0.1)

    def step(self, breaks: float) -> None:
        rng, drive = self.rng, self.drive
        for request in drive.take():
            self._waiting[max(request.node, 1)].append(request)
        drive.answer_view()
        for node, requests in self._waiting.items():
            if not requests or rng.random() < 0.3:
                continue
            if rng.random() < breaks:
                # The first so many had reached the broker.
                for request in requests[: rng.randint(0, len(requests))]:
                    drive.model.handle(node, request.request)
                while requests:
                    drive.lose(requests.pop(0))
            else:
                drive.answer(requests.pop(0))
        drive.mono_ms += rng.choice((1, 1, 50))
        self.results.extend(drive.results())

    def calm(self) -> None:
        for partition in range(2):
            self.drive.model.log("t", partition).answers.clear()
        for _ in range(2_000):
            self.step(breaks=0.0)


@pytest.mark.parametrize("seed", range(60))
def test_whatever_is_lost_or_refused_each_record_is_written_once_and_in_order(seed: int) -> None:
    storm = Storm(seed)
    for number in range(150):
        storm.blow(number)
    storm.calm()
    sent, results = storm.sent, storm.results
    assert storm.drive.producer.is_idle
    assert sorted(result.send_id for result in results) == list(sent)
    for partition in range(2):
        values = storm.drive.model.log("t", partition).values()
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
