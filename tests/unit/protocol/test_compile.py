"""Messages to bytes and back, in every version.

Covers: ottla.protocol.decoding, ottla.protocol.encoding, ottla.protocol.shape
Covers: ottla.protocol.source
"""

import json
import linecache
import random
from pathlib import Path
from typing import cast

import msgspec
import pytest

from ottla.protocol.compile import (
    UnsupportedVersion,
    decode,
    decoder,
    encode,
    encoder,
    pure_decoder,
)
from ottla.protocol.facts import Part
from ottla.protocol.schema import records_group, records_metadata
from ottla.protocol.schema.api_versions import ApiVersionsRequest, ApiVersionsResponse
from ottla.protocol.schema.fetch import (
    FetchableTopicResponse,
    FetchRequest,
    FetchResponse,
    LeaderIdAndEpoch,
    PartitionData,
)
from ottla.protocol.schema.headers import RequestHeader
from ottla.protocol.schema.metadata import MetadataRequest, MetadataRequestTopic
from ottla.protocol.schema.produce import (
    PartitionProduceData,
    ProduceRequest,
    ProduceResponse,
    TopicProduceData,
)
from tools.kafka_schema_check import messages_of, read_table
from tools.kafka_schema_samples import every_version, random_message

RECORDED = json.loads((Path(__file__).parent / "recorded" / "records.json").read_text())


def produce(records: bytes | memoryview | None = b"batch") -> ProduceRequest:
    partition = PartitionProduceData(index=1, records=records)
    topic = TopicProduceData(name="t", partition_data=[partition])
    return ProduceRequest(acks=-1, timeout_ms=1500, topic_data=[topic])


EPOCH_5 = ApiVersionsResponse(finalized_features_epoch=5)
OLD_RECORDS = "00000001 000174 00000001 00000001 00000005 6261746368"
FETCH = "ffffffff 00000000 00000000 7fffffff 00 00000000 ffffffff 01 01 01"

EXAMPLES: list[tuple[str, msgspec.Struct, int, str]] = [
    ("nothing at all", ApiVersionsRequest(), 0, ""),
    ("compact strings", ApiVersionsRequest("a", "b"), 3, "0261 0262 00"),
    ("an old string", RequestHeader(18, 0, 7, "me"), 1, "0012 0000 00000007 0002 6d65"),
    ("a null string", RequestHeader(18, 0, 7, None), 1, "0012 0000 00000007 ffff"),
    ("a string never compact", RequestHeader(18, 3, 7, "me"), 2, "0012 0003 00000007 00026d65 00"),
    ("a null list", MetadataRequest(topics=None), 1, "ffffffff"),
    ("a compact null list", MetadataRequest(topics=None), 9, "00 01 00 00 00"),
    ("old records", produce(), 3, "ffff ffff 000005dc" + OLD_RECORDS),
    ("compact records", produce(), 9, "00 ffff 000005dc 02 0274 02 00000001 066261746368 00 00 00"),
    ("null records", produce(None), 9, "00 ffff 000005dc 02 0274 02 00000001 00 00 00 00"),
    ("a tagged integer", EPOCH_5, 3, "0000 01 00000000 01 01 08 0000000000000005"),
    ("a tagged default", ApiVersionsResponse(), 3, "0000 01 00000000 00"),
    ("a tagged string", FetchRequest(cluster_id="c"), 12, FETCH + "01 00 02 0263"),
]


@pytest.mark.parametrize(
    ("message", "version", "data"),
    [case[1:] for case in EXAMPLES],
    ids=[case[0] for case in EXAMPLES],
)
def test_a_message_is_exactly_these_bytes(message: msgspec.Struct, version: int, data: str) -> None:
    assert encode(message, version).hex() == data.replace(" ", "")
    assert decode(type(message), version, bytes.fromhex(data)) == message


def test_every_version_of_every_message_reads_what_it_writes() -> None:
    source = random.Random(3)
    for _, message, version in every_version():
        for sample in (message(), random_message(message, version, source, longest=2)):
            assert decode(message, version, encode(sample, version)) == sample


@pytest.mark.parametrize("case", RECORDED)
def test_an_internal_record_as_kafka_wrote_it_is_read_and_written_alike(case: str) -> None:
    module, name, version = case.split(".")
    data = bytes.fromhex(RECORDED[case])
    message = messages_of(read_table()[module])[name]
    assert encode(decode(message, int(version), data), int(version)) == data


def test_records_are_lent_as_views_of_the_frame() -> None:
    frame = bytearray(encode(produce(), 9))
    request, _ = decoder(ProduceRequest, 9)(memoryview(frame), 0)
    lent = cast("memoryview", request.topic_data[0].partition_data[0].records)
    frame[frame.index(b"batch")] = ord("B")
    assert bytes(lent) == b"Batch"


def test_bytes_other_than_records_are_copied() -> None:
    kept = records_group.ConsumerProtocolAssignment(user_data=b"kept")
    frame = bytearray(encode(kept, 0))
    read, _ = decoder(records_group.ConsumerProtocolAssignment, 0)(memoryview(frame), 0)
    frame[:] = bytes(len(frame))
    assert read == kept


class Slice:
    """Stands for a piece of a segment file."""

    def __len__(self) -> int:
        return 300


@pytest.mark.parametrize("version", [4, 11, 12, 17])
def test_a_slice_of_a_file_stands_unjoined_among_joined_bytes(version: int) -> None:
    first, second = Slice(), Slice()
    partitions = [PartitionData(records=first), PartitionData(), PartitionData(records=second)]
    response = FetchResponse(responses=[FetchableTopicResponse(partitions=partitions)])
    parts: list[Part] = []
    encoder(FetchResponse, version)(response, parts)
    assert parts[1] is first
    assert parts[3] is second
    assert [type(part) for part in parts] in (
        [bytes, Slice, bytes, Slice],
        [bytes, Slice, bytes, Slice, bytes],
    )
    in_memory = [bytes(300) if isinstance(part, Slice) else part for part in parts]
    read = decode(FetchResponse, version, b"".join(cast("list[bytes]", in_memory)))
    assert len(read.responses[0].partitions) == 3


def test_small_things_come_as_one_part() -> None:
    parts: list[Part] = []
    encoder(ProduceResponse, 9)(ProduceResponse(), parts)
    assert len(parts) == 1


def test_a_decoder_begins_where_it_is_told_and_says_where_it_ended() -> None:
    data = b"before" + encode(produce(), 9) + b"after"
    request, end = decoder(ProduceRequest, 9)(memoryview(data), 6)
    assert (request, data[end:]) == (produce(), b"after")


def test_an_ignorable_value_is_dropped_where_the_version_lacks_it() -> None:
    plain = ApiVersionsResponse()
    throttled = ApiVersionsResponse(throttle_time_ms=9)
    assert encode(throttled, 0) == encode(plain, 0)


@pytest.mark.parametrize(
    ("message", "version"),
    [
        (ProduceResponse(node_endpoints=[]), 9),
        (FetchRequest(session_epoch=-1), 4),
        (MetadataRequest(allow_auto_topic_creation=True), 0),
    ],
)
def test_a_default_is_left_out_where_the_version_lacks_it(
    message: msgspec.Struct, version: int
) -> None:
    assert decode(type(message), version, encode(message, version)) == message


def redirected() -> FetchResponse:
    partition = PartitionData(current_leader=LeaderIdAndEpoch(leader_id=2))
    return FetchResponse(responses=[FetchableTopicResponse(partitions=[partition])])


@pytest.mark.parametrize(
    ("message", "version"),
    [
        (FetchRequest(replica_id=3), 15),
        (MetadataRequest(allow_auto_topic_creation=False), 3),
        (MetadataRequest(topics=None), 0),
        (redirected(), 11),
        (records_metadata.PartitionRecord(directories=[bytes(16)]), 0),
    ],
)
def test_a_value_that_must_not_be_lost_is_refused_where_the_version_lacks_it(
    message: msgspec.Struct, version: int
) -> None:
    with pytest.raises(UnsupportedVersion):
        encode(message, version)


def test_a_tagged_struct_is_written_only_when_it_says_something() -> None:
    assert len(encode(redirected(), 12)) == len(
        encode(FetchResponse(responses=[FetchableTopicResponse(partitions=[PartitionData()])]), 12)
    ) + len(bytes.fromhex("01 09 00000002 ffffffff 00"))
    assert decode(FetchResponse, 12, encode(redirected(), 12)) == redirected()


@pytest.mark.parametrize(("message", "version"), [(ProduceRequest, 2), (ProduceRequest, 14)])
def test_a_version_that_kafka_does_not_have_is_refused(
    message: type[ProduceRequest], version: int
) -> None:
    with pytest.raises(UnsupportedVersion):
        decoder(message, version)
    with pytest.raises(UnsupportedVersion):
        encoder(message, version)


def test_a_string_longer_than_a_short_counts_is_refused() -> None:
    topics = [MetadataRequestTopic(name="x" * 32768)]
    with pytest.raises(ValueError, match="a string of 32768 bytes"):
        encode(MetadataRequest(topics=topics), 9)


@pytest.mark.parametrize("size", [0, 1, 126, 127, 128, 300, 16_382, 16_383, 16_384, 32_767])
def test_strings_of_every_length_survive(size: int) -> None:
    for version in (1, 9):
        request = MetadataRequest(topics=[MetadataRequestTopic(name="x" * size)])
        assert decode(MetadataRequest, version, encode(request, version)) == request


@pytest.mark.parametrize("size", [0, 126, 127, 128, 16_383, 16_384, 2_097_150, 2_097_152])
def test_records_of_every_length_survive(size: int) -> None:
    for version in (3, 9):
        assert decode(ProduceRequest, version, encode(produce(bytes(size)), version)) == produce(
            bytes(size)
        )


@pytest.mark.parametrize("count", [0, 1, 7, 8, 9, 200])
def test_lists_of_every_length_survive(count: int) -> None:
    for version in (0, 2):
        partition = records_metadata.PartitionRecord(replicas=[*range(-1, count - 1)])
        data = encode(partition, version)
        assert decode(records_metadata.PartitionRecord, version, data) == partition


def test_a_function_is_generated_once_and_its_source_can_be_read() -> None:
    assert decoder(ProduceRequest, 9) is decoder(ProduceRequest, 9)
    assert encoder(ProduceRequest, 9) is encoder(ProduceRequest, 9)
    assert pure_decoder(ProduceRequest, 9) is pure_decoder(ProduceRequest, 9)
    assert "def decode" in linecache.getline("<decode ProduceRequest v9>", 1)


def test_metadata_record_types_are_found_by_their_number() -> None:
    assert records_metadata.RECORD_TYPES[2] is records_metadata.TopicRecord
    assert len(records_metadata.RECORD_TYPES) == 26
