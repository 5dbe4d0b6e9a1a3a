"""How far a long task is, on a terminal's standard error; elsewhere nothing."""

import sys
import time
from types import TracebackType
from typing import TYPE_CHECKING, Self

from ottla.cli.output import amount, size_text

if TYPE_CHECKING:
    from rich.progress import Progress as RichProgress
    from rich.progress import TaskID

# What is over sooner needs no bar.
QUIET_SECONDS = 0.5
REFRESH_SECONDS = 0.1


class Progress:
    """A bar where the total is known, else what was done so far."""

    def __init__(self, title: str, total: int | None, *, is_shown: bool = True) -> None:
        self._title = title
        self._total = total
        self._began = time.monotonic()
        self._next = self._began + QUIET_SECONDS
        self._is_shown = is_shown and sys.stderr.isatty()
        self._bar: RichProgress | None = None
        self._task: TaskID | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if self._bar is not None:
            self._bar.stop()

    @property
    def seconds(self) -> float:
        return time.monotonic() - self._began

    def update(self, done: int, records: int, size_bytes: int) -> None:
        """`done` is of the total; cheap, so that it may be called often."""
        if not self._is_shown or time.monotonic() < self._next:
            return
        self._next = time.monotonic() + REFRESH_SECONDS
        if self._bar is None:
            self._start()
        assert self._bar is not None
        assert self._task is not None
        seconds = self.seconds
        rates = f"{records / seconds:,.0f}/s  {size_text(size_bytes / seconds)}/s"
        said = f"{amount(records, 'record')}  {rates}"
        self._bar.update(self._task, completed=done, said=said)
        self._bar.refresh()

    def _start(self) -> None:
        from rich.console import Console
        from rich.progress import (
            BarColumn,
            ProgressColumn,
            TaskProgressColumn,
            TextColumn,
            TimeRemainingColumn,
        )
        from rich.progress import Progress as RichProgress

        columns: list[ProgressColumn] = [TextColumn("{task.description}", markup=False)]
        if self._total is not None:
            columns += [BarColumn(), TaskProgressColumn()]
        columns += [TextColumn("{task.fields[said]}", markup=False)]
        if self._total is not None:
            columns += [TimeRemainingColumn(compact=True)]
        # We refresh by hand: a thread of its own would take time from what it shows.
        self._bar = RichProgress(
            *columns, console=Console(stderr=True), auto_refresh=False, transient=True
        )
        self._task = self._bar.add_task(self._title, total=self._total, said="")
        self._bar.start()
