"""The journal alone, over the simulated disk. With logs above it, it is tested by the simulator."""

from collections.abc import Callable
from typing import TypeVar

import pytest

from ottla.names import Now
from ottla.sim.disk import PowerCut, SimDisk
from ottla.sim.world import World
from ottla.storage import journal as journal_module
from ottla.storage.disk import Disk, DiskFile
from ottla.storage.journal import (
    BLOCK_BYTES,
    JOURNAL_FILE,
    LAZY_SYNC_MS,
    ROUND_BYTES_MAX,
    Journal,
    PrepareJournal,
    Round,
    SyncSegments,
    empty_journal,
    replay_journal,
)
from ottla.storage.partition_meta import PARTITION_METADATA, encode_partition_metadata
from ottla.storage.segment import Segment

T = TypeVar("T")

TOPIC_ID = b"t" * 16
OTHER_ID = b"o" * 16
PATH = "orders-0/00000000000000000000.log"


@pytest.fixture(autouse=True)
def _small_halves(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(journal_module, "HALF_BYTES", 4096)


class Bench:
    """One segment and a journal; appends go to both, as the log does it."""

    def __init__(self, seed: int = 1) -> None:
        self.disk = SimDisk(World(seed))
        self.journal = Journal()
        self.now_ms = 0
        self.written = b""
        self.segment: Segment = self.boot(self.make)
        self.journal.open(self.boot(lambda disk: PrepareJournal().run(disk)))
        self.journal.take_round(self.now)

    @property
    def now(self) -> Now:
        return Now(self.now_ms, self.now_ms)

    def boot(self, work: Callable[[Disk], T]) -> T:
        return self.disk.run(self.disk.begin_boot(), work)

    def make(self, disk: Disk) -> Segment:
        disk.mkdir("orders-0")
        meta = disk.open(f"orders-0/{PARTITION_METADATA}", create=True)
        disk.append(meta, 0, (encode_partition_metadata(TOPIC_ID),))
        disk.sync(meta)
        disk.close(meta)
        file = disk.open(PATH, create=True)
        disk.sync(file)
        disk.sync_dir("orders-0")
        disk.sync_dir("")
        segment = Segment(0, file, 0)
        segment.journal_key = TOPIC_ID + PATH.encode()
        return segment

    def append(self, data: bytes) -> None:
        segment = self.segment
        self.disk.append(segment.file, segment.size, (data,))
        self.journal.note(segment, len(data), (data[:1], data[1:]))
        segment.size += len(data)
        self.written += data

    def flush(self) -> Round | None:
        """A round as the shell carries it out."""
        taken = self.journal.take_round(self.now)

        def work(disk: Disk) -> None:
            if taken is None:
                disk.sync(self.segment.file)
            else:
                disk.append(taken.file, taken.position, (taken.data,))
                disk.sync(taken.file)

        self.boot(work)
        return taken

    def sync_lazily(self) -> SyncSegments | None:
        self.now_ms += LAZY_SYNC_MS
        job = self.journal.take_sync(self.now)
        if job is not None:
            self.boot(job.run)
            self.journal.on_synced()
        return job

    def live_on(self, file: DiskFile) -> None:
        """A new process, with the journal that the replay emptied."""
        self.journal = Journal()
        self.journal.open(file)
        self.journal.take_round(self.now)
        self.segment.file = self.boot(lambda disk: disk.open(PATH))

    def restart_after_power_cut(self) -> tuple[DiskFile | None, int]:
        self.disk.crash()
        return self.boot(replay_journal)


@pytest.mark.parametrize("seed", range(30))
def test_what_a_round_wrote_is_in_its_file_after_a_power_cut_and_a_replay(seed: int) -> None:
    bench = Bench(seed)
    for number in range(3):
        bench.append(b"batch %d " % number * 20)
        assert bench.flush() is not None

    bench.restart_after_power_cut()

    assert bench.disk.contents(PATH)[: len(bench.written)] == bench.written


@pytest.mark.parametrize("calls", range(1, 12))
def test_a_replay_that_is_cut_short_can_be_replayed_again(calls: int) -> None:
    for seed in range(10):
        bench = Bench(seed)
        for _ in range(2):
            bench.append(b"x" * 300)
            bench.flush()
        bench.disk.crash()
        bench.disk.cut_after(calls)
        try:
            bench.boot(replay_journal)
        except PowerCut:
            bench.disk.crash()
        bench.disk.cut_after(None)
        bench.boot(replay_journal)
        assert bench.disk.contents(PATH)[:600] == b"x" * 600


def test_after_a_replay_nothing_is_replayed_again() -> None:
    bench = Bench()
    bench.append(b"once")
    bench.flush()
    _, first = bench.restart_after_power_cut()
    _, second = bench.restart_after_power_cut()
    assert (first, second) == (1, 0)


def test_rounds_of_an_earlier_life_do_not_pass_for_those_behind_the_newest() -> None:
    bench = Bench()
    for _ in range(3):
        bench.append(b"of the first life")
        bench.flush()
    file, first = bench.restart_after_power_cut()
    assert file is not None
    bench.live_on(file)
    bench.append(b"of the second life")
    bench.flush()

    _, second = bench.restart_after_power_cut()

    assert (first, second) == (3, 1)


def test_rounds_of_an_earlier_life_do_not_say_which_half_counts() -> None:
    bench = Bench()
    for _ in range(2):
        bench.append(b"first half")
        bench.flush()
    bench.sync_lazily()
    for _ in range(2):
        bench.append(b"other half: the first one is not needed any more")
        bench.flush()
    file, _ = bench.restart_after_power_cut()
    assert file is not None
    bench.live_on(file)
    bench.append(b"first half")
    bench.flush()
    bench.now_ms += LAZY_SYNC_MS
    assert bench.journal.take_sync(bench.now) is not None
    bench.append(b"other half, and the sync of the first one has not ended")
    bench.flush()

    _, replayed = bench.restart_after_power_cut()

    assert replayed == 2
    assert bench.disk.contents(PATH)[: len(bench.written)] == bench.written


def test_a_synced_half_is_not_replayed_over_what_came_later() -> None:
    bench = Bench()
    bench.append(b"old bytes of the first half")
    bench.flush()
    bench.sync_lazily()
    bench.append(b"more")
    bench.flush()

    _, replayed = bench.restart_after_power_cut()

    assert replayed == 1


def test_rounds_go_on_through_many_halves() -> None:
    bench = Bench()
    for number in range(60):
        bench.append(b"%03d" % number * 200)
        bench.flush()
        if number % 4 == 3:
            bench.sync_lazily()
    bench.restart_after_power_cut()
    assert bench.disk.contents(PATH)[: len(bench.written)] == bench.written


def test_while_both_halves_are_in_use_a_round_syncs_its_files() -> None:
    bench = Bench()
    rounds = []
    for _ in range(12):
        bench.append(b"y" * 900)
        rounds.append(bench.flush())
        bench.journal.take_sync(bench.now)
    assert rounds[0] is not None
    assert rounds[-1] is None


def test_a_large_round_bypasses_the_journal_and_the_next_one_uses_it_again() -> None:
    bench = Bench()
    bench.append(b"z" * (ROUND_BYTES_MAX + 1))
    assert bench.flush() is None
    bench.append(b"small")
    assert bench.flush() is not None


def test_the_round_during_which_the_journal_was_opened_syncs_its_files() -> None:
    bench = Bench()
    journal = Journal()
    bench.journal = journal
    bench.append(b"before the journal was there")
    journal.open(bench.boot(lambda disk: disk.open(JOURNAL_FILE)))
    assert journal.take_round(bench.now) is None


def test_bytes_of_a_deleted_topic_do_not_reach_a_new_one_of_the_same_name() -> None:
    bench = Bench()
    bench.append(b"of the first topic")
    bench.flush()

    def make_again(disk: Disk) -> None:
        disk.remove_tree("orders-0")
        disk.mkdir("orders-0")
        for path, content in (
            (f"orders-0/{PARTITION_METADATA}", encode_partition_metadata(OTHER_ID)),
            (PATH, b""),
        ):
            file = disk.open(path, create=True)
            disk.append(file, 0, (content,))
            disk.sync(file)
            disk.close(file)
        disk.sync_dir("orders-0")
        disk.sync_dir("")

    bench.boot(make_again)
    _, replayed = bench.restart_after_power_cut()
    assert replayed == 0
    assert bench.disk.contents(PATH) == b""


def test_an_emptied_journal_holds_nothing() -> None:
    bench = Bench()
    bench.append(b"in place already")
    bench.flush()

    def empty(disk: Disk) -> None:
        file = disk.open(JOURNAL_FILE)
        empty_journal(disk, file)
        disk.close(file)

    bench.boot(empty)
    assert bench.restart_after_power_cut()[1] == 0


def test_a_torn_round_and_those_behind_it_are_not_replayed() -> None:
    bench = Bench()
    bench.append(b"whole")
    bench.flush()
    bench.append(b"torn")
    torn = bench.flush()
    assert torn is not None

    def tear(disk: Disk) -> None:
        disk.append(torn.file, torn.position + torn.data.index(b"torn"), (b"??",))
        disk.sync(torn.file)

    bench.boot(tear)
    assert bench.restart_after_power_cut()[1] == 1


def test_a_journal_that_was_not_prepared_whole_is_made_again() -> None:
    bench = Bench()

    def shorten(disk: Disk) -> None:
        file = disk.open(JOURNAL_FILE)
        disk.truncate(file, 100)
        disk.sync(file)
        disk.close(file)

    bench.boot(shorten)
    assert bench.boot(replay_journal) == (None, 0)
    assert not bench.boot(lambda disk: disk.exists(JOURNAL_FILE))


def test_rounds_are_whole_blocks_so_that_they_can_pass_the_page_cache_by() -> None:
    bench = Bench()
    for number in range(3):
        bench.append(b"x" * (100 + 300 * number))
        taken = bench.flush()
        assert taken is not None
        assert taken.position % BLOCK_BYTES == 0
        assert len(taken.data) % BLOCK_BYTES == 0
    assert bench.restart_after_power_cut()[1] == 3
