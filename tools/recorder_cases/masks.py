"""Hides, by the field's name, what differs from run to run or is a broker's own choice of words."""

import uuid
from dataclasses import dataclass, field
from typing import Any

from tools.recorder_cases import batches

# The APIs that this table covers; what a broker says of others is not compared.
COVERED_APIS = (0, 1, 2, 3, 10, 18, 19, 20, 22, 32, 60)

HIDDEN = {
    "host": "<host>",
    "port": "<port>",
    "cluster_id": "<cluster>",
    "broker_epoch": "<epoch>",
}
TEXTS = ("error_message", "batch_index_error_message", "documentation")
TIMES = (
    "timestamp",
    "log_append_time_ms",
    "first_timestamp",
    "max_timestamp",
)
# A broker finalizes the features that it has built, and which these are is no matter of the wire.
FEATURES = ("supported_features", "finalized_features", "finalized_features_epoch")
# Rows whose order says something: which source of a config wins.
ORDERED = ("synonyms", "records")
RUN_MS = 600_000
DAY_MS = 86_400_000


@dataclass(slots=True)
class Secrets:
    """What stands behind the stand-ins of one case, and so what to write back in its answers."""

    prefix: str
    now_ms: int
    topic_ids: dict[str, uuid.UUID] = field(default_factory=dict)
    saved: dict[str, Any] = field(default_factory=dict)

    def name(self, text: str) -> str:
        return self.prefix + text[1:] if text.startswith("@") else text


@dataclass(slots=True)
class Masks:
    secrets: Secrets
    leave_out: tuple[str, ...] = ()
    only_ours: bool = False

    def answer(self, api: str, answer: dict[str, Any]) -> Any:
        if api == "api_versions":
            answer = {key: item for key, item in answer.items() if key not in FEATURES}
            answer["api_keys"] = {
                str(row["api_key"]): f"{row['min_version']}-{row['max_version']}"
                for row in answer.get("api_keys", [])
                if row["api_key"] in COVERED_APIS
            }
        if self.only_ours:
            rows = [
                row
                for row in answer.get("topics", [])
                if row["name"].startswith(self.secrets.prefix)
            ]
            answer = answer | {"topics": rows}
        return _sorted(self.value(api, answer))

    def value(self, name: str, value: Any) -> Any:
        match value:
            case _ if name in HIDDEN:
                return HIDDEN[name]
            case bytes():
                return self.value("batches", batches.read(value))
            case dict():
                kept = {key: item for key, item in value.items() if key not in self.leave_out}
                return {key: self.value(key, item) for key, item in kept.items()}
            case list():
                return [self.value(name, item) for item in value]
            case uuid.UUID():
                return self._id(value)
            case str():
                text = value.replace(self.secrets.prefix, "@")
                return "<text>" if name in TEXTS and text else text
            case bool() | None:
                return value
            case int():
                return self._number(name, value)
            case _:
                return value

    def _id(self, value: uuid.UUID) -> str:
        if value.int == 0:
            return "<none>"
        for topic, known in self.secrets.topic_ids.items():
            if known == value:
                return f"<id of {topic}>"
        return "<id>"

    def _number(self, name: str, value: int) -> Any:
        if name in TIMES and abs(value - self.secrets.now_ms) < DAY_MS:
            plus = value - self.secrets.now_ms
            return f"now{plus:+}" if abs(plus) < RUN_MS else "<time>"
        if (name == "producer_id" and value >= 0) or (name == "session_id" and value != 0):
            for saved, known in self.secrets.saved.items():
                if known == value:
                    return f"<{saved}>"
            return f"<{name}>"
        return value


def _sorted(value: Any) -> Any:
    """Kafka's rows come in the order of its hash tables, and no client may count on that."""
    if isinstance(value, dict):
        return {key: item if key in ORDERED else _sorted(item) for key, item in value.items()}
    if not isinstance(value, list) or not all(isinstance(row, dict) for row in value):
        return value
    return sorted(map(_sorted, value), key=_rank)


def _rank(row: dict[str, Any]) -> tuple[str, str, int]:
    name = row.get("name", row.get("topic", row.get("resource_name")))
    return str(name), str(row.get("topic_id")), row.get("index", row.get("partition_index", 0))
