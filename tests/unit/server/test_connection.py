"""Sockets: frames however they arrive, answers however slowly they are read."""

import asyncio
import os
import socket
import struct
from functools import partial
from itertools import pairwise
from pathlib import Path

import pytest

from ottla.limits import FRAMES_PER_TURN_MAX, SEND_QUEUE_BYTES_MAX, TURN_BYTES_OUT_MAX
from ottla.protocol.schema.api_versions import ApiVersionsRequest
from ottla.protocol.schema.create_topics import (
    CreatableTopic,
    CreatableTopicConfig,
    CreateTopicsRequest,
)
from ottla.protocol.schema.delete_topics import DeleteTopicsRequest, DeleteTopicState
from ottla.protocol.schema.describe_configs import (
    DescribeConfigsRequest,
    DescribeConfigsResource,
)
from ottla.protocol.schema.fetch import FetchRequest
from ottla.protocol.schema.metadata import MetadataRequest
from ottla.server.connection import Connection
from tests.unit.broker.harness import fetch_request, produce_request, produced, records_of
from tests.unit.server.shells import Client, Served, serve

METADATA = MetadataRequest(topics=[])
BROKER_CONFIGS = DescribeConfigsRequest(
    resources=[DescribeConfigsResource(resource_type=4, resource_name="1")],
    include_documentation=True,
)


async def make_topic(client: Client, name: str, **configs: object) -> None:
    topic = CreatableTopic(
        name=name,
        num_partitions=1,
        replication_factor=1,
        configs=[CreatableTopicConfig(k.replace("_", "."), str(v)) for k, v in configs.items()],
    )
    answer = await client.ask(CreateTopicsRequest(topics=[topic], timeout_ms=5000), 7)
    assert answer.topics[0].error_code == 0


def has_received(connection: Connection, count: int) -> bool:
    return connection.received_bytes == count


async def fill(client: Client, topic: str, count: int, size: int = 500_000) -> None:
    for _ in range(count):
        answer = await client.ask(produce_request(topic, os.urandom(size)), 9)
        assert produced(answer).error_code == 0


def large_fetch() -> FetchRequest:
    request = fetch_request("orders", 0, partition_max_bytes=50 << 20)
    request.max_bytes = 50 << 20
    return request


# In


def test_a_frame_may_be_split_at_every_byte(tmp_path: Path) -> None:
    async def test(served: Served) -> None:
        client = await served.connect()
        connection = client.connection
        size = len(client.frame(METADATA, 9))
        for cut in range(1, size):
            frame = client.frame(METADATA, 9)
            before = connection.received_bytes
            await client.send_bytes(frame[:cut])
            await served.until(partial(has_received, connection, before + cut))
            assert served.shell.budget.used == cut
            await client.send_bytes(frame[cut:])
            await client.reply(client.order[-1] + 1 if client.order else 2)
            assert served.shell.budget.used == 0

    serve(tmp_path, test)


def test_several_frames_in_one_read_are_answered_in_order(tmp_path: Path) -> None:
    async def test(served: Served) -> None:
        client = await served.connect()
        frames = [client.frame(METADATA, 9) for _ in range(5)]
        half = client.frame(ApiVersionsRequest(), 0)
        client.push(b"".join(frames) + half[:3])
        await client.reply(5)
        client.push(half[3:])
        await client.reply(6)
        assert client.order == [1, 2, 3, 4, 5, 6]

    serve(tmp_path, test)


def test_a_neighbour_is_served_between_the_turns_of_one_who_pipelines(tmp_path: Path) -> None:
    async def test(served: Served) -> None:
        greedy, neighbour = await served.connect(), await served.connect()
        greedy.push(b"".join(greedy.frame(METADATA, 9) for _ in range(400)))
        await served.until(lambda: len(served.node.served) >= FRAMES_PER_TURN_MAX)
        at = len(served.node.served)
        neighbour.push(neighbour.frame(METADATA, 9))
        await neighbour.reply(1)
        served_between = served.node.served[at:].index(neighbour.connection.conn)
        # A turn that was due already, and those of the iterations that its frame took to arrive.
        assert served_between <= 4 * FRAMES_PER_TURN_MAX
        await greedy.reply(400)
        assert greedy.order == list(range(1, 401))

    serve(tmp_path, test)


def test_no_turn_has_more_frames_than_the_bound(tmp_path: Path) -> None:
    async def test(served: Served) -> None:
        clients = [await served.connect() for _ in range(3)]
        for client in clients:
            client.push(b"".join(client.frame(METADATA, 9) for _ in range(100)))
        for client in clients:
            await client.reply(100)
        served_conns = served.node.served
        run, longest = 0, 0
        for before, conn in pairwise(served_conns):
            run = run + 1 if conn == before else 0
            longest = max(longest, run + 1)
        # While others wait, no two turns of one follow each other but by chance at the edges.
        assert longest <= 2 * FRAMES_PER_TURN_MAX

    serve(tmp_path, test)


def test_one_who_pipelines_is_not_read_while_its_frames_wait(tmp_path: Path) -> None:
    async def test(served: Served) -> None:
        client = await served.connect()
        connection = client.connection
        data = b"".join(client.frame(METADATA, 9) for _ in range(20_000))
        sending = asyncio.ensure_future(client.send_bytes(data))
        longest = 0
        while not sending.done() or len(client.order) < 20_000:
            longest = max(longest, len(connection.partial))
            if len(client.order) < 20_000:
                await client.reply(len(client.order) + 1)
        assert longest <= 256 << 10
        await sending

    serve(tmp_path, test)


@pytest.mark.parametrize("size", [b"\x80\0\0\0", b"\xff\xff\xff\xff", b"\x7f\xff\xff\xff"])
def test_a_frame_of_an_impossible_size_closes_at_the_fourth_byte(
    tmp_path: Path, size: bytes
) -> None:
    async def test(served: Served) -> None:
        client, neighbour = await served.connect(), await served.connect()
        await client.send_bytes(size[:3])
        await served.until(lambda: client.connection.received_bytes == 3)
        await client.send_bytes(size[3:])
        assert await client.is_closed()
        assert served.node.metrics.malformed_frames == 1
        await neighbour.ask(METADATA, 9)

    serve(tmp_path, test)


def test_a_frame_of_nothing_closes(tmp_path: Path) -> None:
    async def test(served: Served) -> None:
        client = await served.connect()
        await client.send_bytes(bytes(4))
        assert await client.is_closed()

    serve(tmp_path, test)


def test_an_answer_that_is_ready_leaves_before_a_later_frame_closes(tmp_path: Path) -> None:
    async def test(served: Served) -> None:
        client = await served.connect()
        client.push(client.frame(METADATA, 9) + b"\0\0\0\x08\x7f\xff\0\0\0\0\0\0")
        await client.reply(1)
        assert await client.is_closed()

    serve(tmp_path, test)


def test_a_half_closed_client_gets_its_answer(tmp_path: Path) -> None:
    async def test(served: Served) -> None:
        client = await served.connect()
        await make_topic(client, "orders")
        client.push(client.frame(produce_request("orders", b"a"), 9))
        client.sock.shutdown(socket.SHUT_WR)
        assert produced(await client.reply(2)).error_code == 0
        assert await client.is_closed()

    serve(tmp_path, test)


def test_a_reset_in_the_middle_of_a_frame_gives_everything_back(tmp_path: Path) -> None:
    async def test(served: Served) -> None:
        client = await served.connect()
        connection = client.connection
        await client.send_bytes(b"\0\x10\0\0" + bytes(1000))
        await served.until(lambda: connection.received_bytes == 1004)
        assert served.shell.budget.used == 1004
        client.reset()
        await served.until(lambda: connection.is_closed)
        assert served.shell.budget.used == 0

    serve(tmp_path, test)


def test_a_client_that_leaves_while_its_fetch_waits_is_forgotten(tmp_path: Path) -> None:
    async def test(served: Served) -> None:
        client, producer = await served.connect(), await served.connect()
        await make_topic(client, "orders")
        connection = client.connection
        client.push(client.frame(fetch_request("orders", 0, max_wait_ms=20_000), 12))
        partition = served.node.hosting.topics["orders"].partitions[0]
        await served.until(lambda: bool(partition.fetch_waiters))
        client.reset()
        await producer.ask(produce_request("orders", b"a"), 9)
        await served.until(lambda: connection.is_closed)
        assert not partition.fetch_waiters

    serve(tmp_path, test)


# The memory for requests

TIGHT = {"socket.request.max.bytes": "1000000", "queued.max.request.bytes": "1000000"}


def test_over_the_budget_one_request_goes_on_and_small_ones_pass(tmp_path: Path) -> None:
    async def test(served: Served) -> None:
        budget = served.shell.budget
        hogs = [await served.connect() for _ in range(3)]
        connections = [hog.connection for hog in hogs]
        frames = [hog.frame(produce_request("orders", bytes(900_000)), 9) for hog in hogs]
        for hog, frame in zip(hogs, frames, strict=True):
            await hog.send_bytes(frame[:400_000])
        await served.until(
            lambda: all(c.received_bytes == 400_000 or budget.is_starved(c) for c in connections)
        )
        sending = [
            asyncio.ensure_future(hog.send_bytes(frame[400_000:]))
            for hog, frame in zip(hogs, frames, strict=True)
        ]
        neighbour = await served.connect()
        await neighbour.ask(METADATA, 9)
        for hog in hogs:
            await hog.reply(1)
        await asyncio.gather(*sending)
        assert budget.used == 0

    serve(tmp_path, test, TIGHT)


def test_a_starved_request_goes_on_when_another_client_gives_up(tmp_path: Path) -> None:
    async def test(served: Served) -> None:
        budget = served.shell.budget
        first, second, third = [await served.connect() for _ in range(3)]
        for hog in (first, second):
            await hog.send_bytes(struct.pack(">i", 900_000) + bytes(600_000))
        received = [hog.connection for hog in (first, second)]
        await served.until(lambda: all(c.received_bytes >= 600_004 for c in received))
        frame = third.frame(produce_request("orders", bytes(500_000)), 9)
        starved = third.connection
        sending = asyncio.ensure_future(third.send_bytes(frame))
        await served.until(lambda: budget.is_starved(starved))
        assert not starved.is_reading
        first.reset()
        second.reset()
        await third.reply(1)
        await sending

    serve(tmp_path, test, TIGHT)


# Out


def test_who_does_not_read_is_not_read_and_takes_bounded_memory(tmp_path: Path) -> None:
    async def test(served: Served) -> None:
        client, neighbour = await served.connect(receive_buffer=4096), await served.connect()
        connection = client.connection
        count = 400
        requests = b"".join(client.frame(BROKER_CONFIGS, 4) for _ in range(count))
        sending = asyncio.ensure_future(client.send_bytes(requests))
        await served.until(lambda: not connection.is_reading and connection.is_writing)
        await served.turns(200)
        one_answer = 200_000
        assert connection.out_bytes <= SEND_QUEUE_BYTES_MAX + TURN_BYTES_OUT_MAX + one_answer
        await neighbour.ask(METADATA, 9)
        for at in range(1, count + 1):
            await client.reply(at)
            client.replies.clear()
        await sending
        assert client.order == list(range(1, count + 1))
        await client.ask(METADATA, 9)

    serve(tmp_path, test)


def test_slices_of_a_deleted_topic_are_sent_to_the_end(tmp_path: Path) -> None:
    async def test(served: Served) -> None:
        client, admin = await served.connect(receive_buffer=4096), await served.connect()
        await make_topic(admin, "orders", file_delete_delay_ms=0)
        await fill(admin, "orders", 6)
        segment = served.node.hosting.topics["orders"].partitions[0].log.segments[0]
        whole = (tmp_path / "data/orders-0/00000000000000000000.log").read_bytes()
        client.push(client.frame(large_fetch(), 12))
        connection = client.connection
        await served.until(lambda: connection.is_writing)
        gone = DeleteTopicsRequest(topics=[DeleteTopicState(name="orders")], timeout_ms=5000)
        await admin.ask(gone, 6)
        await served.until(lambda: not list((tmp_path / "data").glob("orders-0*")))
        assert segment.pins == 1
        assert records_of(await client.reply(1)) == whole
        assert segment.pins == 0
        await served.until(lambda: served.node.is_quiet)

    serve(tmp_path, test)


def test_a_client_that_leaves_in_the_middle_of_a_slice_unpins_it(tmp_path: Path) -> None:
    async def test(served: Served) -> None:
        client, admin = await served.connect(receive_buffer=4096), await served.connect()
        await make_topic(admin, "orders")
        await fill(admin, "orders", 10)
        segment = served.node.hosting.topics["orders"].partitions[0].log.segments[0]
        client.push(client.frame(large_fetch(), 12))
        connection = client.connection
        await served.until(lambda: connection.is_writing)
        assert segment.pins == 1
        client.reset()
        await served.until(lambda: connection.is_closed)
        assert segment.pins == 0

    serve(tmp_path, test)


def test_a_segment_that_is_shorter_than_announced_closes(tmp_path: Path) -> None:
    async def test(served: Served) -> None:
        client = await served.connect()
        await make_topic(client, "orders")
        await fill(client, "orders", 1)
        os.truncate(tmp_path / "data/orders-0/00000000000000000000.log", 1000)
        client.push(client.frame(fetch_request("orders", 0), 12))
        with pytest.raises(AssertionError, match="closed the connection"):
            await client.reply(3)

    serve(tmp_path, test)


def test_a_small_slice_leaves_as_a_copy_with_its_answer(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delattr(os, "sendfile")

    async def test(served: Served) -> None:
        client = await served.connect()
        await make_topic(client, "orders")
        await client.ask(produce_request("orders", b"a", acks=1), 9)
        whole = (tmp_path / "data/orders-0/00000000000000000000.log").read_bytes()
        assert records_of(await client.ask(fetch_request("orders", 0), 12)) == whole
        assert served.node.hosting.topics["orders"].partitions[0].log.segments[0].pins == 0

    serve(tmp_path, test)


def test_a_small_slice_that_is_shorter_than_announced_closes(tmp_path: Path) -> None:
    async def test(served: Served) -> None:
        client = await served.connect()
        await make_topic(client, "orders")
        await client.ask(produce_request("orders", b"a", acks=1), 9)
        os.truncate(tmp_path / "data/orders-0/00000000000000000000.log", 10)
        client.push(client.frame(fetch_request("orders", 0), 12))
        with pytest.raises(AssertionError, match="closed the connection"):
            await client.reply(3)
        assert served.node.hosting.topics["orders"].partitions[0].log.segments[0].pins == 0

    serve(tmp_path, test)


def test_a_slice_of_a_log_that_was_truncated_meanwhile_closes(tmp_path: Path) -> None:
    async def test(served: Served) -> None:
        client, admin = await served.connect(receive_buffer=4096), await served.connect()
        await make_topic(admin, "orders")
        await fill(admin, "orders", 10)
        client.push(client.frame(large_fetch(), 12))
        connection = client.connection
        await served.until(lambda: connection.is_writing)
        served.node.hosting.topics["orders"].partitions[0].log.segments[0].generation += 1
        with pytest.raises(AssertionError, match="closed the connection"):
            await client.reply(1)

    serve(tmp_path, test)


def test_a_large_answer_leaves_in_turns_so_that_a_neighbour_is_served(tmp_path: Path) -> None:
    async def test(served: Served) -> None:
        client, neighbour = await served.connect(), await served.connect()
        await make_topic(neighbour, "orders")
        await fill(neighbour, "orders", 20)
        connection = client.connection
        client.push(client.frame(large_fetch(), 12))
        reading = asyncio.ensure_future(client.reply(1))
        sent, steps = 0, []
        while not reading.done():
            steps.append(connection.sent_bytes - sent)
            sent = connection.sent_bytes
            await asyncio.sleep(0)
        assert len(records_of(await reading)) > 5 << 20
        # Two iterations may pass between two looks.
        assert max(steps) <= 2 * (TURN_BYTES_OUT_MAX + 4096)

    serve(tmp_path, test)


def test_a_cold_slice_is_read_ahead_in_a_thread_and_then_sent(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def test(served: Served) -> None:
        client = await served.connect()
        await make_topic(client, "orders")
        await fill(client, "orders", 3)
        asked: list[tuple[int, int]] = []

        def never_cached(file: object, position: int, size: int) -> bool:
            asked.append((position, size))
            return False

        monkeypatch.setattr(served.disk, "is_cached", never_cached)
        answer = await client.ask(fetch_request("orders", 0, partition_max_bytes=5 << 20), 12)
        whole = (tmp_path / "data/orders-0/00000000000000000000.log").read_bytes()
        assert records_of(answer) == whole[: len(records_of(answer))]
        assert asked

    serve(tmp_path, test)


def test_a_client_may_leave_while_its_slice_is_read_ahead(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def test(served: Served) -> None:
        client, admin = await served.connect(), await served.connect()
        await make_topic(admin, "orders")
        await fill(admin, "orders", 1)
        monkeypatch.setattr(served.disk, "is_cached", lambda *range: False)
        connection = client.connection
        client.push(client.frame(fetch_request("orders", 0), 12))
        await served.until(lambda: connection.is_warming)
        served.shell.close(connection, "the test closes it")
        segment = served.node.hosting.topics["orders"].partitions[0].log.segments[0]
        await served.until(lambda: segment.pins == 0)

    serve(tmp_path, test)
