"""Fetch: slices of the log below what a reader may see, now or when there is enough of it."""

from ottla.broker.fetch_sessions import FetchContext
from ottla.broker.node import Node
from ottla.broker.parked import Parked
from ottla.broker.pipeline import Call
from ottla.errors import ErrorCode, Refused
from ottla.names import NO_UUID, Now, Uuid
from ottla.protocol.schema.fetch import (
    EpochEndOffset,
    FetchableTopicResponse,
    FetchPartition,
    FetchRequest,
    FetchResponse,
    FetchTopic,
    LeaderIdAndEpoch,
    NodeEndpoint,
    PartitionData,
    SnapshotId,
)
from ottla.replication.partition import Partition
from ottla.storage.segment import FileSlice

READ_COMMITTED = 1
ANY_EPOCH = -1
_ISOLATION_LEVELS = (0, READ_COMMITTED)
LEADER_HINTS_FROM = 16
TOPIC_IDS_FROM = 13
_UNKNOWN = (ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, ErrorCode.UNKNOWN_TOPIC_ID)
# Where a version has no field for it, an aborted-transactions list of null means "not asked for".
_NO_DIVERGENCE = EpochEndOffset()
_NO_LEADER = LeaderIdAndEpoch()
_NO_SNAPSHOT = SnapshotId()


class _Read:
    """One pass over the partitions of a fetch."""

    __slots__ = (
        "answers",
        "bytes",
        "has_error",
        "is_flush_pending",
        "slices",
        "unknown",
        "waited_on",
    )

    def __init__(self) -> None:
        self.answers: list[tuple[str, Uuid, PartitionData]] = []
        # What is not here at all stands behind what is, and keeps nobody from waiting for that.
        self.unknown: list[tuple[str, Uuid, PartitionData]] = []
        self.slices: list[FileSlice] = []
        self.bytes = 0
        self.has_error = False
        self.is_flush_pending = False
        self.waited_on: list[Partition] = []

    def release(self) -> None:
        """Nothing of this pass will be sent."""
        for part in self.slices:
            part.release()
        self.slices = []


def handle(node: Node, call: Call, request: FetchRequest) -> FetchResponse | Parked:
    if request.isolation_level not in _ISOLATION_LEVELS:
        return _refuse_all(request, ErrorCode.UNKNOWN_SERVER_ERROR)
    topics = request.topics
    if len(topics) > 1 or (topics and len(topics[0].partitions) > 1):
        request.topics = _distinct(topics)
    try:
        context = node.fetch_sessions.open(request, call.version, call.now)
    except Refused as refused:
        return FetchResponse(error_code=refused.code)
    deadline_ms = call.now.mono_ms + max(0, request.max_wait_ms)
    read = _read(node, call, request, context)
    if _is_enough(read, request, call.now, deadline_ms):
        return _answer(node, call, context, read)
    return _park(node, call, request, context, read, deadline_ms)


def _distinct(topics: list[FetchTopic]) -> list[FetchTopic]:
    """Kafka reads the request as a map: what stands there twice is read once."""
    found: dict[tuple[str, Uuid], dict[int, FetchPartition]] = {}
    for topic in topics:
        partitions = found.setdefault((topic.topic, topic.topic_id), {})
        for asked in topic.partitions:
            partitions[asked.partition] = asked
    return [
        FetchTopic(name, topic_id, list(partitions.values()))
        for (name, topic_id), partitions in found.items()
    ]


def _is_enough(read: _Read, request: FetchRequest, now: Now, deadline_ms: int) -> bool:
    if read.has_error or not read.waited_on:
        return True
    if read.is_flush_pending and not read.bytes:
        # A client that was answered acks=1 finds its record with its very next request (D3): what
        # only our own flush still hides is waited for, whatever the client's patience.
        return False
    return read.bytes >= request.min_bytes or now.mono_ms >= deadline_ms


def _park(
    node: Node,
    call: Call,
    request: FetchRequest,
    context: FetchContext,
    read: _Read,
    deadline_ms: int,
) -> Parked:
    hosted = len(read.waited_on)

    def retry(parked: Parked, now: Now) -> FetchResponse | None:
        again = _read(node, call, request, context)
        is_gone = len(again.waited_on) < hosted
        if is_gone or _is_enough(again, request, now, deadline_ms):
            return _answer(node, call, context, again)
        _wait(node, parked, again)
        return None

    def expire(now: Now) -> FetchResponse | None:
        return retry(parked, now)

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
    is_follower = request.replica_id >= 0 or request.replica_state.replica_id >= 0
    try:
        for name, topic_id, asked in context.partitions():
            try:
                partition = node.find_partition(name, topic_id, asked.partition)
                if is_follower:
                    raise Refused(ErrorCode.NOT_LEADER_OR_FOLLOWER, "no replica is on that broker")
                answer, part = _read_partition(read, partition, asked, bytes_left, committed_only)
            except Refused as refused:
                _refuse(read, call.version, name, topic_id, asked, refused.code)
                continue
            read.answers.append((name, topic_id, answer))
            if part is not None:
                read.slices.append(part)
                read.bytes += part.size
                bytes_left = max(0, bytes_left - part.size)
    except BaseException:
        read.release()
        raise
    return read


def _read_partition(
    read: _Read, partition: Partition, asked: FetchPartition, bytes_left: int, committed_only: bool
) -> tuple[PartitionData, FileSlice | None]:
    partition.check_leader_epoch(max(asked.current_leader_epoch, ANY_EPOCH))
    log = partition.log
    part = None
    divergence = _NO_DIVERGENCE
    epoch = asked.last_fetched_epoch
    if epoch >= 0 and (epoch != partition.leader_epoch or asked.fetch_offset > log.end_offset):
        divergence = _divergence(partition, asked)
    high_watermark = partition.high_watermark
    if divergence is _NO_DIVERGENCE:
        if asked.partition_max_bytes < 0 or bytes_left < 0:
            raise Refused(ErrorCode.UNKNOWN_SERVER_ERROR, "less than nothing was asked for")
        end_offset = partition.last_stable_offset if committed_only else high_watermark
        # KIP-74: the first partition with data is answered whole, however little was asked for.
        part = partition.read(
            asked.fetch_offset,
            end_offset,
            min(asked.partition_max_bytes, bytes_left),
            not read.slices,
        )
        if part is None and partition.is_flush_pending:
            read.is_flush_pending = True
    else:
        read.has_error = True
    read.waited_on.append(partition)
    return PartitionData(
        asked.partition,
        0,
        high_watermark,
        partition.last_stable_offset,
        log.start_offset,
        divergence,
        _NO_LEADER,
        _NO_SNAPSHOT,
        [] if committed_only else None,
        -1,
        b"" if part is None else part,
    ), part


def _divergence(partition: Partition, asked: FetchPartition) -> EpochEndOffset:
    """Where a reader's last record is none of this log, tell it where the two part (KIP-595)."""
    log = partition.log
    wanted, latest = asked.last_fetched_epoch, log.epochs.latest_epoch
    if latest < wanted <= partition.leader_epoch:
        # Of the epochs since the last record nothing was written yet.
        epoch, end_offset = wanted if wanted == partition.leader_epoch else latest, log.end_offset
    else:
        epoch, end_offset = log.epochs.end_offset_for(wanted, log.end_offset)
    if epoch < 0 or end_offset < 0 or asked.fetch_offset < log.start_offset:
        raise Refused(ErrorCode.OFFSET_OUT_OF_RANGE, f"epoch {wanted} is not known here")
    if epoch < wanted or end_offset < asked.fetch_offset:
        return EpochEndOffset(epoch, end_offset)
    return _NO_DIVERGENCE


def _refuse(
    read: _Read, version: int, name: str, topic_id: Uuid, asked: FetchPartition, code: ErrorCode
) -> None:
    if code in _UNKNOWN:
        if version >= TOPIC_IDS_FROM and topic_id == NO_UUID:
            code = ErrorCode.UNKNOWN_TOPIC_ID
        read.unknown.append((name, topic_id, _refused(asked.partition, code)))
        return
    read.has_error = True
    answer = _refused(asked.partition, code)
    answer.aborted_transactions = None
    read.answers.append((name, topic_id, answer))


def _refused(index: int, code: ErrorCode) -> PartitionData:
    return PartitionData(partition_index=index, error_code=code, high_watermark=-1, records=b"")


def _refuse_all(request: FetchRequest, code: ErrorCode) -> FetchResponse:
    return FetchResponse(
        error_code=code,
        responses=[
            FetchableTopicResponse(
                topic.topic,
                topic.topic_id,
                [_refused(asked.partition, code) for asked in topic.partitions],
            )
            for topic in request.topics
        ],
    )


def _answer(node: Node, call: Call, context: FetchContext, read: _Read) -> FetchResponse:
    response = context.answer(read.answers + read.unknown if read.unknown else read.answers)
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
