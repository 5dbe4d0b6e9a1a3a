"""What may enter a log. Expected answers are those of Kafka's own validator, recorded."""

import random
import tracemalloc

import pytest

from ottla.errors import ErrorCode, Refused
from ottla.records import kernel, kernel_twin, validate
from ottla.records.batch import HEADER_BYTES, Record, check_crc, read_header
from ottla.records.compress import Codec, compress, decompress
from ottla.records.record import encode_batch
from ottla.records.rules import RECORD_ERRORS_MAX
from ottla.records.validate import ProduceRules, RefusedRecords, Validated, validate_produced
from tests.unit.records.batches import WALL_MS, mutated, patched, record, with_payload
from tests.unit.records.recorded import operations

RULES = ProduceRules(1 << 20)
VERSION = 9


@pytest.fixture(params=["kernel", "twin"])
def either_kernel(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """The one that this installation chose, and the twin that serves where nothing compiles."""
    if request.param == "twin":
        monkeypatch.setattr(validate, "check_produced", kernel_twin.check_produced)
        monkeypatch.setattr(validate, "scan_records", kernel_twin.scan_records)


def outcome(
    batch: bytes, rules: ProduceRules = RULES, version: int = VERSION, wall_ms: int = WALL_MS
) -> Validated | Refused:
    try:
        return validate_produced(memoryview(batch), rules, version, wall_ms)
    except Refused as refused:
        return refused


def appended(validated: Validated) -> bytes:
    return b"".join(validated.stamped_parts(1000, 7))


def without_compressor(batch: bytes) -> tuple[object, bytes]:
    """What is left to compare where two implementations of a codec wrote the bytes."""
    header = read_header(batch)
    payload = decompress(header.codec, batch[HEADER_BYTES:], 1 << 20)
    return header._replace(crc=0, batch_length=0), payload


def as_recorded(outcome: Validated | Refused, said: list[str], recoded: bool) -> list[str]:
    if isinstance(outcome, RefusedRecords):
        return [str(int(outcome.code)), ",".join(str(index) for index, _ in outcome.record_errors)]
    if isinstance(outcome, Refused):
        return [str(int(outcome.code))]
    batch = appended(outcome)
    if recoded and said[0] == "0":
        theirs = bytes.fromhex(said[2])
        assert check_crc(batch, 0, len(batch))
        if without_compressor(batch) == without_compressor(theirs):
            return ["0", str(outcome.max_timestamp_ms), said[2]]
    return ["0", str(outcome.max_timestamp_ms), batch.hex()]


@pytest.mark.usefixtures("either_kernel")
def test_every_recorded_batch_gets_the_answer_that_kafka_gave() -> None:
    wrong = []
    for words, said in operations("validation"):
        version, compacted, append_time, before, after, wall_ms, target, most = map(int, words[1:9])
        rules = ProduceRules(
            batch_bytes_max=most,
            compacted=bool(compacted),
            log_append_time=bool(append_time),
            timestamp_before_max_ms=before,
            timestamp_after_max_ms=after,
            target_codec=None if target < 0 else target,
        )
        batch = b"" if words[9] == "empty" else bytes.fromhex(words[9])
        ours = as_recorded(outcome(batch, rules, version, wall_ms), said, target >= 0)
        if ours != said:
            wrong.append((words, said, ours))
    assert wrong == []


@pytest.mark.usefixtures("either_kernel")
def test_a_sound_batch_is_appended_as_the_view_that_was_lent() -> None:
    records = [record(timestamp_ms=WALL_MS + delta) for delta in (0, 5, 3)]
    batch = encode_batch(records, producer_id=5, producer_epoch=2, base_sequence=2**31 - 1)
    lent = memoryview(batch)
    assert validate_produced(lent, RULES, VERSION, WALL_MS) == Validated(
        batch=lent,
        size=len(batch),
        record_count=3,
        last_offset_delta=2,
        max_timestamp_ms=WALL_MS + 5,
        max_timestamp_delta=2,
        log_append_time_ms=-1,
        crc=int.from_bytes(batch[17:21], "big"),
        producer_id=5,
        producer_epoch=2,
        base_sequence=2**31 - 1,
        last_sequence=1,
        is_transactional=False,
    )


@pytest.mark.parametrize("codec", list(Codec))
@pytest.mark.usefixtures("either_kernel")
def test_append_time_is_written_into_a_copy(codec: Codec) -> None:
    batch = encode_batch([record(timestamp_ms=5), record(timestamp_ms=-1)], codec=codec)
    validated = outcome(batch, RULES._replace(log_append_time=True))
    assert isinstance(validated, Validated)
    header = read_header(validated.batch)
    assert check_crc(validated.batch, 0, len(batch))
    assert (header.max_timestamp, header.timestamp_type) == (WALL_MS, 1)
    assert (validated.max_timestamp_ms, validated.log_append_time_ms) == (WALL_MS, WALL_MS)
    assert validated.crc == header.crc
    assert batch[HEADER_BYTES:] == bytes(validated.batch[HEADER_BYTES:])


@pytest.mark.usefixtures("either_kernel")
def test_a_header_that_lies_about_its_newest_record_is_put_right() -> None:
    batch = patched(encode_batch([record(timestamp_ms=WALL_MS - 9)]), max_timestamp=WALL_MS)
    validated = outcome(batch)
    assert isinstance(validated, Validated)
    assert validated.max_timestamp_ms == read_header(validated.batch).max_timestamp == WALL_MS - 9
    assert check_crc(validated.batch, 0, len(batch))


@pytest.mark.parametrize("codec", list(Codec))
@pytest.mark.parametrize("target", list(Codec))
@pytest.mark.usefixtures("either_kernel")
def test_a_topic_with_a_codec_of_its_own_gets_it(codec: Codec, target: Codec) -> None:
    batch = encode_batch([record(), record(key=None)], codec=codec)
    validated = outcome(batch, RULES._replace(target_codec=target))
    assert isinstance(validated, Validated)
    header = read_header(validated.batch)
    assert (header.codec, header.size) == (target, len(validated.batch))
    assert decompress(target, validated.batch[HEADER_BYTES:], 1000) == decompress(
        codec, batch[HEADER_BYTES:], 1000
    )


def test_what_grows_past_the_limit_by_its_new_codec_is_too_large() -> None:
    batch = encode_batch([record()])
    refused = outcome(batch, ProduceRules(len(batch), target_codec=Codec.GZIP))
    assert isinstance(refused, Refused)
    assert refused.code is ErrorCode.MESSAGE_TOO_LARGE


@pytest.mark.usefixtures("either_kernel")
def test_offset_deltas_must_count_up_though_kafka_lets_them_pass() -> None:
    """A consumer would skip or repeat offsets: poison, which D7 keeps out of a log."""
    batch = encode_batch([record(), record()])
    payload = bytearray(batch[HEADER_BYTES:])
    payload[len(payload) // 2 + 3] = 6
    refused = outcome(with_payload(batch, bytes(payload)))
    assert isinstance(refused, Refused)
    assert refused.code is ErrorCode.INVALID_RECORD


@pytest.mark.parametrize("codec", [codec for codec in Codec if codec])
@pytest.mark.usefixtures("either_kernel")
def test_compressed_records_must_have_the_size_they_state_though_kafka_skips_over_it(
    codec: Codec,
) -> None:
    batch = encode_batch([record()], codec=codec)
    payload = bytearray(decompress(codec, batch[HEADER_BYTES:], 1000))
    payload[0] += 2
    refused = outcome(with_payload(batch, compress(codec, bytes(payload))))
    assert isinstance(refused, Refused)
    assert refused.code is ErrorCode.INVALID_RECORD


@pytest.mark.usefixtures("either_kernel")
def test_bad_records_are_named_up_to_a_bound() -> None:
    batch = encode_batch([record(key=None)] * (RECORD_ERRORS_MAX + 50))
    refused = outcome(batch, RULES._replace(compacted=True))
    assert isinstance(refused, RefusedRecords)
    assert [index for index, _ in refused.record_errors] == list(range(RECORD_ERRORS_MAX))
    assert refused.record_errors[0][1] == "a compacted topic takes no record without a key"


@pytest.mark.parametrize("codec", [codec for codec in Codec if codec])
def test_a_bomb_is_too_large_and_takes_no_more_memory_than_its_cap(codec: Codec) -> None:
    rules = ProduceRules(8 << 20)
    bomb = compress(codec, bytes(128 << 20))
    batch = with_payload(encode_batch([record()], codec=codec), bomb)
    tracemalloc.start()
    refused = outcome(batch, rules)
    _, peak_bytes = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert isinstance(refused, Refused)
    assert refused.code is ErrorCode.MESSAGE_TOO_LARGE
    assert peak_bytes <= 3 * rules.decompressed_bytes_max


def test_a_snappy_block_that_claims_gigabytes_is_too_large_before_it_is_read() -> None:
    claim = b"\xff\xff\xff\xff\x0f"
    batch = with_payload(encode_batch([record()], codec=Codec.SNAPPY), claim + b"\0" * 20)
    refused = outcome(batch)
    assert isinstance(refused, Refused)
    assert refused.code is ErrorCode.MESSAGE_TOO_LARGE


def test_whatever_the_bytes_an_answer_is_one_of_these_codes() -> None:
    allowed = (87, 2, 10, -1, 76, 32)
    source = random.Random(4)
    for _ in range(2000):
        codec = source.choice(list(Codec))
        said = outcome(mutated(source, codec), ProduceRules(200), source.choice((3, 9)))
        assert isinstance(said, Validated) or said.code in allowed


def test_the_kernel_here_is_named() -> None:
    assert (kernel.KERNEL, bool(kernel.why)) in (("compiled", False), ("python", True))
    assert isinstance(kernel.find_batch(encode_batch([Record(0, 0, None, None)]), 0), tuple)
