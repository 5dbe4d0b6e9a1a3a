"""CreateTopics: the controller decides; the answer waits until the topics can be used here."""

from ottla.broker.node import Node
from ottla.broker.parked import Parked
from ottla.broker.pipeline import Call
from ottla.config_describe import describe_created_topic
from ottla.errors import ErrorCode, Refused
from ottla.names import Now
from ottla.protocol.schema.create_topics import (
    CreatableTopicConfigs,
    CreatableTopicResult,
    CreateTopicsRequest,
    CreateTopicsResponse,
)


def handle(node: Node, call: Call, request: CreateTopicsRequest) -> Parked | CreateTopicsResponse:
    def on_decided(response: CreateTopicsResponse, now: Now) -> None:
        _add_configs(node, request, response)
        node.hosting.when_open(lambda now: node.complete(parked, response), now)

    def retry(parked: Parked, now: Now) -> CreateTopicsResponse | None:
        if node.is_storage_offline:
            return _all(request, ErrorCode.KAFKA_STORAGE_ERROR, "The log directory is offline.")
        return None

    def expire(now: Now) -> CreateTopicsResponse:
        return _all(request, ErrorCode.REQUEST_TIMED_OUT, "The request timed out.")

    deadline_ms = call.now.mono_ms + max(0, request.timeout_ms)
    parked = Parked(call, retry, expire, deadline_ms)
    try:
        node.ask_controller(request, call.version, on_decided)
    except Refused as refused:
        return _all(request, refused.code, refused.why)
    return parked


def _all(request: CreateTopicsRequest, code: ErrorCode, why: str) -> CreateTopicsResponse:
    return CreateTopicsResponse(
        topics=[
            CreatableTopicResult(name=topic.name, error_code=code, error_message=why)
            for topic in request.topics
        ]
    )


def _add_configs(node: Node, request: CreateTopicsRequest, response: CreateTopicsResponse) -> None:
    """KIP-525: the answer says what the topic was made with."""
    asked = {topic.name: topic for topic in request.topics}
    for result in response.topics:
        if result.error_code:
            continue
        overrides = {c.name: c.value for c in asked[result.name].configs if c.value is not None}
        result.configs = [
            CreatableTopicConfigs(row.name, row.value, row.read_only, row.source, row.sensitive)
            for row in describe_created_topic(overrides, node.config)
        ]
