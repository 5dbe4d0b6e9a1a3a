"""Every judge is shown three histories: a wrong one, a clean one, and one that just passes."""

import pytest

from ottla.sim.checkers import LogWatch, check
from ottla.sim.history import Damage, History, Listed, Outcome, Read, Send


class Story:
    """A history told in order: each operation takes one unit of time, and begins ten later."""

    def __init__(self, *, is_durable: bool = True) -> None:
        self.history = History(is_durable=is_durable)
        self.now_ns = 0
        self.open: list[Send] = []

    def step(self) -> int:
        self.now_ns += 10
        return self.now_ns

    def invoked(
        self, *values: int, by: str = "a", acks: int = -1, idempotent: bool = False
    ) -> "Story":
        send = self.history.send(self.step(), by, "p", values, acks=acks, is_idempotent=idempotent)
        self.open.append(send)
        return self

    def answered(self, offset: int | None, outcome: Outcome = Outcome.OK) -> "Story":
        """To the oldest send that waits."""
        self.open.pop(0).complete(self.step(), outcome, offset)
        return self

    def sent(
        self,
        *values: int,
        at: int | None,
        by: str = "a",
        acks: int = -1,
        idempotent: bool = False,
        outcome: Outcome = Outcome.OK,
    ) -> "Story":
        self.invoked(*values, by=by, acks=acks, idempotent=idempotent)
        return self.answered(at, outcome)

    def lost(self, *values: int, idempotent: bool = False) -> "Story":
        """Sent, and never answered."""
        return self.sent(*values, at=None, idempotent=idempotent, outcome=Outcome.INFO)

    def refused(self, *values: int) -> "Story":
        return self.sent(*values, at=None, outcome=Outcome.FAIL)

    def read(
        self,
        *values: int,
        at: int = 0,
        asked: int | None = None,
        watermark: int | None = None,
        log_start: int = 0,
        final: bool = False,
        began_ns: int | None = None,
    ) -> "Story":
        began = self.step() if began_ns is None else began_ns
        self.history.reads.append(
            Read(
                reader="r",
                partition="p",
                invoked_ns=began,
                completed_ns=self.now_ns + 1,
                fetch_offset=at if asked is None else asked,
                records=tuple(enumerate(values, at)),
                high_watermark=at + len(values) if watermark is None else watermark,
                log_start_offset=log_start,
                is_final=final,
            )
        )
        return self

    def final(self, *values: int, start: int = 0, watermark: int | None = None) -> "Story":
        return self.read(*values, at=start, log_start=start, watermark=watermark, final=True)

    def listed(self, offset: int, began_ns: int | None = None) -> "Story":
        began = self.step() if began_ns is None else began_ns
        self.history.listed.append(Listed("p", began, self.now_ns + 1, offset))
        return self

    def cache_lost(self) -> "Story":
        self.history.cache_losses_ns.append(self.step())
        return self

    def damaged(self, offset: int) -> "Story":
        self.history.damages.append(Damage("p", offset, "crc"))
        return self

    def anomalies(self) -> list[str]:
        return [anomaly.name for anomaly in check(self.history) if anomaly.is_forbidden]


WRONG = [
    ("damaged", Story().sent(1, at=0).final(1).damaged(0)),
    ("damaged", Story().damaged(3)),
    ("inconsistent-offsets", Story().sent(1, at=0).sent(2, at=0).final(1)),
    ("inconsistent-offsets", Story().lost(1).lost(2).read(1).final(2)),
    ("lost-write", Story().sent(1, at=0).final()),
    ("lost-write", Story().sent(1, 2, at=0).final(1)),
    ("lost-write", Story().sent(1, at=0).cache_lost().final()),
    ("lost-write", Story().sent(1, at=None).final()),
    ("lost-write", Story().sent(1, at=0, acks=1).final()),
    ("moved-write", Story().sent(1, at=1).final(1)),
    ("unseen", Story().sent(1, at=0).read(1)),
    ("lost-read", Story().lost(1).lost(2).read(1, 2).final(1)),
    ("duplicate", Story().lost(1, idempotent=True).final(1, 1)),
    ("duplicate", Story().sent(1, at=0, idempotent=True).sent(2, at=1).final(1, 2, 1)),
    ("phantom-read", Story().final(7)),
    ("aborted-read", Story().refused(1).final(1)),
    ("future-read", Story().read(1).lost(1).final(1)),
    ("reordered-send", Story().lost(1, idempotent=True).lost(2, idempotent=True).final(2, 1)),
    ("reordered-send", Story().lost(1, 2, idempotent=True).final(2, 1)),
    ("realtime-order", Story().sent(1, at=1).sent(2, at=0, by="b").final(2, 1)),
    ("skipped-read", Story().lost(1).read(1, at=1, asked=0).final(1, 1)),
    ("nonmonotonic-read", Story().lost(1).read(1, at=0, asked=1).final(1)),
    ("uncommitted-read", Story().lost(1).read(1, watermark=0).final(1)),
    ("hole", Story().lost(1).final(1, watermark=2)),
    ("stale-watermark", Story().lost(1).read(1).read(watermark=0).final(1)),
    ("stale-watermark", Story().sent(1, at=0).read(watermark=0).final(1)),
    ("stale-watermark", Story().lost(1).listed(1).read(watermark=0).final(1)),
    ("stale-list", Story().lost(1).read(1).listed(0).final(1)),
    ("stale-list", Story().sent(1, at=0, acks=1).listed(0).final(1)),
    ("log-start-regress", Story().read(at=5, log_start=5).read(at=5, log_start=4)),
]

CLEAN = [
    Story(),
    Story().sent(1, at=0).sent(2, at=1).read(1, 2).listed(2).final(1, 2),
    Story().sent(1, 2, 3, at=0, idempotent=True).sent(4, at=3, idempotent=True).final(1, 2, 3, 4),
    Story().sent(1, at=0).sent(2, at=1).read(1, watermark=2).read(2, at=1).final(1, 2),
    Story().refused(1).sent(2, at=0).final(2),
    Story().lost(1).sent(2, at=0).final(2),
    Story().sent(1, at=0, by="a").sent(2, at=1, by="b").final(1, 2),
    Story().read(at=5, log_start=5).read(at=5, log_start=7),
]

BORDERLINE = {
    "a write whose answer was lost may be there": Story().lost(1).final(1),
    "or not be there": Story().lost(1).final(),
    "a power cut may take what only the page cache acknowledged": (
        Story().sent(1, at=0, acks=1).cache_lost().sent(2, at=0).final(2)
    ),
    "also when the answer travelled while the power failed": (
        Story().invoked(1, acks=1).cache_lost().answered(0).sent(2, at=0).final(2)
    ),
    "acks=0 promises nothing": Story().sent(1, at=None, acks=0).final(),
    "in page-cache mode it may take anything": (
        Story(is_durable=False).sent(1, at=0).read(1).cache_lost().sent(2, at=0).final(2)
    ),
    "retention may take an acknowledged write": (
        Story().sent(1, at=0).sent(2, at=1).final(2, start=1)
    ),
    "even one whose offset nobody knows": (
        Story().sent(1, at=None).sent(2, at=1).final(2, start=1)
    ),
    "a read below the log start is gone too": (
        Story().lost(1).lost(2).read(1, 2).final(2, start=1)
    ),
    "without idempotence a retry may stand twice": Story().lost(1).final(1, 1),
    "without idempotence an unanswered write may land late": (
        Story().lost(1).sent(2, at=0).final(2, 1)
    ),
    "an idempotent write may be missing before a later one": (
        Story().lost(1, idempotent=True).lost(2, idempotent=True).final(2)
    ),
    "producers have no order between them while both wait": (
        Story().invoked(1, by="a").invoked(2, by="b").answered(1).answered(0).final(2, 1)
    ),
    "a read may begin before the write that it sees": (
        Story().lost(1).read(1, began_ns=1).final(1)
    ),
    "a fetch at the end reads nothing": Story().lost(1).read(at=1).final(1),
    "the last record below the high watermark may be read": (
        Story().lost(1).read(1, watermark=1).final(1)
    ),
    "a watermark asked for before another was told may be lower": (
        Story().sent(1, at=0).read(1).read(watermark=0, began_ns=5).final(1)
    ),
    "a fetch may not know yet what acks=1 acknowledged": (
        Story().sent(1, at=0, acks=1).read(watermark=0).final(1)
    ),
    "the end asked for before an append was acknowledged may be lower": (
        Story().invoked(1).answered(0).listed(0, began_ns=20).final(1)
    ),
    "a final read may come in pieces": (
        Story().sent(1, at=0).sent(2, at=1).final(1, watermark=2).read(2, at=1, final=True)
    ),
}


@pytest.mark.parametrize(("name", "story"), WRONG)
def test_a_wrong_history_is_found(name: str, story: Story) -> None:
    assert name in story.anomalies()


@pytest.mark.parametrize("story", CLEAN)
def test_a_clean_history_passes(story: Story) -> None:
    assert story.anomalies() == []


@pytest.mark.parametrize("case", BORDERLINE)
def test_what_is_allowed_passes(case: str) -> None:
    assert BORDERLINE[case].anomalies() == []


def test_a_duplicate_without_idempotence_is_counted_and_allowed() -> None:
    anomalies = check(Story().lost(1).final(1, 1).history)

    assert [(anomaly.name, anomaly.is_forbidden) for anomaly in anomalies] == [("duplicate", False)]


def test_an_anomaly_says_where_and_what() -> None:
    anomaly = check(Story().sent(1, at=0).final(watermark=1).history)[0]

    assert anomaly == ("lost-write", "p", "1 at 0 is gone", True)


class Watched:
    """A log as its broker tells it."""

    def __init__(self, *, is_durable: bool = True) -> None:
        self.watch = LogWatch(is_durable=is_durable)

    def at(self, log_start: int, high_watermark: int, log_end: int) -> "Watched":
        self.watch.observe("p", log_start, high_watermark, log_end)
        return self

    def holds(self, offset: int, content: str) -> "Watched":
        self.watch.content("p", offset, content)
        return self

    def restarted(self, *, cache_lost: bool = True) -> "Watched":
        self.watch.restarted(cache_lost=cache_lost)
        return self

    def removed(self) -> "Watched":
        self.watch.removed("p")
        return self

    def names(self) -> list[str]:
        return [anomaly.name for anomaly in self.watch.anomalies]


@pytest.mark.parametrize(
    ("watched", "names"),
    [
        # Wrong.
        (Watched().at(0, 3, 2), ["disordered-offsets"]),
        (Watched().at(4, 3, 5), ["disordered-offsets"]),
        (Watched().at(0, 3, 5).at(0, 2, 5), ["watermark-regress"]),
        (Watched().at(2, 3, 5).at(1, 3, 5), ["log-start-regress"]),
        (Watched().at(2, 3, 5).restarted().at(1, 3, 5), ["log-start-regress"]),
        (Watched().at(0, 3, 5).restarted().at(0, 0, 2), ["truncated-committed"]),
        (Watched().holds(1, "a").holds(1, "b"), ["reused-offset"]),
        (Watched().holds(1, "a").restarted().holds(1, "b"), ["reused-offset"]),
        (
            Watched(is_durable=False).at(0, 3, 5).restarted(cache_lost=False).at(0, 0, 2),
            ["truncated-committed"],
        ),
        # Clean.
        (Watched().at(0, 0, 0).at(0, 1, 3).at(0, 3, 3).at(2, 3, 4), []),
        (Watched().holds(1, "a").holds(1, "a").holds(2, "b"), []),
        # Allowed.
        (Watched().at(0, 3, 5).at(3, 3, 3), []),
        (Watched().at(0, 3, 5).restarted().at(0, 0, 3), []),
        (Watched(is_durable=False).at(0, 3, 5).holds(1, "a").restarted().at(0, 0, 1), []),
        (Watched(is_durable=False).holds(1, "a").restarted().holds(1, "b"), []),
        (Watched().at(2, 3, 5).holds(1, "a").removed().at(0, 0, 0).holds(1, "b"), []),
    ],
)
def test_the_broker_is_held_to_what_it_said_of_its_log(watched: Watched, names: list[str]) -> None:
    assert watched.names() == names
