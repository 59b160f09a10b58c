"""A counter or a bar on the terminal for work that may take long; a plain line now and then elsewhere."""

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
    """How many there are now, and how fast; ``waiting`` before there is one."""

    def __init__(self, what: str, waiting: str) -> None:
        super().__init__()
        self.count = 0
        self._what = what
        self._waiting = waiting

    def render(self, task: Task) -> Text:
        """The text for this moment: rich asks ten times a second."""
        if not self.count and self._waiting:
            return plain(self._waiting)
        rate = f"  {self.count / task.elapsed:,.0f}/s" if task.elapsed and task.elapsed > 0.2 else ""
        return plain(f"{self.count:,} {self._what}{rate}")


@contextmanager
def counting(
    what: str, *, total: int | None = None, quiet: bool = False, waiting: str = ""
) -> Iterator[Callable[[int], None]]:
    """Show how many there were and how fast; call what comes with the number so far, as often as it changes.

    With ``total`` a terminal shows a bar. ``quiet`` where the terminal is used for something else. ``waiting`` is shown
    as long as there is none. In a pipe there is a line on standard error every few seconds, and none for work that is
    done at once.
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
    """Show on a terminal that something goes on of which nobody knows how far it is."""
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
