"""Progress for the user: one changing line on a terminal, plain lines in a pipe."""

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager

from rich.console import Console

from integration.lab.fetching.install import Say

__all__ = ["doing", "stderr"]


def stderr() -> Console:
    """The console for standard error; created late, so that redirections apply."""
    return Console(stderr=True, highlight=False, soft_wrap=True)


@contextmanager
def doing(what: str, done: str = "done") -> Iterator[Say]:
    """Show work that takes seconds to minutes, and its duration; the block gets a function that names its step."""
    console, begin = stderr(), time.monotonic()
    if sys.stderr.isatty():
        with console.status(what) as status:
            yield lambda text: status.update(f"{what}: {text}")
    else:
        yield lambda text: console.print(f"{what}: {text}", markup=False)
    console.print(f"{what}: {done} ({time.monotonic() - begin:.1f} s)", markup=False)
