"""Judges of a run: from what clients saw, and from what the broker says of its own logs.

Each check is a pure function of a history and yields what must not be. The names are those of the
literature on such tests where it has one. None of them knows how a broker works.
"""

from collections.abc import Callable, Iterable, Iterator
from typing import NamedTuple, TypeVar

from ottla.sim.history import ACKS_ALL, History, Outcome, Send

_T = TypeVar("_T")


class Anomaly(NamedTuple):
    name: str
    partition: str
    detail: str
    # Allowed ones are counted: what a producer without idempotence may do.
    is_forbidden: bool = True


class Final(NamedTuple):
    """A partition as the last reader found it."""

    start: int
    end: int
    values: dict[int, int]


Check = Callable[[History], Iterable[Anomaly]]


def check(history: History) -> list[Anomaly]:
    """Everything that is wrong with a history, forbidden or only worth counting."""
    return [anomaly for check in CHECKS for anomaly in check(history)]


def damaged(history: History) -> Iterator[Anomaly]:
    """A record that rotted, or that belongs to another partition."""
    for damage in history.damages:
        yield Anomaly("damaged", damage.partition, f"at offset {damage.offset}: {damage.why}")


def inconsistent_offsets(history: History) -> Iterator[Anomaly]:
    """No offset ever holds two values; what was served or acknowledged there stays."""
    held: dict[tuple[str, int], int] = {}
    for partition, offset, value in _evidence(history):
        known = held.setdefault((partition, offset), value)
        if known != value:
            yield Anomaly(
                "inconsistent-offsets", partition, f"offset {offset} held {known} and {value}"
            )


def lost_writes(history: History) -> Iterator[Anomaly]:
    """What was acknowledged is in the final read, at its offset."""
    finals = _finals(history)
    places = {partition: _offsets_of(final) for partition, final in finals.items()}
    for send in history.sends:
        if not history.is_owed(send):
            continue
        final = finals.get(send.partition)
        if final is None:
            yield Anomaly("unseen", send.partition, f"nobody read {send.values} at the end")
            continue
        offsets = places[send.partition]
        for at, value in enumerate(send.values):
            expected = None if send.base_offset is None else send.base_offset + at
            found = offsets.get(value)
            if found is None:
                # Below the log start it has gone by retention; without an offset nobody can tell.
                if final.start == 0 or (expected is not None and expected >= final.start):
                    yield Anomaly("lost-write", send.partition, f"{value} at {expected} is gone")
            elif expected is not None and expected >= final.start and expected not in found:
                yield Anomaly(
                    "moved-write", send.partition, f"{value} moved from {expected} to {found}"
                )


def lost_reads(history: History) -> Iterator[Anomaly]:
    """What a client has seen is never taken back (its offset cannot hold another value either)."""
    finals = _finals(history)
    for read in history.reads:
        final = finals.get(read.partition)
        if final is None or read.is_final or not history.is_lasting(read):
            continue
        for offset, value in read.records:
            if offset >= final.start and offset not in final.values:
                yield Anomaly("lost-read", read.partition, f"{value} at {offset} was served once")


def duplicates(history: History) -> Iterator[Anomaly]:
    """A value stands at one offset; without idempotence a retry may put it at a second one."""
    writers = _writers(history)
    found: dict[tuple[str, int], dict[int, None]] = {}
    for read in history.reads:
        if history.is_lasting(read):
            for offset, value in read.records:
                found.setdefault((read.partition, value), {})[offset] = None
    for (partition, value), offsets in found.items():
        if len(offsets) > 1:
            writer = writers.get((partition, value))
            detail = f"{value} at {sorted(offsets)}"
            is_forbidden = writer is not None and writer.is_idempotent
            yield Anomaly("duplicate", partition, detail, is_forbidden)


def aborted_reads(history: History) -> Iterator[Anomaly]:
    """Nobody sees what was refused, what nobody sent, or what will only be sent later."""
    writers = _writers(history)
    for read in history.reads:
        for offset, value in read.records:
            writer = writers.get((read.partition, value))
            detail = f"{value} at {offset}"
            if writer is None:
                yield Anomaly("phantom-read", read.partition, detail)
            elif writer.outcome is Outcome.FAIL:
                yield Anomaly("aborted-read", read.partition, detail)
            elif read.completed_ns < writer.invoked_ns:
                yield Anomaly("future-read", read.partition, detail)


def reordered_sends(history: History) -> Iterator[Anomaly]:
    """An idempotent producer's records stand in the order in which it sent them."""
    finals = _finals(history)
    places = {partition: _offsets_of(final) for partition, final in finals.items()}
    last: dict[tuple[str, str], tuple[int, int]] = {}
    for send in history.sends:
        offsets = places.get(send.partition)
        if not send.is_idempotent or offsets is None:
            continue
        for value in send.values:
            if value not in offsets:
                continue
            offset = offsets[value][0]
            key = (send.producer, send.partition)
            before, before_offset = last.get(key, (value, -1))
            if offset < before_offset:
                detail = f"{value} at {offset} was sent after {before} at {before_offset}"
                yield Anomaly("reordered-send", send.partition, detail)
            last[key] = (value, offset)


def realtime_order(history: History) -> Iterator[Anomaly]:
    """What was acknowledged before another send was invoked stands before it."""
    sends = [send for send in history.sends if history.is_owed(send)]
    raises = [
        (send.completed_ns or 0, send.partition, send.base_offset)
        for send in sends
        if send.base_offset is not None
    ]
    checks = [
        (send.invoked_ns, send.partition, send.base_offset, send)
        for send in sends
        if send.base_offset is not None
    ]
    for floor, offset, send in _below_floor(raises, checks, is_equal_bad=True):
        detail = f"{send.values} at {offset} was sent after {floor} had been acknowledged"
        yield Anomaly("realtime-order", send.partition, detail)


def skipped_reads(history: History) -> Iterator[Anomaly]:
    """Offsets are dense: a fetch gives them one by one, from the one that was asked for."""
    for read in history.reads:
        expected = read.fetch_offset
        for offset, _ in read.records:
            if offset != expected:
                name = "nonmonotonic-read" if offset < expected else "skipped-read"
                yield Anomaly(name, read.partition, f"offset {offset} instead of {expected}")
            expected = offset + 1
        if read.records and expected > read.high_watermark:
            detail = f"offset {expected - 1} at high watermark {read.high_watermark}"
            yield Anomaly("uncommitted-read", read.partition, detail)


def holes(history: History) -> Iterator[Anomaly]:
    """The final read misses nothing between the log start and the high watermark."""
    for partition, final in _finals(history).items():
        missing = [at for at in range(final.start, final.end) if at not in final.values]
        if missing:
            detail = f"{len(missing)} offsets of {final.start}..{final.end} from {missing[0]} on"
            yield Anomaly("hole", partition, detail)


def stale_watermarks(history: History) -> Iterator[Anomaly]:
    """No client sees an end of the log below one that was told, or acknowledged, before it asked.

    After an acks=1 answer this holds for ListOffsets alone: it waits for the flush (DESIGN D3).
    """
    reads = [read for read in history.reads if history.is_lasting(read)]
    listed = [seen for seen in history.listed if history.is_lasting(seen)]
    told = [(read.completed_ns, read.partition, read.high_watermark) for read in reads]
    told += [(seen.completed_ns, seen.partition, seen.offset) for seen in listed]
    acked = [_end_of(send) for send in history.sends if history.is_owed(send)]
    committed = [
        (at_ns, partition, end) for at_ns, partition, end, acks in acked if acks == ACKS_ALL
    ]
    fetches = [(read.invoked_ns, read.partition, read.high_watermark, read) for read in reads]
    for floor, end, read in _below_floor(told + committed, fetches):
        yield Anomaly("stale-watermark", read.partition, f"{end} after {floor}")
    appended = [(at_ns, partition, end) for at_ns, partition, end, _ in acked]
    asked = [(seen.invoked_ns, seen.partition, seen.offset, seen) for seen in listed]
    for floor, end, seen in _below_floor(told + appended, asked):
        yield Anomaly("stale-list", seen.partition, f"{end} after {floor}")


def log_start_regress(history: History) -> Iterator[Anomaly]:
    told = [(read.completed_ns, read.partition, read.log_start_offset) for read in history.reads]
    asked = [
        (read.invoked_ns, read.partition, read.log_start_offset, read) for read in history.reads
    ]
    for floor, start, read in _below_floor(told, asked):
        yield Anomaly("log-start-regress", read.partition, f"{start} after {floor}")


CHECKS: tuple[Check, ...] = (
    damaged,
    inconsistent_offsets,
    lost_writes,
    lost_reads,
    duplicates,
    aborted_reads,
    reordered_sends,
    realtime_order,
    skipped_reads,
    holes,
    stale_watermarks,
    log_start_regress,
)


class LogWatch:
    """What one broker says of its logs, told after every event; the moment of a wrong is known."""

    def __init__(self, *, is_durable: bool = True) -> None:
        self.anomalies: list[Anomaly] = []
        self._is_durable = is_durable
        self._log_starts: dict[str, int] = {}
        self._watermarks: dict[str, int] = {}
        # Over all lives: what is below was promised to somebody.
        self._committed: dict[str, int] = {}
        self._contents: dict[str, dict[int, object]] = {}

    def restarted(self, *, cache_lost: bool) -> None:
        """A new process recovers its high watermark; what was committed must still be there."""
        self._watermarks.clear()
        if cache_lost and not self._is_durable:
            self._committed.clear()
            self._contents.clear()

    def observe(self, partition: str, log_start: int, high_watermark: int, log_end: int) -> None:
        if not log_start <= high_watermark <= log_end:
            self._report("disordered-offsets", partition, f"{log_start} {high_watermark} {log_end}")
        self._monotonic("log-start-regress", self._log_starts, partition, log_start)
        self._monotonic("watermark-regress", self._watermarks, partition, high_watermark)
        committed = self._committed.get(partition, 0)
        if log_end < committed:
            self._report("truncated-committed", partition, f"log end {log_end} of {committed}")
        self._committed[partition] = max(committed, high_watermark)

    def content(self, partition: str, offset: int, content: object) -> None:
        """What the log holds below its high watermark: a value, or a checksum of its batch."""
        known = self._contents.setdefault(partition, {}).setdefault(offset, content)
        if known != content:
            self._report("reused-offset", partition, f"{offset} held {known}, holds {content}")

    def removed(self, partition: str) -> None:
        """The log was deleted: another of this name starts anew."""
        for known in (self._log_starts, self._watermarks, self._committed):
            known.pop(partition, None)
        self._contents.pop(partition, None)

    def _monotonic(self, name: str, known: dict[str, int], partition: str, now: int) -> None:
        before = known.get(partition, 0)
        if now < before:
            self._report(name, partition, f"{now} after {before}")
        known[partition] = max(before, now)

    def _report(self, name: str, partition: str, detail: str) -> None:
        self.anomalies.append(Anomaly(name, partition, detail))


def _evidence(history: History) -> Iterator[tuple[str, int, int]]:
    """(partition, offset, value) that somebody was told and that must stay so."""
    for read in history.reads:
        if history.is_lasting(read):
            for offset, value in read.records:
                yield read.partition, offset, value
    for send in history.sends:
        if send.base_offset is not None and history.is_owed(send):
            for at, value in enumerate(send.values):
                yield send.partition, send.base_offset + at, value


def _finals(history: History) -> dict[str, Final]:
    finals: dict[str, Final] = {}
    for read in history.reads:
        if read.is_final:
            known = finals.get(read.partition, Final(read.log_start_offset, 0, {}))
            known.values.update(read.records)
            start = max(known.start, read.log_start_offset)
            end = max(known.end, read.high_watermark)
            finals[read.partition] = Final(start, end, known.values)
    return finals


def _offsets_of(final: Final) -> dict[int, list[int]]:
    offsets: dict[int, list[int]] = {}
    for offset in sorted(final.values):
        offsets.setdefault(final.values[offset], []).append(offset)
    return offsets


def _writers(history: History) -> dict[tuple[str, int], Send]:
    return {(send.partition, value): send for send in history.sends for value in send.values}


def _end_of(send: Send) -> tuple[int, str, int, int]:
    assert send.completed_ns is not None
    end = -1 if send.base_offset is None else send.base_offset + len(send.values)
    return send.completed_ns, send.partition, end, send.acks


def _below_floor(
    raises: Iterable[tuple[int, str, int]],
    checks: Iterable[tuple[int, str, int, _T]],
    *,
    is_equal_bad: bool = False,
) -> Iterator[tuple[int, int, _T]]:
    """(floor, number, who) for each number below the highest that was told before it was asked for.

    A raise is (told at, partition, number), a check (asked at, partition, number, who).
    """
    floors: dict[str, int] = {}
    waiting = sorted(raises, reverse=True)
    for asked_ns, partition, number, who in sorted(checks, key=lambda check: check[0]):
        while waiting and waiting[-1][0] < asked_ns:
            _, told_partition, told = waiting.pop()
            floors[told_partition] = max(floors.get(told_partition, told), told)
        floor = floors.get(partition)
        if floor is not None and (number < floor or (is_equal_bad and number == floor)):
            yield floor, number, who
