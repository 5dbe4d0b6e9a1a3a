from ottla.storage.checkpoints import RECOVERY_POINT_CHECKPOINT, decode_offsets
from ottla.storage.durable import MARKS_FILE, DurableMarks
from tests.unit.broker.life import Life


def test_marks_follow_a_flush_even_if_nothing_follows_the_flush() -> None:
    life = Life(1)
    harness = life.start()
    life.create("a")
    life.produce("a")
    harness.advance(1500)

    recovery_points = b""
    marks = DurableMarks.load(life.disk.contents(MARKS_FILE), recovery_points)
    mark = marks.of("a-0", harness.partition("a").topic_id)

    assert mark is not None
    assert mark.offset == 1
    assert life.disk.is_durable(MARKS_FILE, 0, len(marks.encode()))


def test_recovery_points_are_written_once_a_minute_while_something_happens() -> None:
    life = Life(1)
    harness = life.start()
    life.create("a")
    life.produce("a")
    assert RECOVERY_POINT_CHECKPOINT not in life.disk.paths()
    harness.advance(61_000)

    assert [*decode_offsets(life.disk.contents(RECOVERY_POINT_CHECKPOINT)).values()] == [1]
    # The marks hold beside them, and an idle broker sleeps.
    life.disk.crash()
    harness = life.start()
    assert harness.node.state.marks.are_known
    harness.advance(300_000)
    assert harness.node.next_deadline_ms() is None
