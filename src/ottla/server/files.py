"""Open files of a log directory. Segments that are only read share a bounded number of descriptors.

A segment that a newer one of its directory has followed is not written any more. Its descriptor may
be closed, and is opened again when somebody reads. Nobody may use a number that was closed
meanwhile, and perhaps given to another file: the loop's thread uses what `fileno` answers in its
very next call, and the file that it asked for last stays open; jobs in other threads say how long
they need one (`take` and `give_back`).
"""

import errno
import os
import threading
from collections import OrderedDict

from ottla.storage.segment import LOG_SUFFIX

FILE_MODE = 0o600
EXHAUSTED = (errno.EMFILE, errno.ENFILE)
SHUT = -1


class OsFile:
    __slots__ = (
        "fd",
        "files",
        "identity",
        "is_followed",
        "is_let_go",
        "is_synced",
        "path",
        "place",
        "users",
    )

    def __init__(self, path: str, fd: int) -> None:
        self.path = path
        self.fd = fd
        # Who answers for the descriptor. None for what is being written, and for all but segments.
        self.files: Files | None = None
        self.is_followed = False
        # Since it was followed.
        self.is_synced = False
        # Where it is now: its directory may have been renamed. None: it cannot be opened again.
        self.place: str | None = path
        # Of what was shut: another file in its place is not this one.
        self.identity: tuple[int, int, int] | None = None
        # Calls of jobs that are using the descriptor; the last one closes what was let go.
        self.users = 0
        self.is_let_go = False

    def fileno(self) -> int:
        """For the loop's thread, and its next call only. Raises OSError."""
        return self.fd if self.files is None else self.files.lend(self)

    def __repr__(self) -> str:
        return f"<{self.path}>"


class Files:
    def __init__(self, root: str, followed_open_max: int) -> None:
        self._prefix = f"{root}/"
        self._followed_open_max = followed_open_max
        self._lock = threading.Lock()
        self._loop_thread = threading.get_ident()
        # By directory, in the order in which they were opened: the last is the one to write to.
        self._segments: dict[str, dict[OsFile, None]] = {}
        # Followed segments that are open; the one that nobody asked for longest comes first.
        self._open: OrderedDict[OsFile, None] = OrderedDict()
        self._lent: OsFile | None = None

    def open(self, path: str, flags: int) -> OsFile:
        """Blocking: where room has to be made, it may sync what it shuts. Raises OSError."""
        self._make_room()
        with self._lock:
            file = OsFile(path, self._open_at(path, flags))
            if path.endswith(LOG_SUFFIX):
                segments = self._segments.setdefault(path.rpartition("/")[0], {})
                segments[file] = None
                if threading.get_ident() == self._loop_thread:
                    # At boot. What that writes, to whichever segment, is synced at its end.
                    self._step_down(segments, is_synced=True)
                    self._shut_some(self._followed_open_max)
                else:
                    # A roll. The loop may be using the segment before, until it writes to this one.
                    file.files = self
            return file

    def lend(self, file: OsFile) -> int:
        """The loop's thread uses it in its next call."""
        assert threading.get_ident() == self._loop_thread
        with self._lock:
            fd = self._opened(file)
            segments = self._segments.get(_directory_of(file), {})
            if file is next(reversed(segments), None):
                self._open.pop(file, None)
                file.files = None
                file.is_followed = False
                self._step_down(segments, is_synced=False)
            else:
                self._lent = file
            return fd

    def take(self, file: OsFile) -> int:
        """A job uses it until `give_back`. Raises OSError."""
        with self._lock:
            fd = self._opened(file)
            file.users += 1
            return fd

    def give_back(self, file: OsFile) -> None:
        with self._lock:
            file.users -= 1
            if file.is_let_go and not file.users:
                fd, file.fd = file.fd, SHUT
                os.close(fd)

    def sync(self, file: OsFile) -> None:
        was_followed = file.is_followed
        fd = self.take(file)
        try:
            os.fdatasync(fd)
            if was_followed:
                file.is_synced = True
        finally:
            self.give_back(file)

    def close(self, file: OsFile) -> None:
        with self._lock:
            is_shut = file.fd == SHUT and file.place is not None
            self._forget(file)
            if is_shut:
                return
            if file.users:
                file.is_let_go = True
                return
            fd, file.fd = file.fd, SHUT
        os.close(fd)

    def rename(self, old: str, new: str) -> None:
        with self._lock:
            moved = self._below(old)
            if moved:
                # Nobody may look for them in the old place meanwhile.
                os.rename(self._prefix + old, self._prefix + new)
            for file in moved:
                file.place = new + (file.place or "").removeprefix(old)
            if old in self._segments:
                self._segments[new] = self._segments.pop(old)
        if not moved:
            os.rename(self._prefix + old, self._prefix + new)

    def keep_open(self, path: str) -> None:
        """What will be unlinked stays readable for whoever has it. Raises OSError."""
        with self._lock:
            for file in self._below(path):
                self._opened(file)
                self._forget(file)

    def _forget(self, file: OsFile) -> None:
        """It is not opened again."""
        directory = _directory_of(file)
        segments = self._segments.get(directory, {})
        segments.pop(file, None)
        if not segments:
            self._segments.pop(directory, None)
        self._open.pop(file, None)
        file.place = None

    def _below(self, path: str) -> list[OsFile]:
        """The segments of a directory, or the one of this name."""
        segments = self._segments.get(path)
        if segments is None:
            segments = self._segments.get(path.rpartition("/")[0], {})
            return [file for file in segments if file.place == path]
        return list(segments)

    def _step_down(self, segments: dict[OsFile, None], is_synced: bool) -> None:
        """All but the newest are followed."""
        newest_first = reversed(segments)
        next(newest_first)
        for file in newest_first:
            if file.is_followed:
                break
            file.is_followed = True
            file.is_synced = is_synced
            file.files = self
            self._open[file] = None

    def _opened(self, file: OsFile) -> int:
        if file in self._open:
            self._open.move_to_end(file)
        elif file.fd == SHUT:
            if file.place is None:
                raise OSError(errno.EBADF, os.strerror(errno.EBADF))
            self._shut_some(self._followed_open_max - 1)
            fd = self._open_at(file.place, os.O_RDWR | os.O_CLOEXEC)
            if _identity_of(fd) != file.identity:
                os.close(fd)
                raise OSError(errno.ESTALE, "another file is in its place")
            file.fd = fd
            self._open[file] = None
        return file.fd

    def _open_at(self, path: str, flags: int) -> int:
        try:
            return os.open(self._prefix + path, flags, FILE_MODE)
        except OSError as error:
            if error.errno not in EXHAUSTED or not self._shut_some(0):
                raise
        return os.open(self._prefix + path, flags, FILE_MODE)

    def _make_room(self) -> None:
        while True:
            with self._lock:
                self._shut_some(self._followed_open_max)
                if len(self._open) <= self._followed_open_max:
                    return
                file = next((each for each in self._open if not each.is_synced), None)
                if file is None:
                    return
                file.users += 1
            try:
                os.fdatasync(file.fd)
                file.is_synced = True
            finally:
                self.give_back(file)

    def _shut_some(self, open_max: int) -> bool:
        """What nobody uses, and only what is durable: a write that fails later on, while the file
        is shut, would not be told to the next sync of it."""
        excess = len(self._open) - open_max
        victims: list[OsFile] = []
        for file in self._open if excess > 0 else ():
            if len(victims) == excess:
                break
            if file.is_synced and not file.users and file is not self._lent:
                victims.append(file)
        for file in victims:
            del self._open[file]
            file.identity = _identity_of(file.fd)
            fd, file.fd = file.fd, SHUT
            os.close(fd)
        return bool(victims)


def _directory_of(file: OsFile) -> str:
    return (file.place or "").rpartition("/")[0]


def _identity_of(fd: int) -> tuple[int, int, int]:
    status = os.fstat(fd)
    return status.st_dev, status.st_ino, status.st_size
