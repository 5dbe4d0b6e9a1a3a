"""A shell with real sockets and real files in the test's own process, and its clients.

Nothing here sleeps: a test takes turns with the broker, iteration by iteration of their loop.
"""

import asyncio
import socket
import struct
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path
from typing import Any

import msgspec
import uvloop

from ottla.api.table import route_of
from ottla.broker.boot import boot
from ottla.broker.node import Node
from ottla.broker.state import NodeState
from ottla.config import BrokerConfig
from ottla.names import ConnId, Now
from ottla.protocol.apis import response_header_version
from ottla.protocol.frame import SIZE_BYTES
from ottla.server.connection import Connection
from ottla.server.disk import OsDisk
from ottla.server.entropy import SystemEntropy
from ottla.server.runner import Shell, clock
from tests.unit.broker.harness import ADDRESSES, KEY_OF, read_reply, request_frame

# Far more iterations than anything takes here: a test that waits in vain fails, and says so.
ITERATIONS_MAX = 200_000


class NodeOfTests(Node):
    def __init__(self, state: NodeState, now: Now) -> None:
        # Connections in the order in which their frames were handed to the node.
        self.served: list[ConnId] = []
        super().__init__(state, route_of, now)

    def received(self, conn: ConnId, frame: memoryview, now: Now) -> None:
        self.served.append(conn)
        super().received(conn, frame, now)


class ShellOfTests(Shell):
    """Its clock can be moved, and a broken invariant is a failure of the test."""

    def __init__(self, node: Node, disk: OsDisk, loop: asyncio.AbstractEventLoop) -> None:
        self.skew_ms = 0
        self.broken: list[BaseException] = []
        super().__init__(node, disk, loop)
        self.overwrites_frames = True

    def clock(self) -> Now:
        now = super().clock()
        return Now(now.mono_ms + self.skew_ms, now.wall_ms + self.skew_ms)

    def end_broken(self, what: str, error: BaseException | None) -> None:
        self.broken.append(error or AssertionError(what))


class Client:
    """A plain socket that never blocks the loop: the broker runs while it waits."""

    def __init__(self, served: "Served", sock: socket.socket) -> None:
        self.served = served
        self.sock = sock
        self.loop = asyncio.get_running_loop()
        self._drawn = 0
        self.asked: dict[int, tuple[int, int]] = {}
        self.replies: dict[int, Any] = {}
        self.order: list[int] = []
        self._received = b""

    def frame(self, message: msgspec.Struct, version: int) -> bytes:
        key = KEY_OF[type(message).__name__.removesuffix("Request")]
        self._drawn += 1
        self.asked[self._drawn] = (key, version)
        body = request_frame(message, version, self._drawn, key)
        return struct.pack(">i", len(body)) + body

    async def send_bytes(self, data: bytes) -> None:
        await self.loop.sock_sendall(self.sock, data)

    def push(self, data: bytes) -> None:
        """Into the socket's buffers, without a turn of the loop."""
        assert self.sock.send(data) == len(data)

    async def ask(self, message: msgspec.Struct, version: int) -> Any:
        await self.send_bytes(self.frame(message, version))
        return await self.reply(self._drawn)

    async def reply(self, correlation_id: int) -> Any:
        while correlation_id not in self.replies:
            await self._read_reply()
        return self.replies[correlation_id]

    async def _read_reply(self) -> None:
        size = int.from_bytes(await self.receive(SIZE_BYTES), "big")
        body = await self.receive(size)
        correlation_id = int.from_bytes(body[:4], "big")
        key, version = self.asked.pop(correlation_id)
        at = 4 + response_header_version(key, version)
        self.replies[correlation_id] = read_reply(key, version, body[at:])
        self.order.append(correlation_id)

    async def receive(self, size: int) -> bytes:
        data = b""
        while len(data) < size:
            more = await self.loop.sock_recv(self.sock, size - len(data))
            assert more, "the broker closed the connection"
            data += more
        return data

    async def is_closed(self) -> bool:
        """Whether the broker closes without another byte; waits for one of the two."""
        try:
            return await self.loop.sock_recv(self.sock, 1) == b""
        except ConnectionResetError:
            return True

    @property
    def connection(self) -> Connection:
        """The broker's end."""
        port = self.sock.getsockname()[1]
        for connection in self.served.shell.connections.values():
            if connection.sock.getpeername()[1] == port:
                return connection
        raise AssertionError("the broker has no such connection")

    def reset(self) -> None:
        """RST instead of FIN."""
        self.sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.sock.close()


class Served:
    def __init__(self, shell: ShellOfTests, node: NodeOfTests, disk: OsDisk, port: int) -> None:
        self.shell = shell
        self.node = node
        self.disk = disk
        self.port = port
        self.clients: list[Client] = []

    async def connect(self, receive_buffer: int | None = None) -> Client:
        sock = socket.socket()
        if receive_buffer is not None:
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_buffer)
        sock.setblocking(False)
        before = len(self.shell.connections)
        await asyncio.get_running_loop().sock_connect(sock, ("127.0.0.1", self.port))
        await self.until(lambda: len(self.shell.connections) > before)
        return self._add(sock)

    def knock(self) -> socket.socket:
        """Connect without waiting to be let in."""
        sock = socket.create_connection(("127.0.0.1", self.port))
        sock.setblocking(False)
        self._add(sock)
        return sock

    def _add(self, sock: socket.socket) -> Client:
        client = Client(self, sock)
        self.clients.append(client)
        return client

    async def until(self, condition: Callable[[], bool]) -> None:
        for _ in range(ITERATIONS_MAX):
            assert not self.shell.broken, self.shell.broken
            if condition():
                return
            await asyncio.sleep(0)
        raise AssertionError("what was waited for does not come")

    async def turns(self, count: int = 50) -> None:
        """Let the broker run as far as it gets by itself."""
        for _ in range(count):
            await asyncio.sleep(0)


def serve(
    data: Path, test: Callable[[Served], Awaitable[None]], settings: Mapping[str, str] | None = None
) -> None:
    """Run the test beside a broker, and see that both leave nothing behind."""
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        runner.run(_serve(data, test, settings or {}))


async def _serve(
    data: Path, test: Callable[[Served], Awaitable[None]], settings: Mapping[str, str]
) -> None:
    loop = asyncio.get_running_loop()
    disk = OsDisk(data / "data")
    # Without a journal to prepare a test starts in no time.
    config, _ = BrokerConfig.load({"ottla.durability": "page-cache", **settings})
    node = NodeOfTests(boot(disk, config, ADDRESSES, SystemEntropy(), clock()).state, clock())
    shell = ShellOfTests(node, disk, loop)
    listener = socket.socket()
    listener.bind(("127.0.0.1", 0))
    served = Served(shell, node, disk, listener.getsockname()[1])
    ready: list[Now] = []
    node.start(clock(), ready.append)
    shell.end_turn(clock())
    await served.until(lambda: bool(ready))
    shell.listen(listener)
    try:
        await asyncio.wait_for(test(served), 30)
        for client in served.clients:
            client.sock.close()
        await served.until(lambda: not shell.connections or shell.is_draining)
        shell.close_all()
        assert shell.budget.used == 0
        assert node.held_bytes == 0
        await served.until(lambda: node.is_quiet)
    finally:
        shell.drain()
        shell.close_all()
        shell.workers.stop()
    assert not shell.broken, shell.broken
    segments = [s for p in node.hosting.all_partitions() for s in p.log.segments]
    assert [segment.pins for segment in segments if segment.pins] == []
