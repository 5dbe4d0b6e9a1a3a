"""A file as a kernel keeps it: what the page cache shows, and what the platter holds.

The model that this implements is written down in `ottla.sim.disk`.
"""

from collections.abc import Callable
from enum import Enum
from random import Random
from typing import NamedTuple

PAGE = 4096
SECTOR = 512

_ZERO_PAGE = bytes(PAGE)


class CrashMode(Enum):
    """What a power cut may leave of the bytes of one file that were not yet synced."""

    LOST = "lost"
    KEPT = "kept"
    PREFIX = "prefix"
    PAGES = "pages"
    TORN = "torn"
    ZERO_TAIL = "zero-tail"


class Seen(NamedTuple):
    """What a file held that no sync had covered, at some moment. Pages are immutable: no copy."""

    size: int
    pages: dict[int, bytes | None]
    truncations: int
    hardened: int


class Inode:
    """A file. Pages hold at most PAGE bytes; what is missing, or beyond a short page, is zeros."""

    __slots__ = (
        "cold",
        "dirty",
        "durable_pages",
        "durable_size",
        "hardened",
        "hardened_at",
        "is_linked",
        "number",
        "opens",
        "pages",
        "size",
        "truncated_to",
        "truncations",
    )

    def __init__(self, number: int) -> None:
        self.number = number
        self.pages: dict[int, bytes] = {}
        self.size = 0
        self.durable_pages: dict[int, bytes] = {}
        self.durable_size = 0
        # When each page last reached the platter, counted in such events: an older sync that ends
        # late must not put back what a newer one replaced.
        self.hardened = 0
        self.hardened_at: dict[int, int] = {}
        # In the order in which they became dirty.
        self.dirty: dict[int, None] = {}
        # Pages that an inline read may not have before a blocking read fetched them.
        self.cold: dict[int, None] = {}
        # The smallest size that a truncation since the last sync cut the file to.
        self.truncated_to: int | None = None
        self.truncations = 0
        self.opens = 0
        self.is_linked = True

    @property
    def is_synced(self) -> bool:
        return not self.dirty and self.truncated_to is None and self.size == self.durable_size

    def write(self, position: int, data: bytes) -> int:
        """Into the page cache; the number of pages that had to be allocated."""
        pages = self.pages
        before = len(pages)
        end = position + len(data)
        index, offset = divmod(position, PAGE)
        taken = 0
        while taken < len(data):
            piece = data[taken : taken + PAGE - offset]
            old = pages.get(index, b"")
            if offset > len(old):
                old = old.ljust(offset, b"\0")
            pages[index] = old[:offset] + piece + old[offset + len(piece) :]
            self.dirty[index] = None
            taken += len(piece)
            index += 1
            offset = 0
            if self.cold:
                self.cold.pop(index - 1, None)
        if data and end > self.size:
            self.size = end
        return len(pages) - before

    def read(self, position: int, size: int) -> bytes:
        return _read(self.pages, self.size, position, size)

    def read_durable(self, position: int, size: int) -> bytes:
        return _read(self.durable_pages, self.durable_size, position, size)

    def truncate(self, size: int) -> None:
        """Cut, or extend by a hole."""
        if size < self.size:
            _cut(self.pages, size)
            for index in [index for index in self.dirty if index * PAGE >= size]:
                del self.dirty[index]
            if size % PAGE:
                self.dirty[size // PAGE] = None
            lowest = size if self.truncated_to is None else min(size, self.truncated_to)
            self.truncated_to = lowest
            self.truncations += 1
        self.size = size

    def see(self) -> Seen:
        pages = {index: self.pages.get(index) for index in self.dirty}
        return Seen(self.size, pages, self.truncations, self.hardened)

    def sync_all(self) -> None:
        self._settle_truncation()
        for index in self.dirty:
            self._harden(index, self.pages.get(index))
        self.dirty.clear()
        self.durable_size = self.size

    def sync_seen(self, seen: Seen | None, rng: Random) -> None:
        """A sync that began when the file looked like `seen` (None: it had nothing to sync).

        What was there then becomes durable. What was written since may have been caught by it,
        wholly, in part or not at all.
        """
        outcome = rng.randrange(3)
        if outcome == 0 or (seen is not None and seen.truncations != self.truncations):
            self.sync_all()
            return
        if seen is None:
            return
        self._settle_truncation()
        caught_all = True
        for index in list(self.dirty):
            current = self.pages.get(index)
            was_there = index in seen.pages and seen.pages[index] is current
            if was_there or (outcome == 1 and rng.random() < 0.5):
                self._harden(index, current)
                del self.dirty[index]
                continue
            caught_all = False
            if index in seen.pages and self.hardened_at.get(index, 0) <= seen.hardened:
                self._harden(index, seen.pages[index])
        if outcome == 1 or caught_all:
            self.durable_size = self.size
        else:
            self.durable_size = max(seen.size, self.durable_size)

    def sync_failed(self, rng: Random) -> None:
        """As Linux does it (Rebello et al., ATC'20): the pages count as clean from now on.

        The cache goes on showing them, the next sync finds nothing to do and succeeds, and the
        platter has whatever part of them it has.
        """
        self._settle_truncation()
        for index in self.dirty:
            if rng.random() < 0.5:
                self._harden(index, self.pages.get(index))
        self.dirty.clear()

    def write_back(self, rng: Random) -> None:
        """The kernel writes some dirty pages of its own accord; the size may follow later."""
        if self.truncated_to is not None:
            return
        for index in [index for index in self.dirty if rng.random() < 0.5]:
            self._harden(index, self.pages.get(index))
            del self.dirty[index]

    def evict(self) -> None:
        """Drop clean pages: what a failed sync lost now shows."""
        if self.truncated_to is not None:
            return
        dirty = self.dirty
        kept = {index: page for index, page in self.pages.items() if index in dirty}
        from_platter = self.durable_pages.items()
        self.pages = {index: page for index, page in from_platter if index not in dirty} | kept
        _cut(self.pages, self.size)
        self.make_cold(0, self.size)

    def make_cold(self, position: int, size: int) -> None:
        for index in range(position // PAGE, -(-(position + size) // PAGE)):
            if index not in self.dirty:
                self.cold[index] = None

    def make_warm(self, position: int, size: int) -> None:
        for index in range(position // PAGE, -(-(position + size) // PAGE)):
            self.cold.pop(index, None)

    def is_cold(self, position: int, size: int) -> bool:
        cold = self.cold
        first, end = position // PAGE, -(-(position + size) // PAGE)
        return any(index in cold for index in range(first, end))

    def rot(self, position: int, change: Callable[[bytes], bytes]) -> None:
        """Change one page where it lies, and its copy in the cache unless that is newer."""
        index = position // PAGE
        images = [(self.durable_pages, self.durable_size)]
        if index not in self.dirty:
            images.append((self.pages, self.size))
        for pages, size in images:
            page = pages.get(index, b"")
            length = min(PAGE, max(len(page), size - index * PAGE))
            pages[index] = change(page.ljust(PAGE, b"\0"))[:length]

    def lose_power(self, mode: CrashMode, rng: Random) -> None:
        """Choose one of the images that the platter may hold, and boot with it."""
        if not self.is_synced:
            is_cut_undone = self.truncated_to is not None and rng.random() < 0.5
            if not is_cut_undone:
                self._settle_truncation()
                self._survive(mode, rng)
            # An undone cut leaves the old file: what came after it was in a later transaction.
        _cut(self.durable_pages, self.durable_size)
        self.pages = dict(self.durable_pages)
        self.size = self.durable_size
        self.truncated_to = None
        self.dirty.clear()
        self.cold.clear()
        self.opens = 0

    def _survive(self, mode: CrashMode, rng: Random) -> None:
        dirty = list(self.dirty)
        if mode is CrashMode.LOST:
            return
        if mode is CrashMode.KEPT:
            for index in dirty:
                _put(self.durable_pages, index, self.pages.get(index))
            self.durable_size = self.size
            return
        if mode is CrashMode.ZERO_TAIL:
            self.durable_size = _between(self.durable_size, self.size, rng)
            return
        if mode is CrashMode.PREFIX:
            self._survive_prefix(dirty, rng)
            return
        sectors_differ = mode is CrashMode.TORN
        for index in dirty:
            if sectors_differ:
                self._tear(index, lambda _: rng.random() < 0.5)
            elif rng.random() < 0.5:
                _put(self.durable_pages, index, self.pages.get(index))
        self.durable_size = _between(self.durable_size, self.size, rng)

    def _survive_prefix(self, dirty: list[int], rng: Random) -> None:
        """The first writes came through; the last of them up to some sector, or some byte."""
        whole = rng.randrange(len(dirty) + 1)
        for index in dirty[:whole]:
            _put(self.durable_pages, index, self.pages.get(index))
        end = max((index + 1 for index in dirty[:whole]), default=0) * PAGE
        if whole < len(dirty):
            torn = dirty[whole]
            sectors = rng.randrange(PAGE // SECTOR)
            self._tear(torn, lambda sector: sector < sectors)
            end = max(end, torn * PAGE + sectors * SECTOR)
        end = max(self.durable_size, min(end, self.size))
        self.durable_size = end if rng.random() < 0.5 else rng.randint(self.durable_size, end)

    def _tear(self, index: int, keeps: Callable[[int], bool]) -> None:
        old = self.durable_pages.get(index, b"").ljust(PAGE, b"\0")
        new = self.pages.get(index, b"").ljust(PAGE, b"\0")
        self.durable_pages[index] = b"".join(
            (new if keeps(at // SECTOR) else old)[at : at + SECTOR] for at in range(0, PAGE, SECTOR)
        )

    def _harden(self, index: int, page: bytes | None) -> None:
        self.hardened += 1
        self.hardened_at[index] = self.hardened
        _put(self.durable_pages, index, page)

    def _settle_truncation(self) -> None:
        if self.truncated_to is not None:
            self.durable_size = min(self.durable_size, self.truncated_to)
            _cut(self.durable_pages, self.truncated_to)
            self.truncated_to = None


def _read(pages: dict[int, bytes], file_size: int, position: int, size: int) -> bytes:
    end = min(position + size, file_size)
    if position >= end:
        return b""
    first, last = position // PAGE, (end - 1) // PAGE
    start = first * PAGE
    if first == last:
        page = pages.get(first, b"")[position - start : end - start]
        return page.ljust(end - position, b"\0")
    found = [pages.get(index, _ZERO_PAGE) for index in range(first, last + 1)]
    whole = b"".join([page if len(page) == PAGE else page.ljust(PAGE, b"\0") for page in found])
    return whole[position - start : end - start]


def _cut(pages: dict[int, bytes], size: int) -> None:
    """Nothing at or behind `size` may show again when the file grows."""
    for index in [index for index in pages if (index + 1) * PAGE > size]:
        if index * PAGE >= size:
            del pages[index]
        else:
            pages[index] = pages[index][: size - index * PAGE]


def _put(pages: dict[int, bytes], index: int, page: bytes | None) -> None:
    if page is None:
        pages.pop(index, None)
    else:
        pages[index] = page


def _between(low: int, high: int, rng: Random) -> int:
    """Often an end, else anything between."""
    draw = rng.randrange(4)
    if draw == 0:
        return low
    return high if draw < 3 else rng.randint(low, high)
