"""The recorder's parts: its table, what it hides, what it calls an answer, what it prints."""

import json
import socket
import struct
import uuid

import pytest

from ottla.records.record import decode_batch
from tools import recorder
from tools.recorder_cases import PROFILES, masks, wire
from tools.recorder_cases.batches import GZIP, LZ4, NONE, SNAPPY, ZSTD, Batch, Joined, Record, read
from tools.recorder_cases.conversation import Closed, RecorderError, Wire
from tools.recorder_cases.model import Settle

CASES = [case for profile in PROFILES for case in profile.cases]
RECORDED = json.loads(recorder.RECORDED.read_text())["cases"]


def test_no_two_cases_have_the_same_name() -> None:
    names = [case.name for case in CASES]
    assert [name for name in dict.fromkeys(names) if names.count(name) > 1] == []


def test_the_recording_holds_just_the_cases_of_the_table() -> None:
    assert list(RECORDED) == [case.name for case in CASES]


def test_the_recording_has_an_answer_for_each_step_that_asks() -> None:
    asked = {case.name: sum(not isinstance(step, Settle) for step in case.steps) for case in CASES}
    assert {name: len(said) for name, said in RECORDED.items()} == asked


def test_nothing_of_a_run_is_left_in_the_recording() -> None:
    text = recorder.RECORDED.read_text()
    assert "rec-" not in text
    assert "127.0.0.1" not in text
    assert "undecodable" not in text


def test_a_recording_is_json_with_a_line_for_each_step() -> None:
    answers: recorder.Answers = {
        "one": ["close"],
        "two": [{"answer": {"error_code": 3}}, "nothing"],
    }
    text = recorder.render(answers)
    assert json.loads(text)["cases"] == answers
    assert '   {"answer":{"error_code":3}},' in text.splitlines()


def test_a_difference_names_the_smallest_place() -> None:
    expected = {"answer": {"topics": [{"name": "@t", "error_code": 3}]}}
    got = {"answer": {"topics": [{"name": "@t", "error_code": 0}]}}
    text = str(recorder.Difference("unknown topic", 1, expected, got))
    assert text.splitlines() == [
        "unknown topic, step 1:",
        "  answer.topics[0].error_code: Kafka said 3, this broker 0",
    ]


def test_a_difference_of_kind_is_told_whole() -> None:
    text = str(recorder.Difference("bad frame", 2, "close", "nothing"))
    assert "it: Kafka said 'close', this broker 'nothing'" in text


def _masked(api: str, answer: dict[str, object], **given: object) -> object:
    secrets = masks.Secrets("rec-1-", 1_000_000_000_000)
    for name, value in given.items():
        setattr(secrets, name, value)
    return masks.Masks(secrets).answer(api, answer)


def test_topics_get_back_the_names_that_the_table_gives_them() -> None:
    assert _masked("produce", {"name": "rec-1-t"}) == {"name": "@t"}


def test_ids_of_known_topics_are_told_apart_from_others() -> None:
    known, other = uuid.uuid4(), uuid.uuid4()
    rows = [{"topic_id": known}, {"topic_id": other}, {"topic_id": uuid.UUID(int=0)}]
    masked = _masked("fetch", {"responses": rows}, topic_ids={"@t": known})
    told = ["<id of @t>", "<id>", "<none>"]
    assert masked == {"responses": [{"topic_id": text} for text in told]}


def test_times_of_the_case_are_relative_and_the_clocks_are_hidden() -> None:
    now = 1_000_000_000_000
    rows = [{"timestamp": now + 10}, {"timestamp": now + 3_600_000}, {"timestamp": -1}]
    masked = _masked("fetch", {"topics": rows})
    assert masked == {"topics": [{"timestamp": t} for t in ("now+10", "<time>", -1)]}


def test_a_text_is_told_from_none() -> None:
    assert _masked("fetch", {"error_message": "any words"}) == {"error_message": "<text>"}
    assert _masked("fetch", {"error_message": None}) == {"error_message": None}


def test_rows_are_sorted_for_a_broker_may_give_them_as_it_likes() -> None:
    rows = [{"topic": "b"}, {"topic": "a", "partitions": [{"index": 1}, {"index": 0}]}]
    told = [{"topic": "a", "partitions": [{"index": 0}, {"index": 1}]}, {"topic": "b"}]
    assert _masked("fetch", {"topics": rows}) == {"topics": told}


def test_sources_of_a_config_keep_their_order_which_says_who_wins() -> None:
    sources = [{"name": "b"}, {"name": "a"}]
    assert _masked("describe_configs", {"synonyms": sources}) == {"synonyms": sources}


def test_whether_an_error_has_words_is_compared_on_request_only() -> None:
    told = {"answer": {"rows": [{"error_code": 3, "error_message": "<text>"}]}}
    silent = {"answer": {"rows": [{"error_code": 3, "error_message": None}]}}
    assert recorder.without_texts([told]) == recorder.without_texts([silent])
    assert recorder.without_texts(["close"]) == ["close"]


@pytest.mark.parametrize("codec", [NONE, GZIP, SNAPPY, LZ4, ZSTD])
def test_its_batches_are_what_ottla_reads(codec: int) -> None:
    records = (Record(b"a", timestamp_delta=5), Record(None, None, headers=((b"h", b"v"),)))
    data = Batch(records, codec, first=1000).encode(lambda value: value)
    decoded = decode_batch(data)
    assert [(r.offset, r.timestamp_ms, r.key, r.value) for r in decoded] == [
        (0, 1005, b"key", b"a"),
        (1, 1000, None, None),
    ]


def test_batches_are_read_back_with_a_cut_tail_told() -> None:
    whole = Batch((Record(), Record()), first=7)
    data = Joined((whole, whole)).encode(lambda value: value)
    first, tail = read(data[:-1])
    assert (first["count"], first["crc"], first["first_timestamp"], tail) == (2, True, 7, "cut")


def test_an_answer_leaves_out_what_says_nothing_but_keeps_a_plain_zero() -> None:
    correlation, no_tags = struct.pack(">i", 7), b"\0"
    frame = correlation + no_tags + struct.pack(">ihqh", 0, 0, -1, 0) + no_tags
    full = wire.answer("init_producer_id", 4, frame)
    assert full == {
        "throttle_time_ms": 0,
        "error_code": 0,
        "producer_id": -1,
        "producer_epoch": 0,
    }
    assert wire.answer("init_producer_id", 4, frame, brief=True) == {
        "error_code": 0,
        "producer_epoch": 0,
    }


@pytest.fixture
def pair() -> "tuple[Wire, socket.socket]":
    listener = socket.create_server(("127.0.0.1", 0))
    ours = Wire(listener.getsockname())
    theirs, _ = listener.accept()
    listener.close()
    return ours, theirs


def test_a_frame_is_an_answer(pair: "tuple[Wire, socket.socket]") -> None:
    ours, theirs = pair
    theirs.sendall(b"\0\0\0\2hi")
    assert ours.receive() == b"hi"
    ours.close()
    theirs.close()


def test_the_end_of_a_connection_is_a_close(pair: "tuple[Wire, socket.socket]") -> None:
    ours, theirs = pair
    theirs.close()
    with pytest.raises(Closed):
        ours.receive()
    ours.close()


def test_silence_is_neither(pair: "tuple[Wire, socket.socket]") -> None:
    ours, theirs = pair
    assert ours.receive(timeout_s=0.01) is None
    ours.close()
    theirs.close()


def test_a_broker_that_is_not_there_is_named() -> None:
    with pytest.raises(RecorderError, match=r"nobody at 127\.0\.0\.1:1"):
        recorder.record("127.0.0.1", 1, CASES[:1])
