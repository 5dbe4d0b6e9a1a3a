"""Memory for requests that have not arrived whole, of all connections together (DESIGN D2a).

Over the budget nobody's request grows but one: it is read to its end and gives its memory back, so
that connections which all hold half a request do not wait for each other. Requests that fit into
one small read pass all the while.
"""

from typing import Protocol

from ottla.limits import RECEIVE_BUFFER_BYTES, SMALL_REQUEST_BYTES


class Reader(Protocol):
    partial: bytearray

    def resume(self) -> None: ...


class Budget:
    __slots__ = ("_favoured", "_starved", "bytes_max", "used")

    def __init__(self, bytes_max: int) -> None:
        self.bytes_max = bytes_max
        self.used = 0
        self._favoured: Reader | None = None
        # In the order in which they ran dry.
        self._starved: dict[Reader, None] = {}

    def room_for(self, reader: Reader, held_elsewhere: int) -> int:
        """How much this reader may read now; where it is nothing, it is told to resume later."""
        if self.used + held_elsewhere < self.bytes_max or reader is self._favoured:
            return RECEIVE_BUFFER_BYTES
        small = SMALL_REQUEST_BYTES - len(reader.partial)
        if small > 0:
            return small
        if self._favoured is None:
            self._favoured = reader
            return RECEIVE_BUFFER_BYTES
        self._starved[reader] = None
        return 0

    def is_starved(self, reader: Reader) -> bool:
        return reader in self._starved

    def forget(self, reader: Reader) -> None:
        """Closed, or its request has arrived whole."""
        self._starved.pop(reader, None)
        if reader is self._favoured:
            self._favoured = None

    def feed(self, held_elsewhere: int) -> None:
        """Memory came back, or nobody is favoured any more: the next in line may go on."""
        if not self._starved:
            return
        if self.used + held_elsewhere < self.bytes_max:
            starved, self._starved = self._starved, {}
            for reader in starved:
                reader.resume()
        elif self._favoured is None:
            self._favoured = next(iter(self._starved))
            del self._starved[self._favoured]
            self._favoured.resume()
