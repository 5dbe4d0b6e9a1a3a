"""`ottla topic`: what topics there are, and which there shall be."""

from __future__ import annotations

import base64
from typing import TYPE_CHECKING, Any

import click

from ottla.cli.groups import NearestGroup
from ottla.cli.output import Column, amount, print_json, print_table, printable
from ottla.cli.parameters import bootstrap_option, json_option, pairs_option

if TYPE_CHECKING:
    from ottla.client.admin import ConfigEntry, CreatedTopic
    from ottla.client.cluster import Partition, Topic
    from ottla.client.shell import Client

LISTED = (Column("TOPIC"), Column("PARTITIONS", True), Column("REPLICAS", True), Column(""))
DESCRIBED = (
    Column("PARTITION", True),
    Column("LEADER", True),
    Column("EPOCH", True),
    Column("REPLICAS"),
    Column("ISR"),
    Column("OFFLINE"),
)


@click.group("topic", cls=NearestGroup)
def command() -> None:
    """List, create, describe and delete topics."""


@command.command("list")
@bootstrap_option
@json_option("An array of objects, for programs.")
def list_topics(bootstrap: str, as_json: bool) -> None:
    """Print the topics that are there."""
    from ottla.cli.session import run

    topics = run(bootstrap, lambda client: client.list_topics())
    if as_json:
        print_json([_summary(topic) for topic in topics])
    elif topics:
        rows = [
            (topic.name, len(topic.partitions), _replication_factor(topic), _kind(topic))
            for topic in topics
        ]
        print_table(LISTED, rows)
    else:
        click.echo("no topics yet: `ottla topic create NAME` makes one", err=True)


@command.command("create")
@click.argument("names", metavar="NAME...", nargs=-1, required=True)
@click.option(
    "--partitions",
    type=click.IntRange(1),
    metavar="N",
    help="How many.  [default: as the broker is set]",
)
@click.option(
    "--replication-factor",
    type=click.IntRange(1, 32767),
    metavar="N",
    help="Copies of each record.  [default: as the broker is set]",
)
@pairs_option("--config", "configs", "A topic setting, as retention.ms=1000; repeatable.")
@click.option("--if-not-exists", is_flag=True, help="Leave a topic that is there as it is.")
@bootstrap_option
@json_option("An array of objects, for programs.")
def create(
    names: tuple[str, ...],
    partitions: int | None,
    replication_factor: int | None,
    configs: list[tuple[str, str]],
    if_not_exists: bool,
    bootstrap: str,
    as_json: bool,
) -> None:
    """Create topics."""
    from ottla.cli.session import run
    from ottla.client.admin import BROKERS_CHOICE
    from ottla.client.errors import ClientError
    from ottla.errors import ErrorCode

    async def work(client: Client) -> list[CreatedTopic]:
        created = []
        for name in names:
            try:
                new = await client.create_topic(
                    name,
                    partitions or BROKERS_CHOICE,
                    replication_factor or BROKERS_CHOICE,
                    dict(configs),
                )
            except ClientError as error:
                if error.code != ErrorCode.TOPIC_ALREADY_EXISTS:
                    raise
                why = f"there is a topic {name!r} already"
                if not if_not_exists:
                    hint = f"See `ottla topic describe {name}`; --if-not-exists lets it be."
                    raise click.ClickException(f"{why}. {hint}") from error
                click.echo(why, err=True)
                continue
            created.append(new)
            if not as_json:
                click.echo(
                    f"created topic {new.name} with {amount(new.partitions, 'partition')}, "
                    f"replication factor {new.replication_factor}"
                )
        return created

    created = run(bootstrap, work)
    if as_json:
        print_json(
            [
                {
                    "name": new.name,
                    "topic_id": _id_text(new.topic_id),
                    "partition_count": new.partitions,
                    "replication_factor": new.replication_factor,
                }
                for new in created
            ]
        )


@command.command("describe")
@click.argument("name")
@bootstrap_option
@json_option("One object, for programs.")
def describe(name: str, bootstrap: str, as_json: bool) -> None:
    """Print a topic's partitions, and the settings that are not Kafka's defaults."""
    from ottla.cli.session import run, topic_named

    async def work(client: Client) -> tuple[Topic, list[ConfigEntry]]:
        topic = await topic_named(client, name)
        return topic, await client.topic_configs(name)

    topic, entries = run(bootstrap, work)
    configs = {entry.name: entry.value for entry in entries if not entry.is_default}
    if as_json:
        partitions = [_partition(partition) for partition in topic.partitions.values()]
        print_json(_summary(topic) | {"configs": configs, "partitions": partitions})
        return
    click.echo(f"topic               {topic.name}")
    click.echo(f"id                  {_id_text(topic.topic_id)}")
    click.echo(f"replication factor  {_replication_factor(topic)}")
    for number, (key, value) in enumerate(configs.items()):
        click.echo(f"{'' if number else 'settings':<20}{key}={printable(value or '')}")
    click.echo()
    rows = [
        (
            p.partition_index,
            *_leader(p),
            _nodes(p.replicas),
            _nodes(p.isr),
            _nodes(p.offline_replicas),
        )
        for p in topic.partitions.values()
    ]
    print_table(DESCRIBED, rows)


@command.command("delete")
@click.argument("names", metavar="NAME...", nargs=-1, required=True)
@click.option("--if-exists", is_flag=True, help="Pass over a topic that is not there.")
@bootstrap_option
def delete(names: tuple[str, ...], if_exists: bool, bootstrap: str) -> None:
    """Delete topics and all of their records."""
    from ottla.cli.session import no_topic, run
    from ottla.client.errors import ClientError
    from ottla.errors import ErrorCode

    async def work(client: Client) -> None:
        for name in names:
            try:
                await client.delete_topic(name)
            except ClientError as error:
                if error.code != ErrorCode.UNKNOWN_TOPIC_OR_PARTITION:
                    raise
                if not if_exists:
                    raise await no_topic(client, name) from error
                click.echo(f"there is no topic {name}", err=True)
            else:
                click.echo(f"deleted topic {name}")

    run(bootstrap, work)


def _summary(topic: Topic) -> dict[str, Any]:
    return {
        "name": topic.name,
        "topic_id": _id_text(topic.topic_id),
        "partition_count": len(topic.partitions),
        "replication_factor": _replication_factor(topic),
        "internal": topic.is_internal,
    }


def _partition(partition: Partition) -> dict[str, Any]:
    return {
        "partition": partition.partition_index,
        "leader": partition.leader if partition.leader >= 0 else None,
        "leader_epoch": partition.leader_epoch,
        "replicas": list(partition.replicas),
        "isr": list(partition.isr),
        "offline_replicas": list(partition.offline_replicas),
    }


def _leader(partition: Partition) -> tuple[object, object]:
    return (partition.leader if partition.leader >= 0 else "none", partition.leader_epoch)


def _replication_factor(topic: Topic) -> int:
    return max((len(partition.replicas) for partition in topic.partitions.values()), default=0)


def _kind(topic: Topic) -> str:
    return "internal" if topic.is_internal else ""


def _nodes(nodes: tuple[int, ...]) -> str:
    return ", ".join(str(node) for node in nodes)


def _id_text(topic_id: bytes) -> str:
    """As Kafka writes it."""
    return base64.urlsafe_b64encode(topic_id).rstrip(b"=").decode()
