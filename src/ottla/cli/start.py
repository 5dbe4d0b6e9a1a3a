"""`ottla start`: one broker in this process."""

import sys
from pathlib import Path

import click

from ottla.cli.parameters import Address, on_address, pairs_option


@click.command("start")
@click.option(
    "--data", type=click.Path(path_type=Path), help="Where the logs are kept.  [default: ./data]"
)
@click.option(
    "--listen",
    callback=on_address,
    metavar="HOST:PORT",
    help="Where clients connect; port 0 is any free one.  [default: 127.0.0.1:9092]",
)
@click.option(
    "--advertise",
    callback=on_address,
    metavar="HOST:PORT",
    help="The address that clients are told.  [default: that of --listen]",
)
@click.option(
    "--controller",
    callback=on_address,
    metavar="HOST:PORT",
    help="The controller's, for the metadata; it opens with clusters.  [default: 127.0.0.1:9093]",
)
@click.option("--http", metavar="HOST:PORT", help="Not there yet: it comes with the HTTP API.")
@click.option(
    "--node-id", type=click.IntRange(0), metavar="N", help="This node's id.  [default: 1]"
)
@click.option(
    "--config",
    "file",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="A file of Kafka's properties, such as server.properties.",
)
@pairs_option("--set", "settings", "One of Kafka's properties, over those of the file; repeatable.")
@click.option("--control-fd", type=click.IntRange(3), hidden=True)
def command(
    data: Path | None,
    listen: Address | None,
    advertise: Address | None,
    controller: Address | None,
    http: str | None,
    node_id: int | None,
    file: Path | None,
    settings: list[tuple[str, str]],
    control_fd: int | None,
) -> None:
    """Run one broker, with every role, until SIGTERM or Ctrl-C.

    Options beat the properties that say the same: --listen the key listeners, --data log.dirs,
    --node-id node.id, --advertise advertised.listeners.
    """
    if http is not None:
        raise click.UsageError("--http is not there yet: it comes with the HTTP API. Leave it out.")
    from ottla.cli.asked import Asked, resolve
    from ottla.errors import Refused
    from ottla.server.main import CannotStart, configure_logging, log, serve
    from ottla.server.platform import Unsupported

    configure_logging()
    try:
        properties = _read(file) | dict(settings)
        asked = Asked(data, listen, advertise, controller, node_id)
        options, warnings = resolve(asked, properties)
        for warning in warnings:
            log.warning(warning)
        code = serve(options, lambda address: _say_ready(address, options.data), control_fd)
    except (CannotStart, Unsupported) as error:
        raise click.ClickException(str(error)) from error
    except Refused as error:
        raise click.ClickException(f"configuration: {error.why}") from error
    sys.exit(code)


def _read(file: Path | None) -> dict[str, str]:
    """As Java reads it: a byte is a character, the others are written \\uXXXX."""
    from ottla.config_properties import BadProperties, parse_properties

    if file is None:
        return {}
    try:
        return parse_properties(file.read_text("latin-1"))
    except OSError as error:
        raise click.ClickException(f"cannot read {file}: {error.strerror}") from error
    except BadProperties as error:
        raise click.ClickException(f"{file} is no properties file: {error}") from error


def _say_ready(address: str, data: Path) -> None:
    click.echo(f"ottla is ready: {address} (data in {data})")
    sys.stdout.flush()
