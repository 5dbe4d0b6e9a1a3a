"""The table of APIs."""

import subprocess
import sys

import pytest

from ottla.protocol import apis
from ottla.protocol.facts import version_range
from ottla.protocol.shape import message_facts


def test_each_row_says_what_its_messages_say() -> None:
    for key, api in apis.API.items():
        facts = message_facts(apis.request_type(key))
        assert facts.key == key
        assert version_range(facts.versions) == range(api.min_version, api.max_version + 1)
        assert version_range(facts.flexible)[:1] in (range(api.first_flexible, 32768)[:1], range(0))
        assert facts.listeners == api.listeners
        assert apis.request_type(key).__name__ == f"{api.name}Request"
        assert apis.response_type(key).__name__ == f"{api.name}Response"


@pytest.mark.parametrize(
    ("key", "version", "request_header", "response_header"),
    [
        (0, 8, 1, 0),
        (0, 9, 2, 1),
        (17, 1, 1, 0),
        (18, 2, 1, 0),
        (18, 4, 2, 0),
        (18, 99, 2, 0),
        (75, 0, 2, 1),
    ],
)
def test_header_versions_follow_the_first_flexible_version(
    key: int, version: int, request_header: int, response_header: int
) -> None:
    assert apis.request_header_version(key, version) == request_header
    assert apis.response_header_version(key, version) == response_header


def test_versions_in_the_making_are_not_stable() -> None:
    assert (apis.API[22].max_version, apis.API[22].max_stable_version) == (6, 5)
    assert (apis.API[0].max_version, apis.API[0].max_stable_version) == (13, 13)


def test_the_messages_are_imported_when_they_are_asked_for() -> None:
    program = (
        "import sys, ottla.protocol.frame, ottla.protocol.apis as apis;"
        "loaded = lambda: [n for n in sys.modules if n.startswith('ottla.protocol.schema.')];"
        "assert loaded() == ['ottla.protocol.schema.index'], loaded();"
        "apis.request_type(0); assert len(loaded()) == 2"
    )
    subprocess.run([sys.executable, "-c", program], check=True)
