"""A command's time with a cluster: connect, do the work, and say in plain words what failed.

It brings in asyncio and the protocol, so commands import it when they run, not before.
"""

import asyncio
import errno
import os
import re
from collections.abc import Awaitable, Callable, Sequence
from difflib import get_close_matches
from typing import TypeVar

import click

from ottla.client.cluster import Topic
from ottla.client.errors import ClientError
from ottla.client.settings import ClientSettings, ProducerSettings
from ottla.client.shell import Client
from ottla.errors import ErrorCode

Result = TypeVar("Result")

# Somebody sits before the screen: sooner than a program's client gives up.
SETTINGS = ClientSettings(
    client_id="ottla-cli",
    connect_timeout_ms=5_000,
    request_timeout_ms=15_000,
    call_timeout_ms=20_000,
)
# A broker that creates topics by itself does so in less; one that does not, never says so.
TOPIC_TIMEOUT_MS = 3_000
DELIVERY_TIMEOUT_MS = 30_000

# As the client says it for one address of a name, and as Python does for several.
NOBODY_THERE = (os.strerror(errno.ECONNREFUSED), f"[Errno {errno.ECONNREFUSED}]")

# As the client names a broker, before what it has to say of it.
ADDRESS = re.compile(r"(\S+:\d+)(?: \(node \d+\))?: ")

ADVICE: dict[ErrorCode, str] = {
    ErrorCode.MESSAGE_TOO_LARGE: "The topic's max.message.bytes says how large a batch may be",
    ErrorCode.OFFSET_OUT_OF_RANGE: "`--from earliest` begins with what is there",
    ErrorCode.CORRUPT_MESSAGE: "The broker's log and disk need a look before anything else",
}


def run(
    bootstrap: str,
    work: Callable[[Client], Awaitable[Result]],
    producer: ProducerSettings | None = None,
) -> Result:
    async def connected() -> Result:
        async with await Client.connect(bootstrap, settings=SETTINGS, producer=producer) as client:
            return await work(client)

    try:
        return asyncio.run(connected())
    except ClientError as error:
        raise click.ClickException(explain(error, bootstrap)) from error


def explain(error: ClientError, bootstrap: str) -> str:
    """What happened, why, and what to do."""
    why = error.why.rstrip(".")
    if error.code != ErrorCode.NETWORK_EXCEPTION:
        advice = ADVICE.get(error.code)
        return f"{why} [{error.code.name}]. {advice}." if advice else f"{why} [{error.code.name}]"
    named = ADDRESS.search(why)
    if named is None:
        return f"{why} [{error.code.name}]"
    address = named[1]
    if any(sign in why for sign in NOBODY_THERE):
        if address in bootstrap.split(","):
            return (
                f"nothing listens on {address}. Start a broker there with `ottla start`, or say "
                f"where one is with --bootstrap HOST:PORT."
            )
        return (
            f"nothing listens on {address}, where {bootstrap} sent us. That is the address which "
            f"the broker advertises: see `ottla start --advertise`."
        )
    return f"{why}. Is {address} a broker that can be reached from here?"


async def topic_named(client: Client, name: str) -> Topic:
    try:
        return await client.describe_topic(name)
    except ClientError as error:
        if error.code != ErrorCode.UNKNOWN_TOPIC_OR_PARTITION:
            raise
        raise await no_topic(client, name) from error


async def no_topic(client: Client, name: str) -> click.ClickException:
    known = [topic.name for topic in await client.list_topics()]
    near = get_close_matches(name, known, n=1)
    if near:
        hint = f"Did you mean {near[0]!r}?"
    else:
        hint = f"`ottla topic list` shows what is there, `ottla topic create {name}` makes it."
    return click.ClickException(f"there is no topic {name!r}. {hint}")


def check_partitions(topic: Topic, wanted: Sequence[int]) -> None:
    for partition in wanted:
        if partition not in topic.partitions:
            last = len(topic.partitions) - 1
            known = f"partitions 0 to {last}" if last else "partition 0 only"
            raise click.ClickException(f"topic {topic.name!r} has {known}, not {partition}")
