"""Fetch sessions (KIP-227): made, grown, forgotten, closed, and never been."""

from typing import Any

from tools.recorder_cases.batches import Batch
from tools.recorder_cases.fetch import fetch, part, topic
from tools.recorder_cases.metadata import UNKNOWN_ID
from tools.recorder_cases.model import Call, Case, Saved, Settle, Step, TopicId, one_topic
from tools.recorder_cases.produce import THREE, one, produce, rows

SESSION = Saved("session")
FINAL = -1


def _open(version: int, *topics: dict[str, Any]) -> Call:
    return fetch(version, *topics, session_epoch=0, save={"session": "session_id"})


def _next(
    version: int, epoch: int, *topics: dict[str, Any], session: Any = SESSION, **fields: Any
) -> Call:
    return fetch(version, *topics, session_id=session, session_epoch=epoch, **fields)


def _story(name: str, *steps: Step, partitions: int = 2) -> Case:
    return one_topic(f"session: {name}", *steps, partitions=partitions)


def _forgotten(name: Any, *partitions: int) -> list[dict[str, Any]]:
    return [{("topic" if isinstance(name, str) else "topic_id"): name,
             "partitions": list(partitions)}]  # fmt: skip


BOTH = topic("@t", part(0), part(1))
BY_ID = topic(TopicId("@t"), part(0), part(1))

LIVES = (
    *(_story(f"v{v}, made and asked again", _open(v, BOTH), _next(v, 1), one(Batch(THREE)),
             _next(v, 2), _next(v, 3)) for v in (7, 12)),
    _story("v16, made and asked again", _open(16, BY_ID), _next(16, 1), one(Batch(THREE)),
           _next(16, 2), _next(16, 3, topic(TopicId("@t"), part(0, 3))), _next(16, 4)),
    _story("what was read does not come back", _open(12, BOTH), one(Batch(THREE)),
           _next(12, 1), _next(12, 2, topic("@t", part(0, 3))), _next(12, 3)),
    _story("only what changed comes", produce(rows("@t", (0, Batch()), (1, Batch()))),
           _open(12, BOTH), _next(12, 1, topic("@t", part(0, 1), part(1, 1))), one(Batch(), at=1),
           _next(12, 2)),
    _story("a partition is added", _open(12, topic("@t", part(0))), one(Batch(THREE), at=1),
           _next(12, 1, topic("@t", part(1))), _next(12, 2)),
    _story("a partition is forgotten", _open(12, BOTH), one(Batch(THREE)),
           _next(12, 1, forgotten_topics_data=_forgotten("@t", 0)), _next(12, 2)),
    _story("a partition is forgotten, by id", _open(16, BY_ID), one(Batch(THREE)),
           _next(16, 1, forgotten_topics_data=_forgotten(TopicId("@t"), 0)), _next(16, 2)),
    _story("forgotten and added in one request", _open(12, BOTH), one(Batch(THREE)),
           _next(12, 1, topic("@t", part(0)), forgotten_topics_data=_forgotten("@t", 0)),
           _next(12, 2)),
    _story("what was never there is forgotten", _open(12, BOTH),
           _next(12, 1, forgotten_topics_data=_forgotten("@no", 7))),
    _story("all is forgotten", _open(12, BOTH),
           _next(12, 1, forgotten_topics_data=_forgotten("@t", 0, 1)), _next(12, 2)),
    _story("an offset is set back", one(Batch(THREE)), _open(12, topic("@t", part(0, 3))),
           _next(12, 1, topic("@t", part(0, 0))), _next(12, 2)),
    _story("an offset out of range stays an error", _open(12, topic("@t", part(0, 50))),
           _next(12, 1), _next(12, 2)),
    _story("an unknown topic stays an error", _open(12, topic("@no", part()), BOTH),
           _next(12, 1), _next(12, 2)),
    _story("an unknown id stays an error", _open(16, topic(UNKNOWN_ID, part()), BY_ID),
           _next(16, 1), _next(16, 2)),
    _story("the watermark moved on, no records asked", _open(12, topic("@t", part(0, 0))),
           one(Batch(THREE)), _next(12, 1, topic("@t", part(0, 3)))),
    _story("another connection goes on", _open(12, BOTH),
           fetch(12, session_id=SESSION, session_epoch=1, connection="other")),
)  # fmt: skip

ENDS = (
    _story("closed", _open(12, BOTH), _next(12, FINAL), _next(12, 1)),
    _story("closed with partitions", _open(12, BOTH), _next(12, FINAL, BOTH), _next(12, 1)),
    _story("made anew over the old", _open(12, BOTH), _next(12, 0, BOTH), _next(12, 1)),
    _story("closed twice", _open(12, BOTH), _next(12, FINAL), _next(12, FINAL)),
    _story("no session asked", fetch(12, BOTH, session_epoch=FINAL),
           fetch(12, BOTH, session_epoch=FINAL, session_id=0)),
    _story("v4 knows none", fetch(4, BOTH)),
    _story("made of nothing", _open(12)),
    _story("made of a topic that is not", _open(12, topic("@no", part()))),
)  # fmt: skip

WRONG = (
    _story("never been", _next(12, 1, session=12345)),
    _story("never been, with partitions", _next(12, 1, BOTH, session=12345)),
    _story("never been, v7", _next(7, 1, session=12345)),
    _story("never been, v16", _next(16, 1, session=12345)),
    _story("never been, negative", _next(12, 1, session=-5)),
    _story("never been, epoch 0", _next(12, 0, BOTH, session=12345)),
    _story("never been, closed", _next(12, FINAL, BOTH, session=12345)),
    _story("no id, epoch 1", _next(12, 1, BOTH, session=0)),
    _story("no id, epoch 2147483647", _next(12, 2**31 - 1, session=0)),
    _story("epoch -2", _open(12, BOTH), _next(12, -2), _next(12, 1)),
    _story("epoch -2, no id", _next(12, -2, BOTH, session=0)),
    _story("an epoch again", _open(12, BOTH), _next(12, 1), _next(12, 1), _next(12, 2)),
    _story("an epoch left out", _open(12, BOTH), _next(12, 2), _next(12, 1)),
    _story("by name, then by id", _open(12, BOTH), _next(16, 1), _next(16, 2)),
    _story("by id, then by name", _open(16, BY_ID), _next(12, 1), _next(12, 2)),
    _story("a topic deleted meanwhile, by name", _open(12, BOTH), Call("delete_topics", 5, {
        "topic_names": ["@t"], "timeout_ms": 9000}), Settle("@t", gone=True), _next(12, 1)),
    _story("a topic deleted meanwhile, by id", _open(16, BY_ID), Call("delete_topics", 5, {
        "topic_names": ["@t"], "timeout_ms": 9000}), Settle("@t", gone=True), _next(16, 1)),
)  # fmt: skip

CASES = (*LIVES, *ENDS, *WRONG)
