"""The whole client as bytes and effects.

Covers: ottla.client.network, ottla.client.calls
"""

import msgspec
import pytest

from ottla.client import admin
from ottla.client.calls import CallResult
from ottla.client.producer import Delivery
from ottla.client.settings import FetchSettings, ProducerSettings
from ottla.errors import ErrorCode
from ottla.names import TopicPartition
from ottla.protocol.schema.create_topics import CreateTopicsResponse
from ottla.protocol.schema.metadata import MetadataResponse
from tests.unit.client.model import ModelCluster
from tests.unit.client.wires import Wires


def call(wires: Wires, request: msgspec.Struct, *, once: bool = False) -> CallResult:
    results: list[CallResult] = []
    wires.core.calls.call(request, wires.now, once=once)

    def is_done() -> bool:
        results.extend(wires.core.calls.take_results())
        return bool(results)

    wires.run(is_done)
    return results[0]


def deliver(wires: Wires, count: int, settings: ProducerSettings) -> list[Delivery]:
    producer = wires.core.producer(settings)
    results: list[Delivery] = []

    def is_done() -> bool:
        results.extend(producer.take_results())
        return len(results) == count

    for number in range(count):
        producer.send("t", b"%d" % number, wires.now, partition=number % 3)
    wires.run(is_done)
    return results


def read(wires: Wires) -> dict[int, list[bytes | None]]:
    fetcher = wires.core.fetcher(FetchSettings(fetch_wait_ms_max=10))
    for partition in range(3):
        fetcher.assign(TopicPartition("t", partition), "earliest", "latest")
    values: dict[int, list[bytes | None]] = {}

    def is_done() -> bool:
        for where, records, _, _ in fetcher.take_fetched():
            values.setdefault(where.partition, []).extend(record.value for record in records)
        assert fetcher.take_errors() == []
        return fetcher.is_finished

    wires.run(is_done)
    wires.core.close_fetcher(fetcher, wires.now)
    return values


def test_what_is_produced_is_read_back() -> None:
    model = ModelCluster(3)
    model.create("t", 3)
    wires = Wires(model)
    results = deliver(wires, 30, ProducerSettings())
    assert all(result.error == ErrorCode.NONE for result in results)
    assert read(wires) == {p: [b"%d" % n for n in range(p, 30, 3)] for p in range(3)}


@pytest.mark.parametrize("seed", range(20))
def test_with_connections_that_break_records_are_written_once_and_read_once(seed: int) -> None:
    model = ModelCluster(3)
    model.create("t", 3)
    wires = Wires(model, seed, break_rate=0.1)
    settings = ProducerSettings(linger_ms=0, batch_bytes=200)
    results = deliver(wires, 90, settings)
    failed = [result for result in results if result.error]
    assert failed == []
    wires.break_rate = 0.02
    assert read(wires) == {p: [b"%d" % n for n in range(p, 90, 3)] for p in range(3)}


def test_the_same_seed_gives_the_same_dials_and_offsets() -> None:
    def once() -> tuple[list[tuple[str, int]], list[Delivery], int]:
        model = ModelCluster(3)
        model.create("t", 3)
        wires = Wires(model, 7, break_rate=0.1)
        results = deliver(wires, 60, ProducerSettings(linger_ms=0))
        return wires.dialed, results, wires.mono_ms

    assert once() == once()


def test_a_broker_that_refuses_is_passed_over_for_the_next() -> None:
    model = ModelCluster(2)
    wires = Wires(model)
    wires.refusing[model.addresses[1]] = None
    result = call(wires, admin.list_topics())
    assert isinstance(result.response, MetadataResponse)
    assert wires.dialed == [model.addresses[1], model.addresses[2]]


def test_a_broker_that_says_nothing_is_given_up_in_time() -> None:
    model = ModelCluster(2)
    wires = Wires(model)
    wires.silent[model.addresses[1]] = None
    result = call(wires, admin.list_topics())
    assert result.response is not None
    assert 2_000 <= wires.mono_ms < 3_000


def test_a_call_that_nobody_answers_ends_and_says_why() -> None:
    model = ModelCluster(1)
    wires = Wires(model)
    wires.refusing[model.addresses[1]] = None
    result = call(wires, admin.list_topics())
    assert result.response is None
    assert result.why.startswith("model:9001: refused")
    assert 20_000 <= wires.mono_ms < 21_000


def test_a_connection_that_was_refused_is_tried_again_ever_more_slowly() -> None:
    model = ModelCluster(1)
    wires = Wires(model)
    wires.refusing[model.addresses[1]] = None
    call(wires, admin.list_topics())
    assert 100 < len(wires.dialed) < 400


def test_a_change_that_may_have_been_made_is_not_asked_again() -> None:
    model = ModelCluster(1)
    wires = Wires(model)
    call(wires, admin.list_topics())
    (where,) = model.addresses.values()
    wires.silent[where] = None
    request = admin.create_topics([admin.NewTopic("t")], 1_000)
    result = call(wires, request, once=True)
    assert result.response is None
    assert result.maybe_done
    assert "no answer to CreateTopics in 5000 ms" in result.why


def test_brokers_are_spoken_to_at_their_own_addresses_once_known() -> None:
    model = ModelCluster(1)
    wires = Wires(model)
    model.addresses[1] = ("elsewhere", 1)
    bootstrap = wires.core._network._nodes[-2]
    model.addresses = {1: ("elsewhere", 1), 2: (bootstrap.host, bootstrap.port)}
    model.create("t", 3)
    for index in range(3):
        model.log("t", index).leader = 1
    deliver(wires, 3, ProducerSettings())
    assert wires.dialed == [("model", 9001), ("elsewhere", 1)]
    assert bootstrap.link is None


def test_unanswered_records_arrive_too() -> None:
    model = ModelCluster(1)
    model.create("t", 3)
    wires = Wires(model)
    results = deliver(wires, 9, ProducerSettings(acks=0))
    assert {result.offset for result in results} == {-1}
    assert read(wires) == {p: [b"%d" % n for n in range(p, 9, 3)] for p in range(3)}


def test_nothing_is_written_to_a_connection_that_is_full() -> None:
    model = ModelCluster(1)
    model.create("t", 3)
    wires = Wires(model)
    deliver(wires, 3, ProducerSettings())
    network = wires.core._network
    (link,) = network._links
    wires.core.writable(link, False, wires.now)
    wires.core.calls.call(admin.list_topics(), wires.now)
    wires.core.run(wires.now)
    assert wires.core.take_effects() == []
    wires.core.writable(link, True, wires.now)
    assert len(wires.core.take_effects()) == 1


def test_topics_are_created_described_and_deleted() -> None:
    wires = Wires(ModelCluster(1))
    request = admin.create_topics([admin.NewTopic("t", 4)], 1_000)
    created = call(wires, request, once=True).response
    assert isinstance(created, CreateTopicsResponse)
    assert [(t.name, t.partitions) for t in admin.created_topics(created)] == [("t", 4)]
    listed = call(wires, admin.list_topics()).response
    assert isinstance(listed, MetadataResponse)
    (topic,) = admin.listed_topics(listed)
    assert list(topic.partitions) == [0, 1, 2, 3]
    call(wires, admin.delete_topics(["t"], 1_000), once=True)
    assert wires.model.topics == {}
