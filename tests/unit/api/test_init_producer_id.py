"""InitProducerId: unique ids out of blocks, also over restarts, and whom it refuses."""

import pytest

from ottla.errors import ErrorCode
from ottla.metadata.controller import PRODUCER_ID_BLOCK
from ottla.protocol.schema.init_producer_id import InitProducerIdRequest, InitProducerIdResponse
from tests.unit.api.asking import restarted
from tests.unit.broker.harness import Client, Harness

NEW = InitProducerIdRequest(transactional_id=None)


def take(client: Client, count: int) -> list[int]:
    return [client.ask(NEW, 5).producer_id for _ in range(count)]


def test_a_new_producer_gets_an_id_of_its_own_at_epoch_0(harness: Harness) -> None:
    client = harness.connect()
    assert [client.ask(NEW, 5) for _ in range(2)] == [
        InitProducerIdResponse(producer_id=at, producer_epoch=0) for at in (0, 1)
    ]


def test_a_block_is_granted_once_its_record_is_committed(harness: Harness) -> None:
    client = harness.connect()
    harness.holds_flushes = True
    asked = client.send(NEW, 5)
    assert not client.has_reply(asked)
    assert harness.node.image.next_producer_id == 0
    harness.holds_flushes = False
    harness.settle()
    assert client.reply(asked).producer_id == 0
    assert harness.node.image.next_producer_id == PRODUCER_ID_BLOCK


def test_a_block_that_is_used_up_is_followed_by_the_next(harness: Harness) -> None:
    client = harness.connect()
    count = 2 * PRODUCER_ID_BLOCK + 1
    assert take(client, count) == list(range(count))
    assert harness.node.image.next_producer_id == 3 * PRODUCER_ID_BLOCK


def test_those_who_wait_beyond_one_block_share_the_next(harness: Harness) -> None:
    take(harness.connect(), PRODUCER_ID_BLOCK - 1)
    clients = [harness.connect() for _ in range(5)]
    harness.holds_flushes = True
    asked = [client.send(NEW, 5) for client in clients]
    harness.holds_flushes = False
    harness.settle()
    ids = [client.reply(at).producer_id for client, at in zip(clients, asked, strict=True)]
    assert ids == list(range(PRODUCER_ID_BLOCK - 1, PRODUCER_ID_BLOCK + 4))
    assert harness.node.image.next_producer_id == 2 * PRODUCER_ID_BLOCK


def test_more_who_wait_than_a_block_has_ids_are_served_by_the_next(harness: Harness) -> None:
    clients = [harness.connect() for _ in range(PRODUCER_ID_BLOCK + 2)]
    harness.holds_flushes = True
    asked = [client.send(NEW, 5) for client in clients]
    harness.holds_flushes = False
    harness.settle()
    ids = [client.reply(at).producer_id for client, at in zip(clients, asked, strict=True)]
    assert ids == list(range(PRODUCER_ID_BLOCK + 2))


def test_a_restart_begins_a_new_block_and_grants_no_id_again(harness: Harness) -> None:
    take(harness.connect(), 3)
    harness.disk.crash()
    after = restarted(harness)
    assert take(after.connect(), 2) == [PRODUCER_ID_BLOCK, PRODUCER_ID_BLOCK + 1]
    after.assert_nothing_left()


def test_with_page_cache_durability_ids_never_run_out() -> None:
    harness = Harness({"ottla.durability": "page-cache"})
    count = 2 * PRODUCER_ID_BLOCK + 1
    assert take(harness.connect(), count) == list(range(count))
    harness.assert_nothing_left()


@pytest.mark.parametrize(
    ("transactional_id", "producer_id", "producer_epoch", "code"),
    [
        (None, 7, 3, ErrorCode.NONE),
        (None, 7, -1, ErrorCode.INVALID_REQUEST),
        (None, -1, 3, ErrorCode.INVALID_REQUEST),
        ("", -1, -1, ErrorCode.INVALID_REQUEST),
        ("payments", -1, -1, ErrorCode.COORDINATOR_NOT_AVAILABLE),
    ],
)
def test_an_id_comes_with_its_epoch_or_not_at_all_and_transactions_are_not_there_yet(
    harness: Harness,
    transactional_id: str | None,
    producer_id: int,
    producer_epoch: int,
    code: ErrorCode,
) -> None:
    request = InitProducerIdRequest(
        transactional_id=transactional_id, producer_id=producer_id, producer_epoch=producer_epoch
    )
    answer = harness.connect().ask(request, 5)
    assert answer.error_code == code
    assert (answer.producer_id, answer.producer_epoch) == ((-1, -1) if code else (0, 0))
