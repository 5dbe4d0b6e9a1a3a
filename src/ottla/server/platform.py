"""What differs between operating systems, in one place."""

import ctypes
import gc
import os
import resource
import sys

from ottla.limits import DESCRIPTORS_KEPT_FOR_CONNECTIONS, FOLLOWED_SEGMENTS_OPEN_MAX


class Unsupported(Exception):
    """This machine cannot run a broker; the message says what to do."""


def check() -> None:
    if sys.platform == "win32":
        raise Unsupported("Windows is not supported; run Ottla under WSL or on Linux")
    if not __debug__:
        raise Unsupported(
            "python -O removes the checks that keep a broken broker from going on; start without -O"
        )


def raise_descriptor_limit() -> int:
    """As many open files as this process may have: each partition takes one, each client one."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft < hard:
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
        soft = hard
    return max(0, soft - DESCRIPTORS_KEPT_FOR_CONNECTIONS)


def descriptors_of_followed_segments() -> int:
    """A quarter of what there is: the others are for segments that are written, and for clients."""
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return max(1, min(FOLLOWED_SEGMENTS_OPEN_MAX, soft // 4))


def sync_file_system(fd: int) -> None:
    """What Python has no name for: `os.sync` waits for all disks, and tells of no error."""
    if sys.platform != "linux":
        os.sync()
        return
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.syncfs(fd) != 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))


def tame_garbage_collector() -> None:
    """Objects of the core form no cycles that outlive a request, so nothing is left to find.

    What start-up made is set aside; the young generation is collected by the shell, between turns.
    """
    gc.collect()
    gc.freeze()
    gc.disable()
