"""Progress of long work: a counter or a bar on a terminal, otherwise a plain line every few seconds."""

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.progress import BarColumn, Progress, ProgressColumn, SpinnerColumn, Task, TimeElapsedColumn
from rich.text import Text

from jmsbridge.cli.printing import moving, plain, screen

__all__ = ["counting", "working"]

_PLAIN_EVERY = 5.0
_MOVE_EVERY = 0.1


class _Count(ProgressColumn):
    """The count and rate, or ``waiting`` while the count is 0."""

    def __init__(self, what: str, waiting: str) -> None:
        super().__init__()
        self.count = 0
        self._what = what
        self._waiting = waiting

    def render(self, task: Task) -> Text:
        """The current text: rich calls this ten times a second."""
        if not self.count and self._waiting:
            return plain(self._waiting)
        rate = f"  {self.count / task.elapsed:,.0f}/s" if task.elapsed and task.elapsed > 0.2 else ""
        return plain(f"{self.count:,} {self._what}{rate}")


@contextmanager
def counting(
    what: str, *, total: int | None = None, quiet: bool = False, waiting: str = ""
) -> Iterator[Callable[[int], None]]:
    """Show count and rate; yields a function to be called with each new count.

    With ``total`` a terminal shows a bar. ``quiet`` if the terminal is used for something else. ``waiting`` is shown
    while the count is 0. In a pipe a line goes to standard error every few seconds, but not for short work.
    """
    if quiet or not sys.stderr.isatty():
        yield _plain(what, quiet)
        return
    counter = _Count(what, waiting)
    columns: list[ProgressColumn] = [SpinnerColumn(), counter]
    columns += [BarColumn()] if total else []
    console = screen()
    progress = Progress(*columns, TimeElapsedColumn(), console=console, transient=True)
    task = progress.add_task("", total=total)
    moved = 0.0

    def show(count: int) -> None:
        nonlocal moved
        counter.count = count
        if total and time.monotonic() - moved > _MOVE_EVERY:
            moved = time.monotonic()
            progress.update(task, completed=count)

    with progress, moving(console):
        yield show


@contextmanager
def working(what: str) -> Iterator[None]:
    """Show on a terminal that work of unknown length is in progress."""
    console = screen()
    with console.status(plain(what)), moving(console):
        yield


def _plain(what: str, quiet: bool) -> Callable[[int], None]:
    told = time.monotonic()

    def show(count: int) -> None:
        nonlocal told
        if not quiet and time.monotonic() - told >= _PLAIN_EVERY:
            told = time.monotonic()
            print(f"{count} {what}", file=sys.stderr, flush=True)

    return show
