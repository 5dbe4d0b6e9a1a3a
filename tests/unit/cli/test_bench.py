import json

from ottla.testing import Broker
from tests.unit.cli.programs import invoke, run


def test_a_bench_says_how_fast_and_leaves_no_topic_behind(broker: Broker) -> None:
    before = run(broker, "topic", "list", "--json").out
    options = ["--records", "3000", "--size", "10", "--partitions", "2", "--compression", "lz4"]
    done = run(broker, "bench", *options, "--json")
    assert (done.code, done.err) == (0, "")
    produced, consumed = json.loads(done.out)
    assert produced.pop("seconds") > 0
    assert consumed.pop("seconds") > 0
    assert produced == {"task": "produce", "records": 3000, "bytes": 30_000}
    assert consumed == {"task": "consume", "records": 3000, "bytes": 30_000}
    assert run(broker, "topic", "list", "--json").out == before


def test_a_bench_is_a_table_for_people(broker: Broker) -> None:
    done = invoke("--bootstrap", broker.bootstrap_servers, "bench", "--records", "1")
    head, *rows = done.stdout.splitlines()
    assert head.split() == ["RECORDS", "SIZE", "SECONDS", "RECORDS/S", "BYTES/S"]
    assert [row.split()[0] for row in rows] == ["produce", "consume"]


def test_a_record_that_no_broker_takes_is_a_usage_error() -> None:
    assert invoke("bench", "--size", "2000000").exit_code == 2
