"""DescribeConfigs: values with their source, for whom they are asked."""

from typing import Any

import pytest

from ottla.config_keys import ConfigSource, ConfigType
from ottla.errors import ErrorCode
from ottla.protocol.schema.describe_configs import (
    DescribeConfigsRequest,
    DescribeConfigsResource,
    DescribeConfigsResourceResult,
    DescribeConfigsResponse,
    DescribeConfigsResult,
    DescribeConfigsSynonym,
)
from tests.unit.api.asking import delete, restarted
from tests.unit.broker.harness import Harness

TOPIC, BROKER, LOGGER, METRICS, GROUP = 2, 4, 8, 16, 32
DEFAULT, STATIC = ConfigSource.DEFAULT_CONFIG, ConfigSource.STATIC_BROKER_CONFIG
OF_TOPIC = ConfigSource.DYNAMIC_TOPIC_CONFIG
INVALID = ErrorCode.INVALID_REQUEST


def describe(
    harness: Harness, *resources: tuple[int, str], keys: list[str] | None = None, **more: Any
) -> DescribeConfigsResponse:
    asked = [DescribeConfigsResource(kind, name, keys) for kind, name in resources]
    answer = harness.connect().ask(DescribeConfigsRequest(resources=asked, **more), 4)
    assert isinstance(answer, DescribeConfigsResponse)
    return answer


def sources(result: DescribeConfigsResult) -> list[tuple[str, str | None, int]]:
    return [(row.name, row.value, row.config_source) for row in result.configs]


def codes(response: DescribeConfigsResponse) -> list[tuple[int, str, int]]:
    return [(r.resource_type, r.resource_name, r.error_code) for r in response.results]


@pytest.fixture
def configured() -> Harness:
    """One key at each place where a value may come from."""
    harness = Harness({"log.retention.ms": "1000", "log.segment.bytes": "2097152"})
    harness.create_topic("orders", segment_bytes=1 << 20)
    return harness


def test_a_topics_value_comes_from_itself_the_broker_or_the_default(configured: Harness) -> None:
    keys = ["retention.ms", "segment.bytes", "cleanup.policy", "no.such.key"]
    response = describe(configured, (TOPIC, "orders"), keys=keys)
    assert sources(response.results[0]) == [
        ("cleanup.policy", "delete", DEFAULT),
        ("retention.ms", "1000", STATIC),
        ("segment.bytes", "1048576", OF_TOPIC),
    ]


def segment_bytes(harness: Harness, told: bool) -> DescribeConfigsResourceResult:
    more = {"include_synonyms": told, "include_documentation": told}
    return (
        describe(harness, (TOPIC, "orders"), keys=["segment.bytes"], **more).results[0].configs[0]
    )


def test_synonyms_and_documentation_come_when_they_are_asked_for(configured: Harness) -> None:
    row = DescribeConfigsResourceResult(
        "segment.bytes", "1048576", False, OF_TOPIC, False, [], ConfigType.INT, None
    )
    assert segment_bytes(configured, told=False) == row
    full = segment_bytes(configured, told=True)
    assert full.documentation
    row.documentation = full.documentation
    row.synonyms = [
        DescribeConfigsSynonym("segment.bytes", "1048576", OF_TOPIC),
        DescribeConfigsSynonym("log.segment.bytes", "2097152", STATIC),
        DescribeConfigsSynonym("log.segment.bytes", "1073741824", DEFAULT),
    ]
    assert full == row


@pytest.mark.parametrize("keys", [None, []])
def test_no_keys_ask_for_all_of_them_in_order(harness: Harness, keys: list[str] | None) -> None:
    names = [row.name for row in describe(harness, (TOPIC, "orders"), keys=keys).results[0].configs]
    assert len(names) > 25
    assert names == sorted(dict.fromkeys(names))


def test_the_broker_that_answers_describes_itself_by_id(configured: Harness) -> None:
    keys = ["log.retention.ms", "log.segment.bytes", "log.roll.ms"]
    response = describe(configured, (BROKER, "1"), keys=keys)
    assert sources(response.results[0]) == [
        ("log.retention.ms", "1000", STATIC),
        ("log.roll.ms", None, DEFAULT),
        ("log.segment.bytes", "2097152", STATIC),
    ]


def test_a_broker_without_a_name_tells_what_was_altered_for_all(configured: Harness) -> None:
    result = describe(configured, (BROKER, "")).results[0]
    assert (result.error_code, result.configs) == (0, [])


def test_each_resource_is_answered_in_order_whatever_the_others_are(harness: Harness) -> None:
    asked = [(TOPIC, "nowhere"), (BROKER, "2"), (TOPIC, "a b"), (GROUP, "g"), (TOPIC, "orders")]
    assert codes(describe(harness, *asked, keys=["retention.ms"])) == [
        (TOPIC, "nowhere", ErrorCode.UNKNOWN_TOPIC_OR_PARTITION),
        (BROKER, "2", INVALID),
        (TOPIC, "a b", ErrorCode.INVALID_TOPIC_EXCEPTION),
        (GROUP, "g", INVALID),
        (TOPIC, "orders", ErrorCode.NONE),
    ]


@pytest.mark.parametrize("kind", [0, 1, 3, 5, 127])
def test_a_type_that_nobody_knows_refuses_every_resource(harness: Harness, kind: int) -> None:
    response = describe(harness, (TOPIC, "orders"), (kind, "x"))
    assert codes(response) == [(TOPIC, "orders", INVALID), (kind, "x", INVALID)]


def test_a_topics_configs_survive_a_restart_and_not_its_deletion(configured: Harness) -> None:
    configured.disk.kill()
    after = restarted(configured)
    keys = ["segment.bytes"]
    at_restart = describe(after, (TOPIC, "orders"), keys=keys).results[0]
    assert sources(at_restart) == [("segment.bytes", "1048576", OF_TOPIC)]
    after.connect().ask(delete("orders"), 6)
    after.create_topic("orders")
    again = describe(after, (TOPIC, "orders"), keys=keys).results[0]
    assert sources(again) == [("segment.bytes", "1073741824", DEFAULT)]
    after.assert_nothing_left()
