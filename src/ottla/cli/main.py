"""`ottla`: the entry point. Commands are imported when they are called, so that help is quick."""

import sys
from importlib import import_module

import click

COMMANDS: dict[str, str] = {
    "start": "Run one broker.",
}


class LazyGroup(click.Group):
    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS:
            return None
        command: click.Command = import_module(f"ottla.cli.{cmd_name}").command
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl(list(COMMANDS.items()))


@click.command(cls=LazyGroup)
@click.version_option(package_name="ottla")
def ottla() -> None:
    """A distributed log that every Kafka client takes for Kafka."""


def main() -> None:
    try:
        ottla(standalone_mode=False)
    except click.exceptions.Abort:
        sys.exit(1)
    except click.UsageError as error:
        error.show()
        sys.exit(2)
    except click.ClickException as error:
        error.show()
        sys.exit(1)
