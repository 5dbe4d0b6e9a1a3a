"""DescribeConfigs: every key with its value, where that came from, and what it means."""

from collections.abc import Iterable
from typing import TypedDict

from ottla.broker.node import Node
from ottla.broker.parked import Parked
from ottla.broker.pipeline import Call
from ottla.config_describe import (
    ConfigRow,
    describe_broker,
    describe_cluster_wide,
    describe_topic,
)
from ottla.errors import ErrorCode, Refused
from ottla.limits import RESOURCES_PER_TURN_MAX
from ottla.metadata.image import RESOURCE_BROKER, RESOURCE_TOPIC
from ottla.metadata.topic_names import why_invalid
from ottla.names import Now
from ottla.protocol.schema.describe_configs import (
    DescribeConfigsRequest,
    DescribeConfigsResource,
    DescribeConfigsResourceResult,
    DescribeConfigsResponse,
    DescribeConfigsResult,
    DescribeConfigsSynonym,
)

# Topics, brokers, their loggers, client metrics, groups.
_KNOWN_TYPES = (RESOURCE_TOPIC, RESOURCE_BROKER, 8, 16, 32)


class _Told(TypedDict):
    include_synonyms: bool
    include_documentation: bool


def handle(
    node: Node, call: Call, request: DescribeConfigsRequest
) -> DescribeConfigsResponse | Parked:
    for resource in request.resources:
        if resource.resource_type not in _KNOWN_TYPES:
            return _refuse_all(request, f"Unsupported resource type: {resource.resource_type}")
    resources = _distinct(request.resources)
    response = DescribeConfigsResponse()
    results = response.results

    def describe_some(parked: Parked, now: Now) -> DescribeConfigsResponse | None:
        """A few rows at a time: nobody else waits for all of them."""
        for resource in resources[len(results) : len(results) + RESOURCES_PER_TURN_MAX]:
            results.append(_describe(node, request, resource))
        if len(results) == len(resources):
            return response
        node.woken.wake(parked)
        return None

    parked = Parked(call, describe_some)
    return describe_some(parked, call.now) or parked


def _distinct(resources: list[DescribeConfigsResource]) -> list[DescribeConfigsResource]:
    """The same question is answered once: a line that asks it again would cost a hundred rows."""
    asked: dict[tuple[int, str, tuple[str, ...] | None], DescribeConfigsResource] = {}
    for resource in resources:
        names = resource.configuration_keys
        key = (resource.resource_type, resource.resource_name, None if names is None else (*names,))
        asked.setdefault(key, resource)
    return list(asked.values())


def _refuse_all(request: DescribeConfigsRequest, why: str) -> DescribeConfigsResponse:
    return DescribeConfigsResponse(
        results=[
            DescribeConfigsResult(
                error_code=ErrorCode.INVALID_REQUEST,
                error_message=why,
                resource_type=resource.resource_type,
                resource_name=resource.resource_name,
            )
            for resource in request.resources
        ]
    )


def _describe(
    node: Node, request: DescribeConfigsRequest, resource: DescribeConfigsResource
) -> DescribeConfigsResult:
    result = DescribeConfigsResult(
        resource_type=resource.resource_type,
        resource_name=resource.resource_name,
    )
    try:
        result.configs = [_row(row) for row in _rows(node, request, resource)]
    except Refused as refused:
        result.error_code = refused.code
        result.error_message = refused.why or None
    return result


def _rows(
    node: Node, request: DescribeConfigsRequest, resource: DescribeConfigsResource
) -> Iterable[ConfigRow]:
    name = resource.resource_name
    names = resource.configuration_keys
    told = _Told(
        include_synonyms=request.include_synonyms,
        include_documentation=request.include_documentation,
    )
    if resource.resource_type == RESOURCE_TOPIC:
        why = why_invalid(name)
        if why is not None:
            raise Refused(ErrorCode.INVALID_TOPIC_EXCEPTION, f"Topic name is invalid: {why}")
        if name not in node.image.topics:
            raise Refused(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
        overrides = node.image.configs_of(RESOURCE_TOPIC, name)
        return describe_topic(overrides, node.config, names, **told)
    if resource.resource_type == RESOURCE_BROKER:
        if name not in ("", str(node.node_id)):
            raise Refused(
                ErrorCode.INVALID_REQUEST,
                f"Unexpected broker id, expected {node.node_id} or empty string, "
                f"but received {name}",
            )
        describe = describe_broker if name else describe_cluster_wide
        return describe(node.config, names, **told)
    raise Refused(ErrorCode.INVALID_REQUEST, f"Unsupported resource type: {resource.resource_type}")


def _row(row: ConfigRow) -> DescribeConfigsResourceResult:
    return DescribeConfigsResourceResult(
        name=row.name,
        value=row.value,
        read_only=row.read_only,
        config_source=row.source,
        is_sensitive=row.sensitive,
        synonyms=[DescribeConfigsSynonym(s.name, s.value, s.source) for s in row.synonyms],
        config_type=row.kind,
        documentation=row.documentation,
    )
