"""Lines of generated Python, and the names that they use."""

import struct
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from ottla.protocol import primitives

FEW = 8


class Source:
    """Grows one function: its text, and the globals that the text refers to."""

    def __init__(self, namespace: dict[str, Any]) -> None:
        self.lines: list[str] = []
        self.names = {**namespace, **vars(primitives)}
        self._depth = 1
        self._taken: dict[str, int] = {}

    def line(self, text: str) -> None:
        self.lines.append("    " * self._depth + text)

    @contextmanager
    def block(self, opening: str) -> Iterator[None]:
        self.line(opening)
        self._depth += 1
        yield
        self._depth -= 1

    def name(self, wanted: str) -> str:
        """A local that nothing else uses: structs are inlined, so field names repeat."""
        count = self._taken.get(wanted, 0)
        self._taken[wanted] = count + 1
        return f"{wanted}_{count}"

    def shared(self, value: Any, wanted: str) -> str:
        """A global for `value`; two classes of one name get two names."""
        name = wanted
        while self.names.setdefault(name, value) is not value:
            name += "_"
        return name

    def packing(self, formats: str, method: str) -> str:
        """A global for one bound method of a big-endian `struct.Struct`."""
        name = f"{method}_{formats.replace('?', 'o')}"
        if name not in self.names:
            self.names[name] = getattr(struct.Struct(f">{formats}"), method)
        return name

    def packing_many(self, formats: str, method: str) -> str:
        """A global for the same methods by count: a short list, as of replicas, needs no format."""
        name = f"{method}_many_{formats.replace('?', 'o')}"
        if name not in self.names:
            counts = range(FEW)
            self.names[name] = [getattr(struct.Struct(f">{n}{formats}"), method) for n in counts]
        return name

    def text(self) -> str:
        return "\n".join(self.lines) + "\n"
