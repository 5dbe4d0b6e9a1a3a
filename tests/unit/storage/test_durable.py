"""Durable marks: what they survive, and what voids them."""

from ottla.names import Now
from ottla.storage.durable import DurableMarks, Mark
from ottla.storage.journal import Journal
from ottla.storage.log import LogTicket
from tests.unit.storage.shelf import DIRECTORY, TOPIC_ID, Shelf, batch

OTHER = bytes(16)


def ticket(records: int = 5) -> LogTicket:
    shelf = Shelf()
    shelf.log.join_journal(Journal(), TOPIC_ID)
    shelf.append(batch(records), epoch=3)
    return shelf.log.draw_ticket()


def mark_in(data: bytes, recovery_points: bytes = b"") -> Mark | None:
    return DurableMarks.load(data, recovery_points).of(DIRECTORY, TOPIC_ID)


def test_a_mark_is_read_back() -> None:
    marks = DurableMarks(b"")
    marks.on_flushed(ticket())

    mark = mark_in(marks.encode())

    assert mark is not None
    assert (mark.offset, mark.epoch) == (5, 3)


def test_a_mark_says_nothing_about_a_later_topic_of_the_same_name() -> None:
    marks = DurableMarks(b"")
    marks.on_flushed(ticket())

    assert marks.of(DIRECTORY, OTHER) is None


def test_a_ticket_that_a_truncation_voided_leaves_no_mark() -> None:
    marks = DurableMarks(b"")
    voided = ticket()
    voided.log.generation += 1
    marks.on_flushed(voided)

    assert marks.of(DIRECTORY, TOPIC_ID) is None


def test_marks_of_a_later_run_hold_beside_the_recovery_points_of_an_earlier_clean_stop() -> None:
    first = DurableMarks(b"")
    first.set_recovery_points(b"clean")
    second = DurableMarks.load(first.encode(), b"clean")
    second.on_flushed(ticket())

    assert mark_in(second.encode(), b"clean") is not None


def test_marks_are_void_when_somebody_else_wrote_the_recovery_points() -> None:
    marks = DurableMarks(b"ours")
    marks.on_flushed(ticket())

    assert mark_in(marks.encode(), b"theirs") is None


def test_a_damaged_file_holds_no_marks() -> None:
    marks = DurableMarks(b"")
    marks.on_flushed(ticket())
    data = bytearray(marks.encode())
    data[-4] ^= 1

    assert mark_in(bytes(data)) is None
    assert mark_in(b"") is None


def test_a_write_is_due_at_most_once_in_a_while() -> None:
    marks = DurableMarks(b"")
    marks.on_flushed(ticket())
    assert marks.take_due(Now(1_000, 0)) is not None
    marks.on_flushed(ticket(6))

    assert marks.take_due(Now(1_010, 0)) is None
    assert marks.take_due(Now(1_200, 0)) is not None
