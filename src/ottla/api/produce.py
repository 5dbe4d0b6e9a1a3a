"""Produce: validate every batch, append what may be appended, answer when `acks` says so."""

from typing import cast

from ottla.broker.acks import Acks
from ottla.broker.node import Node
from ottla.broker.parked import Stalled
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
from ottla.records.batch import (
    ATTRIBUTES_AT,
    HEADER_BYTES,
    LENGTH_AT,
    LOG_OVERHEAD_BYTES,
    MAGIC,
    MAGIC_AT,
    OLD_BATCH_LENGTH_MIN,
    TRANSACTIONAL_BIT,
)
from ottla.records.rules import Validated
from ottla.records.validate import RefusedRecords, validate_produced
from ottla.replication.partition import Partition

ACKS_ALL = -1
_ACKS_KNOWN = (1, ACKS_ALL, 0)
# From this version on an answer names the leader that a stray client should ask (KIP-951).
LEADER_HINTS_FROM = 10
TOPIC_IDS_FROM = 13
# The attributes are two bytes, and all that has a meaning is in the second.
_FLAGS_AT = ATTRIBUTES_AT + 1

# What an answer says at the deadline.
_UNTIL_DURABLE = ErrorCode.REQUEST_TIMED_OUT
# Shared, never changed: most answers have no leader hint.
_NO_LEADER = LeaderIdAndEpoch()
_NO_RECORD_ERRORS: list[BatchIndexAndErrorMessage] = []


def handle(node: Node, call: Call, request: ProduceRequest) -> Message | Acks:
    acks = request.acks
    if acks not in _ACKS_KNOWN:
        return _refuse_all(request, Refused(ErrorCode.INVALID_REQUIRED_ACKS))
    topics = request.topic_data
    if len(topics) != 1 or len(topics[0].partition_data) != 1:
        topics = request.topic_data = _distinct(topics)
    checked = []
    try:
        for topic in topics:
            for data in topic.partition_data:
                checked.append(_check(node, call, request, topic, data))
    except _AllRefused as refused:
        return _refuse_all(request, refused) if acks else _close(node, call)
    waiter = Acks(call, node.ack_waits) if acks == ACKS_ALL else None
    response = ProduceResponse([])
    has_failed = False
    at = 0
    for topic in topics:
        answers = []
        for data in topic.partition_data:
            partition, batch = checked[at]
            answer = _append(data.index, partition, batch, waiter, call.now)
            has_failed |= answer.base_offset < 0
            answers.append(answer)
            at += 1
        response.responses.append(TopicProduceResponse(topic.name, topic.topic_id, answers))
    if acks == 0:
        return _close(node, call) if has_failed else NO_REPLY
    if has_failed and call.version >= LEADER_HINTS_FROM:
        _add_endpoints(node, response)
    if waiter is None or waiter.pending == 0:
        # Nothing to wait for, or it was lost while this request went on.
        return response
    node.ack_waits.add(waiter, response, max(0, request.timeout_ms), call.now)
    return waiter


def _close(node: Node, call: Call) -> Message:
    """With no reply to carry the error Kafka closes, so that the producer looks again."""
    node.close(call.connection.conn, "a produce with acks=0 failed")
    return NO_REPLY


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
    node: Node,
    call: Call,
    request: ProduceRequest,
    topic: TopicProduceData,
    data: PartitionProduceData,
) -> tuple[Partition | None, Validated | Refused]:
    """All that can be said of a partition without appending.

    Raises Stalled where the request has to wait before anything of it is appended.
    """
    now = call.now
    try:
        partition = node.find_partition(topic.name, topic.topic_id, data.index)
        records = data.records
        if not isinstance(records, memoryview):
            raise Refused(ErrorCode.INVALID_RECORD, "a produce without records")
        batch = validate_produced(records, partition.rules, call.version, now.wall_ms)
        if batch.is_transactional:
            raise _not_in_a_transaction(request)
        if partition.must_wait_for_roll(batch, now):
            raise _stalled(partition)
        return partition, batch
    except _AllRefused:
        raise
    except Refused as refused:
        _check_flaws_of_all(request, data.records)
        has_no_id = call.version >= TOPIC_IDS_FROM and topic.topic_id == NO_UUID
        why = Refused(ErrorCode.UNKNOWN_TOPIC_ID, "no id") if has_no_id else refused
        # Its traceback holds this frame, and the frame holds it: a cycle.
        return None, why.with_traceback(None)


def _check_flaws_of_all(request: ProduceRequest, records: object) -> None:
    """What Kafka sees in a batch before it looks for the partition."""
    if not isinstance(records, memoryview) or len(records) < LOG_OVERHEAD_BYTES:
        return
    batch_length = int.from_bytes(records[LENGTH_AT:LOG_OVERHEAD_BYTES], "big", signed=True)
    magic = records[MAGIC_AT] if len(records) > MAGIC_AT else MAGIC
    if batch_length < OLD_BATCH_LENGTH_MIN or magic > MAGIC:
        raise _AllRefused(ErrorCode.CORRUPT_MESSAGE, "this is no record batch")
    is_whole = len(records) >= max(LOG_OVERHEAD_BYTES + batch_length, HEADER_BYTES)
    if is_whole and magic == MAGIC and records[_FLAGS_AT] & TRANSACTIONAL_BIT:
        raise _not_in_a_transaction(request)


def _not_in_a_transaction(request: ProduceRequest) -> _AllRefused:
    """Transactions come with the next step: until then nobody is in one."""
    if request.transactional_id is None:
        return _AllRefused(ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED)
    return _AllRefused(ErrorCode.INVALID_TXN_STATE)


def _stalled(partition: Partition) -> Stalled:
    return Stalled(lambda parked: parked.wait_in(partition.roll_waiters))


def _append(
    index: int,
    partition: Partition | None,
    batch: Validated | Refused,
    waiter: Acks | None,
    now: Now,
) -> PartitionProduceResponse:
    """Append one batch; with a waiter the answer is not final before the batch is durable."""
    if partition is None:
        return _refuse(index, cast("Refused", batch))
    try:
        if waiter is not None:
            partition.check_min_isr()
        appended = partition.append_as_leader(cast("Validated", batch), now)
    except Refused as refused:
        return _refuse(index, refused)
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
    if waiter is not None and appended.last_offset >= partition.high_watermark:
        waiter.pending += 1
        answer.error_code = _UNTIL_DURABLE
        partition.wait_for_ack(appended.last_offset + 1, waiter, answer)
    return answer


def _refuse(index: int, refused: Refused) -> PartitionProduceResponse:
    answer = PartitionProduceResponse(
        index=index, error_code=refused.code, base_offset=-1, error_message=refused.why or None
    )
    if isinstance(refused, RefusedRecords):
        answer.record_errors = [
            BatchIndexAndErrorMessage(index, why) for index, why in refused.record_errors
        ]
    return answer


def _refuse_all(request: ProduceRequest, refused: Refused) -> ProduceResponse:
    return ProduceResponse(
        responses=[
            TopicProduceResponse(
                topic.name,
                topic.topic_id,
                [
                    PartitionProduceResponse(
                        index=data.index,
                        error_code=refused.code,
                        base_offset=-1,
                        error_message=refused.why or None,
                    )
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
