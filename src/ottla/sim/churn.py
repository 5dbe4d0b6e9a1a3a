"""A client that makes topics, fills, reads and deletes them, again and again under few names."""

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
from ottla.sim.workload import (
    Calls,
    Consuming,
    Load,
    Producing,
    Then,
    fetch_settings,
    producer_settings,
)
from ottla.sim.world import NS_PER_MS, Action

RETRY_NS = 30 * NS_PER_MS
# For so long what was written for a deleted topic may still be in the journal.
REFILLED_NS = 500 * NS_PER_MS
# How often a topic is read before it goes.
READ_RATE = 0.7


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
        # Names with a creation that was given up: it may still arrive, however late.
        self.haunted: dict[str, None] = {}

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
            else:
                self.haunted[name] = None
            self._again(partial(self.create, name, partitions, configs, then))

        self._ask(request, answered)

    def delete(self, state: TopicState, then: Action) -> None:
        """By id: a request that was given up and arrives late must not hit a later topic."""
        name = state.name
        request = DeleteTopicsRequest(
            topics=[DeleteTopicState(name=None, topic_id=state.topic_id)],
            topic_names=[],
            timeout_ms=self.load.shape.request_timeout_ms,
        )
        self.states.pop(name, None)

        def answered(response: msgspec.Struct | None, now: Now) -> None:
            if isinstance(response, DeleteTopicsResponse):
                code = response.responses[0].error_code
                if code in (ErrorCode.NONE, ErrorCode.UNKNOWN_TOPIC_ID):
                    self.states[name] = state._replace(exists=False, partitions=0)
                    self.load.tap.topic_ids.pop(name, None)
                    then()
                    return
                self._check_refusal(name, code, response.responses[0].error_message)
            self._again(partial(self.delete, state, then))

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
        self._name = ""
        self._names = ["churn-a", "churn-b"]
        self._filled_ns: dict[str, int] = {}
        self._is_refilled = False

    def start(self) -> None:
        self._rest()

    def _rest(self) -> None:
        self.is_resting = True
        # Often at once: what was written for the last topic of a name is still on its way.
        delay_ns = self.rng.randint(0, self.rng.choice((20, 600)) * NS_PER_MS)
        self.load.world.schedule(delay_ns, "churn", self._work)

    def _work(self) -> None:
        if self.load.is_stopping:
            return
        self.is_resting = False
        self._is_refilled = False
        if not self._name or self.rng.random() < 0.5:
            self._name = self.rng.choice(self._names)
        if self._name in self.admin.haunted:
            # What is deleted under this name may come back: it is left as it is.
            at = self._names.index(self._name)
            self._name = self._names[at] = f"{self._name[:7]}{len(self.admin.states)}"
        name = self._name
        state = self.admin.states.get(name)
        if state is not None and state.exists:
            if self.rng.random() < READ_RATE:
                self._read(state)
            else:
                self.admin.delete(state, self._rest)
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
        now_ns = self.load.world.now_ns
        self._is_refilled = now_ns - self._filled_ns.get(name, -REFILLED_NS) < REFILLED_NS
        if self._producing.bursts_open:
            self._filled_ns[name] = now_ns
        self._rest()

    def _read(self, state: TopicState) -> None:
        """All of it, and then it is deleted: nothing of an earlier topic may stand in it."""
        settings = fetch_settings(self.load, "churn-consumer")
        consuming = Consuming(self.load, "churn-consumer", settings)
        for at in range(state.partitions):
            consuming.assign(TopicPartition(state.name, at), "earliest", "latest")
        consuming.client.turn()

        def look() -> None:
            if not consuming.fetcher.is_finished:
                self.load.world.schedule(RETRY_NS, "churn reads", look)
                return
            consuming.client.close()
            self.admin.delete(state, self._rest)

        look()

    @property
    def has_refilled(self) -> bool:
        """The newest topic is at rest, and a moment ago another of its name was written to."""
        return self._is_refilled and self._producing is not None and self._producing.is_idle

    @property
    def is_idle(self) -> bool:
        return self.is_resting and (self._producing is None or self._producing.is_idle)

    @property
    def clients(self) -> list[SimClient]:
        clients = [self.admin.client]
        return clients if self._producing is None else [*clients, self._producing.client]
