"""Long work on long queues, in short slices: others have the broker's lock in between."""

import time
from collections.abc import Callable, Sequence
from time import perf_counter
from typing import TYPE_CHECKING, Final

from jmsbridge_embedded.memory.queues.backlog import Backlog, Entry
from jmsbridge_embedded.order import SEQUENCE

if TYPE_CHECKING:
    from jmsbridge_embedded.memory.queues.state import Common

__all__ = ["PAUSE", "Walk", "do_slice", "in_slices"]

_SLICE: Final = 0.001
"""Seconds of work under the lock."""

PAUSE: Final = 0.0001
"""Seconds between two slices. To let go of the lock is not enough: a thread that waits for it needs the interpreter's
lock too, which a thread that goes on working keeps for 5 ms."""


class Walk:
    """The entries that are in some backlogs when it begins, in order, page by page; newer ones are left out.

    Each page is taken with the broker's lock held, which may be let go in between: what goes back to a place that was
    passed is not shown again, what goes back to one ahead is.
    """

    __slots__ = ("_after", "_newest", "done")

    def __init__(self, newest: int) -> None:
        self._after = -1
        self._newest = newest
        self.done = False

    def page(self, backlogs: Sequence[Backlog]) -> list[Entry]:
        """The next ones that wait; it may be empty before the walk is ``done``."""
        pages = [page for page in [backlog.page(self._after) for backlog in backlogs] if page]
        if not pages:
            self.done = True
            return []
        if len(pages) == 1:
            entries = pages[0]
            upto = entries[-1].key
        else:
            upto = min(page[-1].key for page in pages)
            found = {entry.key: entry for page in pages for entry in page if entry.key <= upto}
            entries = [found[key] for key in sorted(found)]
        shown = []
        for entry in entries:
            if entry.key & SEQUENCE > self._newest:
                upto = entry.key | SEQUENCE  # all others of this priority are newer still
                break
            if entry.holder is None:
                shown.append(entry)
        self._after = upto
        return shown

    def has_passed(self, entry: Entry) -> bool:
        """Whether the walk is not going to show the entry any more."""
        return self.done or entry.key <= self._after or entry.key & SEQUENCE > self._newest


def in_slices(common: "Common", step: Callable[[], bool]) -> None:
    """Call ``step`` with the broker's lock held until it says that nothing is left to do; others go between."""
    more = True
    while more:
        with common.lock:
            if common.step is not None:
                common.mend()
            more = do_slice(step)
            common.step = None
        if more:
            time.sleep(PAUSE)  # sleep: gives way


def do_slice(step: Callable[[], bool]) -> bool:
    """Call ``step`` for about a millisecond; whether there is more to do."""
    until = perf_counter() + _SLICE
    while step():
        if perf_counter() >= until:
            return True
    return False
