"""`ottla start`: one broker in this process."""

import sys
from pathlib import Path

import click

Address = tuple[str, int]


def parse_address(ctx: click.Context, param: click.Parameter, value: str | None) -> Address | None:
    if value is None:
        return None
    host, colon, port = value.rpartition(":")
    if not colon or not host or not port.isdigit() or int(port) > 65535:
        raise click.BadParameter(f"{value!r} is not HOST:PORT, such as 127.0.0.1:9092")
    return host.strip("[]"), int(port)


def parse_settings(
    ctx: click.Context, param: click.Parameter, value: tuple[str, ...]
) -> dict[str, str]:
    settings: dict[str, str] = {}
    for text in value:
        key, equals, setting = text.partition("=")
        if not equals or not key:
            raise click.BadParameter(f"{text!r} is not key=value")
        settings[key.strip()] = setting.strip()
    return settings


@click.command("start")
@click.option(
    "--data",
    type=click.Path(path_type=Path),
    default=Path("data"),
    show_default=True,
    help="Where the logs are kept.",
)
@click.option(
    "--listen",
    callback=parse_address,
    default="127.0.0.1:9092",
    show_default=True,
    metavar="HOST:PORT",
    help="Where clients connect.",
)
@click.option(
    "--advertise",
    callback=parse_address,
    metavar="HOST:PORT",
    help="The address that clients are told, where it is another one.",
)
@click.option(
    "--controller",
    callback=parse_address,
    default="127.0.0.1:9093",
    show_default=True,
    metavar="HOST:PORT",
    help="The controller's address, as written into the metadata.",
)
@click.option("--http", metavar="HOST:PORT", help="Not there yet: it comes with the HTTP API.")
@click.option(
    "--node-id", type=click.IntRange(0), default=1, show_default=True, help="This node's id."
)
@click.option(
    "--config",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="A file of Kafka's properties.",
)
@click.option(
    "--set",
    "settings",
    callback=parse_settings,
    multiple=True,
    metavar="KEY=VALUE",
    help="One of Kafka's properties; may be given again.",
)
@click.option("--control-fd", type=click.IntRange(3), hidden=True)
def command(
    data: Path,
    listen: Address,
    advertise: Address | None,
    controller: Address,
    http: str | None,
    node_id: int,
    config: Path | None,
    settings: dict[str, str],
    control_fd: int | None,
) -> None:
    """Run one broker, with every role, until SIGTERM."""
    if http is not None:
        raise click.UsageError("--http is not there yet: it comes with the HTTP API")
    from ottla.config_properties import BadProperties, parse_properties
    from ottla.errors import Refused
    from ottla.server.main import CannotStart, Options, configure_logging, serve
    from ottla.server.platform import Unsupported

    configure_logging()
    try:
        from_file = parse_properties(config.read_text("latin-1")) if config else {}
        options = Options(data, listen, advertise, controller, node_id, from_file | settings)
        code = serve(options, lambda address: _say_ready(address, data), control_fd)
    except (CannotStart, Unsupported, Refused, BadProperties) as error:
        raise click.ClickException(str(error)) from error
    sys.exit(code)


def _say_ready(address: str, data: Path) -> None:
    click.echo(f"ottla is ready: {address} (data in {data})")
    sys.stdout.flush()
