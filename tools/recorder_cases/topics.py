"""CreateTopics and DeleteTopics."""

import uuid
from typing import Any

from tools.recorder_cases.metadata import UNKNOWN_ID, metadata
from tools.recorder_cases.model import Call, Case, Settle, TopicId, one_topic


def topic(
    name: str,
    partitions: int = 1,
    replicas: int = 1,
    assignments: dict[int, list[int]] | None = None,
    configs: dict[str, str | None] | None = None,
) -> dict[str, Any]:
    return {
        "name": name,
        "num_partitions": partitions,
        "replication_factor": replicas,
        "assignments": [
            {"partition_index": index, "broker_ids": brokers}
            for index, brokers in (assignments or {}).items()
        ],
        "configs": [{"name": key, "value": value} for key, value in (configs or {}).items()],
    }


def create(
    *topics: dict[str, Any], version: int = 6, validate_only: bool = False, configs: bool = False
) -> Call:
    """Answers repeat every config of a topic; a case says when it wants to see them."""
    body = {"topics": list(topics), "timeout_ms": 10_000, "validate_only": validate_only}
    return Call("create_topics", version, body, leave_out=() if configs else ("configs",))


def delete(*names: str, version: int = 5) -> Call:
    return Call("delete_topics", version, {"topic_names": list(names), "timeout_ms": 10_000})


def delete_rows(*rows: dict[str, Any]) -> Call:
    return Call("delete_topics", 6, {"topics": list(rows), "timeout_ms": 10_000})


def _refused(name: str, row: dict[str, Any]) -> Case:
    """What is wrong is asked for with a right one beside it, whose answer shows how far it goes."""
    return Case(f"create topics: {name}", (create(row, topic("@right")),))


def _config(key: str, value: str | None) -> Case:
    return _refused(f"config {key}={value}", topic("@t", configs={key: value}))


CREATE = (
    *(Case(f"create topics v{v}", (create(topic("@t"), version=v),)) for v in range(2, 8)),
    *(
        Case(f"create topics v{v}, validate only", (
            create(topic("@t", 2), version=v, validate_only=True), metadata(
                12, "@t", allow_auto_topic_creation=False)))
        for v in (2, 5, 7)
    ),
    Case("create topics: all its configs come back", (create(
        topic("@t", configs={"retention.ms": "60000", "cleanup.policy": "compact"}),
        configs=True),)),
    Case("create topics: none", (create(),)),
    Case("create topics: it is there already", (
        create(topic("@t")), Settle("@t"), create(topic("@t")), create(
            topic("@t"), validate_only=True))),
    Case("create topics: the same name twice", (create(topic("@t"), topic("@t", 2)),)),
    Case("create topics: the same name twice beside another", (
        create(topic("@t"), topic("@t"), topic("@u")),)),
    Case("create topics: the defaults of the broker", (
        create(topic("@t", -1, -1)), Settle("@t"), metadata(12, "@t"))),
    Case("create topics: the defaults of the broker, v3", (
        create(topic("@t", -1, -1), version=3),)),
    Case("create topics: default partitions with one replica", (create(topic("@t", -1, 1)),)),
    _refused("no partitions", topic("@t", 0)),
    _refused("-2 partitions", topic("@t", -2)),
    _refused("replication factor 0", topic("@t", 1, 0)),
    _refused("replication factor -2", topic("@t", 1, -2)),
    _refused("more replicas than brokers", topic("@t", 1, 2)),
    _refused("replication factor 32767", topic("@t", 1, 32767)),
    _refused("1,000,000 partitions", topic("@t", 1_000_000)),
    _refused("2,147,483,647 partitions", topic("@t", 2**31 - 1)),
)  # fmt: skip

NAMES = (
    _refused("an empty name", topic("")),
    _refused("the name '.'", topic(".")),
    _refused("the name '..'", topic("..")),
    _refused("a slash in the name", topic("a/b")),
    _refused("a path out of the data directory", topic("../../escape")),
    _refused("a NUL in the name", topic("a\0b")),
    _refused("a space in the name", topic("a b")),
    _refused("a letter that is not ASCII", topic("é")),
    _refused("a name of 250 characters", topic("x" * 250)),
    _refused("an internal topic's name", topic("__cluster_metadata")),
    Case("create topics: a name of 249 characters", (
        create(topic("x" * 249), version=4), delete("x" * 249))),
    Case("create topics: names that differ in a dot and an underscore", (
        create(topic("@a.b")), Settle("@a.b"), create(topic("@a_b")))),
    Case("create topics: names that differ so, in one request", (
        create(topic("@c.d"), topic("@c_d")),)),
)  # fmt: skip

ASSIGNMENTS = (
    Case(
        "create topics: assigned by hand",
        (create(topic("@t", -1, -1, {0: [1], 1: [1]})), Settle("@t"), metadata(12, "@t")),
    ),
    _refused("assigned by hand, partitions given too", topic("@t", 2, -1, {0: [1], 1: [1]})),
    _refused("assigned by hand, replicas given too", topic("@t", -1, 1, {0: [1]})),
    _refused("assigned by hand, a hole", topic("@t", -1, -1, {0: [1], 2: [1]})),
    _refused("assigned by hand, not from 0", topic("@t", -1, -1, {1: [1]})),
    _refused("assigned by hand, a negative partition", topic("@t", -1, -1, {-1: [1], 0: [1]})),
    _refused("assigned by hand, an unknown broker", topic("@t", -1, -1, {0: [99]})),
    _refused("assigned by hand, a broker twice", topic("@t", -1, -1, {0: [1, 1]})),
    _refused("assigned by hand, no broker", topic("@t", -1, -1, {0: []})),
    _refused("assigned by hand, unlike numbers", topic("@t", -1, -1, {0: [1], 1: [1, 2]})),
)

CONFIGS = (
    _config("no.such.config", "1"),
    _config("", "1"),
    _config("retention.ms", "-1"),
    _config("retention.ms", "-2"),
    _config("retention.ms", "abc"),
    _config("retention.ms", ""),
    _config("retention.ms", " 5 "),
    _config("retention.ms", "9223372036854775808"),
    _config("retention.ms", None),
    _config("cleanup.policy", "compact,delete"),
    _config("cleanup.policy", "shred"),
    _config("cleanup.policy", ""),
    _config("compression.type", "zstd"),
    _config("compression.type", "brotli"),
    _config("compression.gzip.level", "10"),
    _config("compression.zstd.level", "-131073"),
    _config("min.insync.replicas", "0"),
    _config("min.insync.replicas", "2"),
    _config("segment.bytes", "1048575"),
    _config("segment.bytes", "1048576"),
    _config("segment.bytes", "13"),
    _config("segment.ms", "0"),
    _config("segment.jitter.ms", "-1"),
    _config("segment.index.bytes", "3"),
    _config("index.interval.bytes", "-1"),
    _config("max.message.bytes", "-1"),
    _config("max.message.bytes", "0"),
    _config("message.timestamp.type", "LogAppendTime"),
    _config("message.timestamp.type", "logappendtime"),
    _config("message.timestamp.before.max.ms", "-1"),
    _config("message.timestamp.after.max.ms", "-1"),
    _config("min.cleanable.dirty.ratio", "1.5"),
    _config("unclean.leader.election.enable", "TRUE"),
    _config("unclean.leader.election.enable", "yes"),
    _config("preallocate", "true"),
    _config("flush.messages", "0"),
    _config("flush.messages", "1"),
    _config("file.delete.delay.ms", "-1"),
    _config("message.format.version", "3.0"),
    _config("message.downconversion.enable", "false"),
    _config("retention.bytes", "-2"),
    _config("local.retention.ms", "1"),
    _config("remote.storage.enable", "true"),
    _config("leader.replication.throttled.replicas", "*"),
    _config("leader.replication.throttled.replicas", "nonsense"),
    _config("min.compaction.lag.ms", "-1"),
    _config("max.compaction.lag.ms", "0"),
    _refused("compaction lags the wrong way round", topic("@t", configs={
        "min.compaction.lag.ms": "10", "max.compaction.lag.ms": "5"})),
    Case("create topics: the same config twice", (Call("create_topics", 6, {"topics": [{
        **topic("@t"), "configs": [
            {"name": "retention.ms", "value": "1"}, {"name": "retention.ms", "value": "2"}]}],
        "timeout_ms": 9000}, leave_out=("configs",)),)),
)  # fmt: skip

DELETE = (
    *(one_topic(f"delete topics v{v}", delete("@t", version=v)) for v in range(1, 6)),
    one_topic("delete topics v6 by name", delete_rows({"name": "@t"})),
    one_topic("delete topics v6 by id", delete_rows({"topic_id": TopicId("@t")})),
    one_topic(
        "delete topics v6 by id and name", delete_rows({"topic_id": TopicId("@t"), "name": "@t"})
    ),
    one_topic(
        "delete topics v6, the same by id and by name",
        delete_rows({"topic_id": TopicId("@t")}, {"name": "@t"}),
    ),
    one_topic("delete topics v6, a name twice", delete_rows({"name": "@t"}, {"name": "@t"})),
    one_topic(
        "delete topics v6, an id twice",
        delete_rows({"topic_id": TopicId("@t")}, {"topic_id": TopicId("@t")}),
    ),
    Case("delete topics v6, an unknown id", (delete_rows({"topic_id": UNKNOWN_ID}),)),
    Case("delete topics v6, an unknown name", (delete_rows({"name": "@no"}),)),
    Case("delete topics v6, neither id nor name", (delete_rows({"topic_id": uuid.UUID(int=0)}),)),
    Case("delete topics v6, none", (delete_rows(),)),
    Case("delete topics v5, an unknown name", (delete("@no"),)),
    Case("delete topics v3, an unknown name", (delete("@no", version=3),)),
    Case("delete topics v5, a name with a slash", (delete("a/b"),)),
    Case("delete topics v5, an empty name", (delete(""),)),
    one_topic("delete topics v5, a name twice", delete("@t", "@t")),
    one_topic("delete topics v5, one that is and one that is not", delete("@t", "@no")),
    one_topic(
        "delete topics: gone, then a new one of the name",
        delete("@t"),
        Settle("@t", gone=True),
        delete("@t"),
        metadata(12, "@t", allow_auto_topic_creation=False),
        create(topic("@t", 2)),
        Settle("@t"),
        metadata(12, "@t"),
    ),
)

CASES = (*CREATE, *NAMES, *ASSIGNMENTS, *CONFIGS, *DELETE)
