from typing import Any

import pytest

from ottla.metadata.controller import (
    METADATA_VERSION,
    PRODUCER_ID_BLOCK,
    SUPPORTED_FEATURES,
    Controller,
)
from ottla.metadata.image import BrokerImage, Endpoint, Image
from ottla.names import NodeId
from ottla.protocol.schema import records_metadata as schema
from ottla.protocol.schema.allocate_producer_ids import (
    AllocateProducerIdsRequest,
    AllocateProducerIdsResponse,
)
from ottla.protocol.schema.create_topics import CreateTopicsRequest
from ottla.protocol.schema.delete_topics import DeleteTopicsRequest, DeleteTopicState
from tests.unit.metadata.commands import (
    INCARNATION,
    controller,
    create,
    directory_of,
    registration,
    replay,
    run,
    topic,
    topic_id,
    written,
)


def empty() -> Controller:
    return Controller(controller().config, controller().entropy)


def snapshot(one: Controller) -> dict[str, Any]:
    """All that a controller knows, as text: nothing in it is shared with the controller."""
    facts = {**vars(one.image), "next_offset": one.next_offset}
    return {name: repr(value) for name, value in facts.items()}


# A command alone changes nothing

COMMANDS: list[Any] = [
    CreateTopicsRequest(topics=[topic("new", retention_ms="5")]),
    DeleteTopicsRequest(topics=[DeleteTopicState("old")]),
    AllocateProducerIdsRequest(broker_id=1),
]


@pytest.mark.parametrize("request_", COMMANDS, ids=lambda request: type(request).__name__)
def test_a_command_changes_nothing_until_its_records_are_replayed(request_: Any) -> None:
    one = controller()
    run(one, create(one, topic("old")))
    before = snapshot(one)

    outcome = one.handle(request_, 6)

    assert outcome.records
    assert snapshot(one) == before
    replay(one, outcome.records)
    assert snapshot(one) != before


def test_neither_a_registration_nor_its_unfencing_changes_anything_by_itself() -> None:
    one = controller()
    run(one, create(one, topic("t")))
    before = snapshot(one)

    one.register_broker(registration(2))
    one.register_controller(registration(2))
    one.unfence(NodeId(1))
    one.activate()

    assert snapshot(one) == before


def test_two_replays_of_the_same_records_know_the_same() -> None:
    """A new controller is one that has replayed the log, and nothing else (D4)."""
    log: list[Any] = []
    one = empty()

    def append(records: list[Any]) -> None:
        log.extend(records)
        replay(one, records)

    append(one.activate())
    append(one.register_controller(registration()))
    append(one.register_broker(registration()))
    append(one.unfence(NodeId(1)))
    for request in (
        CreateTopicsRequest(topics=[topic("old"), topic("new", partitions=3, retention_ms="5")]),
        *COMMANDS[1:],
    ):
        append(one.handle(request, 6).records)
    other = empty()
    replay(other, log)

    assert snapshot(other) == snapshot(one)
    assert list(one.image.topics) == ["new"]


def test_a_command_sees_what_the_one_before_it_wrote() -> None:
    one = controller()
    request = CreateTopicsRequest(topics=[topic("t")])

    first = run(one, one.handle(request, 7))
    second = run(one, one.handle(request, 7))

    assert [first.topics[0].error_code, second.topics[0].error_code] == [0, 36]


def test_the_next_record_stands_behind_the_last_one_that_was_replayed() -> None:
    one = empty()
    assert one.next_offset == 0

    # Control records stand between, and nobody replays them.
    one.replay(schema.NoOpRecord(), 7)

    assert one.next_offset == 8


# A controller begins


def test_a_new_cluster_gets_its_levels_in_one_metadata_transaction() -> None:
    records = empty().activate()

    assert records == [
        schema.BeginTransactionRecord(name="Bootstrap records"),
        schema.FeatureLevelRecord(name="metadata.version", feature_level=METADATA_VERSION),
        schema.EndTransactionRecord(),
    ]
    assert written(records)


def test_a_cluster_that_has_its_levels_keeps_them() -> None:
    one = empty()
    replay(one, [schema.FeatureLevelRecord(name="metadata.version", feature_level=7)])

    assert one.activate() == []
    assert one.image.features == {"metadata.version": 7}


@pytest.mark.parametrize("has_levels", [True, False])
def test_a_transaction_that_a_controller_left_open_is_aborted_first(has_levels: bool) -> None:
    one = empty()
    if has_levels:
        replay(one, [schema.FeatureLevelRecord(name="metadata.version", feature_level=30)])
    rest = one.activate()

    one.has_open_transaction = True

    abort = schema.AbortTransactionRecord(reason="the controller failed")
    assert one.activate() == [abort, *rest]


def test_only_levels_that_were_built_are_offered() -> None:
    assert SUPPORTED_FEATURES == {"kraft.version": (0, 1), "metadata.version": (7, 30)}


# Who is there


def test_a_controller_registers_with_its_endpoints_and_features() -> None:
    records = empty().register_controller(registration())

    assert records == [
        schema.RegisterControllerRecord(
            controller_id=1,
            incarnation_id=INCARNATION,
            zk_migration_ready=False,
            end_points=[schema.ControllerEndpoint("CONTROLLER", "broker-1", 9093, 0)],
            features=[
                schema.ControllerFeature("kraft.version", 0, 1),
                schema.ControllerFeature("metadata.version", 7, 30),
            ],
        )
    ]
    assert written(records)


def test_a_broker_registers_fenced_and_its_epoch_is_the_offset_of_the_record() -> None:
    one = empty()
    one.replay(schema.NoOpRecord(), 41)

    records = one.register_broker(registration())

    assert records == [
        schema.RegisterBrokerRecord(
            broker_id=1,
            incarnation_id=INCARNATION,
            broker_epoch=42,
            end_points=[schema.BrokerEndpoint("PLAINTEXT", "broker-1", 9092, 0)],
            features=[
                schema.BrokerFeature("kraft.version", 0, 1),
                schema.BrokerFeature("metadata.version", 7, 30),
            ],
            rack=None,
            fenced=True,
            log_dirs=[directory_of(1)],
        )
    ]
    assert written(records)
    replay(one, records)
    assert one.image.brokers == {
        NodeId(1): BrokerImage(
            node_id=NodeId(1),
            epoch=42,
            incarnation_id=INCARNATION,
            endpoints=(Endpoint("PLAINTEXT", "broker-1", 9092, 0),),
            rack=None,
            is_fenced=True,
            log_dirs=(directory_of(1),),
        )
    }
    assert one.next_offset == 43


# A broker is up


def partition(image: Image, name: str) -> list[Any]:
    """Of partition 0: leader, its epoch, ISR, eligible leaders, partition epoch."""
    one = image.topics[name].partitions[0]
    return [one.leader, one.leader_epoch, one.isr, one.eligible_leaders, one.partition_epoch]


@pytest.mark.parametrize(
    ("leader", "isr", "eligible", "expected"),
    [
        (1, [1], [], [1, 5, [1], [], 8]),
        (1, [1, 2], [], [1, 5, [1, 2], [], 8]),
        (-1, [1], [], [1, 5, [1], [], 8]),
        # Nobody was in sync when Kafka fenced the last one: an eligible leader may begin anew.
        (-1, [], [1, 2], [1, 5, [1], [], 8]),
        (2, [2, 1], [], [2, 4, [2, 1], [], 7]),
        (2, [2], [1], [2, 4, [2], [1], 7]),
        (-1, [2], [1], [-1, 4, [2], [1], 7]),
        (-1, [], [2], [-1, 4, [], [2], 7]),
        (-1, [], [], [-1, 4, [], [], 7]),
    ],
    ids=[
        "it led, alone",
        "it led, with others in sync",
        "no leader, and it is in sync",
        "no leader, nobody in sync, and it is eligible",
        "another leads",
        "another leads and it is not in sync",
        "no leader, and another is in sync",
        "no leader, and only another is eligible",
        "no leader, and nobody is eligible",
    ],
)
def test_a_broker_that_is_up_leads_at_a_new_epoch_where_it_may(
    leader: int, isr: list[int], eligible: list[int], expected: list[Any]
) -> None:
    one = controller(2)
    record = schema.PartitionRecord(
        partition_id=0,
        topic_id=topic_id(1),
        replicas=[1, 2],
        isr=isr,
        leader=leader,
        leader_epoch=4,
        partition_epoch=7,
        eligible_leader_replicas=eligible,
    )
    replay(one, [schema.TopicRecord(name="t", topic_id=topic_id(1)), record])

    records = one.unfence(NodeId(1))

    assert written(records)
    replay(one, records)
    assert partition(one.image, "t") == expected


def test_a_broker_that_is_up_is_no_longer_fenced() -> None:
    one = empty()
    replay(one, one.register_broker(registration(1)))
    replay(one, one.register_broker(registration(2)))

    records = one.unfence(NodeId(2))

    assert records == [
        schema.BrokerRegistrationChangeRecord(broker_id=2, broker_epoch=1, fenced=-1)
    ]
    replay(one, records)
    assert [broker.is_fenced for broker in one.image.brokers.values()] == [True, False]


def test_every_partition_of_the_broker_gets_a_new_leader_epoch() -> None:
    one = controller(3)
    run(one, create(one, topic("a", partitions=3, replicas=2), topic("b")))

    records = one.unfence(NodeId(1))[1:]

    led = [
        (each.topic_id, index)
        for each in one.image.topics.values()
        for index, partition in each.partitions.items()
        if partition.leader == 1
    ]
    assert [(record.topic_id, record.partition_id) for record in records] == led
    assert [record.leader for record in records] == [1] * len(led)


# Producer ids


def test_producer_ids_are_given_out_in_blocks_that_never_overlap() -> None:
    one = controller()
    epoch = one.image.brokers[NodeId(1)].epoch

    first, second = (one.handle(AllocateProducerIdsRequest(broker_id=1), 0) for _ in range(2))
    assert first == second, "neither was replayed"
    run(one, first)
    third = one.handle(AllocateProducerIdsRequest(broker_id=1), 0)

    size = PRODUCER_ID_BLOCK
    assert first.records == [schema.ProducerIdsRecord(1, epoch, size)]
    assert first.response == AllocateProducerIdsResponse(producer_id_start=0, producer_id_len=size)
    assert third.records == [schema.ProducerIdsRecord(1, epoch, 2 * size)]
    assert third.response == AllocateProducerIdsResponse(
        producer_id_start=size, producer_id_len=size
    )


def test_producer_ids_go_on_where_another_controller_ended() -> None:
    one = controller()
    replay(one, [schema.ProducerIdsRecord(broker_id=9, broker_epoch=1, next_producer_id=7000)])

    outcome = one.allocate_producer_ids(AllocateProducerIdsRequest(broker_id=1), 0)

    assert outcome.response.producer_id_start == 7000
    assert outcome.records[0].next_producer_id == 7000 + PRODUCER_ID_BLOCK
