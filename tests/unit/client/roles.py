"""Drives one role of the client against the model, a request at a time, on a clock of ours."""

from ottla.client.cluster import ClusterView
from ottla.client.requests import ANY_NODE, ClientRequest, Role
from ottla.client.settings import ClientSettings
from ottla.names import Now
from tests.unit.client.model import ModelCluster

WALL_MS = 1_700_000_000_000


def half() -> float:
    """Chance without surprises."""
    return 0.5


class Drive:
    """`take` collects what the role asks; `answer` and `lose` decide what becomes of it."""

    def __init__(self, model: ModelCluster) -> None:
        self.model = model
        self.mono_ms = 1_000
        self.cluster = ClusterView(ClientSettings(), half)
        self.role: Role = self.cluster

    @property
    def now(self) -> Now:
        return Now(self.mono_ms, WALL_MS + self.mono_ms)

    def learn(self, *topics: str) -> None:
        """The cluster view asks about these topics and is answered."""
        for topic in topics:
            self.cluster.want(topic)
        self.cluster.refresh()
        self.mono_ms += 2_000
        self.answer_view()

    def take(self) -> list[ClientRequest]:
        return self.role.poll(self.now)

    def answer(self, request: ClientRequest) -> None:
        self._answer(self.role, request)

    def reach(self, request: ClientRequest) -> None:
        """It reaches the broker, but the answer is lost."""
        self.model.handle(self._node(request), request.request)
        self.lose(request)

    def lose(self, request: ClientRequest) -> None:
        self.role.on_lost(request.token, "model:9001: reset", True, self.now)

    def run(self, limit: int = 100) -> None:
        """Answer everything, and let time pass where the role or the view waits for it."""
        for _ in range(limit):
            requests = self.take()
            for request in requests:
                self.answer(request)
            if not self.answer_view() and not requests:
                deadlines = [self.role.next_deadline_ms(), self.cluster.next_deadline_ms()]
                ahead = [d for d in deadlines if d is not None and d < self.mono_ms + 10_000]
                if not ahead:
                    return
                self.mono_ms = max(self.mono_ms, min(ahead))

    def answer_view(self) -> list[ClientRequest]:
        """What the cluster view asks is answered at once."""
        requests = self.cluster.poll(self.now)
        for request in requests:
            self._answer(self.cluster, request)
        return requests

    def _answer(self, role: Role, request: ClientRequest) -> None:
        response = self.model.handle(self._node(request), request.request)
        role.on_response(request.token, response, self.now)

    def _node(self, request: ClientRequest) -> int:
        return 1 if request.node == ANY_NODE else request.node
