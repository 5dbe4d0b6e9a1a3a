"""Metadata records as they stand in the log: frame version, type, its version, the message."""

from typing import Any, Final, cast

from ottla.errors import Malformed
from ottla.protocol.compile import UnsupportedVersion, decoder, encoder
from ottla.protocol.facts import Part
from ottla.protocol.schema import records_metadata as schema

FRAME_VERSION: Final = 1

# What `metadata.version` 30 (4.3-IV0) writes. Records of other versions are read all the same.
WRITTEN_VERSIONS: Final[dict[type[Any], int]] = {
    schema.AbortTransactionRecord: 0,
    schema.BeginTransactionRecord: 0,
    schema.BrokerRegistrationChangeRecord: 0,
    schema.ConfigRecord: 0,
    schema.EndTransactionRecord: 0,
    schema.FeatureLevelRecord: 0,
    schema.FenceBrokerRecord: 0,
    schema.PartitionChangeRecord: 2,
    schema.PartitionRecord: 2,
    schema.ProducerIdsRecord: 0,
    schema.RegisterBrokerRecord: 4,
    schema.RegisterControllerRecord: 0,
    schema.RemoveTopicRecord: 0,
    schema.TopicRecord: 0,
    schema.UnfenceBrokerRecord: 0,
    schema.UnregisterBrokerRecord: 0,
}

TYPES: Final[dict[int, type[Any]]] = {**schema.RECORD_TYPES}

API_KEYS: Final[dict[type[Any], int]] = {cls: key for key, cls in TYPES.items()}


def encode_record(record: Any) -> bytes:
    cls = type(record)
    version = WRITTEN_VERSIONS[cls]
    parts: list[Part] = [bytes((FRAME_VERSION, API_KEYS[cls], version))]
    encoder(cls, version)(record, parts)
    return b"".join(cast("list[bytes]", parts))


def api_key_of(value: bytes) -> int:
    return _read_api_key(memoryview(value))[0]


def _read_api_key(view: memoryview) -> tuple[int, int]:
    frame_version, at = _read_uvarint(view, 0)
    if frame_version != FRAME_VERSION:
        raise Malformed(f"metadata record frame version {frame_version}")
    return _read_uvarint(view, at)


def decode_record(value: bytes) -> Any | None:
    """The record, or None for a type that this version does not know: it is skipped, and kept."""
    view = memoryview(value)
    api_key, at = _read_api_key(view)
    version, at = _read_uvarint(view, at)
    cls = TYPES.get(api_key)
    if cls is None:
        return None
    try:
        return decoder(cls, version)(view, at)[0]
    except UnsupportedVersion as error:
        raise Malformed(f"a metadata record of a later version: {error}") from error


def _read_uvarint(view: memoryview, at: int) -> tuple[int, int]:
    value = shift = 0
    while at < len(view) and shift < 35:
        byte = view[at]
        at += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, at
        shift += 7
    raise Malformed("a metadata record ends inside its frame")
