import pytest

from ottla.errors import ErrorCode
from ottla.sim.history import History, Outcome, Payload, classify, decode_payload, encode_payload


@pytest.mark.parametrize(
    ("error", "earlier_unknown", "outcome"),
    [
        (ErrorCode.NONE, False, Outcome.OK),
        (ErrorCode.NONE, True, Outcome.OK),
        (None, False, Outcome.INFO),
        (ErrorCode.MESSAGE_TOO_LARGE, False, Outcome.FAIL),
        (ErrorCode.MESSAGE_TOO_LARGE, True, Outcome.INFO),
        (ErrorCode.NOT_ENOUGH_REPLICAS, False, Outcome.FAIL),
        (ErrorCode.NOT_ENOUGH_REPLICAS_AFTER_APPEND, False, Outcome.INFO),
        (ErrorCode.NOT_LEADER_OR_FOLLOWER, False, Outcome.INFO),
        (ErrorCode.REQUEST_TIMED_OUT, False, Outcome.INFO),
        (ErrorCode.KAFKA_STORAGE_ERROR, False, Outcome.INFO),
        (ErrorCode.UNKNOWN_SERVER_ERROR, False, Outcome.INFO),
        (ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER, False, Outcome.FAIL),
        (ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER, True, Outcome.INFO),
        (ErrorCode.PRODUCER_FENCED, True, Outcome.INFO),
    ],
)
def test_an_answer_says_whether_the_write_happened_or_that_nobody_knows(
    error: ErrorCode | None, earlier_unknown: bool, outcome: Outcome
) -> None:
    assert classify(error, earlier_attempt_unknown=earlier_unknown) is outcome


def test_a_send_completes_once() -> None:
    send = History().send(1, "a", "p", [1])
    send.complete(2, Outcome.OK, 0)

    with pytest.raises(AssertionError):
        send.complete(3, Outcome.INFO)


def test_operations_are_those_that_were_answered_as_asked() -> None:
    history = History()
    history.send(1, "a", "p", [1]).complete(2, Outcome.OK, 0)
    history.send(1, "a", "p", [2]).complete(2, Outcome.FAIL)
    history.send(1, "a", "p", [3])

    assert history.operations == 1


@pytest.mark.parametrize("size_min", [0, 18, 30, 500])
def test_a_payload_comes_back_at_the_size_that_was_asked_for(size_min: int) -> None:
    payload = Payload("orders-0", 1 << 40, 7)

    data = encode_payload(payload, size_min)

    assert len(data) == max(size_min, 18 + len("orders-0"))
    assert decode_payload(data) == payload


@pytest.mark.parametrize("at", [0, 4, 12, 19, 29])
def test_a_payload_that_rotted_is_refused(at: int) -> None:
    data = bytearray(encode_payload(Payload("orders-0", 5, 7), 30))
    data[at] ^= 1

    with pytest.raises(ValueError):
        decode_payload(bytes(data))


def test_a_payload_that_was_cut_is_refused() -> None:
    with pytest.raises(ValueError):
        decode_payload(encode_payload(Payload("p", 5, 7))[:10])
