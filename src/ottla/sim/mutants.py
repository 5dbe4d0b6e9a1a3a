"""Planted bugs: each one small switch, thrown for a run, that the simulator has to find.

They are here and nowhere in the broker. A mutant that is not found says that a checker, or a fault,
is missing; a campaign without findings counts only beside mutants that were all found.
"""

from collections.abc import Callable
from dataclasses import replace
from typing import Any, NamedTuple

from ottla.broker import boot, stop
from ottla.broker.node import Node
from ottla.errors import DiskError
from ottla.names import Now
from ottla.raft.directory import QUORUM_STATE
from ottla.raft.snapshots import WriteSnapshot
from ottla.records.batch import CorruptBatch, iter_headers
from ottla.replication.partition import Partition
from ottla.sim import shell
from ottla.sim.disk import SimDisk
from ottla.sim.knobs import Settings
from ottla.storage import journal, recovery
from ottla.storage.disk import Disk
from ottla.storage.index import OffsetIndex
from ottla.storage.jobs import flush_logs
from ottla.storage.producers import Producers


class Mutant(NamedTuple):
    about: str
    # What stands in these places instead (`ottla.sim.knobs`).
    settings: Settings
    # It shows in one seed of a hundred, not of ten.
    is_rare: bool = False


def _place(owner: Any, name: str) -> tuple[str, str]:
    """The module and path of an attribute of a class, or of a name in a module."""
    if isinstance(owner, type):
        return owner.__module__, f"{owner.__qualname__}.{name}"
    module: str = owner.__name__
    return module, name


def _instead(owner: Any, name: str, value: object) -> Settings:
    return {_place(owner, name): value}


def _around(owner: Any, name: str, change: Callable[..., Any]) -> Settings:
    """`change` gets what stood there, and the arguments of the call."""
    before = getattr(owner, name)

    def changed(*arguments: Any, **named: Any) -> Any:
        return change(before, *arguments, **named)

    return _instead(owner, name, changed)


def _nothing(*arguments: Any, **named: Any) -> None:
    """What should have happened here is forgotten."""


def _acknowledge_at_once(partition: Partition, end_offset: int, waiter: Any, token: Any) -> None:
    node: Any = partition.host
    partition.host.want_flush()
    waiter.on_durable(token, node.now)


def _commit_at_append(before: Any, partition: Partition, batch: Any, now: Now) -> Any:
    appended = before(partition, batch, now)
    partition.log.trust_page_cache()
    partition.advance_high_watermark(now)
    return appended


def _serve_to_log_end(
    before: Any, partition: Partition, offset: int, end_offset: int, *rest: Any
) -> Any:
    return before(partition, offset, partition.log.end_offset, *rest)


def _trust_second_sync(before: Any, node: Node, ticket: Any, error: Any, now: Now) -> None:
    """The kernel has marked the pages clean: trying again succeeds, and nothing is there."""
    before(node, ticket, None if isinstance(error, DiskError) else error, now)


def _forget_windows(before: Any, *arguments: Any) -> Any:
    loaded, repairs = before(*arguments)
    loaded.producers = Producers(loaded.end_offset)
    return loaded, repairs


def _believe_all(
    before: Any, disk: Any, partition: Any, directory: Any, config: Any, trust: Any
) -> Any:
    return before(disk, partition, directory, config, trust._replace(is_clean=True))


def _trust_without_mark(before: Any, *arguments: Any, **named: Any) -> Any:
    return before(*arguments, **(named | {"mark": None}))


def _index_too_low(before: Any, index: OffsetIndex, offset: int, position: int) -> None:
    before(index, max(offset - 1, index.last_offset + bool(len(index))), position)


def _skip_journal_sync(disk: Disk, tickets: Any, round_: Any, *rest: Any) -> None:
    if round_ is None:
        flush_logs(disk, tickets, round_, *rest)
    else:
        disk.append(round_.file, round_.position, (round_.data,))


def _sync_active_only(disk: Disk, tickets: Any, round_: Any, *rest: Any) -> None:
    """The files of the segments before are forgotten."""
    for ticket in tickets:
        ticket.files = ticket.files[-1:]
    flush_logs(disk, tickets, round_, *rest)


def _forget_snapshot_sync(before: Any, job: WriteSnapshot, disk: Disk, path: str) -> None:
    before(replace(job, is_last=False), disk, path)


class _AnyTopic:
    def __ne__(self, other: object) -> bool:
        return False


def _accept_any_crc(before: Any, data: bytes) -> Any:
    """As far as the sizes of the batches lead."""
    headers, end, why = before(data)
    if why is None:
        return headers, end, why
    try:
        for header in iter_headers(data, end):
            headers.append(header)
            end += header.size
            why = None
    except CorruptBatch:
        pass
    return headers, end, why


def _write_first_epoch(before: Any, disk: Disk, leader_id: Any, leader_epoch: int) -> None:
    if not disk.exists(QUORUM_STATE):
        before(disk, leader_id, leader_epoch)


def _forget_sync(directory: Any, name: Any, *rest: Any) -> None:
    """A directory's new names are left to chance."""


MUTANTS: dict[str, Mutant] = {
    "ack-before-sync": Mutant(
        "acks=all is answered from the page cache",
        _instead(Partition, "wait_for_ack", _acknowledge_at_once),
    ),
    "watermark-is-log-end": Mutant(
        "the high watermark counts what was appended",
        _around(Partition, "append_as_leader", _commit_at_append),
    ),
    "fetch-to-log-end": Mutant(
        "consumers read beyond the high watermark",
        _around(Partition, "read", _serve_to_log_end),
    ),
    "sync-again-and-trust": Mutant(
        "a failed sync is tried again, and its success believed",
        _around(Node, "flushed", _trust_second_sync),
        is_rare=True,
    ),
    "cut-below-mark": Mutant(
        "rot is taken for a torn tail",
        _around(boot, "Trust", _trust_without_mark),
    ),
    "window-lost-at-start": Mutant(
        "what producers sent last is forgotten at a restart",
        _around(boot, "load_log", _forget_windows),
    ),
    "sequences-unchecked": Mutant(
        "a batch that comes again is appended again",
        _instead(Producers, "check", _nothing),
    ),
    "index-too-low": Mutant(
        "an index entry names an offset before its batch",
        _around(OffsetIndex, "append", _index_too_low),
    ),
    "crc-unchecked-at-start": Mutant(
        "recovery believes a batch by its size",
        _around(recovery, "batch_spans", _accept_any_crc),
        is_rare=True,
    ),
    "recovery-skipped": Mutant(
        "after a crash the files are believed as after a clean stop",
        _around(boot, "load_log", _believe_all),
    ),
    "directory-unsynced": Mutant(
        "files are made and renamed without a sync of their directory",
        _instead(SimDisk, "sync_dir", _forget_sync),
    ),
    "journal-unsynced": Mutant(
        "a round goes into the journal and is acknowledged without its sync",
        _instead(shell, "flush_logs", _skip_journal_sync),
    ),
    "journal-not-emptied": Mutant(
        "what a replay wrote is replayed again after the next crash",
        _instead(journal, "empty_journal", _nothing) | _instead(stop, "empty_journal", _nothing),
    ),
    "journal-of-any-topic": Mutant(
        "a replay writes into a later topic of the same name",
        _instead(journal, "_topic_id_of", lambda disk, directory: _AnyTopic()),
        is_rare=True,
    ),
    "snapshot-unsynced": Mutant(
        "a snapshot of the metadata counts before its bytes are on disk",
        _around(WriteSnapshot, "_write", _forget_snapshot_sync),
    ),
    "rolled-file-unsynced": Mutant(
        "a round syncs the newest segment and forgets those before it",
        _instead(shell, "flush_logs", _sync_active_only),
        is_rare=True,
    ),
    "quorum-epoch-unsaved": Mutant(
        "an epoch is led before it is written down",
        _around(boot, "write_quorum_state", _write_first_epoch),
        is_rare=True,
    ),
}
