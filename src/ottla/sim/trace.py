"""What happened in a simulation: a running hash of every event, and the last of them as text.

Two runs of one seed are the same run exactly when their hashes agree, so everything that could
differ goes into the hash: the time, the words, and the bytes that moved.
"""

import hashlib
from collections import deque
from collections.abc import Callable

RECENT_EVENTS_MAX = 2_000


class Trace:
    __slots__ = ("_echo", "_hash", "_recent", "count")

    def __init__(self, echo: Callable[[str], None] | None = None) -> None:
        self._hash = hashlib.sha256()
        self._recent: deque[tuple[int, str]] = deque(maxlen=RECENT_EVENTS_MAX)
        self._echo = echo
        self.count = 0

    def add(self, at_ns: int, what: str, data: bytes = b"") -> None:
        """`data` is hashed and not kept: the text must name it well enough for a reader."""
        self.count += 1
        # The lengths keep text and bytes of neighbouring events from running into each other.
        self._hash.update(b"%d %d %d " % (at_ns, len(what), len(data)))
        self._hash.update(what.encode())
        if data:
            self._hash.update(data)
        self._recent.append((at_ns, what))
        if self._echo is not None:
            self._echo(as_line(at_ns, what))

    def digest(self) -> str:
        return self._hash.hexdigest()

    def recent(self) -> list[str]:
        """The end of the story, for the bundle of a failed seed."""
        return [as_line(at_ns, what) for at_ns, what in self._recent]


def as_line(at_ns: int, what: str) -> str:
    return f"{at_ns // 1_000_000_000:03d}.{at_ns // 1_000 % 1_000_000:06d} {what}"


class FaultLedger:
    """Counts what really struck, so that a run in which nothing happened cannot pass.

    A *fault* is something a client may notice: an error, a lost connection, a dead process. A
    *disturbance* only changes order or pace (a split delivery, a cold page) and proves nothing.
    """

    __slots__ = ("disturbances", "faults")

    def __init__(self) -> None:
        self.faults: dict[str, int] = {}
        self.disturbances: dict[str, int] = {}

    def fault(self, name: str) -> None:
        self.faults[name] = self.faults.get(name, 0) + 1

    def disturb(self, name: str) -> None:
        self.disturbances[name] = self.disturbances.get(name, 0) + 1

    @property
    def fault_count(self) -> int:
        return sum(self.faults.values())
