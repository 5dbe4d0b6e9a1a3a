"""Metadata transactions (KIP-868): records that hold together, or not at all."""

from typing import NamedTuple

from ottla.metadata.records import API_KEYS, api_key_of
from ottla.protocol.schema import records_metadata as schema

_BEGIN = API_KEYS[schema.BeginTransactionRecord]
_END = API_KEYS[schema.EndTransactionRecord]
_ABORT = API_KEYS[schema.AbortTransactionRecord]


class Written(NamedTuple):
    """A record as it stands in the log."""

    value: bytes
    offset: int


class TransactionFilter:
    """Holds records back until their transaction ends; at most one is open at a time."""

    def __init__(self) -> None:
        self._held: list[Written] | None = None

    @property
    def is_open(self) -> bool:
        return self._held is not None

    def take(self, record: Written) -> list[Written]:
        """What may be replayed now that this record was read."""
        kind = api_key_of(record.value)
        if kind == _BEGIN:
            self._held = []
            return []
        if kind in (_END, _ABORT):
            held, self._held = self._held or [], None
            return held if kind == _END else []
        if self._held is None:
            return [record]
        self._held.append(record)
        return []
