"""ListOffsets: the special timestamps, times, isolation, epochs, versions."""

from typing import Any

from tools.recorder_cases.batches import GZIP, Batch, Record
from tools.recorder_cases.model import Call, Case, Now, Step, one_topic, over_topic
from tools.recorder_cases.produce import one

LATEST, EARLIEST, MAX_TIMESTAMP, EARLIEST_LOCAL, LATEST_TIERED, EARLIEST_PENDING = range(-1, -7, -1)
SPECIALS = {
    "latest": LATEST,
    "earliest": EARLIEST,
    "max timestamp": MAX_TIMESTAMP,
    "earliest local": EARLIEST_LOCAL,
    "latest tiered": LATEST_TIERED,
    "earliest pending upload": EARLIEST_PENDING,
}


def ask(timestamp: Any, version: int = 7, *, topic: str = "@t", at: int = 0, **fields: Any) -> Call:
    row_fields = {"partition_index": at, "timestamp": timestamp}
    if "current_leader_epoch" in fields:
        row_fields["current_leader_epoch"] = fields.pop("current_leader_epoch")
    body = {"replica_id": -1, "topics": [{"name": topic, "partitions": [row_fields]}]}
    return Call("list_offsets", version, body | fields)


def _times(*deltas: int, codec: int = 0) -> Batch:
    return Batch(tuple(Record(timestamp_delta=delta) for delta in deltas), codec)


def _filled(name: str, *steps: Step, **configs: str) -> Case:
    """Times 0 10 20, then 100 and 90, then 50: the largest is neither first nor last."""
    fill = (one(_times(0, 10, 20)), one(_times(100, 90)), one(_times(50)))
    return over_topic(f"list offsets: {name}", (*fill, *steps), configs)


SPECIAL = (
    *(_filled(f"{name}, v{v}", ask(stamp, v))
      for name, stamp in SPECIALS.items() for v in (1, 4, 5, 6, 7, 8, 9, 10, 11)),
    *(one_topic(f"list offsets: {name} of an empty log", ask(stamp, 11))
      for name, stamp in SPECIALS.items()),
    _filled("-7", ask(-7, 11)),
    _filled("-100", ask(-100, 11)),
    _filled("-7, v1", ask(-7, 1)),
    *(_filled(f"v{v}", ask(LATEST, v), ask(EARLIEST, v), ask(Now(10), v)) for v in (2, 3)),
)  # fmt: skip

TIMES = (
    *(_filled(f"time {n}", ask(Now(n))) for n in (-50, 0, 1, 10, 11, 20, 21, 55, 90, 100, 101)),
    _filled("time 0 since 1970", ask(0)),
    _filled("the largest time", ask(2**63 - 1)),
    _filled("time 10, v1", ask(Now(10), 1)),
    _filled("time 10, v4", ask(Now(10), 4)),
    one_topic("list offsets: time 10 of an empty log", ask(Now(10))),
    one_topic("list offsets: times in a compressed batch", one(_times(0, 30, 10, codec=GZIP)),
              ask(Now(5)), ask(Now(30)), ask(Now(31)), ask(MAX_TIMESTAMP)),
    one_topic("list offsets: max timestamp, the same twice", one(_times(5, 9, 9, 3)),
              one(_times(9)), ask(MAX_TIMESTAMP)),
    one_topic("list offsets: timestamp -1 in the log", one(Batch(first=-1)), ask(MAX_TIMESTAMP),
              ask(0)),
    one_topic("list offsets: max timestamp on a LogAppendTime topic", one(_times(0, 0, 0)),
              ask(MAX_TIMESTAMP), message_timestamp_type="LogAppendTime"),
)  # fmt: skip

WHO = (
    *(Case(f"list offsets v{v}: unknown topic", (ask(LATEST, v, topic="@no"),)) for v in (1, 4, 9)),
    _filled("unknown partition", ask(LATEST, at=9)),
    _filled("partition -1", ask(LATEST, at=-1)),
    Case("list offsets: an invalid name", (ask(LATEST, topic="a/b"),)),
    Case("list offsets: no topics", (Call("list_offsets", 7, {"replica_id": -1}),)),
    _filled("the same partition twice", Call("list_offsets", 7, {"replica_id": -1, "topics": [
        {"name": "@t", "partitions": [{"partition_index": 0, "timestamp": LATEST},
                                      {"partition_index": 0, "timestamp": EARLIEST}]}]})),
    _filled("the same partition twice, v1", Call("list_offsets", 1, {"replica_id": -1, "topics": [
        {"name": "@t", "partitions": [{"partition_index": 0, "timestamp": LATEST},
                                      {"partition_index": 0, "timestamp": EARLIEST}]}]})),
    *(_filled(f"{name}, read committed", ask(stamp, isolation_level=1))
      for name, stamp in (("latest", LATEST), ("earliest", EARLIEST), ("max", MAX_TIMESTAMP))),
    _filled("isolation level 2", ask(LATEST, isolation_level=2)),
    _filled("isolation level -1", ask(LATEST, isolation_level=-1)),
    *(_filled(f"replica id {n}", ask(LATEST, replica_id=n)) for n in (0, 1, 2, -2, -3)),
    *(_filled(f"current leader epoch {n}", ask(LATEST, current_leader_epoch=n))
      for n in (0, 1, 99, -2)),
    _filled("current leader epoch 99, by time, v4", ask(Now(5), 4, current_leader_epoch=99)),
    _filled("timeout -1, v10", ask(LATEST, 10, timeout_ms=-1)),
)  # fmt: skip

CASES = (*SPECIAL, *TIMES, *WHO)
