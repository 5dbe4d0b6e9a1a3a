"""Every recorded answer of Apache Kafka 4.3, asked of this broker.

What differs is a fault of ours, or it is meant and stands below with its reason.
"""

import re
from dataclasses import dataclass

import pytest

from ottla.testing import Broker
from tools.recorder import compare
from tools.recorder_cases import PROFILES, Profile


@dataclass(frozen=True, slots=True)
class Deviation:
    """Lines of a difference that are meant, by patterns of the case's name and of the line."""

    why: str
    case: str
    says: str = ""

    def explains(self, case: str, line: str) -> bool:
        return re.search(self.case, case) is not None and re.search(self.says, line) is not None


DEVIATIONS = (
    Deviation(
        "Records whose offset deltas contradict their batch are poison: Kafka appends them, or "
        "fails in a way that it did not foresee; here they are refused.",
        case=r"delta.* wrong|wrong delta|offset delta",
    ),
    Deviation(
        "A batch may be decompressed up to a limit, else a client could fill memory.",
        case=r"^bomb: ",
    ),
    Deviation(
        "A block that claims gigabytes is too large; Kafka's decompressor fails unforeseen.",
        case=r"snappy, a block that claims . GiB",
        says=r"error_code: Kafka said -1, this broker 10",
    ),
    Deviation(
        "compression.type is not yet effective: batches keep their producer's compression.",
        case=r"^kept: |^strict: the broker's time and codec",
        says=r"\.attributes: Kafka said",
    ),
    Deviation(
        "A refused batch does not tell where the log begins; a client looks at that only with "
        "UNKNOWN_PRODUCER_ID, which neither broker sends.",
        case=r"^(produce|compressed|kept|idempotence): ",
        says=r"\.log_start_offset: Kafka said 0, this broker '<default>'",
    ),
    Deviation(
        "Kafka finalizes eligible leader replicas, and keeps min.insync.replicas as a default of "
        "the cluster for it; that comes with the cluster.",
        case=r"^describe configs|all its configs come back",
        says=r"config_source: Kafka said 3, this broker 5|synonyms: .*min\.insync\.replicas",
    ),
    Deviation(
        "Configs of groups come with the groups.",
        case=r"^describe configs: a group that is not, unknown key",
    ),
    Deviation(
        "Too many partitions are refused however many they are; Kafka's sum of them overflows.",
        case=r"^create topics: 2,147,483,647 partitions",
    ),
    Deviation(
        "UNKNOWN_TOPIC_ID says more precisely what Kafka's session still tells by name.",
        case=r"^session: a topic deleted meanwhile, by id",
        says=r"error_code: Kafka said 3, this broker 100",
    ),
    Deviation(
        "Null and none at all mean the same where no transaction was asked about.",
        case=r"^fetch: a topic deleted while one waits",
        says=r"aborted_transactions: Kafka said None, this broker '<default>'",
    ),
)


@pytest.mark.parametrize("profile", PROFILES, ids=lambda profile: profile.name)
def test_every_recorded_request_is_answered_as_kafka_answered_it(profile: Profile) -> None:
    settings = {key.replace(".", "_"): value for key, value in profile.properties.items()}
    with Broker(**settings) as broker:
        differences = compare("127.0.0.1", broker.port, profile.cases)
    unexplained = []
    used: dict[Deviation, None] = {}
    for difference in differences:
        head, *lines = str(difference).splitlines()
        for line in lines:
            meant = [d for d in DEVIATIONS if d.explains(difference.case, line)]
            used |= dict.fromkeys(meant)
            if not meant:
                unexplained.append(f"{head}\n{line}")
    names = [case.name for case in profile.cases]
    for deviation in DEVIATIONS:
        if deviation not in used and any(re.search(deviation.case, name) for name in names):
            unexplained.append(f"no longer deviates: {deviation.why}")
    if unexplained:
        pytest.fail("\n".join(unexplained), pytrace=False)
