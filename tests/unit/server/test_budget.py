"""Memory for requests is shared out so that one always gets to its end."""

from ottla.limits import RECEIVE_BUFFER_BYTES, SMALL_REQUEST_BYTES
from ottla.server.budget import Budget

FULL = RECEIVE_BUFFER_BYTES


class Reader:
    def __init__(self, size: int = 0) -> None:
        self.partial = bytearray(size)
        self.resumed = 0

    def resume(self) -> None:
        self.resumed += 1


def test_below_the_budget_everybody_reads_all_there_is() -> None:
    budget = Budget(1000)
    budget.used = 999
    assert budget.room_for(Reader(500), 0) == FULL


def test_what_the_node_holds_counts_too() -> None:
    budget = Budget(1000)
    budget.used = 500
    first, second = Reader(SMALL_REQUEST_BYTES), Reader(SMALL_REQUEST_BYTES)
    assert budget.room_for(first, 500) == FULL
    assert budget.room_for(second, 500) == 0


def test_over_the_budget_one_is_favoured_and_the_others_starve_in_order() -> None:
    budget = Budget(0)
    readers = [Reader(SMALL_REQUEST_BYTES) for _ in range(3)]
    assert [budget.room_for(reader, 0) for reader in readers] == [FULL, 0, 0]
    assert budget.room_for(readers[0], 0) == FULL
    assert [budget.is_starved(reader) for reader in readers] == [False, True, True]
    budget.forget(readers[0])
    budget.feed(0)
    assert [reader.resumed for reader in readers] == [0, 1, 0]
    assert budget.room_for(readers[1], 0) == FULL
    budget.feed(0)
    assert readers[2].resumed == 0


def test_small_requests_pass_while_others_starve() -> None:
    budget = Budget(0)
    budget.room_for(Reader(SMALL_REQUEST_BYTES), 0)
    assert budget.room_for(Reader(), 0) == SMALL_REQUEST_BYTES
    assert budget.room_for(Reader(SMALL_REQUEST_BYTES - 1), 0) == 1
    assert budget.room_for(Reader(SMALL_REQUEST_BYTES), 0) == 0


def test_memory_that_comes_back_feeds_all() -> None:
    budget = Budget(100)
    budget.used = 100
    readers = [Reader(SMALL_REQUEST_BYTES) for _ in range(3)]
    for reader in readers:
        budget.room_for(reader, 0)
    budget.used = 50
    budget.feed(0)
    assert [reader.resumed for reader in readers] == [0, 1, 1]
    assert not any(budget.is_starved(reader) for reader in readers)


def test_who_leaves_is_forgotten() -> None:
    budget = Budget(0)
    first, second = Reader(SMALL_REQUEST_BYTES), Reader(SMALL_REQUEST_BYTES)
    budget.room_for(first, 0)
    budget.room_for(second, 0)
    budget.forget(second)
    budget.forget(first)
    budget.feed(0)
    assert (first.resumed, second.resumed) == (0, 0)
