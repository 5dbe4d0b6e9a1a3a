"""Producer ids come in blocks from the controller, and each is handed out once."""

from collections.abc import Iterator

import pytest

from ottla.errors import DiskError, ErrorCode
from ottla.metadata.controller import PRODUCER_ID_BLOCK
from ottla.protocol.schema.init_producer_id import InitProducerIdRequest
from tests.unit.broker.harness import Client, Harness

NEW_PRODUCER = InitProducerIdRequest(transactional_id=None)


@pytest.fixture
def harness() -> Iterator[Harness]:
    harness = Harness()
    yield harness
    harness.assert_nothing_left()


def ask(client: Client) -> int:
    answer = client.ask(NEW_PRODUCER, 4)
    assert (answer.error_code, answer.producer_epoch) == (0, 0)
    return int(answer.producer_id)


def blocks(harness: Harness) -> int:
    return harness.node.metadata.controller.image.next_producer_id // PRODUCER_ID_BLOCK


def test_ids_rise_from_zero_and_a_block_is_one_record(harness: Harness) -> None:
    client = harness.connect()
    before = harness.node.metadata.log.end_offset
    assert [ask(client) for _ in range(PRODUCER_ID_BLOCK)] == list(range(PRODUCER_ID_BLOCK))
    assert harness.node.metadata.log.end_offset == before + 1
    assert ask(client) == PRODUCER_ID_BLOCK
    assert blocks(harness) == 2


def test_many_who_ask_at_the_end_of_a_block_share_the_next_one(harness: Harness) -> None:
    clients = [harness.connect() for _ in range(30)]
    harness.holds_flushes = True
    asked = [client.send(NEW_PRODUCER, 4) for client in clients]
    assert blocks(harness) == 1
    harness.holds_flushes = False
    harness.settle()
    ids = [c.reply(at).producer_id for c, at in zip(clients, asked, strict=True)]
    assert sorted(ids) == list(range(30))


def test_more_than_a_block_may_wait(harness: Harness) -> None:
    node = harness.node
    clients = [harness.connect() for _ in range(20)]
    ask(clients[0])
    node.producer_ids._next = node.producer_ids._end - 5
    harness.holds_flushes = True
    asked = [client.send(NEW_PRODUCER, 4) for client in clients]
    harness.holds_flushes = False
    harness.settle()
    ids = [c.reply(at).producer_id for c, at in zip(clients, asked, strict=True)]
    assert len(dict.fromkeys(ids)) == 20


def test_who_leaves_while_waiting_costs_no_id(harness: Harness) -> None:
    client, other = harness.connect(), harness.connect()
    harness.holds_flushes = True
    client.send(NEW_PRODUCER, 4)
    client.close()
    harness.holds_flushes = False
    harness.settle()
    assert ask(other) == 0


def test_after_a_refusal_the_next_one_asks_again(harness: Harness) -> None:
    client = harness.connect()
    log = harness.node.metadata.log
    harness.disk.fill()
    # A page of the log's file is left, so the record has to be larger than what is free of it.
    while log.active.size % 4096 < 4000:
        harness.disk.free_space()
        harness.create_topic(f"t{log.active.size}")
        harness.disk.fill()
    answer = client.ask(NEW_PRODUCER, 4)
    assert answer.error_code == ErrorCode.KAFKA_STORAGE_ERROR
    harness.disk.free_space()
    assert ask(client) == 0


def test_ids_of_a_block_that_was_never_made_durable_are_not_handed_out(harness: Harness) -> None:
    client = harness.connect()
    harness.holds_flushes = True
    asked = client.send(NEW_PRODUCER, 4)
    harness.finish_flush(DiskError(5, "EIO"))
    harness.settle()
    assert client.reply(asked).error_code == ErrorCode.KAFKA_STORAGE_ERROR
    assert client.reply(asked).producer_id == -1
