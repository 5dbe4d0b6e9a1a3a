"""What a client can be told, under Kafka's names and with Kafka's defaults (K1 to K13)."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final, Literal

from ottla.records.compress import Codec

ALL: Final = -1

Partitioner = Callable[[str, bytes | None, bytes | None, int], int | None]
"""(topic, key, value, partitions) to a partition; None leaves the choice to the default (F4)."""

ResetPolicy = Literal["earliest", "latest", "error"]


@dataclass(frozen=True, slots=True)
class BackoffSettings:
    """Waits double from `base_ms` to `max_ms`, each spread by a fifth both ways."""

    base_ms: int = 100
    max_ms: int = 1_000


@dataclass(frozen=True, slots=True)
class ProducerSettings:
    acks: int = ALL
    # None: whenever acks=all makes it possible.
    idempotent: bool | None = None
    codec: Codec = Codec.NONE
    compression_level: int | None = None
    linger_ms: int = 5
    # Records before compression, as they lie in a batch.
    batch_bytes: int = 16_384
    request_bytes_max: int = 1_048_576
    buffer_bytes_max: int = 33_554_432
    in_flight_max: int = 5
    request_timeout_ms: int = 30_000
    delivery_timeout_ms: int = 120_000
    # How long a record waits for its topic to be known (max.block.ms).
    topic_timeout_ms: int = 60_000
    backoff: BackoffSettings = field(default_factory=BackoffSettings)
    partitioner: Partitioner | None = None

    def __post_init__(self) -> None:
        if self.acks not in (ALL, 0, 1):
            raise ValueError(f"acks is 0, 1 or all (-1), not {self.acks}")
        if self.idempotent and self.acks != ALL:
            raise ValueError("an idempotent producer needs acks=all")
        if self.idempotent and self.in_flight_max > 5:
            raise ValueError("an idempotent producer has at most 5 requests in flight")

    @property
    def is_idempotent(self) -> bool:
        """As Kafka's: the default gives way to settings that exclude it."""
        if self.idempotent is None:
            return self.acks == ALL and self.in_flight_max <= 5
        return self.idempotent


@dataclass(frozen=True, slots=True)
class FetchSettings:
    fetch_bytes_min: int = 1
    fetch_bytes_max: int = 52_428_800
    partition_fetch_bytes_max: int = 1_048_576
    fetch_wait_ms_max: int = 500
    # Nothing more is asked for while so much waits to be taken.
    prefetch_bytes_max: int = 16_777_216
    request_timeout_ms: int = 30_000
    reset: ResetPolicy = "latest"
    # How long a partition may be unknown to every broker before that is an error.
    topic_timeout_ms: int = 60_000
    backoff: BackoffSettings = field(default_factory=BackoffSettings)


@dataclass(frozen=True, slots=True)
class ClientSettings:
    client_id: str = "ottla"
    connect_timeout_ms: int = 10_000
    request_timeout_ms: int = 30_000
    # How long a call such as the creation of a topic is tried again.
    call_timeout_ms: int = 60_000
    metadata_age_ms_max: int = 300_000
    backoff: BackoffSettings = field(default_factory=BackoffSettings)
    reconnect: BackoffSettings = field(default_factory=lambda: BackoffSettings(50, 1_000))
