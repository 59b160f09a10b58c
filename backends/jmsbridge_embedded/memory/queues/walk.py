"""Iterating over backlogs while other threads may change them."""

from collections.abc import Sequence

from jmsbridge_embedded.memory.queues.backlog import Backlog, Entry
from jmsbridge_embedded.order import SEQUENCE

__all__ = ["Walk"]


class Walk:
    """The entries that are in some backlogs when the walk begins, in order, page by page; newer ones are left out.

    The broker's lock is held for each page and may be released between two. A message that returns to its place
    meanwhile is shown if the walk has not passed that place.
    """

    __slots__ = ("_after", "_newest", "done")

    def __init__(self, newest: int) -> None:
        self._after = -1
        self._newest = newest
        self.done = False

    def page(self, backlogs: Sequence[Backlog]) -> list[Entry]:
        """The next waiting entries; the list may be empty before the walk is ``done``."""
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
                upto = entry.key | SEQUENCE  # the rest of this priority is newer, too
                break
            if entry.holder is None:
                shown.append(entry)
        self._after = upto
        return shown

    def has_passed(self, entry: Entry) -> bool:
        """Whether the walk will not show the entry any more."""
        return self.done or entry.key <= self._after or entry.key & SEQUENCE > self._newest
