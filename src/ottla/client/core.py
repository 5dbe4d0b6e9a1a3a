"""The whole client as a deterministic object: inputs in, effects out (DESIGN D2).

After any input, and after any use of a role, call `run`; then carry out the effects, and call it
again no later than `next_deadline_ms`.
"""

from ottla.client.calls import Calls
from ottla.client.cluster import ClusterView
from ottla.client.consumer import Fetcher
from ottla.client.network import Effect, Network
from ottla.client.producer import Producer
from ottla.client.requests import Random, Role, earliest
from ottla.client.settings import ClientSettings, FetchSettings, ProducerSettings
from ottla.names import Now


class ClientCore:
    def __init__(
        self, bootstrap: list[tuple[str, int]], settings: ClientSettings, random: Random
    ) -> None:
        assert bootstrap
        self.settings = settings
        self.cluster = ClusterView(settings, random)
        self.calls = Calls(settings, random)
        self._random = random
        self._network = Network(self.cluster, bootstrap, settings, random)
        # The cluster view is asked last: the others make it want to know more.
        self._roles: list[Role] = [self.calls, self.cluster]

    def producer(self, settings: ProducerSettings) -> Producer:
        producer = Producer(self.cluster, settings, self._random)
        self._roles.insert(0, producer)
        return producer

    def fetcher(self, settings: FetchSettings) -> Fetcher:
        fetcher = Fetcher(self.cluster, settings, self._random)
        self._roles.insert(0, fetcher)
        return fetcher

    def close_fetcher(self, fetcher: Fetcher, now: Now) -> None:
        self._roles.remove(fetcher)
        self._network.forget(fetcher)
        for request in fetcher.close():
            self._network.send(None, request, now)

    # Inputs

    def dialed(self, link: int, now: Now) -> None:
        self._network.dialed(link, now)

    def received(self, link: int, data: bytes | memoryview, now: Now) -> None:
        self._network.received(link, data, now)

    def writable(self, link: int, is_writable: bool, now: Now) -> None:
        self._network.writable(link, is_writable, now)

    def closed(self, link: int, why: str, now: Now) -> None:
        """The link ended, or could not be made."""
        self._network.closed(link, why, now)

    def run(self, now: Now) -> None:
        self._network.tick(now)
        is_moving = True
        while is_moving:
            is_moving = False
            for role in self._roles:
                for request in role.poll(now):
                    self._network.send(role, request, now)
                    is_moving = True

    def take_effects(self) -> list[Effect]:
        return self._network.take_effects()

    def next_deadline_ms(self) -> int | None:
        deadlines = [role.next_deadline_ms() for role in self._roles]
        return earliest([*deadlines, self._network.next_deadline_ms()])
