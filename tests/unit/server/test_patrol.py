"""Connections on which nothing moves are closed, by a clock that the test moves."""

import asyncio
import struct
from functools import partial
from pathlib import Path

from ottla.limits import OUTPUT_STALL_MS, REQUEST_PROGRESS_BYTES, REQUEST_STALL_MS
from ottla.protocol.schema.describe_configs import (
    DescribeConfigsRequest,
    DescribeConfigsResource,
)
from ottla.protocol.schema.metadata import MetadataRequest
from tests.unit.broker.harness import fetch_request
from tests.unit.server.shells import Served, serve
from tests.unit.server.test_connection import has_received, make_topic

METADATA = MetadataRequest(topics=[])
ROUNDS = 20


def pass_time(served: Served, ms: int) -> None:
    """Time passes, and everybody is visited as often as they would be."""
    for _ in range(ROUNDS):
        served.shell.skew_ms += ms // ROUNDS
        served.shell._patrol.visit(served.shell.clock())


def test_an_idle_connection_is_closed_and_a_busy_one_is_not(tmp_path: Path) -> None:
    async def test(served: Served) -> None:
        idle, busy = await served.connect(), await served.connect()
        for _ in range(4):
            pass_time(served, 200_000)
            await busy.ask(METADATA, 9)
        assert await idle.is_closed()
        await busy.ask(METADATA, 9)

    serve(tmp_path, test, {"connections.max.idle.ms": "600000"})


def test_without_a_limit_nobody_is_idle_for_too_long(tmp_path: Path) -> None:
    async def test(served: Served) -> None:
        client = await served.connect()
        pass_time(served, 10_000_000)
        await client.ask(METADATA, 9)

    serve(tmp_path, test, {"connections.max.idle.ms": "-1"})


def test_half_a_request_is_given_up(tmp_path: Path) -> None:
    async def test(served: Served) -> None:
        client, neighbour = await served.connect(), await served.connect()
        connection = client.connection
        await client.send_bytes(struct.pack(">i", 100_000_000) + bytes(10))
        await served.until(lambda: connection.received_bytes == 14)
        assert served.shell.budget.used == 14, "memory grows with what came, not what was announced"
        pass_time(served, REQUEST_STALL_MS - 2000)
        assert not connection.is_closed
        pass_time(served, 6000)
        assert await client.is_closed()
        assert served.shell.budget.used == 0
        await neighbour.ask(METADATA, 9)

    serve(tmp_path, test)


def test_a_large_request_that_goes_on_arriving_is_not_given_up(tmp_path: Path) -> None:
    async def test(served: Served) -> None:
        client = await served.connect()
        connection = client.connection
        await client.send_bytes(struct.pack(">i", 100_000_000))
        for at in range(1, 6):
            await client.send_bytes(bytes(REQUEST_PROGRESS_BYTES))
            await served.until(partial(has_received, connection, 4 + at * REQUEST_PROGRESS_BYTES))
            pass_time(served, REQUEST_STALL_MS - 2000)
            assert not connection.is_closed

    serve(tmp_path, test)


def test_an_answer_that_nobody_takes_is_given_up(tmp_path: Path) -> None:
    async def test(served: Served) -> None:
        client = await served.connect(receive_buffer=4096)
        connection = client.connection
        configs = DescribeConfigsRequest(
            resources=[DescribeConfigsResource(resource_type=4, resource_name="1")],
            include_documentation=True,
        )
        frames = b"".join(client.frame(configs, 4) for _ in range(400))
        sending = asyncio.ensure_future(client.send_bytes(frames))
        await served.until(lambda: connection.is_writing and not connection.is_reading)
        pass_time(served, OUTPUT_STALL_MS - 2000)
        assert connection in served.shell.connections.values()
        pass_time(served, 6000)
        assert connection not in served.shell.connections.values()
        sending.cancel()

    serve(tmp_path, test)


def test_a_client_that_waits_for_an_answer_is_not_idle_before_its_time(tmp_path: Path) -> None:
    async def test(served: Served) -> None:
        client = await served.connect()
        await make_topic(client, "orders")
        client.push(client.frame(fetch_request("orders", 0, max_wait_ms=100_000), 12))
        partition = served.node.hosting.topics["orders"].partitions[0]
        await served.until(lambda: bool(partition.fetch_waiters))
        pass_time(served, 60_000)
        served.node.tick(served.shell.clock())
        pass_time(served, 60_000)
        served.node.tick(served.shell.clock())
        served.shell.end_turn(served.shell.clock())
        await client.reply(2)

    serve(tmp_path, test)
