"""Fetch: slices of the log below what a reader may see, now or when there is enough of it."""

from ottla.broker.fetch_sessions import FetchContext
from ottla.broker.node import Node
from ottla.broker.parked import Parked, Stalled
from ottla.broker.pipeline import Call
from ottla.errors import DiskError, ErrorCode, Refused
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
from ottla.records.batch import CorruptBatch
from ottla.replication.partition import Partition
from ottla.storage.segment import FileSlice, WouldBlock

READ_COMMITTED = 1
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
        "hidden",
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
        # Partitions where only our own flush still hides what the reader asks for.
        self.hidden: list[Partition] = []
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
    waiting = _Waiting(node, call, request, context)
    deadline_ms = call.now.mono_ms + max(0, request.max_wait_ms)
    try:
        read = _read(node, call, request, context)
    except (Stalled, WouldBlock) as cause:
        # The session has moved on: what runs again is the read, not the request.
        return node.wait_for(cause, Parked(call, waiting.run_again, deadline_ms=deadline_ms))
    waiting.begin(read)
    is_over = request.max_wait_ms <= 0
    if waiting.is_enough(read, is_over):
        return _answer(node, call, context, read)
    parked = Parked(call, waiting.run_again, deadline_ms=deadline_ms, is_expired=is_over)
    waiting.go_on(parked, read)
    return parked


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


class _Waiting:
    """A fetch that has its session: when it is answered, and what it waits for until then."""

    __slots__ = ("call", "context", "hidden_below", "hosted", "node", "request")

    def __init__(
        self, node: Node, call: Call, request: FetchRequest, context: FetchContext
    ) -> None:
        self.node = node
        self.call = call
        self.request = request
        self.context = context
        # Unknown until the first read has ended.
        self.hosted = -1
        self.hidden_below: dict[Partition, int] = {}

    def begin(self, read: _Read) -> None:
        """Remember what the log held then: producers that never stop must not keep us waiting."""
        self.hosted = len(read.waited_on)
        for partition in read.hidden:
            self.hidden_below[partition] = partition.log.end_offset

    def is_enough(self, read: _Read, is_over: bool) -> bool:
        if read.has_error or not read.waited_on or len(read.waited_on) < self.hosted:
            return True
        if self.hidden_below and not read.bytes and self._is_hidden():
            # A client that was answered acks=1 finds its record with its very next request (D3):
            # what only our own flush still hides is waited for, whatever the client's patience.
            return False
        return read.bytes >= self.request.min_bytes or is_over

    def _is_hidden(self) -> bool:
        return any(
            partition.high_watermark < offset for partition, offset in self.hidden_below.items()
        )

    def run_again(self, parked: Parked, now: Now) -> FetchResponse | None:
        read = _read(self.node, self.call, self.request, self.context)
        if self.hosted < 0:
            self.begin(read)
        if self.is_enough(read, parked.is_expired):
            return _answer(self.node, self.call, self.context, read)
        self.go_on(parked, read)
        return None

    def go_on(self, parked: Parked, read: _Read) -> None:
        read.release()
        for partition in read.waited_on:
            parked.wait_in(partition.fetch_waiters)
        if read.hidden:
            self.node.want_flush()


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
            except (DiskError, CorruptBatch) as error:
                code = node.read_failed(partition, error).code
                _refuse(read, call.version, name, topic_id, asked, code)
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
    if asked.current_leader_epoch >= 0:
        partition.check_leader_epoch(asked.current_leader_epoch)
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
            read.hidden.append(partition)
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
        # Of the epochs since the last record, or of all of them, nothing was written yet.
        is_known = wanted == partition.leader_epoch or latest < 0
        epoch, end_offset = wanted if is_known else latest, log.end_offset
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
