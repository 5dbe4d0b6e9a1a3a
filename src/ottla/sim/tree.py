"""The names of a file system: what processes see, and what the platter holds.

The model that this implements is written down in `ottla.sim.disk`.
"""

from collections.abc import Callable, Iterator
from random import Random
from typing import NamedTuple, Union

from ottla.sim.inodes import Inode

Node = Union[Inode, "Directory"]


class Directory:
    __slots__ = ("durable_entries", "entries", "number")

    def __init__(self, number: int) -> None:
        self.number = number
        self.entries: dict[str, Node] = {}
        self.durable_entries: dict[str, Node] = {}


class Edit(NamedTuple):
    """One name of one directory: what it stands for from now on, or None."""

    directory: Directory
    name: str
    node: Node | None


class Change(NamedTuple):
    """A create, unlink or rename: its edits survive together or not at all."""

    stamp: int
    author: object
    edits: tuple[Edit, ...]

    def touches(self, directory: Directory) -> bool:
        return any(edit.directory is directory for edit in self.edits)


class Tree:
    __slots__ = ("_numbers", "_pending", "root", "stamp")

    def __init__(self) -> None:
        self.root = Directory(0)
        # Counts changes: the last one so far.
        self.stamp = 0
        self._numbers = 0
        # Changes that no sync of their directory has made durable, oldest first.
        self._pending: list[Change] = []

    def next_number(self) -> int:
        self._numbers += 1
        return self._numbers

    def find(self, path: str) -> Node | None:
        node: Node | None = self.root
        for name in _names(path):
            if not isinstance(node, Directory):
                return None
            node = node.entries.get(name)
        return node

    def find_durable(self, path: str) -> Node | None:
        node: Node | None = self.root
        for name in _names(path):
            node = node.durable_entries.get(name) if isinstance(node, Directory) else None
        return node

    def files(self) -> Iterator[tuple[str, Inode]]:
        return _files_below("", self.root)

    def change(self, author: object, *edits: Edit) -> None:
        self.stamp += 1
        self._pending.append(Change(self.stamp, author, edits))
        for directory, name, node in edits:
            _set(directory.entries, name, node)

    def settle(self, is_wanted: Callable[[Change], bool]) -> None:
        """Make some changes durable, and with each the earlier ones of the same names."""
        chosen: list[Change] = []
        rest: list[Change] = []
        names: dict[tuple[int, str], None] = {}
        for change in reversed(self._pending):
            keys = [(edit.directory.number, edit.name) for edit in change.edits]
            if is_wanted(change) or any(key in names for key in keys):
                names.update(dict.fromkeys(keys))
                chosen.append(change)
            else:
                rest.append(change)
        for change in reversed(chosen):
            for directory, name, node in change.edits:
                _set(directory.durable_entries, name, node)
        rest.reverse()
        self._pending = rest

    def lose_power(self, rng: Random) -> None:
        """Either a journal of metadata, which keeps a prefix, or any of them on its own."""
        if rng.random() < 0.5:
            kept = rng.randint(0, len(self._pending))
            last = self._pending[kept - 1].stamp if kept else 0
            self.settle(lambda change: change.stamp <= last)
        else:
            self.settle(lambda _: rng.random() < 0.5)
        self._pending.clear()
        _forget_cached(self.root)


def _names(path: str) -> list[str]:
    return [name for name in path.split("/") if name not in ("", ".")]


def _set(entries: dict[str, Node], name: str, node: Node | None) -> None:
    if node is None:
        entries.pop(name, None)
    else:
        entries[name] = node


def _files_below(path: str, directory: Directory) -> Iterator[tuple[str, Inode]]:
    for name, node in directory.entries.items():
        below = f"{path}/{name}" if path else name
        if isinstance(node, Directory):
            yield from _files_below(below, node)
        else:
            yield below, node


def _forget_cached(directory: Directory) -> None:
    directory.entries = dict(directory.durable_entries)
    for node in directory.entries.values():
        if isinstance(node, Directory):
            _forget_cached(node)
