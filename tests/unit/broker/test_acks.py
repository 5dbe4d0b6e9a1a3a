from typing import Any

import pytest

from ottla.broker.acks import Acks, AckWaits, round_up
from ottla.broker.parked import Stir, Timers
from ottla.errors import ErrorCode
from ottla.names import Now
from ottla.protocol.schema.produce import (
    PartitionProduceResponse,
    ProduceResponse,
    TopicProduceResponse,
)

TIMED_OUT = ErrorCode.REQUEST_TIMED_OUT


class Board:
    def __init__(self) -> None:
        self.timers = Timers(Stir())
        self.answered: list[tuple[Any, ProduceResponse]] = []
        self.waits = AckWaits(self.timers, lambda call, reply: self.answered.append((call, reply)))

    def wait(self, name: Any, timeout_ms: int, mono_ms: int = 0, partitions: int = 1) -> Acks:
        acks = Acks(name, self.waits)
        acks.pending = partitions
        answers = [PartitionProduceResponse(index, TIMED_OUT) for index in range(partitions)]
        response = ProduceResponse(responses=[TopicProduceResponse("orders", bytes(16), answers)])
        self.waits.add(acks, response, timeout_ms, Now(mono_ms, mono_ms))
        return acks

    def codes(self) -> list[int]:
        return [
            answer.error_code
            for _, response in self.answered
            for topic in response.responses
            for answer in topic.partition_responses
        ]

    def tick(self, mono_ms: int) -> None:
        self.timers.run_due(Now(mono_ms, mono_ms))


def answer(acks: Acks, index: int = 0) -> PartitionProduceResponse:
    assert acks.response is not None
    return acks.response.responses[0].partition_responses[index]


def test_a_reply_leaves_when_the_last_partition_is_durable() -> None:
    board = Board()
    acks = board.wait("a", 1000, partitions=2)
    acks.on_durable(answer(acks, 1), Now(1, 1))
    assert board.answered == []
    acks.on_durable(answer(acks, 0), Now(2, 2))
    assert board.codes() == [0, 0]


def test_a_lost_log_is_told_for_its_partition_alone() -> None:
    board = Board()
    acks = board.wait("a", 1000, partitions=2)
    acks.on_lost(answer(acks, 1), ErrorCode.KAFKA_STORAGE_ERROR, Now(1, 1))
    acks.on_durable(answer(acks, 0), Now(2, 2))
    assert board.codes() == [0, ErrorCode.KAFKA_STORAGE_ERROR]


def test_a_timeout_answers_once_and_what_comes_later_is_ignored() -> None:
    board = Board()
    acks = board.wait("a", 1000)
    board.tick(round_up(1000))
    assert board.codes() == [TIMED_OUT]
    acks.on_durable(answer(acks), Now(3000, 3000))
    assert len(board.answered) == 1


def test_a_timeout_takes_nothing_back_that_was_durable_in_time() -> None:
    board = Board()
    acks = board.wait("a", 1000, partitions=3)
    acks.on_durable(answer(acks, 1), Now(1, 1))
    board.tick(round_up(1000))
    assert board.codes() == [TIMED_OUT, 0, TIMED_OUT]


def test_one_queue_times_out_its_entries_one_by_one() -> None:
    board = Board()
    for start in (0, 100, 200):
        board.wait(start, 1024, mono_ms=start)
    board.tick(1024)
    board.tick(1123)
    assert [call for call, _ in board.answered] == [0]
    board.tick(1124)
    board.tick(1224)
    assert [call for call, _ in board.answered] == [0, 100, 200]
    assert board.timers.next_deadline_ms() is None


def test_what_is_done_is_kept_only_behind_what_is_not() -> None:
    board = Board()
    first, second, third = (board.wait(n, 1024) for n in range(3))
    second.on_durable(answer(second), Now(1, 1))
    assert len(board.waits) == 3
    first.on_durable(answer(first), Now(1, 1))
    assert len(board.waits) == 1
    third.on_durable(answer(third), Now(1, 1))
    assert len(board.waits) == 0


@pytest.mark.parametrize("timeout_ms", [0, 1, 7, 8, 9, 1000, 30_000, 2**31 - 1])
def test_a_timeout_is_never_early_and_at_most_a_quarter_late(timeout_ms: int) -> None:
    assert timeout_ms <= round_up(timeout_ms) <= timeout_ms * 1.25


def test_however_many_timeouts_clients_choose_there_are_few_queues() -> None:
    assert len(dict.fromkeys(round_up(n * n + 1) for n in range(46_340))) < 130
