"""A data directory moves between Apache Kafka 4.3 and Ottla, and back."""

import json
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from confluent_kafka.admin import AdminClient

from ottla.testing import Broker
from tests.wire.librdkafka import Served, all_of, as_sample, create, delete, produce
from tests.wire.samples import CODECS, Sample, samples
from tools.kafka import KafkaBroker, kafka_broker, run_tool

pytestmark = pytest.mark.usefixtures("kafka_tools")

GIVEN = samples(300)
SNAPSHOT_EACH_TIME = {"metadata_log_max_record_bytes_between_snapshots": "1"}
TOPICS = [f"t-{codec}" for codec in CODECS]


class Theirs:
    """Kafka under the names by which those helpers know a broker."""

    def __init__(self, broker: KafkaBroker) -> None:
        self.bootstrap_servers = broker.bootstrap


@contextmanager
def kafka(data: Path, port: int) -> Iterator[Theirs]:
    """Opens what is there: nothing is formatted."""
    with kafka_broker(data_dir=data, format=False, port=port) as broker:
        yield Theirs(broker)


def make(broker: Served, topic: str) -> None:
    """The samples' times are their own: nobody may delete by age what is compared here."""
    create(broker, topic, retention_ms="-1", segment_bytes="1048576")


def fill(broker: Served) -> None:
    for codec in CODECS:
        settings = {"compression_type": codec, "batch_num_messages": 50}
        produce(broker, f"t-{codec}", GIVEN, enable_idempotence=True, **settings)


def records(broker: Served, topic: str) -> list[Sample]:
    found = all_of(broker, topic)
    assert [offset for offset, _ in found] == list(range(len(found)))
    return [as_sample(message) for _, message in found]


def check(broker: Served, times: int) -> None:
    for topic in TOPICS:
        assert records(broker, topic) == GIVEN * times


def test_kafka_opens_our_directory_and_we_open_it_again(tmp_path: Path) -> None:
    with Broker(data=tmp_path) as broker:
        for topic in TOPICS:
            make(broker, topic)
        fill(broker)
        port = broker.port
    with kafka(tmp_path, port) as theirs:
        check(theirs, 1)
        fill(theirs)
        make(theirs, "made-by-kafka")
        produce(theirs, "made-by-kafka", GIVEN)
    with Broker(data=tmp_path) as broker:
        assert "recover" not in broker.log
        check(broker, 2)
        assert records(broker, "made-by-kafka") == GIVEN
        fill(broker)
        delete(broker, "made-by-kafka")
        port = broker.port
    with kafka(tmp_path, port) as theirs:
        check(theirs, 3)
        fill(theirs)
        check(theirs, 4)


def test_we_open_a_directory_of_kafkas_and_leave_its_features_alone(tmp_path: Path) -> None:
    with kafka_broker(data_dir=tmp_path) as broker:
        theirs = Theirs(broker)
        for topic in TOPICS:
            make(theirs, topic)
        fill(theirs)
        finalized = features(theirs)
    assert len(finalized) > 3
    with Broker(data=tmp_path) as ours:
        check(ours, 1)
        fill(ours)
        make(ours, "made-by-us")
        produce(ours, "made-by-us", GIVEN)
        port = ours.port
    with kafka(tmp_path, port) as theirs:
        check(theirs, 2)
        assert records(theirs, "made-by-us") == GIVEN
        assert features(theirs) == finalized


def test_our_snapshots_of_the_metadata_hold_what_only_kafka_has_a_use_for(tmp_path: Path) -> None:
    """The log before a snapshot is not read again, neither by Kafka nor by us."""
    quota = ("--entity-type", "clients", "--entity-name", "c", "--describe")
    with kafka_broker(data_dir=tmp_path) as broker:
        theirs = Theirs(broker)
        make(theirs, "gone")
        make(theirs, "kept")
        added = configs(theirs, *quota[:4], "--alter", "--add-config", "producer_byte_rate=1024")
        assert "Completed" in added
        finalized = features(theirs)
        told = configs(theirs, *quota)
    assert "producer_byte_rate=1024" in told
    with Broker(data=tmp_path, **SNAPSHOT_EACH_TIME) as ours:
        make(ours, "made-by-us")
        delete(ours, "gone")
        produce(ours, "made-by-us", GIVEN)
        ours.kill()
        ours.restart()
        produce(ours, "kept", GIVEN)
        make(ours, "last")
        port = ours.port
    names = sorted(path.name for path in (tmp_path / "__cluster_metadata-0").glob("*.checkpoint"))
    assert len(names) == 2
    assert int(names[0][:20]) > 0
    with kafka(tmp_path, port) as theirs:
        assert records(theirs, "made-by-us") == records(theirs, "kept") == GIVEN
        assert "gone" not in topics(theirs)
        assert features(theirs) == finalized
        assert configs(theirs, *quota) == told
        make(theirs, "made-by-kafka")
    with Broker(data=tmp_path) as ours:
        assert topics(ours) == ["kept", "last", "made-by-kafka", "made-by-us"]


def test_kafka_opens_a_directory_that_was_killed_and_stopped(tmp_path: Path) -> None:
    with Broker(data=tmp_path) as broker:
        for topic in TOPICS:
            make(broker, topic)
        fill(broker)
        broker.kill()
        broker.restart()
        port = broker.port
    with kafka(tmp_path, port) as theirs:
        check(theirs, 1)


def configs(broker: Theirs, *command: str) -> str:
    done = run_tool("ConfigCommand", "--bootstrap-server", broker.bootstrap_servers, *command)
    assert done.returncode == 0, done.stderr
    return done.stdout


def topics(broker: Served) -> list[str]:
    found = AdminClient({"bootstrap.servers": broker.bootstrap_servers}).list_topics(timeout=30)
    return sorted(name for name in found.topics if not name.startswith("__"))


def features(broker: Theirs) -> dict[str, str]:
    """Which features are finalized, at which level."""
    done = run_tool("FeatureCommand", "--bootstrap-server", broker.bootstrap_servers, "describe")
    assert done.returncode == 0, done.stderr
    found = re.findall(r"Feature: (\S+)\s.*FinalizedVersionLevel: (\S+)\s", done.stdout)
    return dict(found)


def test_the_quorum_state_is_kafkas(tmp_path: Path) -> None:
    with Broker(data=tmp_path):
        pass
    ours = json.loads((tmp_path / "__cluster_metadata-0" / "quorum-state").read_text())
    with kafka_broker(data_dir=tmp_path / "kafka"):
        pass
    path = tmp_path / "kafka" / "__cluster_metadata-0" / "quorum-state"
    theirs = json.loads(path.read_text())
    assert sorted(ours) == sorted(theirs)
    assert ours["leaderId"] == theirs["leaderId"] == 1
