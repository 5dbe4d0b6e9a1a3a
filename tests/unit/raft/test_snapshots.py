from collections.abc import Callable
from contextlib import suppress
from functools import partial

import pytest

from ottla.errors import DiskError
from ottla.protocol.compile import decode
from ottla.protocol.schema.records_raft import SnapshotHeaderRecord
from ottla.raft.batches import read_controls, read_values
from ottla.raft.snapshots import (
    BATCH_RECORDS_MAX,
    METADATA_DIRECTORY,
    SnapshotId,
    WriteSnapshot,
    remove_partial_snapshots,
    snapshot_batches,
    snapshots_in,
)
from ottla.records.batch import check_crc, iter_headers
from ottla.records.control import ControlType
from ottla.sim.disk import PowerCut, SimDisk
from ottla.sim.world import World
from ottla.storage.disk import Disk

WALL_MS = 1_700_000_000_000
OLD, NEW = SnapshotId(10, 1), SnapshotId(20, 2)


def made(count: int, epoch: int = 4) -> tuple[bytes, ...]:
    values = [b"%d" % index for index in range(count)]
    quorum = [(ControlType.KRAFT_VERSION, b"v")]
    return tuple(snapshot_batches(quorum, values, epoch, WALL_MS - 5, WALL_MS))


def write(disk: Disk, snapshot: SnapshotId, batches: tuple[bytes, ...]) -> None:
    position = 0
    for batch in batches:
        WriteSnapshot(snapshot, position, batch, is_last=batch is batches[-1]).run(disk)
        position += len(batch)


def on(disk: SimDisk, work: Callable[[Disk], None]) -> None:
    disk.run(disk.begin_boot(), work)


def new_disk(seed: int = 1) -> SimDisk:
    disk = SimDisk(World(seed))
    on(disk, lambda port: port.mkdir(METADATA_DIRECTORY))
    on(disk, lambda port: port.sync_dir(""))
    return disk


def names_on(disk: SimDisk) -> list[str]:
    return [path.rpartition("/")[2] for path in disk.paths()]


def test_a_name_says_where_a_snapshot_ends_and_in_which_epoch() -> None:
    assert SnapshotId(255, 7).name == "00000000000000000255-0000000007.checkpoint"
    names = [NEW.name, "leader-epoch-checkpoint", OLD.name + ".part", OLD.name, "x"]
    assert snapshots_in(names) == [OLD, NEW]


@pytest.mark.parametrize("count", [0, 1, BATCH_RECORDS_MAX, BATCH_RECORDS_MAX + 1])
def test_a_snapshot_is_a_header_its_records_and_a_footer(count: int) -> None:
    data = b"".join(made(count))
    headers = list(iter_headers(data))
    at = 0
    for header in headers:
        assert header.partition_leader_epoch == 4
        assert check_crc(data, at, header.size)
        at += header.size
    assert len(headers) == 2 + -(-count // BATCH_RECORDS_MAX)
    assert [one.base_offset for one in headers] == [0, *(one.next_offset for one in headers[:-1])]
    controls = list(read_controls(data))
    assert [control_type for control_type, _ in controls] == [
        ControlType.SNAPSHOT_HEADER,
        ControlType.KRAFT_VERSION,
        ControlType.SNAPSHOT_FOOTER,
    ]
    header_record = decode(SnapshotHeaderRecord, 0, controls[0][1])
    assert header_record.last_contained_log_timestamp == WALL_MS - 5
    assert [value for _, _, value in read_values(data)] == [b"%d" % at for at in range(count)]


def test_a_power_cut_leaves_it_whole_or_not_at_all() -> None:
    batches = made(3)
    outcomes: dict[bool, None] = {}
    for calls in range(20):
        for seed in range(8):
            disk = new_disk(seed)
            on(disk, partial(write, snapshot=OLD, batches=batches))
            disk.cut_after(calls)
            with suppress(PowerCut):
                on(disk, partial(write, snapshot=NEW, batches=batches))
            disk.crash()
            names = names_on(disk)
            assert OLD.name in names
            outcomes[NEW.name in names] = None
            for snapshot in snapshots_in(names):
                path = f"{METADATA_DIRECTORY}/{snapshot.name}"
                assert disk.contents(path) == b"".join(batches)
            on(disk, remove_partial_snapshots)
            assert [name for name in names_on(disk) if name.endswith(".part")] == []
    assert sorted(outcomes) == [False, True]


def test_two_are_kept() -> None:
    disk = new_disk()
    for end_offset in (1, 2, 3, 4):
        on(disk, partial(write, snapshot=SnapshotId(end_offset, 1), batches=made(1)))
    assert snapshots_in(names_on(disk)) == [SnapshotId(3, 1), SnapshotId(4, 1)]


def test_what_finds_no_room_leaves_nothing_behind() -> None:
    disk = new_disk()
    on(disk, partial(write, snapshot=OLD, batches=made(1)))
    disk.fill(0)
    with pytest.raises(DiskError):
        on(disk, partial(write, snapshot=NEW, batches=made(3)))
    assert names_on(disk) == [OLD.name]
