"""What Kafka's log cleaner left half done when it crashed.

It writes new segments as `.cleaned`, renames them to `.swap` when they are whole, marks the old
ones `.deleted`, and last takes the suffix off. From `.swap` on the new segments count, and the old
ones may be gone: the work is finished, as Kafka finishes it.
"""

import re

from ottla.records.batch import CorruptBatch, iter_headers
from ottla.storage.disk import Disk

CLEANED_SUFFIX = ".cleaned"
DELETED_SUFFIX = ".deleted"
SWAP_SUFFIX = ".swap"
TEMPORARY_SUFFIX = ".tmp"

_SWAPPED = re.compile(r"([0-9]{20})(\.[a-z]+)\.swap")
_NUMBER = re.compile(r"[0-9]{20}")


def finish_swaps(disk: Disk, directory: str) -> list[str]:
    """Remove leftovers and put finished segments in their place; a line for each of these."""
    names = disk.list(directory)
    cleaned = [name for name in names if name.endswith(CLEANED_SUFFIX)]
    swaps = [name for name in names if name.endswith(SWAP_SUFFIX)]
    if swaps:
        # A swap above a segment that is not whole belongs to a split that never ended.
        unfinished = [int(name[:20]) for name in cleaned if _NUMBER.match(name)]
        for name in [name for name in swaps if unfinished and int(name[:20]) >= min(unfinished)]:
            disk.unlink(f"{directory}/{name}")
            swaps.remove(name)
    reports = _swap(disk, directory, names, swaps)
    for name in names:
        # Snapshots of a metadata log are marked in the same way, and their owner removes them.
        if name.endswith((CLEANED_SUFFIX, DELETED_SUFFIX, TEMPORARY_SUFFIX)):
            disk.unlink(f"{directory}/{name}")
    return reports


def _swap(disk: Disk, directory: str, names: list[str], swaps: list[str]) -> list[str]:
    whole = [match for match in map(_SWAPPED.fullmatch, swaps) if match]
    bases = [int(match[1]) for match in whole if match[2] == ".log"]
    if not bases:
        # Of segments that are in their place already: indexes can be made again.
        for name in swaps:
            disk.unlink(f"{directory}/{name}")
        return []
    end_offset = max(_next_offset(disk, f"{directory}/{b:020d}.log.swap", b) for b in bases)
    for name in names:
        is_plain = _NUMBER.match(name) and not name.endswith(
            (SWAP_SUFFIX, CLEANED_SUFFIX, DELETED_SUFFIX, TEMPORARY_SUFFIX)
        )
        if is_plain and min(bases) <= int(name[:20]) < end_offset:
            disk.unlink(f"{directory}/{name}")
    # A segment's batches last: as long as they are not in their place, the work is not done.
    for match in sorted(whole, key=lambda match: match[2] == ".log"):
        disk.rename(f"{directory}/{match[0]}", f"{directory}/{match[1]}{match[2]}")
    disk.sync_dir(directory)
    return [f"{directory}: finished a compaction of {len(bases)} segments from {min(bases)} on"]


def _next_offset(disk: Disk, path: str, base_offset: int) -> int:
    file = disk.open(path)
    next_offset = base_offset
    try:
        data = disk.read_blocking(file, 0, disk.size(file))
        for header in iter_headers(data):
            next_offset = header.next_offset
    except CorruptBatch:
        # Recovery reads the segment again, and says what is wrong with it.
        return next_offset
    finally:
        disk.close(file)
    return next_offset
