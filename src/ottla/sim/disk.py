"""A simulated disk: the `Disk` port over pages in memory, with the faults of real ones.

**The durability model.** This is what the broker may rely on, and all that it may rely on.

A file has two images: the page cache, which every process sees, and the platter. Pages are 4 KiB,
sectors 512 bytes, and only a sector is written atomically.

- `sync` of a file makes durable every byte and the size that the file had *when the job that
  calls it began*, and whatever the job itself wrote. What others wrote between the job's start and
  its end may be caught wholly, in part or not at all.
- A `sync` that fails leaves some of the pages on the platter and marks all of them clean: the
  cache still shows them, later syncs find nothing to do and succeed, and a power cut or an eviction
  shows the loss. So a failed sync must never be retried and trusted (D3).
- `sync_all` is a `sync` of every file, and makes every name durable.
- `sync_dir` makes durable the names in that directory: creates, renames and unlinks. A rename is
  atomic, also between two directories; the sync of either makes all of it durable. `sync` of a file
  promises nothing about its name, and `sync_dir` nothing about the name of the directory itself.
- Anything else may reach the platter early (write-back), in any order, or never.

`kill` (kill -9) loses the process: its handles, and the rest of the calls of its jobs. The page
cache survives. `crash` (power cut) keeps of every file what is durable, and of the rest one of:
nothing; all; a prefix of the writes in their order, cut at any byte; some whole pages; some
sectors; only the size, with zeros for the data. Files choose on their own, so a later write may
survive an earlier one to another file. A truncation that was not synced is done, or undone with
everything written after it. Names changed without `sync_dir` survive as a prefix in time, as a
journal of metadata keeps them, or each on its own, but never without the earlier ones of the same
name.

Beyond this stands only `rot`, which damages what was durable: it must be detected, not survived.
"""

import errno
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal, NoReturn, TypeVar

from ottla.errors import DiskError
from ottla.sim.inodes import PAGE, SECTOR, CrashMode, Inode, Seen
from ottla.sim.tree import Change, Directory, Edit, Tree
from ottla.sim.world import NS_PER_MS, World
from ottla.storage.disk import Buffer, Disk, DiskFile

_T = TypeVar("_T")
# `list` is a method of the port.
_Paths = list[str]


class PowerCut(BaseException):
    """The process ends inside a disk call. Not an Exception: the dead catch nothing."""


@dataclass(slots=True)
class DiskFaults:
    """Rates a call, redrawn by the swarm. All zero is a disk that works and never blocks."""

    sync_error: float = 0.0
    write_error: float = 0.0
    read_error: float = 0.0
    would_block: float = 0.0
    write_back: float = 0.0
    # In a job, before a call: the thread sleeps while everything else goes on.
    suspend: float = 0.0
    suspend_ns_max: int = 2 * NS_PER_MS
    job_ns_max: int = NS_PER_MS
    slow_job: float = 0.0
    slow_job_ns_max: int = 500 * NS_PER_MS
    crash_modes: tuple[CrashMode, ...] = tuple(CrashMode)


class SimFile:
    __slots__ = ("inode", "is_open", "life", "number", "path")

    def __init__(self, path: str, inode: Inode, number: int, life: int) -> None:
        self.path = path
        self.inode = inode
        self.number = number
        self.life = life
        self.is_open = True

    def fileno(self) -> int:
        return self.number


class Running:
    """A thread with permission to block, from the start of its job to the end."""

    __slots__ = ("calls_left", "is_suspendable", "life", "own", "seen", "stamp")

    def __init__(self, life: int, stamp: int, seen: dict[int, Seen] | None) -> None:
        self.life = life
        self.stamp = stamp
        # None at boot, where nobody else writes: syncs cover everything.
        self.seen = seen
        # Files that the job itself changed, by inode number.
        self.own: dict[int, None] = {}
        self.calls_left: int | None = None
        self.is_suspendable = seen is not None


class SimDisk:
    """One log directory. The last methods are the verbs of tests, not of the port."""

    def __init__(self, world: World, name: str = "disk") -> None:
        self.faults = DiskFaults()
        self.name = name
        self.calls = 0
        self.used_pages = 0
        self.capacity_pages: int | None = None
        self.life = 0
        # When what was in the page cache only may have been lost, for `History`.
        self.losses_ns: list[int] = []
        self._world = world
        self._rng = world.rng(name)
        self._tree = Tree()
        self._unsynced: dict[int, Inode] = {}
        self._open: dict[int, SimFile] = {}
        self._running: Running | None = None
        self._cut_at: int | None = None
        self._is_cut = False

    # Inline: the page cache only.

    def append(self, file: DiskFile, position: int, parts: Sequence[Buffer]) -> None:
        inode = self._inode_of(file)
        data = b"".join(parts)
        error = 0
        is_cut = self._counts_down()
        if is_cut:
            data = data[: self._rng.randint(0, len(data))]
        elif self.faults.write_error and self._rng.random() < self.faults.write_error:
            data = data[: self._rng.randint(0, len(data))]
            error = errno.EIO
        room = self._room(inode, position, len(data))
        if room < len(data):
            data = data[:room]
            error = errno.ENOSPC
        self._world.note(f"{self.name} append {file.path} {position}+{len(data)}", data)
        if data:
            self.used_pages += inode.write(position, data)
            self._changed(inode)
            if self.faults.write_back and self._rng.random() < self.faults.write_back:
                inode.write_back(self._rng)
        if is_cut:
            raise PowerCut
        if error:
            self._fail(error, "append", file.path)

    def read(self, file: DiskFile, position: int, size: int) -> bytes | None:
        inode = self._inode_of(file)
        if self._counts_down():
            raise PowerCut
        if self._running is None:
            size_there = min(size, inode.size - position)
            if inode.cold and inode.is_cold(position, size_there):
                return None
            rate = self.faults.would_block
            if rate and size_there > 0 and self._rng.random() < rate:
                inode.make_cold(position, size_there)
                self._world.ledger.disturb(f"{self.name}.would_block")
                return None
        self._maybe_fail_read(file.path)
        return inode.read(position, size)

    # Blocking: for jobs and for boot.

    def open(self, path: str, *, create: bool = False) -> SimFile:
        self._block("open", path)
        directory, name = self._parent(path)
        node = directory.entries.get(name)
        if node is None:
            if not create:
                self._fail(errno.ENOENT, "open", path)
            self._maybe_refuse_space("create", path)
            node = Inode(self._tree.next_number())
            self._tree.change(self._running, Edit(directory, name, node))
        if isinstance(node, Directory):
            self._fail(errno.EISDIR, "open", path)
        node.opens += 1
        file = SimFile(path, node, self._tree.next_number(), self.life)
        self._open[file.number] = file
        return file

    def close(self, file: DiskFile) -> None:
        self._block("close", file.path)
        inode = self._inode_of(file)
        assert isinstance(file, SimFile)
        file.is_open = False
        del self._open[file.number]
        inode.opens -= 1
        self._maybe_free(inode)

    def read_blocking(self, file: DiskFile, position: int, size: int) -> bytes:
        self._block("read", file.path)
        inode = self._inode_of(file)
        self._maybe_fail_read(file.path)
        inode.make_warm(position, min(size, max(inode.size - position, 0)))
        return inode.read(position, size)

    def size(self, file: DiskFile) -> int:
        self._block("size", file.path)
        return self._inode_of(file).size

    def truncate(self, file: DiskFile, size: int) -> None:
        self._block("truncate", file.path)
        inode = self._inode_of(file)
        before = len(inode.pages)
        inode.truncate(size)
        self.used_pages -= before - len(inode.pages)
        self._changed(inode)

    def sync(self, file: DiskFile) -> None:
        self._block("sync", file.path)
        self._sync(self._inode_of(file), file.path)

    def sync_dir(self, path: str) -> None:
        self._block("sync_dir", path)
        directory = self._directory(path)
        rate = self.faults.sync_error
        if rate and self._rng.random() < rate:
            self._fail(errno.EIO, "sync_dir", path)
        self._settle_names(lambda change: change.touches(directory))

    def sync_all(self) -> None:
        self._block("sync_all", "")
        for inode in list(self._unsynced.values()):
            self._sync(inode, "of all")
        self._settle_names(lambda change: True)

    def rename(self, old: str, new: str) -> None:
        self._block("rename", f"{old} -> {new}")
        directory, name = self._parent(old)
        node = directory.entries.get(name)
        if node is None:
            self._fail(errno.ENOENT, "rename", old)
        into, new_name = self._parent(new)
        replaced = into.entries.get(new_name)
        if replaced is node:
            return
        if isinstance(replaced, Directory):
            if not isinstance(node, Directory):
                self._fail(errno.EISDIR, "rename", new)
            if replaced.entries:
                self._fail(errno.ENOTEMPTY, "rename", new)
        elif isinstance(replaced, Inode) and isinstance(node, Directory):
            self._fail(errno.ENOTDIR, "rename", new)
        self._tree.change(self._running, Edit(directory, name, None), Edit(into, new_name, node))
        if isinstance(replaced, Inode):
            self._unlinked(replaced)

    def unlink(self, path: str) -> None:
        self._block("unlink", path)
        directory, name = self._parent(path)
        node = directory.entries.get(name)
        if node is None:
            self._fail(errno.ENOENT, "unlink", path)
        if isinstance(node, Directory):
            self._fail(errno.EISDIR, "unlink", path)
        self._tree.change(self._running, Edit(directory, name, None))
        self._unlinked(node)

    def mkdir(self, path: str) -> None:
        self._block("mkdir", path)
        directory, name = self._parent(path)
        if name in directory.entries:
            self._fail(errno.EEXIST, "mkdir", path)
        self._maybe_refuse_space("mkdir", path)
        made = Directory(self._tree.next_number())
        self._tree.change(self._running, Edit(directory, name, made))

    def remove_tree(self, path: str) -> None:
        """One call to the port, many to the kernel: it may end in the middle."""
        directory = self._directory(path)
        for name in sorted(directory.entries):
            below = f"{path}/{name}"
            if isinstance(directory.entries.get(name), Directory):
                self.remove_tree(below)
            else:
                self.unlink(below)
        self._block("rmdir", path)
        parent, name = self._parent(path)
        self._tree.change(self._running, Edit(parent, name, None))

    def list(self, path: str) -> _Paths:
        self._block("list", path)
        return sorted(self._directory(path).entries)

    def exists(self, path: str) -> bool:
        self._block("exists", path)
        return self._tree.find(path) is not None

    # Jobs: what the shell's threads do.

    def begin(self) -> Running:
        """A thread starts a job: its syncs will cover what is in the page cache now.

        What is written between this and `run` may miss them.
        """
        seen = {number: inode.see() for number, inode in self._unsynced.items()}
        return Running(self.life, self._tree.stamp, seen)

    def begin_boot(self) -> Running:
        """The start-up of a process, which has the disk to itself."""
        return Running(self.life, self._tree.stamp, None)

    def run(self, running: Running, work: Callable[[Disk], _T], calls_max: int | None = None) -> _T:
        """Do blocking work. With `calls_max`, the process ends at the call after so many."""
        running.calls_left = calls_max
        before, self._running = self._running, running
        try:
            return work(self)
        finally:
            self._running = before

    @property
    def in_job(self) -> bool:
        return self._running is not None

    # Verbs

    def cut_after(self, calls: int | None) -> None:
        """PowerCut out of the n-th disk call from now, inline or in a job; then out of each."""
        self._cut_at = None if calls is None else self.calls + calls

    def kill(self) -> None:
        """kill -9: handles close, and all else is as it was."""
        for file in self._open.values():
            file.inode.opens = 0
        self._end_life("kill")

    def crash(self) -> None:
        """A power cut, and the boot after it."""
        self.losses_ns.append(self._world.now_ns)
        self._tree.lose_power(self._rng)
        for path, inode in self._tree.files():
            mode = CrashMode.LOST
            if not inode.is_synced:
                mode = self._rng.choice(self.faults.crash_modes)
                self._world.note(f"{self.name} {path} of {inode.size} bytes: {mode.value}")
            inode.lose_power(mode, self._rng)
            inode.is_linked = True
        self._unsynced.clear()
        self._end_life("crash")

    def rot(self, path: str, position: int, kind: Literal["bit", "sector", "page"] = "bit") -> None:
        """Damage what is stored: flip a bit, or replace the sector or page by zeros."""
        offset = position % PAGE

        def change(page: bytes) -> bytes:
            if kind == "page":
                return bytes(PAGE)
            if kind == "sector":
                start = offset // SECTOR * SECTOR
                return page[:start] + bytes(SECTOR) + page[start + SECTOR :]
            flipped = page[offset] ^ 1 << self._rng.randrange(8)
            return page[:offset] + bytes((flipped,)) + page[offset + 1 :]

        self._world.fault(f"{self.name}.rot", f"{path} {position} {kind}")
        self._file(path).rot(position, change)

    def fill(self, free_pages: int = 0) -> None:
        """Leave room for so many pages more."""
        self._world.note(f"{self.name} fill, {free_pages} pages free")
        self.capacity_pages = self.used_pages + free_pages

    def free_space(self) -> None:
        self._world.note(f"{self.name} free_space")
        self.capacity_pages = None

    def evict(self, path: str) -> None:
        self._world.note(f"{self.name} evict {path}")
        inode = self._file(path)
        self.used_pages -= len(inode.pages)
        inode.evict()
        self.used_pages += len(inode.pages)

    def put(self, path: str, contents: bytes) -> None:
        """Replace a file, durably and behind everybody's back: a torn tail, an old copy."""
        self._world.note(f"{self.name} put {path}", contents)
        inode = self._file(path)
        self.used_pages -= len(inode.pages)
        inode.truncate(0)
        inode.write(0, contents)
        inode.sync_all()
        self.used_pages += len(inode.pages)
        self._unsynced.pop(inode.number, None)

    def contents(self, path: str) -> bytes:
        inode = self._file(path)
        return inode.read(0, inode.size)

    def durable_contents(self, path: str) -> bytes:
        """What a power cut cannot take, were the name durable."""
        inode = self._file(path)
        return inode.read_durable(0, inode.durable_size)

    def is_durable(self, path: str, position: int, size: int) -> bool:
        """Do these bytes of the page cache survive a power cut, under this name?"""
        inode = self._file(path)
        if self._tree.find_durable(path) is not inode or inode.truncated_to is not None:
            return False
        wanted = inode.read(position, size)
        return len(wanted) == size and inode.read_durable(position, size) == wanted

    def peek(self, file: DiskFile, position: int, size: int) -> bytes:
        """As `sendfile` sees the file: late, and maybe short."""
        return self._inode_of(file).read(position, size)

    def paths(self) -> _Paths:
        """Every file, sorted."""
        return sorted(path for path, _ in self._tree.files())

    def open_paths(self) -> _Paths:
        """By handle: what is still here at the end has leaked."""
        return [file.path for file in self._open.values()]

    # Within

    def _settle_names(self, is_wanted: Callable[[Change], bool]) -> None:
        running = self._running
        assert running is not None
        self._tree.settle(
            lambda change: (
                is_wanted(change)
                and (
                    change.stamp <= running.stamp
                    or change.author is running
                    or running.seen is None
                    or self._rng.random() < 0.5
                )
            )
        )

    def _counts_down(self) -> bool:
        """Count a call; True where the process ends in it."""
        self.calls += 1
        if self._is_cut:
            raise PowerCut
        running = self._running
        if running is not None:
            if running.life != self.life:
                raise PowerCut
            if running.calls_left is not None:
                # The file system goes on after a thread has died in it: only this job is cut.
                running.calls_left -= 1
                if running.calls_left < -1:
                    raise PowerCut
                if running.calls_left == -1:
                    return True
        if self._cut_at is not None and self.calls >= self._cut_at:
            self._is_cut = True
        return self._is_cut

    def _block(self, what: str, path: str) -> None:
        running = self._running
        assert running is not None, f"{what} {path} may block, and is called inline"
        rate = self.faults.suspend
        if rate and running.is_suspendable and self._rng.random() < rate:
            self._running = None
            self._world.run_for(self._rng.randint(0, self.faults.suspend_ns_max))
            self._running = running
        if self._counts_down():
            raise PowerCut
        self._world.note(f"{self.name} {what} {path}")

    def _sync(self, inode: Inode, path: str) -> None:
        running = self._running
        assert running is not None
        rate = self.faults.sync_error
        if rate and self._rng.random() < rate:
            inode.sync_failed(self._rng)
            self.losses_ns.append(self._world.now_ns)
            self._fail(errno.EIO, "sync", path)
        if running.seen is None or inode.number in running.own:
            inode.sync_all()
        else:
            inode.sync_seen(running.seen.get(inode.number), self._rng)
        if inode.is_synced:
            self._unsynced.pop(inode.number, None)

    def _changed(self, inode: Inode) -> None:
        self._unsynced[inode.number] = inode
        if self._running is not None:
            self._running.own[inode.number] = None

    def _room(self, inode: Inode, position: int, size: int) -> int:
        if self.capacity_pages is None:
            return size
        free = self.capacity_pages - self.used_pages
        for index in range(position // PAGE, -(-(position + size) // PAGE)):
            if index not in inode.pages:
                if free <= 0:
                    return max(index * PAGE - position, 0)
                free -= 1
        return size

    def _maybe_refuse_space(self, what: str, path: str) -> None:
        # A directory block has often room for one name more, also on a full disk.
        is_full = self.capacity_pages is not None and self.used_pages >= self.capacity_pages
        if is_full and self._rng.random() < 0.5:
            self._fail(errno.ENOSPC, what, path)

    def _maybe_fail_read(self, path: str) -> None:
        rate = self.faults.read_error
        if rate and self._rng.random() < rate:
            self._fail(errno.EIO, "read", path)

    def _fail(self, number: int, what: str, path: str) -> NoReturn:
        name = errno.errorcode[number]
        if number in (errno.EIO, errno.ENOSPC):
            self._world.fault(f"{self.name}.{what}_{name}", path)
        raise DiskError(number, f"{what} {path}: {os.strerror(number)}")

    def _inode_of(self, file: DiskFile) -> Inode:
        assert isinstance(file, SimFile)
        if file.life != self.life:
            raise PowerCut
        assert file.is_open, f"{file.path} is closed"
        return file.inode

    def _unlinked(self, inode: Inode) -> None:
        inode.is_linked = False
        self._maybe_free(inode)

    def _maybe_free(self, inode: Inode) -> None:
        """Its pages stay in the object: a power cut may undo the unlink."""
        if inode.opens == 0 and not inode.is_linked:
            self.used_pages -= len(inode.pages)
            self._unsynced.pop(inode.number, None)

    def _end_life(self, how: str) -> None:
        self._world.note(f"{self.name} {how}")
        self.life += 1
        self.used_pages = sum(len(inode.pages) for _, inode in self._tree.files())
        self._open.clear()
        self._cut_at = None
        self._is_cut = False

    def _file(self, path: str) -> Inode:
        node = self._tree.find(path)
        assert isinstance(node, Inode), f"no file {path}"
        return node

    def _directory(self, path: str) -> Directory:
        node = self._tree.find(path)
        if node is None:
            self._fail(errno.ENOENT, "list", path)
        if isinstance(node, Inode):
            self._fail(errno.ENOTDIR, "list", path)
        return node

    def _parent(self, path: str) -> tuple[Directory, str]:
        above, _, name = path.rpartition("/")
        return self._directory(above), name
