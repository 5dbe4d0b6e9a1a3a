"""The controller: a command yields records and a response; replay alone changes state (D4).

Its state is the *appended* one. The response of a command leaves once its records are committed.
"""

from collections.abc import Callable
from typing import Any, NamedTuple, Protocol

from ottla.config import BrokerConfig
from ottla.metadata.image import NO_LEADER, Endpoint, Image
from ottla.metadata.topics import plan_create_topics, plan_delete_topics
from ottla.names import NodeId, Uuid
from ottla.protocol.schema import records_metadata as schema
from ottla.protocol.schema.allocate_producer_ids import (
    AllocateProducerIdsRequest,
    AllocateProducerIdsResponse,
)
from ottla.protocol.schema.create_topics import CreateTopicsRequest, CreateTopicsResponse
from ottla.protocol.schema.delete_topics import DeleteTopicsRequest, DeleteTopicsResponse

PRODUCER_ID_BLOCK = 1000
METADATA_VERSION = 30
METADATA_VERSION_MIN = 7
KRAFT_VERSION = 1
# What this version can finalize. The rest of a foreign log's features stay there, unused.
SUPPORTED_FEATURES: dict[str, tuple[int, int]] = {
    "kraft.version": (0, KRAFT_VERSION),
    "metadata.version": (METADATA_VERSION_MIN, METADATA_VERSION),
}


class Entropy(Protocol):
    """Where ids and nonces come from: the system in the shell, the seed in the simulator."""

    def uuid(self) -> Uuid: ...

    def session_id(self) -> int: ...


class Outcome(NamedTuple):
    records: list[Any]
    response: Any


class Registration(NamedTuple):
    """How a broker introduces itself."""

    node_id: NodeId
    incarnation_id: Uuid
    endpoints: tuple[Endpoint, ...]
    controller_endpoints: tuple[Endpoint, ...]
    rack: str | None
    log_dir: Uuid


class Controller:
    def __init__(self, config: BrokerConfig, entropy: Entropy) -> None:
        self.config = config
        self.entropy = entropy
        self.image = Image()
        # A transaction that its controller did not live to end.
        self.has_open_transaction = False
        # Offset at which the next record will stand: a broker's epoch is that of its registration.
        self.next_offset = 0

    def replay(self, record: Any, offset: int) -> None:
        self.image.replay(record, offset)
        self.next_offset = offset + 1

    def activate(self) -> list[Any]:
        """The first records of a controller: what a former one left open, and a new cluster's."""
        records: list[Any] = []
        if self.has_open_transaction:
            records.append(schema.AbortTransactionRecord(reason="the controller failed"))
        return records if self.image.features else records + self._bootstrap()

    def _bootstrap(self) -> list[Any]:
        """In one metadata transaction (KIP-868)."""
        return [
            schema.BeginTransactionRecord(name="Bootstrap records"),
            *self.bootstrap_levels(),
            schema.EndTransactionRecord(),
        ]

    def bootstrap_levels(self) -> list[Any]:
        """Only features that are implemented are finalized; kraft.version stands in the log."""
        return [schema.FeatureLevelRecord(name="metadata.version", feature_level=METADATA_VERSION)]

    def register_controller(self, registration: Registration) -> list[Any]:
        return [
            schema.RegisterControllerRecord(
                controller_id=registration.node_id,
                incarnation_id=registration.incarnation_id,
                zk_migration_ready=False,
                end_points=[
                    schema.ControllerEndpoint(
                        name=e.listener,
                        host=e.host,
                        port=e.port,
                        security_protocol=e.security_protocol,
                    )
                    for e in registration.controller_endpoints
                ],
                features=[
                    schema.ControllerFeature(
                        name=name, min_supported_version=low, max_supported_version=high
                    )
                    for name, (low, high) in SUPPORTED_FEATURES.items()
                ],
            )
        ]

    def register_broker(self, registration: Registration) -> list[Any]:
        return [
            schema.RegisterBrokerRecord(
                broker_id=registration.node_id,
                incarnation_id=registration.incarnation_id,
                broker_epoch=self.next_offset,
                end_points=[
                    schema.BrokerEndpoint(
                        name=e.listener,
                        host=e.host,
                        port=e.port,
                        security_protocol=e.security_protocol,
                    )
                    for e in registration.endpoints
                ],
                features=[
                    schema.BrokerFeature(
                        name=name, min_supported_version=low, max_supported_version=high
                    )
                    for name, (low, high) in SUPPORTED_FEATURES.items()
                ],
                rack=registration.rack,
                fenced=True,
                log_dirs=[registration.log_dir],
            )
        ]

    def unfence(self, node_id: NodeId) -> list[Any]:
        """The broker is up: it leads what it is the only in-sync replica of, at a new epoch."""
        broker = self.image.brokers[node_id]
        records: list[Any] = [
            schema.BrokerRegistrationChangeRecord(
                broker_id=node_id, broker_epoch=broker.epoch, fenced=-1
            )
        ]
        for topic in self.image.topics.values():
            for index, partition in topic.partitions.items():
                candidates = partition.isr or partition.eligible_leaders
                if partition.leader not in (NO_LEADER, node_id) or node_id not in candidates:
                    continue
                records.append(
                    schema.PartitionChangeRecord(
                        partition_id=index,
                        topic_id=topic.topic_id,
                        leader=node_id,
                        isr=None if partition.isr else [node_id],
                        eligible_leader_replicas=None if partition.isr else [],
                    )
                )
        return records

    def create_topics(self, request: CreateTopicsRequest, version: int) -> Outcome:
        records, results = plan_create_topics(self, request)
        return Outcome(records, CreateTopicsResponse(topics=results))

    def delete_topics(self, request: DeleteTopicsRequest, version: int) -> Outcome:
        records, results = plan_delete_topics(self, request, version)
        return Outcome(records, DeleteTopicsResponse(responses=results))

    def handle(self, request: Any, version: int) -> Outcome:
        """What a broker asks, as the request that it would send."""
        return _COMMANDS[type(request)](self, request, version)

    def allocate_producer_ids(self, request: AllocateProducerIdsRequest, version: int) -> Outcome:
        node_id = NodeId(request.broker_id)
        first = self.image.next_producer_id
        record = schema.ProducerIdsRecord(
            broker_id=node_id,
            broker_epoch=self.image.brokers[node_id].epoch,
            next_producer_id=first + PRODUCER_ID_BLOCK,
        )
        response = AllocateProducerIdsResponse(
            producer_id_start=first, producer_id_len=PRODUCER_ID_BLOCK
        )
        return Outcome([record], response)


_COMMANDS: dict[type[Any], Callable[[Controller, Any, int], Outcome]] = {
    AllocateProducerIdsRequest: Controller.allocate_producer_ids,
    CreateTopicsRequest: Controller.create_topics,
    DeleteTopicsRequest: Controller.delete_topics,
}
