"""What a broker's answer to a batch means for it."""

from enum import Enum

from ottla.client.batches import Batch
from ottla.errors import RETRIABLE, ErrorCode
from ottla.protocol.schema.produce import PartitionProduceResponse


class Outcome(Enum):
    WRITTEN = 0
    AGAIN = 1
    AGAIN_IN_NEXT_EPOCH = 2
    AGAIN_WITH_NEW_ID = 3
    FAILED = 4


WRITTEN = dict.fromkeys((ErrorCode.NONE, ErrorCode.DUPLICATE_SEQUENCE_NUMBER))

# The broker's memory of our sequences is not ours.
SEQUENCE_LOST: dict[ErrorCode, Outcome] = {
    ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER: Outcome.AGAIN_IN_NEXT_EPOCH,
    ErrorCode.UNKNOWN_PRODUCER_ID: Outcome.AGAIN_IN_NEXT_EPOCH,
    ErrorCode.INVALID_PRODUCER_EPOCH: Outcome.AGAIN_WITH_NEW_ID,
}

# After these nothing was appended. After any other error something may have been.
NOTHING_WRITTEN = dict.fromkeys(
    (
        ErrorCode.CORRUPT_MESSAGE,
        ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
        ErrorCode.LEADER_NOT_AVAILABLE,
        ErrorCode.MESSAGE_TOO_LARGE,
        ErrorCode.INVALID_TOPIC_EXCEPTION,
        ErrorCode.RECORD_LIST_TOO_LARGE,
        ErrorCode.NOT_ENOUGH_REPLICAS,
        ErrorCode.INVALID_REQUIRED_ACKS,
        ErrorCode.TOPIC_AUTHORIZATION_FAILED,
        ErrorCode.CLUSTER_AUTHORIZATION_FAILED,
        ErrorCode.INVALID_TIMESTAMP,
        ErrorCode.UNSUPPORTED_FOR_MESSAGE_FORMAT,
        ErrorCode.POLICY_VIOLATION,
        ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER,
        ErrorCode.INVALID_PRODUCER_EPOCH,
        ErrorCode.UNKNOWN_PRODUCER_ID,
        ErrorCode.UNSUPPORTED_COMPRESSION_TYPE,
        ErrorCode.INVALID_RECORD,
        ErrorCode.UNKNOWN_TOPIC_ID,
        ErrorCode.THROTTLING_QUOTA_EXCEEDED,
    )
)


def outcome(code: ErrorCode, batch: Batch, *, is_idempotent: bool, is_first: bool) -> Outcome:
    """A batch of lost sequence begins anew (KIP-360) only where that cannot write it twice.

    Behind another that has not met its fate it merely waits for that. Where an earlier attempt
    may have been written, and the broker forgot it, we cannot know, and say so.
    """
    if code in WRITTEN:
        return Outcome.WRITTEN
    if is_idempotent and code in SEQUENCE_LOST:
        if not is_first:
            return Outcome.AGAIN
        return Outcome.FAILED if batch.maybe_written else SEQUENCE_LOST[code]
    return Outcome.AGAIN if code in RETRIABLE else Outcome.FAILED


def explain(found: PartitionProduceResponse) -> str:
    why = found.error_message or ""
    errors = [e for e in found.record_errors if e.batch_index_error_message]
    if errors:
        named = f"record {errors[0].batch_index}: {errors[0].batch_index_error_message}"
        why = f"{why} ({named})" if why else named
    return why
