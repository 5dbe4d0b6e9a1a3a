"""A broker with other settings: no topics unasked, three partitions, small limits."""

import struct

from tools.recorder_cases.batches import GZIP, Batch, Record
from tools.recorder_cases.compression import read_back
from tools.recorder_cases.configs import BROKER, TOPIC, describe
from tools.recorder_cases.fetch import INT32_MAX, simple
from tools.recorder_cases.metadata import metadata
from tools.recorder_cases.model import Call, Case, Raw, Settle, one_topic
from tools.recorder_cases.produce import log_end, one
from tools.recorder_cases.topics import create, topic

PROPERTIES = {
    "auto.create.topics.enable": "false",
    "num.partitions": "3",
    "message.max.bytes": "2000",
    "socket.request.max.bytes": "20000",
    "fetch.max.bytes": "1024",
    "log.retention.ms": "86400000",
    "log.message.timestamp.type": "LogAppendTime",
    "compression.type": "gzip",
}


def _frame(size: int) -> bytes:
    """An ApiVersions request with a body of zeros, as large as told in all."""
    return struct.pack(">ihhih", size, 18, 0, 7, -1) + b"\0" * (size - 10)


AUTO_CREATION = (
    *(Case(f"strict: metadata v{v} does not create topics", (metadata(v, "@no"),))
      for v in (0, 3, 4, 9, 12, 13)),
    Case("strict: metadata asks to create, in vain", (
        metadata(12, "@no", allow_auto_topic_creation=True), metadata(12, "@no"))),
    Case("strict: metadata v12, a name with a slash", (metadata(12, "a/b"),)),
)  # fmt: skip

DEFAULTS = (
    Case("strict: default partitions", (create(topic("@t", -1, -1)), Settle("@t"),
                                        metadata(12, "@t"))),
    one_topic("strict: topic configs that come from the broker", describe((
        TOPIC, "@t", ["max.message.bytes", "retention.ms", "compression.type",
                      "message.timestamp.type", "segment.bytes"]), include_synonyms=True)),
    one_topic("strict: topic configs above the broker's", describe((
        TOPIC, "@t", ["max.message.bytes", "retention.ms"]), include_synonyms=True),
        max_message_bytes="5000", retention_ms="1000"),
    Case("strict: the broker's configs from its file", (describe((BROKER, "1", [
        "num.partitions", "message.max.bytes", "log.retention.ms", "log.retention.minutes",
        "log.retention.hours", "log.message.timestamp.type", "compression.type"]),
        include_synonyms=True),)),
)  # fmt: skip

LIMITS = (
    Case("strict: a frame of the largest size", (Raw(_frame(20_000)),)),
    Case("strict: a frame one byte larger", (Raw(_frame(20_001)),)),
    one_topic("strict: a batch too large for the broker", one(Batch((Record(b"x" * 2000),))),
              log_end()),
    one_topic("strict: a batch that the topic allows and the broker does not", one(Batch(
        (Record(b"x" * 3000),))), log_end(), max_message_bytes="5000"),
    one_topic("strict: the broker's time and codec", one(Batch((Record(), Record()))), read_back(
        leave_out=("length",))),
    one_topic("strict: gzip into gzip", one(Batch((Record(), Record()), GZIP)), read_back(
        leave_out=("length",))),
    one_topic("strict: fetch more than the broker gives",
              one(Batch((Record(bytes(range(256)) * 3),))),
              one(Batch((Record(bytes(range(256)) * 3),))), Call("fetch", 12, {
                  "max_wait_ms": 0, "min_bytes": 0, "max_bytes": INT32_MAX, "topics": [
                      {"topic": "@t", "partitions": [{"partition": 0, "fetch_offset": 0,
                                                      "partition_max_bytes": INT32_MAX}]}]}),
              compression_type="producer"),
    one_topic("strict: fetch with nothing there", simple()),
)  # fmt: skip

CASES = (*AUTO_CREATION, *DEFAULTS, *LIMITS)
