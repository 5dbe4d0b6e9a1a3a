"""Hostile record batches, produced to topics of every kind: what is refused leaves no trace, and
whatever was taken can be read again.

OTTLA_FUZZ_INPUTS says how many, OTTLA_FUZZ_BLOCK runs one block alone.
"""

import faulthandler
import random

import pytest

from ottla.errors import ErrorCode
from ottla.names import NO_UUID
from ottla.protocol.schema.produce import (
    PartitionProduceData,
    ProduceRequest,
    TopicProduceData,
)
from ottla.records.batch import HEADER_BYTES, read_header
from ottla.records.record import decode_batch
from tests.fuzz.hostile import CODECS, hostile_batch
from tests.fuzz.test_fuzz_requests import (
    BLOCK_SECONDS_MAX,
    GROWTH_BYTES_MAX,
    INPUTS,
    ONLY_BLOCK,
    SETTLED_BLOCKS,
    resident_bytes,
)
from tests.unit.broker.harness import Harness, produced
from tests.unit.records.batches import header_mutated, random_batch

BLOCK_INPUTS = 1000
TOPICS: dict[str, dict[str, object]] = {
    "plain": {},
    "compact": {"cleanup_policy": "compact"},
    "stamped": {"message_timestamp_type": "LogAppendTime"},
    "small": {"segment_bytes": 1 << 20, "max_message_bytes": 300},
    "bounded": {"message_timestamp_before_max_ms": 1000, "message_timestamp_after_max_ms": 1000},
    **{f"to-{codec}": {"compression_type": codec} for codec in ("gzip", "snappy", "lz4", "zstd")},
    "to-none": {"compression_type": "uncompressed"},
}
# What Kafka may say of a batch; that it is the right one is compared with Kafka's own validator.
KNOWN_REFUSALS = dict.fromkeys(
    (
        *(ErrorCode.UNKNOWN_SERVER_ERROR, ErrorCode.CORRUPT_MESSAGE, ErrorCode.MESSAGE_TOO_LARGE),
        *(ErrorCode.INVALID_RECORD, ErrorCode.INVALID_TIMESTAMP, ErrorCode.INVALID_TXN_STATE),
        *(ErrorCode.UNSUPPORTED_COMPRESSION_TYPE, ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER),
        *(ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED, ErrorCode.INVALID_PRODUCER_EPOCH),
        *(ErrorCode.RECORD_LIST_TOO_LARGE, ErrorCode.DUPLICATE_SEQUENCE_NUMBER),
    )
)


class Arena:
    def __init__(self, block: int) -> None:
        self.source = random.Random(f"batches {block}")
        self.harness = Harness()
        for name, configs in TOPICS.items():
            self.harness.create_topic(name, 1, **configs)
        self.client = self.harness.connect()
        self.taken = 0

    def step(self) -> None:
        source = self.source
        topic = source.choice(list(TOPICS))
        data = source.choice((hostile_batch, self._nearly_good))(source)
        log = self.harness.partition(topic).log
        before = (log.end_offset, log.active.size, len(log.segments))
        request = ProduceRequest(
            acks=source.choice((1, -1)),
            timeout_ms=1000,
            topic_data=[TopicProduceData(topic, NO_UUID, [PartitionProduceData(0, data)])],
        )
        answer = produced(self.client.ask(request, source.choice((3, 6, 7, 8, 9, 12))))
        self.client.replies.clear()
        self.client.order.clear()
        if answer.error_code:
            assert ErrorCode(answer.error_code) in KNOWN_REFUSALS
            assert (log.end_offset, log.active.size, len(log.segments)) == before
        else:
            self.taken += 1

    def _nearly_good(self, source: random.Random) -> bytes:
        good = random_batch(source, source.choice(CODECS))
        return header_mutated(source, good) if source.random() < 0.3 else good

    def read_everything(self) -> None:
        """No poison: each batch that was taken decodes, and offsets have no gap."""
        for topic in TOPICS:
            log = self.harness.partition(topic).log
            offset = 0
            for segment in log.segments:
                data = self.harness.disk.peek(segment.file, 0, segment.size)
                at = 0
                while at < len(data):
                    header = read_header(data[at : at + HEADER_BYTES])
                    assert header.base_offset == offset
                    records = list(decode_batch(data[at : at + header.size]))
                    assert [record.offset - offset for record in records] == (
                        list(range(header.record_count))
                    )
                    offset += header.record_count
                    at += header.size
            assert offset == log.end_offset


def run_block(block: int, inputs: int) -> int:
    faulthandler.dump_traceback_later(BLOCK_SECONDS_MAX, exit=True, file=2)
    arena = Arena(block)
    for _ in range(inputs):
        arena.step()
    arena.read_everything()
    arena.harness.assert_nothing_left()
    faulthandler.cancel_dump_traceback_later()
    return arena.taken


def test_hostile_batches_are_refused_or_can_be_read_again(
    capsys: pytest.CaptureFixture[str],
) -> None:
    count = -(-INPUTS // BLOCK_INPUTS)
    settled = taken = 0
    for number, block in enumerate(range(count) if ONLY_BLOCK is None else [int(ONLY_BLOCK)]):
        try:
            taken += run_block(block, min(BLOCK_INPUTS, INPUTS))
        except BaseException:
            with capsys.disabled():
                print(f"\nbatches: block {block}; OTTLA_FUZZ_BLOCK={block} runs it alone")
            raise
        if number == SETTLED_BLOCKS:
            settled = resident_bytes()
    assert taken > INPUTS // 10, "an attack that never gets in finds nothing"
    if settled:
        assert resident_bytes() - settled <= GROWTH_BYTES_MAX
