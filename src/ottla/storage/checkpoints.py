"""The small files of a log directory that say where things stand, as Kafka 4.3 writes them.

All are replaced whole, never edited: a crash leaves the old one or the new one.
"""

import base64
import re
from binascii import Error as Base64Error
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import TypeVar

import msgspec

from ottla.config_properties import BadProperties, parse_properties
from ottla.names import TopicPartition, Uuid
from ottla.storage.disk import Disk

RECOVERY_POINT_CHECKPOINT = "recovery-point-offset-checkpoint"
LOG_START_CHECKPOINT = "log-start-offset-checkpoint"
REPLICATION_CHECKPOINT = "replication-offset-checkpoint"
CLEANER_CHECKPOINT = "cleaner-offset-checkpoint"
CLEAN_SHUTDOWN = ".kafka_cleanshutdown"
META_PROPERTIES = "meta.properties"

TEMPORARY_SUFFIX = ".tmp"

_NUMBER_MAX = 2**63 - 1

_Entry = TypeVar("_Entry")


class CorruptCheckpoint(Exception):
    """A file that cannot be read as the checkpoint that it claims to be."""


def write_atomic(disk: Disk, path: str, data: bytes) -> None:
    """Replace a file so that a power cut leaves either the old bytes or the new.

    Blocking. The rename counts only once its directory is synced too.
    """
    temporary = path + TEMPORARY_SUFFIX
    file = disk.open(temporary, create=True)
    try:
        # A crash may have left a longer one.
        disk.truncate(file, 0)
        disk.append(file, 0, (data,))
        disk.sync(file)
    finally:
        disk.close(file)
    disk.rename(temporary, path)
    disk.sync_dir(path.rpartition("/")[0])


# The text form that offset checkpoints and the leader epoch checkpoint share.


def encode_lines(entries: Iterable[str]) -> bytes:
    lines = list(entries)
    return "".join(f"{line}\n" for line in ("0", str(len(lines)), *lines)).encode()


def decode_lines(data: bytes, parse: Callable[[list[str]], _Entry]) -> list[_Entry]:
    """Entries by `parse`, which gets the fields of a line and raises ValueError for a bad one.

    An empty file holds no entries: Kafka creates its checkpoints so.
    """
    try:
        lines = data.decode().splitlines()
        if not lines:
            return []
        if decode_number(lines[0]) != 0:
            raise CorruptCheckpoint(f"version {lines[0]} is not known")
        if len(lines) == 1:
            return []
        expected = decode_number(lines[1])
        entries = [parse(line.split()) for line in lines[2:]]
    except ValueError as error:
        raise CorruptCheckpoint(f"a line cannot be read: {error}") from error
    if len(entries) != expected:
        raise CorruptCheckpoint(f"{len(entries)} entries where {expected} are announced")
    return entries


def decode_number(text: str) -> int:
    # `int` would also read signs, underscores, other scripts' digits and more than 64 bits.
    if not re.fullmatch("[0-9]{1,19}", text) or int(text) > _NUMBER_MAX:
        raise ValueError(f"{text!r} is not a number")
    return int(text)


def encode_offsets(offsets: Mapping[TopicPartition, int]) -> bytes:
    """The recovery point, log start, replication and cleaner checkpoints of one log directory."""
    return encode_lines(f"{tp.topic} {tp.partition} {offset}" for tp, offset in offsets.items())


def decode_offsets(data: bytes) -> dict[TopicPartition, int]:
    return dict(decode_lines(data, _parse_offset))


def _parse_offset(fields: list[str]) -> tuple[TopicPartition, int]:
    topic, partition, offset = fields
    return TopicPartition(topic, decode_number(partition)), decode_number(offset)


class _CleanShutdown(msgspec.Struct):
    version: int
    brokerEpoch: int


def encode_clean_shutdown(broker_epoch: int) -> bytes:
    return msgspec.json.encode(_CleanShutdown(version=0, brokerEpoch=broker_epoch))


def encode_uuid(uuid: Uuid) -> str:
    """As Kafka prints its ids: 22 characters of URL-safe base64."""
    return base64.urlsafe_b64encode(uuid).rstrip(b"=").decode()


def decode_uuid(text: str) -> Uuid:
    # The lenient decoder of the library would skip characters that are none of base64's.
    if not re.fullmatch(r"[A-Za-z0-9_-]{22}(==)?", text):
        raise CorruptCheckpoint(f"{text!r} is not an id")
    try:
        return base64.urlsafe_b64decode(text[:22] + "==")
    except Base64Error as error:
        raise CorruptCheckpoint(f"{text!r} is not an id") from error


@dataclass(slots=True)
class MetaProperties:
    """Whose directory this is: written once by the format step, checked at every start."""

    node_id: int
    cluster_id: str
    directory_id: Uuid | None = None
    # What a later version wrote stays in the file.
    other: dict[str, str] = field(default_factory=dict)

    def encode(self) -> bytes:
        properties = {"node.id": str(self.node_id)}
        if self.directory_id is not None:
            properties["directory.id"] = encode_uuid(self.directory_id)
        properties |= {"version": "1", "cluster.id": self.cluster_id}
        return _encode_properties(properties | self.other)

    @classmethod
    def decode(cls, data: bytes) -> "MetaProperties":
        try:
            other = parse_properties(data.decode("latin-1"))
        except BadProperties as error:
            raise CorruptCheckpoint(f"meta.properties: {error}") from error
        version = other.pop("version", "0")
        if version.strip() != "1":
            raise CorruptCheckpoint(f"meta.properties of version {version}, only 1 is known")
        node_id = other.pop("node.id", "")
        try:
            node = decode_number(node_id)
        except ValueError as error:
            raise CorruptCheckpoint(f"node.id: {error}") from error
        if "cluster.id" not in other:
            raise CorruptCheckpoint("cluster.id is missing")
        cluster_id = other.pop("cluster.id")
        directory_id = other.pop("directory.id", None)
        return cls(
            node,
            cluster_id,
            None if directory_id is None else decode_uuid(directory_id),
            other,
        )


# Java's properties format. Kafka writes it in UTF-8 and reads it back in Latin-1, so that only
# an escape survives beyond ASCII: we write nothing else.

_ESCAPES = {"\t": "\\t", "\n": "\\n", "\r": "\\r", "\f": "\\f"}


def _encode_properties(properties: Mapping[str, str]) -> bytes:
    lines = [f"{_escape(key, True)}={_escape(value, False)}" for key, value in properties.items()]
    return "".join(f"{line}\n" for line in ("#", *lines)).encode("ascii")


def _escape(text: str, is_key: bool) -> str:
    escaped = []
    for index, char in enumerate(text):
        if char in _ESCAPES:
            escaped.append(_ESCAPES[char])
        elif char in "\\=:#!" or (char == " " and (is_key or index == 0)):
            escaped.append("\\" + char)
        elif " " <= char <= "~":
            escaped.append(char)
        else:
            units = char.encode("utf-16-be", "surrogatepass").hex().upper()
            escaped.extend(f"\\u{units[at : at + 4]}" for at in range(0, len(units), 4))
    return "".join(escaped)
