"""DeleteTopics: the controller decides; files go in the background."""

from ottla.broker.node import Node
from ottla.broker.parked import Parked
from ottla.broker.pipeline import Call
from ottla.errors import ErrorCode, Refused
from ottla.names import Now
from ottla.protocol.schema.delete_topics import (
    DeletableTopicResult,
    DeleteTopicsRequest,
    DeleteTopicsResponse,
)

TOPIC_IDS_FROM = 6
DELETION_DISABLED_CODE_FROM = 3


def handle(node: Node, call: Call, request: DeleteTopicsRequest) -> Parked | DeleteTopicsResponse:
    if not node.config.boolean("delete.topic.enable"):
        code = (
            ErrorCode.TOPIC_DELETION_DISABLED
            if call.version >= DELETION_DISABLED_CODE_FROM
            else ErrorCode.INVALID_REQUEST
        )
        return _all(request, code)

    def retry(parked: Parked, now: Now) -> DeleteTopicsResponse | None:
        return _all(request, ErrorCode.KAFKA_STORAGE_ERROR) if node.is_storage_offline else None

    def expire(now: Now) -> DeleteTopicsResponse:
        return _all(request, ErrorCode.REQUEST_TIMED_OUT)

    deadline_ms = call.now.mono_ms + max(0, request.timeout_ms)
    parked = Parked(call, retry, expire, deadline_ms)
    try:
        node.ask_controller(
            request, call.version, lambda response, now: node.complete(parked, response)
        )
    except Refused as refused:
        return _all(request, refused.code)
    return parked


def _all(request: DeleteTopicsRequest, code: ErrorCode) -> DeleteTopicsResponse:
    named = [DeletableTopicResult(name=name, error_code=code) for name in request.topic_names]
    named += [
        DeletableTopicResult(name=topic.name, topic_id=topic.topic_id, error_code=code)
        for topic in request.topics
    ]
    return DeleteTopicsResponse(responses=named)
