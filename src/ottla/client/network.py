"""Requests find their broker here: links to brokers, without sockets.

Dial, write and hang up are effects; what became of them comes back as inputs. Each broker has one
link at most. Requests that cannot leave yet wait at their broker, and are lost with its link.
"""

from collections import deque
from typing import NamedTuple

from ottla.client.cluster import ClusterView
from ottla.client.requests import ANY_NODE, Backoff, ClientRequest, Random, Role, earliest
from ottla.client.settings import ClientSettings
from ottla.errors import Malformed, Refused
from ottla.names import Now
from ottla.protocol.apis import API
from ottla.protocol.compile import UnsupportedVersion
from ottla.protocol.connection import Connection
from ottla.protocol.facts import Part
from ottla.protocol.shape import message_facts

# Addresses that we were given count down from here; brokers' ids count up from 0.
FIRST_BOOTSTRAP_NODE = -2


class Dial(NamedTuple):
    link: int
    host: str
    port: int


class Write(NamedTuple):
    link: int
    parts: list[Part]


class Close(NamedTuple):
    """Nothing of this link is of interest any more."""

    link: int


Effect = Dial | Write | Close


class _Pending:
    __slots__ = ("deadline_ms", "request", "role")

    def __init__(self, role: Role | None, request: ClientRequest, deadline_ms: int) -> None:
        # None: nobody awaits the answer.
        self.role = role
        self.request = request
        self.deadline_ms = deadline_ms

    @property
    def api(self) -> str:
        key = message_facts(type(self.request.request)).key
        assert key is not None
        return API[key].name


class _Node:
    __slots__ = (
        "connect_by_ms",
        "connection",
        "failures",
        "host",
        "is_writable",
        "link",
        "port",
        "queue",
        "retry_at_ms",
        "sent",
        "trouble",
    )

    def __init__(self, host: str, port: int) -> None:
        self.host = host
        self.port = port
        self.link: int | None = None
        self.connection: Connection[_Pending] | None = None
        self.connect_by_ms = 0
        self.is_writable = True
        self.queue: deque[_Pending] = deque()
        self.sent: deque[_Pending] = deque()
        self.failures = 0
        self.retry_at_ms = 0
        # Why the last link failed, until another is ready.
        self.trouble = ""

    @property
    def address(self) -> str:
        return f"{self.host}:{self.port}"

    @property
    def is_ready(self) -> bool:
        return self.connection is not None and self.connection.ready

    @property
    def load(self) -> int:
        return len(self.queue) + len(self.sent)


class Network:
    def __init__(
        self,
        cluster: ClusterView,
        bootstrap: list[tuple[str, int]],
        settings: ClientSettings,
        random: Random,
    ) -> None:
        self._cluster = cluster
        self._settings = settings
        self._backoff = Backoff(settings.reconnect, random)
        self._nodes = {
            FIRST_BOOTSTRAP_NODE - index: _Node(host, port)
            for index, (host, port) in enumerate(bootstrap)
        }
        self._links: dict[int, _Node] = {}
        self._last_link = 0
        self._effects: list[Effect] = []

    def send(self, role: Role | None, request: ClientRequest, now: Now) -> None:
        pending = _Pending(role, request, now.mono_ms + request.timeout_ms)
        node_id = request.node
        if node_id == ANY_NODE:
            node_id = self._any_node(now.mono_ms)
        node = self._node(node_id)
        if node is None:
            _lose(pending, f"node {node_id} is not in the cluster", False, now)
            return
        node.queue.append(pending)
        self._pump(node, now)

    def forget(self, role: Role) -> None:
        """Nobody awaits its answers any more."""
        for node in self._nodes.values():
            for pending in (*node.queue, *node.sent):
                if pending.role is role:
                    pending.role = None

    def take_effects(self) -> list[Effect]:
        effects, self._effects = self._effects, []
        return effects

    # Inputs

    def dialed(self, link: int, now: Now) -> None:
        node = self._links.get(link)
        if node is not None:
            node.connection = Connection(self._settings.client_id)
            self._effects.append(Write(link, node.connection.hello()))

    def received(self, link: int, data: bytes | memoryview, now: Now) -> None:
        node = self._links.get(link)
        if node is None or node.connection is None:
            return
        try:
            answers = node.connection.receive(data)
        except Malformed as error:
            self._hang_up(node, f"{node.address}: an unreadable answer: {error}", now)
            return
        parts = node.connection.take_parts()
        if parts:
            self._effects.append(Write(link, parts))
        if node.connection.ready:
            node.failures = 0
            node.trouble = ""
        for pending, response in answers:
            node.sent.popleft()
            if pending.role is not None:
                pending.role.on_response(pending.request.token, response, now)
        self._pump(node, now)

    def writable(self, link: int, is_writable: bool, now: Now) -> None:
        """False: what was written lies in memory, let no more come."""
        node = self._links.get(link)
        if node is not None:
            node.is_writable = is_writable
            self._pump(node, now)

    def closed(self, link: int, why: str, now: Now) -> None:
        """Also where the dialing failed."""
        node = self._links.get(link)
        if node is not None:
            self._lose_all(node, f"{node.address}: {why}", now)

    def tick(self, now: Now) -> None:
        for node_id, node in list(self._nodes.items()):
            late = next((p for p in node.sent if p.deadline_ms <= now.mono_ms), None)
            if late is not None:
                why = f"no answer to {late.api} in {late.request.timeout_ms} ms"
                self._hang_up(node, f"{node.address}: {why}", now)
            elif node.link is not None and not node.is_ready and now.mono_ms >= node.connect_by_ms:
                why = f"no connection in {self._settings.connect_timeout_ms} ms"
                self._hang_up(node, f"{node.address}: {why}", now)
            elif node_id <= FIRST_BOOTSTRAP_NODE and not node.load and self._has_broker():
                self._let_go(node)
            self._drop_late(node, now)
            self._pump(node, now)

    def next_deadline_ms(self) -> int | None:
        deadlines: list[int | None] = []
        for node in self._nodes.values():
            deadlines += [pending.deadline_ms for pending in (*node.sent, *node.queue)]
            if node.link is not None and not node.is_ready:
                deadlines.append(node.connect_by_ms)
            elif node.link is None and node.queue:
                deadlines.append(node.retry_at_ms)
        return earliest(deadlines)

    # Within

    def _node(self, node_id: int) -> _Node | None:
        node = self._nodes.get(node_id)
        broker = self._cluster.brokers.get(node_id)
        if broker is None:
            return node
        if node is None:
            node = self._nodes[node_id] = _Node(broker.host, broker.port)
        elif node.link is None:
            node.host, node.port = broker.host, broker.port
        return node

    def _any_node(self, mono_ms: int) -> int:
        """One that answers, if any does, else the one that failed least; brokers come first."""
        choice = [*self._cluster.brokers, *(n for n in self._nodes if n <= FIRST_BOOTSTRAP_NODE)]

        def cost(node_id: int) -> tuple[bool, bool, int, int]:
            node = self._nodes.get(node_id)
            if node is None:
                return True, False, 0, 0
            is_resting = node.link is None and node.retry_at_ms > mono_ms
            return not node.is_ready, is_resting, node.failures, node.load

        return min(choice, key=cost)

    def _has_broker(self) -> bool:
        """Whether one of the brokers themselves can be asked, and not just an address."""
        return any(n > FIRST_BOOTSTRAP_NODE and node.is_ready for n, node in self._nodes.items())

    def _pump(self, node: _Node, now: Now) -> None:
        if node.link is None:
            if node.queue and now.mono_ms >= node.retry_at_ms:
                self._dial(node, now)
            return
        while node.queue and node.is_ready and node.is_writable:
            pending = node.queue.popleft()
            role, request = pending.role, pending.request
            assert node.connection is not None
            try:
                parts = node.connection.send(
                    request.request,
                    pending,
                    version_max=request.version_max,
                    answered=request.answered,
                )
            except (Refused, UnsupportedVersion) as error:
                if role is not None:
                    role.on_refused(request.token, f"{node.address}: {error}", now)
                continue
            self._effects.append(Write(node.link, parts))
            if request.answered:
                node.sent.append(pending)
            elif role is not None:
                role.on_response(request.token, None, now)

    def _dial(self, node: _Node, now: Now) -> None:
        self._last_link += 1
        node.link = self._last_link
        node.connect_by_ms = now.mono_ms + self._settings.connect_timeout_ms
        node.is_writable = True
        self._links[node.link] = node
        self._effects.append(Dial(node.link, node.host, node.port))

    def _drop_late(self, node: _Node, now: Now) -> None:
        late = [pending for pending in node.queue if pending.deadline_ms <= now.mono_ms]
        for pending in late:
            node.queue.remove(pending)
            trouble = node.trouble or f"{node.address}: no connection"
            why = f"{trouble}; {pending.api} waited {pending.request.timeout_ms} ms"
            _lose(pending, why, False, now)

    def _hang_up(self, node: _Node, why: str, now: Now) -> None:
        assert node.link is not None
        self._effects.append(Close(node.link))
        self._lose_all(node, why, now)

    def _let_go(self, node: _Node) -> None:
        if node.link is not None:
            self._effects.append(Close(node.link))
            self._unlink(node)

    def _unlink(self, node: _Node) -> None:
        assert node.link is not None
        del self._links[node.link]
        node.link = node.connection = None

    def _lose_all(self, node: _Node, why: str, now: Now) -> None:
        was_idle = node.is_ready and not node.load
        self._unlink(node)
        if not was_idle:
            # Brokers close what is idle for long; that is no failure.
            node.failures += 1
            node.trouble = why
            node.retry_at_ms = now.mono_ms + self._backoff.delay_ms(node.failures)
        sent, queue = list(node.sent), list(node.queue)
        node.sent.clear()
        node.queue.clear()
        for pending in sent:
            _lose(pending, why, True, now)
        for pending in queue:
            _lose(pending, why, False, now)


def _lose(pending: _Pending, why: str, was_sent: bool, now: Now) -> None:
    if pending.role is not None:
        pending.role.on_lost(pending.request.token, why, was_sent, now)
