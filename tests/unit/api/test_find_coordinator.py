"""FindCoordinator: nobody coordinates yet, and asking is harmless."""

import pytest

from ottla.errors import ErrorCode
from ottla.protocol.schema.find_coordinator import FindCoordinatorRequest
from tests.unit.broker.harness import Harness

NOT_AVAILABLE = ErrorCode.COORDINATOR_NOT_AVAILABLE
INVALID = ErrorCode.INVALID_REQUEST
GROUP, TRANSACTION, SHARE = 0, 1, 2


@pytest.mark.parametrize(
    ("kind", "key", "code"),
    [
        (GROUP, "billing", NOT_AVAILABLE),
        (TRANSACTION, "payments", NOT_AVAILABLE),
        (SHARE, "billing:AAAAAAAAAAAAAAAAAAAAAA:0", NOT_AVAILABLE),
        (SHARE, "billing", INVALID),
        (3, "billing", INVALID),
    ],
)
def test_there_is_no_coordinator_of_any_kind(
    harness: Harness, kind: int, key: str, code: ErrorCode
) -> None:
    request = FindCoordinatorRequest(key_type=kind, coordinator_keys=[key])
    answer = harness.connect().ask(request, 6).coordinators[0]
    assert (answer.key, answer.node_id, answer.port, answer.error_code) == (key, -1, -1, code)


def test_before_version_4_one_key_is_answered_and_then_each_in_order(harness: Harness) -> None:
    client = harness.connect()
    alone = client.ask(FindCoordinatorRequest(key="billing"), 3)
    assert (alone.error_code, alone.node_id, alone.port) == (NOT_AVAILABLE, -1, -1)
    several = client.ask(FindCoordinatorRequest(coordinator_keys=["b", "a", "b"]), 4)
    assert [each.key for each in several.coordinators] == ["b", "a", "b"]


def test_the_operator_is_told_once_a_group(harness: Harness) -> None:
    client = harness.connect()
    for key in ("billing", "billing", "audit"):
        client.ask(FindCoordinatorRequest(key=key), 3)
    told = [report.text.split(" was ")[0] for report in harness.reports]
    assert told == ["group 'billing'", "group 'audit'"]
