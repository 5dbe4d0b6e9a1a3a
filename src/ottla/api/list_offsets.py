"""ListOffsets: where a partition begins and ends, and where a time lies in it."""

from typing import Final

from ottla.broker.node import Node
from ottla.broker.parked import Parked, Stalled
from ottla.broker.pipeline import Call
from ottla.errors import DiskError, ErrorCode, Refused
from ottla.limits import SEARCHES_PER_TURN_MAX
from ottla.names import NO_UUID, Now
from ottla.protocol.schema.list_offsets import (
    ListOffsetsPartition,
    ListOffsetsPartitionResponse,
    ListOffsetsRequest,
    ListOffsetsResponse,
    ListOffsetsTopicResponse,
)
from ottla.records.batch import CorruptBatch
from ottla.replication.partition import Partition
from ottla.storage.segment import WouldBlock
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
_NEVER_HIDDEN: Final = (EARLIEST, EARLIEST_LOCAL, LATEST_TIERED, EARLIEST_PENDING_UPLOAD)
READ_UNCOMMITTED: Final = 0
READ_COMMITTED: Final = 1
LEADER_EPOCHS_FROM: Final = 4
UNKNOWN: Final = TimedOffset(-1, -1, -1)


def handle(node: Node, call: Call, request: ListOffsetsRequest) -> ListOffsetsResponse | Parked:
    lookup = _Lookup(node, call, request)
    try:
        response = lookup.run()
    except (Stalled, WouldBlock) as cause:
        return node.wait_for(cause, Parked(call, lookup.run_again))
    if response is not None:
        return response
    parked = Parked(call, lookup.run_again)
    lookup.wait(parked)
    return parked


class _Lookup:
    """One request, for as many passes as it takes."""

    __slots__ = ("answers", "call", "hidden", "hidden_below", "node", "request", "searches")

    def __init__(self, node: Node, call: Call, request: ListOffsetsRequest) -> None:
        self.node = node
        self.call = call
        self.request = request
        # Where each log ended when this request came upon it, and where that is not flushed yet.
        self.hidden_below: dict[Partition, int] = {}
        self.hidden: list[Partition] = []
        # What was found already: neither a cold page nor a pause is a reason to look again.
        self.answers: dict[tuple[str, int], ListOffsetsPartitionResponse] = {}
        self.searches = 0

    def run_again(self, parked: Parked, now: Now) -> ListOffsetsResponse | None:
        response = self.run()
        if response is None:
            self.wait(parked)
        return response

    def wait(self, parked: Parked) -> None:
        if self.searches > SEARCHES_PER_TURN_MAX:
            self.node.woken.wake(parked)
        if self.hidden:
            for partition in self.hidden:
                parked.wait_in(partition.fetch_waiters)
            self.node.want_flush()

    def run(self) -> ListOffsetsResponse | None:
        """None where our own flush still hides what was there when the request came (D3), or where
        the turn is over."""
        self.hidden = []
        self.searches = 0
        seen: dict[tuple[str, int], int] = {}
        for topic in self.request.topics:
            for asked in topic.partitions:
                key = (topic.name, asked.partition_index)
                seen[key] = seen.get(key, 0) + 1
        response = ListOffsetsResponse()
        for topic in self.request.topics:
            answers = []
            for asked in topic.partitions:
                key = (topic.name, asked.partition_index)
                times = seen.pop(key, 0)
                if not times:
                    continue
                answer = self.answers.get(key) or self._answer(topic.name, asked, times > 1)
                if answer is not None:
                    self.answers[key] = answer
                    answers.append(answer)
            response.topics.append(ListOffsetsTopicResponse(topic.name, answers))
        is_done = not self.hidden and self.searches <= SEARCHES_PER_TURN_MAX
        return response if is_done else None

    def _answer(
        self, topic: str, asked: ListOffsetsPartition, twice: bool
    ) -> ListOffsetsPartitionResponse | None:
        node, version = self.node, self.call.version
        try:
            if twice:
                raise Refused(ErrorCode.INVALID_REQUEST, "the partition is named twice")
            if asked.timestamp < 0 and version < SPECIAL_FROM.get(asked.timestamp, 0):
                raise Refused(ErrorCode.UNSUPPORTED_VERSION)
            if self.request.isolation_level not in (READ_UNCOMMITTED, READ_COMMITTED):
                raise Refused(ErrorCode.UNKNOWN_SERVER_ERROR, "no such isolation level")
            partition = node.find_partition(topic, NO_UUID, asked.partition_index)
            partition.check_leader_epoch(asked.current_leader_epoch)
            if self._is_hidden(partition, asked.timestamp):
                self.hidden.append(partition)
                return None
            if asked.timestamp >= 0 or asked.timestamp == MAX_TIMESTAMP:
                self.searches += 1
                if self.searches > SEARCHES_PER_TURN_MAX:
                    return None
            found = _find(partition, asked.timestamp, self.request.isolation_level)
        except Refused as refused:
            return ListOffsetsPartitionResponse(asked.partition_index, refused.code)
        except (DiskError, CorruptBatch) as error:
            code = node.read_failed(partition, error).code
            return ListOffsetsPartitionResponse(asked.partition_index, code)
        leader_epoch = found.leader_epoch if version >= LEADER_EPOCHS_FROM else -1
        return ListOffsetsPartitionResponse(
            asked.partition_index, 0, found.timestamp_ms, found.offset, leader_epoch
        )

    def _is_hidden(self, partition: Partition, timestamp: int) -> bool:
        if timestamp in _NEVER_HIDDEN:
            return False
        offset = self.hidden_below.setdefault(partition, partition.log.end_offset)
        return partition.high_watermark < offset


def _find(partition: Partition, timestamp: int, isolation_level: int) -> TimedOffset:
    log = partition.log
    if timestamp in (EARLIEST, EARLIEST_LOCAL):
        return TimedOffset(-1, log.start_offset, _epoch_at_start(partition))
    if timestamp in (LATEST_TIERED, EARLIEST_PENDING_UPLOAD):
        return UNKNOWN
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
