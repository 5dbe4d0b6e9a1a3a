"""Lines of generated Cython, with the locals and the structs that they use."""

import msgspec

from ottla.protocol.shape import field_facts
from ottla.protocol.source import Source


def shape_name(cls: type[msgspec.Struct]) -> str:
    """The global that knows a struct's slots; two modules may each have a struct of one name."""
    return f"{cls.__module__.rpartition('.')[2]}_{cls.__name__}"


class CLines(Source):
    """Grows one function; every local that is not an object is declared."""

    def __init__(self) -> None:
        super().__init__({})
        self._locals: list[str] = []

    def local(self, kind: str, wanted: str) -> str:
        name = self.name(wanted)
        self._locals.append(f"    cdef {kind} {name}")
        return name

    def slot(self, cls: type[msgspec.Struct], field: str) -> str:
        names = [each.name for each in field_facts(cls)]
        return f"{shape_name(cls)}.at[{names.index(field)}]"

    def text(self) -> str:
        return "\n".join([*self._locals, *self.lines]) + "\n"
