from typing import Any

import pytest

from ottla.errors import Malformed
from ottla.metadata.records import (
    API_KEYS,
    WRITTEN_VERSIONS,
    api_key_of,
    decode_record,
    encode_record,
)
from ottla.protocol.compile import encode
from ottla.protocol.facts import version_range
from ottla.protocol.schema import records_metadata as schema

TOPIC_ID = bytes(range(16))
DIRECTORY = bytes(range(16, 32))

RECORDS: list[Any] = [
    schema.AbortTransactionRecord(reason="the controller failed"),
    schema.BeginTransactionRecord(name="Bootstrap records"),
    schema.BrokerRegistrationChangeRecord(broker_id=1, broker_epoch=5, fenced=-1),
    schema.ConfigRecord(resource_type=2, resource_name="t", name="retention.ms", value="60000"),
    schema.ConfigRecord(resource_type=4, resource_name="", name="retention.ms", value=None),
    schema.EndTransactionRecord(),
    schema.FeatureLevelRecord(name="metadata.version", feature_level=30),
    schema.PartitionChangeRecord(partition_id=3, topic_id=TOPIC_ID),
    schema.PartitionChangeRecord(
        partition_id=3,
        topic_id=TOPIC_ID,
        isr=[1, 2],
        leader=2,
        replicas=[1, 2, 3],
        removing_replicas=[3],
        adding_replicas=[2],
        leader_recovery_state=1,
        directories=[DIRECTORY],
        eligible_leader_replicas=[],
        last_known_elr=[3],
    ),
    schema.PartitionRecord(
        partition_id=3,
        topic_id=TOPIC_ID,
        replicas=[1, 2],
        isr=[1],
        removing_replicas=[2],
        adding_replicas=[1],
        leader=1,
        leader_recovery_state=1,
        leader_epoch=4,
        partition_epoch=9,
        directories=[DIRECTORY, TOPIC_ID],
        eligible_leader_replicas=[2],
        last_known_elr=[2],
    ),
    schema.ProducerIdsRecord(broker_id=1, broker_epoch=5, next_producer_id=2**40),
    schema.RegisterBrokerRecord(
        broker_id=1,
        incarnation_id=TOPIC_ID,
        broker_epoch=5,
        end_points=[schema.BrokerEndpoint("PLAINTEXT", "host", 65535, 0)],
        features=[schema.BrokerFeature("metadata.version", 7, 30)],
        rack=None,
        fenced=True,
        in_controlled_shutdown=True,
        log_dirs=[DIRECTORY],
        cordoned_log_dirs=[DIRECTORY],
    ),
    schema.RegisterControllerRecord(
        controller_id=1,
        incarnation_id=TOPIC_ID,
        end_points=[schema.ControllerEndpoint("CONTROLLER", "host", 9093, 0)],
        features=[schema.ControllerFeature("kraft.version", 0, 1)],
    ),
    schema.RemoveTopicRecord(topic_id=TOPIC_ID),
    schema.TopicRecord(name="t", topic_id=TOPIC_ID),
    schema.FenceBrokerRecord(id=1, epoch=5),
    schema.UnfenceBrokerRecord(id=1, epoch=5),
    schema.UnregisterBrokerRecord(broker_id=1, broker_epoch=5),
]


def named(record: Any) -> str:
    return type(record).__name__


@pytest.mark.parametrize("record", RECORDS, ids=named)
def test_a_record_is_read_as_it_was_written(record: Any) -> None:
    value = encode_record(record)

    assert decode_record(value) == record
    assert api_key_of(value) == API_KEYS[type(record)] == type(record).WIRE.key


def test_every_type_that_is_written_stands_in_this_table() -> None:
    tried = {named(record): None for record in RECORDS}

    assert sorted(tried) == sorted(cls.__name__ for cls in WRITTEN_VERSIONS)


@pytest.mark.parametrize(
    ("record", "value"),
    [
        (
            schema.FeatureLevelRecord(name="metadata.version", feature_level=30),
            b"\x01\x0c\x00\x11metadata.version\x00\x1e\x00",
        ),
        (schema.TopicRecord(name="t", topic_id=TOPIC_ID), b"\x01\x02\x00\x02t" + TOPIC_ID + b"\0"),
        (schema.RemoveTopicRecord(topic_id=TOPIC_ID), b"\x01\x09\x00" + TOPIC_ID + b"\0"),
        (schema.EndTransactionRecord(), b"\x01\x18\x00\x00"),
        (
            schema.ConfigRecord(resource_type=2, resource_name="t", name="a.b", value=None),
            b"\x01\x04\x00\x02\x02t\x04a.b\x00\x00",
        ),
        (
            schema.PartitionChangeRecord(partition_id=1, topic_id=TOPIC_ID, leader=-1),
            b"\x01\x05\x02\0\0\0\x01" + TOPIC_ID + b"\x01\x01\x04\xff\xff\xff\xff",
        ),
    ],
    ids=lambda value: "" if isinstance(value, bytes) else named(value),
)
def test_a_record_has_kafkas_bytes(record: Any, value: bytes) -> None:
    """Frame version, type and version as unsigned varints, then a flexible message (KIP-631)."""
    assert encode_record(record) == value


@pytest.mark.parametrize("cls", API_KEYS, ids=lambda cls: cls.__name__)
def test_a_record_of_any_type_and_version_is_read(cls: type[Any]) -> None:
    for version in version_range(cls.WIRE.versions):
        value = bytes((1, API_KEYS[cls], version)) + encode(cls(), version)
        assert decode_record(value) == cls()


@pytest.mark.parametrize(
    ("value", "api_key"),
    [
        (b"\x01\x7f\x00", 127),
        (b"\x01\x80\x01\x07" + b"what a later version has to say", 128),
        (b"\x01\xff\xff\xff\xff\x0f\x00", 2**32 - 1),
    ],
)
def test_a_type_that_is_not_known_is_skipped(value: bytes, api_key: int) -> None:
    assert api_key_of(value) == api_key
    assert decode_record(value) is None


def test_fields_that_a_later_version_tagged_on_are_skipped() -> None:
    value = b"\x01\x02\x00\x02t" + TOPIC_ID + b"\x01" + b"\x09\x03abc"

    assert decode_record(value) == schema.TopicRecord(name="t", topic_id=TOPIC_ID)


@pytest.mark.parametrize(
    "value",
    [
        b"",
        b"\x01",
        b"\x01\x02",
        b"\x01\x80",
        b"\x00\x02\x00\x02t" + TOPIC_ID + b"\0",
        b"\x02\x02\x00\x02t" + TOPIC_ID + b"\0",
        b"\x01\xff\xff\xff\xff\xff\x0f\x00",
        b"\x01\x02\x01\x02t" + TOPIC_ID + b"\0",
        b"\x01\x02\x00\x02t" + TOPIC_ID,
        b"\x01\x02\x00\x7ft" + TOPIC_ID + b"\0",
    ],
    ids=[
        "nothing",
        "no type",
        "no version",
        "half a type",
        "frame version 0",
        "a later frame version",
        "a type of 36 bits",
        "a later version of a known type",
        "the end is missing",
        "a name longer than the record",
    ],
)
def test_a_record_that_cannot_be_read_is_malformed(value: bytes) -> None:
    with pytest.raises(Malformed):
        decode_record(value)
