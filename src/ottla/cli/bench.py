"""`ottla bench`: how fast is this broker, from here, with our own client."""

from __future__ import annotations

import random
import string
from dataclasses import dataclass
from typing import TYPE_CHECKING

import click

from ottla.cli.output import Column, print_json, print_table, size_text
from ottla.cli.parameters import bootstrap_option, json_option
from ottla.cli.produce import acks_option, compression_option, producer_settings

if TYPE_CHECKING:
    from ottla.client.shell import Client

COLUMNS = (
    Column(""),
    Column("RECORDS", True),
    Column("SIZE", True),
    Column("SECONDS", True),
    Column("RECORDS/S", True),
    Column("BYTES/S", True),
)
# Values repeat, but not within a batch, where a compressor would see it.
DIFFERENT_VALUES = 5000
VALUES_BYTES = 4 << 20
# Between two looks at the clock and at the network.
TURN_RECORDS = 500
RECORD_BYTES_MAX = 900_000
LETTERS = string.ascii_letters.encode()


@dataclass(slots=True)
class Plan:
    """What was asked for."""

    topic: str
    records: int
    record_bytes: int
    partitions: int


@dataclass(slots=True)
class Result:
    task: str
    records: int
    size_bytes: int
    seconds: float


@click.command("bench")
@click.option(
    "--records",
    type=click.IntRange(1),
    metavar="N",
    default=200_000,
    show_default=True,
    help="How many are produced, and then consumed.",
)
@click.option(
    "--size",
    "record_bytes",
    type=click.IntRange(1, RECORD_BYTES_MAX),
    metavar="N",
    default=100,
    show_default=True,
    help="Bytes of a record's value.",
)
@click.option(
    "--partitions",
    type=click.IntRange(1),
    metavar="N",
    default=1,
    show_default=True,
    help="Of the topic.",
)
@acks_option
@compression_option
@bootstrap_option
@json_option("An array of objects, for programs.")
def command(
    records: int,
    record_bytes: int,
    partitions: int,
    acks: str,
    compression: str,
    bootstrap: str,
    as_json: bool,
) -> None:
    """Produce so many records to a topic of its own, consume them, and delete it.

    One client in Python is the limit here, not the broker: this tells whether a set-up is in
    order. To compare brokers, run `make bench` in Ottla's repository.
    """
    from ottla.cli.session import run

    topic = f"ottla-bench-{random.randrange(16**8):08x}"
    plan = Plan(topic, records, record_bytes, partitions)
    results = run(
        bootstrap, lambda client: _bench(client, plan), producer_settings(acks, compression)
    )
    if as_json:
        print_json(
            [
                {
                    "task": result.task,
                    "records": result.records,
                    "bytes": result.size_bytes,
                    "seconds": round(result.seconds, 6),
                }
                for result in results
            ]
        )
    else:
        print_table(COLUMNS, [_row(result) for result in results])


def _row(result: Result) -> tuple[object, ...]:
    return (
        result.task,
        f"{result.records:,}",
        size_text(result.size_bytes),
        f"{result.seconds:.2f}",
        f"{result.records / result.seconds:,.0f}",
        size_text(result.size_bytes / result.seconds),
    )


async def _bench(client: Client, plan: Plan) -> list[Result]:
    await client.create_topic(plan.topic, plan.partitions)
    try:
        return [await _produce(client, plan), await _consume(client, plan)]
    finally:
        await client.delete_topic(plan.topic)


async def _produce(client: Client, plan: Plan) -> Result:
    import asyncio

    from ottla.cli.progress import Progress
    from ottla.cli.sending import Sender, Undelivered

    size = plan.record_bytes
    values = [
        bytes(random.choices(LETTERS, k=size))
        for _ in range(min(plan.records, DIFFERENT_VALUES, VALUES_BYTES // size + 1))
    ]
    with Progress("produce", plan.records * size) as progress:
        sender = Sender(client, plan.topic, progress)
        try:
            for number in range(plan.records):
                await sender.send(values[number % len(values)], size)
                if number % TURN_RECORDS == 0:
                    await asyncio.sleep(0)
            await sender.settle()
        except Undelivered as error:
            raise error.cause from error
        return Result("produce", sender.arrived, sender.arrived_bytes, progress.seconds)


async def _consume(client: Client, plan: Plan) -> Result:
    from contextlib import aclosing

    from ottla.cli.progress import Progress

    count = size_bytes = 0
    with Progress("consume", plan.records) as progress:
        async with aclosing(client.consume(plan.topic, end="latest")) as records:
            async for record in records:
                count += 1
                size_bytes += len(record.value or b"")
                if count % TURN_RECORDS == 0:
                    progress.update(count, count, size_bytes)
        seconds = progress.seconds
    if count != plan.records:
        raise click.ClickException(
            f"{plan.records:,} records were produced to {plan.topic}, and {count:,} came back"
        )
    return Result("consume", count, size_bytes, seconds)
