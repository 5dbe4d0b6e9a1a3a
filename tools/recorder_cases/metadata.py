"""Metadata and DescribeCluster."""

import uuid
from typing import Any

from tools.recorder_cases.model import Call, Case, Settle, TopicId, one_topic

UNKNOWN_ID = uuid.UUID("7b0a1f35-0000-4000-8000-5e5e5e5e5e5e")
NO_ID = uuid.UUID(int=0)
OPERATIONS = "topic_authorized_operations"


def metadata(version: int, *topics: Any, **fields: Any) -> Call:
    """By name (a string) or by id; with no topic at all it asks for none."""
    rows = [topic if isinstance(topic, dict) else {"name": topic} for topic in topics]
    return Call("metadata", version, {"topics": rows, **fields})


def by_id(topic_id: Any, name: str | None = None) -> dict[str, Any]:
    return {"topic_id": topic_id, "name": name}


VERSIONS = tuple(one_topic(f"metadata v{v}", metadata(v, "@t")) for v in range(14))

ALL_AND_NONE = (
    Case("metadata v1, no topics", (metadata(1),)),
    *(
        one_topic(
            f"metadata v{v}, all topics", Call("metadata", v, {"topics": None}, only_ours=True)
        )
        for v in (1, 4, 9, 12, 13)
    ),
    one_topic("metadata v0, an empty list is all", Call("metadata", 0, {}, only_ours=True)),
    Case("metadata v12, no topics", (metadata(12),)),
    Case("metadata v1, no topics and no client id", (Call("metadata", 1, {}, client_id=None),)),
)

AUTO_CREATION = (
    Case(
        "metadata v4 creates the topic when asked to",
        (metadata(4, "@auto"), Settle("@auto"), metadata(4, "@auto")),
    ),
    Case(
        "metadata v3 creates the topic unasked",
        (metadata(3, "@auto"), Settle("@auto"), metadata(3, "@auto")),
    ),
    Case(
        "metadata v4 does not create it when told not to",
        (metadata(4, "@auto", allow_auto_topic_creation=False),),
    ),
    Case(
        "metadata v12 creates the topic",
        (metadata(12, "@auto"), Settle("@auto"), metadata(12, "@auto")),
    ),
    Case("metadata v12, a name with a slash", (metadata(12, "a/b"),)),
    Case("metadata v12, a name with a slash, not to be created", (
        metadata(12, "a/b", allow_auto_topic_creation=False),)),
    Case("metadata v12, an empty name", (metadata(12, ""),)),
    Case("metadata v12, the name '.'", (metadata(12, "."),)),
    Case("metadata v12, the name '..'", (metadata(12, ".."),)),
    Case("metadata v12, a NUL in the name", (metadata(12, "a\0b"),)),
    Case("metadata v12, a newline in the name", (metadata(12, "a\nb"),)),
    Case("metadata v12, a letter that is not ASCII", (metadata(12, "é"),)),
    Case("metadata v12, a name of 250 characters", (metadata(12, "x" * 250),)),
    Case("metadata v12, a name of 30,000 characters", (
        Call("metadata", 12, {"topics": [{"name": "x" * 30_000}]}, leave_out=("name",)),)),
    one_topic(
        "metadata v12, a name that collides with another",
        Call("create_topics", 5, {"topics": [
            {"name": "@a.b", "num_partitions": 1, "replication_factor": 1}], "timeout_ms": 9000},
            leave_out=("configs",)),
        Settle("@a.b"),
        metadata(12, "@a_b"),
    ),
    one_topic("metadata v12, the same topic twice", metadata(12, "@t", "@t")),
    one_topic(
        "metadata v12, one that is and one that is not",
        metadata(12, "@no", "@t", allow_auto_topic_creation=False),
    ),
)  # fmt: skip

IDS = (
    *(
        one_topic(f"metadata v{v} by id", metadata(v, by_id(TopicId("@t"))))
        for v in (10, 11, 12, 13)
    ),
    *(
        Case(f"metadata v{v} by an unknown id", (metadata(v, by_id(UNKNOWN_ID)),))
        for v in (10, 11, 12, 13)
    ),
    Case("metadata v12, neither id nor name", (metadata(12, by_id(NO_ID)),)),
    one_topic("metadata v12, id and name", metadata(12, by_id(TopicId("@t"), "@t"))),
    one_topic("metadata v12, id and another name", metadata(12, by_id(TopicId("@t"), "@x"))),
    one_topic("metadata v12, unknown id and a name", metadata(12, by_id(UNKNOWN_ID, "@t"))),
    one_topic("metadata v12, one by id and one by name", metadata(12, by_id(TopicId("@t")), "@t")),
    one_topic(
        "metadata v12, two by id, one unknown",
        metadata(12, by_id(UNKNOWN_ID), by_id(TopicId("@t"))),
    ),
)

OPERATION_BITS = (
    one_topic(
        "metadata v8 with all authorized operations",
        metadata(
            8,
            "@t",
            include_cluster_authorized_operations=True,
            include_topic_authorized_operations=True,
        ),
    ),
    one_topic(
        "metadata v12 with the topic's authorized operations",
        metadata(12, "@t", include_topic_authorized_operations=True),
    ),
)

DESCRIBE_CLUSTER = (
    *(Case(f"describe cluster v{v}", (Call("describe_cluster", v, {}),)) for v in (0, 1, 2)),
    Case(
        "describe cluster v1 with authorized operations",
        (Call("describe_cluster", 1, {"include_cluster_authorized_operations": True}),),
    ),
    Case("describe cluster v1, controllers", (Call("describe_cluster", 1, {"endpoint_type": 2}),)),
    Case(
        "describe cluster v1, endpoint type 0", (Call("describe_cluster", 1, {"endpoint_type": 0}),)
    ),
    Case(
        "describe cluster v1, endpoint type 99",
        (Call("describe_cluster", 1, {"endpoint_type": 99}),),
    ),
    Case(
        "describe cluster v2 with fenced brokers",
        (Call("describe_cluster", 2, {"include_fenced_brokers": True}),),
    ),
)

CASES = (*VERSIONS, *ALL_AND_NONE, *AUTO_CREATION, *IDS, *OPERATION_BITS, *DESCRIBE_CLUSTER)
