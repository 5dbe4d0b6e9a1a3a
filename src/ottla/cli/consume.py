"""`ottla consume`: records out, as text or as JSON."""

from __future__ import annotations

import base64
import os
import re
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING

import click

from ottla.cli.output import amount, printable
from ottla.cli.parameters import bootstrap_option, json_option, on_separator

if TYPE_CHECKING:
    from ottla.client.positions import Start
    from ottla.client.shell import Client, ConsumedRecord

STDOUT = 1
OFFSET = re.compile(r"[0-9]{1,19}")
MILLISECONDS = re.compile(r"@([0-9]{1,19})")

Format = Callable[["ConsumedRecord"], bytes]


@dataclass(slots=True)
class Plan:
    """What was asked for."""

    topic: str
    partitions: tuple[int, ...]
    start: Start
    records_max: int | None
    is_endless: bool
    format: Format


def on_start(ctx: click.Context, param: click.Parameter, value: str) -> tuple[str, int]:
    """A word, or what the number means."""
    if value in ("earliest", "latest"):
        return value, 0
    if OFFSET.fullmatch(value):
        return "offset", int(value)
    if milliseconds := MILLISECONDS.fullmatch(value):
        return "timestamp", int(milliseconds[1])
    try:
        # Without a zone it is the time on the wall here.
        moment = datetime.fromisoformat(value)
    except ValueError:
        raise click.BadParameter(
            f"{value!r} is none of earliest, latest, an offset such as 42, a time such as "
            f"2026-01-31T12:00 or 2026-01-31T12:00Z, or milliseconds such as @1769860800000"
        ) from None
    return "timestamp", round(moment.timestamp() * 1000)


@click.command("consume")
@click.argument("topic")
@click.option(
    "--from",
    "start",
    metavar="WHERE",
    default="earliest",
    show_default=True,
    callback=on_start,
    help="earliest, latest, an offset, a time as 2026-01-31T12:00, or @ and milliseconds.",
)
@click.option(
    "--partition",
    "partitions",
    type=click.IntRange(0),
    metavar="N",
    multiple=True,
    help="This one only; repeatable.  [default: all]",
)
@click.option(
    "--max", "records_max", type=click.IntRange(1), metavar="N", help="End after so many records."
)
@click.option(
    "--follow/--until-end",
    "is_endless",
    default=True,
    show_default=True,
    help="Wait for more, or end at what is there now.",
)
@click.option(
    "--key-separator",
    metavar="TEXT",
    callback=on_separator,
    help="Print keys too, with this behind them; \\t is a tab.",
)
@bootstrap_option
@json_option('One object a line, for programs: what is no UTF-8 stands as {"base64": ...}.')
def command(
    topic: str,
    start: tuple[str, int],
    partitions: tuple[int, ...],
    records_max: int | None,
    is_endless: bool,
    key_separator: bytes | None,
    bootstrap: str,
    as_json: bool,
) -> None:
    """Print the value of each record of TOPIC on a line of its own.

    A record without a value prints as null. Several partitions come in no order between them.
    """
    from ottla.cli.session import run

    form = json_line if as_json else text_line(key_separator, is_terminal=os.isatty(STDOUT))
    plan = Plan(topic, partitions, _start(*start), records_max, is_endless, form)
    count = run(bootstrap, lambda client: _consume(client, plan))
    if os.isatty(STDOUT):
        click.echo(amount(count, "record"), err=True)


def _start(word: str, number: int) -> Start:
    from ottla.client.positions import AtTimestamp

    if word == "timestamp":
        return AtTimestamp(number)
    if word == "offset":
        return number
    return "latest" if word == "latest" else "earliest"


async def _consume(client: Client, plan: Plan) -> int:
    """How many were printed until the end, Ctrl-C, or the reader's leave."""
    import asyncio
    from contextlib import aclosing

    from ottla.cli.session import check_partitions, topic_named
    from ottla.cli.sink import Sink
    from ottla.client.settings import FetchSettings

    topic = await topic_named(client, plan.topic)
    check_partitions(topic, plan.partitions)
    is_offset = isinstance(plan.start, int)
    if is_offset and not plan.partitions and len(topic.partitions) > 1:
        raise click.UsageError("an offset is one partition's: say which with --partition")
    task = asyncio.current_task()
    assert task is not None
    sink = Sink(STDOUT, task.cancel)
    records = client.consume(
        plan.topic,
        plan.partitions or None,
        plan.start,
        None if plan.is_endless else "latest",
        # Who names an offset wants that one; else what retention took is no matter.
        settings=FetchSettings(reset="error" if is_offset else "earliest"),
    )
    count = 0
    try:
        async with aclosing(records):
            async for record in records:
                sink.write(plan.format(record))
                count += 1
                if count == plan.records_max:
                    break
    except asyncio.CancelledError:
        # What else went wrong is said on closing.
        if sink.trouble is None:
            if not plan.is_endless:
                raise
            # Ctrl-C is how it ends, and a terminal has shown that on this line.
            if os.isatty(STDOUT):
                click.echo(err=True)
    finally:
        sink.close()
    return count


def text_line(key_separator: bytes | None, *, is_terminal: bool) -> Format:
    def line(record: ConsumedRecord) -> bytes:
        text = b"null" if record.value is None else record.value
        if key_separator is not None:
            text = (b"null" if record.key is None else record.key) + key_separator + text
        if is_terminal:
            text = printable(text.decode(errors="backslashreplace")).encode()
        return text + b"\n"

    return line


def json_line(record: ConsumedRecord) -> bytes:
    import msgspec

    return (
        msgspec.json.encode(
            {
                "topic": record.topic,
                "partition": record.partition,
                "offset": record.offset,
                "timestamp": record.timestamp_ms,
                "key": _content(record.key),
                "value": _content(record.value),
                "headers": [
                    {"key": key, "value": _content(content)} for key, content in record.headers
                ],
            }
        )
        + b"\n"
    )


def _content(content: bytes | None) -> str | dict[str, str] | None:
    if content is None:
        return None
    try:
        return content.decode()
    except UnicodeDecodeError:
        return {"base64": base64.b64encode(content).decode()}
