"""Fetch without a session: who is asked, offsets, bounds, epochs, waiting."""

from typing import Any

from tools.recorder_cases.batches import ZSTD, Batch, Record
from tools.recorder_cases.metadata import UNKNOWN_ID
from tools.recorder_cases.model import (
    Call,
    Case,
    Receive,
    Reply,
    Step,
    TopicId,
    one_topic,
    over_topic,
)
from tools.recorder_cases.produce import THREE, one

MEBIBYTE = 1024 * 1024
INT32_MAX = 2**31 - 1


def part(partition: int = 0, offset: int = 0, **fields: Any) -> dict[str, Any]:
    return {
        "partition": partition,
        "fetch_offset": offset,
        "partition_max_bytes": MEBIBYTE,
        **fields,
    }


def topic(name: Any, *partitions: dict[str, Any]) -> dict[str, Any]:
    key = "topic" if isinstance(name, str) else "topic_id"
    return {key: name, "partitions": list(partitions)}


def fetch(
    version: int,
    *topics: dict[str, Any],
    reply: Reply = Reply.WAIT,
    connection: str = "main",
    save: dict[str, str] | None = None,
    **fields: Any,
) -> Call:
    body = {"max_wait_ms": 0, "min_bytes": 0, "max_bytes": MEBIBYTE, "topics": list(topics)}
    return Call(
        "fetch", version, body | fields, reply=reply, connection=connection, save=save or {}
    )


def simple(offset: int = 0, version: int = 12, partition: int = 0, **fields: Any) -> Call:
    """One partition of `@t`, by the name or by the id, as the version has it."""
    name = TopicId("@t") if version >= 13 else "@t"
    row_fields = {key: fields.pop(key) for key in ROW_FIELDS if key in fields}
    return fetch(version, topic(name, part(partition, offset, **row_fields)), **fields)


ROW_FIELDS = ("current_leader_epoch", "last_fetched_epoch", "log_start_offset",
              "partition_max_bytes", "high_watermark")  # fmt: skip


def _filled(name: str, *steps: Step, **configs: str) -> Case:
    """A log of three batches: offsets 0 to 2, 3 and 4 to 6."""
    fill = (one(Batch(THREE)), one(Batch()), one(Batch(THREE)))
    return over_topic(f"fetch: {name}", (*fill, *steps), configs)


VERSIONS = tuple(_filled(f"v{v}", simple(version=v)) for v in range(4, 19))

WHERE = (
    *(Case(f"fetch v{v}: unknown topic", (fetch(v, topic("@no", part())),))
      for v in (4, 7, 11, 12)),
    *(Case(f"fetch v{v}: unknown id", (fetch(v, topic(UNKNOWN_ID, part())),))
      for v in (13, 15, 16, 18)),
    Case("fetch v13: no id", (fetch(13, {"partitions": [part()]}),)),
    _filled("unknown partition", simple(partition=5)),
    _filled("unknown partition by id", simple(partition=5, version=16)),
    _filled("partition -1", simple(partition=-1)),
    _filled("one that is and one that is not", fetch(
        12, topic("@t", part()), topic("@no", part()))),
    _filled("one that is and one that is not, by id", fetch(
        16, topic(TopicId("@t"), part()), topic(UNKNOWN_ID, part()))),
    _filled("the same partition twice", fetch(12, topic("@t", part(), part(offset=3)))),
    Case("fetch v12: no topics", (fetch(12),)),
    Case("fetch v4: no topics", (fetch(4),)),
    Case("fetch v12: a topic without partitions", (fetch(12, topic("@no")),)),
    Case("fetch v12: an invalid name", (fetch(12, topic("a/b", part())),)),
    Case("fetch v12: an empty name", (fetch(12, topic("", part())),)),
    Case("fetch v12: the metadata log", (fetch(12, topic("__cluster_metadata", part())),)),
    _filled("with another cluster's id", simple(cluster_id="some-other-cluster")),
)  # fmt: skip

OFFSETS = (
    *(_filled(f"offset {n}", simple(n)) for n in (1, 2, 3, 5, 6, 7)),
    *(_filled(f"offset {n}", simple(n)) for n in (8, 100, 2**63 - 1, -1, -2, -3)),
    *(_filled(f"v{v}, offset 8", simple(8, version=v)) for v in (4, 11, 13, 16)),
    one_topic("fetch: offset 0 of an empty log", simple(0)),
    one_topic("fetch: offset 1 of an empty log", simple(1)),
    _filled("offset 0, read committed", simple(0, isolation_level=1)),
    _filled("isolation level 2", simple(0, isolation_level=2)),
    _filled("isolation level -1", simple(0, isolation_level=-1)),
    _filled("log start offset 5 told by the client", simple(0, log_start_offset=5)),
)  # fmt: skip

BOUNDS = (
    _filled("partition max bytes 1", simple(partition_max_bytes=1)),
    _filled("partition max bytes 1 inside a batch", simple(1, partition_max_bytes=1)),
    _filled("partition max bytes 0", simple(partition_max_bytes=0)),
    _filled("partition max bytes -1", simple(partition_max_bytes=-1)),
    _filled("partition max bytes for one batch and a half", simple(partition_max_bytes=100)),
    _filled("partition max bytes for two batches less one byte", simple(partition_max_bytes=169)),
    _filled("partition max bytes for two batches", simple(partition_max_bytes=170)),
    _filled("max bytes 1", simple(max_bytes=1)),
    _filled("max bytes 0", simple(max_bytes=0)),
    _filled("max bytes -1", simple(max_bytes=-1)),
    _filled("max bytes the largest", simple(max_bytes=INT32_MAX, partition_max_bytes=INT32_MAX)),
    _filled("max bytes smaller than the partition's", simple(max_bytes=100)),
    one_topic("fetch: max bytes for one of two partitions",
              one(Batch(THREE)), one(Batch(THREE), at=1),
              fetch(12, topic("@t", part(0), part(1)), max_bytes=1), partitions=2),
    one_topic("fetch: max bytes for one of two partitions, the first empty",
              one(Batch(THREE), at=1),
              fetch(12, topic("@t", part(0), part(1)), max_bytes=1), partitions=2),
    one_topic("fetch: partition max bytes 1 in both of two partitions",
              one(Batch(THREE)), one(Batch(THREE), at=1),
              fetch(12, topic("@t", part(0, partition_max_bytes=1),
                              part(1, partition_max_bytes=1))), partitions=2),
    one_topic("fetch: max bytes for one and a half partitions",
              one(Batch(THREE)), one(Batch(THREE), at=1),
              fetch(12, topic("@t", part(0), part(1)), max_bytes=140), partitions=2),
    one_topic("fetch: zstd for v9, v10 and v18", one(Batch(THREE, ZSTD)), simple(version=9),
              simple(version=10), simple(version=18)),
    one_topic("fetch: compression.type zstd for v9", simple(version=9), compression_type="zstd"),
)  # fmt: skip

EPOCHS = (
    *(_filled(f"current leader epoch {n}", simple(current_leader_epoch=n))
      for n in (0, -1, -2, 1, 99)),
    _filled("current leader epoch 99, v9", simple(version=9, current_leader_epoch=99)),
    _filled("current leader epoch 99, v16", simple(version=16, current_leader_epoch=99)),
    _filled("current leader epoch 99 and offset 100", simple(100, current_leader_epoch=99)),
    *(_filled(f"last fetched epoch {n}", simple(3, last_fetched_epoch=n)) for n in (0, 1, -2, 99)),
    _filled("last fetched epoch 0, offset beyond the end", simple(100, last_fetched_epoch=0)),
    _filled("last fetched epoch 99, current epoch 0", simple(
        3, last_fetched_epoch=99, current_leader_epoch=0)),
    _filled("v15, last fetched epoch 0", simple(3, version=15, last_fetched_epoch=0)),
    _filled("high watermark told by the client, v18", simple(version=18, high_watermark=0)),
)  # fmt: skip

REPLICAS = (
    _filled("replica id 1, the broker itself", simple(version=12, replica_id=1)),
    _filled("replica id 2, nobody", simple(version=12, replica_id=2)),
    _filled("replica id -2, the debugger", simple(version=12, replica_id=-2)),
    _filled("replica id -3", simple(version=12, replica_id=-3)),
    _filled("replica id 2 at offset 7, which would move the watermark", simple(
        7, version=12, replica_id=2), simple(3)),
    _filled("replica state 2 of epoch 5, v15", simple(version=15, replica_state={
        "replica_id": 2, "replica_epoch": 5})),
    _filled("replica state 1 of epoch -1, v15", simple(version=15, replica_state={
        "replica_id": 1, "replica_epoch": -1})),
    _filled("rack id", simple(version=12, rack_id="rack-9")),
)  # fmt: skip

WAITING = (
    one_topic("fetch: nothing there, 100 ms", simple(max_wait_ms=100, min_bytes=1)),
    _filled("less than min bytes, 100 ms", simple(max_wait_ms=100, min_bytes=100_000)),
    _filled("min bytes beyond max bytes", simple(max_wait_ms=100, min_bytes=1000, max_bytes=10)),
    _filled("max wait -1, less than min bytes", simple(max_wait_ms=-1, min_bytes=100_000)),
    one_topic("fetch: max wait -1, nothing there", simple(max_wait_ms=-1, min_bytes=1)),
    _filled("min bytes -1", simple(max_wait_ms=5000, min_bytes=-1)),
    one_topic("fetch: min bytes 0, nothing there", simple(max_wait_ms=60_000, min_bytes=0)),
    one_topic("fetch: an unknown topic beside an empty one waits", fetch(
        12, topic("@t", part()), topic("@no", part()), max_wait_ms=200, min_bytes=1)),
    Case("fetch v12: an unknown topic alone does not wait", (
        fetch(12, topic("@no", part()), max_wait_ms=60_000, min_bytes=1),)),
    one_topic("fetch: an offset out of range beside an empty one does not wait", fetch(
        12, topic("@t", part(0), part(1, 9)), max_wait_ms=60_000, min_bytes=1), partitions=2),
    one_topic("fetch: a wrong leader epoch beside an empty one does not wait", fetch(
        12, topic("@t", part(0), part(1, current_leader_epoch=9)), max_wait_ms=60_000,
        min_bytes=1), partitions=2),
    one_topic("fetch: a topic deleted while one waits",
              simple(max_wait_ms=60_000, min_bytes=1, connection="waiting", reply=Reply.LATER),
              Call("delete_topics", 5, {"topic_names": ["@t"], "timeout_ms": 9000}),
              Receive("waiting")),
    Case("fetch v12: no topics do not wait", (fetch(12, max_wait_ms=60_000, min_bytes=1),)),
    one_topic("fetch: woken by a produce",
              simple(max_wait_ms=60_000, min_bytes=1, connection="waiting", reply=Reply.LATER),
              one(Batch(THREE)), Receive("waiting")),
    one_topic("fetch: woken by the second produce, which brings enough",
              simple(max_wait_ms=60_000, min_bytes=150, connection="waiting", reply=Reply.LATER),
              one(Batch(THREE)), one(Batch(THREE)), Receive("waiting")),
    one_topic("fetch: woken by a produce to the other partition",
              fetch(12, topic("@t", part(0), part(1)), max_wait_ms=60_000, min_bytes=1,
                    connection="waiting", reply=Reply.LATER),
              one(Batch(THREE), at=1), Receive("waiting"), partitions=2),
)  # fmt: skip

LARGE = (
    one_topic("fetch: a batch larger than max bytes is given whole",
              one(Batch((Record(b"x" * 5000),))), simple(max_bytes=100, partition_max_bytes=100)),
    one_topic("fetch: the second batch larger than what is left is not",
              one(Batch()), one(Batch((Record(b"x" * 5000),))), simple(partition_max_bytes=2000)),
    one_topic("fetch: v4, the second batch larger than what is left is cut",
              one(Batch()), one(Batch((Record(b"x" * 5000),))),
              simple(version=4, partition_max_bytes=2000)),
)  # fmt: skip

CASES = (*VERSIONS, *WHERE, *OFFSETS, *BOUNDS, *EPOCHS, *REPLICAS, *WAITING, *LARGE)
