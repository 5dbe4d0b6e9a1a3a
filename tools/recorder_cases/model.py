"""What a recorded case is made of: data only, so that a table of cases reads as a table.

Names that begin with `@` are topics of the case: the recorder gives them names of their own for
each run and writes them back as `@name`, so a table can be replayed on a broker that is not empty.
"""

from dataclasses import dataclass, field
from enum import Enum
from typing import Any


@dataclass(frozen=True, slots=True)
class TopicId:
    """Stands for the id that the broker gave this topic."""

    topic: str


@dataclass(frozen=True, slots=True)
class Saved:
    """Stands for a value that an earlier answer of this case gave."""

    name: str
    plus: int = 0


@dataclass(frozen=True, slots=True)
class Now:
    """Milliseconds from an hour before the run: a fixed time would fall to retention."""

    plus_ms: int = 0


class Reply(Enum):
    WAIT = "an answer or a close is due"
    PROBE = "none is due: what comes next on this connection answers a probe sent after it"
    LATER = "do not wait; a Receive step does"


@dataclass(frozen=True, slots=True)
class Topic:
    name: str
    partitions: int = 1
    configs: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Patch:
    """Overwrites bytes of an encoded body; a negative place counts from its end."""

    at: int
    data: bytes

    def apply(self, body: bytes) -> bytes:
        start = self.at if self.at >= 0 else len(body) + self.at
        return body[:start] + self.data + body[start + len(self.data) :]


@dataclass(frozen=True, slots=True)
class Call:
    """One request; a `bytes` body goes out as it stands after a proper header."""

    api: str
    version: int
    body: dict[str, Any] | bytes
    patches: tuple[Patch, ...] = ()
    connection: str = "main"
    reply: Reply = Reply.WAIT
    client_id: str | None = "recorder"
    save: dict[str, str] = field(default_factory=dict)
    """Name under which to keep a value → its place in the answer, as `responses.0.topic_id`."""
    leave_out: tuple[str, ...] = ()
    """Fields of the answer that say nothing stable."""
    only_ours: bool = False
    """The answer tells of every topic that there is; keep the case's own."""
    answer_version: int | None = None
    """ApiVersions answers a version that it does not know in the form of version 0."""


@dataclass(frozen=True, slots=True)
class Raw:
    """Bytes on the wire as they stand, length and all; what comes back is told but not decoded."""

    stream: bytes
    connection: str = "main"
    half_close: bool = False


@dataclass(frozen=True, slots=True)
class Receive:
    """Takes the answer that a Call with Reply.LATER left."""

    connection: str


@dataclass(frozen=True, slots=True)
class Settle:
    """Waits for news of the topic: what a controller answers comes before brokers know of it."""

    topic: str
    gone: bool = False


Step = Call | Raw | Receive | Settle


@dataclass(frozen=True, slots=True)
class Case:
    name: str
    steps: tuple[Step, ...]
    topics: tuple[Topic, ...] = ()


def one_topic(name: str, *steps: Step, partitions: int = 1, **configs: str) -> Case:
    """A case over one topic `@t`; configs are given with underscores for dots."""
    return over_topic(name, steps, configs, partitions)


def over_topic(
    name: str, steps: tuple[Step, ...], configs: dict[str, str], partitions: int = 1
) -> Case:
    dotted = {key.replace("_", "."): value for key, value in configs.items()}
    return Case(name, steps, (Topic("@t", partitions, dotted),))
