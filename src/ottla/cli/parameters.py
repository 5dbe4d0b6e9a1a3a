"""What several commands take: addresses, and pairs with an equals sign."""

import re
from collections.abc import Callable
from typing import Any, TypeVar

import click

DEFAULT_PORT = 9092
DEFAULT_BOOTSTRAP = f"127.0.0.1:{DEFAULT_PORT}"

PORT_MAX = 65_535
ADDRESS = re.compile(r"(\[[^\[\]\s]+\]|[^:\[\]\s]+)(?::([0-9]{1,5}))?")

Address = tuple[str, int]
Command = TypeVar("Command", bound=Callable[..., Any])


def address_text(address: Address) -> str:
    host, port = address
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


def parse_address(text: str, *, default_port: int | None = None) -> Address | None:
    """None where it is no address. IPv6 stands in brackets."""
    match = ADDRESS.fullmatch(text.strip())
    if match is None:
        return None
    port = default_port if match[2] is None else int(match[2])
    if port is None or port > PORT_MAX:
        return None
    return match[1].strip("[]"), port


def on_address(ctx: click.Context, param: click.Parameter, value: str | None) -> Address | None:
    if value is None:
        return None
    address = parse_address(value)
    if address is None:
        raise click.BadParameter(f"{value!r} is not HOST:PORT, such as 127.0.0.1:9092")
    return address


def on_bootstrap(ctx: click.Context, param: click.Parameter, value: str | None) -> str | None:
    """Kept as text, for that is what the client takes."""
    if value is None:
        return None
    addresses = [parse_address(text, default_port=DEFAULT_PORT) for text in value.split(",")]
    found = [address for address in addresses if address is not None and address[1] > 0]
    if len(found) < len(addresses):
        raise click.BadParameter(f"{value!r} is not HOST:PORT, such as {DEFAULT_BOOTSTRAP}")
    return ",".join(address_text(address) for address in found)


def on_pairs(
    ctx: click.Context, param: click.Parameter, value: tuple[str, ...]
) -> list[tuple[str, str]]:
    """KEY=VALUE each; a value may have further equals signs in it."""
    pairs = []
    for text in value:
        key, equals, content = text.partition("=")
        if not equals or not key.strip():
            raise click.BadParameter(f"{text!r} is not KEY=VALUE")
        pairs.append((key.strip(), content.strip()))
    return pairs


def on_separator(ctx: click.Context, param: click.Parameter, value: str | None) -> bytes | None:
    if value is None:
        return None
    separator = "\t" if value == "\\t" else value
    if not separator or "\n" in separator:
        raise click.BadParameter("it is one or more characters of a line, such as ':' or '\\t'")
    return separator.encode()


def pairs_option(name: str, variable: str, about: str) -> Callable[[Command], Command]:
    return click.option(
        name, variable, multiple=True, callback=on_pairs, metavar="KEY=VALUE", help=about
    )


def bootstrap_option(command: Command) -> Command:
    """The same as of `ottla` itself, for those who think of it later."""

    def or_as_said_before(ctx: click.Context, param: click.Parameter, value: str | None) -> str:
        before: str = ctx.find_root().params["bootstrap"]
        return on_bootstrap(ctx, param, value) or before

    option = click.option(
        "--bootstrap",
        metavar="HOST:PORT",
        callback=or_as_said_before,
        help=f"Where a broker is.  [default: $OTTLA_BOOTSTRAP, or {DEFAULT_BOOTSTRAP}]",
    )
    return option(command)


def json_option(about: str) -> Callable[[Command], Command]:
    return click.option("--json", "as_json", is_flag=True, help=about)
