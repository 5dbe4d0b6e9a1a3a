from ottla.broker.flushing import IDLE_FLUSH_MS
from ottla.broker.stop import stop_cleanly
from ottla.storage.checkpoints import (
    CLEAN_SHUTDOWN,
    LOG_START_CHECKPOINT,
    RECOVERY_POINT_CHECKPOINT,
    REPLICATION_CHECKPOINT,
    decode_offsets,
)
from tests.unit.broker.life import Life


def test_a_clean_stop_is_found_as_it_was_left() -> None:
    life = Life(1)
    life.start()
    life.create("a")
    for _ in range(3):
        life.produce("a")
    life.stop()
    disk = life.disk

    for name in (RECOVERY_POINT_CHECKPOINT, REPLICATION_CHECKPOINT):
        assert [*decode_offsets(disk.contents(name)).values()] == [3]
    assert [*decode_offsets(disk.contents(LOG_START_CHECKPOINT)).values()] == [0]
    assert disk.contents(CLEAN_SHUTDOWN).startswith(b'{"version":0,"brokerEpoch":')
    life.start()
    assert CLEAN_SHUTDOWN not in disk.paths()
    life.check()


def test_a_stop_with_work_under_way_is_no_clean_one() -> None:
    life = Life(1)
    harness = life.start()
    harness.create_topic("a")
    harness.holds_flushes = True
    harness.connect().produce("a", b"x", acks=1)
    harness.advance(IDLE_FLUSH_MS)

    assert not harness.on_disk(lambda disk: stop_cleanly(harness.node))
    assert CLEAN_SHUTDOWN not in life.disk.paths()


def test_what_only_the_journal_holds_is_synced_before_a_clean_stop_empties_it() -> None:
    """Also of a segment that was rolled: no later round will name its file."""
    life = Life(1)
    life.start()
    life.create("b")
    for _ in range(30):
        life.produce("b", 50_000)
    life.stop()
    life.disk.crash()
    life.start()

    life.check()


def test_a_stop_touches_only_what_was_used() -> None:
    life = Life(1)
    life.start()
    for name in ("a", "b", "c"):
        life.create(name)
        life.produce(name)
    life.stop()
    life.start()
    life.produce("b")
    before = {path: life.disk.contents(path) for path in life.disk.paths()}
    life.stop()

    changed = [path for path in life.disk.paths() if before.get(path) != life.disk.contents(path)]
    assert not [path for path in changed if path.startswith(("a-0/", "c-0/"))]
    assert [path for path in changed if path.startswith("b-0/")]
