"""Produce: validate every batch, append what may be appended, answer when `acks` says so."""

from typing import Any

from ottla.broker.node import Node
from ottla.broker.parked import Parked, Stalled
from ottla.broker.pipeline import NO_REPLY, Call, Message
from ottla.errors import ErrorCode, Refused
from ottla.names import Now
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
from ottla.records.rules import Validated
from ottla.records.validate import RefusedRecords
from ottla.replication.partition import Partition

ACKS_ALL = -1
# From this version on an answer names the leader that a stray client should ask (KIP-951).
LEADER_HINTS_FROM = 10

# Shared, never changed: most answers have no leader hint.
_NO_LEADER = LeaderIdAndEpoch()
_NO_RECORD_ERRORS: list[BatchIndexAndErrorMessage] = []


class _Checked:
    """One partition of the request, after everything that can be said without appending."""

    __slots__ = ("answer", "batch", "partition")

    def __init__(self, index: int) -> None:
        self.answer = PartitionProduceResponse(
            index, 0, -1, -1, -1, _NO_RECORD_ERRORS, None, _NO_LEADER
        )
        self.partition: Partition | None = None
        self.batch: Validated | None = None


class _Acks:
    """Waits until every partition of one request is durable."""

    __slots__ = ("node", "parked", "pending", "response")

    def __init__(self, node: Node, response: ProduceResponse) -> None:
        self.node = node
        self.response = response
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
    if acks not in (0, 1, ACKS_ALL):
        return _refuse_all(request, ErrorCode.INVALID_REQUIRED_ACKS)
    checked = [
        (topic, [_check(node, call, topic, data) for data in topic.partition_data])
        for topic in request.topic_data
    ]
    response = ProduceResponse()
    acks_wait = _Acks(node, response)
    failed = False
    for topic, partitions in checked:
        answers = []
        for one in partitions:
            if one.batch is not None:
                _append(node, one, acks, acks_wait, call.now)
            failed = failed or one.answer.error_code != 0
            answers.append(one.answer)
        response.responses.append(TopicProduceResponse(topic.name, topic.topic_id, answers))
    if acks == 0:
        if failed:
            # There is no reply to carry the error: Kafka closes, so that the producer looks again.
            node.close(call.connection.conn, "a produce with acks=0 failed")
        return NO_REPLY
    if failed and call.version >= LEADER_HINTS_FROM:
        _add_endpoints(node, response)
    if acks_wait.pending == 0:
        return response
    return _park(node, call, request, acks_wait)


def _check(node: Node, call: Call, topic: TopicProduceData, data: PartitionProduceData) -> _Checked:
    """Raises Stalled where the request has to wait before anything of it is appended."""
    one = _Checked(data.index)
    try:
        partition = node.find_partition(topic.name, topic.topic_id, data.index)
        if not isinstance(data.records, memoryview):
            raise Refused(ErrorCode.INVALID_RECORD, "a produce without records")
        batch = partition.validate(data.records, call.version, call.now.wall_ms)
        if partition.must_wait_for_roll(batch, call.now):
            raise Stalled(lambda parked: parked.wait_in(partition.roll_waiters))
        one.partition, one.batch = partition, batch
    except RefusedRecords as refused:
        _refuse(one, refused)
        one.answer.record_errors = [
            BatchIndexAndErrorMessage(index, why) for index, why in refused.record_errors
        ]
    except Refused as refused:
        _refuse(one, refused)
    return one


def _refuse(one: _Checked, refused: Refused) -> None:
    one.answer.error_code = refused.code
    one.answer.error_message = refused.why or None


def _append(node: Node, one: _Checked, acks: int, waiter: _Acks, now: Now) -> None:
    partition, batch, answer = one.partition, one.batch, one.answer
    assert partition is not None
    assert batch is not None
    try:
        if acks == ACKS_ALL:
            partition.check_min_isr()
        appended = partition.append_as_leader(batch, now)
    except Refused as refused:
        _refuse(one, refused)
        return
    answer.base_offset = appended.base_offset
    answer.log_append_time_ms = appended.log_append_time_ms
    answer.log_start_offset = partition.log.start_offset
    if acks == ACKS_ALL and appended.last_offset >= partition.high_watermark:
        waiter.pending += 1
        partition.wait_for_ack(appended.last_offset + 1, waiter, answer)


def _park(node: Node, call: Call, request: ProduceRequest, waiter: _Acks) -> Parked:
    """After the wait leadership and storage are looked at again: they may have gone meanwhile."""

    def expire(now: Now) -> ProduceResponse:
        waiter.parked = None
        for topic in waiter.response.responses:
            for answer in topic.partition_responses:
                if answer.error_code == 0:
                    answer.error_code = ErrorCode.REQUEST_TIMED_OUT
        return waiter.response

    deadline_ms = call.now.mono_ms + max(0, request.timeout_ms)
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
