"""A node by hand, with a topic of three partitions, and nothing left behind it."""

from collections.abc import Iterator

import pytest

from tests.unit.broker.harness import Harness


@pytest.fixture
def harness() -> Iterator[Harness]:
    harness = Harness()
    harness.create_topic("orders", 3)
    yield harness
    harness.assert_nothing_left()
