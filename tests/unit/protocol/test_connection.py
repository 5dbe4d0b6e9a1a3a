"""The requester, opposite a peer that is written out here."""

import random
from typing import Any, cast

import msgspec
import pytest

from ottla.errors import ErrorCode, Malformed, Refused
from ottla.protocol import apis
from ottla.protocol.compile import decode, encode
from ottla.protocol.connection import Connection
from ottla.protocol.facts import Part
from ottla.protocol.frame import encode_response, parse_request_header
from ottla.protocol.schema.api_versions import ApiVersion, ApiVersionsResponse
from ottla.protocol.schema.fetch import FetchableTopicResponse, FetchResponse, PartitionData
from ottla.protocol.schema.init_producer_id import InitProducerIdRequest
from ottla.protocol.schema.metadata import MetadataRequest, MetadataResponse
from ottla.protocol.schema.produce import PartitionProduceData, ProduceRequest, TopicProduceData
from tests.frames import complete_frames

RANGES = {0: (3, 10), 1: (4, 12), 3: (0, 9), 18: (0, 4), 22: (0, 6)}


def joined(parts: list[Part]) -> bytes:
    return b"".join(cast("list[bytes]", parts))


class Peer:
    """Reads requests and makes answers, with versions of its own."""

    def __init__(self, ranges: dict[int, tuple[int, int]] = RANGES) -> None:
        self.ranges = ranges

    def requests(self, data: bytes) -> list[tuple[Any, msgspec.Struct]]:
        frames, used = complete_frames(memoryview(data))
        assert used == len(data)
        found = []
        for frame in frames:
            header = parse_request_header(frame)
            body = frame[header.body_at :]
            found.append(
                (header, decode(apis.request_type(header.api_key), header.api_version, body))
            )
        return found

    def answer(self, header: Any, response: msgspec.Struct, version: int | None = None) -> bytes:
        version = header.api_version if version is None else version
        header_version = apis.response_header_version(header.api_key, version)
        return joined(
            encode_response(header.correlation_id, header_version, [encode(response, version)])
        )

    def versions(self, error: ErrorCode = ErrorCode.NONE) -> ApiVersionsResponse:
        keys = [ApiVersion(key, first, last) for key, (first, last) in self.ranges.items()]
        return ApiVersionsResponse(error_code=error, api_keys=keys)


def ready(ranges: dict[int, tuple[int, int]] = RANGES) -> tuple[Connection[str], Peer]:
    connection: Connection[str] = Connection("me")
    peer = Peer(ranges)
    [(header, _)] = peer.requests(joined(connection.hello()))
    assert connection.receive(peer.answer(header, peer.versions())) == []
    assert connection.ready
    return connection, peer


def test_versions_are_the_highest_that_both_know() -> None:
    connection, _ = ready({0: (0, 10), 1: (14, 99), 3: (14, 20), 18: (0, 4), 99: (0, 1)})
    assert connection.version(0) == 10
    assert connection.version(1) == 18
    assert connection.version(3) is None
    assert connection.version(2) is None
    assert connection.version(99) is None


def test_versions_in_the_making_are_not_used() -> None:
    connection, _ = ready()
    assert connection.version(22) == 5


def test_nothing_is_known_before_the_peer_has_answered() -> None:
    connection: Connection[str] = Connection("me")
    connection.hello()
    assert not connection.ready
    with pytest.raises(Refused):
        connection.send(MetadataRequest(), "early")


def test_a_request_bears_the_client_id_and_the_version_agreed() -> None:
    connection, peer = ready()
    [(header, request)] = peer.requests(joined(connection.send(MetadataRequest(), "a")))
    assert (header.api_key, header.api_version, header.client_id) == (3, 9, "me")
    assert request == MetadataRequest()


def test_a_version_can_be_held_down() -> None:
    connection, peer = ready()
    [(header, _)] = peer.requests(joined(connection.send(MetadataRequest(), "a", version_max=4)))
    assert header.api_version == 4


def test_a_peer_that_does_not_know_our_form_is_asked_again_in_one_that_it_names() -> None:
    connection: Connection[str] = Connection("me")
    peer = Peer({18: (0, 2), 3: (0, 1)})
    [(header, _)] = peer.requests(joined(connection.hello()))
    refusal = peer.versions(ErrorCode.UNSUPPORTED_VERSION)
    assert connection.receive(peer.answer(header, refusal, version=0)) == []
    assert not connection.ready
    [(again, _)] = peer.requests(joined(connection.take_parts()))
    assert again.api_version == 2
    connection.receive(peer.answer(again, peer.versions()))
    assert (connection.version(3), connection.take_parts()) == (1, [])


def test_a_peer_that_names_none_is_asked_in_the_oldest_form() -> None:
    connection: Connection[str] = Connection("me")
    peer = Peer({})
    [(header, _)] = peer.requests(joined(connection.hello()))
    connection.receive(peer.answer(header, peer.versions(ErrorCode.UNSUPPORTED_VERSION), version=0))
    [(again, _)] = peer.requests(joined(connection.take_parts()))
    assert again.api_version == 0


@pytest.mark.parametrize("code", [ErrorCode.UNSUPPORTED_VERSION, ErrorCode.INVALID_REQUEST])
def test_a_peer_that_will_not_say_its_versions_at_all_is_malformed(code: ErrorCode) -> None:
    connection: Connection[str] = Connection("me")
    peer = Peer({})
    parts = connection.hello()
    version = 0 if code == ErrorCode.UNSUPPORTED_VERSION else None
    if version == 0:
        [(first, _)] = peer.requests(joined(parts))
        connection.receive(peer.answer(first, peer.versions(code), version))
        parts = connection.take_parts()
    [(header, _)] = peer.requests(joined(parts))
    with pytest.raises(Malformed, match="refuses"):
        connection.receive(peer.answer(header, peer.versions(code), version))


def test_answers_come_back_with_the_tokens_of_their_requests_however_the_bytes_are_cut() -> None:
    source = random.Random(6)
    connection, peer = ready()
    tokens = [f"request {number}" for number in range(20)]
    sent = b"".join(joined(connection.send(MetadataRequest(), token)) for token in tokens)
    assert connection.in_flight == 20
    stream = b"".join(
        peer.answer(header, MetadataResponse(controller_id=number))
        for number, (header, _) in enumerate(peer.requests(sent))
    )
    answers = []
    while stream:
        size = source.randint(1, 40)
        answers += connection.receive(stream[:size])
        stream = stream[size:]
    assert [token for token, _ in answers] == tokens
    assert [cast("MetadataResponse", each).controller_id for _, each in answers] == [*range(20)]
    assert connection.in_flight == 0


def test_an_answer_out_of_order_is_malformed() -> None:
    connection, peer = ready()
    connection.send(MetadataRequest(), "first")
    [(second, _)] = peer.requests(joined(connection.send(MetadataRequest(), "second")))
    with pytest.raises(Malformed, match="was next"):
        connection.receive(peer.answer(second, MetadataResponse()))


def test_an_answer_that_nobody_asked_for_is_malformed() -> None:
    connection, _ = ready()
    with pytest.raises(Malformed, match="nobody"):
        connection.receive(b"\0\0\0\x05\0\0\0\x01\0")


def test_an_answer_with_bytes_to_spare_is_malformed() -> None:
    connection, peer = ready()
    [(header, _)] = peer.requests(joined(connection.send(MetadataRequest(), "a")))
    good = encode(MetadataResponse(), header.api_version)
    with pytest.raises(Malformed):
        connection.receive(joined(encode_response(header.correlation_id, 1, [good + b"\0"])))


def test_an_answer_above_the_bound_is_malformed_before_its_bytes_come() -> None:
    connection: Connection[str] = Connection("me", frame_bytes_max=100)
    with pytest.raises(Malformed):
        connection.receive(b"\0\0\0\x65")


def test_a_request_above_the_bound_is_refused_and_leaves_no_trace() -> None:
    connection: Connection[str] = Connection("me", frame_bytes_max=400)
    peer = Peer()
    [(header, _)] = peer.requests(joined(connection.hello()))
    connection.receive(peer.answer(header, peer.versions()))
    with pytest.raises(Refused):
        connection.send(produce(500), "large")
    assert connection.in_flight == 0
    [(_, request)] = peer.requests(joined(connection.send(produce(5), "small")))
    assert request == produce(5)


def produce(size: int) -> ProduceRequest:
    partition = PartitionProduceData(records=bytes(size))
    return ProduceRequest(topic_data=[TopicProduceData(name="t", partition_data=[partition])])


def test_a_request_without_an_answer_waits_for_none() -> None:
    connection, peer = ready()
    connection.send(produce(3), "lost", answered=False)
    assert connection.in_flight == 0
    [(header, _)] = peer.requests(joined(connection.send(MetadataRequest(), "found")))
    answers = connection.receive(peer.answer(header, MetadataResponse()))
    assert [token for token, _ in answers] == ["found"]


def test_records_of_an_answer_outlive_what_was_received() -> None:
    connection, peer = ready()
    from_peer = FetchResponse(
        responses=[FetchableTopicResponse(topic="t", partitions=[PartitionData(records=b"kept")])]
    )
    [(header, _)] = peer.requests(joined(connection.send(apis.request_type(1)(), "fetch")))
    data = bytearray(peer.answer(header, from_peer))
    [(_, answer)] = connection.receive(data)
    data[:] = bytes(len(data))
    connection.send(MetadataRequest(), "more")
    assert cast("FetchResponse", answer).responses[0].partitions[0].records == b"kept"


def test_correlation_ids_stay_positive_when_they_wrap() -> None:
    connection, peer = ready()
    connection._correlation_id = 0x7FFFFFFE
    ids = [
        header.correlation_id
        for _ in range(3)
        for header, _ in peer.requests(joined(connection.send(MetadataRequest(), "a")))
    ]
    assert ids == [0x7FFFFFFF, 1, 2]


def test_an_api_that_the_peer_lacks_is_refused_by_name() -> None:
    connection, _ = ready({18: (0, 4)})
    with pytest.raises(Refused, match="InitProducerId"):
        connection.send(InitProducerIdRequest(), "a")


def test_the_header_of_a_flexible_answer_may_hold_tags() -> None:
    connection, peer = ready()
    [(header, _)] = peer.requests(joined(connection.send(MetadataRequest(), "a")))
    body = header.correlation_id.to_bytes(4, "big") + b"\x01\x07\x02ab"
    body += encode(MetadataResponse(), 9)
    [(token, _)] = connection.receive(len(body).to_bytes(4, "big") + body)
    assert token == "a"
