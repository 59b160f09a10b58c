"""Telling the user what goes on: one moving line on a terminal, plain lines in a pipe."""

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager

from rich.console import Console

from integration.lab.fetching.install import Say

__all__ = ["doing", "stderr"]


def stderr() -> Console:
    """The console for everything that is not output; made late, so that it sees redirections."""
    return Console(stderr=True, highlight=False, soft_wrap=True)


@contextmanager
def doing(what: str, done: str = "done") -> Iterator[Say]:
    """Work that takes seconds to minutes; what comes says which step it is at. Ends with a line of how long it took."""
    console, begin = stderr(), time.monotonic()
    if sys.stderr.isatty():
        with console.status(what) as status:
            yield lambda text: status.update(f"{what}: {text}")
    else:
        yield lambda text: console.print(f"{what}: {text}", markup=False)
    console.print(f"{what}: {done} ({time.monotonic() - begin:.1f} s)", markup=False)
