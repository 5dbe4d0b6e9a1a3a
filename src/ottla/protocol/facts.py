"""The words in which `schema` states wire facts (DESIGN D7a).

A message is a `msgspec.Struct` with a `WIRE: ClassVar[Message]`. A field's Python type names its
wire type through the aliases below, and its `Wire` says in which versions it is there:

    topic_id: Annotated[uuid, Wire("13+", ignorable=True, about="...")] = NO_UUID
"""

from dataclasses import dataclass
from typing import Annotated, Protocol, TypeAlias

VERSION_MAX = 32767


class RecordsSlice(Protocol):
    """Record bytes that lie elsewhere, such as in a segment file, and are sent from there."""

    def __len__(self) -> int: ...


Buffer: TypeAlias = bytes | bytearray | memoryview
Records: TypeAlias = Buffer | RecordsSlice
Part: TypeAlias = Buffer | RecordsSlice

boolean: TypeAlias = Annotated[bool, "bool"]
int8: TypeAlias = Annotated[int, "int8"]
int16: TypeAlias = Annotated[int, "int16"]
int32: TypeAlias = Annotated[int, "int32"]
int64: TypeAlias = Annotated[int, "int64"]
uint16: TypeAlias = Annotated[int, "uint16"]
uint32: TypeAlias = Annotated[int, "uint32"]
float64: TypeAlias = Annotated[float, "float64"]
string: TypeAlias = Annotated[str, "string"]
uuid: TypeAlias = Annotated[bytes, "uuid"]
blob: TypeAlias = Annotated[bytes, "bytes"]
record_data: TypeAlias = Annotated[Records, "records"]


@dataclass(frozen=True, slots=True)
class Wire:
    """When and how one field is on the wire; version ranges as Kafka writes them."""

    versions: str
    nullable: str = "none"
    tag: int | None = None
    tagged: str = ""
    """Versions in which the field is tagged; with a tag and nothing here, all of `versions`."""
    flexible: str = ""
    """Overrides the message's flexible versions, for the one field that must never be compact."""
    ignorable: bool = False
    """Whether a value is dropped without complaint where the version has no place for it."""
    about: str = ""


@dataclass(frozen=True, slots=True)
class Message:
    """What holds for a message as a whole."""

    kind: str
    """`request`, `response`, `header`, `data`, `metadata`, `coordinator-key` or `-value`."""
    versions: str
    flexible: str
    key: int | None = None
    """The API key, or the type number of a record."""
    listeners: tuple[str, ...] = ()
    latest_unstable: bool = False


def version_range(text: str) -> range:
    """`"0+"`, `"3-5"`, `"7"` and `"none"` as the versions that they name."""
    if text in ("", "none"):
        return range(0)
    if text.endswith("+"):
        return range(int(text[:-1]), VERSION_MAX + 1)
    first, _, last = text.partition("-")
    return range(int(first), int(last or first) + 1)
