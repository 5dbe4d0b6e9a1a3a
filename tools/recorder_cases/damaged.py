"""A right request of each API in its oldest and newest version, cut, lengthened or overwritten."""

from typing import Any

from tools.recorder_cases import wire
from tools.recorder_cases.metadata import UNKNOWN_ID
from tools.recorder_cases.model import Call, Case

NO_TOPIC = "no-such-topic"
FETCH = {"max_wait_ms": 0, "min_bytes": 0}
PARTITION = {"partition": 0, "partition_max_bytes": 1}
PRODUCED = {"partition_data": [{"index": 0, "records": b"\0" * 61}]}
ASKED = {"partition_index": 0, "timestamp": -1}
OFFSETS = {"replica_id": -1, "topics": [{"name": NO_TOPIC, "partitions": [ASKED]}]}
# Names that no topic can have: none of these requests may leave anything behind.
CREATED = {"topics": [{"name": "a/b", "num_partitions": 1, "replication_factor": 1}]}
PATIENT = {"timeout_ms": 10_000}
PRODUCER = {"transactional_id": None, "transaction_timeout_ms": 1000}
CONFIGS = {"resources": [{"resource_type": 2, "resource_name": NO_TOPIC}]}
CLIENT = {"client_software_name": "recorder", "client_software_version": "1.0"}

REQUESTS: tuple[tuple[str, int, dict[str, Any]], ...] = (
    ("produce", 3, {"acks": -1, "topic_data": [{"name": NO_TOPIC, **PRODUCED}]}),
    ("produce", 13, {"acks": -1, "topic_data": [{"topic_id": UNKNOWN_ID, **PRODUCED}]}),
    ("fetch", 4, FETCH | {"topics": [{"topic": NO_TOPIC, "partitions": [PARTITION]}]}),
    ("fetch", 18, FETCH | {"topics": [{"topic_id": UNKNOWN_ID, "partitions": [PARTITION]}]}),
    ("list_offsets", 1, OFFSETS),
    ("list_offsets", 11, OFFSETS),
    ("metadata", 0, {"topics": [{"name": "a/b"}]}),
    ("metadata", 13, {"topics": [{"name": "a/b"}]}),
    ("find_coordinator", 1, {"key": "group", "key_type": 9}),
    ("find_coordinator", 6, {"key_type": 9, "coordinator_keys": ["group"]}),
    ("api_versions", 4, CLIENT),
    ("create_topics", 2, CREATED),
    ("create_topics", 7, CREATED),
    ("delete_topics", 1, {"topic_names": [NO_TOPIC], **PATIENT}),
    ("delete_topics", 6, {"topics": [{"name": NO_TOPIC}], **PATIENT}),
    ("init_producer_id", 0, PRODUCER),
    ("init_producer_id", 5, PRODUCER),
    ("describe_configs", 1, CONFIGS),
    ("describe_configs", 4, CONFIGS),
    ("describe_cluster", 0, {}),
    ("describe_cluster", 2, {}),
)


def _damaged(api: str, version: int, message: dict[str, Any]) -> tuple[Case, ...]:
    whole = wire.request(api, version, message)
    bodies = {
        "whole": whole,
        "without a body": b"",
        "cut in half": whole[: len(whole) // 2],
        "cut by one byte": whole[:-1],
        "junk behind it": whole + b"junk",
        "all bits set": b"\xff" * 64,
    }
    name = f"damaged: {api.replace('_', ' ')} v{version}"
    return tuple(
        Case(f"{name}, {damage}", (Call(api, version, body),)) for damage, body in bodies.items()
    )


CASES = tuple(case for request in REQUESTS for case in _damaged(*request))
