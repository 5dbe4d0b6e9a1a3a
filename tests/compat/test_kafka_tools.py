"""Kafka's Java clients, by the tools that come with them."""

import re

import pytest

from ottla.testing import Broker
from tests.wire.librdkafka import all_of, create
from tools.kafka import run_tool

pytestmark = pytest.mark.usefixtures("kafka_tools")


def run(broker: Broker, tool: str, *arguments: str, stdin: str | None = None) -> str:
    at = ["--bootstrap-server", broker.bootstrap_servers]
    done = run_tool(tool, *at, *arguments, stdin=stdin)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.mark.parametrize("codec", ["none", "gzip", "snappy", "lz4", "zstd"])
def test_the_console_consumer_reads_what_the_console_producer_wrote(
    broker: Broker, codec: str
) -> None:
    topic = f"console-{codec}"
    create(broker, topic)
    lines = [f"key-{n}:value {n}" for n in range(500)]
    keyed = ["--reader-property", "parse.key=true", "--reader-property", "key.separator=:"]
    produce = ["--topic", topic, "--compression-codec", codec, *keyed]
    run(broker, "ConsoleProducer", *produce, stdin="\n".join(lines))
    shown = ["--formatter-property", "print.key=true", "--formatter-property", "key.separator=:"]
    consume = ["--topic", topic, "--partition", "0", "--offset", "100", "--max-messages", "400"]
    read = run(broker, "ConsoleConsumer", *consume, "--timeout-ms", "30000", *shown)
    assert read.splitlines() == lines[100:]


@pytest.mark.parametrize("acks", ["0", "1", "all"])
def test_the_producer_perf_test_leaves_as_many_records_as_it_sent(
    broker: Broker, acks: str
) -> None:
    topic = f"perf-{acks}"
    create(broker, topic)
    sizes = ["--num-records", "20000", "--record-size", "100", "--throughput", "-1"]
    to = ["--producer-props", f"bootstrap.servers={broker.bootstrap_servers}", f"acks={acks}"]
    done = run_tool("ProducerPerformance", "--topic", topic, *sizes, *to)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "20000 records sent" in done.stdout
    found = all_of(broker, topic)
    assert [offset for offset, _ in found] == list(range(20000))
    assert {len(message.value() or b"") for _, message in found} == {100}


def test_the_offset_shell_finds_both_ends(broker: Broker) -> None:
    create(broker, "ends", partitions=2)
    run(broker, "ConsoleProducer", "--topic", "ends", stdin="a\nb\nc")
    told = {}
    for time in ("-1", "-2"):
        lines = run(broker, "GetOffsetShell", "--topic", "ends", "--time", time).splitlines()
        told[time] = [int(line.rpartition(":")[2]) for line in lines]
    assert (sum(told["-1"]), told["-2"]) == (3, [0, 0])


def test_the_topic_tool_makes_describes_and_deletes(broker: Broker) -> None:
    made = ["--create", "--topic", "by-tool", "--partitions", "3", "--replication-factor", "1"]
    run(broker, "TopicCommand", *made, "--config", "segment.bytes=1048576")
    described = run(broker, "TopicCommand", "--describe", "--topic", "by-tool")
    assert re.search(r"PartitionCount:\s*3.*segment\.bytes=1048576", described)
    assert len(re.findall(r"Leader:\s*1\s", described)) == 3
    run(broker, "TopicCommand", "--delete", "--topic", "by-tool")
    assert "by-tool" not in run(broker, "TopicCommand", "--list").split()
