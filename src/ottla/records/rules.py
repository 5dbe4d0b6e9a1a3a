"""What a produced batch is held against, what may be found in it, and what it is afterwards."""

from enum import IntEnum
from typing import NamedTuple

from ottla.records.batch import Buffer, stamped_parts

# Kafka names every bad record in its answer. A batch may hold millions: the first ones will do.
RECORD_ERRORS_MAX = 100
# A decompressed batch may be this large whatever the topic's limit, and four times that limit.
DECOMPRESSED_BYTES_MIN = 16 * 1024 * 1024
DECOMPRESSED_GROWTH_MAX = 4


class ProduceRules(NamedTuple):
    """A topic's configuration, as far as it decides about a produced batch."""

    batch_bytes_max: int
    compacted: bool = False
    log_append_time: bool = False
    timestamp_before_max_ms: int = 2**63 - 1
    timestamp_after_max_ms: int = 3_600_000
    target_codec: int | None = None  # None: as the producer compressed it
    compression_level: int | None = None

    @property
    def decompressed_bytes_max(self) -> int:
        return max(DECOMPRESSED_GROWTH_MAX * self.batch_bytes_max, DECOMPRESSED_BYTES_MIN)


class Validated(NamedTuple):
    """A batch that may be appended, with what the log needs to know about it.

    `batch` is the view that the caller lent, or an owned copy where something had to be corrected.
    """

    batch: Buffer
    size: int
    record_count: int
    last_offset_delta: int
    max_timestamp_ms: int
    # The time index points at the last record of a batch, whichever is the newest (KAFKA-16310).
    max_timestamp_delta: int
    log_append_time_ms: int  # -1 where records keep the times that their producer gave them
    crc: int
    producer_id: int
    producer_epoch: int
    base_sequence: int
    last_sequence: int
    is_transactional: bool

    def stamped_parts(self, base_offset: int, leader_epoch: int) -> tuple[bytes, memoryview]:
        return stamped_parts(self.batch, base_offset, leader_epoch)


class Fault(IntEnum):
    """What the kernel reports; `validate` has Kafka's codes and our words for it."""

    NONE = 0
    NO_BATCH = 1
    BATCH_LENGTH = 2
    MAGIC_UNKNOWN = 3
    MAGIC_OLD = 4
    ZSTD_TOO_EARLY = 5
    BASE_OFFSET = 6
    LENGTH_FATAL = 7  # a length at which Kafka's own reader fails
    TOO_LARGE = 8
    CRC = 9
    CODEC = 10
    LAST_OFFSET_DELTA = 11
    RECORD_COUNT = 12
    COUNT_MISMATCH = 13
    CONTROL = 14
    BASE_SEQUENCE = 15
    RECORD_SIZE = 16
    RECORD_FRAMING = 17
    RECORD_OFFSET = 18
    RECORDS_LEFT = 19
    RECORD_ERRORS = 20
    # No faults: the caller sees to the rest.
    TRAILING_BYTES = 21
    COMPRESSED = 22
    NEW_TIMESTAMPS = 23


class RecordFault(IntEnum):
    NO_KEY = 1
    TIMESTAMP = 2
    TIMESTAMP_TYPE = 3


class RecordError(NamedTuple):
    record_index: int
    fault: int
    timestamp: int


class Finding(NamedTuple):
    """`number` goes with the fault: what stands in the header, or which record it is."""

    fault: int
    number: int
    errors: list[RecordError]
