"""One broker process after the other on one simulated disk, and what clients were told."""

from ottla.broker.flushing import IDLE_FLUSH_MS
from ottla.broker.stop import stop_cleanly
from ottla.protocol.schema.delete_topics import DeleteTopicsRequest, DeleteTopicState
from ottla.raft.snapshots import METADATA_DIRECTORY
from ottla.records.record import decode_fetched
from ottla.sim.disk import SimDisk
from ottla.sim.world import World
from ottla.storage.journal import HALF_BYTES, JOURNAL_FILE
from tests.unit.broker.harness import Harness, fetch_request, fetched, produced

SMALL_SEGMENTS = 1 << 20
METADATA_LOG = f"{METADATA_DIRECTORY}/00000000000000000000.log"


class Life:
    """One process after the other on one disk, and what clients were told."""

    def __init__(self, seed: int) -> None:
        self.disk = SimDisk(World(seed))
        self.disk.faults.write_back = 0.2
        self.acked: dict[str, dict[int, bytes]] = {}
        self.epochs: list[int] = []
        # The call at which the power goes, of all lives together.
        self.cut_at: int | None = None
        self._drawn = 0

    def start(self) -> Harness:
        if self.cut_at is not None:
            self.disk.cut_after(max(1, self.cut_at - self.disk.calls))
        lives = len(self.epochs) + 1
        self.harness = Harness(disk=self.disk, entropy_seed=lives)
        epoch = self.harness.node.metadata.quorum_epoch
        assert not self.epochs or epoch > self.epochs[-1]
        self.epochs.append(epoch)
        return self.harness

    def produce(self, topic: str, size: int = 10) -> None:
        self._drawn += 1
        value = b"%d:" % self._drawn + b"x" * size
        client = self.harness.connect()
        answer = produced(client.reply(client.produce(topic, value)))
        assert answer.error_code == 0
        self.acked.setdefault(topic, {})[answer.base_offset] = value
        client.close()

    def create(self, topic: str) -> None:
        self.harness.create_topic(topic, segment_bytes=SMALL_SEGMENTS)

    def delete(self, topic: str) -> None:
        self.acked.pop(topic, None)
        client = self.harness.connect()
        request = DeleteTopicsRequest(topics=[DeleteTopicState(name=topic)], timeout_ms=1000)
        client.ask(request, 6)
        client.close()

    def stop(self) -> None:
        self.harness.advance(IDLE_FLUSH_MS)
        assert self.harness.on_disk(lambda disk: stop_cleanly(self.harness.node))
        self.disk.kill()

    def check(self) -> None:
        """Every record that was acknowledged stands at its offset."""
        client = self.harness.connect()
        for topic, records in self.acked.items():
            found: dict[int, bytes | None] = {}
            while True:
                offset = max(found, default=-1) + 1
                answer = client.ask(fetch_request(topic, offset, max_wait_ms=0), 12)
                part = fetched(answer)
                assert part.error_code == 0, (topic, part)
                data = part.records
                assert isinstance(data, bytes | memoryview)
                if not len(data):
                    break
                for one in decode_fetched(data):
                    found |= {record.offset: record.value for record in one.records}
            for offset, value in records.items():
                assert found.get(offset) == value, (topic, offset)
        client.close()


def without_journal(life: Life) -> None:
    """It would heal what a test damages."""
    life.disk.put(JOURNAL_FILE, bytes(2 * HALF_BYTES))


def rot(life: Life, path: str, at: int) -> None:
    contents = bytearray(life.disk.contents(path))
    contents[at] ^= 1
    life.disk.put(path, bytes(contents))


def damaged_log() -> Life:
    life = Life(1)
    harness = life.start()
    life.create("a")
    life.create("b")
    life.produce("b")
    for _ in range(3):
        life.produce("a")
    harness.advance(1500)
    life.disk.kill()
    without_journal(life)
    rot(life, "a-0/00000000000000000000.log", 70)
    life.acked.pop("a")
    return life
