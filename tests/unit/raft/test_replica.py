"""The metadata log's replica.

Covers: ottla.raft.replica, ottla.raft.snapshotter
"""

from collections.abc import Callable
from typing import Any

import pytest

from ottla.config import BrokerConfig
from ottla.errors import DiskError, Refused
from ottla.metadata.controller import Controller
from ottla.metadata.image import Endpoint
from ottla.metadata.records import decode_record
from ottla.metadata.standing import StandingRecords
from ottla.names import METADATA_TOPIC, METADATA_TOPIC_ID, NodeId, Now, TopicPartition
from ottla.protocol.schema import records_metadata as schema
from ottla.raft.batches import read_values
from ottla.raft.directory import voters_of_one
from ottla.raft.replica import MetadataReplica
from ottla.raft.snapshots import METADATA_DIRECTORY, SnapshotId, WriteSnapshot
from ottla.raft.snapshotter import Snapshotter
from ottla.records.batch import iter_headers
from ottla.sim.disk import SimDisk
from ottla.sim.world import World
from ottla.storage.disk import DiskJob
from ottla.storage.jobs import CreateLog, flush_logs
from ottla.storage.log import Log, LogTicket
from ottla.storage.partition_meta import encode_partition_metadata
from ottla.storage.segment import Segment
from tests.unit.metadata.commands import controller
from tests.unit.storage.shelf import CONFIG

NOW = Now(1000, 1_700_000_000_000)
LATER = Now(1500, 1_700_000_000_500)
NODE = NodeId(1)
DIRECTORY_ID = bytes(range(16))
VOTERS = voters_of_one(NODE, DIRECTORY_ID, Endpoint("CONTROLLER", "host", 9093, 0))
EPOCH = 7


class Quorum:
    """The replica, its controller, and all that they tell others, in order."""

    def __init__(self) -> None:
        self.disk = SimDisk(World(1))
        self.told: list[Any] = []
        job = CreateLog(METADATA_DIRECTORY, encode_partition_metadata(METADATA_TOPIC_ID))
        file = self.disk.run(self.disk.begin_boot(), job.run)
        self.log = Log(TopicPartition(METADATA_TOPIC, 0), METADATA_DIRECTORY, self.disk, CONFIG)
        self.log.add_segment(Segment(0, file, NOW.wall_ms, CONFIG.segment_index_bytes))
        self.controller = Controller(controller().config, controller().entropy)
        self.jobs: list[tuple[DiskJob, Callable[[object, Now], None]]] = []
        self.replica = self.new_replica()
        self.replica.attach(self)

    def new_replica(self, **settings: str) -> MetadataReplica:
        config, _ = BrokerConfig.load({name.replace("_", "."): v for name, v in settings.items()})
        snapshotter = Snapshotter(config, StandingRecords(), 0)
        return MetadataReplica(self.log, EPOCH, self.controller, snapshotter)

    def submit(self, job: DiskJob, on_done: Callable[[object, Now], None]) -> None:
        self.jobs.append((job, on_done))

    def on_storage_error(self, error: DiskError) -> None:
        self.told.append(error)

    def write_snapshot(self) -> SnapshotId:
        while self.jobs:
            job, on_done = self.jobs.pop(0)
            try:
                result = self.disk.run(self.disk.begin(), job.run)
            except DiskError as error:
                result = error
            on_done(result, LATER)
        assert isinstance(job, WriteSnapshot)
        return job.snapshot

    def on_committed(self, record: Any, offset: int, now: Now) -> None:
        self.told.append((offset, record, now))

    def append(self, *records: Any, then: str) -> None:
        self.replica.append(list(records), lambda now: self.told.append((then, now)), NOW)

    def draw(self) -> LogTicket:
        return self.replica.draw_ticket()

    def flushed(self, ticket: LogTicket) -> None:
        self.disk.run(self.disk.begin(), lambda disk: flush_logs(disk, [ticket], None))
        self.replica.on_flushed(ticket, LATER)

    def flush(self) -> None:
        self.flushed(self.draw())

    def durable(self) -> LogTicket:
        """A round is over, and its result has not come in."""
        ticket = self.draw()
        self.disk.run(self.disk.begin(), lambda disk: flush_logs(disk, [ticket], None))
        return ticket

    def take_told(self) -> list[Any]:
        told, self.told = self.told, []
        return told


@pytest.fixture
def quorum() -> Quorum:
    return Quorum()


def topic(name: str) -> schema.TopicRecord:
    return schema.TopicRecord(name=name, topic_id=name.encode() * 16)


A, B, C = topic("a"), topic("b"), topic("c")


def test_the_controller_sees_records_at_append_and_the_broker_once_they_are_durable(
    quorum: Quorum,
) -> None:
    quorum.append(A, B, then="done")

    assert list(quorum.controller.image.topics) == ["a", "b"]
    assert quorum.controller.next_offset == quorum.log.end_offset == 2
    assert (quorum.replica.high_watermark, quorum.take_told()) == (0, [])

    quorum.flush()

    assert quorum.replica.high_watermark == 2
    assert quorum.take_told() == [(0, A, LATER), (1, B, LATER), ("done", LATER)]


def test_each_response_leaves_behind_its_own_records_and_before_the_next(quorum: Quorum) -> None:
    quorum.append(A, then="first")
    quorum.append(B, C, then="second")
    quorum.replica.append([A], None, NOW)

    quorum.flush()

    assert quorum.take_told() == [
        (0, A, LATER),
        ("first", LATER),
        (1, B, LATER),
        (2, C, LATER),
        ("second", LATER),
        (3, A, LATER),
    ]


def test_a_flush_commits_what_was_there_when_its_ticket_was_drawn(quorum: Quorum) -> None:
    quorum.append(A, then="first")
    ticket = quorum.draw()
    quorum.append(B, then="second")

    quorum.flushed(ticket)
    assert quorum.take_told() == [(0, A, LATER), ("first", LATER)]
    assert quorum.replica.high_watermark == 1

    quorum.flush()
    assert quorum.take_told() == [(1, B, LATER), ("second", LATER)]
    assert quorum.replica.high_watermark == 2


def test_nothing_is_told_twice(quorum: Quorum) -> None:
    quorum.append(A, then="first")
    quorum.flush()
    quorum.take_told()

    quorum.flush()

    assert quorum.take_told() == []


def test_an_answer_without_records_leaves_at_once_when_all_it_saw_is_committed(
    quorum: Quorum,
) -> None:
    quorum.append(then="nothing to do")
    assert quorum.take_told() == [("nothing to do", NOW)]

    quorum.append(A, then="first")
    quorum.flush()
    quorum.take_told()
    quorum.append(then="nothing to do again")
    assert quorum.take_told() == [("nothing to do again", NOW)]


def test_an_answer_without_records_waits_for_what_it_saw(quorum: Quorum) -> None:
    """Such as "this topic exists already", of a topic that a power cut could still take."""
    quorum.append(A, then="made")
    quorum.append(then="it exists")
    ticket = quorum.draw()
    quorum.append(B, then="made too")
    quorum.append(then="both exist")
    assert quorum.take_told() == []

    quorum.flushed(ticket)
    assert quorum.take_told() == [(0, A, LATER), ("made", LATER), ("it exists", LATER)]

    quorum.flush()
    assert quorum.take_told() == [(1, B, LATER), ("made too", LATER), ("both exist", LATER)]


def test_who_is_answered_may_append_more(quorum: Quorum) -> None:
    quorum.replica.append([A], lambda now: quorum.append(C, then="third"), NOW)
    quorum.append(B, then="second")

    quorum.flush()

    assert quorum.take_told() == [(0, A, LATER), (1, B, LATER), ("second", LATER)]
    assert list(quorum.controller.image.topics) == ["a", "b", "c"]
    quorum.flush()
    assert quorum.take_told() == [(2, C, LATER), ("third", LATER)]


def test_the_broker_and_the_controller_share_no_object(quorum: Quorum) -> None:
    partition = schema.PartitionRecord(topic_id=A.topic_id, partition_id=0, isr=[1], replicas=[1])
    quorum.append(A, partition, then="done")
    quorum.flush()

    committed = quorum.told[1][1]
    committed.isr.append(9)

    assert quorum.controller.image.topics["a"].partitions[0].isr == [1]


def test_one_command_is_one_batch_of_this_nodes_epoch(quorum: Quorum) -> None:
    quorum.append(A, B, then="first")
    quorum.append(C, then="second")

    file = quorum.log.active.file
    data = quorum.disk.peek(file, 0, quorum.log.active.size)
    assert [
        (header.base_offset, header.record_count, header.partition_leader_epoch)
        for header in iter_headers(data)
    ] == [(0, 2, EPOCH), (2, 1, EPOCH)]
    assert [decode_record(value) for _, _, value in read_values(data)] == [A, B, C]


def test_an_epoch_begins_with_its_control_records_and_nobody_replays_them(quorum: Quorum) -> None:
    quorum.replica.lead(NODE, VOTERS, NOW)

    assert quorum.controller.next_offset == quorum.log.end_offset == 3
    quorum.append(A, then="done")
    quorum.flush()
    assert quorum.take_told() == [(3, A, LATER), ("done", LATER)]


def test_what_the_disk_does_not_take_is_not_replayed(quorum: Quorum) -> None:
    quorum.append(A, then="first")
    quorum.disk.fill()

    big = schema.TopicRecord(name="b" * 30_000, topic_id=B.topic_id)
    with pytest.raises(DiskError):
        quorum.append(big, then="second")

    assert list(quorum.controller.image.topics) == ["a"]
    assert quorum.controller.next_offset == quorum.log.end_offset == 1
    quorum.disk.free_space()
    quorum.append(C, then="third")
    quorum.flush()
    assert quorum.take_told() == [
        (0, A, LATER),
        ("first", LATER),
        (1, C, LATER),
        ("third", LATER),
    ]


def test_a_full_segment_takes_no_more_commands(quorum: Quorum) -> None:
    """Positions in it must fit Kafka's indexes; a start rolls it long before."""
    quorum.append(A, then="first")
    quorum.log.active.size = 2**31 - 10

    with pytest.raises(Refused):
        quorum.append(B, then="second")

    assert list(quorum.controller.image.topics) == ["a"]


def test_a_log_that_was_there_before_is_committed_as_far_as_it_is_durable(quorum: Quorum) -> None:
    quorum.append(A, then="first")
    quorum.flush()
    quorum.append(B, then="second")

    assert quorum.new_replica().high_watermark == 1


# Snapshots

BYTES_MAX = "metadata_log_max_record_bytes_between_snapshots"
INTERVAL_MS = "metadata_log_max_snapshot_interval_ms"


def snapshotting(quorum: Quorum, **settings: str) -> None:
    quorum.replica = quorum.new_replica(**settings)
    quorum.replica.attach(quorum)
    quorum.replica.lead(NODE, VOTERS, NOW)


def values_in(quorum: Quorum, snapshot: SnapshotId) -> list[Any]:
    data = quorum.disk.contents(f"{METADATA_DIRECTORY}/{snapshot.name}")
    return [decode_record(value) for _, _, value in read_values(data)]


def test_a_snapshot_is_due_after_so_many_bytes_that_are_committed(quorum: Quorum) -> None:
    snapshotting(quorum, **{BYTES_MAX: "200"})
    quorum.append(A, then="a")
    quorum.append(B, then="b")
    assert quorum.jobs == []
    quorum.flush()
    assert quorum.jobs == []
    quorum.append(C, then="c")
    quorum.flush()
    snapshot = quorum.write_snapshot()
    assert snapshot == SnapshotId(quorum.log.end_offset, EPOCH)
    assert values_in(quorum, snapshot) == [A, B, C]
    quorum.append(topic("d"), then="d")
    quorum.flush()
    assert quorum.jobs == []


def test_or_when_the_last_one_is_old_and_something_changed(quorum: Quorum) -> None:
    snapshotting(quorum, **{INTERVAL_MS: "500"})
    for name in ("a", "b"):
        quorum.append(topic(name), then=name)
        quorum.flush()
    assert quorum.jobs == []
    quorum.append(C, then="c")
    quorum.replica.on_flushed(quorum.durable(), LATER._replace(mono_ms=LATER.mono_ms + 500))
    assert values_in(quorum, quorum.write_snapshot()) == [topic("a"), topic("b"), C]


def test_one_is_written_at_a_time_and_of_whole_commands(quorum: Quorum) -> None:
    snapshotting(quorum, **{BYTES_MAX: "1"})
    quorum.append(A, B, then="first")
    quorum.append(C, then="second")
    quorum.flush()
    assert len(quorum.jobs) == 1
    snapshot = quorum.write_snapshot()
    assert values_in(quorum, snapshot) == [A, B]
    quorum.append(topic("d"), then="third")
    quorum.flush()
    snapshot = quorum.write_snapshot()
    assert values_in(quorum, snapshot) == [A, B, C, topic("d")]


def test_a_snapshot_that_could_not_be_written_is_told_and_another_is_tried(quorum: Quorum) -> None:
    snapshotting(quorum, **{BYTES_MAX: "1"})
    quorum.append(A, then="first")
    quorum.flush()
    quorum.disk.fill(0)
    quorum.write_snapshot()
    assert isinstance(quorum.take_told()[-1], DiskError)
    quorum.disk.free_space()
    quorum.append(B, then="second")
    quorum.flush()
    snapshot = quorum.write_snapshot()
    assert values_in(quorum, snapshot) == [A, B]


def test_no_snapshot_leaves_out_what_nobody_here_knows(quorum: Quorum) -> None:
    snapshotting(quorum, **{BYTES_MAX: "1"})
    quorum.replica.snapshotter.standing.replay(None, b"of a later version")
    quorum.append(A, then="first")
    quorum.flush()
    assert quorum.jobs == []
