"""`ottla sim`: the broker and its clients in one process, on virtual time, with faults."""

from __future__ import annotations

import sys
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, TextIO

import click

from ottla.cli.output import Column, amount, print_json, print_table
from ottla.cli.parameters import json_option

if TYPE_CHECKING:
    from rich.progress import Progress

    from ottla.sim.campaign import Summary
    from ottla.sim.cluster import Verdict
    from ottla.sim.knobs import Settings

SECONDS = 10
FINDINGS_SHOWN = 8


@click.command("sim")
@click.option("--seed", type=click.IntRange(0), help="Run this one, and say all about it.")
@click.option("--trace", is_flag=True, help="With --seed: print every event.")
@click.option("--seeds", type=click.IntRange(1), help="Run so many.")
@click.option(
    "--start", type=click.IntRange(0), default=1, show_default=True, help="The first of them."
)
@click.option(
    "--seconds",
    type=click.IntRange(SECONDS),
    default=SECONDS,
    show_default=True,
    help="Virtual time of a seed.",
)
@click.option(
    "--jobs", type=click.IntRange(1), default=1, show_default=True, help="So many processes."
)
@click.option(
    "--ledger",
    type=click.Path(dir_okay=False, path_type=Path),
    help="Add a line of JSON for every seed to this file.",
)
@click.option(
    "--planted",
    metavar="BUG",
    help="With --seed: plant one of the known bugs first; `list` names them.",
)
@click.option(
    "--scenario",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="Play this story instead, and print it with what came of it.",
)
@json_option("Print the summary as JSON.")
def command(
    seed: int | None,
    trace: bool,
    planted: str | None,
    scenario: Path | None,
    seeds: int | None,
    start: int,
    seconds: int,
    jobs: int,
    ledger: Path | None,
    as_json: bool,
) -> None:
    """Simulate a broker, its clients and what befalls them, seed by seed.

    Exit codes: 0 nothing found, 10 the broker crashed, 11 something never ended, 12 data was lost,
    doubled, reordered or damaged.
    """
    if scenario is not None:
        _play(scenario)
        return
    if planted == "list":
        _list_planted()
        return
    if (seed is None) == (seeds is None):
        raise click.UsageError("say --seed N for one run, or --seeds COUNT for many")
    if seed is None and (trace or planted is not None):
        raise click.UsageError("--trace and --planted go with --seed")
    if seed is not None:
        settings = None if planted is None else _planted(planted)
        sys.exit(_run_one(seed, seconds, settings, trace=trace, as_json=as_json))
    assert seeds is not None
    sys.exit(_run_many(range(start, start + seeds), seconds, jobs, ledger, as_json=as_json))


def _play(path: Path) -> None:
    from ottla.sim.scenario import parse, play

    for block in play(parse(path.read_text(encoding="utf-8"))):
        click.echo(block.text())


def _list_planted() -> None:
    from ottla.sim.mutants import MUTANTS

    print_table(
        (Column("BUG"), Column("WHAT IT DOES")),
        [(name, mutant.about) for name, mutant in MUTANTS.items()],
    )


def _planted(name: str) -> Settings:
    from ottla.sim.mutants import MUTANTS

    if name not in MUTANTS:
        raise click.UsageError(f"no planted bug is called {name!r}: see --planted list")
    return MUTANTS[name].settings


def _run_one(
    seed: int, seconds: int, planted: Settings | None, *, trace: bool, as_json: bool
) -> int:
    from ottla.sim.campaign import Summary
    from ottla.sim.cluster import run_seed

    echo = click.echo if trace else None
    verdict = run_seed(seed, seconds=seconds, echo=echo, planted=planted)
    if as_json:
        summary = Summary()
        summary.add(verdict)
        print_json(summary.as_json() | {"seed": seed, "hash": verdict.digest})
        return verdict.exit_code
    if verdict.exit_code and not trace:
        _print_failure(verdict, seconds)
    said = (
        amount(verdict.operations, "operation"),
        f"{amount(verdict.records_acked, 'record')} acknowledged",
        amount(sum(verdict.faults.values()), "fault"),
        f"the broker started {amount(verdict.lives, 'time')}",
    )
    click.echo(", ".join(said))
    for finding in verdict.findings()[:FINDINGS_SHOWN]:
        click.echo(f"found: {finding}")
    click.echo(f"seed {seed} hash {verdict.digest}")
    return verdict.exit_code


def _run_many(seeds: range, seconds: int, jobs: int, ledger: Path | None, *, as_json: bool) -> int:
    from ottla.sim.campaign import ledger_line, run_campaign

    with ExitStack() as stack:
        lines: TextIO | None = None
        if ledger is not None:
            lines = stack.enter_context(ledger.open("a", encoding="utf-8"))
        bar = _progress(len(seeds), stack)

        def on_verdict(verdict: Verdict, summary: Summary) -> None:
            if lines is not None:
                lines.write(ledger_line(verdict) + "\n")
                lines.flush()
            if verdict.exit_code:
                _print_failure(verdict, seconds)
            if bar is not None:
                rate = f"{summary.seeds_per_hour:,.0f}/h  {len(summary.failed)} failed"
                bar.update(bar.task_ids[0], completed=summary.seeds, said=rate)

        summary = run_campaign(seeds, seconds=seconds, jobs=jobs, on_verdict=on_verdict)
    if as_json:
        print_json(summary.as_json())
    else:
        _print_summary(summary)
        click.echo(f"seeds {seeds[0]} to {seeds[-1]}: {len(summary.failed)} failed")
    return summary.exit_code


def _progress(total: int, stack: ExitStack) -> Progress | None:
    if not sys.stderr.isatty():
        return None
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        TextColumn,
        TimeRemainingColumn,
    )

    bar = Progress(
        TextColumn("seeds"),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("{task.fields[said]}"),
        TimeRemainingColumn(compact=True),
        console=Console(stderr=True),
        transient=True,
    )
    bar.add_task("seeds", total=total, said="")
    return stack.enter_context(bar)


def _print_failure(verdict: Verdict, seconds: int) -> None:
    """On standard error: what was found, how it ended, and how to see it again."""
    click.echo(f"seed {verdict.seed} failed", err=True)
    for finding in verdict.findings()[:FINDINGS_SHOWN]:
        click.echo(f"  {finding}", err=True)
    click.echo("  its last events:", err=True)
    for event in verdict.recent[-FINDINGS_SHOWN * 2 :]:
        click.echo(f"    {event}", err=True)
    longer = "" if seconds == SECONDS else f" --seconds {seconds}"
    click.echo(f"  again: ottla sim --seed {verdict.seed}{longer} --trace", err=True)


def _print_summary(summary: Summary) -> None:
    figures = [
        ("seeds", f"{summary.seeds:,}"),
        ("seeds an hour", f"{summary.seeds_per_hour:,.0f}"),
        ("virtual hours", f"{summary.virtual_seconds / 3600:,.2f}"),
        ("operations", f"{summary.operations:,}"),
        ("records acknowledged", f"{summary.records_acked:,}"),
        ("lives of the broker", f"{summary.lives:,}"),
    ]
    figures += [(f"fault: {name}", f"{n:,}") for name, n in sorted(summary.faults.items())]
    figures += [(f"counted: {name}", f"{n:,}") for name, n in sorted(summary.counted.items())]
    figures += [(f"ANOMALY: {name}", f"{n:,}") for name, n in sorted(summary.anomalies.items())]
    print_table((Column(""), Column("COUNT", True)), figures)
