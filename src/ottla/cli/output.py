"""What people and programs read: tables, JSON, and text that leaves a terminal alone.

Rich is imported for a terminal only: it takes longer to load than a listing does to print.
"""

import json
import sys
from collections.abc import Sequence
from typing import Any, NamedTuple

import click

# Ends of a line, escapes and the like would move the cursor or worse.
_CONTROLS = {code: f"\\x{code:02x}" for code in (*range(32), *range(127, 160)) if code != 9}


class Column(NamedTuple):
    title: str
    is_number: bool = False


Row = Sequence[object]


def printable(text: str) -> str:
    return text.translate(_CONTROLS)


def print_json(value: Any) -> None:
    click.echo(json.dumps(value, indent=2, ensure_ascii=False))


def print_table(columns: Sequence[Column], rows: Sequence[Row]) -> None:
    texts = [[printable(str(cell)) for cell in row] for row in rows]
    if sys.stdout.isatty():
        _print_rich_table(columns, texts)
    else:
        _print_plain_table(columns, texts)


def _print_plain_table(columns: Sequence[Column], rows: list[list[str]]) -> None:
    lines = [[column.title for column in columns], *rows]
    widths = [max(len(line[at]) for line in lines) for at in range(len(columns))]
    for line in lines:
        cells = [
            cell.rjust(width) if column.is_number else cell.ljust(width)
            for cell, width, column in zip(line, widths, columns, strict=True)
        ]
        click.echo("  ".join(cells).rstrip())


def _print_rich_table(columns: Sequence[Column], rows: list[list[str]]) -> None:
    from rich.box import SIMPLE_HEAD
    from rich.console import Console
    from rich.table import Table

    table = Table(box=SIMPLE_HEAD, show_edge=False, pad_edge=False, header_style="bold")
    for column in columns:
        table.add_column(
            column.title, justify="right" if column.is_number else "left", overflow="fold"
        )
    for row in rows:
        table.add_row(*row)
    Console(markup=False, highlight=False, emoji=False).print(table)


def amount(count: int, thing: str) -> str:
    return f"{count:,} {thing}" if count == 1 else f"{count:,} {thing}s"


def size_text(size_bytes: float) -> str:
    """In units of 1,000, as disks and networks are sold."""
    for unit in ("B", "kB", "MB", "GB"):
        if size_bytes < 1000 or unit == "GB":
            break
        size_bytes /= 1000
    return f"{size_bytes:,.0f} {unit}" if unit == "B" else f"{size_bytes:,.1f} {unit}"
