"""What the brokers say about themselves: who they are, and who leads which partition."""

from collections.abc import Sequence
from typing import NamedTuple, Protocol

import msgspec

from ottla.client.requests import ANY_NODE, Backoff, ClientRequest, Random
from ottla.client.settings import ClientSettings
from ottla.errors import ErrorCode
from ottla.names import NO_UUID, Now, TopicPartition, Uuid
from ottla.protocol.schema.metadata import (
    MetadataRequest,
    MetadataRequestTopic,
    MetadataResponse,
    MetadataResponsePartition,
    MetadataResponseTopic,
)

NO_LEADER = -1


class Broker(NamedTuple):
    node_id: int
    host: str
    port: int
    rack: str | None = None


class Partition(NamedTuple):
    partition_index: int
    leader: int
    leader_epoch: int
    replicas: tuple[int, ...] = ()
    isr: tuple[int, ...] = ()
    offline_replicas: tuple[int, ...] = ()


class Topic(NamedTuple):
    name: str
    topic_id: Uuid
    is_internal: bool
    partitions: dict[int, Partition]


class Endpoint(Protocol):
    """The NodeEndpoint of a produce or a fetch response (KIP-951)."""

    node_id: int
    host: str
    port: int
    rack: str | None


class ClusterView:
    """Our latest knowledge; asks for more when a topic is new, a leader moved, or time passed.

    A leader of an older epoch never replaces a newer one (KIP-320): brokers learn at their own
    pace, and the one that is asked may be behind the one that was asked before.
    """

    def __init__(self, settings: ClientSettings, random: Random) -> None:
        self.brokers: dict[int, Broker] = {}
        self.cluster_id: str | None = None
        self.controller_id = -1
        self.topics: dict[str, Topic] = {}
        # Why a topic that is wanted is not in `topics`.
        self.topic_errors: dict[str, ErrorCode] = {}
        # Counts the answers: what was missing at one count may be there at the next.
        self.updates = 0
        self._settings = settings
        self._backoff = Backoff(settings.backoff, random)
        self._wanted: dict[str, bool] = {}
        self._asked: list[str] | None = None
        self._was_creating = False
        self._token = 0
        self._refresh = True
        self._failures = 0
        self._next_ask_ms: int | None = None
        self._stale_ms: int | None = None

    def want(self, topic: str, *, create: bool = False) -> None:
        """From now on; `create` lets the brokers create it if they do that by themselves."""
        known = self._wanted.get(topic)
        if known is None:
            self._next_ask_ms = None
        if known is None or (create and not known):
            self._wanted[topic] = create
            self._refresh = True

    def refresh(self) -> None:
        """Something that was believed is wrong: ask again, no sooner than the backoff allows."""
        self._refresh = True

    def leader(self, where: TopicPartition) -> Partition | None:
        """The partition if there is a broker to ask for it now."""
        topic = self.topics.get(where.topic)
        partition = topic.partitions.get(where.partition) if topic else None
        return partition if partition and partition.leader in self.brokers else None

    def name(self, node: int) -> str:
        """For people: where it is, and its id."""
        broker = self.brokers.get(node)
        return f"{broker.host}:{broker.port} (node {node})" if broker else f"node {node}"

    def learn_leader(
        self, where: TopicPartition, leader: int, leader_epoch: int, nodes: Sequence[Endpoint]
    ) -> bool:
        """What a broker that is not the leader any more knows about the new one (KIP-951)."""
        topic = self.topics.get(where.topic)
        partition = topic.partitions.get(where.partition) if topic else None
        if topic is None or partition is None or leader < 0:
            return False
        if leader_epoch <= partition.leader_epoch:
            return False
        for node in nodes:
            if node.node_id == leader:
                self.brokers[leader] = Broker(leader, node.host, node.port, node.rack)
        if leader not in self.brokers:
            return False
        topic.partitions[where.partition] = partition._replace(
            leader=leader, leader_epoch=leader_epoch
        )
        return True

    # The role of asking

    def poll(self, now: Now) -> list[ClientRequest]:
        if self._asked is not None or not self._is_due(now.mono_ms):
            return []
        creating = [] if self._was_creating else [*filter(self._may_create, self._wanted)]
        self._was_creating = bool(creating)
        names = creating or list(self._wanted)
        self._asked = names
        # The others' turn comes next.
        self._refresh = len(names) < len(self._wanted)
        self._failures += 1
        self._next_ask_ms = now.mono_ms + self._backoff.delay_ms(self._failures)
        self._token += 1
        request = MetadataRequest(
            topics=[MetadataRequestTopic(name=name) for name in names],
            allow_auto_topic_creation=bool(creating),
        )
        return [ClientRequest(ANY_NODE, self._token, request, self._settings.request_timeout_ms)]

    def on_response(self, token: int, response: msgspec.Struct | None, now: Now) -> None:
        assert isinstance(response, MetadataResponse)
        asked, self._asked = self._asked or [], None
        if response.error_code != ErrorCode.NONE:
            self._refresh = True
            return
        self._stale_ms = now.mono_ms + self._settings.metadata_age_ms_max
        self.updates += 1
        self.cluster_id = response.cluster_id
        self.controller_id = response.controller_id
        self.brokers = {
            b.node_id: Broker(b.node_id, b.host, b.port, b.rack) for b in response.brokers
        }
        for topic in response.topics:
            self._learn_topic(topic)
        if self._is_complete(asked):
            self._failures = 0
        else:
            self._refresh = True

    def on_lost(self, token: int, why: str, was_sent: bool, now: Now) -> None:
        self._asked = None
        self._refresh = True

    def on_refused(self, token: int, why: str, now: Now) -> None:
        self.on_lost(token, why, False, now)

    def next_deadline_ms(self) -> int | None:
        if self._asked is not None:
            return None
        if self._refresh:
            return self._next_ask_ms
        return self._stale_ms

    def _may_create(self, topic: str) -> bool:
        is_final = self.topic_errors.get(topic) in FINAL_TOPIC_ERRORS
        return self._wanted[topic] and topic not in self.topics and not is_final

    def _is_due(self, mono_ms: int) -> bool:
        if self._stale_ms is not None and mono_ms >= self._stale_ms:
            return self._next_ask_ms is None or mono_ms >= self._next_ask_ms
        return self._refresh and (self._next_ask_ms is None or mono_ms >= self._next_ask_ms)

    def _is_complete(self, names: list[str]) -> bool:
        """Whether every topic is there with all its leaders, or never will be."""
        for name in names:
            topic = self.topics.get(name)
            if topic is None:
                if self.topic_errors.get(name) not in FINAL_TOPIC_ERRORS:
                    return False
            elif any(partition.leader < 0 for partition in topic.partitions.values()):
                return False
        return True

    def _learn_topic(self, found: MetadataResponseTopic) -> None:
        name = found.name
        if name is None:
            return
        if found.error_code != ErrorCode.NONE:
            self.topics.pop(name, None)
            self.topic_errors[name] = error_code(found.error_code)
            return
        self.topic_errors.pop(name, None)
        known = self.topics.get(name)
        if known is not None and known.topic_id != found.topic_id:
            known = None
        self.topics[name] = read_topic(found, known)


FINAL_TOPIC_ERRORS = dict.fromkeys(
    (ErrorCode.INVALID_TOPIC_EXCEPTION, ErrorCode.TOPIC_AUTHORIZATION_FAILED)
)


def error_code(number: int) -> ErrorCode:
    """A code of a later Kafka is some error that we cannot name."""
    try:
        return ErrorCode(number)
    except ValueError:
        return ErrorCode.UNKNOWN_SERVER_ERROR


def read_topic(found: MetadataResponseTopic, known: Topic | None = None) -> Topic:
    partitions = {}
    for partition in sorted(found.partitions, key=lambda p: p.partition_index):
        index = partition.partition_index
        before = known.partitions.get(index) if known else None
        partitions[index] = _newer(partition, before)
    return Topic(found.name or "", found.topic_id or NO_UUID, found.is_internal, partitions)


def _newer(found: MetadataResponsePartition, before: Partition | None) -> Partition:
    if before is not None and -1 < found.leader_epoch < before.leader_epoch:
        return before
    return Partition(
        found.partition_index,
        found.leader_id,
        found.leader_epoch,
        tuple(found.replica_nodes),
        tuple(found.isr_nodes),
        tuple(found.offline_replicas),
    )
