"""What a node asks of its shell. The shell carries these out in order (DESIGN D2)."""

from typing import Any, NamedTuple

import msgspec

from ottla.errors import DiskError
from ottla.names import ConnId
from ottla.protocol.facts import Part
from ottla.storage.disk import DiskJob, JobId
from ottla.storage.journal import Round
from ottla.storage.log import LogTicket


class Send(msgspec.Struct, gc=False):
    """Bytes and file slices for one connection, a whole frame."""

    conn: ConnId
    parts: list[Part]


class Close(NamedTuple):
    conn: ConnId
    why: str


class Mute(NamedTuple):
    """Deliver no further frame of this connection until it is unmuted."""

    conn: ConnId


class Unmute(NamedTuple):
    conn: ConnId


class DiskOp(NamedTuple):
    """Run the job; its result is the input `disk_done`."""

    id: JobId
    job: DiskJob


DiskResult = Any | DiskError


class FlushTicket(msgspec.Struct, eq=False):
    """Make the page cache durable; the result is the input `flushed`. One is in flight at a time.

    With `journal` the round's bytes are in there and that file alone is synced; without, every
    log's own files are.
    """

    logs: list[LogTicket]
    journal: Round | None


class Report(NamedTuple):
    """A line for the operator."""

    level: str
    text: str


Effect = Send | Close | Mute | Unmute | DiskOp | FlushTicket | Report
