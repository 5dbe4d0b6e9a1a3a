"""`ottla`: the entry point. Commands are imported when they are called, so that help is quick."""

import os
import sys
from importlib import import_module

import click

from ottla.cli.groups import NearestGroup
from ottla.cli.parameters import DEFAULT_BOOTSTRAP, on_bootstrap

# Each module has its command under the name `command`.
COMMANDS: dict[str, tuple[str, str]] = {
    "start": ("ottla.cli.start", "Run one broker."),
    "topic": ("ottla.cli.topic", "List, create, describe and delete topics."),
    "produce": ("ottla.cli.produce", "Send lines to a topic, a record each."),
    "consume": ("ottla.cli.consume", "Print the records of a topic."),
    "bench": ("ottla.cli.bench", "Produce and consume so many records, and say how fast."),
    "sim": ("ottla.cli.sim", "Simulate a broker and its clients, with faults, seed by seed."),
}


class LazyGroup(NearestGroup):
    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS:
            return None
        module, _ = COMMANDS[cmd_name]
        command: click.Command = import_module(module).command
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl([(name, about) for name, (_, about) in COMMANDS.items()])

    def invoke(self, ctx: click.Context) -> object:
        try:
            result: object = super().invoke(ctx)
            sys.stdout.flush()
        except BrokenPipeError:
            # Whoever read our output has had enough. What is still buffered goes nowhere, or
            # the interpreter would complain on its way out.
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            ctx.exit(0)
        return result


@click.command(cls=LazyGroup)
@click.option(
    "--bootstrap",
    metavar="HOST:PORT",
    callback=on_bootstrap,
    envvar="OTTLA_BOOTSTRAP",
    show_envvar=True,
    default=DEFAULT_BOOTSTRAP,
    show_default=True,
    help="Where a broker is, for all commands but `start`; several with commas between.",
)
@click.version_option(package_name="ottla")
def ottla(bootstrap: str) -> None:
    """A distributed log that every Kafka client takes for Kafka."""


def main() -> None:
    """Exit codes: 0 done, 1 failed, 2 not understood."""
    try:
        code = ottla(standalone_mode=False)
    except click.exceptions.Abort:
        sys.exit(1)
    except click.ClickException as error:
        error.show()
        sys.exit(error.exit_code)
    sys.exit(code if isinstance(code, int) else 0)
