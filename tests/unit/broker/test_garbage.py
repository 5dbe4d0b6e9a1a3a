"""Requests leave no cycles behind: automatic collection is off while the broker runs (D2a)."""

import gc
from collections.abc import Callable, Iterator
from functools import partial

import pytest

from ottla.protocol.schema.api_versions import ApiVersionsRequest
from ottla.protocol.schema.create_topics import CreatableTopic, CreateTopicsRequest
from ottla.protocol.schema.delete_topics import DeleteTopicsRequest, DeleteTopicState
from ottla.protocol.schema.describe_cluster import DescribeClusterRequest
from ottla.protocol.schema.describe_configs import (
    DescribeConfigsRequest,
    DescribeConfigsResource,
)
from ottla.protocol.schema.find_coordinator import FindCoordinatorRequest
from ottla.protocol.schema.init_producer_id import InitProducerIdRequest
from ottla.protocol.schema.metadata import MetadataRequest, MetadataRequestTopic
from tests.unit.broker.harness import Client, Harness, fetch_request, produce_request

REQUESTS = 1000
FEW_REQUESTS = 50


@pytest.fixture
def harness() -> Iterator[Harness]:
    harness = Harness()
    harness.create_topic("orders", 2)
    yield harness
    gc.enable()
    harness.assert_nothing_left()


def cycles_left(work: Callable[[], None], count: int) -> int:
    """How many objects only the collector would find, after a first run that fills caches."""
    work()
    gc.collect()
    gc.disable()
    for _ in range(count):
        work()
    found = gc.collect()
    gc.enable()
    return found


def fetch_that_waits(harness: Harness, client: Client, producer: Client) -> None:
    end_offset = harness.partition("orders").log.end_offset
    client.lend(fetch_request("orders", end_offset), 12)
    harness.turn()
    producer.produce("orders", b"a", acks=1)


def fetch_that_expires(harness: Harness, client: Client) -> None:
    end_offset = harness.partition("orders", 1).log.end_offset
    client.send(fetch_request("orders", end_offset, partitions=(1,), max_wait_ms=5), 12)
    harness.advance(5)


def fetch_in_a_session(client: Client) -> None:
    request = fetch_request("orders", 0, session=(0, 0), max_wait_ms=0)
    session = client.ask(request, 12).session_id
    more = fetch_request("orders", 0, partitions=(), session=(session, 1), max_wait_ms=0)
    client.send(more, 12)
    client.send(fetch_request("orders", 0, session=(session, -1), max_wait_ms=0), 12)


def requests(harness: Harness) -> dict[str, Callable[[], object]]:
    client, producer = harness.connect(), harness.connect()
    unknown = MetadataRequest(
        topics=[MetadataRequestTopic(name="nowhere")], allow_auto_topic_creation=False
    )
    configs = DescribeConfigsRequest(
        resources=[DescribeConfigsResource(resource_type=2, resource_name="orders")]
    )
    return {
        "ApiVersions": lambda: client.send(ApiVersionsRequest(), 0),
        "Metadata": lambda: client.send(MetadataRequest(topics=None), 9),
        "Metadata of nothing": lambda: client.send(unknown, 9),
        "DescribeCluster": lambda: client.send(DescribeClusterRequest(), 1),
        "DescribeConfigs": lambda: client.send(configs, 4),
        "FindCoordinator": lambda: client.send(FindCoordinatorRequest(key="g"), 2),
        "InitProducerId": lambda: client.send(InitProducerIdRequest(transactional_id=None), 4),
        "Produce acks=0": lambda: client.produce("orders", b"a", acks=0),
        "Produce acks=1": lambda: client.produce("orders", b"a", acks=1),
        "Produce acks=all": lambda: client.produce("orders", b"a"),
        "Produce refused": lambda: client.produce("nowhere", b"a"),
        "Produce rotten": lambda: client.produce("orders", records=b"x" * 80),
        "Fetch": lambda: client.send(fetch_request("orders", 0), 12),
        "Fetch out of range": lambda: client.send(fetch_request("orders", 10**9), 12),
        "Fetch that waits": lambda: fetch_that_waits(harness, client, producer),
        "Fetch that expires": lambda: fetch_that_expires(harness, client),
        "Fetch in a session": lambda: fetch_in_a_session(client),
        "ListOffsets": lambda: client.list_offsets("orders"),
        "ListOffsets by time": lambda: client.list_offsets("orders", 1),
    }


def test_a_thousand_requests_of_a_kind_leave_no_cycle(harness: Harness) -> None:
    left = {}
    for name, send in requests(harness).items():
        left[name] = cycles_left(partial(send_and_forget, harness, send), REQUESTS)
    assert left == dict.fromkeys(left, 0)


def send_and_forget(harness: Harness, send: Callable[[], object]) -> None:
    send()
    for client in harness.clients.values():
        client.replies.clear()
        client.order.clear()


def test_topics_that_come_and_go_leave_no_cycle(harness: Harness) -> None:
    client = harness.connect()
    topic = CreatableTopic(name="new", num_partitions=3, replication_factor=1)

    def work() -> None:
        client.ask(CreateTopicsRequest(topics=[topic], timeout_ms=1000), 7)
        client.produce("new", b"a")
        gone = DeleteTopicsRequest(topics=[DeleteTopicState(name="new")], timeout_ms=1000)
        client.ask(gone, 6)
        harness.advance(120_000)
        client.replies.clear()

    assert cycles_left(work, FEW_REQUESTS) == 0


def test_connections_that_leave_with_requests_under_way_leave_no_cycle(harness: Harness) -> None:
    def work() -> None:
        client = harness.connect()
        harness.holds_flushes = True
        client.lend(produce_request("orders", b"a"), 9)
        client.lend(fetch_request("orders", 0), 12)
        other = harness.connect()
        other.lend(fetch_request("orders", 0, max_wait_ms=10_000, min_bytes=1 << 20), 12)
        broken = harness.connect()
        broken.send_frame(b"\0\0\0\x09\0\0")
        for one in (client, other, broken):
            harness.close(one, "gone")
            del harness.clients[one.conn]
        harness.holds_flushes = False
        harness.settle()

    assert cycles_left(work, FEW_REQUESTS) == 0
