"""Covers: ottla.server.entropy."""

from ottla.broker.fetch_sessions import NO_SESSION
from ottla.names import METADATA_TOPIC_ID, NO_UUID
from ottla.server.entropy import SystemEntropy


def test_ids_are_ids_and_not_reserved_ones() -> None:
    entropy = SystemEntropy()
    uuids = [entropy.uuid() for _ in range(100)]
    assert len(dict.fromkeys(uuids)) == 100
    assert all(len(uuid) == 16 and uuid not in (NO_UUID, METADATA_TOPIC_ID) for uuid in uuids)


def test_session_ids_fit_their_field_and_are_never_none() -> None:
    entropy = SystemEntropy()
    assert all(NO_SESSION < entropy.session_id() < 2**31 for _ in range(1000))
