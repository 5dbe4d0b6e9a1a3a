"""Produce: validate every batch, append what may be appended, answer when `acks` says so."""

from typing import Any, cast

from ottla.broker.node import Node
from ottla.broker.parked import Parked, Stalled
from ottla.broker.pipeline import NO_REPLY, Call, Message
from ottla.errors import ErrorCode, Refused
from ottla.names import NO_UUID, Now, Uuid
from ottla.protocol.schema.produce import (
    BatchIndexAndErrorMessage,
    LeaderIdAndEpoch,
    NodeEndpoint,
    PartitionProduceData,
    PartitionProduceResponse,
    ProduceRequest,
    ProduceResponse,
    TopicProduceData,
    TopicProduceResponse,
)
from ottla.records.batch import ATTRIBUTES_AT, MAGIC, MAGIC_AT, TRANSACTIONAL_BIT
from ottla.records.rules import Validated
from ottla.records.validate import RefusedRecords
from ottla.replication.partition import Partition

ACKS_ALL = -1
_ACKS_KNOWN = (1, ACKS_ALL, 0)
# From this version on an answer names the leader that a stray client should ask (KIP-951).
LEADER_HINTS_FROM = 10
TOPIC_IDS_FROM = 13
# The attributes are two bytes, and all that has a meaning is in the second.
_FLAGS_AT = ATTRIBUTES_AT + 1

# Shared, never changed: most answers have no leader hint.
_NO_LEADER = LeaderIdAndEpoch()
_NO_RECORD_ERRORS: list[BatchIndexAndErrorMessage] = []


class _Acks:
    """Waits until every partition of one request is durable."""

    __slots__ = ("node", "parked", "pending", "response")

    def __init__(self, node: Node) -> None:
        self.node = node
        self.response: ProduceResponse | None = None
        self.pending = 0
        self.parked: Parked | None = None

    def on_durable(self, now: Now) -> None:
        self.pending -= 1
        parked = self.parked
        if self.pending == 0 and parked is not None:
            self.parked = None
            self.node.complete(parked, self.response)

    def on_lost(self, answer: PartitionProduceResponse, code: ErrorCode, now: Now) -> None:
        """The log that held the record is gone before the record was durable."""
        answer.error_code = code
        self.on_durable(now)


def handle(node: Node, call: Call, request: ProduceRequest) -> Message | Parked:
    acks = request.acks
    if acks not in _ACKS_KNOWN:
        return _refuse_all(request, ErrorCode.INVALID_REQUIRED_ACKS)
    topics = request.topic_data
    if len(topics) != 1 or len(topics[0].partition_data) != 1:
        request.topic_data = _distinct(topics)
    try:
        checked = _check(node, call, request)
    except _AllRefused as refused:
        return _refuse_all(request, refused.code)
    appender = _Appender(node, acks, call.now)
    at = 0
    response = ProduceResponse(responses=[])
    for topic in request.topic_data:
        answers = []
        for data in topic.partition_data:
            answers.append(appender.append(data.index, *checked[at]))
            at += 1
        response.responses.append(TopicProduceResponse(topic.name, topic.topic_id, answers))
    if acks == 0:
        if appender.has_failed:
            # There is no reply to carry the error: Kafka closes, so that the producer looks again.
            node.close(call.connection.conn, "a produce with acks=0 failed")
        return NO_REPLY
    if appender.has_failed and call.version >= LEADER_HINTS_FROM:
        _add_endpoints(node, response)
    waiter = appender.waiter
    return response if waiter is None else _park(call, request, response, waiter)


class _AllRefused(Refused):
    """One batch for whose sake Kafka refuses the whole request."""


def _distinct(topics: list[TopicProduceData]) -> list[TopicProduceData]:
    """Kafka reads the request as a map: of what stands there twice, the last batch counts."""
    found: dict[tuple[str, Uuid], dict[int, PartitionProduceData]] = {}
    for topic in topics:
        for data in topic.partition_data:
            found.setdefault((topic.name, topic.topic_id), {})[data.index] = data
    return [
        TopicProduceData(name, topic_id, list(batches.values()))
        for (name, topic_id), batches in found.items()
    ]


def _check(
    node: Node, call: Call, request: ProduceRequest
) -> list[tuple[Partition, Validated] | tuple[None, Refused]]:
    """All that can be said without appending, for every partition in order.

    Raises Stalled where the request has to wait before anything of it is appended.
    """
    now = call.now
    checked: list[tuple[Partition, Validated] | tuple[None, Refused]] = []
    for topic in request.topic_data:
        for data in topic.partition_data:
            try:
                partition = node.find_partition(topic.name, topic.topic_id, data.index)
                records = data.records
                if not isinstance(records, memoryview):
                    raise Refused(ErrorCode.INVALID_RECORD, "a produce without records")
                batch = partition.validate(records, call.version, now.wall_ms)
                if batch.is_transactional:
                    raise _not_in_a_transaction(request)
                if batch.size > partition.log.config.segment_bytes:
                    raise Refused(
                        ErrorCode.RECORD_LIST_TOO_LARGE, "the batch is larger than a segment may be"
                    )
                if partition.must_wait_for_roll(batch, now):
                    raise _stalled(partition)
                checked.append((partition, batch))
            except _AllRefused:
                raise
            except Refused as refused:
                if _claims_a_transaction(data.records):
                    raise _not_in_a_transaction(request) from refused
                has_no_id = call.version >= TOPIC_IDS_FROM and topic.topic_id == NO_UUID
                why = Refused(ErrorCode.UNKNOWN_TOPIC_ID, "no id") if has_no_id else refused
                checked.append((None, why))
    return checked


def _claims_a_transaction(records: object) -> bool:
    """Whatever else is wrong with a batch, Kafka looks at this first."""
    return (
        isinstance(records, memoryview)
        and len(records) > _FLAGS_AT
        and records[MAGIC_AT] == MAGIC
        and records[_FLAGS_AT] & TRANSACTIONAL_BIT != 0
    )


def _not_in_a_transaction(request: ProduceRequest) -> _AllRefused:
    """Transactions come with the next step: until then nobody is in one."""
    if request.transactional_id is None:
        return _AllRefused(ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED)
    return _AllRefused(ErrorCode.INVALID_TXN_STATE)


def _stalled(partition: Partition) -> Stalled:
    return Stalled(lambda parked: parked.wait_in(partition.roll_waiters))


class _Appender:
    """Appends one request's batches, and gathers whom its reply has to wait for."""

    __slots__ = ("acks", "has_failed", "node", "now", "waiter")

    def __init__(self, node: Node, acks: int, now: Now) -> None:
        self.node = node
        self.acks = acks
        self.now = now
        self.has_failed = False
        self.waiter: _Acks | None = None

    def append(
        self, index: int, partition: Partition | None, batch: Validated | Refused
    ) -> PartitionProduceResponse:
        if partition is None:
            return self._refuse(index, cast("Refused", batch))
        acks_all = self.acks == ACKS_ALL
        try:
            if acks_all:
                partition.check_min_isr()
            appended = partition.append_as_leader(cast("Validated", batch), self.now)
        except Refused as refused:
            return self._refuse(index, refused)
        answer = PartitionProduceResponse(
            index,
            0,
            appended.base_offset,
            appended.log_append_time_ms,
            partition.log.start_offset,
            _NO_RECORD_ERRORS,
            None,
            _NO_LEADER,
        )
        if acks_all and appended.last_offset >= partition.high_watermark:
            if self.waiter is None:
                self.waiter = _Acks(self.node)
            self.waiter.pending += 1
            partition.wait_for_ack(appended.last_offset + 1, self.waiter, answer)
        return answer

    def _refuse(self, index: int, refused: Refused) -> PartitionProduceResponse:
        self.has_failed = True
        answer = PartitionProduceResponse(
            index=index, error_code=refused.code, base_offset=-1, error_message=refused.why or None
        )
        if isinstance(refused, RefusedRecords):
            answer.record_errors = [
                BatchIndexAndErrorMessage(index, why) for index, why in refused.record_errors
            ]
        return answer


def _park(call: Call, request: ProduceRequest, response: ProduceResponse, waiter: _Acks) -> Parked:
    def expire(now: Now) -> ProduceResponse:
        waiter.parked = None
        for topic in response.responses:
            for answer in topic.partition_responses:
                if answer.error_code == 0:
                    answer.error_code = ErrorCode.REQUEST_TIMED_OUT
        return response

    deadline_ms = call.now.mono_ms + max(0, request.timeout_ms)
    waiter.response = response
    waiter.parked = Parked(call, _never, expire, deadline_ms, mutes=False)
    return waiter.parked


def _never(parked: Parked, now: Now) -> Any:
    """A produce is completed by its acknowledgements; nothing wakes it to run again."""
    raise AssertionError("a parked produce does not run again")


def _refuse_all(request: ProduceRequest, code: ErrorCode) -> ProduceResponse:
    return ProduceResponse(
        responses=[
            TopicProduceResponse(
                topic.name,
                topic.topic_id,
                [
                    PartitionProduceResponse(index=data.index, error_code=code, base_offset=-1)
                    for data in topic.partition_data
                ],
            )
            for topic in request.topic_data
        ]
    )


def _add_endpoints(node: Node, response: ProduceResponse) -> None:
    """Name the leader to those who asked the wrong broker."""
    leaders: dict[int, None] = {}
    for topic in response.responses:
        for answer in topic.partition_responses:
            if answer.error_code != ErrorCode.NOT_LEADER_OR_FOLLOWER:
                continue
            hint = node.leader_hint(topic.name, topic.topic_id, answer.index)
            if hint is not None:
                answer.current_leader = LeaderIdAndEpoch(hint.leader, hint.leader_epoch)
                leaders[hint.leader] = None
    response.node_endpoints = [
        NodeEndpoint(node_id, host, port, rack)
        for node_id, host, port, rack in node.endpoints(leaders)
    ]
