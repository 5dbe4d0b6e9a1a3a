from collections.abc import Callable
from functools import partial

import pytest

from ottla.errors import DiskError
from ottla.names import TopicPartition
from ottla.sim.disk import PowerCut, SimDisk
from ottla.sim.world import World
from ottla.storage.checkpoints import RECOVERY_POINT_CHECKPOINT, encode_offsets
from ottla.storage.disk import Disk, DiskFile, DiskJob
from ottla.storage.durable import MARKS_FILE, DurableMarks
from ottla.storage.jobs import (
    EPOCHS_FILE,
    CloseFiles,
    CreateLog,
    CreateLogs,
    RemoveTree,
    RenameLog,
    WarmRange,
    WriteOffsets,
    flush_logs,
    write_file,
)
from ottla.storage.journal import PrepareJournal, Round
from ottla.storage.log import Log, LogTicket
from ottla.storage.partition_meta import PARTITION_METADATA
from ottla.storage.segment import Segment
from tests.unit.storage.shelf import CONFIG, DIRECTORY, WALL_MS, Shelf, batch


def run(disk: SimDisk, work: Callable[[Disk], object]) -> None:
    disk.run(disk.begin_boot(), work)


def cut_everywhere(
    job: Callable[[], DiskJob], prepare: Callable[[Disk], None], stride: int = 1
) -> list[SimDisk]:
    """The disk after a power cut at calls of the job, and after the whole of it."""
    disks = []
    for calls in range(1, 100 * stride, stride):
        disk = SimDisk(World(calls))
        run(disk, prepare)
        disk.cut_after(calls)
        try:
            run(disk, job().run)
        except PowerCut:
            disk.crash()
            disks.append(disk)
            continue
        disk.cut_after(None)
        disk.crash()
        return [*disks, disk]
    raise AssertionError("the job makes more calls")


def nothing(disk: Disk) -> None:
    """An empty directory."""


def test_the_making_of_a_log_can_be_taken_up_wherever_it_ended() -> None:
    disks = cut_everywhere(lambda: CreateLog("t-0", b"metadata"), nothing)
    for disk in disks:
        run(disk, CreateLog("t-0", b"metadata").run)
        disk.crash()
        assert disk.contents(f"t-0/{PARTITION_METADATA}") == b"metadata"
        assert disk.contents("t-0/00000000000000000000.log") == b""
    assert len(disks) > 8


@pytest.mark.parametrize("count", [3, 20])
def test_logs_that_are_made_together_are_all_durable_in_the_end(count: int) -> None:
    logs = tuple(CreateLog(f"t-{at}", b"metadata %d" % at) for at in range(count))
    for disk in cut_everywhere(lambda: CreateLogs(logs), nothing, stride=count):
        run(disk, CreateLogs(logs).run)
        disk.crash()
        for log in logs:
            stored = disk.contents(f"{log.directory}/{PARTITION_METADATA}")
            assert stored == log.partition_metadata
            assert disk.contents(f"{log.directory}/00000000000000000000.log") == b""


@pytest.mark.parametrize("count", [3, 20])
def test_logs_that_found_no_room_leave_no_file_open(count: int) -> None:
    disk = SimDisk(World(1))
    disk.fill(count)

    with pytest.raises(DiskError):
        run(disk, CreateLogs(tuple(CreateLog(f"t-{at}", b"m") for at in range(2 * count))).run)

    assert disk.open_paths() == []


def test_what_is_gone_already_need_not_be_removed() -> None:
    disk = SimDisk(World(1))
    run(disk, RenameLog("t-0", "t-0.x-delete").run)
    run(disk, RemoveTree("t-0.x-delete").run)

    run(disk, CreateLog("t-0", b"").run)
    run(disk, RenameLog("t-0", "t-0.x-delete").run)
    assert all(path.startswith("t-0.x-delete/") for path in disk.paths())
    run(disk, RemoveTree("t-0.x-delete").run)
    disk.crash()

    assert disk.paths() == []


def test_a_file_that_is_written_anew_keeps_nothing_of_a_longer_one() -> None:
    disk = SimDisk(World(1))
    run(disk, lambda port: write_file(port, "index", b"longer than that"))
    run(disk, lambda port: write_file(port, "index", b"short"))

    assert disk.contents("index") == b"short"
    assert disk.open_paths() == []


def test_files_are_closed_and_read_ranges_are_warm() -> None:
    disk = SimDisk(World(1))
    opened: list[DiskFile] = []

    def prepare(port: Disk) -> None:
        file = port.open("a", create=True)
        port.append(file, 0, (bytes(100_000),))
        port.sync(file)
        opened.append(file)

    run(disk, prepare)
    disk.evict("a")
    assert disk.read(opened[0], 0, 10) is None

    run(disk, WarmRange(opened[0], 0, 1 << 20).run)
    assert disk.read(opened[0], 90_000, 10) == bytes(10)
    run(disk, CloseFiles(tuple(opened)).run)

    assert disk.open_paths() == []


# Flush rounds


def test_a_round_without_a_journal_syncs_every_file_of_its_tickets() -> None:
    shelf = Shelf()
    shelf.append(batch(1))
    shelf.roll()
    shelf.append(batch(1))
    ticket = shelf.log.draw_ticket()

    run(shelf.disk, lambda disk: flush_logs(disk, [ticket], None))

    for segment in shelf.log.segments:
        assert shelf.disk.is_durable(segment.file.path, 0, segment.size)
    assert shelf.disk.contents(f"{DIRECTORY}/{EPOCHS_FILE}") == b"0\n1\n0 0\n"


def test_a_round_with_a_journal_syncs_that_alone() -> None:
    shelf = Shelf()
    shelf.append(batch(1))
    ticket = shelf.log.draw_ticket()
    file = shelf.run(PrepareJournal())

    run(shelf.disk, lambda disk: flush_logs(disk, [ticket], Round(file, 5, b"round")))

    assert shelf.disk.is_durable(file.path, 5, 5)
    assert not shelf.disk.is_durable(shelf.path(0, ".log"), 0, shelf.log.active.size)


def test_a_batch_is_durable_only_with_the_epoch_that_it_has() -> None:
    for calls in range(1, 30):
        shelf = Shelf(calls)
        shelf.append(batch(1), epoch=7)
        ticket = shelf.log.draw_ticket()
        path = shelf.path(0, ".log")
        size = shelf.log.active.size
        shelf.disk.faults.crash_modes = shelf.disk.faults.crash_modes[:1]
        shelf.disk.cut_after(calls)
        try:
            run(shelf.disk, partial(flush_logs, tickets=[ticket], journal=None))
        except PowerCut:
            shelf.disk.crash()
        else:
            return
        if len(shelf.disk.contents(path)) == size:
            assert shelf.disk.contents(f"{DIRECTORY}/{EPOCHS_FILE}") == b"0\n1\n7 0\n"


def tickets_with_epochs(disk: SimDisk, count: int) -> list[LogTicket]:
    tickets = []
    for at in range(count):
        job = CreateLog(f"t-{at}", b"metadata")
        log = Log(TopicPartition("t", at), job.directory, disk, CONFIG)
        log.add_segment(Segment(0, disk.run(disk.begin_boot(), job.run), WALL_MS))
        log.append(batch(1), 3, WALL_MS)
        tickets.append(log.draw_ticket())
    return tickets


def test_the_epochs_of_many_logs_are_whole_after_any_power_cut() -> None:
    calls, is_over = 1, False
    while not is_over:
        disk = SimDisk(World(calls))
        tickets = tickets_with_epochs(disk, 12)
        disk.cut_after(calls)
        try:
            run(disk, partial(flush_logs, tickets=tickets, journal=None))
            is_over = True
        except PowerCut:
            pass
        disk.crash()
        found = {path: disk.contents(path) for path in disk.paths() if path.endswith(EPOCHS_FILE)}
        assert all(data == b"0\n1\n3 0\n" for data in found.values())
        assert len(found) == 12 or not is_over
        calls += 3


@pytest.mark.parametrize("count", [3, 12])
def test_epochs_that_found_no_room_are_told_and_fail_no_round(count: int) -> None:
    disk = SimDisk(World(1))
    tickets = tickets_with_epochs(disk, count)
    disk.fill(1)

    run(disk, partial(flush_logs, tickets=tickets, journal=None))

    assert any(ticket.lacks_epochs for ticket in tickets)


def test_a_failed_sync_is_told() -> None:
    shelf = Shelf()
    shelf.append(batch(1))
    ticket = shelf.log.draw_ticket()
    shelf.disk.faults.sync_error = 1.0

    with pytest.raises(DiskError):
        run(shelf.disk, lambda disk: flush_logs(disk, [ticket], None))


# Checkpoints


def test_a_power_cut_between_the_checkpoints_does_not_void_the_marks() -> None:
    old, new = (encode_offsets({TopicPartition("t", 0): offset}) for offset in (1, 2))
    marks = DurableMarks(old)
    before = marks.encode()
    marks.set_recovery_points(new)
    job = WriteOffsets(marks.encode(), new, b"0\n0\n", b"0\n0\n")

    def prepare(disk: Disk) -> None:
        for path, data in ((MARKS_FILE, before), (RECOVERY_POINT_CHECKPOINT, old)):
            write_file(disk, path, data, sync=True)
        disk.sync_dir("")

    disks = cut_everywhere(lambda: job, prepare)
    found = [disk.contents(RECOVERY_POINT_CHECKPOINT) for disk in disks]

    assert (old in found, found[-1]) == (True, new)
    for disk, recovery_points in zip(disks, found, strict=True):
        assert DurableMarks.load(disk.contents(MARKS_FILE), recovery_points).are_known
