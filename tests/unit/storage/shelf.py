"""One log on a simulated disk, and its dumb twin: the batches in order."""

from typing import NamedTuple

from ottla.config import BrokerConfig, TopicConfig
from ottla.errors import DiskError, Refused
from ottla.names import TopicPartition
from ottla.records.batch import Record
from ottla.records.record import encode_batch
from ottla.records.validate import ProduceRules, Validated, validate_produced
from ottla.sim.disk import SimDisk
from ottla.sim.world import World
from ottla.storage.disk import Disk, DiskFile, DiskJob
from ottla.storage.jobs import CreateLog, flush_logs
from ottla.storage.log import Appended, Log, LogTicket
from ottla.storage.partition_meta import encode_partition_metadata
from ottla.storage.recovery import Trust, load_log
from ottla.storage.segment import FileSlice, Segment, file_stem

WALL_MS = 1_700_000_000_000
RULES = ProduceRules(batch_bytes_max=1 << 30, timestamp_after_max_ms=1 << 60)
TOPIC_ID = bytes(range(16))
PARTITION = TopicPartition("t", 0)
DIRECTORY = "t-0"
BROKER, _ = BrokerConfig.load({"process.roles": "broker,controller", "node.id": "1"})
CONFIG = TopicConfig.resolve({}, BROKER)._replace(
    segment_bytes=2000, index_interval_bytes=256, segment_index_bytes=4096
)


def batch(
    records: int = 1,
    value: bytes = b"v",
    timestamps: tuple[int, ...] | None = None,
    producer: tuple[int, int, int] = (-1, -1, -1),
    codec: int = 0,
) -> Validated:
    """`producer` is its id, its epoch and the batch's first sequence number."""
    times = timestamps or (WALL_MS,) * records
    produced = encode_batch(
        [Record(0, time, None, value) for time in times],
        codec=codec,
        producer_id=producer[0],
        producer_epoch=producer[1],
        base_sequence=producer[2],
    )
    return validate_produced(memoryview(produced), RULES, 12, WALL_MS)


class Kept(NamedTuple):
    base_offset: int
    last_offset: int
    data: bytes
    epoch: int


class Shelf:
    def __init__(self, seed: int = 1, config: TopicConfig = CONFIG) -> None:
        self.disk = SimDisk(World(seed), "disk")
        self.config = config
        self.kept: list[Kept] = []
        self.durable = 0
        file = self.run(CreateLog(DIRECTORY, encode_partition_metadata(TOPIC_ID)))
        self.log = Log(PARTITION, DIRECTORY, self.disk, config)
        self.log.add_segment(Segment(0, file, WALL_MS, config.segment_index_bytes))

    def run(self, job: DiskJob) -> DiskFile:
        file: DiskFile = self.disk.run(self.disk.begin_boot(), job.run)
        return file

    def append(self, one: Validated, epoch: int = 0, wall_ms: int = WALL_MS) -> Appended:
        if self.log.must_roll(one, wall_ms):
            self.roll(wall_ms)
        base_offset = self.log.end_offset
        head, rest = one.stamped_parts(base_offset, epoch)
        last_offset = base_offset + one.last_offset_delta
        # Noted before: of an append that a power cut ends nobody knows what is there.
        self.kept.append(Kept(base_offset, last_offset, head + bytes(rest), epoch))
        try:
            appended = self.log.append(one, epoch, wall_ms)
        except (DiskError, Refused):
            self.kept.pop()
            raise
        if appended.duplicate:
            self.kept.pop()
        return appended

    def roll(self, wall_ms: int = WALL_MS) -> None:
        self.log.on_rolled(self.run(self.log.roll_job()), wall_ms)

    def flush(self) -> LogTicket:
        ticket = self.log.draw_ticket()
        self.disk.run(self.disk.begin_boot(), lambda disk: flush_logs(disk, [ticket], None))
        self.log.on_flushed(ticket)
        self.durable = self.log.durable_offset
        return ticket

    def close(self) -> None:
        job = self.log.close_job()
        if job is not None:
            self.run(job)
        self.disk.run(self.disk.begin_boot(), lambda disk: disk.sync_all())

    def load(self, trust: Trust) -> list[str]:
        """As the next process finds it."""

        def load(disk: Disk) -> tuple[Log, list[str]]:
            loaded = load_log(disk, PARTITION, DIRECTORY, self.config, trust)
            disk.sync_all()
            return loaded

        self.log, repairs = self.disk.run(self.disk.begin_boot(), load)
        return repairs

    def path(self, base_offset: int, suffix: str) -> str:
        return f"{DIRECTORY}/{file_stem(base_offset)}{suffix}"

    def put(self, path: str, contents: bytes) -> None:
        """Replace or create a file behind the log's back."""
        if path not in self.disk.paths():
            boot = self.disk.begin_boot()

            def make(disk: Disk) -> None:
                disk.close(disk.open(path, create=True))
                disk.sync_dir(DIRECTORY)

            self.disk.run(boot, make)
        self.disk.put(path, contents)

    def unlink(self, path: str) -> None:
        self.disk.run(self.disk.begin_boot(), lambda disk: disk.unlink(path))

    def rename(self, old: str, new: str) -> None:
        self.disk.run(self.disk.begin_boot(), lambda disk: disk.rename(old, new))

    def bytes_of(self, part: FileSlice | None) -> bytes:
        if part is None:
            return b""
        data = self.disk.peek(part.segment.file, part.position, part.size)
        part.release()
        return data

    # What the twin says

    def expected(self, offset: int, end_offset: int) -> list[Kept]:
        return [
            kept
            for kept in self.kept
            if kept.last_offset >= offset and kept.last_offset < end_offset
        ]
