import json

from ottla.sim.campaign import Summary, ledger_line
from ottla.sim.checkers import Anomaly
from ottla.sim.cluster import CRASHED, OK, STUCK, WRONG, Verdict

CLEAN = Verdict(1, operations=150, faults={"kill": 2})
LOST = Verdict(2, anomalies=[Anomaly("lost-write", "t-0", "7 is gone")], faults={"kill": 1})
HUNG = Verdict(3, stuck=["a produce"])
DEAD = Verdict(4, crash="AssertionError", stuck=["a produce"])


def summary_of(*verdicts: Verdict) -> Summary:
    summary = Summary()
    for verdict in verdicts:
        summary.add(verdict)
    return summary


def test_a_campaign_exits_with_the_worst_of_its_seeds() -> None:
    codes = [
        summary_of(*verdicts).exit_code
        for verdicts in ([CLEAN], [CLEAN, HUNG], [HUNG, LOST], [LOST, DEAD, HUNG])
    ]

    assert codes == [OK, STUCK, WRONG, CRASHED]


def test_a_campaign_adds_up_what_its_seeds_saw() -> None:
    summary = summary_of(CLEAN, LOST)

    assert summary.faults == {"kill": 3}
    assert summary.anomalies == {"lost-write": 1}
    assert summary.failed == [2]
    assert summary.as_json()["operations"] == 150


def test_the_ledger_has_a_line_of_json_for_a_seed() -> None:
    line = json.loads(ledger_line(LOST))

    assert line["seed"] == 2
    assert line["exit_code"] == WRONG
    assert line["findings"] == ["lost-write t-0: 7 is gone"]
