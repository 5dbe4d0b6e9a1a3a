"""Durable marks: what they survive, and what voids them."""

import pytest

from ottla.names import Now
from ottla.storage.durable import WRITE_INTERVAL_MS, DurableMarks, Mark
from ottla.storage.log import LogTicket
from tests.unit.storage.shelf import DIRECTORY, TOPIC_ID, Shelf, batch

OTHER = bytes(15) + b"\x08"
START = Now(1000, 0)


def ticket(records: int = 5) -> LogTicket:
    shelf = Shelf()
    shelf.log.topic_id = TOPIC_ID
    shelf.append(batch(records), epoch=3)
    return shelf.log.draw_ticket()


def marks_of(drawn: LogTicket, recovery_points: bytes = b"") -> DurableMarks:
    marks = DurableMarks(recovery_points)
    marks.on_flushed(drawn, START)
    return marks


def test_a_mark_is_read_back() -> None:
    drawn = ticket()

    loaded = DurableMarks.load(marks_of(drawn).encode(), b"")

    assert loaded.of(DIRECTORY, TOPIC_ID) == Mark(TOPIC_ID, 5, 3, drawn.batch_crc)


def test_a_log_that_was_never_flushed_has_nothing_durable() -> None:
    loaded = DurableMarks.load(marks_of(ticket()).encode(), b"")

    mark = loaded.of("other-0", TOPIC_ID)

    assert mark is not None
    assert mark.offset == 0


def test_a_mark_says_nothing_about_a_later_topic_of_the_same_name() -> None:
    mark = DurableMarks.load(marks_of(ticket()).encode(), b"").of(DIRECTORY, OTHER)

    assert mark is not None
    assert mark.offset == 0


def test_marks_of_topics_that_are_gone_are_forgotten() -> None:
    marks = DurableMarks.load(marks_of(ticket()).encode(), b"")

    marks.keep({DIRECTORY: OTHER})

    assert b"t-0" not in marks.encode()


def test_a_ticket_that_a_deletion_voided_leaves_no_mark() -> None:
    voided = ticket()
    voided.log.generation += 1

    assert b"t-0" not in marks_of(voided).encode()


def test_marks_of_a_later_run_hold_beside_the_recovery_points_of_an_earlier_clean_stop() -> None:
    first = DurableMarks(b"")
    first.set_recovery_points(b"clean")
    second = DurableMarks.load(first.encode(), b"clean")
    second.on_flushed(ticket(), START)

    third = DurableMarks.load(second.encode(), b"clean")

    assert third.are_known
    assert b"t-0" in third.encode()


@pytest.mark.parametrize("found", [b"before", b"after"])
def test_marks_hold_on_either_side_of_a_write_of_the_recovery_points(found: bytes) -> None:
    marks = marks_of(ticket(), b"before")
    marks.set_recovery_points(b"after")

    assert DurableMarks.load(marks.encode(), found).are_known


def test_marks_are_void_when_somebody_else_wrote_the_recovery_points() -> None:
    marks = DurableMarks.load(marks_of(ticket(), b"ours").encode(), b"theirs")

    assert not marks.are_known
    assert marks.of(DIRECTORY, TOPIC_ID) is None
    # From now on they are ours again.
    marks.on_flushed(ticket(), START)
    assert DurableMarks.load(marks.encode(), b"theirs").are_known


def test_a_damaged_file_holds_no_marks() -> None:
    data = marks_of(ticket()).encode()

    for at in range(len(data)):
        flipped = bytearray(data)
        flipped[at] ^= 1
        for damaged in (bytes(flipped), data[:at]):
            marks = DurableMarks.load(damaged, b"")
            assert not marks.are_known
            assert marks.of(DIRECTORY, TOPIC_ID) is None


def test_a_change_is_due_soon_and_the_first_change_says_when() -> None:
    marks = DurableMarks(b"")
    due = [marks.due_ms]
    marks.on_flushed(ticket(), START)
    marks.on_flushed(ticket(), Now(START.mono_ms + 500, 0))
    due.append(marks.due_ms)
    assert marks.take_change() == marks.encode()
    due.append(marks.due_ms)

    assert due == [None, START.mono_ms + WRITE_INTERVAL_MS, None]
