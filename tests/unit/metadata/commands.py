"""A controller, and a log that replays what it commands."""

from typing import Any

from ottla.config import BrokerConfig
from ottla.metadata.controller import Controller, Outcome, Registration
from ottla.metadata.image import Endpoint
from ottla.metadata.records import encode_record
from ottla.names import NodeId
from ottla.protocol.schema.create_topics import (
    CreatableReplicaAssignment,
    CreatableTopic,
    CreatableTopicConfig,
    CreatableTopicResult,
    CreateTopicsRequest,
)

INCARNATION = b"i" * 16


class Entropy:
    """Ids in turn: the first is 16 times b"A"."""

    def __init__(self) -> None:
        self.drawn = 0

    def uuid(self) -> bytes:
        self.drawn += 1
        return topic_id(self.drawn)

    def session_id(self) -> int:
        self.drawn += 1
        return self.drawn


def topic_id(number: int) -> bytes:
    return bytes((64 + number,)) * 16


def directory_of(node: int) -> bytes:
    return bytes((node,)) * 16


def registration(node: int = 1) -> Registration:
    return Registration(
        node_id=NodeId(node),
        incarnation_id=INCARNATION,
        endpoints=(Endpoint("PLAINTEXT", f"broker-{node}", 9092, 0),),
        controller_endpoints=(Endpoint("CONTROLLER", f"broker-{node}", 9093, 0),),
        rack=None,
        log_dir=directory_of(node),
    )


def controller(brokers: int = 1, settings: dict[str, str] | None = None) -> Controller:
    """Of a cluster whose brokers are registered, and up."""
    config, _ = BrokerConfig.load(settings or {})
    made = Controller(config, Entropy())
    for node in range(1, brokers + 1):
        replay(made, made.register_broker(registration(node)))
        replay(made, made.unfence(NodeId(node)))
    return made


def replay(controller: Controller, records: list[Any]) -> None:
    for record in records:
        controller.replay(record, controller.next_offset)


def run(controller: Controller, outcome: Outcome) -> Any:
    """Append and replay; the response."""
    replay(controller, outcome.records)
    return outcome.response


def written(records: list[Any]) -> list[bytes]:
    """As they would stand in a log: no command makes what cannot be written."""
    return [encode_record(record) for record in records]


def topic(
    name: str,
    partitions: int = 1,
    replicas: int = 1,
    placed: dict[int, list[int]] | None = None,
    **configs: str | None,
) -> CreatableTopic:
    """`placed`: the brokers by partition, chosen by hand."""
    return CreatableTopic(
        name=name,
        num_partitions=partitions if placed is None else -1,
        replication_factor=replicas if placed is None else -1,
        assignments=assignments(*(placed or {}).items()),
        configs=[
            CreatableTopicConfig(key.replace("_", "."), value) for key, value in configs.items()
        ],
    )


def assignments(*pairs: tuple[int, list[int]]) -> list[CreatableReplicaAssignment]:
    return [CreatableReplicaAssignment(index, brokers) for index, brokers in pairs]


def create(controller: Controller, *topics: CreatableTopic, validate_only: bool = False) -> Outcome:
    request = CreateTopicsRequest(topics=list(topics), validate_only=validate_only)
    return controller.create_topics(request, 7)


def created(name: str, number: int, partitions: int = 1, replicas: int = 1) -> CreatableTopicResult:
    return CreatableTopicResult(
        name=name,
        topic_id=topic_id(number),
        error_code=0,
        error_message=None,
        num_partitions=partitions,
        replication_factor=replicas,
    )
