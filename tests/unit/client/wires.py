"""A whole client core over simulated wires: bytes to the model of the brokers and back.

Every event takes a seeded while; what happens on one connection keeps its order. Connections break
as often as `break_rate` says, before or after their bytes were heard.
"""

import heapq
import random
from collections.abc import Callable, Iterable
from functools import partial
from typing import cast

import msgspec

from ottla.client.core import ClientCore
from ottla.client.network import Close, Dial, Write
from ottla.client.settings import BackoffSettings, ClientSettings
from ottla.names import Now
from ottla.protocol import apis
from ottla.protocol.compile import decoder, encode
from ottla.protocol.facts import Part
from ottla.protocol.frame import encode_response, parse_request_header
from ottla.protocol.schema.api_versions import ApiVersion, ApiVersionsResponse
from tests.frames import complete_frames
from tests.unit.client.model import ModelCluster

WALL_MS = 1_700_000_000_000


def answer_frames(model: ModelCluster, node: int, frames: Iterable[memoryview]) -> bytes:
    """What the broker writes to a connection on which these requests came."""
    out = b""
    for frame in frames:
        header = parse_request_header(frame)
        key, version = header.api_key, header.api_version
        request, end = decoder(apis.request_type(key), version)(frame, header.body_at)
        assert end == len(frame)
        if key == apis.API_VERSIONS:
            response: msgspec.Struct | None = ApiVersionsResponse(
                api_keys=[
                    ApiVersion(info.key, info.min_version, info.max_stable_version)
                    for info in apis.API.values()
                ]
            )
        else:
            response = model.handle(node, request)
        if response is not None:
            body = encode(response, version)
            parts = encode_response(
                header.correlation_id, apis.response_header_version(key, version), [body]
            )
            out += joined(parts)
    return out


def joined(parts: list[Part]) -> bytes:
    """Nothing lies in a file here."""
    return b"".join(cast("list[bytes]", parts))


class Wires:
    def __init__(self, model: ModelCluster, seed: int = 0, break_rate: float = 0.0) -> None:
        self.model = model
        self.rng = random.Random(seed)
        self.break_rate = break_rate
        self.mono_ms = 0
        # Addresses where nobody listens.
        self.refusing: dict[tuple[str, int], None] = {}
        # Addresses where somebody listens and says nothing.
        self.silent: dict[tuple[str, int], None] = {}
        self.dialed: list[tuple[str, int]] = []
        self._links: dict[int, tuple[str, int]] = {}
        self._heard: dict[int, bytearray] = {}
        self._last_ms: dict[int, int] = {}
        self._events: list[tuple[int, int, Callable[[], None]]] = []
        self._count = 0
        settings = ClientSettings(
            request_timeout_ms=5_000,
            connect_timeout_ms=2_000,
            call_timeout_ms=20_000,
            backoff=BackoffSettings(10, 100),
            reconnect=BackoffSettings(10, 100),
        )
        bootstrap = list(model.addresses.values())
        self.core = ClientCore(bootstrap, settings, random.Random(seed).random)

    @property
    def now(self) -> Now:
        return Now(self.mono_ms, WALL_MS + self.mono_ms)

    def run(self, is_done: Callable[[], bool], limit_ms: int = 600_000) -> None:
        """Until it is; time jumps to what comes next."""
        end_ms = self.mono_ms + limit_ms
        while True:
            self.core.run(self.now)
            for effect in self.core.take_effects():
                self._do(effect)
            if is_done():
                return
            times = [event[0] for event in self._events[:1]]
            deadline_ms = self.core.next_deadline_ms()
            if deadline_ms is not None:
                assert deadline_ms > self.mono_ms, "a deadline that has passed would spin"
                times.append(deadline_ms)
            assert times, "nothing will ever happen"
            self.mono_ms = min(times)
            assert self.mono_ms <= end_ms, "too late"
            while self._events and self._events[0][0] <= self.mono_ms:
                heapq.heappop(self._events)[2]()

    def _do(self, effect: Dial | Write | Close) -> None:
        if isinstance(effect, Dial):
            where = (effect.host, effect.port)
            self.dialed.append(where)
            self._links[effect.link] = where
            self._heard[effect.link] = bytearray()
            if where in self.refusing:
                self._later(effect.link, lambda: self._break(effect.link, "refused"))
            elif where not in self.silent:
                self._later(effect.link, lambda: self.core.dialed(effect.link, self.now))
        elif isinstance(effect, Close):
            self._links.pop(effect.link, None)
        elif effect.link in self._links:
            if self.rng.random() < self.break_rate:
                self._later(effect.link, lambda: self._break(effect.link, "reset"))
            data = joined(effect.parts)
            self._later(effect.link, lambda: self._hear(effect.link, data))

    def _hear(self, link: int, data: bytes) -> None:
        where = self._links.get(link)
        if where is None or where in self.silent:
            return
        node = next(node for node, known in self.model.addresses.items() if known == where)
        self._heard[link] += data
        # Requests that the broker keeps no bytes of, as their frames are copied here.
        frames, used = complete_frames(memoryview(bytes(self._heard[link])))
        del self._heard[link][:used]
        answer = answer_frames(self.model, node, frames)
        if self.rng.random() < self.break_rate:
            self._later(link, lambda: self._break(link, "reset"))
        at = self.rng.randrange(len(answer) + 1)
        for piece in (answer[:at], answer[at:]):
            if piece:
                self._later(link, partial(self._tell, link, piece))

    def _tell(self, link: int, data: bytes) -> None:
        if link in self._links:
            self.core.received(link, data, self.now)

    def _break(self, link: int, why: str) -> None:
        if self._links.pop(link, None) is not None:
            self.core.closed(link, why, self.now)

    def _later(self, link: int, event: Callable[[], None]) -> None:
        at_ms = max(self._last_ms.get(link, 0), self.mono_ms + self.rng.randint(1, 10))
        self._last_ms[link] = at_ms
        self._count += 1
        heapq.heappush(self._events, (at_ms, self._count, event))
