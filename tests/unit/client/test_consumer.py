"""The fetcher's core against a model of the brokers.

Covers: ottla.client.positions, ottla.client.chunks, ottla.client.fetch_session
"""

import pytest

from ottla.client.consumer import Fetcher
from ottla.client.positions import AtTimestamp, End, FetchError, Start
from ottla.client.requests import ClientRequest
from ottla.client.settings import FetchSettings, ResetPolicy
from ottla.errors import ErrorCode
from ottla.names import TopicPartition
from ottla.protocol.schema.fetch import (
    FetchableTopicResponse,
    FetchRequest,
    FetchResponse,
    LeaderIdAndEpoch,
    PartitionData,
)
from ottla.protocol.schema.list_offsets import ListOffsetsRequest
from ottla.records.batch import Record, seal
from ottla.records.control import ControlType, encode_control_batch
from ottla.records.record import encode_batch
from tests.unit.client.model import Log, ModelCluster
from tests.unit.client.roles import Drive, half

WHERE = TopicPartition("t", 0)


class FetcherDrive(Drive):
    def __init__(
        self, settings: FetchSettings | None = None, *, partitions: int = 1, nodes: int = 1
    ) -> None:
        super().__init__(ModelCluster(nodes))
        self.model.create("t", partitions)
        self.fetcher = Fetcher(self.cluster, settings or FetchSettings(), half)
        self.role = self.fetcher
        self.learn("t")

    def read(self, start: Start, end: End = "latest", partitions: int = 1) -> list[bytes | None]:
        for partition in range(partitions):
            self.fetcher.assign(TopicPartition("t", partition), start, end)
        values: list[bytes | None] = []
        for _ in range(50):
            self.step()
            values += self.values()
            if self.fetcher.is_finished:
                return values
        raise AssertionError("never finished")

    def step(self) -> list[ClientRequest]:
        requests = self.take()
        for request in requests:
            self.answer(request)
        self.answer_view()
        self.mono_ms += 100
        return requests

    def values(self, records_max: int = 500) -> list[bytes | None]:
        taken = self.fetcher.take_fetched(records_max)
        return [record.value for fetched in taken for record in fetched.records]

    def fetch(self) -> tuple[ClientRequest, FetchRequest]:
        (request,) = self.take()
        assert isinstance(request.request, FetchRequest)
        return request, request.request


def fill(log: Log, *values: bytes, timestamp_ms: int = 0) -> None:
    code, _ = log.produce(encode_batch([Record(0, timestamp_ms, None, value) for value in values]))
    assert code == ErrorCode.NONE


def asked(request: FetchRequest) -> list[tuple[int, int]]:
    return [(p.partition, p.fetch_offset) for topic in request.topics for p in topic.partitions]


def test_all_partitions_are_read_from_their_beginning_to_their_end() -> None:
    drive = FetcherDrive(partitions=3, nodes=2)
    for index in range(3):
        fill(drive.model.log("t", index), b"a%d" % index, b"b%d" % index)
        fill(drive.model.log("t", index), b"c%d" % index)
    values = drive.read("earliest", partitions=3)
    assert sorted(value or b"" for value in values) == sorted(
        b"%c%d" % (c, i) for c in b"abc" for i in range(3)
    )


def test_an_empty_partition_is_finished_without_a_fetch() -> None:
    assert FetcherDrive().read("earliest") == []


def test_reading_begins_within_a_batch() -> None:
    drive = FetcherDrive()
    fill(drive.model.log("t"), b"a", b"b", b"c", b"d")
    assert drive.read(2) == [b"c", b"d"]


def test_reading_ends_before_an_offset_within_a_batch() -> None:
    drive = FetcherDrive()
    fill(drive.model.log("t"), b"a", b"b", b"c", b"d")
    assert drive.read(1, 3) == [b"b", b"c"]


def test_reading_begins_at_a_time() -> None:
    drive = FetcherDrive()
    fill(drive.model.log("t"), b"old", timestamp_ms=1_000)
    fill(drive.model.log("t"), b"new", timestamp_ms=2_000)
    assert drive.read(AtTimestamp(1_500)) == [b"new"]


def test_a_time_after_the_last_record_is_the_end() -> None:
    drive = FetcherDrive()
    fill(drive.model.log("t"), b"old", timestamp_ms=1_000)
    assert drive.read(AtTimestamp(1_500)) == []
    assert drive.fetcher.consumed(WHERE) == 1


def test_latest_waits_for_what_comes() -> None:
    drive = FetcherDrive()
    fill(drive.model.log("t"), b"old")
    drive.fetcher.assign(WHERE, "latest")
    drive.step()
    drive.step()
    fill(drive.model.log("t"), b"new")
    drive.step()
    assert drive.values() == [b"new"]
    assert not drive.fetcher.is_finished


def test_control_records_are_passed_over_and_their_end_counts() -> None:
    drive = FetcherDrive()
    log = drive.model.log("t")
    fill(log, b"a")
    marker = [(ControlType.COMMIT, bytes(6))]
    log.produce(encode_control_batch(marker, timestamp_ms=0))
    assert drive.read("earliest") == [b"a"]
    assert drive.fetcher.consumed(WHERE) == 2


def test_the_end_is_reached_where_compaction_took_the_last_records() -> None:
    drive = FetcherDrive()
    log = drive.model.log("t")
    fill(log, b"a")
    log.log_end = 4
    base, _, batch = log.batches[0]
    # As compaction leaves it: the last offset delta outlives its record.
    log.batches[0] = (base, 4, batch[:23] + (3).to_bytes(4, "big") + batch[27:])
    log.batches[0] = (base, 4, reseal(log.batches[0][2]))
    assert drive.read("earliest", 4) == [b"a"]
    assert drive.fetcher.consumed(WHERE) == 4


def reseal(batch: bytes) -> bytes:
    copy = bytearray(batch)
    seal(copy)
    return bytes(copy)


def test_a_take_is_bounded_and_loses_nothing() -> None:
    drive = FetcherDrive()
    fill(drive.model.log("t"), *(b"%d" % n for n in range(10)))
    drive.fetcher.assign(WHERE, 0)
    drive.step()
    assert drive.values(4) == [b"0", b"1", b"2", b"3"]
    assert drive.fetcher.consumed(WHERE) == 4
    assert drive.values(4) == [b"4", b"5", b"6", b"7"]
    assert drive.values(4) == [b"8", b"9"]
    assert drive.fetcher.buffered_bytes == 0


def test_no_more_is_fetched_than_may_wait() -> None:
    settings = FetchSettings(prefetch_bytes_max=3_000, partition_fetch_bytes_max=1_000)
    drive = FetcherDrive(settings)
    for _ in range(20):
        fill(drive.model.log("t"), b"x" * 1_000)
    drive.fetcher.assign(WHERE, 0)
    while drive.step():
        pass
    assert 3_000 <= drive.fetcher.buffered_bytes < 4_500
    assert len(drive.values()) == 3
    assert len(drive.step()) == 1


def test_a_broker_has_one_fetch_at_a_time() -> None:
    drive = FetcherDrive(partitions=4, nodes=2)
    for partition in range(4):
        drive.fetcher.assign(TopicPartition("t", partition), 0)
    assert [request.node for request in drive.take()] == [1, 2]
    assert drive.take() == []


def test_a_session_says_only_what_changed() -> None:
    drive = FetcherDrive(partitions=3)
    fill(drive.model.log("t", 1), b"a")
    for partition in range(3):
        drive.fetcher.assign(TopicPartition("t", partition), 0)
    request, first = drive.fetch()
    assert (first.session_id, first.session_epoch) == (0, 0)
    assert asked(first) == [(0, 0), (1, 0), (2, 0)]
    drive.answer(request)
    request, second = drive.fetch()
    assert (second.session_id, second.session_epoch) == (2, 1)
    assert asked(second) == [(1, 1)]
    drive.answer(request)
    drive.fetcher.unassign(TopicPartition("t", 2))
    request, third = drive.fetch()
    assert third.session_epoch == 2
    assert asked(third) == []
    assert [topic.partitions for topic in third.forgotten_topics_data] == [[2]]


def test_a_session_that_the_broker_forgot_begins_anew() -> None:
    drive = FetcherDrive()
    drive.fetcher.assign(WHERE, 0)
    drive.step()
    drive.model.sessions.clear()
    fill(drive.model.log("t"), b"a")
    drive.step()
    drive.mono_ms += 1_000
    request, fetch = drive.fetch()
    assert (fetch.session_id, fetch.session_epoch) == (0, 0)
    assert asked(fetch) == [(0, 0)]
    drive.answer(request)
    assert drive.values() == [b"a"]


def test_a_session_whose_request_was_lost_is_replaced() -> None:
    drive = FetcherDrive()
    drive.fetcher.assign(WHERE, 0)
    drive.step()
    request, _ = drive.fetch()
    drive.reach(request)
    drive.mono_ms += 1_000
    request, fetch = drive.fetch()
    assert (fetch.session_id, fetch.session_epoch) == (2, 0)
    assert asked(fetch) == [(0, 0)]
    drive.answer(request)
    assert len(drive.model.sessions) == 1


def test_brokers_without_sessions_are_asked_everything_each_time() -> None:
    drive = FetcherDrive()
    drive.model.has_sessions = False
    drive.fetcher.assign(WHERE, 0)
    for _ in range(3):
        request, fetch = drive.fetch()
        assert (fetch.session_id, fetch.session_epoch) == (0, 0)
        assert asked(fetch) == [(0, 0)]
        drive.answer(request)


def test_brokers_without_topic_ids_are_spoken_to_by_name() -> None:
    drive = FetcherDrive()
    drive.fetcher.assign(WHERE, 0)
    request, _ = drive.fetch()
    assert request.version_max is None
    drive.answer(request)
    drive.model.has_topic_ids = False
    drive.learn("t")
    request, fetch = drive.fetch()
    assert request.version_max == 12
    assert fetch.session_epoch == 0, "no session speaks of both"


def test_a_topic_of_the_same_name_replaces_the_other_in_the_session() -> None:
    drive = FetcherDrive()
    drive.fetcher.assign(WHERE, 0)
    drive.step()
    before = drive.cluster.topics["t"].topic_id
    drive.model.create("t")
    drive.learn("t")
    _, fetch = drive.fetch()
    assert [topic.topic_id for topic in fetch.forgotten_topics_data] == [before]
    assert [topic.topic_id for topic in fetch.topics] == [drive.model.topics["t"][0]]


def test_closing_lets_the_broker_forget_the_session() -> None:
    drive = FetcherDrive()
    drive.fetcher.assign(WHERE, 0)
    drive.step()
    assert len(drive.model.sessions) == 1
    for request in drive.fetcher.close():
        drive.answer(request)
    assert drive.model.sessions == {}


@pytest.mark.parametrize(
    ("reset", "values"), [("earliest", [b"c"]), ("latest", []), ("error", None)]
)
def test_an_offset_out_of_range_is_reset_as_the_user_wants(
    reset: ResetPolicy, values: list[bytes | None] | None
) -> None:
    drive = FetcherDrive(FetchSettings(reset=reset))
    log = drive.model.log("t")
    for value in (b"a", b"b", b"c"):
        fill(log, value)
    log.log_start = 2
    log.batches = log.batches[2:]
    if values is not None:
        assert drive.read(0) == values
        return
    drive.fetcher.assign(WHERE, 0)
    drive.step()
    (error,) = drive.fetcher.take_errors()
    assert (error.where, error.offset, error.code) == (WHERE, 0, ErrorCode.OFFSET_OUT_OF_RANGE)
    assert "the log has 2 to 3" in error.why
    assert drive.take() == []
    drive.fetcher.seek(WHERE, "earliest")
    drive.step()
    drive.step()
    assert drive.values() == [b"c"]


def test_a_log_that_was_cut_below_us_is_read_again_from_the_cut() -> None:
    drive = FetcherDrive(nodes=2)
    log = drive.model.log("t")
    for value in (b"a", b"b", b"c"):
        fill(log, value)
    drive.fetcher.assign(WHERE, 0)
    drive.step()
    assert drive.values() == [b"a", b"b", b"c"]
    log.batches = log.batches[:1]
    log.log_end, log.cut = 1, (0, 1)
    log.leader, log.leader_epoch = 2, 1
    fill(log, b"other")
    drive.learn("t")
    for _ in range(10):
        drive.step()
    assert drive.values() == [b"other"]


def test_a_cut_log_is_an_error_for_those_who_want_no_reset() -> None:
    drive = FetcherDrive(FetchSettings(reset="error"))
    log = drive.model.log("t")
    fill(log, b"a")
    fill(log, b"b")
    drive.fetcher.assign(WHERE, 0)
    drive.step()
    drive.values()
    log.cut = (0, 1)
    drive.step()
    (error,) = drive.fetcher.take_errors()
    assert error.code == ErrorCode.OFFSET_OUT_OF_RANGE
    assert "cut at 1" in error.why


def test_a_leader_of_a_newer_epoch_is_found_by_asking_again() -> None:
    drive = FetcherDrive(nodes=2)
    log = drive.model.log("t")
    fill(log, b"a")
    drive.fetcher.assign(WHERE, 0)
    drive.step()
    log.leader, log.leader_epoch = 2, 7
    fill(log, b"b")
    for _ in range(5):
        drive.step()
    assert drive.values() == [b"a", b"b"]


def test_a_hint_of_the_new_leader_is_followed_at_once() -> None:
    drive = FetcherDrive(nodes=2)
    drive.fetcher.assign(WHERE, 0)
    request, _ = drive.fetch()
    moved = PartitionData(
        0, ErrorCode.NOT_LEADER_OR_FOLLOWER, current_leader=LeaderIdAndEpoch(2, 9)
    )
    topic = FetchableTopicResponse("", drive.cluster.topics["t"].topic_id, [moved])
    drive.fetcher.on_response(request.token, FetchResponse(responses=[topic]), drive.now)
    request, fetch = drive.fetch()
    assert request.node == 2
    assert fetch.topics[0].partitions[0].current_leader_epoch == 9


def test_a_damaged_batch_is_an_error_and_nothing_of_it_is_handed_out() -> None:
    drive = FetcherDrive()
    log = drive.model.log("t")
    fill(log, b"good")
    fill(log, b"damaged")
    base, end, batch = log.batches[1]
    log.batches[1] = (base, end, batch[:-1] + b"!")
    drive.fetcher.assign(WHERE, 0)
    drive.step()
    assert drive.values() == [b"good"]
    (error,) = drive.fetcher.take_errors()
    assert (error.offset, error.code) == (1, ErrorCode.CORRUPT_MESSAGE)
    assert drive.fetcher.buffered_bytes == 0
    assert drive.take() == []


def test_what_was_on_its_way_before_a_seek_is_dropped() -> None:
    drive = FetcherDrive()
    fill(drive.model.log("t"), b"a", b"b")
    drive.fetcher.assign(WHERE, 0)
    request, _ = drive.fetch()
    drive.fetcher.seek(WHERE, 1)
    drive.answer(request)
    assert drive.values() == []
    drive.step()
    drive.fetcher.seek(WHERE, 0)
    assert drive.fetcher.buffered_bytes == 0
    drive.step()
    assert drive.values() == [b"a", b"b"]


def test_a_topic_that_stays_unknown_is_an_error_in_time() -> None:
    drive = FetcherDrive(FetchSettings(topic_timeout_ms=3_000))
    drive.fetcher.assign(TopicPartition("never", 0), "earliest")
    errors: list[FetchError] = []
    for _ in range(100):
        drive.step()
        errors += drive.fetcher.take_errors()
    (error,) = errors
    assert error.code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION


def test_a_broker_that_is_too_old_is_an_error() -> None:
    drive = FetcherDrive()
    drive.fetcher.assign(WHERE, 0)
    request, _ = drive.fetch()
    drive.fetcher.on_refused(request.token, "model:9001: too old", drive.now)
    (error,) = drive.fetcher.take_errors()
    assert error.code == ErrorCode.UNSUPPORTED_VERSION


def test_a_lost_lookup_is_asked_again() -> None:
    drive = FetcherDrive()
    fill(drive.model.log("t"), b"a")
    drive.fetcher.assign(WHERE, "earliest")
    (request,) = drive.take()
    assert isinstance(request.request, ListOffsetsRequest)
    drive.lose(request)
    assert drive.take() == []
    deadline_ms = drive.fetcher.next_deadline_ms()
    assert deadline_ms is not None
    drive.mono_ms = deadline_ms
    drive.step()
    drive.step()
    assert drive.values() == [b"a"]


def test_partitions_take_turns() -> None:
    settings = FetchSettings(partition_fetch_bytes_max=10)
    drive = FetcherDrive(settings, partitions=2)
    drive.model.has_sessions = False
    for index in range(2):
        for _ in range(2):
            fill(drive.model.log("t", index), b"%d" % index)
        drive.fetcher.assign(TopicPartition("t", index), 0)
    drive.fetcher.assign(TopicPartition("t", 0), 0)
    request, fetch = drive.fetch()
    assert [partition for partition, _ in asked(fetch)] == [1, 0]
    drive.answer(request)
    _, fetch = drive.fetch()
    assert [partition for partition, _ in asked(fetch)] == [1, 0]


def test_an_offset_that_was_looked_up_claims_no_epoch_that_was_read() -> None:
    drive = FetcherDrive()
    log = drive.model.log("t")
    fill(log, b"a")
    log.leader_epoch = 3
    drive.learn("t")
    drive.fetcher.assign(WHERE, "latest")
    drive.step()
    _, fetch = drive.fetch()
    assert fetch.topics[0].partitions[0].last_fetched_epoch == -1
