"""`ottla start`: from options to a broker that serves."""

import asyncio
import contextlib
import errno
import gc
import logging
import signal
import socket
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import uvloop

from ottla.api.table import route_of
from ottla.broker.boot import Addresses, WrongDirectory, boot
from ottla.broker.node import Node
from ottla.broker.stop import stop_cleanly
from ottla.config import BrokerConfig
from ottla.errors import DiskError
from ottla.metadata.image import Endpoint
from ottla.names import NodeId, Now
from ottla.raft.directory import WrongQuorum
from ottla.server import platform
from ottla.server.control import Control
from ottla.server.disk import OsDisk
from ottla.server.entropy import SystemEntropy
from ottla.server.runner import Shell, clock

log = logging.getLogger("ottla")

PLAINTEXT = 0
YOUNG_COLLECTION_SECONDS = 1.0
STOP_SECONDS_MAX = 60.0


class CannotStart(Exception):
    """What is wrong, and what to do about it."""


@dataclass(slots=True)
class Options:
    data: Path
    listen: tuple[str, int] = ("127.0.0.1", 9092)
    advertise: tuple[str, int] | None = None
    controller: tuple[str, int] = ("127.0.0.1", 9093)
    node_id: int = 1
    settings: Mapping[str, str] = field(default_factory=dict)


def static_config(options: Options, listen: tuple[str, int]) -> dict[str, str]:
    """The options as Kafka's keys, so that DescribeConfigs shows what holds."""
    advertise = options.advertise or listen
    settings = {
        "process.roles": "broker,controller",
        "node.id": str(options.node_id),
        "listeners": f"PLAINTEXT://{_address(listen)},CONTROLLER://{_address(options.controller)}",
        "advertised.listeners": f"PLAINTEXT://{_address(advertise)}",
        "controller.listener.names": "CONTROLLER",
        "listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT",
        "controller.quorum.bootstrap.servers": _address(options.controller),
        "log.dirs": str(options.data),
    }
    return settings | dict(options.settings)


def _address(address: tuple[str, int]) -> str:
    host, port = address
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


def serve(options: Options, on_ready: Callable[[str], None], control_fd: int | None = None) -> int:
    """Run until SIGTERM or SIGINT, or until the control pipe closes.

    The exit code: 0 after a clean stop.
    """
    platform.check()
    platform.raise_descriptor_limit()
    listener = _bind(options.listen)
    listen: tuple[str, int] = listener.getsockname()[:2]
    config, warnings = BrokerConfig.load(static_config(options, listen))
    for warning in warnings:
        log.warning(warning)
    disk = _open_disk(options.data)
    advertise = options.advertise or listen
    addresses = Addresses(
        NodeId(options.node_id),
        (Endpoint("PLAINTEXT", *advertise, PLAINTEXT),),
        (Endpoint("CONTROLLER", *options.controller, PLAINTEXT),),
        config.string("broker.rack") if config.is_set("broker.rack") else None,
    )
    try:
        booted = boot(disk, config, addresses, SystemEntropy(), clock())
    except (WrongDirectory, WrongQuorum, DiskError) as error:
        raise CannotStart(f"{options.data}: {error}") from error
    for repair in booted.repairs:
        log.warning(repair)
    node = Node(booted.state, route_of, clock())
    platform.tame_garbage_collector()

    def say_ready(control: Control | None) -> None:
        on_ready(_address(advertise))
        if control is not None:
            control.say_ready(_address(advertise))

    return uvloop.run(_run(node, disk, listener, say_ready, control_fd))


def _bind(listen: tuple[str, int]) -> socket.socket:
    family = socket.AF_INET6 if ":" in listen[0] else socket.AF_INET
    sock = socket.socket(family, socket.SOCK_STREAM)
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        sock.bind(listen)
    except OSError as error:
        sock.close()
        other = " Is another broker running?" if error.errno == errno.EADDRINUSE else ""
        raise CannotStart(
            f"cannot listen on {_address(listen)}: {error.strerror}.{other} "
            f"Choose another address with --listen HOST:PORT."
        ) from error
    return sock


def _open_disk(data: Path) -> OsDisk:
    try:
        disk = OsDisk(data)
        disk.lock()
    except DiskError as error:
        raise CannotStart(
            f"cannot use the directory {data}: {error.why}. If another broker has it open, stop "
            f"that one or choose another directory with --data DIR."
        ) from error
    return disk


async def _run(
    node: Node,
    disk: OsDisk,
    listener: socket.socket,
    say_ready: Callable[[Control | None], None],
    control_fd: int | None,
) -> int:
    loop = asyncio.get_running_loop()
    shell = Shell(node, disk, loop)
    stopping = asyncio.Event()
    control = None if control_fd is None else Control(control_fd, shell, stopping.set)
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stopping.set)

    def serving(now: Now) -> None:
        shell.listen(listener)
        say_ready(control)

    def collect_young() -> None:
        gc.collect(0)
        loop.call_later(YOUNG_COLLECTION_SECONDS, collect_young)

    loop.call_later(YOUNG_COLLECTION_SECONDS, collect_young)
    now = clock()
    node.start(now, serving)
    shell.end_turn(now)
    await stopping.wait()
    return await _stop(node, shell)


async def _stop(node: Node, shell: Shell) -> int:
    """Answer what is under way, make everything durable, and say so in the directory."""
    log.info("stopping")
    shell.drain()
    with contextlib.suppress(TimeoutError):
        await asyncio.wait_for(shell.wait_quiet(), STOP_SECONDS_MAX)
    shell.close_all()
    shell.workers.stop()
    if not stop_cleanly(node):
        log.error("stopped without a clean mark; the next start recovers")
        return 1
    log.info("stopped cleanly")
    return 0


def configure_logging() -> None:
    logging.basicConfig(
        stream=sys.stderr,
        level=logging.INFO,
        format="%(asctime)s %(levelname)s %(message)s",
    )
