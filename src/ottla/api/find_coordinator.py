"""FindCoordinator: served from version 0 because librdkafka drops lz4 without it.

Groups and transactions come with the next step: until then there is no coordinator to name, and the
operator is told once for each group that asks.
"""

import re
from typing import Final

from ottla.broker.node import Node
from ottla.broker.pipeline import Call
from ottla.errors import ErrorCode
from ottla.protocol.schema.find_coordinator import (
    Coordinator,
    FindCoordinatorRequest,
    FindCoordinatorResponse,
)

KEYS_FROM: Final = 4
_KINDS: Final = {0: "group", 1: "transactional id", 2: "share group"}
_SHARE_GROUP: Final = 2
# KIP-932: such a key is a group, a topic id and a partition.
_SHARE_GROUP_KEY: Final = re.compile(r".+:[\w-]{22}:\d+", re.DOTALL)
_WHY: Final = "groups and transactions are not there yet; assign partitions instead of subscribing"


def handle(node: Node, call: Call, request: FindCoordinatorRequest) -> FindCoordinatorResponse:
    keys = request.coordinator_keys if call.version >= KEYS_FROM else [request.key]
    answers = [_answer(node, request.key_type, key) for key in keys]
    if call.version >= KEYS_FROM:
        return FindCoordinatorResponse(coordinators=answers)
    only = answers[0]
    return FindCoordinatorResponse(
        error_code=only.error_code, error_message=only.error_message, node_id=-1, port=-1
    )


def _answer(node: Node, key_type: int, key: str) -> Coordinator:
    kind = _KINDS.get(key_type)
    if kind is None:
        code, why = ErrorCode.INVALID_REQUEST, f"coordinator type {key_type} is not known"
    elif key_type == _SHARE_GROUP and not _SHARE_GROUP_KEY.fullmatch(key):
        return Coordinator(
            key=key, node_id=-1, host="", port=-1, error_code=ErrorCode.INVALID_REQUEST
        )
    else:
        code, why = ErrorCode.COORDINATOR_NOT_AVAILABLE, _WHY
        node.report_once(f"{kind} {key!r} was asked for: {why}")
    return Coordinator(key=key, node_id=-1, host="", port=-1, error_code=code, error_message=why)
