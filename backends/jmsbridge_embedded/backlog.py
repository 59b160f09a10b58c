"""Messages that wait, in the order in which they are to be delivered."""

from collections import deque
from heapq import heapify, heappop, heappush
from typing import TYPE_CHECKING, Final

import msgspec

from jmsbridge.spi import Envelope

if TYPE_CHECKING:
    from jmsbridge.selectors import Selector

__all__ = ["GONE", "Backlog", "Entry", "in_order", "key_of"]

GONE: Final = object()
"""``Entry.holder`` of a message that is settled, expired or moved."""

_BASES: Final = tuple((9 - priority) << 50 for priority in range(10))


def key_of(priority: int, sequence: int) -> int:
    """The place of a message: higher priorities first, then the order in which they came."""
    return _BASES[priority] + sequence


class Entry(msgspec.Struct, gc=False, eq=False):
    """One message in one queue or subscription; also the token of its arrivals.

    ``holder`` is None while it waits, the consumer while it is delivered and unsettled, then ``GONE``. ``count``
    counts the deliveries that failed. Not tracked by the garbage collector: settling or closing breaks the cycle
    of entry and holder.
    """

    envelope: Envelope
    key: int
    count: int = 0
    holder: object | None = None


class Backlog:
    """An ordered view of the waiting messages of one queue: of all, or of those that a selector matches.

    A message may stand in several views. It is removed only from the one that it is taken from, and skipped in the
    others because its holder is set; ``compact`` throws such leftovers away. Messages come nearly always in order, so
    they are appended to ``run``; the exceptions (priorities, messages given back) go to ``heap``. No lock of its own.
    """

    __slots__ = ("heap", "run", "selector", "users")

    def __init__(self, selector: "Selector | None" = None) -> None:
        self.run: deque[Entry] = deque()
        self.heap: list[tuple[int, Entry]] = []
        self.selector = selector
        self.users = 0

    def __len__(self) -> int:
        return len(self.run) + len(self.heap)

    def matches(self, envelope: Envelope) -> bool:
        """Whether the message belongs in this view."""
        return self.selector is None or self.selector.matches_envelope(envelope)

    def push(self, entry: Entry) -> None:
        """Put a waiting message in its place."""
        run = self.run
        if not run or run[-1].key < entry.key:
            run.append(entry)
        else:
            heappush(self.heap, (entry.key, entry))

    def peek(self) -> Entry | None:
        """The first waiting message, which stays."""
        run, heap = self.run, self.heap
        while run and run[0].holder is not None:
            run.popleft()
        while heap and heap[0][1].holder is not None:
            heappop(heap)
        if heap and (not run or heap[0][0] < run[0].key):
            return heap[0][1]
        return run[0] if run else None

    def take(self) -> Entry | None:
        """The first waiting message, taken out."""
        run, heap = self.run, self.heap
        while True:
            if heap and (not run or heap[0][0] < run[0].key):
                entry = heappop(heap)[1]
            elif run:
                entry = run.popleft()
            else:
                return None
            if entry.holder is None:
                return entry

    def waiting(self) -> list[Entry]:
        """All waiting messages in order."""
        if not self.heap:
            return [entry for entry in self.run if entry.holder is None]
        return in_order([*self.run, *(entry for _, entry in self.heap)])

    def compact(self) -> None:
        """Throw leftovers away."""
        waiting = self.waiting()
        self.heap.clear()
        self.run.clear()
        self.run.extend(waiting)

    def push_all(self, entries: list[Entry]) -> None:
        """Put many messages in their places at once."""
        if len(entries) * 4 < len(self.heap) or len(entries) < 8:
            for entry in entries:
                self.push(entry)
        else:
            self.heap.extend((entry.key, entry) for entry in entries)
            heapify(self.heap)


def in_order(entries: list[Entry]) -> list[Entry]:
    """The waiting ones among these, each once, in order."""
    return [entry for _, entry in sorted({entry.key: entry for entry in entries if entry.holder is None}.items())]
