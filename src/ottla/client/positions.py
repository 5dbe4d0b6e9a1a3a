"""Where the reading of a partition stands: where it begins, how far it is, where it ends."""

from typing import Final, Literal, NamedTuple

from ottla.client.requests import Backoff
from ottla.client.settings import ResetPolicy
from ottla.errors import ErrorCode
from ottla.names import TopicPartition

EARLIEST_TIMESTAMP: Final = -2
LATEST_TIMESTAMP: Final = -1
NO_EPOCH: Final = -1


class AtTimestamp(NamedTuple):
    """The first record that is this old or younger; the end of the partition if there is none."""

    timestamp_ms: int


Start = int | Literal["earliest", "latest"] | AtTimestamp
"""An offset, an end of the partition, or a time."""

End = int | Literal["latest"] | None
"""Before an offset, before what is the end when reading begins, or never."""

RESET_TIMESTAMPS: dict[str, int] = {"earliest": EARLIEST_TIMESTAMP, "latest": LATEST_TIMESTAMP}


class FetchError(NamedTuple):
    """Why a partition is read no further, and from which offset on it is not."""

    where: TopicPartition
    offset: int | None
    code: ErrorCode
    why: str


class Position:
    __slots__ = (
        "_is_end_wanted",
        "_start_timestamp",
        "consumed",
        "end",
        "error",
        "failures",
        "fetch_offset",
        "generation",
        "high_watermark",
        "last_epoch",
        "looked_up",
        "retry_at_ms",
        "trouble_since_ms",
        "where",
    )

    def __init__(self, where: TopicPartition, start: Start, end: End) -> None:
        self.where = where
        # What the next fetch asks for; None until it was looked up.
        self.fetch_offset: int | None = None
        # What was handed out, up to here.
        self.consumed: int | None = None
        # Of the last batch that was fetched: the leader tells by it whether its log was cut.
        self.last_epoch = NO_EPOCH
        self.high_watermark = -1
        self.end: int | None = None
        self.error: FetchError | None = None
        # Data that was asked for under an earlier one is not wanted any more.
        self.generation = 0
        self.failures = 0
        self.retry_at_ms = 0
        self.trouble_since_ms: int | None = None
        # A lookup of it is on its way.
        self.looked_up = False
        self._start_timestamp = EARLIEST_TIMESTAMP
        self._is_end_wanted = end == "latest"
        if isinstance(end, int):
            self.end = end
        self.seek(start)

    def seek(self, start: Start) -> None:
        self.generation += 1
        self.error = None
        self.trouble_since_ms = None
        self.last_epoch = NO_EPOCH
        self.fetch_offset = self.consumed = None
        if isinstance(start, AtTimestamp):
            self._start_timestamp = start.timestamp_ms
        elif isinstance(start, int):
            self.fetch_offset = self.consumed = start
        else:
            self._start_timestamp = RESET_TIMESTAMPS[start]

    def wanted_timestamp(self) -> int | None:
        """What ListOffsets is to be asked; None if nothing is."""
        if self.error is not None:
            return None
        if self.fetch_offset is None:
            return self._start_timestamp
        return LATEST_TIMESTAMP if self._is_end_wanted else None

    def on_looked_up(self, offset: int) -> None:
        if self.fetch_offset is not None:
            self.end = offset
            self._is_end_wanted = False
        elif offset < 0:
            # No record is that young.
            self._start_timestamp = LATEST_TIMESTAMP
        else:
            # The epoch in the answer is the log's: of it no record may have been written.
            self.fetch_offset = self.consumed = offset

    @property
    def is_finished(self) -> bool:
        """Everything before the end was handed out."""
        return self._is_over(self.consumed)

    @property
    def is_fetchable(self) -> bool:
        if self.error is not None or self.wanted_timestamp() is not None:
            return False
        return not self._is_over(self.fetch_offset)

    def _is_over(self, offset: int | None) -> bool:
        if self._is_end_wanted or self.end is None or offset is None:
            return False
        return offset >= self.end

    def on_out_of_range(self, reset: ResetPolicy, why: str) -> None:
        """Where to go on is for the user to say, in advance or now."""
        if reset == "error":
            self.fail(ErrorCode.OFFSET_OUT_OF_RANGE, why)
        else:
            self.seek(reset)

    def on_truncated(self, epoch: int, end_offset: int, reset: ResetPolicy) -> None:
        """The log was cut below what we read (KIP-320): go on where it still is what it was."""
        assert self.fetch_offset is not None
        assert self.consumed is not None
        if reset == "error":
            why = f"the log was cut at {end_offset}, records from there on were other ones"
            self.fail(ErrorCode.OFFSET_OUT_OF_RANGE, why)
            return
        self.generation += 1
        self.fetch_offset = self.consumed = min(self.consumed, end_offset)
        self.last_epoch = epoch

    def fail(self, code: ErrorCode, why: str) -> None:
        self.generation += 1
        self.error = FetchError(self.where, self.consumed, code, why)

    def on_success(self) -> None:
        self.failures = 0
        self.trouble_since_ms = None

    def on_trouble(self, mono_ms: int, backoff: Backoff) -> None:
        self.failures += 1
        self.retry_at_ms = mono_ms + backoff.delay_ms(self.failures)
        if self.trouble_since_ms is None:
            self.trouble_since_ms = mono_ms
