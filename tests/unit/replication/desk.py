"""One partition, and a node that does nothing but write down what the partition asks for."""

from collections.abc import Callable
from typing import Any

from ottla.config import TopicConfig
from ottla.errors import DiskError, ErrorCode
from ottla.metadata.image import PartitionImage
from ottla.names import Now
from ottla.records.batch import Record
from ottla.records.record import encode_batch
from ottla.records.validate import Validated, validate_produced
from ottla.replication.partition import Partition
from ottla.storage.disk import DiskJob
from ottla.storage.jobs import flush_logs
from ottla.storage.log import Appended, LogTicket
from tests.unit.storage.shelf import BROKER, CONFIG, PARTITION, TOPIC_ID, WALL_MS, Shelf

NOW = Now(1000, WALL_MS)
LATER = Now(1500, WALL_MS + 500)
EPOCH = 3


def config(**overrides: str) -> TopicConfig:
    named = {key.replace("_", "."): value for key, value in overrides.items()}
    return TopicConfig.resolve(named, BROKER)._replace(
        segment_bytes=CONFIG.segment_bytes, segment_index_bytes=CONFIG.segment_index_bytes
    )


def image(isr: int = 1, replicas: int = 1, leader: int = 1, epoch: int = EPOCH) -> PartitionImage:
    return PartitionImage(
        replicas=list(range(1, replicas + 1)),
        isr=list(range(1, isr + 1)),
        leader=leader,
        leader_epoch=epoch,
        partition_epoch=0,
        directories=[],
        eligible_leaders=[],
    )


def records(*values: bytes, key: bytes | None = None, timestamp_ms: int = WALL_MS) -> memoryview:
    return memoryview(encode_batch([Record(0, timestamp_ms, key, value) for value in values]))


class Waiting:
    """Waits for acknowledgements, and writes down what it hears."""

    def __init__(self, name: str, heard: list[Any]) -> None:
        self.name = name
        self.heard = heard

    def on_durable(self, token: Any, now: Now) -> None:
        self.heard.append((self.name, "durable", now))

    def on_lost(self, token: Any, code: ErrorCode, now: Now) -> None:
        self.heard.append((self.name, token, code, now))


class Desk:
    """The node. Jobs and flushes happen when a test says so."""

    def __init__(self, given: TopicConfig = CONFIG, *, syncs: bool = True) -> None:
        self.is_storage_offline = False
        self.syncs = syncs
        self.asked: list[Any] = []
        self.jobs: list[tuple[DiskJob, Callable[[object, Now], None]]] = []
        self.heard: list[Any] = []
        self.shelf = Shelf(config=given)
        self.log = self.shelf.log
        self.partition = Partition(PARTITION, TOPIC_ID, self.log, self, given)
        self.partition.lead(image())

    # What a partition needs of its node

    def mark_dirty(self, owner: Partition, now: Now) -> None:
        assert owner is self.partition
        self.asked.append("mark_dirty")

    def want_flush(self) -> None:
        self.asked.append("want_flush")

    def wake(self, waiting: dict[Any, None]) -> None:
        self.asked.append(("wake", list(waiting)))
        waiting.clear()

    def submit(self, job: DiskJob, on_done: Callable[[object, Now], None]) -> None:
        self.asked.append("submit")
        self.jobs.append((job, on_done))

    def on_storage_error(self, error: DiskError) -> None:
        self.asked.append(("storage_error", error))

    # Verbs

    def validated(self, *values: bytes, **more: Any) -> Validated:
        return validate_produced(records(*values, **more), self.partition.rules, 12, WALL_MS)

    def append(self, *values: bytes) -> Appended:
        return self.partition.append_as_leader(self.validated(*values), NOW)

    def wait(self, name: str, end_offset: int) -> None:
        self.partition.wait_for_ack(end_offset, Waiting(name, self.heard), f"token of {name}")

    def flushed(self, ticket: LogTicket) -> None:
        disk = self.shelf.disk
        disk.run(disk.begin(), lambda port: flush_logs(port, [ticket], None))
        self.partition.on_flushed(ticket, LATER)

    def flush(self) -> None:
        self.flushed(self.partition.draw_ticket())

    def finish_job(self, error: DiskError | None = None) -> None:
        job, on_done = self.jobs.pop(0)
        on_done(self.shelf.run(job) if error is None else error, LATER)

    def take_asked(self) -> list[Any]:
        asked, self.asked = self.asked, []
        return asked

    def take_heard(self) -> list[Any]:
        heard = list(self.heard)
        self.heard.clear()
        return heard

    def fill_segment(self) -> Validated:
        """Append until the next batch, which comes back, needs another segment."""
        next_one = self.validated(bytes(700))
        while not self.log.must_roll(next_one, WALL_MS):
            self.append(bytes(700))
        self.take_asked()
        return next_one
