"""A simulated network: connections that carry bytes in order, and everything that can go wrong.

A connection is two ends. What one end sends waits in its queue, leaves it in pieces of any size,
travels, and is delivered to the other end in order: TCP loses and reorders nothing within a
connection. Between connections there is no order at all. What is lost is lost with its connection:

- *reset*: both owners, or one of them (half-open), learn that the connection is gone;
- *cut*: nothing passes from one host to another, and nobody is told; connections stall, and after
  the heal they go on or turn out to be reset; *clog* is a cut that always goes on;
- *kill* of a process: its kernel resets its connections; *vanish* of a host: nobody is told.

A reader that stops reading fills the window, then the sender's queue grows: `queued_bytes`. A part
of a file is read when its bytes leave, not when they are sent (DESIGN D2b).
"""

from collections import deque
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from enum import Enum
from typing import Protocol

from ottla.sim.world import NS_PER_MS, NS_PER_US, Action, Timer, World

Buffer = bytes | bytearray | memoryview


class CloseReason(Enum):
    CLOSED = "closed"
    RESET = "reset"
    REFUSED = "refused"


class State(Enum):
    CONNECTING = "connecting"
    OPEN = "open"
    # The owner has let go of it; what was queued, or the news of the end, has yet to leave.
    CLOSING = "closing"
    GONE = "gone"


class Endpoint(Protocol):
    """The owner of ends of connections: a client, or the shell of a node."""

    def opened(self, end: "End") -> None: ...

    def received(self, end: "End", data: bytes) -> None: ...

    def writable(self, end: "End", queued_bytes: int) -> None:
        """Bytes have left; so many still wait."""

    def closed(self, end: "End", reason: CloseReason) -> None:
        """The other side, or the network, ended it. Not called for one's own close or reset."""


class LateBytes:
    """Bytes of known length that are read only when they leave.

    `read(position, size)` gives them; fewer than asked for, or None, means that they are gone: the
    connection is reset, because their length is already announced. `release` is called once, when
    no byte of them is wanted any more.
    """

    __slots__ = ("read", "release", "size")

    def __init__(
        self, size: int, read: Callable[[int, int], bytes | None], release: Action
    ) -> None:
        self.size = size
        self.read = read
        self.release = release


@dataclass(slots=True)
class NetworkFaults:
    """Rates and ranges, redrawn by the swarm. All zero is a fast and quiet network."""

    latency_ns_min: int = 20 * NS_PER_US
    latency_ns_max: int = 300 * NS_PER_US
    # A piece takes much longer, and holds up what is behind it on its connection.
    slow: float = 0.0
    slow_ns_max: int = 200 * NS_PER_MS
    # A piece ends at any byte instead of with what is there.
    split: float = 0.0
    # A connection is reset when a piece leaves; of these, so many are noticed by one side only.
    reset: float = 0.0
    half_open: float = 0.0
    refuse: float = 0.0
    reset_on_heal: float = 0.0
    piece_bytes_max: int = 65_536
    window_bytes: int = 262_144


SYN_RETRY_NS = 1_000 * NS_PER_MS


class End:
    """One end of a connection, with the direction that leads away from it."""

    __slots__ = (
        "_fin",
        "_late_offset",
        "_leaving",
        "_loss",
        "_network",
        "_queue",
        "_stalled",
        "_unread",
        "_window_used",
        "arrives_ns",
        "endpoint",
        "is_reading",
        "local",
        "number",
        "peer",
        "queued_bytes",
        "remote",
        "state",
    )

    def __init__(
        self, network: "SimNetwork", number: int, local: str, remote: str, endpoint: Endpoint
    ) -> None:
        self._network = network
        self.number = number
        self.local = local
        self.remote = remote
        self.endpoint = endpoint
        self.peer: End | None = None
        self.state = State.CONNECTING
        self.is_reading = True
        self.queued_bytes = 0
        # Of the direction that leads away: nothing arrives before what left earlier.
        self.arrives_ns = 0
        self._queue: deque[memoryview | LateBytes] = deque()
        self._late_offset = 0
        self._leaving: Timer | None = None
        self._fin: CloseReason | None = None
        self._window_used = 0
        # Of the direction that leads here.
        self._unread: deque[bytes] = deque()
        self._loss: CloseReason | None = None
        self._stalled: Timer | None = None

    def __repr__(self) -> str:
        return f"{self.local}->{self.remote}#{self.number}"

    @property
    def is_open(self) -> bool:
        return self.state is State.OPEN

    def send(self, parts: Iterable[Buffer | LateBytes]) -> None:
        assert self.is_open, self
        for part in parts:
            if isinstance(part, LateBytes):
                if part.size == 0:
                    part.release()
                    continue
                self.queued_bytes += part.size
                self._queue.append(part)
            elif part:
                # The owner may use its buffer again at once.
                self.queued_bytes += len(part)
                self._queue.append(memoryview(bytes(part)))
        self.push()

    def close(self) -> None:
        """The other end learns it behind everything that was sent."""
        self._end(CloseReason.CLOSED)

    def reset(self) -> None:
        """The other end learns it soon; what was queued is lost."""
        self._drop_queue()
        self._end(CloseReason.RESET)

    def pause_reading(self) -> None:
        self.is_reading = False

    def resume_reading(self) -> None:
        self.is_reading = True
        if self._unread:
            self._network.world.schedule(0, f"net {self} reads on", self._read)

    def stall(self, duration_ns: int) -> None:
        """A fault: the owner of this end reads nothing for a while."""
        self._network.world.cancel(self._stalled)
        self._stalled = self._network.world.schedule(
            duration_ns, f"net {self} reads again", self._end_stall
        )

    # The direction that leads away.

    def _end(self, reason: CloseReason) -> None:
        if self.state is State.CONNECTING:
            self.vanish()
        elif self.state is State.OPEN:
            self.state = State.CLOSING
            self._unread.clear()
            self._fin = reason
            self.push()

    def push(self) -> None:
        """Something can leave: there is more, a cut was healed, or the window opened."""
        if self._leaving is None and (self._queue or self._fin is not None):
            # A turn of the owner ends first: what it sends together leaves together.
            self._leaving = self._network.world.schedule(0, f"net {self} leaves", self._leave)

    def _leave(self) -> None:
        self._leaving = None
        network = self._network
        peer = self.peer
        if network.is_cut(self.local, self.remote) or peer is None:
            return
        faults = network.faults
        # An end that its process has closed still sends what it had queued.
        if self.is_open and network.chance(faults.reset):
            network.reset_connection(self, one_sided=network.chance(faults.half_open))
            return
        free = faults.window_bytes - self._window_used
        if self._queue and free > 0:
            size = min(self.queued_bytes, free, faults.piece_bytes_max)
            if network.chance(faults.split):
                # Often inside a length or a header.
                small = network.chance(0.5)
                size = network.rng.randint(1, min(size, 16) if small else size)
                network.world.ledger.disturb("network.split")
            data = self._take(size)
            if data is None:
                network.world.note(f"net {self} has no bytes left for what it announced")
                network.reset_connection(self)
                return
            self._window_used += len(data)
            network.travel(self, f"delivers {len(data)}", lambda: peer.arrive(data))
            if self.is_open:
                self.endpoint.writable(self, self.queued_bytes)
        if self._queue:
            if self._window_used < faults.window_bytes:
                self.push()
        elif self._fin is not None:
            reason = self._fin
            self.vanish()
            network.travel(self, f"delivers {reason.value}", lambda: peer.lose(reason))

    def _take(self, size: int) -> bytes | None:
        """So many bytes off the queue; None if a part of a file is not there any more."""
        taken: list[bytes | memoryview] = []
        queue = self._queue
        while size:
            part = queue[0]
            if isinstance(part, LateBytes):
                wanted = min(size, part.size - self._late_offset)
                piece = part.read(self._late_offset, wanted)
                if piece is None or len(piece) < wanted:
                    return None
                taken.append(piece)
                self._late_offset += wanted
                if self._late_offset == part.size:
                    queue.popleft()
                    self._late_offset = 0
                    part.release()
            else:
                wanted = min(size, len(part))
                taken.append(part[:wanted])
                if wanted == len(part):
                    queue.popleft()
                else:
                    queue[0] = part[wanted:]
            size -= wanted
            self.queued_bytes -= wanted
        return b"".join(taken)

    def _drop_queue(self) -> None:
        for part in self._queue:
            if isinstance(part, LateBytes):
                part.release()
        self._queue.clear()
        self.queued_bytes = 0
        self._late_offset = 0

    # The direction that leads here.

    def arrive(self, data: bytes) -> None:
        if self.is_open:
            self._network.world.note(f"net {self} gets {len(data)}", data)
            self._unread.append(data)
            self._read()
        elif self.state is State.GONE and self._network.is_up(self.local):
            # Nobody has this connection any more: its kernel says so.
            self._answer_reset()

    def _answer_reset(self) -> None:
        peer = self.peer
        if peer is not None and not self._network.is_cut(self.local, self.remote):
            self._network.travel(self, "delivers reset", lambda: peer.lose(CloseReason.RESET))

    def lose(self, reason: CloseReason) -> None:
        """The connection is gone, and the owner of this end is told, if there is one still."""
        if self.state is State.GONE:
            return
        if self._unread and reason is CloseReason.CLOSED:
            # Not before it has read what came earlier.
            self._loss = reason
            return
        had_owner = self.state is not State.CLOSING
        self.vanish()
        if had_owner:
            self.endpoint.closed(self, reason)

    def die(self, last_words: CloseReason | None) -> None:
        """The process of this end is dead: it lets go of nothing, its kernel may say a word."""
        self._queue.clear()
        self._drop_queue()
        if last_words is None:
            self.vanish()
        else:
            self._end(last_words)

    def vanish(self) -> None:
        """Gone without a word to anybody."""
        self.state = State.GONE
        self._fin = None
        self._unread.clear()
        self._drop_queue()
        self._network.forget(self)

    def _read(self) -> None:
        while self._unread and self.is_reading and self._stalled is None:
            data = self._unread.popleft()
            peer = self.peer
            assert peer is not None
            peer.window_opens(len(data))
            self.endpoint.received(self, data)
        if self._loss is not None and not self._unread:
            self.lose(self._loss)

    def window_opens(self, size: int) -> None:
        self._window_used -= size
        self.push()

    def _end_stall(self) -> None:
        self._stalled = None
        self._read()


class SimNetwork:
    def __init__(self, world: World) -> None:
        self.world = world
        self.faults = NetworkFaults()
        self.rng = world.rng("network")
        self._listeners: dict[str, Endpoint] = {}
        # Hosts that have lost power answer nothing.
        self._down: dict[str, None] = {}
        self._cuts: dict[tuple[str, str], int] = {}
        self._ends: dict[End, None] = {}
        self._numbers = 0

    def listen(self, host: str, endpoint: Endpoint) -> None:
        self._listeners[host] = endpoint
        self._down.pop(host, None)

    def stop_listening(self, host: str) -> None:
        """Whoever knocks from now on is refused; what is open stays."""
        self._listeners.pop(host, None)

    def connect(self, local: str, remote: str, endpoint: Endpoint) -> End:
        """The end comes at once; `opened` or `closed` follows, or nothing at all."""
        self._down.pop(local, None)
        self._numbers += 1
        end = End(self, self._numbers, local, remote, endpoint)
        self._ends[end] = None
        self._knock(end)
        return end

    def ends(self, host: str) -> list[End]:
        """The open ends that a host holds, oldest first."""
        return [end for end in self._ends if end.local == host and end.is_open]

    # Verbs

    def cut(self, source: str, target: str, *, one_way: bool = False) -> None:
        self.world.note(f"net cut {source} {'->' if one_way else '<->'} {target}")
        for way in self._ways(source, target, one_way):
            self._cuts[way] = self._cuts.get(way, 0) + 1

    def heal(self, source: str, target: str, *, one_way: bool = False) -> None:
        """Undo one `cut`; what had to wait goes on, or turns out to be dead."""
        self.world.note(f"net heal {source} {'->' if one_way else '<->'} {target}")
        for way in self._ways(source, target, one_way):
            self._open(way, self.faults.reset_on_heal)

    def heal_all(self) -> None:
        self.world.note("net heal all")
        for way in list(self._cuts):
            self._cuts[way] = 1
            self._open(way, self.faults.reset_on_heal)

    def clog(self, source: str, target: str, duration_ns: int) -> None:
        """Hold one direction up, and let it go on afterwards."""
        way = (source, target)
        self._cuts[way] = self._cuts.get(way, 0) + 1
        self.world.schedule(
            duration_ns, f"net unclog {source}->{target}", lambda: self._open(way, 0.0)
        )

    def kill(self, host: str) -> None:
        """Its process ends, and its kernel tells the others. Its own endpoints hear nothing."""
        self._listeners.pop(host, None)
        for end in [end for end in self._ends if end.local == host]:
            end.die(self.rng.choice((CloseReason.CLOSED, CloseReason.RESET)))

    def vanish(self, host: str) -> None:
        """Power fails: the others learn it only from a host that is up again."""
        self._listeners.pop(host, None)
        self._down[host] = None
        for end in [end for end in self._ends if end.local == host]:
            end.die(None)

    def reset_connection(self, end: End, *, one_sided: bool = False) -> None:
        """Both owners learn it, or the owner of `end` alone."""
        self.world.fault("network.half_open" if one_sided else "network.reset", str(end))
        peer = end.peer
        end.lose(CloseReason.RESET)
        if peer is not None and not one_sided:
            peer.lose(CloseReason.RESET)

    # For the ends

    def is_cut(self, source: str, target: str) -> bool:
        return (source, target) in self._cuts

    def is_up(self, host: str) -> bool:
        return host not in self._down

    def chance(self, rate: float) -> bool:
        return rate > 0.0 and self.rng.random() < rate

    def forget(self, end: End) -> None:
        self._ends.pop(end, None)

    def travel(self, end: End, what: str, on_arrival: Action) -> None:
        """Towards the peer of `end`, behind everything that left it earlier."""
        world = self.world
        end.arrives_ns = max(end.arrives_ns, world.now_ns + self._latency_ns())
        world.schedule(end.arrives_ns - world.now_ns, f"net {end} {what}", on_arrival)

    # Within

    def _latency_ns(self) -> int:
        faults = self.faults
        latency_ns = self.rng.randint(faults.latency_ns_min, faults.latency_ns_max)
        if self.chance(faults.slow):
            self.world.ledger.disturb("network.slow")
            latency_ns += self.rng.randint(0, faults.slow_ns_max)
        return latency_ns

    def _knock(self, end: End) -> None:
        self.world.schedule(self._latency_ns(), f"net {end} knocks", lambda: self._admit(end))

    def _admit(self, end: End) -> None:
        if end.state is not State.CONNECTING:
            return
        is_cut = self.is_cut(end.local, end.remote) or self.is_cut(end.remote, end.local)
        if is_cut or not self.is_up(end.remote):
            self.world.schedule(SYN_RETRY_NS, f"net {end} tries again", lambda: self._knock(end))
            return
        listener = self._listeners.get(end.remote)
        if listener is None or self.chance(self.faults.refuse):
            if listener is not None:
                self.world.fault("network.refused", str(end))
            self.travel(end, "is refused", lambda: self._refuse(end))
            return
        self._numbers += 1
        accepted = End(self, self._numbers, end.remote, end.local, listener)
        accepted.peer, end.peer = end, accepted
        accepted.state = State.OPEN
        self._ends[accepted] = None
        self.travel(accepted, "is accepted", lambda: self._opened(end))
        listener.opened(accepted)

    def _opened(self, end: End) -> None:
        if end.state is State.CONNECTING:
            end.state = State.OPEN
            end.endpoint.opened(end)
        elif end.peer is not None and self.is_up(end.local):
            # It was given up meanwhile.
            end.peer.lose(CloseReason.RESET)

    def _refuse(self, end: End) -> None:
        if end.state is State.CONNECTING:
            end.lose(CloseReason.REFUSED)

    def _ways(self, source: str, target: str, one_way: bool) -> list[tuple[str, str]]:
        return [(source, target)] if one_way else [(source, target), (target, source)]

    def _open(self, way: tuple[str, str], reset: float) -> None:
        count = self._cuts.get(way, 0)
        if count > 1:
            self._cuts[way] = count - 1
            return
        if not self._cuts.pop(way, 0):
            return
        for end in [end for end in self._ends if (end.local, end.remote) == way]:
            if end.is_open and self.chance(reset):
                self.reset_connection(end)
            else:
                end.push()
