from typing import Any

import pytest

from ottla.metadata.records import encode_record
from ottla.metadata.transactions import TransactionFilter, Written
from ottla.protocol.schema import records_metadata as schema

BEGIN = schema.BeginTransactionRecord()
END = schema.EndTransactionRecord()
ABORT = schema.AbortTransactionRecord()
A, B, C = (schema.TopicRecord(name=name) for name in "abc")


def written(*records: Any) -> list[Written]:
    return [Written(encode_record(record), offset) for offset, record in enumerate(records)]


def released(*records: Any) -> list[list[int]]:
    """By record: the offsets of what may be replayed once it was read."""
    transactions = TransactionFilter()
    return [[one.offset for one in transactions.take(record)] for record in written(*records)]


@pytest.mark.parametrize(
    ("records", "expected"),
    [
        ((A, B), [[0], [1]]),
        ((A, BEGIN, B, C, END), [[0], [], [], [], [2, 3]]),
        ((A, BEGIN, B, C, ABORT, A), [[0], [], [], [], [], [5]]),
        ((BEGIN, END, A), [[], [], [2]]),
        ((BEGIN, A, END, BEGIN, B, END), [[], [], [1], [], [], [4]]),
        ((BEGIN, A, ABORT, BEGIN, B, END), [[], [], [], [], [], [4]]),
        # What a controller left open, its successor aborts; a stray end ends nothing.
        ((ABORT, A), [[], [1]]),
        ((END, A), [[], [1]]),
    ],
)
def test_records_of_a_transaction_hold_together_or_not_at_all(
    records: tuple[Any, ...], expected: list[list[int]]
) -> None:
    assert released(*records) == expected


def test_records_come_out_of_a_transaction_as_they_went_in() -> None:
    transactions = TransactionFilter()
    begin, first, second, end = written(BEGIN, A, B, END)
    for record in (begin, first, second):
        transactions.take(record)

    assert transactions.take(end) == [first, second]


def test_types_that_are_not_known_are_held_back_like_others() -> None:
    transactions = TransactionFilter()
    unknown = Written(b"\x01\x7f\x00", 1)
    transactions.take(Written(encode_record(BEGIN), 0))

    assert transactions.take(unknown) == []
    assert transactions.take(Written(encode_record(END), 2)) == [unknown]


def test_a_transaction_is_open_from_its_begin_to_its_end_or_abort() -> None:
    for last in (END, ABORT):
        transactions = TransactionFilter()
        was_open = []
        for record in written(A, BEGIN, B, last, C):
            transactions.take(record)
            was_open.append(transactions.is_open)

        assert was_open == [False, True, True, False, False]
