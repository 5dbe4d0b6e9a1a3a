import json

from ottla.testing import Broker
from tests.unit.cli.programs import invoke, run_in_terminal


def topic(broker: Broker, *arguments: str) -> tuple[int, str, str]:
    done = invoke("--bootstrap", broker.bootstrap_servers, "topic", *arguments)
    return done.exit_code, done.stdout, done.stderr


def test_topics_are_listed_for_people_and_for_programs(broker: Broker) -> None:
    topic(broker, "create", "listed", "--partitions", "3", "--replication-factor", "1")
    code, out, err = topic(broker, "list")
    assert (code, err) == (0, "")
    assert out.splitlines()[0].split() == ["TOPIC", "PARTITIONS", "REPLICAS"]
    assert ["listed", "3", "1"] in [line.split() for line in out.splitlines()]
    every = {found["name"]: found for found in json.loads(topic(broker, "list", "--json")[1])}
    listed = every["listed"]
    assert len(listed.pop("topic_id")) == 22
    assert listed == {
        "name": "listed",
        "partition_count": 3,
        "replication_factor": 1,
        "internal": False,
    }


def test_a_terminal_shows_a_table_with_a_rule_under_its_head(broker: Broker) -> None:
    topic(broker, "create", "ruled")
    done = run_in_terminal(broker, "topic", "list")
    assert done.code == 0
    assert "───" in done.out
    assert "ruled" in done.out


def test_no_topics_are_an_empty_list_and_a_hint() -> None:
    with Broker() as broker:
        assert topic(broker, "list", "--json") == (0, "[]\n", "")
        hint = "no topics yet: `ottla topic create NAME` makes one\n"
        assert topic(broker, "list") == (0, "", hint)


def test_several_topics_are_created_with_settings_and_described(broker: Broker) -> None:
    settings = ["--config", "retention.ms=1000", "--config", "cleanup.policy=compact,delete"]
    code, out, _ = topic(
        broker, "create", "set-1", "set-2", "--partitions", "2", *settings, "--json"
    )
    assert code == 0
    created = json.loads(out)
    assert [(new["name"], new["partition_count"]) for new in created] == [
        ("set-1", 2),
        ("set-2", 2),
    ]
    described = json.loads(topic(broker, "describe", "set-2", "--json")[1])
    assert described["topic_id"] == created[1]["topic_id"]
    assert described["configs"] == {"retention.ms": "1000", "cleanup.policy": "compact,delete"}
    assert described["partitions"] == [
        {
            "partition": partition,
            "leader": 1,
            "leader_epoch": 0,
            "replicas": [1],
            "isr": [1],
            "offline_replicas": [],
        }
        for partition in (0, 1)
    ]
    lines = topic(broker, "describe", "set-2")[1].splitlines()
    assert lines[0].split() == ["topic", "set-2"]
    assert any(line.split()[-1:] == ["retention.ms=1000"] for line in lines)
    assert lines[-1].split() == ["1", "1", "0", "1", "1"]


def test_a_topic_that_is_there_already_is_refused_or_left_as_it_is(broker: Broker) -> None:
    topic(broker, "create", "twice")
    code, out, err = topic(broker, "create", "twice")
    assert (code, out) == (1, "")
    assert err == (
        "Error: there is a topic 'twice' already. See `ottla topic describe twice`; "
        "--if-not-exists lets it be.\n"
    )
    code, out, err = topic(broker, "create", "twice", "thrice", "--if-not-exists")
    assert (code, err) == (0, "there is a topic 'twice' already\n")
    assert out == "created topic thrice with 1 partition, replication factor 1\n"


def test_what_the_broker_refuses_is_told_in_its_words(broker: Broker) -> None:
    code, _, err = topic(broker, "create", "bad name")
    assert code == 1
    assert "'bad name' has a character other than ASCII letters" in err
    code, _, err = topic(broker, "create", "bad", "--config", "no.such.key=1")
    assert code == 1
    assert "unknown topic configuration: 'no.such.key' [INVALID_CONFIG]" in err


def test_the_nearest_topic_is_named_where_there_is_none_of_that_name(broker: Broker) -> None:
    topic(broker, "create", "invoices")
    for typed in (["describe", "invoice"], ["delete", "invoice"]):
        code, out, err = topic(broker, *typed)
        assert (code, out) == (1, "")
        assert err == "Error: there is no topic 'invoice'. Did you mean 'invoices'?\n"


def test_topics_are_deleted_until_one_is_missing(broker: Broker) -> None:
    topic(broker, "create", "old-1", "old-2")
    code, out, err = topic(broker, "delete", "old-1", "qqqq", "old-2")
    assert (code, out) == (1, "deleted topic old-1\n")
    assert err.startswith("Error: there is no topic 'qqqq'. `ottla topic list` shows")
    code, out, err = topic(broker, "delete", "old-1", "old-2", "--if-exists")
    assert (code, out, err) == (0, "deleted topic old-2\n", "there is no topic old-1\n")
