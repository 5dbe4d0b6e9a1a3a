"""The end of a run: everything was healed, every client has gone, and a fresh one looks again."""

from functools import partial

import msgspec

from ottla.client.settings import FetchSettings, ProducerSettings
from ottla.errors import ErrorCode
from ottla.names import Now, TopicPartition
from ottla.protocol.schema.metadata import MetadataRequest, MetadataResponse
from ottla.sim.churn import TopicState
from ottla.sim.workload import BACKOFF, Calls, Consuming, Load, Producing
from ottla.sim.world import NS_PER_S

AUDIT_NS = 20 * NS_PER_S
# For a log that will not be served.
REFUSAL_NS = 2 * NS_PER_S


class Auditor:
    """Produces to every partition and reads all of them from start to end."""

    def __init__(
        self, load: Load, states: dict[str, TopicState], rotten: TopicPartition | None
    ) -> None:
        self.load = load
        self.states = states
        self.rotten = rotten
        self.stuck: list[str] = []

    def run(self) -> None:
        self._check_topics()
        partitions = [
            TopicPartition(state.name, at)
            for state in self.states.values()
            if state.exists
            for at in range(state.partitions)
        ]
        sound = [where for where in partitions if where != self.rotten]
        self._probe(sound)
        self._read(sound)
        if self.rotten is not None:
            self._read_rotten(self.rotten)

    def _wait(self, is_done: "partial[bool]", what: str) -> bool:
        if self.load.world.run_while(lambda: not is_done(), AUDIT_NS):
            return True
        self.stuck.append(what)
        return False

    def _check_topics(self) -> None:
        """What was created is there, and what was deleted is not."""
        load = self.load
        calls = Calls(5_000)
        client = load.client("audit-topics", (calls,), lambda now: None)
        answers: list[MetadataResponse] = []
        request = MetadataRequest(topics=None, allow_auto_topic_creation=False)

        def answered(response: msgspec.Struct | None, now: Now) -> None:
            if isinstance(response, MetadataResponse):
                answers.append(response)
            else:
                calls.ask(request, answered)

        calls.ask(request, answered)
        client.turn()
        is_answered = self._wait(partial(lambda: bool(answers)), "metadata is not answered")
        client.close()
        if not is_answered:
            return
        found = {topic.name: topic for topic in answers[0].topics}
        for name, state in self.states.items():
            topic = found.get(name)
            if state.exists and topic is None:
                load.report("lost-topic", name, "it was created and is not there")
            elif state.exists and topic is not None:
                if topic.topic_id != state.topic_id or len(topic.partitions) != state.partitions:
                    load.report("changed-topic", name, "another one has its name")
                for part in topic.partitions:
                    if part.error_code != ErrorCode.NONE:
                        load.report("partition-error", name, ErrorCode(part.error_code).name)
            elif topic is not None:
                load.report("undeleted-topic", name, "it was deleted and is there")

    def _probe(self, partitions: list[TopicPartition]) -> None:
        """After the heal everything can be written to again."""
        settings = ProducerSettings(
            request_timeout_ms=2_000, delivery_timeout_ms=15_000, backoff=BACKOFF
        )
        producing = Producing(self.load, "audit-producer", settings)
        sends_before = len(self.load.history.sends)
        for where in partitions:
            producing.produce(where, 1, 40)
        self._wait(partial(lambda: producing.is_idle), "a produce after the heal is not answered")
        for send in self.load.history.sends[sends_before:]:
            if send.outcome.value != "ok":
                self.stuck.append(f"{send.partition} cannot be written to after the heal")
        producing.client.close()

    def _read(self, partitions: list[TopicPartition]) -> None:
        self.load.tap.is_final = True
        settings = FetchSettings(request_timeout_ms=5_000, reset="error", backoff=BACKOFF)
        consuming = Consuming(self.load, "audit-consumer", settings)
        for where in partitions:
            consuming.assign(where, "earliest", "latest")
        consuming.client.turn()
        fetcher = consuming.fetcher
        self._wait(partial(lambda: fetcher.is_finished), "the last read does not end")
        consuming.client.close()

    def _read_rotten(self, where: TopicPartition) -> None:
        """Whole, or refused: by the broker, or by the client that checks what it got."""
        load = self.load
        reported = len(load.anomalies)
        settings = FetchSettings(request_timeout_ms=5_000, reset="error", backoff=BACKOFF)
        consuming = Consuming(load, "audit-rotten", settings)
        consuming.assign(where, "earliest", "latest")
        consuming.client.turn()
        fetcher = consuming.fetcher
        load.world.run_while(lambda: not fetcher.is_finished, REFUSAL_NS)
        consuming.client.close()
        is_refused = len(load.anomalies) > reported or not fetcher.is_finished
        del load.anomalies[reported:]
        expected = load.acknowledged(where)
        if not is_refused and (fetcher.consumed(where) or 0) < expected:
            detail = f"{fetcher.consumed(where)} of {expected} are served, and nobody says why"
            load.report("silently-shorter", str(where), detail)
