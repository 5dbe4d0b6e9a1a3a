"""What passes between the parts of the client: requests one way, answers and losses the other."""

from collections.abc import Callable
from typing import Final, NamedTuple, Protocol

import msgspec

from ottla.client.settings import BackoffSettings
from ottla.names import Now

ANY_NODE: Final = -1

Random = Callable[[], float]
"""Uniform in [0, 1); given from outside, so that a simulated client repeats itself."""


class ClientRequest(NamedTuple):
    node: int
    """A broker's id, or ANY_NODE."""
    token: int
    """Comes back with the answer, or with the news that there will be none."""
    request: msgspec.Struct
    timeout_ms: int
    version_max: int | None = None
    answered: bool = True
    """With acks=0 nothing is answered: the token comes back with None once the bytes left."""


class Role(Protocol):
    """A part that has requests to make: metadata, a producer, a fetcher, single calls.

    `poll` gives what can be asked now. Exactly one of the other three follows for each token.
    """

    def poll(self, now: Now) -> list[ClientRequest]: ...

    def on_response(self, token: int, response: msgspec.Struct | None, now: Now) -> None: ...

    def on_lost(self, token: int, why: str, was_sent: bool, now: Now) -> None:
        """The connection failed or the time ran out: if it was sent, it may have been done."""

    def on_refused(self, token: int, why: str, now: Now) -> None:
        """It was never sent: the broker knows no version of it that would do."""

    def next_deadline_ms(self) -> int | None: ...


class Backoff:
    """How long to wait after so many failures in a row."""

    __slots__ = ("_random", "_settings")

    def __init__(self, settings: BackoffSettings, random: Random) -> None:
        self._settings = settings
        self._random = random

    def delay_ms(self, failures: int) -> int:
        """At least one millisecond, so that a deadline made of it lies ahead."""
        grown = self._settings.base_ms * 2 ** min(max(failures - 1, 0), 30)
        spread = 0.8 + 0.4 * self._random()
        return max(1, int(min(grown, self._settings.max_ms) * spread))


def earliest(deadlines: list[int | None], after_ms: int = -1) -> int | None:
    """Of those that lie after the last poll: what was due then waits for an event, not for time."""
    ahead = [deadline for deadline in deadlines if deadline is not None and deadline > after_ms]
    return min(ahead, default=None)
