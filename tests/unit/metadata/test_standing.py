"""What of the metadata log still stands: its image, and what the image has no use for."""

from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ottla.metadata.image import Image
from ottla.metadata.records import API_KEYS, decode_record
from ottla.metadata.standing import StandingRecords
from ottla.protocol.compile import encode
from ottla.protocol.facts import version_range
from ottla.protocol.schema import records_metadata as schema
from tests.unit.metadata.commands import topic_id

IDS = [topic_id(number) for number in range(3)]
FENCED, UNFENCED = 1, -1


def value_of(record: Any) -> bytes:
    """As the newest version writes it: a log may be Kafka's."""
    cls = type(record)
    version = version_range(cls.WIRE.versions)[-1]
    return bytes((1, API_KEYS[cls], version)) + encode(record, version)


def standing_after(records: Sequence[Any]) -> StandingRecords:
    standing = StandingRecords()
    for record in records:
        standing.replay(record, value_of(record))
    return standing


def left_of(*records: Any) -> list[Any]:
    return [decode_record(value) for value in standing_after(records).values()]


def image_of(records: Sequence[Any]) -> dict[str, Any]:
    image = Image()
    for record in records:
        image.replay(record, 5)
    facts = dict(vars(image))
    del facts["features_epoch"]
    facts["configs"] = {key: value for key, value in image.configs.items() if value}
    return facts


def partition(number: int, index: int, **more: Any) -> schema.PartitionRecord:
    return schema.PartitionRecord(
        partition_id=index,
        topic_id=IDS[number],
        **{"replicas": [1, 2], "isr": [1, 2], "leader": 1, "leader_epoch": 0, **more},
    )


class Story:
    """Records that a log may hold one behind the other: each fits what is there."""

    def __init__(self, draw: Any) -> None:
        self.draw = draw
        self.records: list[Any] = []
        self.topics: dict[int, str] = {}
        self.partitions: list[tuple[int, int]] = []
        self.brokers: list[int] = []

    def tell(self) -> None:
        kinds = [self.create, self.register, self.configure, self.level, self.draw_ids]
        if self.topics:
            kinds += [self.add_partition, self.remove]
        if self.partitions:
            kinds += [self.change, self.change]
        if self.brokers:
            kinds += [self.change_broker, self.unregister]
        self.draw(st.sampled_from(kinds))()

    def one_of(self, *values: Any) -> Any:
        return self.draw(st.sampled_from(values))

    def create(self) -> None:
        number = self.one_of(0, 1, 2)
        if number not in self.topics:
            name = self.one_of("a", "b") + str(number)
            self.topics[number] = name
            self.records.append(schema.TopicRecord(name=name, topic_id=IDS[number]))

    def add_partition(self) -> None:
        number, index = self.one_of(*self.topics), self.one_of(0, 1)
        if (number, index) not in self.partitions:
            self.partitions.append((number, index))
            self.records.append(partition(number, index))

    def change(self) -> None:
        number, index = self.one_of(*self.partitions)
        change = schema.PartitionChangeRecord(
            partition_id=index,
            topic_id=IDS[number],
            isr=self.one_of(None, [1], []),
            leader=self.one_of(-2, -1, 2),
            replicas=self.one_of(None, [2, 3]),
            directories=self.one_of(None, IDS[:2]),
            eligible_leader_replicas=self.one_of(None, [], [2]),
        )
        self.records.append(change)

    def remove(self) -> None:
        number = self.one_of(*self.topics)
        del self.topics[number]
        self.partitions = [each for each in self.partitions if each[0] != number]
        self.records.append(schema.RemoveTopicRecord(topic_id=IDS[number]))

    def configure(self) -> None:
        kind, resource = self.one_of((2, "a0"), (2, "b1"), (4, ""), (4, "1"))
        name, value = self.one_of("k", "l"), self.one_of(None, "x", "y")
        self.records.append(schema.ConfigRecord(kind, resource, name, value))

    def level(self) -> None:
        name, level = self.one_of("metadata.version", "group.version"), self.one_of(0, 1, 30)
        self.records.append(schema.FeatureLevelRecord(name=name, feature_level=level))

    def draw_ids(self) -> None:
        self.records.append(schema.ProducerIdsRecord(1, 2, self.one_of(1000, 2000)))

    def register(self) -> None:
        broker = self.one_of(1, 2)
        if broker not in self.brokers:
            self.brokers.append(broker)
        record = schema.RegisterBrokerRecord(broker_id=broker, broker_epoch=len(self.records))
        record.end_points = [schema.BrokerEndpoint("PLAINTEXT", "host", 9092, 0)]
        record.fenced = self.one_of(True, False)
        self.records.append(record)

    def change_broker(self) -> None:
        broker = self.one_of(*self.brokers)
        fenced = self.one_of(FENCED, 0, UNFENCED)
        self.records.append(
            self.one_of(
                schema.BrokerRegistrationChangeRecord(broker_id=broker, fenced=fenced),
                schema.FenceBrokerRecord(id=broker),
                schema.UnfenceBrokerRecord(id=broker),
            )
        )

    def unregister(self) -> None:
        broker = self.one_of(*self.brokers)
        self.brokers.remove(broker)
        self.records.append(schema.UnregisterBrokerRecord(broker_id=broker))


@given(st.data())
def test_what_stands_gives_the_image_of_the_whole_log(data: st.DataObject) -> None:
    story = Story(data.draw)
    for _ in range(data.draw(st.integers(0, 30))):
        story.tell()

    left = left_of(*story.records)

    assert image_of(left) == image_of(story.records)
    assert left_of(*left) == left, "and it can be told no shorter"


def test_kafka_reads_the_metadata_version_first() -> None:
    other = schema.FeatureLevelRecord(name="group.version", feature_level=1)
    level = schema.FeatureLevelRecord(name="metadata.version", feature_level=30)
    assert left_of(other, level) == [level, other]


ENTITY = [schema.EntityData("user", None), schema.EntityData("client-id", "c")]
KEPT: list[Any] = [
    schema.ClientQuotaRecord(ENTITY, "rate", 1.5),
    schema.AccessControlEntryRecord(id=IDS[0], principal="p"),
    schema.UserScramCredentialRecord(name="u", mechanism=1, salt=b"s"),
    schema.DelegationTokenRecord(token_id="t", owner="o"),
    schema.RegisterControllerRecord(controller_id=3, incarnation_id=IDS[1]),
    schema.ZkMigrationStateRecord(zk_migration_state=1),
]


@pytest.mark.parametrize("record", KEPT, ids=lambda record: type(record).__name__)
def test_what_the_image_has_no_use_for_is_kept(record: Any) -> None:
    assert left_of(record, schema.NoOpRecord(), record) == [record]


@pytest.mark.parametrize(
    ("record", "end"),
    [
        (KEPT[0], schema.ClientQuotaRecord(ENTITY[::-1], "rate", remove=True)),
        (KEPT[1], schema.RemoveAccessControlEntryRecord(id=IDS[0])),
        (KEPT[2], schema.RemoveUserScramCredentialRecord(name="u", mechanism=1)),
        (KEPT[3], schema.RemoveDelegationTokenRecord(token_id="t")),
    ],
)
def test_until_it_is_taken_back(record: Any, end: Any) -> None:
    assert left_of(record, end) == []


def test_fields_that_only_kafka_uses_survive_a_change() -> None:
    topic = schema.TopicRecord(name="a", topic_id=IDS[0])
    old = partition(0, 0, adding_replicas=[3], last_known_elr=[2], partition_epoch=7)
    change = schema.PartitionChangeRecord(
        partition_id=0, topic_id=IDS[0], removing_replicas=[2], leader_recovery_state=1
    )
    expected = partition(
        *(0, 0),
        adding_replicas=[3],
        last_known_elr=[2],
        removing_replicas=[2],
        leader_recovery_state=1,
        partition_epoch=8,
    )
    assert left_of(topic, old, change) == [topic, expected]
    cleared = partition(0, 0, adding_replicas=[3], last_known_elr=None, partition_epoch=7)
    for names in ("", "a"):
        assert left_of(topic, old, schema.ClearElrRecord(names)) == [topic, cleared]
    assert left_of(topic, old, schema.ClearElrRecord("b")) == [topic, old]

    broker = schema.RegisterBrokerRecord(broker_id=1, rack="r", features=[schema.BrokerFeature()])
    shutting_down = schema.BrokerRegistrationChangeRecord(
        broker_id=1, in_controlled_shutdown=1, log_dirs=IDS[:1], cordoned_log_dirs=IDS[1:]
    )
    (left,) = left_of(broker, shutting_down)
    assert (left.rack, left.features, left.in_controlled_shutdown) == ("r", broker.features, True)
    assert (left.log_dirs, left.cordoned_log_dirs) == (IDS[:1], IDS[1:])


def test_a_type_that_nobody_knows_is_said_to_be_missing() -> None:
    standing = standing_after(KEPT)
    assert standing.are_all_known
    standing.replay(None, b"\x01\x7f\x00")
    assert not standing.are_all_known
