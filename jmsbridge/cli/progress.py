"""A counter on the terminal for work that may take long; silent in pipes."""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

__all__ = ["counting"]


@contextmanager
def counting(what: str, *, quiet: bool = False) -> Iterator[Callable[[int], None]]:
    """Show how many there were and how fast; call what comes with the number so far.

    ``quiet`` where the terminal is used for something else.
    """
    progress = Progress(
        SpinnerColumn(),
        TextColumn("{task.completed:,} {task.description}"),
        TextColumn("{task.fields[rate]}"),
        TimeElapsedColumn(),
        console=Console(stderr=True),
        transient=True,
        disable=quiet or not sys.stderr.isatty(),
    )
    task = progress.add_task(what, total=None, rate="")

    def show(count: int) -> None:
        elapsed = progress.tasks[0].elapsed or 0.0
        progress.update(task, completed=count, rate=f"{count / elapsed:,.0f}/s" if elapsed > 0.2 else "")

    with progress:
        yield show
