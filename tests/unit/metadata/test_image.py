from typing import Any

import pytest

from ottla.metadata.image import (
    RESOURCE_BROKER,
    RESOURCE_TOPIC,
    BrokerImage,
    Endpoint,
    Image,
    PartitionImage,
    TopicImage,
)
from ottla.names import NodeId
from ottla.protocol.schema import records_metadata as schema

ID_A = b"a" * 16
ID_B = b"b" * 16
DIRECTORIES = [b"1" * 16, b"2" * 16]
INCARNATION = b"i" * 16


def replayed(*records: Any, onto: Image | None = None) -> Image:
    image = onto or Image()
    for offset, record in enumerate(records):
        image.replay(record, offset)
    return image


def topic(name: str, topic_id: bytes) -> schema.TopicRecord:
    return schema.TopicRecord(name=name, topic_id=topic_id)


def partition(index: int, topic_id: bytes = ID_A, **more: Any) -> schema.PartitionRecord:
    facts: dict[str, Any] = {
        "replicas": [1, 2],
        "isr": [1, 2],
        "leader": 1,
        "leader_epoch": 4,
        "partition_epoch": 7,
        "directories": DIRECTORIES,
    }
    return schema.PartitionRecord(partition_id=index, topic_id=topic_id, **{**facts, **more})


def config(name: str, value: str | None, resource: str = "a") -> schema.ConfigRecord:
    return schema.ConfigRecord(
        resource_type=RESOURCE_TOPIC, resource_name=resource, name=name, value=value
    )


def registration(epoch: int, **more: Any) -> schema.RegisterBrokerRecord:
    facts: dict[str, Any] = {
        "incarnation_id": INCARNATION,
        "end_points": [
            schema.BrokerEndpoint("PLAINTEXT", "host", 9092, 0),
            schema.BrokerEndpoint("TLS", "host", 9094, 1),
        ],
        "rack": "r",
        "fenced": True,
        "log_dirs": DIRECTORIES,
    }
    return schema.RegisterBrokerRecord(broker_id=1, broker_epoch=epoch, **{**facts, **more})


def state(image: Image) -> dict[str, Any]:
    return {name: getattr(image, name) for name in vars(image)}


def test_a_topic_is_found_by_its_name_and_by_its_id() -> None:
    image = replayed(topic("a", ID_A), partition(0), partition(1, isr=[2], leader=2))

    expected = TopicImage(
        "a",
        ID_A,
        {
            0: PartitionImage([1, 2], [1, 2], 1, 4, 7, DIRECTORIES, []),
            1: PartitionImage([1, 2], [2], 2, 4, 7, DIRECTORIES, []),
        },
    )
    assert image.topics == {"a": expected}
    assert image.topics_by_id == {ID_A: expected}
    assert image.topics["a"] is image.topics_by_id[ID_A]


def test_a_removed_topic_takes_its_partitions_and_configs_along() -> None:
    image = replayed(
        topic("a", ID_A),
        partition(0),
        config("retention.ms", "1"),
        topic("b", ID_B),
        config("retention.ms", "2", resource="b"),
        schema.RemoveTopicRecord(topic_id=ID_A),
    )

    assert image.topics == {"b": TopicImage("b", ID_B)}
    assert image.topics_by_id == {ID_B: TopicImage("b", ID_B)}
    assert image.configs == {(RESOURCE_TOPIC, "b"): {"retention.ms": "2"}}


def test_a_topic_made_again_under_its_name_is_another_topic() -> None:
    image = replayed(
        topic("a", ID_A),
        partition(0),
        config("retention.ms", "1"),
        schema.RemoveTopicRecord(topic_id=ID_A),
        topic("a", ID_B),
    )

    assert image.topics == {"a": TopicImage("a", ID_B)}
    assert image.configs_of(RESOURCE_TOPIC, "a") == {}


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        ({}, PartitionImage([1, 2], [1, 2], 1, 4, 8, DIRECTORIES, [2])),
        ({"isr": [2]}, PartitionImage([1, 2], [2], 1, 4, 8, DIRECTORIES, [2])),
        ({"isr": []}, PartitionImage([1, 2], [], 1, 4, 8, DIRECTORIES, [2])),
        ({"leader": 2}, PartitionImage([1, 2], [1, 2], 2, 5, 8, DIRECTORIES, [2])),
        # The same leader again, as after its restart: the epoch rises all the same.
        ({"leader": 1}, PartitionImage([1, 2], [1, 2], 1, 5, 8, DIRECTORIES, [2])),
        ({"leader": -1}, PartitionImage([1, 2], [1, 2], -1, 5, 8, DIRECTORIES, [2])),
        ({"replicas": [3]}, PartitionImage([3], [1, 2], 1, 4, 8, DIRECTORIES, [2])),
        ({"directories": [ID_A]}, PartitionImage([1, 2], [1, 2], 1, 4, 8, [ID_A], [2])),
        (
            {"eligible_leader_replicas": []},
            PartitionImage([1, 2], [1, 2], 1, 4, 8, DIRECTORIES, []),
        ),
        (
            {"leader": 2, "isr": [2], "eligible_leader_replicas": [1]},
            PartitionImage([1, 2], [2], 2, 5, 8, DIRECTORIES, [1]),
        ),
    ],
    ids=str,
)
def test_a_change_says_what_changed_and_the_rest_stays(
    change: dict[str, Any], expected: PartitionImage
) -> None:
    image = replayed(
        topic("a", ID_A),
        partition(0, eligible_leader_replicas=[2]),
        partition(1),
        schema.PartitionChangeRecord(partition_id=0, topic_id=ID_A, **change),
    )

    untouched = PartitionImage([1, 2], [1, 2], 1, 4, 7, DIRECTORIES, [])
    assert image.topics["a"].partitions == {0: expected, 1: untouched}


def test_configs_are_set_replaced_and_with_null_taken_away() -> None:
    image = replayed(config("retention.ms", "1"), config("segment.ms", "5"))
    assert image.configs_of(RESOURCE_TOPIC, "a") == {"retention.ms": "1", "segment.ms": "5"}

    replayed(config("retention.ms", "2"), config("segment.ms", None), onto=image)
    assert image.configs_of(RESOURCE_TOPIC, "a") == {"retention.ms": "2"}

    replayed(config("retention.ms", None), config("never.set", None), onto=image)
    assert image.configs_of(RESOURCE_TOPIC, "a") == {}


def test_a_broker_and_a_topic_of_one_name_have_configs_of_their_own() -> None:
    of_broker = schema.ConfigRecord(
        resource_type=RESOURCE_BROKER, resource_name="1", name="retention.ms", value="9"
    )
    image = replayed(config("retention.ms", "1", resource="1"), of_broker)

    assert image.configs_of(RESOURCE_TOPIC, "1") == {"retention.ms": "1"}
    assert image.configs_of(RESOURCE_BROKER, "1") == {"retention.ms": "9"}
    assert image.configs_of(RESOURCE_BROKER, "") == {}


def test_a_broker_is_known_as_it_registered() -> None:
    image = replayed(registration(5))

    assert image.brokers == {
        NodeId(1): BrokerImage(
            node_id=NodeId(1),
            epoch=5,
            incarnation_id=INCARNATION,
            endpoints=(Endpoint("PLAINTEXT", "host", 9092, 0), Endpoint("TLS", "host", 9094, 1)),
            rack="r",
            is_fenced=True,
            log_dirs=tuple(DIRECTORIES),
        )
    }


def test_a_new_registration_replaces_the_old_one() -> None:
    image = replayed(
        registration(5, fenced=False), registration(6, end_points=[], rack=None, log_dirs=[])
    )

    expected = BrokerImage(NodeId(1), 6, INCARNATION, (), None, True, ())
    assert image.brokers == {NodeId(1): expected}


@pytest.mark.parametrize(
    ("was_fenced", "change", "is_fenced"),
    [
        (True, -1, False),
        (False, -1, False),
        (False, 1, True),
        (True, 1, True),
        (True, 0, True),
        (False, 0, False),
    ],
)
def test_a_change_of_a_registration_fences_unfences_or_leaves_it(
    was_fenced: bool, change: int, is_fenced: bool
) -> None:
    image = replayed(
        registration(5, fenced=was_fenced),
        schema.BrokerRegistrationChangeRecord(broker_id=1, broker_epoch=5, fenced=change),
    )

    assert image.brokers[NodeId(1)].is_fenced is is_fenced


def test_the_oldest_versions_fence_and_unfence_by_records_of_their_own() -> None:
    image = replayed(registration(5))
    fenced = []
    for record in (
        schema.UnfenceBrokerRecord(id=1, epoch=5),
        schema.FenceBrokerRecord(id=1, epoch=5),
    ):
        image.replay(record, 9)
        fenced.append(image.brokers[NodeId(1)].is_fenced)

    assert fenced == [False, True]


def test_a_broker_that_is_unregistered_is_not_known_any_more() -> None:
    image = replayed(registration(5), schema.UnregisterBrokerRecord(broker_id=1, broker_epoch=5))

    assert image.brokers == {}


def test_a_controller_is_known_by_its_endpoints() -> None:
    image = replayed(
        schema.RegisterControllerRecord(
            controller_id=1, end_points=[schema.ControllerEndpoint("CONTROLLER", "host", 9093, 0)]
        )
    )

    assert image.controllers == {NodeId(1): (Endpoint("CONTROLLER", "host", 9093, 0),)}


def test_a_feature_holds_from_the_offset_of_its_record_and_level_0_takes_it_away() -> None:
    image = Image()
    assert (image.features, image.features_epoch) == ({}, -1)

    image.replay(schema.FeatureLevelRecord(name="metadata.version", feature_level=30), 3)
    image.replay(schema.FeatureLevelRecord(name="group.version", feature_level=1), 4)
    both = {"metadata.version": 30, "group.version": 1}
    assert (image.features, image.features_epoch) == (both, 4)

    image.replay(schema.FeatureLevelRecord(name="group.version", feature_level=0), 9)
    assert (image.features, image.features_epoch) == ({"metadata.version": 30}, 9)


def test_producer_ids_are_given_out_up_to_the_last_blocks_end() -> None:
    image = replayed(
        schema.ProducerIdsRecord(broker_id=1, broker_epoch=5, next_producer_id=1000),
        schema.ProducerIdsRecord(broker_id=1, broker_epoch=5, next_producer_id=2000),
    )

    assert image.next_producer_id == 2000


@pytest.mark.parametrize(
    "record",
    [
        schema.NoOpRecord(),
        schema.BeginTransactionRecord(),
        schema.EndTransactionRecord(),
        schema.AbortTransactionRecord(),
        schema.ClientQuotaRecord(key="producer_byte_rate", value=1.0),
    ],
    ids=lambda record: type(record).__name__,
)
def test_a_record_that_the_image_does_not_know_changes_nothing(record: Any) -> None:
    image = replayed(topic("a", ID_A), partition(0), registration(5))
    before = state(replayed(topic("a", ID_A), partition(0), registration(5)))

    image.replay(record, 99)

    assert state(image) == before
