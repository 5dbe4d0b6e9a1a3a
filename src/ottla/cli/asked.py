"""What `ottla start` was told by its options and by Kafka's properties, made one.

An option beats --set, --set beats the file, and the file beats our defaults.
"""

import re
import socket
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import NamedTuple

import click

from ottla.cli.parameters import Address, address_text
from ottla.config import BrokerConfig, Value
from ottla.server.main import Options

LISTENER = re.compile(r"([^:/\s]+)://\[?([0-9A-Za-z\-%._:]*)\]?:([0-9]{1,5})")
CONTROLLER_LISTENER = "CONTROLLER"
EVERY_ADDRESS = "0.0.0.0"
WILDCARDS = dict.fromkeys((EVERY_ADDRESS, "::"))
BOTH_ROLES = ["broker", "controller"]

# What follows from the options: the broker describes these as they are in the end.
SAID_BY_OPTIONS = dict.fromkeys(
    (
        *("node.id", "broker.id", "log.dirs", "log.dir", "process.roles"),
        *("listeners", "advertised.listeners", "listener.security.protocol.map"),
        *("controller.listener.names", "controller.quorum.bootstrap.servers"),
    )
)


class Asked(NamedTuple):
    """The options; None where one was not given."""

    data: Path | None
    listen: Address | None
    advertise: Address | None
    controller: Address | None
    node_id: int | None


class _Listeners(NamedTuple):
    """An empty host is every address of this machine."""

    client: Address | None
    controller: Address | None


def resolve(asked: Asked, properties: Mapping[str, str]) -> tuple[Options, list[str]]:
    """Refused for a property that cannot be, and warnings about those that an option beats."""
    config, _ = BrokerConfig.load(properties)
    values = config.values
    roles = values["process.roles"]
    if roles is not None and sorted(_texts(roles)) != BOTH_ROLES:
        raise click.ClickException(
            f"process.roles={properties['process.roles']}: a node has both roles, broker and "
            f"controller, until clusters come. Leave the key out."
        )
    controllers = _texts(values["controller.listener.names"]) or [CONTROLLER_LISTENER]
    own = _listeners("listeners", properties, values, controllers)
    told = _listeners("advertised.listeners", properties, values, controllers)
    data = _data(properties, config)
    node_id = values["node.id"] if values["node.id"] is not None else values["broker.id"]
    said = Asked(
        data,
        own.client,
        told.client,
        told.controller or own.controller,
        node_id if isinstance(node_id, int) and node_id >= 0 else None,
    )
    warnings = [
        f"--{name.replace('_', '-')} {_shown(option)} wins over {_shown(other)} of the properties"
        for name, option, other in zip(Asked._fields, asked, said, strict=True)
        if option is not None and other is not None and option != other
    ]
    options = Options(data=asked.data or said.data or Path("data"))
    options.listen, options.advertise = _addresses(asked, said, options.listen)
    controller = asked.controller or said.controller or options.controller
    options.controller = (controller[0] or socket.getfqdn(), controller[1])
    if asked.node_id is not None:
        options.node_id = asked.node_id
    elif said.node_id is not None:
        options.node_id = said.node_id
    options.settings = {k: v for k, v in properties.items() if k not in SAID_BY_OPTIONS}
    return options, warnings


def _addresses(asked: Asked, said: Asked, default: Address) -> tuple[Address, Address | None]:
    """Where to listen, and what to tell clients if that is something else."""
    host, port = asked.listen or said.listen or default
    advertise = asked.advertise or said.advertise
    if advertise is None and not host:
        # As Kafka does it where its file names no host.
        advertise = socket.getfqdn(), port
    if (host if advertise is None else advertise[0]) in (*WILDCARDS, ""):
        raise click.UsageError(
            f"{host or EVERY_ADDRESS} is every address of this machine, and clients need one: say "
            f"which with --advertise HOST:PORT."
        )
    return (host or EVERY_ADDRESS, port), advertise


def _listeners(
    key: str, properties: Mapping[str, str], values: Mapping[str, Value], controllers: list[str]
) -> _Listeners:
    clients: list[Address] = []
    others: list[Address] = []
    for text in _texts(values[key]) if key in properties else []:
        match = LISTENER.fullmatch(text.strip())
        if match is None:
            raise click.ClickException(f"{key}: {text!r} is not NAME://HOST:PORT")
        address = match[2], int(match[3])
        is_controllers = match[1].upper() in (name.upper() for name in controllers)
        (others if is_controllers else clients).append(address)
    if len(clients) > 1:
        raise click.ClickException(
            f"{key}: {len(clients)} listeners for clients, and there can be one so far. "
            f"Keep one of them."
        )
    return _Listeners(clients[0] if clients else None, others[0] if others else None)


def _data(properties: Mapping[str, str], config: BrokerConfig) -> Path | None:
    if "log.dirs" not in properties and "log.dir" not in properties:
        return None
    directories = config.log_dirs()
    if len(directories) > 1:
        raise click.ClickException(
            f"log.dirs: {len(directories)} directories, and a node has one so far. Keep one of "
            f"them, or name it with --data."
        )
    return Path(directories[0])


def _texts(value: Value) -> list[str]:
    return [str(item) for item in value] if isinstance(value, Iterable) else []


def _shown(value: object) -> str:
    return address_text(value) if isinstance(value, tuple) else str(value)
