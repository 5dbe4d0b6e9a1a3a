"""Produce: acknowledgements, versions, who is addressed, and what is wrong in a batch."""

import uuid
from typing import Any

from tools.recorder_cases.batches import (
    GZIP,
    Batch,
    Joined,
    Record,
    message_set,
    varint,
)
from tools.recorder_cases.metadata import UNKNOWN_ID, metadata
from tools.recorder_cases.model import (
    Call,
    Case,
    Now,
    Patch,
    Reply,
    Step,
    TopicId,
    one_topic,
    over_topic,
)

THREE = (Record(b"a"), Record(b"b"), Record(b"c"))
MEBIBYTE = 1024 * 1024
TEN_MINUTES_MS = 600_000
HOUR_MS = 3_600_000


def rows(topic: str | TopicId | uuid.UUID, *partitions: tuple[int, Any]) -> dict[str, Any]:
    name = {"topic_id": topic} if not isinstance(topic, str) else {"name": topic}
    return {**name, "partition_data": [{"index": i, "records": data} for i, data in partitions]}


def produce(
    *topics: dict[str, Any],
    version: int = 11,
    acks: int = -1,
    reply: Reply = Reply.WAIT,
    patches: tuple[Patch, ...] = (),
    transactional_id: str | None = None,
) -> Call:
    body = {"transactional_id": transactional_id, "acks": acks, "timeout_ms": 5000}
    return Call("produce", version, {**body, "topic_data": list(topics)}, patches, reply=reply)


def one(data: Any, *, version: int = 11, acks: int = -1, topic: str = "@t", at: int = 0) -> Call:
    return produce(rows(topic, (at, data)), version=version, acks=acks)


def log_end(topic: str = "@t", partition: int = 0) -> Call:
    """Where the log ends now: what was refused left nothing behind."""
    row = {"partition_index": partition, "timestamp": -1}
    topics = [{"name": topic, "partitions": [row]}]
    return Call("list_offsets", 5, {"replica_id": -1, "isolation_level": 0, "topics": topics})


def _batch(name: str, data: Any, version: int = 11, **configs: str) -> Case:
    """One produce of it, and whether the log grew."""
    steps = (one(data, version=version), log_end())
    return over_topic(f"produce: {name}", steps, configs)


ACKS_AND_VERSIONS = (
    *(one_topic(f"produce v{v}", one(Batch(THREE), version=v), log_end()) for v in range(3, 13)),
    one_topic("produce v13", produce(rows(TopicId("@t"), (0, Batch(THREE))), version=13)),
    one_topic("produce: acks 1", one(Batch(), acks=1), one(Batch(), acks=1)),
    one_topic("produce: acks 0", produce(rows("@t", (0, Batch())), acks=0, reply=Reply.PROBE),
              log_end()),
    *(one_topic(f"produce: acks {n}", one(Batch(), acks=n), log_end()) for n in (2, -2, 32767)),
    Case("produce: acks 0 to an unknown topic", (
        produce(rows("@no", (0, Batch())), acks=0, reply=Reply.PROBE),)),
    one_topic("produce: acks 0, bad checksum", produce(
        rows("@t", (0, Batch(crc=1))), acks=0, reply=Reply.PROBE), log_end()),
    one_topic("produce: acks 0, an acks 1 behind it is answered", produce(
        rows("@t", (0, Batch())), acks=0, reply=Reply.LATER), one(Batch(), acks=1)),
    one_topic("produce: acks 5, no topics", produce(acks=5)),
    Case("produce: no topics", (produce(),)),
    Case("produce: no topics, acks 0", (produce(acks=0, reply=Reply.PROBE),)),
    one_topic("produce: a topic without partitions", produce(rows("@t"))),
    one_topic("produce: bytes behind the end", produce(
        rows("@t", (0, Batch())), patches=(Patch(2**30, b"junk"),)), log_end()),
    one_topic("produce: a transactional id, a plain batch", produce(
        rows("@t", (0, Batch())), transactional_id="nobody"), log_end()),
)  # fmt: skip

WHERE = (
    *(Case(f"produce v{v}: unknown topic", (one(Batch(), version=v, topic="@no"),))
      for v in (3, 8, 9, 11, 12)),
    Case("produce: unknown topic is not created", (
        one(Batch(), topic="@no"), metadata(12, "@no", allow_auto_topic_creation=False))),
    Case("produce v13: unknown id", (produce(rows(UNKNOWN_ID, (0, Batch())), version=13),)),
    Case("produce v13: no id", (produce(
        {"partition_data": [{"index": 0, "records": Batch()}]}, version=13),)),
    one_topic("produce: unknown partition", one(Batch(), at=1)),
    one_topic("produce: partition -1", one(Batch(), at=-1)),
    one_topic("produce v13: unknown partition", produce(
        rows(TopicId("@t"), (7, Batch())), version=13)),
    Case("produce: an invalid name", (one(Batch(), topic="a/b"),)),
    Case("produce: an empty name", (one(Batch(), topic=""),)),
    one_topic("produce: one partition that is and one that is not", produce(
        rows("@t", (0, Batch()), (9, Batch()))), log_end()),
    one_topic("produce: two partitions", produce(rows("@t", (0, Batch()), (1, Batch(THREE)))),
              partitions=2),
    one_topic("produce: the same partition twice", produce(
        rows("@t", (0, Batch()), (0, Batch(THREE)))), log_end()),
    one_topic("produce: the same topic twice", produce(
        rows("@t", (0, Batch())), rows("@t", (0, Batch(THREE)))), log_end()),
    one_topic("produce: a right and a wrong batch", produce(
        rows("@t", (0, Batch(crc=1)), (1, Batch()))), log_end(), log_end(partition=1),
        partitions=2),
    Case("produce: to __consumer_offsets, which is not there", (
        one(Batch(), topic="__consumer_offsets"),)),
    Case("produce: to __cluster_metadata", (one(Batch(), topic="__cluster_metadata"),)),
)  # fmt: skip

# Kafka never answers a produce whose records are null (its own error handling fails), and keeps
# the connection: nothing to copy, so it is not in the table.
FIELDS = (
    _batch("records empty", b""),
    _batch("records of 4 bytes", b"\0\0\0\0"),
    _batch("records of 61 zeros", b"\0" * 61),
    _batch("records of 100 random bytes", bytes(range(100, 200))),
    _batch("bad checksum", Batch(crc=12345)),
    _batch("bad checksum, v3", Batch(crc=12345), version=3),
    _batch("bad checksum, v8", Batch(crc=12345), version=8),
    _batch("magic 0", Joined((message_set(0, b"x"),))),
    _batch("magic 1", Joined((message_set(1, b"x"),))),
    _batch("magic 1, v3", Joined((message_set(1, b"x"),)), version=3),
    _batch("magic 3", Batch(magic=3)),
    _batch("magic -1", Batch(magic=-1)),
    _batch("two batches", Joined((Batch(), Batch(base_offset=1)))),
    _batch("two batches, v3", Joined((Batch(), Batch(base_offset=1))), version=3),
    _batch("a batch and a tail of zeros", Joined((Batch(), b"\0" * 20))),
    _batch("a batch and one byte", Joined((Batch(), b"\1"))),
    _batch("a batch and half a batch", Joined((Batch(), b"\0" * 11 + b"\x40" + b"\0" * 5))),
    _batch("length one too large", Batch(longer=1)),
    _batch("length one too small", Batch(longer=-1)),
    _batch("length 0", Batch(length=0)),
    _batch("length 13", Batch(length=13)),
    _batch("length -1", Batch(length=-1)),
    _batch("length 2147483647", Batch(length=2**31 - 1)),
    _batch("count too large", Batch(THREE, count=4)),
    _batch("count too small", Batch(THREE, count=2)),
    _batch("count 0", Batch(THREE, count=0)),
    _batch("count -1", Batch(THREE, count=-1)),
    _batch("count 2147483647", Batch(THREE, count=2**31 - 1)),
    _batch("no records", Batch(())),
    _batch("no records, last offset delta 0", Batch((), last_offset_delta=0)),
    _batch("last offset delta too large", Batch(THREE, last_offset_delta=3)),
    _batch("last offset delta too small", Batch(THREE, last_offset_delta=1)),
    _batch("last offset delta -1", Batch(THREE, last_offset_delta=-1)),
    _batch("count and last offset delta too large", Batch(THREE, count=4, last_offset_delta=3)),
    _batch("base offset 5", Batch(THREE, base_offset=5)),
    _batch("base offset -1", Batch(THREE, base_offset=-1)),
    _batch("leader epoch 99", Batch(leader_epoch=99)),
    _batch("control bit", Batch(attributes=0x20)),
    _batch("transactional bit without a producer", Batch(attributes=0x10)),
    _batch("control and transactional bits", Batch(attributes=0x30)),
    _batch("LogAppendTime bit", Batch(attributes=0x08)),
    _batch("delete horizon bit", Batch(attributes=0x40)),
    _batch("unused bits", Batch(attributes=0x7F80)),
    _batch("codec 5", Batch(attributes=5)),
    _batch("codec 7", Batch(attributes=7)),
)

RECORDS = (
    _batch("offset delta wrong", Batch((Record(), Record(offset_delta=5)))),
    _batch("offset deltas not from 0", Batch((Record(offset_delta=1), Record(offset_delta=2)))),
    _batch("offset delta -1", Batch((Record(offset_delta=-1),))),
    _batch("offset deltas the same", Batch((Record(), Record(offset_delta=0)))),
    _batch("null value", Batch((Record(None),))),
    _batch("null key and value", Batch((Record(None, None),))),
    _batch("headers", Batch((Record(headers=((b"h", b"v"), (b"", None))),))),
    _batch("header name null", Batch((Record(raw=varint(8) + b"\0\0\0\x01\x01\x02\x01\x01"),))),
    _batch("record size 0", Batch((Record(raw=b"\0"),))),
    _batch("record size -1", Batch((Record(raw=b"\1"),))),
    _batch("record size too large", Batch((Record(raw=varint(100) + b"\0" * 7),))),
    _batch("record size too small", Batch((Record(raw=varint(3) + b"\0\0\0\x01\x01\0"),))),
    _batch("record size larger than its fields", Batch((
        Record(raw=varint(8) + b"\0\0\0\x01\x01\0\0\0"),))),
    _batch("record attributes set", Batch((Record(raw=varint(6) + b"\xff\0\0\x01\x01\0"),))),
    _batch("key length beyond the record", Batch((Record(raw=varint(6) + b"\0\0\0\x7e\x01\0"),))),
    _batch("key length -2", Batch((Record(raw=varint(6) + b"\0\0\0\x03\x01\0"),))),
    _batch("value length beyond the record", Batch((Record(raw=varint(6) + b"\0\0\0\x01\x7e\0"),))),
    _batch("header count -1", Batch((Record(raw=varint(6) + b"\0\0\0\x01\x01\x01"),))),
    _batch("header count too large", Batch((Record(raw=varint(6) + b"\0\0\0\x01\x01\x7e"),))),
    _batch("size of a record that never ends", Batch((Record(raw=b"\xff" * 12),))),
    _batch("bytes behind the last record", Batch((Record(), Record(raw=b"\0\0\0")), count=1,
                                                 last_offset_delta=0)),
    _batch("fewer records than bytes for them, compressed", Batch(
        (Record(), Record(raw=b"\0\0\0")), GZIP, count=1, last_offset_delta=0)),
    _batch("record size too large, compressed", Batch(
        (Record(raw=varint(100) + b"\0" * 7),), GZIP)),
    _batch("offset delta wrong, compressed", Batch((Record(), Record(offset_delta=5)), GZIP)),
    _batch("count too large, compressed", Batch(THREE, GZIP, count=4)),
    _batch("count too large both ways, compressed", Batch(
        THREE, GZIP, count=4, last_offset_delta=3)),
    _batch("count too small both ways, compressed", Batch(
        THREE, GZIP, count=2, last_offset_delta=1)),
    _batch("key length beyond the record, compressed", Batch((
        Record(raw=varint(6) + b"\0\0\0\x7e\x01\0"),), GZIP)),
)  # fmt: skip

TIMES = (
    _batch("timestamp -1", Batch(first=-1)),
    _batch("timestamp -2", Batch(first=-2)),
    _batch("timestamp 0", Batch(first=0)),
    _batch("timestamp two hours ahead", Batch(first=Now(3 * HOUR_MS))),
    _batch("timestamp half an hour ahead", Batch(first=Now(HOUR_MS + HOUR_MS // 2))),
    _batch("one record two hours ahead, header says now", Batch(
        (Record(), Record(timestamp_delta=3 * HOUR_MS)), largest=Now())),
    _batch("header two hours ahead, records now", Batch(THREE, largest=Now(3 * HOUR_MS))),
    _batch("header's largest timestamp too small", Batch(THREE, largest=Now(-5000))),
    _batch("header's largest timestamp -1", Batch(THREE, largest=-1)),
    _batch("timestamp delta negative", Batch((Record(), Record(timestamp_delta=-5000)))),
    _batch("timestamp too old for the topic", Batch(first=Now(-TEN_MINUTES_MS)),
           message_timestamp_before_max_ms="60000"),
    _batch("one record too old for the topic, compressed", Batch(
        (Record(timestamp_delta=HOUR_MS), Record()), GZIP),
        message_timestamp_before_max_ms="60000"),
    _batch("timestamp too far ahead for the topic", Batch(first=Now(HOUR_MS + 120_000)),
           message_timestamp_after_max_ms="60000"),
    _batch("on a LogAppendTime topic", Batch(first=5), message_timestamp_type="LogAppendTime"),
    _batch("on a LogAppendTime topic, two hours ahead", Batch(first=Now(3 * HOUR_MS)),
           message_timestamp_type="LogAppendTime"),
    _batch("a LogAppendTime bit on a LogAppendTime topic", Batch(attributes=8),
           message_timestamp_type="LogAppendTime"),
)  # fmt: skip

SIZES = (
    _batch("as large as allowed", Batch((Record(b"x" * 930, b""),)),
           max_message_bytes="1000"),
    _batch("one byte too large", Batch((Record(b"x" * 931, b""),)),
           max_message_bytes="1000"),
    _batch("too large, v3", Batch((Record(b"x" * 2000),)), 3, max_message_bytes="1000"),
    _batch("too large but compressed small", Batch((Record(b"x" * 2000),), GZIP),
           max_message_bytes="1000"),
    _batch("larger than the broker's default", Batch((Record(b"x" * MEBIBYTE),))),
    _batch("larger than a segment", Batch((Record(b"x" * (MEBIBYTE + 100)),)),
           segment_bytes="1048576", max_message_bytes="2000000"),
    _batch("null key on a compacted topic", Batch((Record(key=None),)), cleanup_policy="compact"),
    _batch("null key on a compacted topic, v3", Batch((Record(key=None),)), 3,
           cleanup_policy="compact"),
    _batch("one null key of three on a compacted topic", Batch(
        (Record(), Record(key=None), Record())), cleanup_policy="compact"),
    _batch("null keys on a compacted topic, compressed", Batch(
        (Record(key=None), Record(key=None)), GZIP), cleanup_policy="compact"),
    _batch("null key on a compact,delete topic", Batch((Record(key=None),)),
           cleanup_policy="compact,delete"),
    _batch("empty key on a compacted topic", Batch((Record(key=b""),)), cleanup_policy="compact"),
    _batch("null value on a compacted topic", Batch((Record(None),)), cleanup_policy="compact"),
    _batch("too few in-sync replicas, acks all", Batch(), min_insync_replicas="2"),
    one_topic("produce: too few in-sync replicas, acks 1", one(Batch(), acks=1), log_end(),
              min_insync_replicas="2"),
    _batch("too few in-sync replicas and a bad checksum", Batch(crc=1), min_insync_replicas="2"),
)  # fmt: skip


def _first_error_wins() -> tuple[Step, ...]:
    return (one(Batch(magic=1, crc=1)), one(Batch(THREE, count=9, crc=1)), log_end())


PRECEDENCE = (
    one_topic("produce: magic and checksum wrong, count and checksum wrong", *_first_error_wins()),
    _batch("too large and a bad checksum", Batch((Record(b"x" * 2000),), crc=1),
           max_message_bytes="1000"),
    _batch("too large and a wrong count", Batch((Record(b"x" * 2000),), count=9),
           max_message_bytes="1000"),
    _batch("null key and a timestamp too far ahead", Batch(
        (Record(key=None),), first=Now(3 * HOUR_MS)), cleanup_policy="compact"),
    _batch("a wrong delta in one record, a null key in the next", Batch(
        (Record(offset_delta=3), Record(key=None))), cleanup_policy="compact"),
    _batch("unknown codec and a bad checksum", Batch(attributes=5, crc=1)),
    _batch("control bit and a wrong count", Batch(attributes=0x20, count=9)),
)  # fmt: skip

CASES = (*ACKS_AND_VERSIONS, *WHERE, *FIELDS, *RECORDS, *TIMES, *SIZES, *PRECEDENCE)
