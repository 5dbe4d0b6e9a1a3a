"""The compiled codecs say what the pure ones say, of good bytes and of bad ones.

Covers: ottla.protocol.codecs, ottla.protocol.c_decoding, ottla.protocol.c_encoding
Covers: ottla.protocol.c_lines
"""

import os
import random
import struct
import subprocess
import sys
from collections.abc import Callable
from typing import Any, cast

import msgspec
import pytest

from ottla.errors import Malformed
from ottla.limits import REQUEST_BYTES_MAX
from ottla.protocol import codecs
from ottla.protocol.apis import API, request_type, response_header_version, response_type
from ottla.protocol.c_source import COMPILED
from ottla.protocol.compile import (
    decoder,
    encode,
    encoder,
    frame_encoder,
    pure_decoder,
    pure_encoder,
    pure_frame_encoder,
)
from ottla.protocol.facts import Part, Records, version_range
from ottla.protocol.frame import parse_request_header, pure_parse_request_header
from ottla.protocol.primitives import UnsupportedVersion
from ottla.protocol.schema.fetch import (
    FetchableTopicResponse,
    FetchRequest,
    FetchResponse,
    PartitionData,
)
from ottla.protocol.schema.headers import RequestHeader
from ottla.protocol.schema.produce import (
    LeaderIdAndEpoch,
    PartitionProduceResponse,
    ProduceRequest,
    ProduceResponse,
    TopicProduceResponse,
)
from ottla.protocol.shape import message_facts
from tools.kafka_schema_samples import mutated, random_message

ROUNDS = 5000 if "OTTLA_LONG" in os.environ else 60
VERSIONS = [
    (key, version)
    for key in COMPILED
    for version in version_range(message_facts(request_type(key)).versions)
]

pytestmark = pytest.mark.skipif(
    codecs.CODECS != "compiled", reason=f"the pure codecs alone: {codecs.why}"
)
every_version = pytest.mark.parametrize(("key", "version"), VERSIONS)


def shown(value: Any) -> Any:
    """A value with all of its types; a view by what is in it."""
    if isinstance(value, memoryview):
        return "view", bytes(value), value.format, value.readonly
    if isinstance(value, msgspec.Struct):
        return type(value), [shown(getattr(value, name)) for name in value.__struct_fields__]
    if isinstance(value, list | tuple):
        return type(value), [shown(each) for each in value]
    return type(value), value


def outcome(call: Callable[..., Any], *arguments: Any) -> Any:
    try:
        return shown(call(*arguments))
    except (Malformed, UnsupportedVersion, ValueError, struct.error, TypeError) as error:
        return type(error), str(error)
    except AttributeError:
        return AttributeError


def assert_same_reading(message: type[msgspec.Struct], version: int, data: bytes, at: int) -> None:
    compiled, pure = decoder(message, version), pure_decoder(message, version)
    assert compiled is not pure
    said = outcome(pure, memoryview(data), at)
    assert outcome(compiled, memoryview(data), at) == said
    assert outcome(compiled, memoryview(bytearray(data)), at) == outcome(
        pure, memoryview(bytearray(data)), at
    )


def assert_same_writing(message: msgspec.Struct, version: int) -> None:
    def parts_of(encode: Callable[..., None]) -> list[Part]:
        parts: list[Part] = [b"before"]
        encode(message, parts)
        return parts

    kind = type(message)
    assert encoder(kind, version) is not pure_encoder(kind, version)
    assert outcome(parts_of, encoder(kind, version)) == outcome(
        parts_of, pure_encoder(kind, version)
    )
    for header_version in (0, 1):
        arguments = kind, version, header_version
        assert outcome(frame_encoder(*arguments), 77, message) == outcome(
            pure_frame_encoder(*arguments), 77, message
        )


@every_version
def test_what_is_read_is_the_same(key: int, version: int) -> None:
    source, message = random.Random(f"{key} {version}"), request_type(key)
    for count in range(ROUNDS):
        data = encode(random_message(message, version, source, longest=count % 4), version)
        assert_same_reading(message, version, b"before" + data + b"after", 6)


@every_version
def test_a_request_that_ends_at_any_byte_is_refused_in_the_same_words(
    key: int, version: int
) -> None:
    source, message = random.Random(f"{key} {version}"), request_type(key)
    for data in (encode(random_message(message, version, source), version) for _ in range(3)):
        for end in range(len(data)):
            assert_same_reading(message, version, data[:end], 0)


@every_version
def test_mutated_requests_have_the_same_fate(key: int, version: int) -> None:
    source, message = random.Random(f"{key} {version}"), request_type(key)
    for _ in range(ROUNDS * 5):
        data = encode(random_message(message, version, source, longest=2), version)
        assert_same_reading(message, version, mutated(data, source), 0)


@pytest.mark.parametrize("count", ["ffffffff07", "ffffffff0f", "8080808010", "ffffffffff01", "7f"])
def test_a_count_that_no_frame_could_keep_is_refused_in_the_same_words(count: str) -> None:
    for begin in (
        "00 ffff 000005dc",
        "00 ffff 000005dc 02 0274",
        "00 ffff 000005dc 02 0274 02 00000001",
        "",
        "00 ffff 000005dc 01",
    ):
        assert_same_reading(ProduceRequest, 9, bytes.fromhex(begin + count), 0)


@pytest.mark.parametrize("at", [0, 1, 5, 6, 1 << 40])
def test_a_position_at_or_behind_the_end_has_the_same_fate(at: int) -> None:
    assert_same_reading(FetchRequest, 12, b"short", at)


@pytest.mark.parametrize(
    "name",
    [
        b"\xff",
        b"\xed\xa0\x80",
        b"a\xc3",
        b"\xff" * 10_922,
        b"\xff" * 10_923,
        b"a" * 32_767,
        b"a" * 32_768,
        "€".encode() * 40,
        b"\0",
    ],
)
def test_names_that_are_long_or_not_utf_8_have_the_same_fate(name: bytes) -> None:
    length = len(name).to_bytes(2, "big")
    old = bytes.fromhex("ffff ffff 000005dc 00000001") + length + name + bytes(4)
    assert_same_reading(ProduceRequest, 3, old, 0)
    length = (
        encode(ProduceRequest("x" * len(name)), 9)[: -8 - len(name)]
        if len(name) < 32768
        else (bytes.fromhex("818002"))
    )
    assert_same_reading(ProduceRequest, 9, length + name + bytes(7), 0)


@every_version
def test_what_is_written_is_the_same(key: int, version: int) -> None:
    source, message = random.Random(f"{key} {version}"), response_type(key)
    for count in range(ROUNDS):
        assert_same_writing(random_message(message, version, source, longest=count % 4), version)
        assert_same_writing(random_message(message, 18 - 5 * (key == 0), source), version)


class Slice:
    """Stands for a piece of a segment file."""

    def __init__(self, size: int) -> None:
        self.size = size

    def __len__(self) -> int:
        return self.size


@pytest.mark.parametrize("version", [4, 12, 17])
def test_records_are_parts_of_the_frame_by_themselves(version: int) -> None:
    records: list[Records | None]
    records = [Slice(300), bytes(5), memoryview(bytes(200)), None, Slice(0), Slice(1 << 20), b""]
    partitions = [PartitionData(index, records=each) for index, each in enumerate(records)]
    assert_same_writing(
        FetchResponse(responses=[FetchableTopicResponse(partitions=partitions)]), version
    )


@pytest.mark.parametrize("version", [4, 12])
def test_a_frame_above_two_gigabytes_is_refused_in_the_same_words(version: int) -> None:
    for size in (1 << 30, (1 << 31) - 1, 1 << 31, 1 << 40):
        partitions = [PartitionData(records=Slice(size)) for _ in range(2)]
        assert_same_writing(
            FetchResponse(responses=[FetchableTopicResponse(partitions=partitions)]), version
        )


def hostile_values(value: Any) -> list[Any]:
    numbers = [None, "x", 1.5, True, 127, 128, -32_769, 1 << 31, -(1 << 31), 1 << 63, 1 << 70]
    texts = [None, 5, b"x", "\ud800", "é" * 20_000, "x" * 32_767, "x" * 32_768, "\0"]
    others: list[Any] = [
        None,
        (),
        [None],
        ["x"],
        [LeaderIdAndEpoch()],
        {},
        LeaderIdAndEpoch(5, 5),
        b"",
        7,
    ]
    return texts if isinstance(value, str) else numbers if isinstance(value, int) else others


def broken(message: msgspec.Struct, source: random.Random) -> None:
    """Put something unfit in one place, or unset it."""
    holder = message
    while True:
        name = source.choice(holder.__struct_fields__)
        value = getattr(holder, name)
        if isinstance(value, list) and value and source.random() < 0.8:
            value = value[0]
        if isinstance(value, msgspec.Struct) and source.random() < 0.8:
            holder = value
            continue
        if source.random() < 0.1:
            delattr(holder, name)
        else:
            setattr(holder, name, source.choice(hostile_values(value)))
        return


@every_version
def test_a_response_with_unfit_values_has_the_same_fate(key: int, version: int) -> None:
    source = random.Random(f"{key} {version}")
    for _ in range(ROUNDS * 2):
        message = random_message(response_type(key), version, source, longest=2)
        broken(message, source)
        assert_same_writing(message, version)


@pytest.mark.parametrize("sizes", [(500, 511), (512, 530), (32_760, 32_767)])
def test_a_response_grows_beyond_its_first_room(sizes: tuple[int, int]) -> None:
    for size in range(*sizes):
        partition = PartitionProduceResponse(error_message="x" * size)
        topic = TopicProduceResponse("y" * 300, partition_responses=[partition] * 3)
        assert_same_writing(ProduceResponse([topic] * 3), 9)


def test_many_elements_are_read_and_written() -> None:
    request = random_message(FetchRequest, 12, random.Random(1), longest=400)
    assert_same_reading(FetchRequest, 12, encode(request, 12), 0)
    response = random_message(FetchResponse, 16, random.Random(1), longest=100)
    assert_same_writing(response, 16)


def test_a_correlation_id_too_large_has_the_same_fate() -> None:
    for correlation_id in (-(1 << 31), (1 << 31) - 1, 1 << 31, "x", None):
        wrong = cast("int", correlation_id)
        assert outcome(frame_encoder(ProduceResponse, 9, 1), wrong, ProduceResponse()) == outcome(
            pure_frame_encoder(ProduceResponse, 9, 1), wrong, ProduceResponse()
        )


def test_headers_are_read_and_refused_the_same() -> None:
    source = random.Random(8)
    assert parse_request_header is not pure_parse_request_header
    for _ in range(ROUNDS * 50):
        key = source.choice((*API, -1, 127, 128, 32_767))
        client_id = source.choice((None, "", "load", "é" * 40, "x" * 32_000))
        header = RequestHeader(key, source.randint(-1, 20), source.randint(-9, 9), client_id)
        data = encode(header, source.choice((1, 2)))
        for each in (data, mutated(data, source), data[: source.randrange(14)]):
            for view in (memoryview(each), memoryview(bytearray(each))):
                assert outcome(parse_request_header, view) == outcome(
                    pure_parse_request_header, view
                )


@pytest.mark.parametrize("over", [0, 1])
def test_a_request_as_large_as_its_api_allows_is_read_and_a_larger_one_refused(over: int) -> None:
    header = encode(RequestHeader(3, 1, 1, "load"), 1)
    view = memoryview(header + bytes(REQUEST_BYTES_MAX - len(header) + over))
    said = outcome(pure_parse_request_header, view)
    assert outcome(parse_request_header, view) == said
    assert (said[0] is Malformed) == bool(over)


ALL_COMPILED = """
import linecache, random
from ottla.protocol.apis import API, request_type, response_header_version, response_type
from ottla.protocol.compile import decode, encode, encoder, frame_encoder
from tests.unit.protocol.test_codecs import VERSIONS
from tools.kafka_schema_samples import random_message
source = random.Random(1)
for key, version in VERSIONS:
    for _ in range(20):
        request = random_message(request_type(key), version, source)
        assert decode(type(request), version, encode(request, version)) == request
        response = random_message(response_type(key), version, source)
        encoder(type(response), version)(response, [])
        frame_encoder(type(response), version, response_header_version(key, version))(7, response)
pure = [title.split()[:2] for title in linecache.cache if title.startswith(("<decode", "<encode"))]
print(*("-".join(words) for words in pure))
"""


def test_nothing_good_is_left_to_the_pure_functions() -> None:
    done = subprocess.run(
        [sys.executable, "-c", ALL_COMPILED], check=True, capture_output=True, text=True
    )
    # Requests are written by pure functions, for which nobody waits here.
    words = ["<encode-ProduceRequest", "<encode-FetchRequest"]
    assert list(dict.fromkeys(done.stdout.split())) == words


def test_the_pure_functions_serve_where_nothing_was_compiled() -> None:
    program = """if True:
        from ottla.protocol import codecs
        from ottla.protocol.compile import decoder, encoder, pure_decoder, pure_encoder
        from ottla.protocol.schema.fetch import FetchRequest as message
        assert decoder(message, 12) is pure_decoder(message, 12)
        assert encoder(message, 12) is pure_encoder(message, 12)
        print(codecs.CODECS, "|", codecs.why)
    """
    done = subprocess.run(
        [sys.executable, "-c", program],
        env=os.environ | {"OTTLA_KERNEL": "python"},
        check=True,
        capture_output=True,
        text=True,
    )
    assert done.stdout.startswith("python | OTTLA_KERNEL=python")


def test_the_header_version_of_an_answer_is_the_one_compiled() -> None:
    for key, version in VERSIONS:
        message = response_type(key)
        header_version = response_header_version(key, version)
        made = frame_encoder(message, version, header_version)
        assert made is frame_encoder(message, version, header_version)
