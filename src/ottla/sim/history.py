"""What the clients of a run asked for and what they were told: the material of the checkers.

A value is an integer that is sent once to one partition; retries of a batch are the same send. Time
is virtual, so "completed before the other was invoked" is a fact and not a guess.
"""

import struct
import zlib
from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import Enum
from typing import NamedTuple

from ottla.errors import ErrorCode

ACKS_ALL = -1


class Outcome(Enum):
    OK = "ok"
    # Definitely not applied.
    FAIL = "fail"
    # Nobody knows: also what was never answered.
    INFO = "info"


_NEVER_APPLIED = dict.fromkeys(
    (
        ErrorCode.CORRUPT_MESSAGE,
        ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
        ErrorCode.MESSAGE_TOO_LARGE,
        ErrorCode.INVALID_TOPIC_EXCEPTION,
        ErrorCode.RECORD_LIST_TOO_LARGE,
        ErrorCode.NOT_ENOUGH_REPLICAS,
        ErrorCode.INVALID_REQUIRED_ACKS,
        ErrorCode.TOPIC_AUTHORIZATION_FAILED,
        ErrorCode.INVALID_TIMESTAMP,
        ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER,
        ErrorCode.INVALID_PRODUCER_EPOCH,
        ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED,
        ErrorCode.INVALID_RECORD,
        ErrorCode.PRODUCER_FENCED,
    )
)


def classify(error: ErrorCode | None, *, earlier_attempt_unknown: bool = False) -> Outcome:
    """The outcome of a send by the answer to its last attempt; None is silence.

    A refusal says nothing about an earlier attempt of the same batch that was never answered.
    """
    if error is ErrorCode.NONE:
        return Outcome.OK
    if error is None or earlier_attempt_unknown or error not in _NEVER_APPLIED:
        return Outcome.INFO
    return Outcome.FAIL


@dataclass(slots=True)
class Send:
    """One batch to one partition."""

    # When idempotent: one producer id and epoch. Else: one client.
    producer: str
    partition: str
    values: tuple[int, ...]
    acks: int
    is_idempotent: bool
    invoked_ns: int
    completed_ns: int | None = None
    outcome: Outcome = Outcome.INFO
    base_offset: int | None = None

    def complete(self, at_ns: int, outcome: Outcome, base_offset: int | None = None) -> None:
        assert self.completed_ns is None, self
        self.completed_ns = at_ns
        self.outcome = outcome
        self.base_offset = base_offset


class Read(NamedTuple):
    """One answered fetch of one partition."""

    reader: str
    partition: str
    invoked_ns: int
    completed_ns: int
    fetch_offset: int
    # (offset, value) from `fetch_offset` on.
    records: tuple[tuple[int, int], ...]
    high_watermark: int
    log_start_offset: int
    # Of the fresh client that reads everything after the last heal.
    is_final: bool = False


class Listed(NamedTuple):
    """One answered ListOffsets for the latest offset."""

    partition: str
    invoked_ns: int
    completed_ns: int
    offset: int


class Damage(NamedTuple):
    """A record that a client got and that is not what anybody sent there."""

    partition: str
    offset: int
    why: str


@dataclass(slots=True)
class History:
    # False where `ottla.durability` is page-cache: a power cut may then take what was acknowledged.
    is_durable: bool = True
    sends: list[Send] = field(default_factory=list)
    reads: list[Read] = field(default_factory=list)
    listed: list[Listed] = field(default_factory=list)
    damages: list[Damage] = field(default_factory=list)
    # When page caches were lost: power cuts, and syncs that failed.
    cache_losses_ns: list[int] = field(default_factory=list)

    def send(
        self,
        at_ns: int,
        producer: str,
        partition: str,
        values: Sequence[int],
        *,
        acks: int = ACKS_ALL,
        is_idempotent: bool = False,
    ) -> Send:
        send = Send(producer, partition, tuple(values), acks, is_idempotent, at_ns)
        self.sends.append(send)
        return send

    @property
    def operations(self) -> int:
        """Those that were answered as asked."""
        answered = sum(send.outcome is Outcome.OK for send in self.sends)
        return answered + len(self.reads) + len(self.listed)

    def is_owed(self, send: Send) -> bool:
        """Acknowledged, and nothing has happened since that may take it."""
        if send.outcome is not Outcome.OK or send.acks == 0:
            return False
        return (self.is_durable and send.acks == ACKS_ALL) or self.is_untouched(send.invoked_ns)

    def is_lasting(self, read: Read | Listed) -> bool:
        """Clients see durable data only, so what they saw stays, but for page-cache mode."""
        return self.is_durable or self.is_untouched(read.invoked_ns)

    def is_untouched(self, since_ns: int) -> bool:
        return not self.cache_losses_ns or max(self.cache_losses_ns) < since_ns


class Payload(NamedTuple):
    """What a record says about itself, so that it can be told from one that strayed or rotted."""

    partition: str
    value: int
    client: int


_HEAD = struct.Struct(">IqIH")


def encode_payload(payload: Payload, size_min: int = 0) -> bytes:
    name = payload.partition.encode()
    body = struct.pack(">qIH", payload.value, payload.client, len(name)) + name
    body = body.ljust(size_min - 4, b"\x5a")
    return struct.pack(">I", zlib.crc32(body)) + body


def decode_payload(data: bytes) -> Payload:
    """ValueError where the bytes are not what `encode_payload` wrote."""
    if len(data) < _HEAD.size:
        raise ValueError(f"{len(data)} bytes are no payload")
    crc, value, client, length = _HEAD.unpack_from(data)
    if zlib.crc32(data[4:]) != crc:
        raise ValueError("the checksum of the payload does not match")
    return Payload(data[_HEAD.size : _HEAD.size + length].decode(), value, client)
