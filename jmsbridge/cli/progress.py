"""A counter or a bar on the terminal for work that may take long; a plain line now and then elsewhere."""

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.markup import escape
from rich.progress import BarColumn, Progress, ProgressColumn, SpinnerColumn, TextColumn, TimeElapsedColumn
from rich.status import Status

__all__ = ["counting", "working"]

_PLAIN_EVERY = 5.0


@contextmanager
def counting(what: str, *, total: int | None = None, quiet: bool = False) -> Iterator[Callable[[int], None]]:
    """Show how many there were and how fast; call what comes with the number so far.

    With ``total`` a terminal shows a bar. ``quiet`` where the terminal is used for something else. In a pipe there is a
    line on standard error every few seconds, and none for work that is done at once.
    """
    if quiet or not sys.stderr.isatty():
        yield _plain(what, quiet)
        return
    columns: list[ProgressColumn] = [SpinnerColumn(), TextColumn("{task.completed:,} {task.description}")]
    columns += [BarColumn()] if total else []
    columns += [TextColumn("{task.fields[rate]}"), TimeElapsedColumn()]
    progress = Progress(*columns, console=Console(stderr=True), transient=True)
    task = progress.add_task(what, total=total, rate="")

    def show(count: int) -> None:
        elapsed = progress.tasks[0].elapsed or 0.0
        progress.update(task, completed=count, rate=f"{count / elapsed:,.0f}/s" if elapsed > 0.2 else "")

    with progress:
        yield show


def working(what: str) -> Status:
    """Show on a terminal that something goes on of which nobody knows how far it is."""
    return Console(stderr=True).status(escape(what))


def _plain(what: str, quiet: bool) -> Callable[[int], None]:
    said = time.monotonic()

    def show(count: int) -> None:
        nonlocal said
        if not quiet and time.monotonic() - said >= _PLAIN_EVERY:
            said = time.monotonic()
            print(f"{count} {what}", file=sys.stderr, flush=True)

    return show
