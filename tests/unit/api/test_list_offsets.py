"""ListOffsets: beginnings, ends and times, and what a flush still hides."""

import pytest

from ottla.errors import ErrorCode
from ottla.protocol.schema.list_offsets import (
    ListOffsetsPartition,
    ListOffsetsPartitionResponse,
    ListOffsetsRequest,
    ListOffsetsResponse,
    ListOffsetsTopic,
)
from ottla.records.batch import Record
from ottla.records.record import encode_batch
from ottla.storage.jobs import WarmRange
from tests.unit.api.asking import restarted
from tests.unit.broker.harness import WALL_MS, Harness

LATEST, EARLIEST, MAX_TIMESTAMP, EARLIEST_LOCAL, LATEST_TIERED, PENDING_UPLOAD = range(-1, -7, -1)
NONE = ErrorCode.NONE
UNSUPPORTED = ErrorCode.UNSUPPORTED_VERSION
NOWHERE = (NONE, -1, -1, -1)

Found = tuple[int, int, int, int]


def ask(
    *partitions: ListOffsetsPartition, topic: str = "orders", isolation_level: int = 0
) -> ListOffsetsRequest:
    return ListOffsetsRequest(
        replica_id=-1,
        isolation_level=isolation_level,
        topics=[ListOffsetsTopic(topic, list(partitions))],
    )


def at(timestamp: int, partition: int = 0, leader_epoch: int = -1) -> ListOffsetsPartition:
    return ListOffsetsPartition(partition, leader_epoch, timestamp)


def found(response: ListOffsetsResponse) -> list[Found]:
    """Code, offset, time and leader epoch of each partition."""
    return [
        (answer.error_code, answer.offset, answer.timestamp, answer.leader_epoch)
        for topic in response.topics
        for answer in topic.partitions
    ]


def look_up(harness: Harness, timestamp: int, version: int = 11) -> Found:
    return found(harness.connect().ask(ask(at(timestamp)), version))[0]


def put(harness: Harness, *times: int, topic: str = "orders", acks: int = -1) -> None:
    """One batch, whose records were made at these times."""
    records = [Record(0, WALL_MS + time, None, b"x", ()) for time in times]
    harness.connect().produce(topic, records=encode_batch(records), acks=acks)


@pytest.fixture
def timed(harness: Harness) -> Harness:
    """Offsets 0 to 2, then 3 and 4, then 5: late ones among them."""
    put(harness, 0, 20, 10)
    put(harness, 50, 40)
    put(harness, 30)
    return harness


# Ends


@pytest.mark.parametrize(
    ("timestamp", "expected"),
    [
        (LATEST, (NONE, 0, -1, 0)),
        (EARLIEST, (NONE, 0, -1, 0)),
        (EARLIEST_LOCAL, (NONE, 0, -1, 0)),
        (MAX_TIMESTAMP, NOWHERE),
        (LATEST_TIERED, NOWHERE),
        (PENDING_UPLOAD, NOWHERE),
        (0, NOWHERE),
    ],
)
def test_an_empty_log_begins_where_it_ends(
    harness: Harness, timestamp: int, expected: Found
) -> None:
    assert look_up(harness, timestamp) == expected


@pytest.mark.parametrize(
    ("timestamp", "expected"),
    [
        (LATEST, (NONE, 6, -1, 0)),
        (EARLIEST, (NONE, 0, -1, 0)),
        (EARLIEST_LOCAL, (NONE, 0, -1, 0)),
        (MAX_TIMESTAMP, (NONE, 3, WALL_MS + 50, 0)),
        (LATEST_TIERED, NOWHERE),
        (PENDING_UPLOAD, NOWHERE),
    ],
)
def test_special_timestamps_name_places(timed: Harness, timestamp: int, expected: Found) -> None:
    assert look_up(timed, timestamp) == expected


@pytest.mark.parametrize(
    ("timestamp", "first_version"),
    [(MAX_TIMESTAMP, 7), (EARLIEST_LOCAL, 8), (LATEST_TIERED, 9), (PENDING_UPLOAD, 11)],
)
def test_a_special_timestamp_is_refused_before_its_version(
    harness: Harness, timestamp: int, first_version: int
) -> None:
    assert look_up(harness, timestamp, first_version - 1)[0] == UNSUPPORTED
    assert look_up(harness, timestamp, first_version)[0] == NONE


@pytest.mark.parametrize("timestamp", [-7, -(2**63)])
def test_other_negative_timestamps_name_no_place(timed: Harness, timestamp: int) -> None:
    assert look_up(timed, timestamp) == (UNSUPPORTED, -1, -1, -1)


@pytest.mark.parametrize(("version", "leader_epoch"), [(3, -1), (4, 0)])
def test_leader_epochs_are_told_since_version_4(
    timed: Harness, version: int, leader_epoch: int
) -> None:
    assert look_up(timed, LATEST, version) == (NONE, 6, -1, leader_epoch)


# Times


@pytest.mark.parametrize(
    ("time", "expected"),
    [
        (-1, (NONE, 0, WALL_MS, 0)),
        (0, (NONE, 0, WALL_MS, 0)),
        (1, (NONE, 1, WALL_MS + 20, 0)),
        (20, (NONE, 1, WALL_MS + 20, 0)),
        (21, (NONE, 3, WALL_MS + 50, 0)),
        (50, (NONE, 3, WALL_MS + 50, 0)),
        (51, NOWHERE),
    ],
)
def test_a_time_finds_the_first_record_that_is_not_older(
    timed: Harness, time: int, expected: Found
) -> None:
    assert look_up(timed, WALL_MS + time) == expected


def test_a_time_is_found_across_segments(harness: Harness) -> None:
    harness.create_topic("small", segment_bytes=1 << 20)
    producer = harness.connect()
    for time in range(4):
        records = [Record(0, WALL_MS + time, None, bytes(600_000), ())]
        producer.produce("small", records=encode_batch(records))
    assert len(harness.partition("small").log.segments) == 4
    request = [ask(at(WALL_MS + time), topic="small") for time in range(5)]
    answers = [found(producer.ask(each, 11))[0][1] for each in request]
    assert answers == [0, 1, 2, 3, -1]


def test_of_equally_new_records_the_first_is_the_newest(harness: Harness) -> None:
    put(harness, 5, 9)
    put(harness, 9, 9)
    assert look_up(harness, MAX_TIMESTAMP) == (NONE, 1, WALL_MS + 9, 0)


def test_records_without_a_time_are_found_by_none_and_the_first_is_the_newest(
    harness: Harness,
) -> None:
    put(harness, -WALL_MS - 1)
    put(harness, -WALL_MS - 1)
    assert look_up(harness, 0) == NOWHERE
    assert look_up(harness, MAX_TIMESTAMP) == (NONE, 0, -1, 0)


def test_a_lookup_in_cold_pages_reads_them_first(timed: Harness) -> None:
    timed.advance(2000)
    timed.disk.evict("orders-0/00000000000000000000.log")
    client = timed.connect()
    timed.holds_jobs = True
    asked = client.send(ask(at(WALL_MS + 30)), 11)
    assert [type(op.job) for op in timed.jobs] == [WarmRange]
    timed.holds_jobs = False
    timed.settle()
    assert found(client.reply(asked)) == [(NONE, 3, WALL_MS + 50, 0)]


# Epochs


def test_after_a_restart_the_epochs_are_those_of_the_records(timed: Harness) -> None:
    timed.disk.kill()
    after = restarted(timed)
    put(after, 60)
    stamps = (EARLIEST, LATEST, MAX_TIMESTAMP, WALL_MS)
    assert [look_up(after, stamp) for stamp in stamps] == [
        (NONE, 0, -1, 0),
        (NONE, 7, -1, 1),
        (NONE, 6, WALL_MS + 60, 1),
        (NONE, 0, WALL_MS, 0),
    ]
    after.assert_nothing_left()


@pytest.mark.parametrize(
    ("leader_epoch", "code"),
    [
        (-1, NONE),
        (0, ErrorCode.FENCED_LEADER_EPOCH),
        (1, NONE),
        (2, ErrorCode.UNKNOWN_LEADER_EPOCH),
    ],
)
def test_an_asker_must_know_the_leaders_own_epoch_or_none(
    harness: Harness, leader_epoch: int, code: ErrorCode
) -> None:
    harness.disk.kill()
    after = restarted(harness)
    request = ask(at(LATEST, leader_epoch=leader_epoch))
    assert found(after.connect().ask(request, 11))[0][0] == code


# Hidden by our own flush


@pytest.mark.parametrize(
    ("timestamp", "waits", "expected"),
    [
        (LATEST, True, (NONE, 7, -1, 0)),
        (MAX_TIMESTAMP, True, (NONE, 6, WALL_MS + 90, 0)),
        (WALL_MS + 60, True, (NONE, 6, WALL_MS + 90, 0)),
        (EARLIEST, False, (NONE, 0, -1, 0)),
        (EARLIEST_LOCAL, False, (NONE, 0, -1, 0)),
    ],
)
def test_an_answer_that_a_flush_of_ours_would_change_waits_for_it(
    timed: Harness, timestamp: int, waits: bool, expected: Found
) -> None:
    client = timed.connect()
    timed.holds_flushes = True
    put(timed, 90, acks=1)
    asked = client.send(ask(at(timestamp)), 11)
    assert client.has_reply(asked) is not waits
    timed.holds_flushes = False
    timed.settle()
    assert found(client.reply(asked)) == [expected]


def test_what_comes_while_a_lookup_waits_is_neither_waited_for_nor_found(harness: Harness) -> None:
    client = harness.connect()
    harness.holds_flushes = True
    put(harness, 0, acks=1)
    asked = client.send(ask(at(WALL_MS + 50)), 11)
    put(harness, 90, acks=1)
    assert not client.has_reply(asked)
    harness.finish_flush()
    harness.settle()
    assert found(client.reply(asked)) == [NOWHERE]


def test_one_hidden_partition_keeps_the_others_waiting_and_all_are_answered(
    harness: Harness,
) -> None:
    client = harness.connect()
    harness.holds_flushes = True
    harness.connect().produce("orders", b"a", partition=1, acks=1)
    asked = client.send(ask(at(LATEST), at(LATEST, 1), at(LATEST, 9)), 11)
    assert client.order == []
    harness.holds_flushes = False
    harness.settle()
    unknown = (ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, -1, -1, -1)
    expected = [(NONE, 0, -1, 0), (NONE, 1, -1, 0), unknown]
    assert found(client.reply(asked)) == expected


# Refusals


def test_a_partition_that_is_named_twice_is_refused_once(harness: Harness) -> None:
    response = harness.connect().ask(ask(at(LATEST), at(LATEST, 1), at(EARLIEST)), 11)
    assert response.topics[0].partitions == [
        ListOffsetsPartitionResponse(0, ErrorCode.INVALID_REQUEST),
        ListOffsetsPartitionResponse(1, 0, -1, 0, 0),
    ]


@pytest.mark.parametrize(("isolation_level", "code"), [(0, NONE), (1, NONE), (2, -1), (-1, -1)])
def test_there_are_two_isolation_levels(harness: Harness, isolation_level: int, code: int) -> None:
    request = ask(at(LATEST), isolation_level=isolation_level)
    assert found(harness.connect().ask(request, 11))[0][0] == code


def test_with_page_cache_durability_nothing_is_hidden() -> None:
    harness = Harness({"ottla.durability": "page-cache"})
    harness.create_topic("orders")
    harness.holds_flushes = True
    put(harness, 0, acks=1)
    assert look_up(harness, LATEST) == (NONE, 1, -1, 0)
    harness.assert_nothing_left()
