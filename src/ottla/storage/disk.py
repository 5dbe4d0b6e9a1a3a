"""The port to one log directory, and the jobs that may block on it.

Paths are relative to the log directory ("orders-0/00000000000000000000.log"). `append` and `read`
touch the page cache only and are called inline by the core. All other calls may block on a device:
they are made by jobs, which the shell runs in a thread and the simulator as events, and at boot.
Every call raises `DiskError` for what the environment does.
"""

from collections.abc import Sequence
from typing import Any, NewType, Protocol

Buffer = bytes | bytearray | memoryview

JobId = NewType("JobId", int)


class DiskFile(Protocol):
    """An open file. It closes when the last reference is released."""

    @property
    def path(self) -> str: ...

    def fileno(self) -> int: ...


class Disk(Protocol):
    # Inline: the page cache only.
    def append(self, file: DiskFile, position: int, parts: Sequence[Buffer]) -> None:
        """Write `parts` one behind the other at `position`: all of them, or DiskError."""

    def read(self, file: DiskFile, position: int, size: int) -> bytes | None:
        """The bytes (fewer at the end of the file), or None where it would block on the device."""

    # Blocking: for jobs and for boot.
    def open(self, path: str, *, create: bool = False) -> DiskFile: ...

    def close(self, file: DiskFile) -> None: ...

    def read_blocking(self, file: DiskFile, position: int, size: int) -> bytes: ...

    def size(self, file: DiskFile) -> int: ...

    def truncate(self, file: DiskFile, size: int) -> None: ...

    def sync(self, file: DiskFile) -> None:
        """fdatasync. A failure is never retried and trusted (D3)."""

    def sync_dir(self, path: str) -> None: ...

    def sync_all(self) -> None:
        """Everything that was written, and every name: one wait for many files' work.

        It may wait for strangers' bytes on the same file system too.
        """

    def rename(self, old: str, new: str) -> None: ...

    def unlink(self, path: str) -> None: ...

    def mkdir(self, path: str) -> None: ...

    def remove_tree(self, path: str) -> None: ...

    def list(self, path: str) -> list[str]:
        """Names in a directory, sorted."""

    def exists(self, path: str) -> bool: ...


class DiskJob(Protocol):
    """Blocking work as data. It reads its own fields and the disk, never the core's state."""

    def run(self, disk: Disk) -> Any: ...
