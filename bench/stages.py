"""The stages of D7's budget: what each step of a small request costs by itself, in this process.

A stage is a function under `@stage(path, name)`. It prepares what it needs and returns the call
that is timed; what it times it imports itself, so that a stage whose package is not built yet says
so by name instead of stopping the bench.
"""

import os
import tempfile
import time
import timeit
from collections.abc import Callable
from typing import NamedTuple, cast

from bench.results import StageResult

Call = Callable[[], object]
REPEATS = 5
REPEAT_S = 0.2
QUICK_REPEAT_S = 0.02
VALUE = b"x" * 100
TOPIC = "orders"


class Stage(NamedTuple):
    path: str
    name: str
    prepare: Callable[[], Call]


STAGES: list[Stage] = []


def stage(path: str, name: str) -> Callable[[Callable[[], Call]], Callable[[], Call]]:
    def register(prepare: Callable[[], Call]) -> Callable[[], Call]:
        STAGES.append(Stage(path, name, prepare))
        return prepare

    return register


def measure(quick: bool = False) -> list[StageResult]:
    return [_measure(one, QUICK_REPEAT_S if quick else REPEAT_S) for one in STAGES]


def _measure(one: Stage, repeat_s: float) -> StageResult:
    try:
        call = one.prepare()
    except ImportError as missing:
        return StageResult(one.path, one.name, None, f"{missing.name} is not built")
    timer = timeit.Timer(call)
    once, taken = timer.autorange(None)
    times = max(1, int(once * repeat_s / taken))
    # The least is the cost; what is above it is what the machine did besides.
    best_s = min(timer.repeat(REPEATS, times)) / times
    return StageResult(one.path, one.name, best_s * 1e6)


def produced_batch() -> bytes:
    from ottla.records.batch import Record
    from ottla.records.record import encode_batch

    return bytes(encode_batch([Record(0, _wall_ms(), None, VALUE)]))


def _wall_ms() -> int:
    return int(time.time() * 1000)


@stage("both", "request header, decode")
def request_header() -> Call:
    from ottla.protocol.compile import decoder, encode
    from ottla.protocol.schema.headers import RequestHeader

    frame = memoryview(encode(RequestHeader(0, 9, 1, "load"), 2))
    decode = decoder(RequestHeader, 2)
    return lambda: decode(frame, 0)


@stage("produce", "request v9, decode")
def produce_decode() -> Call:
    from ottla.protocol.compile import decoder, encode
    from ottla.protocol.schema.produce import (
        PartitionProduceData,
        ProduceRequest,
        TopicProduceData,
    )

    partition = PartitionProduceData(0, memoryview(produced_batch()))
    topic = TopicProduceData(TOPIC, partition_data=[partition])
    frame = memoryview(encode(ProduceRequest(None, 1, 30_000, [topic]), 9))
    decode = decoder(ProduceRequest, 9)
    return lambda: decode(frame, 0)


@stage("produce", "batch, its CRC alone")
def batch_crc() -> Call:
    from ottla.records.batch import check_crc

    batch = produced_batch()
    return lambda: check_crc(batch, 0, len(batch))


@stage("produce", "batch, every check (CRC included)")
def batch_check() -> Call:
    from ottla.records.rules import ProduceRules
    from ottla.records.validate import validate_produced

    batch = memoryview(produced_batch())
    rules = ProduceRules(batch_bytes_max=1 << 20)
    now_ms = _wall_ms()
    return lambda: validate_produced(batch, rules, 9, now_ms)


@stage("produce", "batch, stamp")
def batch_stamp() -> Call:
    from ottla.records.batch import stamped_parts

    batch = produced_batch()
    return lambda: stamped_parts(batch, 1_000_000, 3)


@stage("produce", "append (the system call alone)")
def append_call() -> Call:
    descriptor, path = tempfile.mkstemp()  # open as long as this process
    os.unlink(path)
    parts = (VALUE[:16], VALUE * 2)
    return lambda: os.pwritev(descriptor, parts, 0)


@stage("produce", "response v9, encode")
def produce_encode() -> Call:
    from ottla.protocol.compile import encoder
    from ottla.protocol.facts import Part
    from ottla.protocol.schema.headers import ResponseHeader
    from ottla.protocol.schema.produce import (
        PartitionProduceResponse,
        ProduceResponse,
        TopicProduceResponse,
    )

    header, body = encoder(ResponseHeader, 1), encoder(ProduceResponse, 9)

    def encode() -> bytes:
        parts: list[Part] = []
        partition = PartitionProduceResponse(0, 0, 1_000_000, -1, 0)
        header(ResponseHeader(7), parts)
        topic = TopicProduceResponse(TOPIC, partition_responses=[partition])
        body(ProduceResponse([topic]), parts)
        return b"".join(cast("list[bytes]", parts))

    return encode


@stage("fetch", "request v12, decode")
def fetch_decode() -> Call:
    from ottla.protocol.compile import decoder, encode
    from ottla.protocol.schema.fetch import FetchPartition, FetchRequest, FetchTopic

    partition = FetchPartition(partition=0, fetch_offset=1_000_000, partition_max_bytes=1 << 20)
    topic = FetchTopic(TOPIC, partitions=[partition])
    frame = memoryview(encode(FetchRequest(max_wait_ms=500, min_bytes=1, topics=[topic]), 12))
    decode = decoder(FetchRequest, 12)
    return lambda: decode(frame, 0)


@stage("fetch", "response v12, encode (records by reference)")
def fetch_encode() -> Call:
    from ottla.protocol.compile import encoder
    from ottla.protocol.facts import Part
    from ottla.protocol.schema.fetch import FetchableTopicResponse, FetchResponse, PartitionData
    from ottla.protocol.schema.headers import ResponseHeader

    header, body = encoder(ResponseHeader, 1), encoder(FetchResponse, 12)
    records = memoryview(bytes(1024))

    def encode() -> list[Part]:
        parts: list[Part] = []
        partition = PartitionData(
            0, 0, 1_000_000, 1_000_000, 0, aborted_transactions=None, records=records
        )
        header(ResponseHeader(7), parts)
        body(
            FetchResponse(responses=[FetchableTopicResponse(TOPIC, partitions=[partition])]), parts
        )
        return parts

    return encode
