"""`python -m bench`: Ottla beside Apache Kafka and the floor, in one run on one machine."""

import argparse
import fnmatch
import platform
import resource
import signal
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from types import FrameType

import confluent_kafka
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table as RichTable

from bench import page, results, stages, tables
from bench.build import BenchError, reqload
from bench.meters import fdatasync_p50_us, file_system, machine
from bench.peers import FAMILIES, OTTLA, Name
from bench.results import Results
from bench.rows import COLD_ROW, ROWS
from bench.run import FLUSH_SAMPLES, FULL, QUICK, Plan, Run
from tools.kafka import KAFKA_VERSION, KafkaError

ROOT = Path(__file__).parent.parent
RESULTS = ROOT / "bench" / "results"
PAGE = ROOT / "docs" / "benchmarks.md"
FILES_WANTED = 16_384
FILE_COLUMNS = 160  # where no terminal says how wide it is
STAGES_ROW = "stages"


class ProgressWatch:
    """One bar on stderr, so that stdout holds the tables alone."""

    def __init__(self, progress: Progress) -> None:
        self._progress = progress
        self._task = progress.add_task("starting", total=None)
        self._begun = False

    def begin(self, steps: int) -> None:
        self._progress.update(self._task, total=steps)

    def say(self, what: str) -> None:
        self._progress.update(self._task, description=what)

    def step(self, what: str) -> None:
        self._progress.update(self._task, advance=int(self._begun), description=what)
        self._begun = True


@contextmanager
def watching(console: Console) -> Iterator[ProgressWatch]:
    columns = (
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TextColumn("{task.description}"),
    )
    with Progress(*columns, console=console) as progress:
        yield ProgressWatch(progress)


def parse(argv: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m bench", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="the whole of it in two minutes")
    parser.add_argument("--rows", metavar="GLOB", default="*", help="only rows of such a name")
    parser.add_argument("--peers", default=",".join(FAMILIES), help="of: %(default)s")
    parser.add_argument("--rounds", type=int, metavar="N", help="rounds that are measured")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write every round there")
    parser.add_argument(
        "--page", type=Path, metavar="FILE", help="rewrite this page (a full run: the docs' own)"
    )
    parser.add_argument(
        "--data", type=Path, metavar="DIR", default=RESULTS, help="on the disk that is to be used"
    )
    parser.add_argument("--render", type=Path, metavar="FILE", help="no run: show what --json kept")
    parser.add_argument("--list", action="store_true", help="no run: name the rows")
    return parser.parse_args(argv)


def chosen_names(families: str, console: Console) -> list[Name]:
    names: list[Name] = []
    for family in families.split(","):
        if family not in FAMILIES:
            raise BenchError(f"No such peer: {family} (of {', '.join(FAMILIES)})")
        if family == "ottla" and not OTTLA.exists():
            console.print(f"[yellow]ottla is left out: there is no {OTTLA.name} in this venv")
            continue
        names += FAMILIES[family]
    return names


def where(data: Path) -> dict[str, str]:
    data.mkdir(parents=True, exist_ok=True)
    commit = _first_line("git", "describe", "--always", "--dirty")
    return {
        **machine(),
        "Disk": f"{file_system(data)}, F {fdatasync_p50_us(data, 5 * FLUSH_SAMPLES):.0f} µs",
        "Ottla": f"{_version('ottla')}, commit {commit}",
        "Python": f"{platform.python_version()}, uvloop {_version('uvloop')}",
        "Apache Kafka": f"{KAFKA_VERSION} on {_first_line('java', '--version')}, heap of 1 GiB",
        "Generators": f"reqload ({_first_line('go', 'version')}), "
        f"librdkafka {confluent_kafka.libversion()[0]}",
    }


def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return "not installed"


def _first_line(*command: str) -> str:
    try:
        asked = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    except FileNotFoundError:
        return "unknown"
    return (asked.stdout.splitlines() or ["unknown"])[0]


def measure(options: argparse.Namespace, console: Console) -> Results:
    plan: Plan = QUICK if options.quick else FULL
    if options.rounds:
        plan = replace(plan, rounds=options.rounds)
    names = chosen_names(options.peers, console)
    rows = [row for row in ROWS if fnmatch.fnmatch(row.name, options.rows)]
    with_cold = fnmatch.fnmatch(COLD_ROW, options.rows)
    with_stages = fnmatch.fnmatch(STAGES_ROW, options.rows)
    if not rows and not with_cold and not with_stages:
        raise BenchError(f"No row is called {options.rows}; --list names them")
    reqload()
    found = Results(
        date=datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC"),
        command=f"python -m bench {' '.join(options.given)}".strip(),
        where=where(options.data),
        plan=plan.kept(),
    )
    with watching(console) as watch:
        Run(plan, names, found, watch, options.quick)(rows, with_cold, options.data)
        if with_stages:
            watch.step("stages")
            found.stages = stages.measure(quick=options.quick)
    return found


def show(found: Results) -> None:
    console = Console()
    if not console.is_terminal:
        console.width = FILE_COLUMNS
    for table in reversed(tables.all_tables(found)):  # the verdict last, where the eye is
        drawn = RichTable(title=table.title, title_justify="left")
        for column, name in enumerate(table.header):
            drawn.add_column(name, justify="left" if column < 2 else "right")
        for line in table.lines:
            drawn.add_row(*line)
        console.print(drawn)


def _stop(_signal: int, _frame: FrameType | None) -> None:
    raise KeyboardInterrupt


def allow_files() -> None:
    """A thousand connections, on both their ends; what we start inherits the limit."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = FILES_WANTED if hard == resource.RLIM_INFINITY else min(FILES_WANTED, hard)
    if soft != resource.RLIM_INFINITY and soft < wanted:
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))


def main(argv: Sequence[str] | None = None) -> int:
    options = parse(argv)
    options.given = sys.argv[1:] if argv is None else list(argv)
    console = Console(stderr=True)
    if options.list:
        print("\n".join([COLD_ROW, *(row.name for row in ROWS), STAGES_ROW]))
        return 0
    signal.signal(signal.SIGTERM, _stop)
    allow_files()
    try:
        found = results.read(options.render) if options.render else measure(options, console)
    except (BenchError, KafkaError) as trouble:
        console.print(str(trouble), style="red", markup=False)
        return 1
    except KeyboardInterrupt:
        console.print("stopped; nothing is left running")
        return 130
    show(found)
    if options.json:
        found.write(options.json)
    whole = not options.given
    if options.page or whole:
        page.rewrite(found, options.page or PAGE)
    if whole:
        found.write(RESULTS / "latest.json")
    for failed in found.troubles:
        console.print(failed, style="red", markup=False)
    missed = [f"{goal.row}: {goal.subject}" for goal in tables.missed(found)]
    if missed:
        console.print(f"{len(missed)} gates are missed: {'; '.join(missed)}", style="red")
    return 1 if found.troubles else 0


if __name__ == "__main__":
    sys.exit(main())
