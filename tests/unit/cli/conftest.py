from collections.abc import Iterator

import pytest

from ottla.testing import Broker


@pytest.fixture(scope="package")
def broker() -> Iterator[Broker]:
    """One for all tests of the command line: they keep apart by the names of their topics."""
    with Broker() as broker:
        yield broker
