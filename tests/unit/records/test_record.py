"""Records in and out of batches, beside what Kafka and two other clients make of them."""

import importlib
import warnings
from typing import Any

import aiokafka.record.default_records as aiokafka_records
import pytest

from ottla.records.batch import HEADER_BYTES, CorruptBatch, Record, check_crc, read_header
from ottla.records.compress import Codec, TooLarge, decompress
from ottla.records.record import decode_batch, decode_fetched, encode_batch, find_in_batch
from tests.unit.records.batches import WALL_MS, patched, record, resealed
from tests.unit.records.recorded import bytes_of, operations, word_of

with warnings.catch_warnings():
    # It reads its own files in a way that Python 3.11 deprecates, while it is imported.
    warnings.simplefilter("ignore", DeprecationWarning)
    kafka_python_records = importlib.import_module("kafka.record.default_records")

RECORDS = [
    Record(0, WALL_MS, b"key", b"value", [("name", b"x"), ("", None)]),
    Record(1, WALL_MS + 1500, None, b"v" * 300, []),
    Record(2, WALL_MS - 70_000, b"", None, [("é", b"")]),
]


def records_of(words: list[str]) -> list[Record]:
    records = []
    for word in words:
        timestamp, key, value, *rest = word.split(":")
        headers = [
            ((bytes_of(name) or b"").decode(), bytes_of(content))
            for name, content in zip(rest[::2], rest[1::2], strict=True)
        ]
        records.append(Record(0, int(timestamp), bytes_of(key), bytes_of(value), headers))
    return records


def words_of(records: list[Record]) -> list[str]:
    words = []
    for each in records:
        parts = [str(each.offset), str(each.timestamp_ms), word_of(each.key), word_of(each.value)]
        for name, content in each.headers:
            parts += (word_of(name.encode()), word_of(content))
        words.append(":".join(parts))
    return words


def test_batches_are_built_as_kafka_builds_them() -> None:
    built = [(words, said) for words, said in operations("encoding") if words[0] == "build"]
    for words, (said,) in built:
        codec, base_offset, leader_epoch, producer_id, epoch, sequence, tx = map(int, words[1:8])
        theirs = bytes.fromhex(said)
        ours = encode_batch(
            records_of(words[8:]),
            codec=codec,
            base_offset=base_offset,
            leader_epoch=leader_epoch,
            producer_id=producer_id,
            producer_epoch=epoch,
            base_sequence=sequence,
            transactional=bool(tx),
        )
        if codec == Codec.NONE:
            assert ours == theirs
        sizes = {"crc": 0, "batch_length": 0}
        assert read_header(ours)._replace(**sizes) == read_header(theirs)._replace(**sizes)
        assert decode_batch(ours) == decode_batch(theirs)
    assert len(built) == 120


def test_kafka_reads_out_of_our_batches_what_we_read() -> None:
    read = [(words, said) for words, said in operations("encoding") if words[0] == "read"]
    for words, said in read:
        assert words_of(decode_batch(bytes.fromhex(words[1]))) == said
    assert len(read) == 30


def of_client(module: Any, codec: int) -> bytes:
    builder = module.DefaultRecordBatchBuilder(
        magic=2,
        compression_type=codec,
        is_transactional=1,
        producer_id=5,
        producer_epoch=3,
        base_sequence=9,
        batch_size=1 << 16,
    )
    for each in RECORDS:
        builder.append(
            each.offset, each.timestamp_ms, each.key, each.value, headers=list(each.headers)
        )
    return bytes(builder.build())


def ours(codec: int) -> bytes:
    return encode_batch(
        RECORDS,
        codec=codec,
        producer_id=5,
        producer_epoch=3,
        base_sequence=9,
        transactional=True,
    )


# kafka-python has no Snappy without one more package.
CLIENTS = [(aiokafka_records, codec) for codec in Codec]
CLIENTS += [(kafka_python_records, codec) for codec in Codec if codec != Codec.SNAPPY]
NAMES = [f"{client.__name__.partition('.')[0]}-{codec.name}" for client, codec in CLIENTS]


@pytest.mark.parametrize(("client", "codec"), CLIENTS, ids=NAMES)
def test_other_clients_batches_differ_from_ours_by_their_compressor_alone(
    client: Any, codec: int
) -> None:
    theirs = of_client(client, codec)
    mine = ours(codec)
    # Clients leave the epoch for the broker to set, each with another number in it.
    at = 16 if codec == Codec.NONE else 21
    fields = HEADER_BYTES if codec else len(mine)
    assert mine[at:fields] == theirs[at:fields]
    assert decode_batch(theirs) == RECORDS
    assert decompress(codec, mine[HEADER_BYTES:], 10_000) == decompress(
        codec, theirs[HEADER_BYTES:], 10_000
    )


@pytest.mark.parametrize(("client", "codec"), CLIENTS, ids=NAMES)
def test_other_clients_read_our_batches(client: Any, codec: int) -> None:
    batch = client.DefaultRecordBatch(ours(codec))
    assert batch.validate_crc()
    read = [
        Record(each.offset, each.timestamp, each.key, each.value, list(each.headers))
        for each in batch
    ]
    assert read == RECORDS


def test_append_time_stands_in_for_the_times_of_all_records() -> None:
    batch = encode_batch(RECORDS, log_append_time_ms=WALL_MS + 5)
    assert [each.timestamp_ms for each in decode_batch(batch)] == [WALL_MS + 5] * 3
    assert decode_batch(patched(batch, attributes=0)) == RECORDS


def test_offsets_count_from_the_base_offset() -> None:
    batch = encode_batch(RECORDS, base_offset=2**40)
    assert [each.offset - 2**40 for each in decode_batch(batch)] == [0, 1, 2]
    assert decode_batch(b"before" + batch, 6) == decode_batch(batch)


def test_what_a_broker_cut_short_is_left_for_the_next_fetch() -> None:
    run = b"".join(encode_batch([record()], base_offset=offset) for offset in (5, 6, 7))
    whole = [(header.base_offset, len(records)) for header, records in decode_fetched(run)]
    assert whole == [(5, 1), (6, 1), (7, 1)]
    assert len(decode_fetched(run[:-1])) == 2
    assert decode_fetched(run[:40]) == decode_fetched(b"") == []


@pytest.mark.parametrize("codec", list(Codec))
def test_a_batch_that_is_not_what_it_was_is_corrupt(codec: Codec) -> None:
    batch = bytearray(encode_batch(RECORDS, codec=codec))
    batch[-1] ^= 1
    with pytest.raises(CorruptBatch):
        decode_batch(batch)
    for wrong in (
        patched(batch, record_count=4),
        patched(batch, record_count=2),
        patched(batch, attributes=7),
        patched(batch, batch_length=len(batch)),
        resealed(batch[:-1]),
    ):
        with pytest.raises(CorruptBatch):
            decode_batch(wrong)


def test_a_reader_sets_how_far_a_batch_may_grow() -> None:
    batch = encode_batch([record(value=bytes(100_000))], codec=Codec.ZSTD)
    with pytest.raises(TooLarge):
        decode_batch(batch, bytes_max=100_000)
    with pytest.raises(TooLarge):
        decode_fetched(batch, bytes_max=100_000)


def test_an_empty_batch_that_compaction_kept_has_no_records() -> None:
    batch = patched(encode_batch([record()])[:HEADER_BYTES], batch_length=49, record_count=0)
    assert check_crc(batch, 0, len(batch))
    assert decode_batch(batch) == []


@pytest.mark.parametrize("codec", list(Codec))
def test_a_record_of_a_batch_is_found_by_its_time_and_offset(codec: Codec) -> None:
    batch = encode_batch(RECORDS, base_offset=40, codec=codec)
    assert find_in_batch(batch, 40, WALL_MS) == (40, WALL_MS)
    assert find_in_batch(batch, 40, WALL_MS + 1) == (41, WALL_MS + 1500)
    assert find_in_batch(batch, 42, 0) == (42, WALL_MS - 70_000)
    assert find_in_batch(batch, 42, WALL_MS) is None


def test_records_of_a_batch_that_got_its_time_from_the_log_are_all_as_old() -> None:
    batch = encode_batch(RECORDS, log_append_time_ms=WALL_MS + 5)
    assert find_in_batch(batch, 1, WALL_MS + 5) == (1, WALL_MS + 5)
    assert find_in_batch(batch, 0, WALL_MS + 6) is None


def test_a_search_reads_no_rotten_batch_and_inflates_none_without_a_bound() -> None:
    batch = bytearray(encode_batch([record(value=bytes(5000))], codec=Codec.LZ4))
    with pytest.raises(TooLarge):
        find_in_batch(batch, 0, 0, bytes_max=4999)
    with pytest.raises(CorruptBatch):
        find_in_batch(batch[:-1], 0, 0)
    batch[-1] ^= 1
    with pytest.raises(CorruptBatch):
        find_in_batch(batch, 0, 0)
