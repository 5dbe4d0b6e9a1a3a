"""Virtual time: one queue of events, one seed, and the clocks that machines read.

Nothing happens but what the queue says, in the order of (time, order of scheduling). Chance comes
from named streams, each seeded from the world's seed and its name alone, so a new draw in one part
does not shift the draws of another.
"""

import hashlib
import heapq
import random
from collections.abc import Callable

from ottla.names import Now
from ottla.sim.trace import FaultLedger, Trace

NS_PER_US = 1_000
NS_PER_MS = 1_000_000
NS_PER_S = 1_000_000_000

# A date after every date that a file format could take for "not set" or "long expired".
WALL_EPOCH_MS = 1_800_000_000_000

Action = Callable[[], None]


class Timer:
    """A scheduled event, to cancel it by. Its action is gone once it ran or was cancelled."""

    __slots__ = ("action", "at_ns", "label")

    def __init__(self, at_ns: int, label: str, action: Action) -> None:
        self.at_ns = at_ns
        self.label = label
        self.action: Action | None = action

    @property
    def pending(self) -> bool:
        return self.action is not None


class World:
    __slots__ = (
        "_horizon_ns",
        "_queue",
        "_sequence",
        "_streams",
        "clock",
        "invariants",
        "ledger",
        "now_ns",
        "seed",
        "trace",
    )

    def __init__(self, seed: int, trace: Trace | None = None) -> None:
        self.seed = seed
        self.trace = trace if trace is not None else Trace()
        self.ledger = FaultLedger()
        self.now_ns = 0
        self.clock = Clock(self)
        # Called after every event; they raise AssertionError for what must never be.
        self.invariants: list[Action] = []
        self._queue: list[tuple[int, int, Timer]] = []
        self._sequence = 0
        self._streams: dict[str, random.Random] = {}
        self._horizon_ns: int | None = None

    def rng(self, name: str) -> random.Random:
        stream = self._streams.get(name)
        if stream is None:
            material = hashlib.sha256(f"{self.seed}/{name}".encode()).digest()
            stream = self._streams[name] = random.Random(int.from_bytes(material, "big"))
        return stream

    def now(self) -> Now:
        return self.clock.now()

    def schedule(self, delay_ns: int, label: str, action: Action) -> Timer:
        assert delay_ns >= 0, (label, delay_ns)
        timer = Timer(self.now_ns + delay_ns, label, action)
        self._sequence += 1
        heapq.heappush(self._queue, (timer.at_ns, self._sequence, timer))
        return timer

    def cancel(self, timer: Timer | None) -> None:
        # It stays in the queue: taking it out of the middle of a heap costs more than passing it.
        if timer is not None:
            timer.action = None

    def note(self, what: str, data: bytes = b"") -> None:
        self.trace.add(self.now_ns, what, data)

    def fault(self, name: str, detail: str = "") -> None:
        self.ledger.fault(name)
        self.trace.add(self.now_ns, f"fault {name} {detail}" if detail else f"fault {name}")

    def next_event_ns(self) -> int | None:
        queue = self._queue
        while queue and queue[0][2].action is None:
            heapq.heappop(queue)
        return queue[0][0] if queue else None

    def step(self) -> bool:
        """Run the next event; False when none is left."""
        at_ns = self.next_event_ns()
        if at_ns is None:
            return False
        timer = heapq.heappop(self._queue)[2]
        action, timer.action = timer.action, None
        assert action is not None
        self.now_ns = at_ns
        self.trace.add(at_ns, timer.label)
        action()
        for invariant in self.invariants:
            invariant()
        return True

    def run_until(self, at_ns: int) -> None:
        """Run every event up to and including `at_ns`, and end at that time.

        An event may call it again to let time pass beneath itself (a thread that is suspended in
        a system call while others run). Such a call never outruns the one around it.
        """
        outer_ns = self._horizon_ns
        horizon_ns = at_ns if outer_ns is None else min(at_ns, outer_ns)
        self._horizon_ns = horizon_ns
        try:
            while (next_ns := self.next_event_ns()) is not None and next_ns <= horizon_ns:
                self.step()
        finally:
            self._horizon_ns = outer_ns
        self.now_ns = max(self.now_ns, horizon_ns)

    def run_for(self, duration_ns: int) -> None:
        self.run_until(self.now_ns + duration_ns)

    def run_while(self, condition: Callable[[], bool], limit_ns: int) -> bool:
        """Run until `condition` is False; True if it became so before `limit_ns` passed."""
        end_ns = self.now_ns + limit_ns
        while condition():
            next_ns = self.next_event_ns()
            if next_ns is None or next_ns > end_ns:
                return False
            self.step()
        return True


class Clock:
    """What one machine reads. Its rate may be off and its wall clock may jump; both are faults."""

    __slots__ = ("_anchor_mono_ns", "_anchor_ns", "_drift_ppm", "_wall_offset_ms", "_world")

    def __init__(self, world: World, drift_ppm: int = 0) -> None:
        self._world = world
        self._drift_ppm = drift_ppm
        self._anchor_ns = 0
        self._anchor_mono_ns = 0
        self._wall_offset_ms = WALL_EPOCH_MS

    def _mono_ns(self) -> int:
        elapsed_ns = self._world.now_ns - self._anchor_ns
        return self._anchor_mono_ns + elapsed_ns + elapsed_ns * self._drift_ppm // 1_000_000

    def now(self) -> Now:
        mono_ms = self._mono_ns() // NS_PER_MS
        return Now(mono_ms, mono_ms + self._wall_offset_ms)

    def delay_ns(self, deadline_ms: int) -> int:
        """How long until this clock shows `deadline_ms`: never early, else a tick finds nothing."""
        missing_ns = deadline_ms * NS_PER_MS - self._mono_ns()
        if missing_ns <= 0:
            return 0
        rate = 1_000_000 + self._drift_ppm
        return -(-missing_ns * 1_000_000 // rate)

    def set_drift(self, drift_ppm: int) -> None:
        """From now on: the time that this clock has shown so far stays as it was."""
        self._anchor_mono_ns = self._mono_ns()
        self._anchor_ns = self._world.now_ns
        self._drift_ppm = drift_ppm

    def jump_wall(self, by_ms: int) -> None:
        self._wall_offset_ms += by_ms

    def reboot(self) -> None:
        """Monotonic time begins anew with the machine; wall time goes on."""
        before_ms = self.now().wall_ms
        self._anchor_ns = self._world.now_ns
        self._anchor_mono_ns = 0
        self._wall_offset_ms = before_ms
