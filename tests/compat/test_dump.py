"""Kafka's DumpLogSegments over every kind of file that we write."""

import re
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from ottla.testing import Broker
from tests.wire.librdkafka import create, produce
from tests.wire.samples import CODECS, Sample, samples
from tools.kafka import run_tool

RECORDS = 3000
INDEXES = (".index", ".timeindex")


def wide_samples() -> list[Sample]:
    return [
        sample._replace(value=None if sample.value is None else sample.value * 20)
        for sample in samples(RECORDS)
    ]


@pytest.fixture(scope="module", params=["stopped", "killed and started again"])
def directory(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory, kafka_tools: None
) -> Iterator[Path]:
    """Rolled segments of every codec, idempotent and not, as that ending left them."""
    data = tmp_path_factory.mktemp("dumped")
    with Broker(data=data) as broker:
        for codec in CODECS:
            topic = f"t-{codec}"
            create(broker, topic, segment_bytes="1048576", index_interval_bytes="500")
            small = {"compression_type": codec, "batch_num_messages": 20}
            produce(broker, topic, wide_samples(), enable_idempotence=True, **small)
            produce(broker, topic, wide_samples(), acks="1", **small)
        create(broker, "empty")
        if request.param != "stopped":
            broker.kill()
            broker.restart()
    yield data
    shutil.rmtree(data)


def dump(files: list[Path], *flags: str) -> str:
    assert files
    done = run_tool("DumpLogSegments", "--files", ",".join(map(str, files)), *flags)
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr
    # It compares a segment's first offset with -1, whatever the segment's name says.
    complaints = re.sub(
        r"Non-consecutive offsets in \S+/0*(\d+)\.log\n  -1 is followed by \1\n", "", done.stderr
    )
    assert complaints == ""
    return done.stdout


def of_topics(directory: Path, *suffixes: str) -> list[Path]:
    return sorted(p for p in directory.glob("[te]*-0/*") if p.suffix in suffixes)


def test_every_record_of_every_segment_is_listed(directory: Path) -> None:
    logs = of_topics(directory, ".log")
    assert len(logs) > len(CODECS) + 2
    listed = dump(logs, "--deep-iteration")
    assert len(re.findall(r"^\| offset: ", listed, re.M)) == 2 * RECORDS * len(CODECS)
    for codec in CODECS:
        assert f"compresscodec: {codec} " in listed
    assert "isvalid: false" not in listed


def test_every_index_is_sane_and_fits_its_log(directory: Path) -> None:
    indexes = of_topics(directory, *INDEXES)
    sane = dump(indexes, "--index-sanity-check")
    assert len(re.findall(r"passed sanity check\.$|is empty\.$", sane, re.M)) == len(indexes)
    # Without that flag each entry is compared with the log; what does not fit is a complaint.
    entries = dump(indexes)
    assert len(re.findall(r"^offset: \d+ position: \d+$", entries, re.M)) > 100
    assert len(re.findall(r"^timestamp: \d+ offset: \d+$", entries, re.M)) > 100


def test_producer_snapshots_name_the_producer_and_its_last_batch(directory: Path) -> None:
    snapshots = of_topics(directory, ".snapshot")
    listed = dump(snapshots)
    assert len(snapshots) > len(CODECS)
    ends = re.findall(r"^producerId: \d+ producerEpoch: 0 .*lastSequence: (\d+) ", listed, re.M)
    assert ends.count(str(RECORDS - 1)) >= len(CODECS)


def test_the_metadata_log_and_its_snapshots_decode(directory: Path) -> None:
    metadata = directory / "__cluster_metadata-0"
    logs = sorted(metadata.glob("*.log"))
    checkpoints = [*sorted(metadata.glob("*.checkpoint")), directory / "bootstrap.checkpoint"]
    listed = dump([*logs, *checkpoints], "--cluster-metadata-decoder")
    for word in (
        "LeaderChange",
        "KRaftVersion",
        "KRaftVoters",
        "BEGIN_TRANSACTION_RECORD",
        "FEATURE_LEVEL_RECORD",
        "REGISTER_CONTROLLER_RECORD",
        "REGISTER_BROKER_RECORD",
        "BROKER_REGISTRATION_CHANGE_RECORD",
        "TOPIC_RECORD",
        "CONFIG_RECORD",
        "PARTITION_RECORD",
        "PRODUCER_IDS_RECORD",
    ):
        assert word in listed
    assert "Error" not in listed
    assert listed.count('"type":"TOPIC_RECORD"') == len(CODECS) + 1


def test_a_snapshot_of_the_metadata_decodes(tmp_path: Path, kafka_tools: None) -> None:
    with Broker(data=tmp_path, metadata_log_max_record_bytes_between_snapshots=1) as broker:
        for name in ("a", "b", "c"):
            create(broker, name, retention_ms="1000")
    metadata = tmp_path / "__cluster_metadata-0"
    newest = max(metadata.glob("*.checkpoint"))
    listed = dump([newest], "--cluster-metadata-decoder")
    for word in (
        "SnapshotHeader",
        "KRaftVersion",
        "KRaftVoters",
        "FEATURE_LEVEL_RECORD",
        "REGISTER_CONTROLLER_RECORD",
        "REGISTER_BROKER_RECORD",
        "TOPIC_RECORD",
        "PARTITION_RECORD",
        "CONFIG_RECORD",
        "SnapshotFooter",
    ):
        assert word in listed
    assert "Error" not in listed
    assert "isvalid: false" not in listed
