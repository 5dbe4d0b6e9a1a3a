"""The pytest plugin. Every pytest run beside which Ottla is installed imports it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ottla.testing import Broker


@pytest.fixture(scope="session")
def ottla_broker() -> Iterator[Broker]:
    """A broker for the whole session; tests keep apart by the names of their topics."""
    from ottla.testing import Broker

    with Broker() as broker:
        yield broker
