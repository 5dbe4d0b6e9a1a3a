"""ListOffsets: where a partition begins and ends, and where a time lies in it."""

from typing import Final

from ottla.broker.node import Node
from ottla.broker.parked import Stalled
from ottla.broker.pipeline import Call
from ottla.errors import ErrorCode, Refused
from ottla.names import NO_UUID
from ottla.protocol.schema.list_offsets import (
    ListOffsetsPartition,
    ListOffsetsPartitionResponse,
    ListOffsetsRequest,
    ListOffsetsResponse,
    ListOffsetsTopicResponse,
)
from ottla.replication.partition import Partition
from ottla.storage.time_lookup import TimedOffset, first_at_or_after, newest

LATEST: Final = -1
EARLIEST: Final = -2
MAX_TIMESTAMP: Final = -3
EARLIEST_LOCAL: Final = -4
LATEST_TIERED: Final = -5
EARLIEST_PENDING_UPLOAD: Final = -6

# The version from which a special timestamp may be asked for (KIP-734, 405, 1005, 1023).
SPECIAL_FROM: Final = {
    MAX_TIMESTAMP: 7,
    EARLIEST_LOCAL: 8,
    LATEST_TIERED: 9,
    EARLIEST_PENDING_UPLOAD: 11,
}
READ_UNCOMMITTED: Final = 0
READ_COMMITTED: Final = 1
LEADER_EPOCHS_FROM: Final = 4
UNKNOWN: Final = TimedOffset(-1, -1, -1)


def handle(node: Node, call: Call, request: ListOffsetsRequest) -> ListOffsetsResponse:
    seen: dict[tuple[str, int], int] = {}
    for topic in request.topics:
        for asked in topic.partitions:
            key = (topic.name, asked.partition_index)
            seen[key] = seen.get(key, 0) + 1
    response = ListOffsetsResponse()
    for topic in request.topics:
        answers = []
        for asked in topic.partitions:
            times = seen.pop((topic.name, asked.partition_index), 0)
            if times:
                answers.append(_answer(node, call, request, topic.name, asked, times > 1))
        response.topics.append(ListOffsetsTopicResponse(topic.name, answers))
    return response


def _answer(
    node: Node,
    call: Call,
    request: ListOffsetsRequest,
    topic: str,
    asked: ListOffsetsPartition,
    twice: bool,
) -> ListOffsetsPartitionResponse:
    try:
        if twice:
            raise Refused(ErrorCode.INVALID_REQUEST, "the partition is named twice")
        if asked.timestamp < 0 and call.version < SPECIAL_FROM.get(asked.timestamp, 0):
            raise Refused(ErrorCode.UNSUPPORTED_VERSION)
        if request.isolation_level not in (READ_UNCOMMITTED, READ_COMMITTED):
            raise Refused(ErrorCode.UNKNOWN_SERVER_ERROR, "no such isolation level")
        partition = node.find_partition(topic, NO_UUID, asked.partition_index)
        partition.check_leader_epoch(asked.current_leader_epoch)
        found = _find(node, partition, asked.timestamp, request.isolation_level)
    except Refused as refused:
        return ListOffsetsPartitionResponse(asked.partition_index, refused.code)
    leader_epoch = found.leader_epoch if call.version >= LEADER_EPOCHS_FROM else -1
    return ListOffsetsPartitionResponse(
        asked.partition_index, 0, found.timestamp_ms, found.offset, leader_epoch
    )


def _find(node: Node, partition: Partition, timestamp: int, isolation_level: int) -> TimedOffset:
    log = partition.log
    if timestamp in (EARLIEST, EARLIEST_LOCAL):
        return TimedOffset(-1, log.start_offset, _epoch_at_start(partition))
    if timestamp in (LATEST_TIERED, EARLIEST_PENDING_UPLOAD):
        return UNKNOWN
    if partition.is_flush_pending:
        # Visibility (D3): what differs only because our own flush has not ended waits for it.
        node.want_flush()
        raise Stalled(lambda parked: parked.wait_in(partition.fetch_waiters))
    committed_only = isolation_level == READ_COMMITTED
    end_offset = partition.last_stable_offset if committed_only else partition.high_watermark
    if timestamp == LATEST:
        return TimedOffset(-1, end_offset, partition.leader_epoch)
    if timestamp == MAX_TIMESTAMP:
        found = newest(log)
        if found is None and log.end_offset > log.start_offset:
            # No record says when it was made: the first is as new as any.
            found = TimedOffset(-1, log.start_offset, _epoch_at_start(partition))
    elif timestamp < 0:
        raise Refused(ErrorCode.UNSUPPORTED_VERSION, f"{timestamp} names no place in a log")
    else:
        found = first_at_or_after(log, timestamp)
    return UNKNOWN if found is None or found.offset >= end_offset else found


def _epoch_at_start(partition: Partition) -> int:
    """Of a log without records it is the leader's own: whatever comes next has that."""
    epoch = partition.log.epochs.epoch_for_offset(partition.log.start_offset)
    return partition.leader_epoch if epoch < 0 else epoch
