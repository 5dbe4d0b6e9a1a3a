"""The compiled kernel and its plain twin: the same answer to any bytes at all.

Covers: ottla.records.kernel, ottla.records.kernel_twin
"""

import importlib
import os
import random
import subprocess
import sys
from collections.abc import Callable, Sequence
from types import ModuleType

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ottla.records import kernel, kernel_twin
from ottla.records.batch import BatchHeader, CorruptBatch, Record
from ottla.records.compress import Codec
from ottla.records.record import encode_batch
from ottla.records.rules import Fault, ProduceRules
from tests.unit.records.batches import (
    WALL_MS,
    header_mutated,
    mutated,
    patched,
    random_batch,
    record,
)

try:
    compiled: ModuleType | None = importlib.import_module("ottla.records._kernel")
except ImportError:
    compiled = None
needs_both = pytest.mark.skipif(compiled is None, reason=f"one kernel alone: {kernel.why}")

KERNELS = [pytest.param(kernel_twin, id="twin"), pytest.param(kernel, id="kernel")]
LONG_MAX = 2**63 - 1
LONGS = st.integers(-(2**63), LONG_MAX)


def answer(function: Callable[..., object], *arguments: object) -> object:
    """What it returned, or that it was corrupt and why."""
    try:
        return function(*arguments)
    except CorruptBatch as corrupt:
        return str(corrupt)


def agree(name: str, *arguments: object) -> object:
    ours = answer(getattr(kernel_twin, name), *arguments)
    theirs = answer(getattr(compiled, name), *arguments)
    assert ours == theirs, (name, arguments)
    assert type(ours) is type(theirs)
    return ours


def random_rules(source: random.Random) -> ProduceRules:
    return ProduceRules(
        batch_bytes_max=source.choice((1 << 20, 150)),
        compacted=source.random() < 0.3,
        log_append_time=source.random() < 0.2,
        timestamp_before_max_ms=source.choice((LONG_MAX, 2000, 0)),
        timestamp_after_max_ms=source.choice((LONG_MAX, 3_600_000, 0)),
        target_codec=source.choice((None, None, None, 0, 4)),
    )


@needs_both
def test_both_judge_20000_batches_alike() -> None:
    source = random.Random(20_000)
    seen: dict[int, int] = {}
    for _ in range(20_000):
        batch = memoryview(mutated(source))
        said = agree(
            "check_produced", batch, random_rules(source), source.choice((3, 7, 9)), WALL_MS
        )
        fault = getattr(said, "fault", Fault.NONE)
        seen[fault] = seen.get(fault, 0) + 1
    assert [fault for fault in Fault if not seen.get(fault)] == []


@needs_both
def test_both_scan_and_decode_hostile_records_alike() -> None:
    source = random.Random(1)
    for _ in range(3000):
        data = mutated(source)
        start = min(61, len(data))
        count = source.choice((0, 1, 2, 3, 8, 2**31 - 1))
        base = source.choice((0, -1, WALL_MS, LONG_MAX, -(2**63)))
        append_ms = source.choice((None, None, 0, -1, WALL_MS))
        rules = random_rules(source)
        agree("scan_records", data, start, len(data), count, base, append_ms, rules, WALL_MS)
        agree("decode_records", data, start, len(data), count, base, base, append_ms)
        bounds = source.choice((0, base, LONG_MAX)), source.choice((-1, base, WALL_MS, LONG_MAX))
        agree("find_record", data, start, len(data), count, base, base, append_ms, *bounds)


@needs_both
@given(data=st.binary(max_size=80), count=st.integers(0, 5), base=LONGS, wall_ms=LONGS)
def test_both_read_any_bytes_as_records_alike(
    data: bytes, count: int, base: int, wall_ms: int
) -> None:
    rules = ProduceRules(100, timestamp_before_max_ms=5, timestamp_after_max_ms=5)
    agree("scan_records", data, 0, len(data), count, base, None, rules, wall_ms)
    agree("decode_records", data, 0, len(data), count, base, base, None)
    agree("find_record", data, 0, len(data), count, base, base, None, base, wall_ms)
    agree("find_batch", data, base)
    agree("batch_spans", data)


@needs_both
def test_both_walk_a_log_alike() -> None:
    source = random.Random(2)
    for _ in range(1500):
        run = [random_batch(source, source.choice(list(Codec))) for _ in range(5)]
        run = [patched(batch, base_offset=10 * index) for index, batch in enumerate(run)]
        if source.random() < 0.7:
            at = source.randrange(5)
            run[at] = header_mutated(source, run[at])
        data = b"".join(run)
        data = data[: source.choice((len(data), source.randrange(len(data))))]
        agree("find_batch", data, source.choice((-1, 0, 9, 25, 41, 1000, LONG_MAX)))
        agree("batch_spans", data)
        agree("batch_spans", memoryview(data), len(run[0]))


TEXT = st.text(max_size=5)
CONTENT = st.none() | st.binary(max_size=200)


@needs_both
@given(
    records=st.lists(
        st.builds(Record, LONGS, LONGS, CONTENT, CONTENT, st.lists(st.tuples(TEXT, CONTENT))),
        max_size=6,
    ),
    base=LONGS,
)
def test_both_encode_records_alike(records: Sequence[Record], base: int) -> None:
    encoded = agree("encode_records", records, base)
    assert isinstance(encoded, bytes)
    decoded = agree("decode_records", encoded, 0, len(encoded), len(records), 100, base, None)
    assert decoded == [
        each._replace(offset=100 + index, headers=list(each.headers))
        for index, each in enumerate(records)
    ]


@needs_both
@given(
    times=st.lists(st.integers(-1, 6), max_size=8),
    append_ms=st.none() | st.integers(-1, 6),
    offset_min=st.integers(98, 109),
    timestamp_min=st.integers(-2, 7),
)
def test_both_find_the_record_that_a_list_of_them_would_give(
    times: list[int], append_ms: int | None, offset_min: int, timestamp_min: int
) -> None:
    data = kernel_twin.encode_records([record(timestamp_ms=time) for time in times], 3)
    where = (data, 0, len(data), len(times), 100, 3, append_ms)

    found = agree("find_record", *where, offset_min, timestamp_min)

    reaching = (
        (each.offset, each.timestamp_ms)
        for each in kernel_twin.decode_records(*where)
        if each.offset >= offset_min and each.timestamp_ms >= timestamp_min
    )
    assert found == next(reaching, None)


@pytest.mark.parametrize("which", KERNELS)
def test_what_stands_behind_the_record_that_is_found_is_not_read(which: ModuleType) -> None:
    data = which.encode_records([record()], WALL_MS) + b"no record"
    assert which.find_record(data, 0, len(data), 2, 7, WALL_MS, None, 0, WALL_MS) == (7, WALL_MS)
    with pytest.raises(CorruptBatch):
        which.find_record(data, 0, len(data), 2, 7, WALL_MS, None, 0, WALL_MS + 1)
    with pytest.raises(CorruptBatch):
        which.find_record(data, 0, len(data), 1, 7, WALL_MS, None, 0, WALL_MS + 1)


@pytest.mark.parametrize("which", KERNELS)
def test_the_batch_that_holds_an_offset_is_found(which: ModuleType) -> None:
    three = [encode_batch([record()] * 3, base_offset=offset) for offset in (10, 13, 20)]
    run, size = b"".join(three), len(three[0])
    found = [which.find_batch(run, offset) for offset in (0, 10, 12, 13, 15, 16, 22, 23)]
    assert found == [
        *((0, size), (0, size), (0, size), (size, size), (size, size)),
        *((2 * size, size), (2 * size, size), (3 * size, 0)),
    ]


@pytest.mark.parametrize("which", KERNELS)
def test_a_batch_that_the_bytes_cut_is_found_by_its_first_27(which: ModuleType) -> None:
    batch = encode_batch([record()], base_offset=5)
    assert which.find_batch(batch[:27], 5) == (0, len(batch))
    assert which.find_batch(batch[:26], 5) == (0, 0)
    assert which.find_batch(batch[:27], 6) == (len(batch), 0)


@pytest.mark.parametrize("which", KERNELS)
@pytest.mark.parametrize("field", [{"magic": 1}, {"batch_length": 48}, {"batch_length": -1}])
def test_what_is_no_batch_is_not_walked_over(which: ModuleType, field: dict[str, int]) -> None:
    batch = encode_batch([record()])
    with pytest.raises(CorruptBatch):
        which.find_batch(batch + patched(batch, **field), 1)


@pytest.mark.parametrize("which", KERNELS)
def test_sound_batches_are_listed_up_to_the_first_that_is_not(which: ModuleType) -> None:
    good = [encode_batch([record()], base_offset=offset) for offset in range(3)]
    size = len(good[0])
    rotten = bytearray(good[2])
    rotten[-1] ^= 1
    headers, end, why = which.batch_spans(b"".join(good[:2]) + bytes(rotten))
    assert [header.base_offset for header in headers] == [0, 1]
    assert all(type(header) is BatchHeader for header in headers)
    assert (end, why) == (2 * size, f"CRC {int.from_bytes(rotten[17:21], 'big')}")
    assert which.batch_spans(b"".join(good)[:-1])[1:] == (2 * size, None)
    assert which.batch_spans(b"".join(good), size)[1:] == (3 * size, None)
    assert which.batch_spans(good[0] + bytes(70))[1:] == (size, "no batch header")


@pytest.mark.parametrize("which", KERNELS)
@pytest.mark.parametrize("size", [1, 7, 3000, 5000, 100_000])
def test_the_crc_of_short_and_long_batches_is_checked(which: ModuleType, size: int) -> None:
    batch = encode_batch([record(value=b"v" * size)])
    flipped = bytearray(batch)
    flipped[-2] ^= 4
    assert len(which.batch_spans(b"x" + batch, 1)[0]) == 1
    assert which.batch_spans(flipped)[0] == []
    rules = ProduceRules(1 << 20)
    assert which.check_produced(memoryview(flipped), rules, 9, WALL_MS).fault == Fault.CRC


@pytest.mark.parametrize("which", KERNELS)
def test_header_names_that_are_no_text_survive(which: ModuleType) -> None:
    encoded = which.encode_records([record(headers=(("h", b"x"),))], WALL_MS)
    wild = encoded.replace(b"\x02h", b"\x02\xff")
    (decoded,) = which.decode_records(wild, 0, len(wild), 1, 0, WALL_MS, None)
    assert which.encode_records([decoded], WALL_MS) == wild


@needs_both
@pytest.mark.parametrize(
    "wrong",
    [
        (0, 0, memoryview(b"k"), None, ()),
        (0, 0, None, "text", ()),
        (0, 0, None, None, ((b"h", b"x"),)),
        (0, 0, None, None, (("h", 7),)),
        (0, 2**63, None, None, ()),
        (1, 2),
    ],
)
def test_what_is_no_record_is_an_exception(wrong: tuple[object, ...]) -> None:
    assert compiled is not None
    with pytest.raises((TypeError, ValueError, OverflowError)):
        compiled.encode_records([wrong], 0)


def test_the_environment_can_ask_for_the_twin() -> None:
    program = "from ottla.records import kernel; print(kernel.KERNEL, '|', kernel.why)"
    said = subprocess.run(
        [sys.executable, "-c", program],
        env=os.environ | {"OTTLA_KERNEL": "python"},
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    assert said.startswith("python | ")
