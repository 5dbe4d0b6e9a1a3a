"""`ottla produce`: lines in, records out."""

from __future__ import annotations

import os
import stat
from dataclasses import dataclass
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

import click

from ottla.cli.output import amount, print_json, size_text
from ottla.cli.parameters import bootstrap_option, json_option, on_separator, pairs_option

if TYPE_CHECKING:
    from ottla.cli.sending import Sender
    from ottla.client.settings import ProducerSettings
    from ottla.client.shell import Client

STDIN = 0
ACKS = {"0": 0, "1": 1, "all": -1}
CODECS = ("none", "gzip", "snappy", "lz4", "zstd")

acks_option = click.option(
    "--acks",
    type=click.Choice(list(ACKS)),
    default="all",
    show_default=True,
    help="Who has a record before it counts: nobody, its leader, or all in sync.",
)
compression_option = click.option(
    "--compression",
    type=click.Choice(CODECS),
    default="none",
    show_default=True,
    help="Of batches.",
)
# Larger than a program's default: many records come at once, and nobody waits for a single one.
BATCH_BYTES = 128 << 10
# Longer ones are refused by every broker that is not told otherwise.
LINE_BYTES_MAX = 1 << 20
INTERRUPTED = "interrupted"


@dataclass(slots=True)
class Plan:
    """What was asked for."""

    topic: str
    bootstrap: str
    fd: int
    key_separator: bytes | None
    partition: int | None
    headers: list[tuple[str, bytes | None]]


@click.command("produce")
@click.argument("topic")
@click.option(
    "--file",
    "source",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="Read the lines from here.  [default: standard input]",
)
@click.option(
    "--key-separator",
    metavar="TEXT",
    callback=on_separator,
    help="What stands before this in a line is the key; \\t is a tab.  [default: no keys]",
)
@click.option(
    "--partition",
    type=click.IntRange(0),
    metavar="N",
    help="All to this one.  [default: by the key, or wherever there is room]",
)
@acks_option
@compression_option
@pairs_option("--header", "headers", "A header of every record; repeatable.")
@bootstrap_option
@json_option("The counts as an object, for programs.")
def command(
    topic: str,
    source: Path | None,
    key_separator: bytes | None,
    partition: int | None,
    acks: str,
    compression: str,
    headers: list[tuple[str, str]],
    bootstrap: str,
    as_json: bool,
) -> None:
    """Send each line of standard input to TOPIC as a record."""
    from ottla.cli.session import run

    settings = producer_settings(acks, compression)
    with _open(source) as lines:
        plan = Plan(
            topic,
            bootstrap,
            lines.fileno(),
            key_separator,
            partition,
            [(name, content.encode()) for name, content in headers],
        )
        if os.isatty(plan.fd):
            click.echo("A record each line; Ctrl-D ends.", err=True)
        told = run(bootstrap, lambda client: _produce(client, plan), settings)
    if as_json:
        print_json(told)
    else:
        seconds, size = told["seconds"], size_text(told["bytes"])
        click.echo(f"{amount(told['records'], 'record')} ({size}) to {topic} in {seconds:.2f} s")


def producer_settings(acks: str, compression: str) -> ProducerSettings:
    from ottla.cli.session import DELIVERY_TIMEOUT_MS, TOPIC_TIMEOUT_MS
    from ottla.client.settings import ProducerSettings
    from ottla.records.compress import Codec

    return ProducerSettings(
        acks=ACKS[acks],
        codec=Codec[compression.upper()],
        batch_bytes=BATCH_BYTES,
        delivery_timeout_ms=DELIVERY_TIMEOUT_MS,
        topic_timeout_ms=TOPIC_TIMEOUT_MS,
    )


def _open(source: Path | None) -> IO[bytes]:
    try:
        if source is not None:
            return source.open("rb", buffering=0)
        # A copy of the descriptor: who closes the one must not close the other.
        return open(os.dup(STDIN), "rb", buffering=0)
    except OSError as error:
        named = source or "standard input"
        raise click.ClickException(f"cannot read {named}: {error.strerror}") from error


async def _produce(client: Client, plan: Plan) -> dict[str, Any]:
    from asyncio import CancelledError

    from ottla.cli.progress import Progress
    from ottla.cli.sending import Sender, Undelivered
    from ottla.cli.session import explain, no_topic
    from ottla.errors import ErrorCode

    was_there = await _check_topic(client, plan)
    found = os.fstat(plan.fd)
    total = found.st_size if stat.S_ISREG(found.st_mode) else None
    with Progress(plan.topic, total, is_shown=not os.isatty(plan.fd)) as progress:
        sender = Sender(client, plan.topic, progress)
        try:
            trouble = await _send_lines(sender, plan)
            await sender.settle()
        except Undelivered as error:
            if not was_there and error.cause.code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION:
                raise await no_topic(client, plan.topic) from error
            sender.count_arrived()
            trouble = f"line {error.number}: {explain(error.cause, plan.bootstrap)}"
        except CancelledError:
            sender.count_arrived()
            trouble = INTERRUPTED
        seconds = progress.seconds
    if sender.arrived and not was_there:
        click.echo(f"the broker created topic {plan.topic}", err=True)
    if trouble is not None:
        left = f"{sender.arrived:,} of {amount(sender.sent, 'record')} arrived in {plan.topic}."
        raise click.ClickException(f"{trouble}\n{left}")
    return {
        "topic": plan.topic,
        "records": sender.arrived,
        "bytes": sender.arrived_bytes,
        "seconds": round(seconds, 3),
        "partitions": [
            {"partition": partition, "records": records, "last_offset": last_offset}
            for partition, (records, last_offset) in sorted(sender.partitions.items())
        ],
    }


async def _check_topic(client: Client, plan: Plan) -> bool:
    """Whether it is there: if not, the broker may be set to create it."""
    from ottla.cli.session import check_partitions
    from ottla.client.errors import ClientError
    from ottla.errors import ErrorCode

    try:
        topic = await client.describe_topic(plan.topic)
    except ClientError as error:
        if error.code != ErrorCode.UNKNOWN_TOPIC_OR_PARTITION:
            raise
        return False
    check_partitions(topic, [] if plan.partition is None else [plan.partition])
    return True


async def _send_lines(sender: Sender, plan: Plan) -> str | None:
    """To the end of the input, or to what stopped us."""
    from asyncio import CancelledError

    from ottla.cli.lines import LineTooLong, read_lines

    try:
        async for lines in read_lines(plan.fd, LINE_BYTES_MAX):
            for line in lines:
                key, value = None, line
                if plan.key_separator is not None:
                    key, separator, value = line.partition(plan.key_separator)
                    if not separator:
                        shown = plan.key_separator.decode()
                        return f"line {sender.sent + 1} has no key separator {shown!r}"
                await sender.send(
                    value,
                    len(line) + 1,
                    key=key,
                    headers=plan.headers,
                    partition=plan.partition,
                )
    except LineTooLong as error:
        return f"line {sender.sent + 1}: {error}"
    except CancelledError:
        # Ctrl-C: what was read so far still goes out. Who typed it has just ended his input.
        return None if os.isatty(plan.fd) else INTERRUPTED
    return None
