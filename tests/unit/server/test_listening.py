"""Who may connect, and who waits in the backlog."""

from pathlib import Path

from ottla.protocol.schema.metadata import MetadataRequest
from tests.unit.server.shells import Client, Served, serve

METADATA = MetadataRequest(topics=[])


def test_over_max_connections_newcomers_wait_until_somebody_leaves(tmp_path: Path) -> None:
    async def test(served: Served) -> None:
        first, second = await served.connect(), await served.connect()
        third = Client(served, served.knock())
        third.push(third.frame(METADATA, 9))
        await served.turns()
        assert len(served.shell.connections) == 2
        await first.ask(METADATA, 9)
        second.reset()
        assert (await third.reply(1)).brokers
        assert len(served.shell.connections) == 2

    serve(tmp_path, test, {"max.connections": "2"})


def test_over_max_connections_per_ip_newcomers_are_closed(tmp_path: Path) -> None:
    async def test(served: Served) -> None:
        first, second = await served.connect(), await served.connect()
        third = Client(served, served.knock())
        assert await third.is_closed()
        await first.ask(METADATA, 9)
        second.sock.close()
        await served.until(lambda: len(served.shell.connections) == 1)
        fourth = await served.connect()
        await fourth.ask(METADATA, 9)

    serve(tmp_path, test, {"max.connections.per.ip": "2"})
