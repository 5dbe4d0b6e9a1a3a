"""Listens on the clients' side of every connection, and writes down what brokers answered.

Here and not behind the client's parts, so that each answer counts, wanted by them or not.
"""

import msgspec

from ottla.client.cluster import error_code
from ottla.errors import ErrorCode
from ottla.protocol.schema.fetch import FetchRequest, FetchResponse, PartitionData
from ottla.protocol.schema.list_offsets import ListOffsetsRequest, ListOffsetsResponse
from ottla.records.batch import CorruptBatch, Record, iter_headers
from ottla.records.record import decode_batch
from ottla.sim.client import Sent, SimClient
from ottla.sim.history import Damage, History, Listed, Read, decode_payload
from ottla.sim.watch import partition_key

LATEST = -1

_Where = tuple[bytes, int]


class WireTap:
    def __init__(self, history: History) -> None:
        self.history = history
        self.malformed_answers: list[str] = []
        # While the last reader reads.
        self.is_final = False
        # The topic that a name stands for, for answers that give names only.
        self.topic_ids: dict[str, bytes] = {}
        self._names: dict[bytes, str] = {}
        # What each client's fetch session asks for.
        self._offsets: dict[SimClient, dict[_Where, int]] = {}
        self._told: dict[tuple[SimClient, _Where], int] = {}

    def sent(self, client: SimClient, sent: Sent) -> None:
        request = sent.asked.request
        if not isinstance(request, FetchRequest):
            return
        offsets = self._offsets.setdefault(client, {})
        if request.session_epoch <= 0:
            offsets.clear()
        for topic in request.topics:
            self._names[topic.topic_id] = topic.topic
            for asked in topic.partitions:
                offsets[topic.topic_id, asked.partition] = asked.fetch_offset
        for forgotten in request.forgotten_topics_data:
            for index in forgotten.partitions:
                offsets.pop((forgotten.topic_id, index), None)

    def answered(self, client: SimClient, sent: Sent, response: msgspec.Struct) -> None:
        if isinstance(response, FetchResponse):
            for topic in response.responses:
                for found in topic.partitions:
                    if found.error_code == ErrorCode.NONE:
                        self._fetched(client, sent, topic.topic_id, found)
        elif isinstance(response, ListOffsetsResponse):
            self._listed(client, sent, response)

    def malformed(self, client: SimClient, why: str) -> None:
        self.malformed_answers.append(f"{client.host}: {why}")

    def key(self, name: str, index: int) -> str | None:
        topic_id = self.topic_ids.get(name)
        return None if topic_id is None else partition_key(name, index, topic_id)

    def _listed(self, client: SimClient, sent: Sent, response: ListOffsetsResponse) -> None:
        request = sent.asked.request
        assert isinstance(request, ListOffsetsRequest)
        latest = {
            (topic.name, asked.partition_index): None
            for topic in request.topics
            for asked in topic.partitions
            if asked.timestamp == LATEST
        }
        for topic in response.topics:
            for found in topic.partitions:
                key = self.key(topic.name, found.partition_index)
                is_latest = (topic.name, found.partition_index) in latest
                if key and is_latest and error_code(found.error_code) == ErrorCode.NONE:
                    self.history.listed.append(
                        Listed(key, sent.sent_ns, client.world.now_ns, found.offset)
                    )

    def _fetched(
        self, client: SimClient, sent: Sent, topic_id: bytes, found: PartitionData
    ) -> None:
        where = (topic_id, found.partition_index)
        name = self._names.get(topic_id)
        offset = self._offsets.get(client, {}).get(where)
        if name is None or offset is None:
            self.malformed(client, f"an answer about {topic_id.hex()}, which nobody asked for")
            return
        key = partition_key(name, found.partition_index, topic_id)
        records = self._records(key, offset, found.records)
        told = self._told.get((client, where))
        self._told[client, where] = found.high_watermark
        if not records and told == found.high_watermark and not self.is_final:
            # Nothing new: an idle consumer says so many times a second.
            return
        self.history.reads.append(
            Read(
                reader=client.host,
                partition=key,
                invoked_ns=sent.sent_ns,
                completed_ns=client.world.now_ns,
                fetch_offset=offset,
                records=tuple(records),
                high_watermark=found.high_watermark,
                log_start_offset=found.log_start_offset,
                is_final=self.is_final,
            )
        )

    def _records(self, key: str, offset: int, data: object) -> list[tuple[int, int]]:
        assert isinstance(data, memoryview | bytes) or data is None
        found: list[tuple[int, int]] = []
        at = 0
        try:
            for header in iter_headers(data or b""):
                for record in decode_batch(data or b"", at):
                    if record.offset >= offset:
                        found.append((record.offset, self._value(key, record)))
                at += header.size
        except CorruptBatch as corrupt:
            self._damage(key, offset, str(corrupt))
        return found

    def _value(self, key: str, record: Record) -> int:
        try:
            payload = decode_payload(record.value or b"")
        except ValueError as error:
            self._damage(key, record.offset, str(error))
            return -1
        if payload.partition != key:
            self._damage(key, record.offset, f"it was sent to {payload.partition}")
        return payload.value

    def _damage(self, key: str, offset: int, why: str) -> None:
        self.history.damages.append(Damage(key, offset, why))
