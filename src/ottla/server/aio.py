"""Durable writes without a thread: Linux kernel AIO past the page cache (DESIGN D3a, ADR 0002).

A thread that syncs for the loop takes the interpreter lock from it twice a round, and a sync of
the page cache is work for kernel threads on the loop's own core. A direct write with DSYNC is one
call that hands the bytes to the device, and an eventfd that says when they are durable. Where the
kernel or the file system refuses, the thread remains.
"""

import ctypes
import errno
import mmap
import os
import platform
from typing import Final

# io_setup, io_destroy, io_getevents, io_submit
_SYSCALLS: Final = {"x86_64": (206, 207, 208, 209), "aarch64": (0, 1, 4, 2)}
_PWRITE: Final = 1
_RWF_DSYNC: Final = 2
_FLAG_RESFD: Final = 1
_EVENTS_MAX: Final = 8
# A round of the journal with its heads; a larger one goes through the thread.
DIRECT_BYTES_MAX: Final = 128 << 10
# What a file system says that cannot write so.
REFUSALS: Final = (errno.EINVAL, errno.EOPNOTSUPP, errno.ENOSYS)


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


class DirectWriter:
    """One write at a time. `event_fd` becomes readable when it is durable, or has failed.

    It owns `fd`, which was opened with O_DIRECT.
    """

    def __init__(self, fd: int) -> None:
        self._fd = fd
        self.event_fd = -1
        self._size = 0
        self._context = ctypes.c_uint64(0)
        numbers = _SYSCALLS.get(platform.machine())
        if platform.system() != "Linux" or numbers is None:
            os.close(fd)
            raise Unavailable(f"{platform.system()} on {platform.machine()}")
        setup, self._destroy, self._getevents, self._submit = numbers
        self._syscall = ctypes.CDLL(None, use_errno=True).syscall
        self._syscall.restype = ctypes.c_long
        if self._syscall(setup, _EVENTS_MAX, ctypes.byref(self._context)) != 0:
            os.close(fd)
            raise Unavailable(os.strerror(ctypes.get_errno()))
        self.event_fd = os.eventfd(0, os.EFD_NONBLOCK | os.EFD_CLOEXEC)
        # Anonymous pages: aligned as every device wants it.
        self._memory = mmap.mmap(-1, DIRECT_BYTES_MAX)
        self._iocb = _Iocb(
            opcode=_PWRITE,
            rw_flags=_RWF_DSYNC,
            fd=fd,
            buffer=ctypes.addressof(ctypes.c_char.from_buffer(self._memory)),
            flags=_FLAG_RESFD,
            event_fd=self.event_fd,
        )
        self._iocbs = (ctypes.POINTER(_Iocb) * 1)(ctypes.pointer(self._iocb))
        self._events = (_Event * _EVENTS_MAX)()

    def start(self, position: int, data: bytes) -> None:
        """Whole blocks, at most DIRECT_BYTES_MAX. Unavailable where nothing was begun."""
        size = self._size = len(data)
        self._memory[:size] = data
        iocb = self._iocb
        iocb.offset = position
        iocb.size = size
        if self._syscall(self._submit, self._context, 1, self._iocbs) != 1:
            raise Unavailable(os.strerror(ctypes.get_errno()))

    def take_result(self) -> int | None:
        """0 or an errno; None where the write has not ended yet."""
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
        if result == self._size:
            return 0
        return -result if result < 0 else errno.EIO

    def close(self) -> None:
        """Waits for a write under way."""
        self._syscall(self._destroy, self._context)
        os.close(self.event_fd)
        os.close(self._fd)
