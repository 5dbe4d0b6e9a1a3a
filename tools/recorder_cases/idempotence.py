"""InitProducerId, FindCoordinator, and produce with producer ids."""

from typing import Any

from tools.recorder_cases.batches import GZIP, Batch, Joined, Record
from tools.recorder_cases.compression import read_back
from tools.recorder_cases.model import Call, Case, Saved, Settle, Step, one_topic, over_topic
from tools.recorder_cases.produce import log_end, one, produce, rows

PRODUCER = Saved("producer")
NOBODYS_ID = 2**40


def init(version: int = 4, save: str = "producer", **fields: Any) -> Call:
    body = {"transactional_id": None, "transaction_timeout_ms": 60_000, **fields}
    return Call("init_producer_id", version, body, save={save: "producer_id"})


def batch(
    sequence: int,
    records: int = 1,
    epoch: int | Saved = 0,
    producer: int | Saved = PRODUCER,
    **fields: Any,
) -> Batch:
    made = tuple(Record(b"%d" % (sequence + at)) for at in range(records))
    return Batch(made, producer_id=producer, producer_epoch=epoch, base_sequence=sequence, **fields)


def send(sequence: int, records: int = 1, epoch: int | Saved = 0, **fields: Any) -> Call:
    return one(batch(sequence, records, epoch, **fields))


def _story(name: str, *steps: Step, **configs: str) -> Case:
    return over_topic(f"idempotence: {name}", (init(), *steps, log_end()), configs)


INIT = (
    *(Case(f"init producer id v{v}", (init(v),)) for v in range(6)),
    Case("init producer id: two ask, two ids", (init(), init(save="other"))),
    Case("init producer id: timeout -1", (init(transaction_timeout_ms=-1),)),
    Case("init producer id: timeout 0", (init(transaction_timeout_ms=0),)),
    Case("init producer id: timeout beyond the largest, no transactional id", (
        init(transaction_timeout_ms=2**31 - 1),)),
    Case("init producer id: an id without an epoch", (init(producer_id=5),)),
    Case("init producer id: an epoch without an id", (init(producer_epoch=5),)),
    Case("init producer id: an id and an epoch without a transactional id", (
        init(), init(producer_id=PRODUCER, producer_epoch=0, save="other"))),
    Case("init producer id: an empty transactional id", (init(transactional_id=""),)),
)  # fmt: skip

WINDOW: tuple[Step, ...] = tuple(send(sequence) for sequence in range(6))

SEQUENCES = (
    _story("in order", send(0), send(1), send(2, 3), send(5)),
    _story("first sequence is 5", send(5)),
    _story("first sequence is 5, then 0", send(5), send(0)),
    _story("first sequence is -1", send(-1)),
    _story("first sequence is -2", send(-2)),
    _story("the last again", send(0, 3), send(0, 3)),
    _story("the first of two again", send(0), send(1), send(0)),
    _story("a gap of one", send(0), send(2)),
    _story("a gap, then the missing one", send(0), send(2), send(1), send(2)),
    _story("the fifth last again, six sent", *WINDOW, send(1)),
    _story("the sixth last again, six sent", *WINDOW, send(0)),
    _story("each of the five last again", *WINDOW[:5], *WINDOW[:5]),
    _story("the second last again, then on", send(0), send(1), send(0), send(2)),
    _story("again with fewer records", send(0, 3), send(0, 2)),
    _story("again with more records", send(0, 3), send(0, 4)),
    _story("again from the middle", send(0, 4), send(2, 2)),
    _story("again with other contents", send(0), one(Batch(
        (Record(b"other"),), producer_id=PRODUCER, producer_epoch=0, base_sequence=0))),
    _story("across two batches sent", send(0), send(1), send(0, 2)),
    _story("acks 1", one(batch(0), acks=1), one(batch(0), acks=1), one(batch(2), acks=1)),
    _story("compressed", send(0, 3, codec=GZIP), send(0, 3, codec=GZIP), send(3, codec=GZIP)),
    _story("two batches in one request", one(Joined((batch(0), batch(1))))),
    one_topic("idempotence: two partitions in one request", init(),
           produce(rows("@t", (0, batch(0)), (1, batch(0)))),
                      produce(rows("@t", (0, batch(1)), (1, batch(0)))), partitions=2),
    _story("the sequence turns over", send(2**31 - 1), send(0), send(1)),
    _story("the sequence turns over inside a batch", send(2**31 - 2, 3), send(1)),
    _story("the sequence turns over to 1", send(2**31 - 1), send(1)),
    _story("a plain batch between", send(0), one(Batch()), send(1)),
    _story("what is read back", send(0, 2), send(2), read_back()),
)  # fmt: skip

EPOCHS = (
    _story("epoch 1 from 0", send(0), send(1), send(0, epoch=1)),
    _story("epoch 1 from 2", send(0), send(1), send(2, epoch=1)),
    _story("epoch 1 from 5", send(0), send(5, epoch=1)),
    _story("epoch 2 after 0", send(0), send(0, epoch=2)),
    _story("an older epoch", send(0), send(0, epoch=1), send(1, epoch=0)),
    _story("an older epoch's batch again", send(0), send(0, epoch=1), send(0, epoch=0)),
    _story("first epoch is 5", send(0, epoch=5), send(0, epoch=4)),
    _story("epoch -1", send(0, epoch=-1)),
    _story("epoch 32767", send(0, epoch=32767), send(0, epoch=0)),
    _story("an unknown producer id", send(0, producer=NOBODYS_ID),
           send(0, producer=NOBODYS_ID), send(1, producer=NOBODYS_ID)),
    _story("an unknown producer id from 7", send(7, producer=NOBODYS_ID + 1)),
    _story("producer id -2", send(0, producer=-2)),
    _story("producer id -1 with a sequence", send(0, producer=-1)),
    _story("producer id -1 with an epoch and no sequence", one(Batch(producer_epoch=3))),
    _story("the largest producer id", send(0, producer=2**63 - 1)),
)  # fmt: skip

REFUSED = (
    _story("a bad checksum takes no sequence", send(0), send(1, crc=1), send(1)),
    _story("too large takes no sequence", send(0), one(Batch(
        (Record(b"x" * 2000),), producer_id=PRODUCER, producer_epoch=0, base_sequence=1)),
        send(1), max_message_bytes="1000"),
    _story("a gap and a bad checksum", send(0), send(5, crc=1)),
    _story("a duplicate and a bad checksum", send(0), send(0, crc=1)),
    _story("a duplicate too large", send(0), one(Batch(
        (Record(b"x" * 2000),), producer_id=PRODUCER, producer_epoch=0, base_sequence=0)),
        max_message_bytes="1000"),
    _story("a gap and a wrong count", send(0), send(5, count=9)),
    _story("transactional bit, no transaction", send(0, attributes=0x10)),
    _story("control bit", send(0, attributes=0x20)),
    _story("an old epoch and a gap", send(0, epoch=3), send(9, epoch=2)),
)  # fmt: skip

# A new topic under an old name knows nothing of its producers.
REBORN = (
    one_topic("idempotence: a topic deleted and made again", init(), send(0), send(1), Call(
        "delete_topics", 5, {"topic_names": ["@t"], "timeout_ms": 9000}), Settle("@t", gone=True),
        Call("create_topics", 4, {"topics": [
            {"name": "@t", "num_partitions": 1, "replication_factor": 1}], "timeout_ms": 9000}),
        Settle("@t"), send(2), send(3)),
)  # fmt: skip

IDEMPOTENCE_CASES = (*INIT, *SEQUENCES, *EPOCHS, *REFUSED, *REBORN)


def _find(version: int, key: str = "a-group", key_type: int = 0) -> Call:
    if version >= 4:
        body: dict[str, Any] = {"key_type": key_type, "coordinator_keys": [key]}
    elif version >= 1:
        body = {"key": key, "key_type": key_type}
    else:
        body = {"key": key}
    return Call("find_coordinator", version, body)


# Kafka's first answer makes the topic; ours says COORDINATOR_NOT_AVAILABLE until there are groups.
COORDINATORS = (
    *(Case(f"find coordinator v{v}: nobody's type", (_find(v, key_type=9),)) for v in (1, 3, 4, 6)),
    Case("find coordinator v4: type -1", (_find(4, key_type=-1),)),
    Case("find coordinator v4: no keys", (Call("find_coordinator", 4, {}),)),
    Case("find coordinator v6: a share group's key that is none", (_find(6, "x", 2),)),
    Case("find coordinator v5: a share group's key that is none", (_find(5, "x", 2),)),
)

CASES = (*IDEMPOTENCE_CASES, *COORDINATORS)
