"""Producer ids: handed out from a block that the controller granted to this broker."""

from typing import Protocol

from ottla.broker.parked import Parked
from ottla.names import NodeId, Now, ProducerId
from ottla.protocol.schema.allocate_producer_ids import (
    AllocateProducerIdsRequest,
    AllocateProducerIdsResponse,
)

ALLOCATE_VERSION = 0


class Asker(Protocol):
    def ask_controller(self, request: object, version: int, then: "Then") -> None: ...

    def wake(self, waiting: dict[Parked, None]) -> None: ...


class Then(Protocol):
    def __call__(self, response: AllocateProducerIdsResponse, now: Now, /) -> None: ...


class ProducerIds:
    def __init__(self, node_id: NodeId, asker: Asker) -> None:
        self._node_id = node_id
        self._asker = asker
        self._next = 0
        self._end = 0
        self._is_asking = False
        self._waiting: dict[Parked, None] = {}

    def take(self) -> ProducerId | None:
        if self._next == self._end:
            return None
        self._next += 1
        return ProducerId(self._next - 1)

    def ask_for_more(self, parked: Parked) -> None:
        """Wake `parked` when there are ids again. One request to the controller serves all."""
        if not self._is_asking:
            request = AllocateProducerIdsRequest(broker_id=self._node_id)
            self._asker.ask_controller(request, ALLOCATE_VERSION, self._on_granted)
            self._is_asking = True
        parked.wait_in(self._waiting)

    def _on_granted(self, response: AllocateProducerIdsResponse, now: Now) -> None:
        self._is_asking = False
        self._next = response.producer_id_start
        self._end = self._next + response.producer_id_len
        self._asker.wake(self._waiting)
