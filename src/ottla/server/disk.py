"""The `Disk` port over a real directory."""

import errno
import fcntl
import os
import shutil
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import cast

from ottla.errors import DiskError
from ottla.server.files import FILE_MODE, SHUT, Files, OsFile
from ottla.server.platform import descriptors_of_followed_segments, sync_file_system
from ottla.storage.disk import Buffer, DiskFile

# Not everywhere; the kernel's asynchronous writes are not there either then.
O_DIRECT = getattr(os, "O_DIRECT", 0)

# A page that is in the page cache speaks for so many bytes behind it: the kernel reads ahead, and
# drops what nobody reads in long runs. A look costs a microsecond.
PROBE_BYTES = 256 << 10
DIRECTORY_MODE = 0o700


@contextmanager
def _disk_errors(what: str) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise DiskError(error.errno or errno.EIO, f"{what}: {error.strerror}") from error


class OsDisk:
    """One log directory. Sockets and other files of the process are none of its business."""

    def __init__(self, root: Path, followed_open_max: int | None = None) -> None:
        self.root = root
        self._prefix = f"{root}/"
        if followed_open_max is None:
            followed_open_max = descriptors_of_followed_segments()
        self._files = Files(str(root), followed_open_max)
        with _disk_errors(str(root)):
            root.mkdir(mode=DIRECTORY_MODE, parents=True, exist_ok=True)
            root.chmod(DIRECTORY_MODE)
        self._lock_fd = -1
        self._probe_buffers = [bytearray(1)]
        self._can_refuse_to_block = self._probe_nowait()

    def lock(self) -> None:
        """Keep a second process out, as Kafka does with the same file."""
        path = self.root / ".lock"
        with _disk_errors(str(path)):
            self._lock_fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, FILE_MODE)
            fcntl.lockf(self._lock_fd, fcntl.LOCK_EX | fcntl.LOCK_NB)

    def _probe_nowait(self) -> bool:
        """tmpfs and some others refuse RWF_NOWAIT: they are read plainly."""
        path = self.root / ".ottla-probe"
        fd = os.open(path, os.O_RDWR | os.O_CREAT, FILE_MODE)
        try:
            os.pwrite(fd, b"x", 0)
            os.preadv(fd, [bytearray(1)], 0, os.RWF_NOWAIT)
        except BlockingIOError:
            return True
        except OSError:
            return False
        finally:
            os.close(fd)
            path.unlink()
        return True

    # Inline

    def append(self, file: DiskFile, position: int, parts: Sequence[Buffer]) -> None:
        total = 0
        for part in parts:
            total += len(part)
        try:
            fd = file.fileno()
            written = os.pwritev(fd, parts, position)
            while written < total:
                more = os.pwrite(fd, b"".join(parts)[written:], position + written)
                if more == 0:
                    raise OSError(errno.ENOSPC, "no space left on device")
                written += more
        except OSError as error:
            raise DiskError(
                error.errno or errno.EIO, f"write {file.path}: {error.strerror}"
            ) from error

    def read(self, file: DiskFile, position: int, size: int) -> bytes | None:
        if not self._can_refuse_to_block:
            return self.read_blocking(file, position, size)
        if cast("OsFile", file).fd == SHUT:
            # Opening may block too: the job that warms the range opens it.
            return None
        buffer = bytearray(size)
        try:
            count = os.preadv(file.fileno(), [buffer], position, os.RWF_NOWAIT)
        except BlockingIOError:
            return None
        except OSError as error:
            raise DiskError(
                error.errno or errno.EIO, f"read {file.path}: {error.strerror}"
            ) from error
        if count == size:
            return bytes(buffer)
        # Short: the end of the file, or the first page that is not in the cache.
        if position + count < os.fstat(file.fileno()).st_size:
            return None
        return bytes(buffer[:count])

    def is_cached(self, file: DiskFile, position: int, size: int) -> bool:
        """Whether a range can be sent without waiting for the device, by a look here and there.

        A short one was found by reading its first batch's header, or has just been written.
        """
        if cast("OsFile", file).fd == SHUT:
            return False
        if size <= PROBE_BYTES or not self._can_refuse_to_block:
            return True
        for at in range(position, position + size, PROBE_BYTES):
            try:
                os.preadv(file.fileno(), self._probe_buffers, at, os.RWF_NOWAIT)
            except BlockingIOError:
                return False
            except OSError:
                # Whoever sends it will hear of it.
                return True
        return True

    # Blocking

    def _at(self, path: str) -> str:
        """Thousands of these at a start: `Path` would take as long as the files do."""
        return f"{self._prefix}{path}"

    def open(self, path: str, *, create: bool = False) -> OsFile:
        flags = os.O_RDWR | os.O_CLOEXEC | (os.O_CREAT if create else 0)
        with _disk_errors(f"open {path}"):
            return self._files.open(path, flags)

    def open_direct(self, file: DiskFile) -> int:
        """A second descriptor of it, for writes in whole blocks that pass the page cache by."""
        with _disk_errors(f"open {file.path}"):
            return os.open(self._at(file.path), os.O_RDWR | os.O_CLOEXEC | O_DIRECT)

    def close(self, file: DiskFile) -> None:
        with _disk_errors(f"close {file.path}"):
            self._files.close(cast("OsFile", file))

    @contextmanager
    def _descriptor(self, file: DiskFile, what: str) -> Iterator[int]:
        with _disk_errors(f"{what} {file.path}"):
            fd = self._files.take(cast("OsFile", file))
            try:
                yield fd
            finally:
                self._files.give_back(cast("OsFile", file))

    def read_blocking(self, file: DiskFile, position: int, size: int) -> bytes:
        with self._descriptor(file, "read") as fd:
            return os.pread(fd, size, position)

    def size(self, file: DiskFile) -> int:
        with self._descriptor(file, "stat") as fd:
            return os.fstat(fd).st_size

    def truncate(self, file: DiskFile, size: int) -> None:
        with self._descriptor(file, "truncate") as fd:
            os.ftruncate(fd, size)

    def sync(self, file: DiskFile) -> None:
        with _disk_errors(f"fdatasync {file.path}"):
            self._files.sync(cast("OsFile", file))

    def sync_dir(self, path: str) -> None:
        with _disk_errors(f"fsync directory {path or '.'}"):
            fd = os.open(self._at(path), os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
            try:
                os.fsync(fd)
            finally:
                os.close(fd)

    def sync_all(self) -> None:
        with _disk_errors("sync everything"):
            fd = os.open(self.root, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
            try:
                sync_file_system(fd)
            finally:
                os.close(fd)

    def rename(self, old: str, new: str) -> None:
        with _disk_errors(f"rename {old}"):
            self._files.rename(old, new)

    def unlink(self, path: str) -> None:
        with _disk_errors(f"unlink {path}"):
            self._files.keep_open(path)
            os.unlink(self._at(path))

    def mkdir(self, path: str) -> None:
        with _disk_errors(f"mkdir {path}"):
            os.mkdir(self._at(path), DIRECTORY_MODE)

    def remove_tree(self, path: str) -> None:
        with _disk_errors(f"remove {path}"):
            self._files.keep_open(path)
            shutil.rmtree(self._at(path))

    def list(self, path: str) -> list[str]:
        with _disk_errors(f"list {path or '.'}"):
            return sorted(os.listdir(self._at(path)))

    def exists(self, path: str) -> bool:
        with _disk_errors(f"stat {path}"):
            return os.path.exists(self._at(path))
