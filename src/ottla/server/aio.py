"""Syncs without a thread: Linux kernel AIO's FDSYNC, announced through an eventfd (DESIGN D3a).

A thread that syncs for the loop takes the interpreter lock from it twice a round. Where the kernel
or the file system refuses, the thread remains.
"""

import ctypes
import errno
import os
import platform
from typing import Final

_SYSCALLS: Final = {"x86_64": (206, 208, 209), "aarch64": (0, 4, 2)}  # setup, getevents, submit
_FDSYNC: Final = 3
_FLAG_RESFD: Final = 1
_EVENTS_MAX: Final = 8


class _Iocb(ctypes.Structure):
    _fields_ = (
        ("data", ctypes.c_uint64),
        ("key", ctypes.c_uint32),
        ("rw_flags", ctypes.c_uint32),
        ("opcode", ctypes.c_uint16),
        ("priority", ctypes.c_int16),
        ("fd", ctypes.c_uint32),
        ("buffer", ctypes.c_uint64),
        ("size", ctypes.c_uint64),
        ("offset", ctypes.c_int64),
        ("reserved", ctypes.c_uint64),
        ("flags", ctypes.c_uint32),
        ("event_fd", ctypes.c_uint32),
    )


class _Event(ctypes.Structure):
    _fields_ = (
        ("data", ctypes.c_uint64),
        ("iocb", ctypes.c_uint64),
        ("result", ctypes.c_int64),
        ("result2", ctypes.c_int64),
    )


class Unavailable(Exception):
    """This machine has no kernel AIO, or not enough of it."""


class KernelSync:
    """One sync at a time. `event_fd` becomes readable when it has ended."""

    def __init__(self) -> None:
        numbers = _SYSCALLS.get(platform.machine())
        if platform.system() != "Linux" or numbers is None:
            raise Unavailable(f"{platform.system()} on {platform.machine()}")
        self._setup, self._getevents, self._submit = numbers
        self._syscall = ctypes.CDLL(None, use_errno=True).syscall
        self._syscall.restype = ctypes.c_long
        self._context = ctypes.c_uint64(0)
        if self._syscall(self._setup, _EVENTS_MAX, ctypes.byref(self._context)) != 0:
            raise Unavailable(os.strerror(ctypes.get_errno()))
        self.event_fd = os.eventfd(0, os.EFD_NONBLOCK | os.EFD_CLOEXEC)
        self._iocb = _Iocb(opcode=_FDSYNC, flags=_FLAG_RESFD, event_fd=self.event_fd)
        self._iocbs = (ctypes.POINTER(_Iocb) * 1)(ctypes.pointer(self._iocb))
        self._events = (_Event * _EVENTS_MAX)()

    def start(self, fd: int) -> None:
        """Raises Unavailable where this file cannot be synced so."""
        self._iocb.fd = fd
        if self._syscall(self._submit, self._context, 1, self._iocbs) != 1:
            raise Unavailable(os.strerror(ctypes.get_errno()))

    def take_result(self) -> int | None:
        """0 or an errno; None where the sync has not ended yet."""
        try:
            os.eventfd_read(self.event_fd)
        except BlockingIOError:
            return None
        count = self._syscall(
            self._getevents, self._context, 0, _EVENTS_MAX, self._events, ctypes.c_void_p(None)
        )
        if count < 1:
            return None
        result = self._events[0].result
        return -result if result < 0 else 0


def open_kernel_sync(probe_fd: int) -> KernelSync | None:
    """None where syncs have to go through a thread. Blocking, once at start."""
    try:
        sync = KernelSync()
        sync.start(probe_fd)
    except Unavailable:
        return None
    os.set_blocking(sync.event_fd, True)
    result = sync.take_result()
    os.set_blocking(sync.event_fd, False)
    return sync if result in (0, None) and result != errno.EINVAL else None
