"""A client that makes topics, fills them, and deletes them, again and again under few names."""

from functools import partial
from typing import NamedTuple

import msgspec

from ottla.errors import ErrorCode
from ottla.names import Now, TopicPartition
from ottla.protocol.schema.create_topics import (
    CreatableTopic,
    CreatableTopicConfig,
    CreateTopicsRequest,
    CreateTopicsResponse,
)
from ottla.protocol.schema.delete_topics import (
    DeleteTopicsRequest,
    DeleteTopicsResponse,
    DeleteTopicState,
)
from ottla.protocol.schema.metadata import MetadataRequest, MetadataRequestTopic, MetadataResponse
from ottla.sim.client import SimClient
from ottla.sim.workload import Calls, Load, Producing, Then, producer_settings
from ottla.sim.world import NS_PER_MS, Action

RETRY_NS = 30 * NS_PER_MS


class TopicState(NamedTuple):
    """What the last answers say must be true of a name."""

    name: str
    exists: bool
    topic_id: bytes
    partitions: int


class Admin:
    """Creates and deletes topics, as often as it takes to be told that it is done."""

    def __init__(self, load: Load, name: str) -> None:
        self.load = load
        self.calls = Calls(load.shape.request_timeout_ms)
        self.client = load.client(name, (self.calls,), lambda now: None)
        # Certain only between two operations.
        self.states: dict[str, TopicState] = {}

    def create(self, name: str, partitions: int, configs: dict[str, str], then: Action) -> None:
        topic = CreatableTopic(
            name=name,
            num_partitions=partitions,
            replication_factor=1,
            configs=[CreatableTopicConfig(key, value) for key, value in configs.items()],
        )
        request = CreateTopicsRequest(topics=[topic], timeout_ms=self.load.shape.request_timeout_ms)
        self.states.pop(name, None)

        def answered(response: msgspec.Struct | None, now: Now) -> None:
            if isinstance(response, CreateTopicsResponse):
                found = response.topics[0]
                if found.error_code == ErrorCode.NONE:
                    self._created(name, found.topic_id, partitions, then)
                    return
                if found.error_code == ErrorCode.TOPIC_ALREADY_EXISTS:
                    # By an attempt of ours that was not answered: nobody else uses this name.
                    self._find(name, partitions, then)
                    return
                self._check_refusal(name, found.error_code, found.error_message)
            self._again(partial(self.create, name, partitions, configs, then))

        self._ask(request, answered)

    def delete(self, name: str, then: Action) -> None:
        request = DeleteTopicsRequest(
            topics=[DeleteTopicState(name=name)],
            topic_names=[],
            timeout_ms=self.load.shape.request_timeout_ms,
        )
        state = self.states.pop(name, None)

        def answered(response: msgspec.Struct | None, now: Now) -> None:
            if isinstance(response, DeleteTopicsResponse):
                code = response.responses[0].error_code
                if code in (ErrorCode.NONE, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION):
                    topic_id = b"" if state is None else state.topic_id
                    self.states[name] = TopicState(name, False, topic_id, 0)
                    self.load.tap.topic_ids.pop(name, None)
                    then()
                    return
                self._check_refusal(name, code, response.responses[0].error_message)
            self._again(partial(self.delete, name, then))

        self._ask(request, answered)

    def _find(self, name: str, partitions: int, then: Action) -> None:
        request = MetadataRequest(
            topics=[MetadataRequestTopic(name=name)], allow_auto_topic_creation=False
        )

        def answered(response: msgspec.Struct | None, now: Now) -> None:
            if isinstance(response, MetadataResponse):
                found = response.topics[0]
                if found.error_code == ErrorCode.NONE:
                    self._created(name, found.topic_id, partitions, then)
                    return
            self._again(partial(self._find, name, partitions, then))

        self._ask(request, answered)

    def _created(self, name: str, topic_id: bytes, partitions: int, then: Action) -> None:
        self.states[name] = TopicState(name, True, topic_id, partitions)
        self.load.tap.topic_ids[name] = topic_id
        then()

    def _ask(self, request: msgspec.Struct, answered: Then) -> None:
        self.calls.ask(request, answered)
        self.client.turn()

    def _again(self, action: Action) -> None:
        self.load.world.schedule(RETRY_NS, f"{self.client.host} asks again", action)

    def _check_refusal(self, name: str, code: int, why: str | None) -> None:
        if code not in (ErrorCode.REQUEST_TIMED_OUT, ErrorCode.KAFKA_STORAGE_ERROR):
            self.load.report("refused-admin", name, f"{ErrorCode(code).name} {why}")


class Churning:
    def __init__(self, load: Load, configs: dict[str, str]) -> None:
        self.load = load
        self.admin = Admin(load, "churn")
        self.configs = configs
        self.rng = self.admin.client.rng
        self.is_resting = True
        self._producing: Producing | None = None

    def start(self) -> None:
        self._rest()

    def _rest(self) -> None:
        self.is_resting = True
        delay_ns = self.rng.randint(0, 600 * NS_PER_MS)
        self.load.world.schedule(delay_ns, "churn", self._work)

    def _work(self) -> None:
        if self.load.is_stopping:
            return
        self.is_resting = False
        name = self.rng.choice(("churn-a", "churn-b"))
        state = self.admin.states.get(name)
        if state is not None and state.exists:
            self.admin.delete(name, partial(self._rest))
            return
        if self._producing is not None and not self._producing.is_idle:
            # What is still sent to the old topic must not reach the new one.
            self._rest()
            return
        partitions = self.rng.randint(1, 3)
        self.admin.create(name, partitions, self.configs, partial(self._fill, name, partitions))

    def _fill(self, name: str, partitions: int) -> None:
        settings = producer_settings(self.load, "churn-producer", is_idempotent=True, acks=-1)
        if self._producing is None:
            self._producing = Producing(self.load, "churn-producer", settings)
        for _ in range(self.rng.randint(0, 3)):
            where = TopicPartition(name, self.rng.randrange(partitions))
            self._producing.produce(where, self.rng.randint(1, 5), 200)
        self._rest()

    @property
    def is_idle(self) -> bool:
        return self.is_resting and (self._producing is None or self._producing.is_idle)

    @property
    def clients(self) -> list[SimClient]:
        clients = [self.admin.client]
        return clients if self._producing is None else [*clients, self._producing.client]
