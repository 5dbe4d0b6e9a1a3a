"""A broker for all the tests of stock clients; they keep apart by the names of their topics."""

import re
from collections.abc import Iterator

import pytest

from ottla.testing import Broker


@pytest.fixture(scope="session")
def shared_broker() -> Iterator[Broker]:
    with Broker() as broker:
        yield broker


@pytest.fixture
def broker(shared_broker: Broker) -> Broker:
    """Alive, or the test ends here: a client would look for a dead one for long."""
    shared_broker.stats()
    return shared_broker


@pytest.fixture
def topic(request: pytest.FixtureRequest) -> str:
    """A name of this test's own."""
    module = request.path.stem.removeprefix("test_")
    return re.sub(r"[^\w.-]", "-", f"{module}-{request.node.name.removeprefix('test_')}")
