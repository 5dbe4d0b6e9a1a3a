"""Hostile bytes: whatever they claim, they are read or Malformed, and memory stays small."""

import os
import random
import tracemalloc

import msgspec
import pytest

from ottla.errors import Malformed
from ottla.protocol.apis import API, request_type, response_type
from ottla.protocol.compile import decode, decoder, encode
from ottla.protocol.primitives import long_uvarint, read_uvarint, skip_tags, uvarint
from ottla.protocol.schema.api_versions import ApiVersionsRequest, ApiVersionsResponse
from ottla.protocol.schema.consumer_group_heartbeat import ConsumerGroupHeartbeatResponse
from ottla.protocol.schema.delete_topics import DeleteTopicsRequest
from ottla.protocol.schema.describe_cluster import DescribeClusterRequest
from ottla.protocol.schema.fetch import FetchRequest
from ottla.protocol.schema.metadata import MetadataRequest
from ottla.protocol.schema.produce import ProduceRequest
from ottla.protocol.schema.sasl_authenticate import SaslAuthenticateRequest
from tools.kafka_schema_samples import mutated, random_message

IMPLEMENTED = (0, 1, 2, 3, 10, 18, 19, 20, 22, 32, 60)
EACH = 400 if "OTTLA_LONG" in os.environ else 20
# The longest mutant is a few kilobytes.
MEMORY_MAX = 4_000_000

HUGE = "ffffffff07"
NEGATIVE = "ffffffff0f"

BAD: list[tuple[str, type[msgspec.Struct], int, str]] = [
    ("nothing", MetadataRequest, 1, ""),
    ("half a length", MetadataRequest, 1, "0000"),
    ("a count without elements", MetadataRequest, 1, "00000001"),
    ("a count beyond the frame", MetadataRequest, 1, "7fffffff 0000"),
    ("a compact count beyond the frame", MetadataRequest, 9, HUGE + "00000000"),
    ("a count of what could not fit", ProduceRequest, 9, "00 ffff 00000000 04 01010001"),
    ("null where nothing may be null", MetadataRequest, 0, "ffffffff"),
    ("compact null where nothing may be null", ProduceRequest, 9, "00 ffff 00000000 00 00"),
    ("an old null string", DeleteTopicsRequest, 1, "00000001 ffff 00000000"),
    ("a compact null string", ApiVersionsRequest, 3, "00 01 00"),
    ("a negative string", DeleteTopicsRequest, 1, "00000001 8000 00000000"),
    ("a string beyond the frame", ApiVersionsRequest, 3, "05 6161 01 00"),
    ("an old string beyond the frame", DeleteTopicsRequest, 1, "00000001 7fff 61"),
    ("a string above a short", ApiVersionsRequest, 3, "818002" + "61" * 32768 + "01 00"),
    ("bytes beyond the frame", SaslAuthenticateRequest, 2, "05 6161 00"),
    ("old bytes beyond the frame", SaslAuthenticateRequest, 1, "00000005 6161"),
    ("records beyond the frame", ProduceRequest, 9, "00 ffff 00000000 02 01 02 00000000 ff01 00"),
    ("a varint of six bytes", MetadataRequest, 9, "8080808080 01 01 00 00 00"),
    ("a varint cut short", MetadataRequest, 9, "8080"),
    ("tags that are not there", DescribeClusterRequest, 0, "00 01"),
    ("many tags that are not there", DescribeClusterRequest, 0, "00" + HUGE),
    ("a tag beyond the frame", DescribeClusterRequest, 0, "00 01 63 05 00"),
    ("a tag of negative size", DescribeClusterRequest, 0, "00 01 63" + NEGATIVE),
    ("a known tag cut short", ApiVersionsResponse, 3, "0000 01 00000000 01 01 08 0000"),
    ("bytes after the end", MetadataRequest, 1, "ffffffff 00"),
]

FETCH_14 = encode(FetchRequest(), 14)[:-1].hex()
BAD.append(("a tag of later versions", FetchRequest, 14, FETCH_14 + "01 01 00"))


@pytest.mark.parametrize(
    ("message", "version", "data"), [case[1:] for case in BAD], ids=[case[0] for case in BAD]
)
def test_what_cannot_be_read_is_malformed(
    message: type[msgspec.Struct], version: int, data: str
) -> None:
    with pytest.raises(Malformed):
        decode(message, version, bytes.fromhex(data))


def test_unknown_tags_are_skipped_wherever_they_stand() -> None:
    plain = decode(ApiVersionsRequest, 3, bytes.fromhex("0261 0262 00"))
    tagged = decode(ApiVersionsRequest, 3, bytes.fromhex("0261 0262 02 07 00 ff01 03 aabbcc"))
    assert tagged == plain


def test_unknown_tags_are_skipped_among_known_ones_in_any_order() -> None:
    data = "0000 01 00000000 03 63 01 00 01 08 0000000000000005 00 01 01"
    assert decode(ApiVersionsResponse, 3, bytes.fromhex(data)).finalized_features_epoch == 5


def test_of_a_tag_given_twice_the_last_counts_and_its_size_is_not_believed() -> None:
    """As Apache Kafka reads it."""
    data = "0000 01 00000000 02 01 08 0000000000000005 01 00 0000000000000006"
    assert decode(ApiVersionsResponse, 3, bytes.fromhex(data)).finalized_features_epoch == 6


def test_a_varint_that_overflows_is_negative_as_in_kafka_and_then_means_null_or_nothing() -> None:
    null = bytes.fromhex(NEGATIVE + "01 00 00" + NEGATIVE)
    assert decode(MetadataRequest, 9, null).topics is None


@pytest.mark.parametrize("byte", [1, 2, 255])
def test_any_byte_but_zero_is_true(byte: int) -> None:
    data = bytes([byte, 0])
    assert decode(DescribeClusterRequest, 0, data).include_cluster_authorized_operations is True


def test_text_that_is_not_utf8_is_replaced_as_kafka_does_so_that_its_name_can_be_refused() -> None:
    request = decode(DeleteTopicsRequest, 1, bytes.fromhex("00000001 0003 61ff62 00000000"))
    assert request.topic_names == ["a\ufffdb"]


@pytest.mark.parametrize("mark", ["ff", "80"])
def test_a_negative_mark_is_a_null_struct(mark: str) -> None:
    data = bytes.fromhex("00000000 0000 00 00 00000000 00000000" + mark + "00")
    assert decode(ConsumerGroupHeartbeatResponse, 0, data).assignment is None


@pytest.mark.parametrize(
    ("value", "data"),
    [
        (0, "00"),
        (127, "7f"),
        (128, "8001"),
        (16_383, "ff7f"),
        (16_384, "808001"),
        (2_097_152, "80808001"),
        (0x7FFFFFFF, HUGE),
    ],
)
def test_a_varint_is_as_short_as_it_can_be(value: int, data: str) -> None:
    assert uvarint(value).hex() == data
    assert read_uvarint(memoryview(bytes.fromhex(data)), 0) == (value, len(data) // 2)


@pytest.mark.parametrize(("data", "value"), [(NEGATIVE, -1), ("808080807f", -(1 << 28))])
def test_five_full_bytes_wrap_around_as_in_java(data: str, value: int) -> None:
    view = memoryview(bytes.fromhex(data))
    assert long_uvarint(view, 1, view[0]) == (value, 5)


def test_a_negative_count_of_tags_is_none() -> None:
    view = memoryview(bytes.fromhex(NEGATIVE))
    assert skip_tags(view, 1, view[0]) == 5


def cases() -> list[tuple[type[msgspec.Struct], int]]:
    return [
        (message(key), version)
        for key in IMPLEMENTED
        for message in (request_type, response_type)
        for version in range(API[key].min_version, API[key].max_version + 1)
    ]


def test_mutated_messages_are_read_or_malformed_and_take_no_more_memory_than_they_bring() -> None:
    source = random.Random(11)
    read = malformed = 0
    for message, version in cases():
        decode_it = decoder(message, version)
        frames = [
            mutated(encode(random_message(message, version, source), version), source)
            for _ in range(EACH)
        ]
        tracemalloc.start()
        for frame in frames:
            try:
                decode_it(memoryview(frame), 0)
            except Malformed:
                malformed += 1
            else:
                read += 1
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        assert peak < MEMORY_MAX, (message, version)
    assert read > 500
    assert malformed > 500


def test_random_bytes_are_read_or_malformed() -> None:
    source = random.Random(12)
    for message, version in cases():
        for _ in range(EACH):
            data = source.randbytes(source.randint(0, 60))
            try:
                decoder(message, version)(memoryview(data), 0)
            except Malformed:
                continue


def test_every_prefix_of_a_message_is_malformed() -> None:
    source = random.Random(13)
    for message, version in cases():
        data = encode(random_message(message, version, source), version)
        decode(message, version, data)
        for end in range(len(data)):
            with pytest.raises(Malformed):
                decode(message, version, data[:end])
