"""Frames and the headers in them."""

import random
from collections.abc import Callable

import msgspec
import pytest

from ottla.errors import Malformed
from ottla.limits import REQUEST_BYTES_MAX
from ottla.protocol.apis import API
from ottla.protocol.compile import encode
from ottla.protocol.facts import Part
from ottla.protocol.frame import (
    FRAME_BYTES_MAX,
    RequestHeader,
    encode_response,
    frame_size,
    parse_request_header,
)
from ottla.protocol.schema import headers
from ottla.protocol.schema.create_topics import (
    CreatableTopic,
    CreatableTopicConfig,
    CreateTopicsRequest,
)
from ottla.protocol.schema.fetch import FetchPartition, FetchRequest, FetchTopic
from ottla.protocol.schema.metadata import MetadataRequest, MetadataRequestTopic
from tools.kafka_schema_samples import mutated


def view(text: str) -> memoryview:
    return memoryview(bytes.fromhex(text))


@pytest.mark.parametrize(
    ("header", "data"),
    [
        (RequestHeader(0, 3, 7, "me", 12), "0000 0003 00000007 0002 6d65"),
        (RequestHeader(0, 9, 7, "me", 13), "0000 0009 00000007 0002 6d65 00"),
        (RequestHeader(0, 9, 7, "me", 16), "0000 0009 00000007 0002 6d65 01 05 01 ff"),
        (RequestHeader(18, 0, -1, "", 10), "0012 0000 ffffffff 0000"),
        (RequestHeader(18, 99, 1, "a", 12), "0012 0063 00000001 0001 61 00"),
        (RequestHeader(18, -1, 1, "a", 11), "0012 ffff 00000001 0001 61"),
        (RequestHeader(17, 32767, 1, "a", 11), "0011 7fff 00000001 0001 61"),
        (RequestHeader(3, 1, 2, "\ufffd", 11), "0003 0001 00000002 0001 ff"),
    ],
)
def test_a_request_header_is_read_whatever_the_version(header: RequestHeader, data: str) -> None:
    assert parse_request_header(view(data)) == header
    assert parse_request_header(view(data + "cafe")) == header


@pytest.mark.parametrize("length", ["ffff", "8000"])
def test_a_client_id_that_is_null_is_empty_as_for_kafka(length: str) -> None:
    assert parse_request_header(view(f"0003 0001 00000002 {length}")).client_id == ""


@pytest.mark.parametrize(
    "data",
    [
        "",
        "0003 0001 00000002 00",
        "0003 0001 00000002 0002 61",
        "0003 0001 00000002 7fff 61",
        "0003 0009 00000002 0001 61",
        "0003 0009 00000002 0001 61 01",
        "0003 0009 00000002 0001 61 01 00 05",
        "0003 0009 00000002 0001 61 01 00 ffffffff0f",
        "ffff 0000 00000002 0001 61",
        "0004 0000 00000002 0001 61",
        "7fff 0000 00000002 0001 61",
    ],
)
def test_a_header_that_cannot_be_read_or_names_no_api_is_malformed(data: str) -> None:
    with pytest.raises(Malformed):
        parse_request_header(view(data))


def test_mutated_headers_are_read_or_malformed() -> None:
    source = random.Random(5)
    for _ in range(3000):
        version = source.choice((1, 2))
        header = headers.RequestHeader(source.choice((0, 18)), source.randint(-1, 20), 9, "client")
        data = mutated(encode(header, version), source)
        try:
            assert parse_request_header(memoryview(data)).body_at <= len(data)
        except Malformed:
            continue


def frame_of(api_key: int, size: int) -> memoryview:
    return memoryview(encode(headers.RequestHeader(api_key, 3, 9, "c"), 1).ljust(size, b"\0"))


@pytest.mark.parametrize("api_key", [key for key in API if key != 0])
def test_no_request_but_produce_may_be_so_large_that_reading_it_stops_the_loop(
    api_key: int,
) -> None:
    assert parse_request_header(frame_of(api_key, REQUEST_BYTES_MAX)).api_key == api_key
    with pytest.raises(Malformed, match=f"{API[api_key].name} of 8388609 bytes, where 8388608 are"):
        parse_request_header(frame_of(api_key, REQUEST_BYTES_MAX + 1))


def test_produce_carries_what_a_frame_may_carry() -> None:
    assert parse_request_header(frame_of(0, FRAME_BYTES_MAX)).api_key == 0


NAME = "a-topic-of-an-ordinary-length-with-a-number-%07d-and-a-suffix"


def large_metadata() -> msgspec.Struct:
    topics = [MetadataRequestTopic(bytes(16), NAME % index) for index in range(100_000)]
    return MetadataRequest(topics)


def large_fetch() -> msgspec.Struct:
    return FetchRequest(
        topics=[FetchTopic(topic_id=bytes(16), partitions=[FetchPartition()])] * 100_000
    )


def large_creation() -> msgspec.Struct:
    configs = [CreatableTopicConfig(f"a.config.key.of.{index}", "a value") for index in range(6)]
    topics = [CreatableTopic(NAME % index, 1, 3, [], configs) for index in range(30_000)]
    return CreateTopicsRequest(topics)


@pytest.mark.parametrize(
    ("make", "version"), [(large_metadata, 13), (large_fetch, 18), (large_creation, 7)]
)
def test_requests_of_the_largest_clusters_are_no_larger(
    make: Callable[[], msgspec.Struct], version: int
) -> None:
    assert len(encode(make(), version)) < REQUEST_BYTES_MAX - 1000


@pytest.mark.parametrize(
    ("version", "parts", "frame"),
    [
        (0, [b"ab"], [b"\0\0\0\x06\0\0\0\x09ab"]),
        (1, [b"ab"], [b"\0\0\0\x07\0\0\0\x09\0ab"]),
        (0, [], [b"\0\0\0\x04\0\0\0\x09"]),
        (1, [b"ab", range(5), b"c"], [b"\0\0\0\x0d\0\0\0\x09\0ab", range(5), b"c"]),
        (0, [range(5)], [b"\0\0\0\x09\0\0\0\x09", range(5)]),
    ],
)
def test_a_response_begins_with_its_size_and_leaves_records_apart(
    version: int, parts: list[Part], frame: list[Part]
) -> None:
    assert encode_response(9, version, parts) == frame


@pytest.mark.parametrize("size", [-1, -(1 << 31), 11, (1 << 31) - 1])
def test_a_size_that_is_negative_or_above_the_bound_is_malformed_before_its_bytes_come(
    size: int,
) -> None:
    data = memoryview(size.to_bytes(4, "big", signed=True))
    with pytest.raises(Malformed):
        frame_size(data, 0, frame_bytes_max=10)


def test_a_size_at_the_bound_is_taken() -> None:
    assert frame_size(view("00 0000000a"), 1, frame_bytes_max=10) == 10
