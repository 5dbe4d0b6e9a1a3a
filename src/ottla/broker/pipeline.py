"""A connection's requests and the order of their replies.

Replies leave in the order of the requests. A reply that is ready within its own input, with none
before it waiting, is sent at once; otherwise it takes a slot. Behind a parked produce only further
produces run; whatever else comes is held, and the connection muted, until the slots are empty.
"""

from collections import deque
from typing import Any

import msgspec

from ottla.broker.effects import Send
from ottla.broker.parked import Parked
from ottla.names import ConnId, Now
from ottla.protocol.compile import FrameEncoder
from ottla.protocol.facts import Part

Message = Any


class _NoReply:
    """What a handler answers where the client expects nothing (acks=0)."""


NO_REPLY = _NoReply()


class Route:
    """How one version of one API is read, handled and answered."""

    __slots__ = ("api_key", "decode", "frame", "handle", "is_produce", "version")

    def __init__(
        self, api_key: int, version: int, decode: Any, frame: FrameEncoder[Any], handle: Any
    ) -> None:
        self.api_key = api_key
        self.version = version
        self.decode = decode
        # From a correlation id and an answer, the parts of its frame.
        self.frame = frame
        self.handle = handle
        self.is_produce = api_key == 0


class Connection:
    """What the node keeps of one client's connection."""

    __slots__ = (
        "conn",
        "held",
        "is_muted",
        "parked",
        "peer",
        "slots",
        "software",
    )

    def __init__(self, conn: ConnId, peer: str) -> None:
        self.conn = conn
        self.peer = peer
        self.software = ""
        self.slots: deque[Call] = deque()
        self.parked: dict[Parked, None] = {}
        self.held: bytes | None = None
        self.is_muted = False


class Call(msgspec.Struct, eq=False):
    """One request on its way through its handler, and its place in the order of replies."""

    connection: Connection
    route: Route
    version: int
    correlation_id: int
    now: Now
    # Filled when the reply is ready but an earlier one is not; an empty frame sends nothing.
    frame: list[Part] | None = None

    def answer(self, message: Message) -> None:
        """The reply is ready; it leaves when those before it have left."""
        self.frame = [] if message is NO_REPLY else self.route.frame(self.correlation_id, message)

    def drain(self, effects: list[Any]) -> None:
        """Send all that is in order now."""
        connection = self.connection
        slots = connection.slots
        while slots and slots[0].frame is not None:
            frame = slots.popleft().frame
            if frame:
                effects.append(Send(connection.conn, frame))
