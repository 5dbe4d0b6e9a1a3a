import socket
from pathlib import Path

import click
import pytest

from ottla.cli.asked import Asked, resolve
from ottla.cli.parameters import Address
from ottla.errors import Refused

NOTHING = Asked(None, None, None, None, None)
SERVER_PROPERTIES = {
    "process.roles": "broker,controller",
    "node.id": "3",
    "controller.quorum.bootstrap.servers": "localhost:19093",
    "listeners": "INTERNAL://:19092,QUORUM://:19093",
    "advertised.listeners": "INTERNAL://localhost:19092,QUORUM://localhost:19093",
    "controller.listener.names": "QUORUM",
    "listener.security.protocol.map": "QUORUM:PLAINTEXT,INTERNAL:PLAINTEXT,SSL:SSL",
    "log.dirs": "logs",
    "num.partitions": "4",
    "unknown.to.us": "1",
}


def test_without_a_word_the_defaults_hold() -> None:
    options, warnings = resolve(NOTHING, {})
    assert options.data == Path("data")
    assert options.listen == ("127.0.0.1", 9092)
    assert options.advertise is None
    assert options.controller == ("127.0.0.1", 9093)
    assert options.node_id == 1
    assert options.settings == {}
    assert warnings == []


def test_kafkas_properties_say_what_no_option_says() -> None:
    options, warnings = resolve(NOTHING, SERVER_PROPERTIES)
    assert options.data == Path("logs")
    assert options.listen == ("0.0.0.0", 19092)
    assert options.advertise == ("localhost", 19092)
    assert options.controller == ("localhost", 19093)
    assert options.node_id == 3
    assert options.settings == {"num.partitions": "4", "unknown.to.us": "1"}
    assert warnings == []


def test_an_option_beats_a_property_and_says_so() -> None:
    asked = Asked(Path("data"), ("::1", 1), ("other", 2), ("quorum", 3), 0)
    options, warnings = resolve(asked, SERVER_PROPERTIES)
    assert options.data == Path("data")
    assert options.listen == ("::1", 1)
    assert options.advertise == ("other", 2)
    assert options.controller == ("quorum", 3)
    assert options.node_id == 0
    assert warnings == [
        "--data data wins over logs of the properties",
        "--listen [::1]:1 wins over :19092 of the properties",
        "--advertise other:2 wins over localhost:19092 of the properties",
        "--controller quorum:3 wins over localhost:19093 of the properties",
        "--node-id 0 wins over 3 of the properties",
    ]


def test_an_option_that_says_the_same_is_no_news() -> None:
    asked = NOTHING._replace(data=Path("logs"), node_id=3)
    assert resolve(asked, SERVER_PROPERTIES)[1] == []


def test_broker_id_and_log_dir_are_the_older_names() -> None:
    options, _ = resolve(NOTHING, {"broker.id": "5", "log.dir": "older"})
    assert (options.node_id, options.data) == (5, Path("older"))


def test_a_listener_without_a_host_is_advertised_under_this_machines_name() -> None:
    properties = {"listeners": "PLAINTEXT://:1,C://:2", "controller.listener.names": "C"}
    options, _ = resolve(NOTHING, properties)
    assert options.listen == ("0.0.0.0", 1)
    assert options.advertise == (socket.getfqdn(), 1)
    assert options.controller == (socket.getfqdn(), 2)


@pytest.mark.parametrize("host", ["0.0.0.0", "::"])
def test_every_address_is_none_that_a_client_can_use(host: str) -> None:
    every: Address = (host, 9092)
    with pytest.raises(click.UsageError, match="say which with --advertise"):
        resolve(NOTHING._replace(listen=every), {})
    with pytest.raises(click.UsageError, match="say which with --advertise"):
        resolve(NOTHING._replace(advertise=every), {})
    options, _ = resolve(NOTHING._replace(listen=every, advertise=("name", 1)), {})
    assert (options.listen, options.advertise) == (every, ("name", 1))


@pytest.mark.parametrize(
    ("properties", "why"),
    [
        ({"process.roles": "broker"}, "a node has both roles"),
        ({"log.dirs": "a,b"}, "a node has one so far"),
        ({"listeners": "PLAINTEXT:9092"}, "listeners"),
        ({"listeners": "PLAINTEXT://h:x"}, "is not NAME://HOST:PORT"),
        ({"listeners": "PLAINTEXT://:1,SSL://:2"}, "SSL is to speak SSL"),
        (
            {
                "listeners": "A://:1,B://:2",
                "listener.security.protocol.map": "A:PLAINTEXT,B:PLAINTEXT",
            },
            "2 listeners for clients",
        ),
        ({"node.id": "x"}, "must be a whole number"),
        ({"node.id": "1", "broker.id": "2"}, "must be the same number"),
    ],
)
def test_what_cannot_be_is_refused_by_name(properties: dict[str, str], why: str) -> None:
    with pytest.raises((click.ClickException, Refused), match=why):
        resolve(NOTHING, properties)
