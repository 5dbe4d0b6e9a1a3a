"""Who may connect: the listening socket, its rests, and Kafka's limits on connections."""

import asyncio
import errno
import logging
import socket
from collections.abc import Callable

from ottla.limits import LISTENER_REST_MS

log = logging.getLogger("ottla")

LISTEN_BACKLOG = 1024
# The descriptors of the process or of the machine, or the kernel's memory for sockets.
EXHAUSTED = (errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM)


class Listener:
    """Takes connections one by one, as long as there is room for them."""

    def __init__(
        self,
        loop: asyncio.AbstractEventLoop,
        on_connection: Callable[[socket.socket, str, int], None],
        connections_max: int,
        connections_per_address_max: int,
    ) -> None:
        self._loop = loop
        self._on_connection = on_connection
        self._connections_max = connections_max
        self._per_address_max = connections_per_address_max
        self._sock: socket.socket | None = None
        self._is_resting = False
        self._count = 0
        self._count_of: dict[str, int] = {}

    def listen(self, sock: socket.socket) -> None:
        sock.setblocking(False)
        sock.listen(LISTEN_BACKLOG)
        self._sock = sock
        self._loop.add_reader(sock.fileno(), self._accept)

    def stop(self) -> None:
        if self._sock is not None:
            self._loop.remove_reader(self._sock.fileno())
            self._sock.close()
            self._sock = None

    def on_closed(self, address: str) -> None:
        self._count -= 1
        left = self._count_of[address] - 1
        if left:
            self._count_of[address] = left
        else:
            del self._count_of[address]
        if self._is_resting and self._count == self._connections_max - 1:
            self._resume()

    def _accept(self) -> None:
        listener = self._sock
        if listener is None:
            return
        if self._count >= self._connections_max:
            # As Kafka: whoever comes now waits in the backlog until somebody leaves.
            self._rest()
            return
        try:
            sock, (address, port, *_) = listener.accept()
        except OSError as error:
            if error.errno in EXHAUSTED:
                log.warning("%s: not accepting for %d ms", error.strerror, LISTENER_REST_MS)
                self._rest()
                self._loop.call_later(LISTENER_REST_MS / 1000, self._resume)
            return
        count = self._count_of.get(address, 0)
        if count >= self._per_address_max:
            log.info("closing a connection from %s: it has %d already", address, count)
            sock.close()
            return
        self._count += 1
        self._count_of[address] = count + 1
        sock.setblocking(False)
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._on_connection(sock, address, port)

    def _rest(self) -> None:
        if self._sock is not None and not self._is_resting:
            self._is_resting = True
            self._loop.remove_reader(self._sock.fileno())

    def _resume(self) -> None:
        if self._sock is not None and self._is_resting:
            self._is_resting = False
            self._loop.add_reader(self._sock.fileno(), self._accept)
