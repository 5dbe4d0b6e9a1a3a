from collections.abc import Callable
from functools import partial
from typing import Any

import pytest

from ottla.errors import DiskError, ErrorCode, Refused
from ottla.names import NodeId, Now
from ottla.records.batch import Record, iter_headers
from ottla.records.record import encode_batch
from ottla.records.validate import validate_produced
from ottla.replication.partition import ROLL_RETRY_MS, Partition
from ottla.storage.disk import DiskFile
from ottla.storage.jobs import CreateSegment
from ottla.storage.log import Appended
from tests.unit.replication.desk import (
    EPOCH,
    LATER,
    NOW,
    Desk,
    Waiting,
    config,
    image,
    records,
)
from tests.unit.storage.shelf import CONFIG, PARTITION, TOPIC_ID, WALL_MS

BATCH_BYTES = 69


@pytest.fixture
def desk() -> Desk:
    return Desk()


def refusal(action: Callable[[], object]) -> ErrorCode:
    with pytest.raises(Refused) as refused:
        action()
    assert refused.value.why
    return refused.value.code


# Appending


def test_batches_get_the_next_offsets_and_the_leaders_epoch(desk: Desk) -> None:
    assert desk.append(b"a", b"b") == Appended(0, 1, -1, False)
    desk.partition.lead(image(epoch=EPOCH + 1))
    assert desk.append(b"c") == Appended(2, 2, -1, False)

    data = desk.shelf.bytes_of(desk.partition.read(0, 3, 1 << 20, True))
    assert [
        (header.base_offset, header.last_offset, header.partition_leader_epoch)
        for header in iter_headers(data)
    ] == [(0, 1, EPOCH), (2, 2, EPOCH + 1)]


def test_a_log_is_marked_dirty_once_until_a_ticket_covers_it(desk: Desk) -> None:
    desk.append(b"a")
    desk.append(b"b")
    assert desk.take_asked() == ["mark_dirty"]

    desk.partition.draw_ticket()
    desk.append(b"c")
    assert desk.take_asked() == ["mark_dirty"]


def test_a_flush_is_wanted_at_once_when_a_fetch_waits_for_data(desk: Desk) -> None:
    desk.partition.fetch_waiters["fetch"] = None

    desk.append(b"a")

    assert desk.take_asked() == ["mark_dirty", "want_flush"]


def test_a_batch_that_was_sent_twice_is_answered_as_the_first_time(desk: Desk) -> None:
    sent = encode_batch(
        [Record(0, WALL_MS, None, b"a")], producer_id=5, producer_epoch=0, base_sequence=0
    )
    batch = validate_produced(memoryview(sent), desk.partition.rules, 12, WALL_MS)

    first = desk.partition.append_as_leader(batch, NOW)
    desk.flush()
    desk.take_asked()
    second = desk.partition.append_as_leader(batch, NOW)

    assert first == Appended(0, 0, -1, False)
    assert (second.base_offset, second.last_offset, second.duplicate) == (0, 0, True)
    assert desk.log.end_offset == 1
    assert desk.take_asked() == []


def test_nothing_is_appended_to_a_log_directory_that_is_offline(desk: Desk) -> None:
    desk.is_storage_offline = True

    assert refusal(lambda: desk.append(b"a")) == ErrorCode.KAFKA_STORAGE_ERROR
    assert desk.log.end_offset == 0
    assert desk.asked == []


def test_an_append_that_fails_is_refused_and_told_to_the_node(desk: Desk) -> None:
    desk.append(b"a")
    desk.take_asked()
    desk.shelf.disk.fill()

    too_much = desk.validated(bytes(10_000))
    code = refusal(lambda: desk.partition.append_as_leader(too_much, NOW))

    assert code == ErrorCode.KAFKA_STORAGE_ERROR
    assert [what for what, _ in desk.take_asked()] == ["storage_error"]
    assert desk.log.end_offset == 1

    desk.shelf.disk.free_space()
    assert desk.append(b"b") == Appended(1, 1, -1, False)
    desk.flush()
    data = desk.shelf.bytes_of(desk.partition.read(1, 2, 1 << 20, True))
    assert [header.base_offset for header in iter_headers(data)] == [1]


def test_where_the_page_cache_is_trusted_what_is_appended_is_committed() -> None:
    """`ottla.durability=page-cache` opts down to Kafka's own durability."""
    desk = Desk(syncs=False)
    desk.partition.fetch_waiters["fetch"] = None

    desk.append(b"a", b"b")

    assert desk.partition.high_watermark == 2
    assert not desk.partition.is_flush_pending
    assert desk.take_asked() == [("wake", ["fetch"])]


# Validating


@pytest.mark.parametrize(
    ("overrides", "batch", "code"),
    [
        ({"max_message_bytes": "100"}, records(bytes(100)), ErrorCode.MESSAGE_TOO_LARGE),
        ({"cleanup_policy": "compact"}, records(b"a"), ErrorCode.INVALID_RECORD),
        (
            {"message_timestamp_after_max_ms": "10"},
            records(b"a", timestamp_ms=WALL_MS + 11),
            ErrorCode.INVALID_TIMESTAMP,
        ),
        (
            {"message_timestamp_before_max_ms": "10"},
            records(b"a", timestamp_ms=WALL_MS - 11),
            ErrorCode.INVALID_TIMESTAMP,
        ),
    ],
    ids=["too large", "no key on a compacted topic", "too late", "too early"],
)
def test_a_batch_is_held_against_the_topics_configs(
    overrides: dict[str, str], batch: memoryview, code: ErrorCode
) -> None:
    lenient, strict = Desk(config()), Desk(config(**overrides))

    validate_produced(batch, lenient.partition.rules, 12, WALL_MS)
    assert refusal(lambda: validate_produced(batch, strict.partition.rules, 12, WALL_MS)) == code


def test_a_new_config_holds_from_the_next_batch_on(desk: Desk) -> None:
    batch = desk.validated(b"a", timestamp_ms=5)
    assert batch.log_append_time_ms == -1

    changed = config(message_timestamp_type="LogAppendTime", min_insync_replicas="2")
    desk.partition.configure(changed)

    assert desk.validated(b"a", timestamp_ms=5).log_append_time_ms == WALL_MS
    assert desk.log.config is changed
    desk.partition.lead(image(isr=1, replicas=2))
    assert refusal(desk.partition.check_min_isr) == ErrorCode.NOT_ENOUGH_REPLICAS


# Rolling


def test_a_batch_that_finds_room_does_not_wait(desk: Desk) -> None:
    assert not desk.partition.must_wait_for_roll(desk.validated(b"a"), NOW)
    assert desk.asked == []


def test_a_full_segment_is_rolled_once_and_who_waits_is_woken(desk: Desk) -> None:
    batch = desk.fill_segment()
    end_offset = desk.log.end_offset
    assert desk.partition.must_wait_for_roll(batch, NOW)
    desk.partition.roll_waiters["one"] = None

    # Neither may pass it, though the second would find room.
    assert desk.partition.must_wait_for_roll(batch, NOW)
    assert desk.partition.must_wait_for_roll(desk.validated(b"a"), NOW)
    desk.partition.roll_waiters["two"] = None

    assert desk.take_asked() == ["submit"]
    assert isinstance(desk.jobs[0][0], CreateSegment)
    desk.finish_job()

    assert desk.take_asked() == [("wake", ["one", "two"])]
    assert desk.log.base_offsets == [0, end_offset]
    assert desk.log.directory_users == 0
    assert not desk.partition.must_wait_for_roll(batch, NOW)
    assert desk.partition.append_as_leader(batch, NOW).base_offset == end_offset


def test_a_roll_that_fails_refuses_who_waits_and_is_tried_again_a_little_later(desk: Desk) -> None:
    batch = desk.fill_segment()
    assert desk.partition.must_wait_for_roll(batch, NOW)
    desk.partition.roll_waiters["one"] = None
    desk.take_asked()
    full = DiskError(28, "no room")

    desk.finish_job(full)

    assert desk.take_asked() == [("storage_error", full), ("wake", ["one"])]
    assert desk.log.base_offsets == [0]
    assert desk.log.directory_users == 0
    again_ms = LATER.mono_ms + ROLL_RETRY_MS
    early, due = Now(again_ms - 1, WALL_MS), Now(again_ms, WALL_MS)
    code = refusal(lambda: desk.partition.must_wait_for_roll(batch, early))
    assert code == ErrorCode.KAFKA_STORAGE_ERROR
    assert desk.take_asked() == []
    assert desk.partition.must_wait_for_roll(batch, due)
    assert desk.take_asked() == ["submit"]


def test_a_segment_that_has_room_takes_batches_also_after_a_failed_roll(desk: Desk) -> None:
    batch = desk.fill_segment()
    desk.partition.must_wait_for_roll(batch, NOW)
    desk.finish_job(DiskError(28, "no room"))

    assert not desk.partition.must_wait_for_roll(desk.validated(b"small"), LATER)


def test_a_log_directory_that_is_offline_is_not_rolled(desk: Desk) -> None:
    batch = desk.fill_segment()
    desk.is_storage_offline = True

    code = refusal(lambda: desk.partition.must_wait_for_roll(batch, NOW))

    assert code == ErrorCode.KAFKA_STORAGE_ERROR
    assert desk.asked == []


def test_a_batch_larger_than_a_segment_rolls_nothing(desk: Desk) -> None:
    batch = desk.validated(bytes(CONFIG.segment_bytes))

    code = refusal(lambda: desk.partition.must_wait_for_roll(batch, NOW))

    assert code == ErrorCode.RECORD_LIST_TOO_LARGE
    assert desk.asked == []


# The high watermark, and who waits for it


def test_acknowledgements_leave_in_order_once_the_high_watermark_is_there(desk: Desk) -> None:
    desk.append(b"a")
    desk.wait("first", 1)
    desk.append(b"b", b"c")
    desk.wait("second", 3)
    ticket = desk.partition.draw_ticket()
    desk.append(b"d")
    desk.wait("third", 4)
    assert desk.take_asked() == [
        "mark_dirty",
        "want_flush",
        "want_flush",
        "mark_dirty",
        "want_flush",
    ]

    desk.flushed(ticket)
    assert desk.partition.high_watermark == 3
    assert desk.take_heard() == [("first", "durable", LATER), ("second", "durable", LATER)]

    desk.flush()
    assert desk.partition.high_watermark == 4
    assert desk.take_heard() == [("third", "durable", LATER)]
    assert not desk.partition.waiters


def test_what_is_appended_is_not_committed_before_it_is_durable(desk: Desk) -> None:
    desk.append(b"a")
    assert (desk.partition.high_watermark, desk.partition.last_stable_offset) == (0, 0)
    assert desk.partition.is_flush_pending

    desk.flush()
    assert (desk.partition.high_watermark, desk.partition.last_stable_offset) == (1, 1)
    assert not desk.partition.is_flush_pending


def test_fetches_are_woken_only_by_a_high_watermark_that_moves(desk: Desk) -> None:
    desk.append(b"a")
    first, second = desk.partition.draw_ticket(), desk.partition.draw_ticket()
    desk.take_asked()
    desk.partition.fetch_waiters["one"] = None

    desk.flushed(first)
    assert desk.take_asked() == [("wake", ["one"])]

    desk.partition.fetch_waiters["two"] = None
    desk.flushed(second)
    assert desk.take_asked() == []


def test_a_partition_of_a_log_that_was_there_begins_with_what_is_durable(desk: Desk) -> None:
    desk.append(b"a")
    desk.flush()
    desk.append(b"b")

    again = Partition(PARTITION, TOPIC_ID, desk.log, desk, CONFIG)

    assert again.high_watermark == 1
    assert (again.leader, again.leader_epoch) == (None, -1)


# Who may write and read


def test_a_partition_is_led_as_the_metadata_says(desk: Desk) -> None:
    partition = desk.partition

    partition.lead(image(isr=2, replicas=3, leader=2, epoch=9))

    assert (partition.leader, partition.leader_epoch) == (NodeId(2), 9)
    assert (partition.isr_size, partition.replica_count) == (2, 3)


@pytest.mark.parametrize(
    ("min_isr", "isr", "replicas", "is_refused"),
    [
        (1, 1, 1, False),
        (2, 1, 3, True),
        (2, 2, 3, False),
        (2, 3, 3, False),
        (3, 2, 3, True),
        (1, 0, 1, True),
        # It asks for more than it has replicas: all of them will do, as with Kafka.
        (2, 1, 1, False),
        (3, 2, 2, False),
        (3, 1, 2, True),
    ],
)
def test_acks_all_is_refused_while_too_few_replicas_are_in_sync(
    min_isr: int, isr: int, replicas: int, is_refused: bool
) -> None:
    partition = Desk(config(min_insync_replicas=str(min_isr))).partition
    partition.lead(image(isr, replicas))

    if is_refused:
        assert refusal(partition.check_min_isr) == ErrorCode.NOT_ENOUGH_REPLICAS
    else:
        partition.check_min_isr()


@pytest.mark.parametrize(
    ("known", "code"),
    [
        (-1, None),
        (EPOCH, None),
        (EPOCH - 1, ErrorCode.FENCED_LEADER_EPOCH),
        (0, ErrorCode.FENCED_LEADER_EPOCH),
        (-2, ErrorCode.FENCED_LEADER_EPOCH),
        (EPOCH + 1, ErrorCode.UNKNOWN_LEADER_EPOCH),
        (2**31 - 1, ErrorCode.UNKNOWN_LEADER_EPOCH),
    ],
)
def test_a_client_that_knows_another_leader_epoch_is_not_served(
    desk: Desk, known: int, code: ErrorCode | None
) -> None:
    """KIP-320; -1 says that the client does not know any."""
    if code is None:
        desk.partition.check_leader_epoch(known)
    else:
        assert refusal(lambda: desk.partition.check_leader_epoch(known)) == code


@pytest.mark.parametrize("known", [-1, EPOCH - 1, EPOCH, EPOCH + 1])
def test_of_a_deleted_partition_no_epoch_is_right(desk: Desk, known: int) -> None:
    desk.partition.close(lambda file: None, lambda: None, NOW)

    code = refusal(lambda: desk.partition.check_leader_epoch(known))

    assert code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION


# Reading


@pytest.fixture
def stocked(desk: Desk) -> Desk:
    """Offsets 0 to 5 in six batches; they begin at 2, four are durable, and all are written."""
    for value in (b"0", b"1", b"2", b"3"):
        desk.append(value)
    desk.flush()
    for value in (b"4", b"5"):
        desk.append(value)
    desk.log.start_offset = 2
    return desk


@pytest.mark.parametrize(
    ("offset", "end_offset", "found"),
    [
        (2, 4, [2, 3]),
        (3, 4, [3]),
        (2, 6, [2, 3, 4, 5]),
        (4, 6, [4, 5]),
        (2, 3, [2]),
        # At the end, and between the high watermark and the log's end: there is nothing yet.
        (4, 4, []),
        (5, 4, []),
        (6, 4, []),
        (6, 6, []),
    ],
)
def test_a_read_ends_where_its_reader_may_see(
    stocked: Desk, offset: int, end_offset: int, found: list[int]
) -> None:
    part = stocked.partition.read(offset, end_offset, 1 << 20, True)

    assert (part is None) == (not found)
    headers = iter_headers(stocked.shelf.bytes_of(part))
    assert [header.base_offset for header in headers] == found


@pytest.mark.parametrize("offset", [-1, 0, 1, 7, 2**62])
@pytest.mark.parametrize("end_offset", [4, 6])
def test_an_offset_that_the_log_does_not_hold_is_out_of_range(
    stocked: Desk, offset: int, end_offset: int
) -> None:
    code = refusal(lambda: stocked.partition.read(offset, end_offset, 1 << 20, True))

    assert code == ErrorCode.OFFSET_OUT_OF_RANGE


@pytest.mark.parametrize(
    ("bytes_max", "whole", "size"),
    [
        (10, False, 0),
        (10, True, BATCH_BYTES),
        (BATCH_BYTES, False, BATCH_BYTES),
        # What is cut off, a client skips.
        (BATCH_BYTES + 10, False, BATCH_BYTES + 10),
        (2 * BATCH_BYTES, False, 2 * BATCH_BYTES),
        (1 << 20, False, 2 * BATCH_BYTES),
    ],
)
def test_a_read_is_bounded_but_for_a_first_batch_that_is_asked_for_whole(
    stocked: Desk, bytes_max: int, whole: bool, size: int
) -> None:
    """KIP-74: a client gets on, however small its limit."""
    part = stocked.partition.read(2, 4, bytes_max, whole)

    assert len(stocked.shelf.bytes_of(part)) == size


def test_nothing_is_read_from_a_log_directory_that_is_offline(stocked: Desk) -> None:
    stocked.is_storage_offline = True

    for offset in (2, 4):
        code = refusal(partial(stocked.partition.read, offset, 4, 1 << 20, True))
        assert code == ErrorCode.KAFKA_STORAGE_ERROR


# Letting go


def test_who_waits_learns_that_it_waits_for_nothing(desk: Desk) -> None:
    desk.append(b"a")
    desk.wait("first", 1)
    desk.wait("second", 1)
    desk.partition.roll_waiters["produce"] = None
    desk.partition.fetch_waiters["fetch"] = None
    desk.take_asked()

    desk.partition.lose_waiters(ErrorCode.KAFKA_STORAGE_ERROR, LATER)

    code = ErrorCode.KAFKA_STORAGE_ERROR
    assert desk.take_heard() == [
        ("first", "token of first", code, LATER),
        ("second", "token of second", code, LATER),
    ]
    assert desk.take_asked() == [("wake", ["produce"]), ("wake", ["fetch"])]
    desk.flush()
    assert desk.take_heard() == []


def test_who_hears_that_it_lost_may_wait_again(desk: Desk) -> None:
    class Stubborn(Waiting):
        def on_lost(self, token: Any, code: ErrorCode, now: Now) -> None:
            super().on_lost(token, code, now)
            desk.wait("again", 1)

    desk.append(b"a")
    desk.partition.wait_for_ack(1, Stubborn("first", desk.heard), "token")
    desk.partition.lose_waiters(ErrorCode.NOT_LEADER_OR_FOLLOWER, NOW)
    assert desk.take_heard() == [("first", "token", ErrorCode.NOT_LEADER_OR_FOLLOWER, NOW)]

    desk.flush()
    assert desk.take_heard() == [("again", "durable", LATER)]


def test_a_closed_partition_lets_its_waiters_its_files_and_its_directory_go(desk: Desk) -> None:
    desk.append(b"a")
    desk.wait("first", 1)
    gone: list[Any] = []

    desk.partition.close(gone.append, lambda: gone.append("directory"), LATER)

    code = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    assert desk.take_heard() == [("first", "token of first", code, LATER)]
    assert gone == [desk.log.active.file, "directory"]
    assert desk.partition.is_deleted


def test_a_flush_that_ends_after_the_close_commits_nothing(desk: Desk) -> None:
    desk.append(b"a")
    ticket = desk.partition.draw_ticket()
    gone: list[Any] = []

    desk.partition.close(gone.append, lambda: gone.append("directory"), LATER)
    assert gone == [], "the round still writes into it"
    desk.flushed(ticket)
    desk.log.leave_directory()

    assert desk.partition.high_watermark == 0
    assert gone == [desk.log.active.file, "directory"]


def test_a_segment_that_comes_after_the_close_is_retired_too(desk: Desk) -> None:
    batch = desk.fill_segment()
    assert desk.partition.must_wait_for_roll(batch, NOW)
    gone: list[Any] = []

    def retire(file: DiskFile) -> None:
        gone.append(file.path)

    desk.partition.close(retire, lambda: gone.append("directory"), LATER)
    assert gone == [], "the roll still writes into it"
    end_offset = desk.log.end_offset
    desk.finish_job()

    assert gone == [
        desk.shelf.path(end_offset, ".log"),
        desk.shelf.path(0, ".log"),
        "directory",
    ]
    assert desk.log.base_offsets == [0]
