"""Fetch: slices of the log below what a reader may see, now or when there is enough of it."""

from ottla.broker.fetch_sessions import FetchContext
from ottla.broker.node import Node
from ottla.broker.parked import Parked
from ottla.broker.pipeline import Call
from ottla.errors import ErrorCode, Refused
from ottla.names import Now, Uuid
from ottla.protocol.schema.fetch import (
    EpochEndOffset,
    FetchPartition,
    FetchRequest,
    FetchResponse,
    LeaderIdAndEpoch,
    NodeEndpoint,
    PartitionData,
    SnapshotId,
)
from ottla.replication.partition import Partition
from ottla.storage.segment import FileSlice

READ_COMMITTED = 1
LEADER_HINTS_FROM = 16
# Where a version has no field for it, an aborted-transactions list of null means "not asked for".
_NO_DIVERGENCE = EpochEndOffset()
_NO_LEADER = LeaderIdAndEpoch()
_NO_SNAPSHOT = SnapshotId()


class _Read:
    """One pass over the partitions of a fetch."""

    __slots__ = ("answers", "bytes", "has_error", "is_flush_pending", "slices", "waited_on")

    def __init__(self) -> None:
        self.answers: list[tuple[str, Uuid, PartitionData]] = []
        self.slices: list[FileSlice] = []
        self.bytes = 0
        self.has_error = False
        self.is_flush_pending = False
        self.waited_on: list[Partition] = []

    def release(self) -> None:
        """Nothing of this pass will be sent."""
        for part in self.slices:
            part.release()


def handle(node: Node, call: Call, request: FetchRequest) -> FetchResponse | Parked:
    try:
        context = node.fetch_sessions.open(request, call.version, call.now)
    except Refused as refused:
        return FetchResponse(error_code=refused.code)
    deadline_ms = call.now.mono_ms + max(0, request.max_wait_ms)
    read = _read(node, call, request, context)
    if _is_enough(read, request, call.now, deadline_ms):
        return _answer(node, call, context, read)
    return _park(node, call, request, context, read, deadline_ms)


def _is_enough(read: _Read, request: FetchRequest, now: Now, deadline_ms: int) -> bool:
    if read.bytes >= request.min_bytes or read.has_error or not read.answers:
        return True
    # A client that was answered acks=1 finds its record with its very next request (D3): what
    # only our own flush still hides is waited for, whatever the client's patience.
    return now.mono_ms >= deadline_ms and not read.is_flush_pending


def _park(
    node: Node,
    call: Call,
    request: FetchRequest,
    context: FetchContext,
    read: _Read,
    deadline_ms: int,
) -> Parked:
    def retry(parked: Parked, now: Now) -> FetchResponse | None:
        again = _read(node, call, request, context)
        if _is_enough(again, request, now, deadline_ms):
            return _answer(node, call, context, again)
        _wait(node, parked, again)
        return None

    def expire(now: Now) -> FetchResponse | None:
        return retry(parked, now)

    read.release()
    parked = Parked(call, retry, expire, deadline_ms)
    _wait(node, parked, read)
    return parked


def _wait(node: Node, parked: Parked, read: _Read) -> None:
    read.release()
    parked.stop_waiting()
    for partition in read.waited_on:
        parked.wait_in(partition.fetch_waiters)
    if read.is_flush_pending:
        node.want_flush()


def _read(node: Node, call: Call, request: FetchRequest, context: FetchContext) -> _Read:
    read = _Read()
    bytes_left = min(request.max_bytes, node.fetch_bytes_max)
    committed_only = request.isolation_level == READ_COMMITTED
    try:
        for name, topic_id, asked in context.partitions():
            answer, part = _read_partition(
                node, read, name, topic_id, asked, bytes_left, committed_only
            )
            read.answers.append((name, topic_id, answer))
            if part is not None:
                read.slices.append(part)
                read.bytes += part.size
                bytes_left -= part.size
    except BaseException:
        read.release()
        raise
    return read


def _read_partition(
    node: Node,
    read: _Read,
    name: str,
    topic_id: Uuid,
    asked: FetchPartition,
    bytes_left: int,
    committed_only: bool,
) -> tuple[PartitionData, FileSlice | None]:
    try:
        partition = node.find_partition(name, topic_id, asked.partition)
        partition.check_leader_epoch(asked.current_leader_epoch)
        high_watermark = partition.high_watermark
        end_offset = partition.last_stable_offset if committed_only else high_watermark
        # KIP-74: the first partition with data is answered whole, however little was asked for.
        part = partition.read(
            asked.fetch_offset,
            end_offset,
            min(asked.partition_max_bytes, max(0, bytes_left)),
            not read.slices,
        )
        if part is None:
            read.waited_on.append(partition)
            if partition.is_flush_pending:
                read.is_flush_pending = True
        return PartitionData(
            asked.partition,
            0,
            high_watermark,
            partition.last_stable_offset,
            partition.log.start_offset,
            _NO_DIVERGENCE,
            _NO_LEADER,
            _NO_SNAPSHOT,
            [] if committed_only else None,
            -1,
            b"" if part is None else part,
        ), part
    except Refused as refused:
        read.has_error = True
        return PartitionData(
            partition_index=asked.partition,
            error_code=refused.code,
            high_watermark=-1,
            aborted_transactions=[] if committed_only else None,
            records=b"",
        ), None


def _answer(node: Node, call: Call, context: FetchContext, read: _Read) -> FetchResponse:
    response = context.answer(read.answers)
    if read.has_error and call.version >= LEADER_HINTS_FROM:
        _add_leaders(node, response)
    return response


def _add_leaders(node: Node, response: FetchResponse) -> None:
    """Name the leader to those who asked the wrong broker, or an old epoch of it (KIP-951)."""
    leaders: dict[int, None] = {}
    for topic in response.responses:
        for answer in topic.partitions:
            if answer.error_code in (
                ErrorCode.NOT_LEADER_OR_FOLLOWER,
                ErrorCode.FENCED_LEADER_EPOCH,
            ):
                hint = node.leader_hint(topic.topic, topic.topic_id, answer.partition_index)
                if hint is not None:
                    answer.current_leader = LeaderIdAndEpoch(hint.leader, hint.leader_epoch)
                    leaders[hint.leader] = None
    response.node_endpoints = [
        NodeEndpoint(node_id, host, port, rack)
        for node_id, host, port, rack in node.endpoints(leaders)
    ]
