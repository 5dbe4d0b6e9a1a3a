"""Single requests, for what no stock client lets one see: order, retries, what waits."""

import itertools
import select
import socket
import struct
import time
from types import TracebackType
from typing import Any, Self

from ottla.testing import Broker
from tests.wire.samples import PATIENCE_S
from tools.recorder_cases import wire
from tools.recorder_cases.batches import Batch, Record

PRODUCE_VERSION = 9
FETCH_VERSION = 12
LIST_OFFSETS_VERSION = 7
LATEST = -1


class Raw:
    """One connection. Answers are taken in the order of the requests."""

    def __init__(self, broker: Broker) -> None:
        self.socket = socket.create_connection(("127.0.0.1", broker.port), timeout=PATIENCE_S)
        self.correlations = itertools.count()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        trouble: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.socket.close()

    def send(self, api: str, version: int, body: dict[str, Any]) -> None:
        frame = wire.header(api, version, next(self.correlations), "raw")
        frame += wire.request(api, version, body)
        self.socket.sendall(struct.pack(">i", len(frame)) + frame)

    def receive(self, api: str, version: int) -> dict[str, Any]:
        (size,) = struct.unpack(">i", self._exactly(4))
        return wire.answer(api, version, self._exactly(size))

    def ask(self, api: str, version: int, body: dict[str, Any]) -> dict[str, Any]:
        self.send(api, version, body)
        return self.receive(api, version)

    def has_answer(self) -> bool:
        return bool(select.select([self.socket], [], [], 0)[0])

    def _exactly(self, size: int) -> bytes:
        got = b""
        while len(got) < size:
            part = self.socket.recv(size - len(got))
            assert part, "the broker closed the connection"
            got += part
        return got

    # What tests ask for again and again, of partition 0

    def produce(self, topic: str, *values: bytes, acks: int = 1) -> dict[str, Any]:
        return self.produce_batch(topic, batch_of(*values), acks)

    def produce_batch(self, topic: str, batch: bytes, acks: int = -1) -> dict[str, Any]:
        self.send("produce", PRODUCE_VERSION, produce_body(topic, batch, acks))
        return self.produced()

    def produced(self) -> dict[str, Any]:
        answer = self.receive("produce", PRODUCE_VERSION)
        told: dict[str, Any] = answer["responses"][0]["partition_responses"][0]
        return told

    def send_fetch(self, topic: str, offset: int, **waiting: int) -> None:
        partition = {"partition": 0, "fetch_offset": offset, "partition_max_bytes": 1 << 20}
        fields = {"max_wait_ms": 0, "min_bytes": 1, "max_bytes": 1 << 20, "session_epoch": -1}
        topics = [{"topic": topic, "partitions": [partition]}]
        self.send("fetch", FETCH_VERSION, {**fields, **waiting, "topics": topics})

    def fetched(self) -> dict[str, Any]:
        answer = self.receive("fetch", FETCH_VERSION)
        told: dict[str, Any] = answer["responses"][0]["partitions"][0]
        return told

    def fetch(self, topic: str, offset: int, **waiting: int) -> dict[str, Any]:
        self.send_fetch(topic, offset, **waiting)
        return self.fetched()

    def end_offset(self, topic: str) -> int:
        asked = [{"partition_index": 0, "timestamp": LATEST}]
        body = {"replica_id": -1, "topics": [{"name": topic, "partitions": asked}]}
        told = self.ask("list_offsets", LIST_OFFSETS_VERSION, body)["topics"][0]["partitions"][0]
        assert told["error_code"] == 0
        return int(told["offset"])

    def create(self, topic: str, **configs: str) -> None:
        """Configs are given with underscores for dots."""
        made = {
            "name": topic,
            "num_partitions": 1,
            "replication_factor": 1,
            "configs": [{"name": k.replace("_", "."), "value": v} for k, v in configs.items()],
        }
        told = self.ask("create_topics", 5, {"topics": [made], "timeout_ms": 10_000})["topics"]
        assert [row["error_code"] for row in told] == [0]

    def delete(self, topic: str) -> None:
        body = {"topic_names": [topic], "timeout_ms": 10_000}
        told = self.ask("delete_topics", 5, body)["responses"]
        assert [row["error_code"] for row in told] == [0]

    def producer_id(self) -> int:
        body = {"transactional_id": None, "transaction_timeout_ms": 60_000}
        told = self.ask("init_producer_id", 4, body)
        assert (told["error_code"], told["producer_epoch"]) == (0, 0)
        return int(told["producer_id"])


def produce_body(topic: str, batch: bytes, acks: int) -> dict[str, Any]:
    data = [{"index": 0, "records": batch}]
    topics = [{"name": topic, "partition_data": data}]
    return {"acks": acks, "timeout_ms": 30_000, "topic_data": topics}


def batch_of(*values: bytes, producer_id: int = -1, sequence: int = -1) -> bytes:
    return Batch(
        tuple(Record(value) for value in values),
        first=int(time.time() * 1000),
        producer_id=producer_id,
        producer_epoch=-1 if producer_id < 0 else 0,
        base_sequence=sequence,
    ).encode(lambda value: value)
