"""A real broker in your tests: `with ottla.testing.Broker() as broker: ...`."""

from ottla.testing.broker import Broker, BrokerFailed

__all__ = ["Broker", "BrokerFailed"]
