"""The table of APIs, and what ApiVersions makes of it.

Covers: ottla.api.table, ottla.api.api_versions
"""

from collections.abc import Iterator

import msgspec
import pytest

from ottla.api.table import SERVED, route_of
from ottla.errors import ErrorCode, Malformed
from ottla.limits import REQUEST_BYTES_MAX, REQUEST_ENTRIES_MAX
from ottla.protocol.apis import API, request_type, response_type
from ottla.protocol.compile import encode
from ottla.protocol.facts import Message, version_range
from ottla.protocol.schema.api_versions import (
    ApiVersion,
    ApiVersionsRequest,
    ApiVersionsResponse,
    FinalizedFeatureKey,
    SupportedFeatureKey,
)
from ottla.protocol.shape import field_facts, fields_at
from tests.unit.broker.harness import Client, Harness

API_VERSIONS = 18
EVERY_VERSION = [
    (key, version)
    for key, served in SERVED.items()
    for version in range(served.min_version, served.max_version + 1)
]


@pytest.fixture
def client(harness: Harness) -> Client:
    return harness.connect()


@pytest.mark.parametrize(("key", "version"), EVERY_VERSION)
def test_every_version_that_is_served_has_a_route_and_stands_in_the_schema(
    key: int, version: int
) -> None:
    route = route_of(key, version)
    assert (route.api_key, route.version) == (key, version)
    for message in (request_type(key), response_type(key)):
        wire: Message = vars(message)["WIRE"]
        assert version in version_range(wire.versions)


@pytest.mark.parametrize(
    ("key", "version"),
    [(0, 2), (0, 14), (1, 3), (1, 19), (3, 14), (9, 0), (17, 0), (9999, 0), (-1, 0), (0, -1)],
)
def test_what_is_not_in_the_table_closes_the_connection(
    client: Client, key: int, version: int
) -> None:
    with pytest.raises(Malformed):
        route_of(key, version)
    client.send_frame(key.to_bytes(2, "big", signed=True) + version.to_bytes(2, "big", signed=True))
    client.harness.settle()
    assert client.closed_why is not None


def test_a_request_that_would_take_seconds_to_read_closes_its_connection(client: Client) -> None:
    header = bytes.fromhex("0003 0008 00000001 ffff")
    client.send_frame(header + bytes(REQUEST_BYTES_MAX))
    client.harness.settle()
    assert client.closed_why == "Metadata of 8388618 bytes, where 8388608 are allowed"


def lists_of(
    cls: type[msgspec.Struct], version: int, flexible: bool
) -> Iterator[tuple[list[str], msgspec.Struct]]:
    """Where a request has lists of structs, and the shortest of those."""
    for field in fields_at(cls, version, flexible):
        element = field.type.element
        if field.present and field.tag is None and element is not None and element.struct:
            yield [field.name], empty(element.struct, version, flexible)
            for path, inner in lists_of(element.struct, version, flexible):
                yield [field.name, *path], inner


def empty(cls: type[msgspec.Struct], version: int, flexible: bool) -> msgspec.Struct:
    shape = fields_at(cls, version, flexible)
    return cls(**{field.name: [] for field in shape if field.type.element is not None})


def holding(
    cls: type[msgspec.Struct], path: list[str], elements: list[msgspec.Struct]
) -> msgspec.Struct:
    """A request with these elements at the end of the path, one of all else on it."""
    request = cls()
    at: msgspec.Struct = request
    for name in path[:-1]:
        (facts,) = (each for each in field_facts(at.__class__) if each.name == name)
        assert facts.type.element is not None
        assert facts.type.element.struct is not None
        inner = facts.type.element.struct()
        setattr(at, name, [inner])
        at = inner
    setattr(at, path[-1], elements)
    return request


@pytest.mark.parametrize(("key", "version"), EVERY_VERSION)
def test_no_list_of_a_request_is_read_to_the_end_of_time(key: int, version: int) -> None:
    cls, route = request_type(key), route_of(key, version)
    flexible = version >= API[key].first_flexible
    for path, element in lists_of(cls, version, flexible):
        for count, is_read in ((1000, True), (REQUEST_ENTRIES_MAX + 1, False)):
            data = memoryview(encode(holding(cls, path, [element] * count), version))
            if is_read:
                route.decode(data, 0)
            else:
                with pytest.raises(Malformed, match="more than 250000 entries"):
                    route.decode(data, 0)


@pytest.mark.parametrize("key", [0, 1, 3])
def test_nor_are_tags_that_nobody_knows(key: int) -> None:
    version = SERVED[key].max_version
    body = encode(request_type(key)(), version)
    assert body[-1:] == b"\0"
    route = route_of(key, version)
    route.decode(memoryview(body[:-1] + b"\x7f" + b"\x7e\0" * 127), 0)
    with pytest.raises(Malformed, match="more than 127 tagged fields"):
        route.decode(memoryview(body[:-1] + b"\x80\1" + b"\x7e\0" * 128), 0)


def test_the_answer_is_the_table_and_the_features(harness: Harness, client: Client) -> None:
    levels = [SupportedFeatureKey("kraft.version", 0, 1)]
    assert client.ask(ApiVersionsRequest("ottla", "1.0"), 4) == ApiVersionsResponse(
        api_keys=[
            ApiVersion(key, served.advertised_min_version, served.max_version)
            for key, served in SERVED.items()
        ],
        supported_features=[*levels, SupportedFeatureKey("metadata.version", 7, 30)],
        finalized_features_epoch=harness.node.image.features_epoch,
        finalized_features=[FinalizedFeatureKey("metadata.version", 30, 30)],
    )


def test_before_version_4_a_feature_from_level_0_is_not_told(client: Client) -> None:
    answer = client.ask(ApiVersionsRequest("ottla", "1.0"), 3)
    assert [feature.name for feature in answer.supported_features] == ["metadata.version"]


def test_produce_is_advertised_from_version_0_and_served_from_3(client: Client) -> None:
    """KAFKA-18659: librdkafka drops compression types where version 0 is not advertised."""
    answer = client.ask(ApiVersionsRequest("ottla", "1.0"), 4)
    assert answer.api_keys[0] == ApiVersion(0, 0, 13)
    assert SERVED[0].min_version == 3


@pytest.mark.parametrize(
    ("name", "version", "is_known"),
    [
        ("apache-kafka-java", "4.3.0", True),
        ("x", "1", True),
        ("", "1", False),
        ("x", "", False),
        ("-x", "1", False),
        ("x.", "1", False),
        ("x y", "1", False),
        ("x\n", "1", False),
    ],
)
def test_a_client_has_a_name_that_can_be_told_or_is_refused(
    harness: Harness, client: Client, name: str, version: str, is_known: bool
) -> None:
    answer = client.ask(ApiVersionsRequest(name, version), 3)
    code = ErrorCode.NONE if is_known else ErrorCode.INVALID_REQUEST
    assert (answer.error_code, bool(answer.api_keys)) == (code, is_known)
    software = harness.node.connections[client.conn].software
    assert software == (f"{name} {version}" if is_known else "")


@pytest.mark.parametrize("version", [5, 99, 32767])
def test_a_client_from_the_future_learns_in_the_oldest_form_what_to_ask(
    client: Client, version: int
) -> None:
    """KIP-511."""
    client.asked[1] = (API_VERSIONS, version)
    header = API_VERSIONS.to_bytes(2, "big") + version.to_bytes(2, "big")
    client.send_frame(header + (1).to_bytes(4, "big") + b"\xff\xff\0" + b"what nobody knows yet")
    client.harness.settle()
    assert client.reply(1) == ApiVersionsResponse(
        error_code=ErrorCode.UNSUPPORTED_VERSION, api_keys=[ApiVersion(API_VERSIONS, 0, 4)]
    )
    assert client.closed_why is None
