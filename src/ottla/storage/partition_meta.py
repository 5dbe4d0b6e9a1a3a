"""What names one partition's directory, and the file in it that says whose topic it is."""

import re
from typing import NamedTuple

from ottla.names import NO_UUID, TopicPartition, Uuid
from ottla.storage.checkpoints import CorruptCheckpoint, decode_number, decode_uuid, encode_uuid

PARTITION_METADATA = "partition.metadata"

DELETE_SUFFIX = "-delete"
FUTURE_SUFFIX = "-future"
STRAY_SUFFIX = "-stray"

_NAME_BYTES_MAX = 255
_PARTITION_MAX = 2**31 - 1
_FIELD = re.compile(r":\s+")
_MARKED = re.compile(r"(?P<name>\S+-\S+)\.\S+?(?P<suffix>-delete|-future|-stray)")
_PLAIN = re.compile(r"(?P<topic>.+)-(?P<partition>0|[1-9][0-9]{0,9})", re.DOTALL)


class LogDirName(NamedTuple):
    topic_partition: TopicPartition
    # "" for a log in service, else one of the three suffixes above.
    suffix: str


def encode_partition_metadata(topic_id: Uuid) -> bytes:
    return f"version: 0\ntopic_id: {encode_uuid(topic_id)}".encode()


def decode_partition_metadata(data: bytes) -> Uuid:
    """The topic id. Versions above 0 are read by their first two lines, as Kafka does (KIP-516)."""
    try:
        lines = data.decode().splitlines()
        _, version = _FIELD.split(lines[0])
        decode_number(version)
        _, topic_id = _FIELD.split(lines[1])
    except (ValueError, IndexError) as error:
        raise CorruptCheckpoint(f"partition.metadata cannot be read: {data[:80]!r}") from error
    uuid = decode_uuid(topic_id)
    if uuid == NO_UUID:
        raise CorruptCheckpoint("partition.metadata without a topic id")
    return uuid


def dir_name(tp: TopicPartition) -> str:
    return f"{tp.topic}-{tp.partition}"


def deletion_name(tp: TopicPartition, uuid: Uuid) -> str:
    """The name under which a deleted log waits for its files to go.

    A long topic loses its end, so that the name fits a file system: what comes back out of
    `parse_dir_name` may then be another topic, of which only the suffix counts.
    """
    ending = f"-{tp.partition}.{uuid.hex()}{DELETE_SUFFIX}"
    return tp.topic[: _NAME_BYTES_MAX - len(ending)] + ending


def parse_dir_name(name: str) -> LogDirName | None:
    """None for what is no log directory by its name."""
    marked = None
    if name.endswith((DELETE_SUFFIX, FUTURE_SUFFIX, STRAY_SUFFIX)):
        marked = _MARKED.fullmatch(name)
        if marked is None:
            return None
    # The last dot, whatever else has dots: topics do.
    plain = _PLAIN.fullmatch(name.rpartition(".")[0] if marked else name)
    if plain is None or int(plain["partition"]) > _PARTITION_MAX:
        return None
    tp = TopicPartition(plain["topic"], int(plain["partition"]))
    return LogDirName(tp, marked["suffix"] if marked else "")
