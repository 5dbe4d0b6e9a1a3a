"""kcat, as Debian has it, by partition and offset."""

import json
import subprocess

import pytest

from ottla.testing import Broker
from tests.wire.librdkafka import create


def run(kcat: str, broker: Broker, *arguments: str, stdin: str = "") -> str:
    done = subprocess.run(
        [kcat, "-b", broker.bootstrap_servers, *arguments],
        input=stdin,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.parametrize("codec", ["none", "gzip", "snappy", "lz4", "zstd"])
def test_kcat_reads_what_kcat_wrote(kcat: str, broker: Broker, codec: str) -> None:
    topic = f"kcat-{codec}"
    create(broker, topic, partitions=3)
    lines = [f"key-{n}\tvalue {n}" for n in range(1000)]
    produce = ["-P", "-t", topic, "-p", "1", "-K", "\t", "-z", codec]
    run(kcat, broker, *produce, stdin="\n".join(lines))
    consume = ["-C", "-t", topic, "-p", "1", "-o", "beginning", "-e", "-q", "-K", "\t"]
    assert run(kcat, broker, *consume).splitlines() == lines
    empty = ["-C", "-t", topic, "-p", "0", "-o", "beginning", "-e", "-q"]
    assert run(kcat, broker, *empty) == ""


def test_kcat_reads_a_stretch_with_headers_and_times(kcat: str, broker: Broker) -> None:
    create(broker, "kcat-stretch")
    produce = ["-P", "-t", "kcat-stretch", "-p", "0", "-H", "from=kcat", "-X", "acks=all"]
    run(kcat, broker, *produce, stdin="\n".join(str(n) for n in range(100)))
    consume = ["-C", "-t", "kcat-stretch", "-p", "0", "-o", "40", "-c", "3", "-q", "-J"]
    told = [json.loads(line) for line in run(kcat, broker, *consume).splitlines()]
    assert [(row["offset"], row["payload"]) for row in told] == [(40, "40"), (41, "41"), (42, "42")]
    assert {str(row["headers"]) for row in told} == {"['from', 'kcat']"}
    assert all(row["ts"] > 0 for row in told)


def test_kcat_tells_of_the_cluster_and_finds_offsets(kcat: str, broker: Broker) -> None:
    create(broker, "kcat-told", partitions=2)
    run(kcat, broker, "-P", "-t", "kcat-told", "-p", "1", stdin="a\nb\nc")
    told = json.loads(run(kcat, broker, "-L", "-J", "-t", "kcat-told"))
    assert [row["name"] for row in told["brokers"]] == [broker.bootstrap_servers]
    assert [row["leader"] for row in told["topics"][0]["partitions"]] == [1, 1]
    assert "kcat-told [1] offset 3" in run(kcat, broker, "-Q", "-t", "kcat-told:1:-1")
    assert "kcat-told [1] offset 0" in run(kcat, broker, "-Q", "-t", "kcat-told:1:-2")
