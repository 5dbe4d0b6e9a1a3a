"""A Kafka cluster as small as can be, to ask our client's questions: answers by Kafka's rules.

It keeps batches in lists and knows nothing of time, disks or replication. Tests may move leaders,
refuse batches, or append a batch and say that it failed.
"""

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field

import msgspec

from ottla.errors import ErrorCode
from ottla.names import NO_UUID, TopicPartition
from ottla.protocol.schema import create_topics, delete_topics, list_offsets, metadata, produce
from ottla.protocol.schema import fetch as fetches
from ottla.protocol.schema.describe_cluster import (
    DescribeClusterBroker,
    DescribeClusterRequest,
    DescribeClusterResponse,
)
from ottla.protocol.schema.init_producer_id import InitProducerIdRequest, InitProducerIdResponse
from ottla.records.batch import NO_PRODUCER_ID, Record, read_header, stamped_parts
from ottla.records.record import decode_batch

WINDOW = 5


@dataclass(slots=True)
class Log:
    leader: int
    leader_epoch: int = 0
    log_start: int = 0
    log_end: int = 0
    # (base offset, next offset, bytes)
    batches: list[tuple[int, int, bytes]] = field(default_factory=list)
    # Producer id to its epoch and its last batches: (first sequence, last sequence, base offset).
    producers: dict[int, tuple[int, deque[tuple[int, int, int]]]] = field(default_factory=dict)
    # What the next batches are answered; the flag says that they are appended all the same.
    answers: deque[tuple[ErrorCode, bool]] = field(default_factory=deque)
    cut: tuple[int, int] | None = None

    def records(self) -> list[Record]:
        return [record for _, _, batch in self.batches for record in decode_batch(batch)]

    def values(self) -> list[bytes | None]:
        return [record.value for record in self.records()]

    def produce(self, batch: bytes) -> tuple[ErrorCode, int]:
        code, is_appended = self.answers.popleft() if self.answers else (ErrorCode.NONE, True)
        if not is_appended:
            return code, -1
        appended, base_offset = self._append(batch)
        return (appended if code == ErrorCode.NONE else code), base_offset

    def _append(self, batch: bytes) -> tuple[ErrorCode, int]:
        header = read_header(batch)
        if header.producer_id != NO_PRODUCER_ID:
            known = self.producers.get(header.producer_id)
            span = (header.base_sequence, header.last_sequence)
            if known is not None:
                epoch, window = known
                if header.producer_epoch < epoch:
                    return ErrorCode.INVALID_PRODUCER_EPOCH, -1
                if header.producer_epoch > epoch:
                    if header.base_sequence != 0:
                        return ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER, -1
                    window = deque(maxlen=WINDOW)
                for first, last, base_offset in window:
                    if (first, last) == span:
                        return ErrorCode.NONE, base_offset
                if window and header.base_sequence != window[-1][1] + 1:
                    return ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER, -1
            else:
                window = deque(maxlen=WINDOW)
            window.append((*span, self.log_end))
            self.producers[header.producer_id] = (header.producer_epoch, window)
        base_offset = self.log_end
        stamped = b"".join(stamped_parts(batch, base_offset, self.leader_epoch))
        self.log_end += header.record_count
        self.batches.append((base_offset, self.log_end, stamped))
        return ErrorCode.NONE, base_offset


@dataclass(slots=True)
class Session:
    epoch: int
    partitions: dict[tuple[str, bytes, int], fetches.FetchPartition]


class ModelCluster:
    def __init__(self, nodes: int = 1) -> None:
        self.addresses = {node: ("model", 9000 + node) for node in range(1, nodes + 1)}
        self.topics: dict[str, tuple[bytes, dict[int, Log]]] = {}
        self.sessions: dict[tuple[int, int], Session] = {}
        self.auto_create_partitions = 0
        self.has_topic_ids = True
        self.has_sessions = True
        self._ids = 0
        self._handlers: dict[type, Callable[[int, msgspec.Struct], msgspec.Struct | None]] = {
            metadata.MetadataRequest: self._metadata,
            produce.ProduceRequest: self._produce,
            fetches.FetchRequest: self._fetch,
            list_offsets.ListOffsetsRequest: self._list_offsets,
            InitProducerIdRequest: self._init_producer_id,
            create_topics.CreateTopicsRequest: self._create_topics,
            delete_topics.DeleteTopicsRequest: self._delete_topics,
            DescribeClusterRequest: self._describe_cluster,
        }

    def create(self, name: str, partitions: int = 1) -> None:
        self._ids += 1
        logs = {index: Log(self._node_of(index)) for index in range(partitions)}
        self.topics[name] = (self._ids.to_bytes(16, "big"), logs)

    def log(self, topic: str, partition: int = 0) -> Log:
        return self.topics[topic][1][partition]

    def handle(self, node: int, request: msgspec.Struct) -> msgspec.Struct | None:
        return self._handlers[type(request)](node, request)

    def _node_of(self, index: int) -> int:
        return index % len(self.addresses) + 1

    def _name(self, topic_id: bytes) -> str:
        return next((name for name, (known, _) in self.topics.items() if known == topic_id), "")

    def _log_at(self, node: int, where: TopicPartition) -> Log | ErrorCode:
        log = self.topics.get(where.topic, (NO_UUID, {}))[1].get(where.partition)
        if log is None:
            return ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
        return log if log.leader == node else ErrorCode.NOT_LEADER_OR_FOLLOWER

    def _metadata(self, node: int, request: msgspec.Struct) -> msgspec.Struct:
        assert isinstance(request, metadata.MetadataRequest)
        asked = request.topics
        names = list(self.topics) if asked is None else [topic.name or "" for topic in asked]
        found = []
        for name in names:
            may_create = request.allow_auto_topic_creation and self.auto_create_partitions > 0
            if may_create and name not in self.topics:
                self.create(name, self.auto_create_partitions)
            found.append(self._describe(name))
        return metadata.MetadataResponse(
            brokers=[
                metadata.MetadataResponseBroker(node, host, port)
                for node, (host, port) in self.addresses.items()
            ],
            cluster_id="model",
            controller_id=1,
            topics=found,
        )

    def _describe(self, name: str) -> metadata.MetadataResponseTopic:
        if name not in self.topics:
            code = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
            if " " in name:
                code = ErrorCode.INVALID_TOPIC_EXCEPTION
            return metadata.MetadataResponseTopic(code, name)
        topic_id, logs = self.topics[name]
        partitions = [
            metadata.MetadataResponsePartition(0, index, log.leader, log.leader_epoch)
            for index, log in logs.items()
        ]
        shown = topic_id if self.has_topic_ids else NO_UUID
        return metadata.MetadataResponseTopic(0, name, shown, False, partitions)

    def _produce(self, node: int, request: msgspec.Struct) -> msgspec.Struct | None:
        assert isinstance(request, produce.ProduceRequest)
        responses = []
        for topic in request.topic_data:
            name = topic.name or self._name(topic.topic_id)
            parts = []
            for data in topic.partition_data:
                log = self._log_at(node, TopicPartition(name, data.index))
                if isinstance(log, ErrorCode):
                    code, base_offset = log, -1
                else:
                    assert isinstance(data.records, bytes | memoryview)
                    code, base_offset = log.produce(bytes(data.records))
                parts.append(produce.PartitionProduceResponse(data.index, code, base_offset))
            responses.append(produce.TopicProduceResponse(topic.name, topic.topic_id, parts))
        return produce.ProduceResponse(responses) if request.acks else None

    def _fetch(self, node: int, request: msgspec.Struct) -> msgspec.Struct:
        assert isinstance(request, fetches.FetchRequest)
        session_id, wanted = request.session_id, self._session_wants(node, request)
        if isinstance(wanted, ErrorCode):
            return fetches.FetchResponse(error_code=wanted)
        if request.session_epoch == 0 and self.has_sessions:
            self._ids += 1
            session_id = self._ids
            self.sessions[node, session_id] = Session(1, wanted)
        topics: dict[tuple[str, bytes], fetches.FetchableTopicResponse] = {}
        for (name, topic_id, _), partition in wanted.items():
            found = self._read(node, name or self._name(topic_id), partition)
            has_news = found.records or found.error_code or found.diverging_epoch.end_offset >= 0
            if request.session_epoch > 0 and not has_news:
                continue
            topic = topics.setdefault(
                (name, topic_id), fetches.FetchableTopicResponse(name, topic_id, [])
            )
            topic.partitions.append(found)
        return fetches.FetchResponse(
            session_id=session_id if self.has_sessions else 0, responses=list(topics.values())
        )

    def _session_wants(
        self, node: int, request: fetches.FetchRequest
    ) -> dict[tuple[str, bytes, int], fetches.FetchPartition] | ErrorCode:
        named = {
            (topic.topic, topic.topic_id, partition.partition): partition
            for topic in request.topics
            for partition in topic.partitions
        }
        if request.session_epoch <= 0:
            self.sessions.pop((node, request.session_id), None)
            return named
        session = self.sessions.get((node, request.session_id))
        if session is None:
            return ErrorCode.FETCH_SESSION_ID_NOT_FOUND
        if session.epoch != request.session_epoch:
            return ErrorCode.INVALID_FETCH_SESSION_EPOCH
        session.epoch += 1
        for topic in request.forgotten_topics_data:
            for index in topic.partitions:
                del session.partitions[topic.topic, topic.topic_id, index]
        session.partitions |= named
        return session.partitions

    def _read(self, node: int, name: str, asked: fetches.FetchPartition) -> fetches.PartitionData:
        found = fetches.PartitionData(asked.partition)
        log = self._log_at(node, TopicPartition(name, asked.partition))
        if isinstance(log, ErrorCode):
            found.error_code = log
            return found
        found.high_watermark, found.log_start_offset = log.log_end, log.log_start
        found.records = b""
        if asked.current_leader_epoch not in (-1, log.leader_epoch):
            is_old = asked.current_leader_epoch < log.leader_epoch
            unknown = ErrorCode.UNKNOWN_LEADER_EPOCH
            found.error_code = ErrorCode.FENCED_LEADER_EPOCH if is_old else unknown
        elif log.cut is not None and asked.last_fetched_epoch == log.cut[0]:
            if asked.fetch_offset > log.cut[1]:
                found.diverging_epoch = fetches.EpochEndOffset(*log.cut)
        elif not log.log_start <= asked.fetch_offset <= log.log_end:
            found.error_code = ErrorCode.OFFSET_OUT_OF_RANGE
        if not found.error_code and found.diverging_epoch.end_offset < 0:
            for _, next_offset, batch in log.batches:
                if next_offset > asked.fetch_offset:
                    found.records += batch
                    if len(found.records) >= asked.partition_max_bytes:
                        break
        return found

    def _list_offsets(self, node: int, request: msgspec.Struct) -> msgspec.Struct:
        assert isinstance(request, list_offsets.ListOffsetsRequest)
        topics = []
        for topic in request.topics:
            parts = []
            for asked in topic.partitions:
                found = list_offsets.ListOffsetsPartitionResponse(asked.partition_index)
                log = self._log_at(node, TopicPartition(topic.name, asked.partition_index))
                if isinstance(log, ErrorCode):
                    found.error_code = log
                else:
                    found.offset = _offset_at(log, asked.timestamp)
                    found.leader_epoch = log.leader_epoch
                parts.append(found)
            topics.append(list_offsets.ListOffsetsTopicResponse(topic.name, parts))
        return list_offsets.ListOffsetsResponse(topics=topics)

    def _init_producer_id(self, node: int, request: msgspec.Struct) -> msgspec.Struct:
        self._ids += 1
        return InitProducerIdResponse(producer_id=1000 + self._ids)

    def _create_topics(self, node: int, request: msgspec.Struct) -> msgspec.Struct:
        assert isinstance(request, create_topics.CreateTopicsRequest)
        results = []
        for topic in request.topics:
            code, why = ErrorCode.NONE, None
            if topic.name in self.topics:
                code, why = ErrorCode.TOPIC_ALREADY_EXISTS, "it is there"
            else:
                self.create(topic.name, max(1, topic.num_partitions))
            results.append(
                create_topics.CreatableTopicResult(
                    name=topic.name,
                    topic_id=self.topics[topic.name][0],
                    error_code=code,
                    error_message=why,
                    num_partitions=len(self.topics[topic.name][1]),
                    replication_factor=1,
                )
            )
        return create_topics.CreateTopicsResponse(topics=results)

    def _delete_topics(self, node: int, request: msgspec.Struct) -> msgspec.Struct:
        assert isinstance(request, delete_topics.DeleteTopicsRequest)
        results = []
        for topic in request.topics:
            is_there = self.topics.pop(topic.name or "", None) is not None
            code = ErrorCode.NONE if is_there else ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
            results.append(delete_topics.DeletableTopicResult(topic.name, NO_UUID, code))
        return delete_topics.DeleteTopicsResponse(responses=results)

    def _describe_cluster(self, node: int, request: msgspec.Struct) -> msgspec.Struct:
        return DescribeClusterResponse(
            cluster_id="model",
            controller_id=1,
            brokers=[DescribeClusterBroker(n, *where) for n, where in self.addresses.items()],
        )


def _offset_at(log: Log, timestamp: int) -> int:
    if timestamp == -2:
        return log.log_start
    if timestamp == -1:
        return log.log_end
    return next((r.offset for r in log.records() if r.timestamp_ms >= timestamp), -1)
