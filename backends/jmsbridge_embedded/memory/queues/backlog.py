"""Waiting messages in delivery order."""

from bisect import bisect_left, bisect_right
from collections import deque
from collections.abc import Iterator, Sequence
from itertools import islice
from operator import attrgetter
from typing import Any, Final

import msgspec

from jmsbridge.spi import Envelope

__all__ = ["CHUNK", "GONE", "Backlog", "Entry"]

GONE: Final = object()
"""``Entry.holder`` of a message that is settled, expired or moved."""

CHUNK: Final = 64
"""Messages per piece of a backlog; up to twice as many after insertions."""

_key: Final = attrgetter("key")


class Entry(msgspec.Struct, gc=False, eq=False):
    """One message in one queue or subscription; also the token of its arrivals.

    ``holder`` is None while it waits, the consumer while it is delivered and unsettled, then ``GONE``. ``count`` is the
    number of finished deliveries, ``failures`` how many of those failed. ``places`` are the backlogs that contain it;
    None stands for the queue's ``main`` alone. Not tracked by the garbage collector: settling or closing breaks the
    cycle of entry and holder.
    """

    envelope: Envelope
    key: int
    count: int = 0
    holder: object | None = None
    places: "tuple[Backlog, ...] | None" = None
    failures: int = 0


def _last_key(chunk: Sequence[Entry]) -> int:
    return chunk[-1].key


class Backlog:
    """Entries in key order, each once. Not locked.

    They are kept in pieces (``chunks``), so that each operation is short however many there are, and so that a walk can
    continue after other threads made changes. A piece is empty only if it is the only one. The first and the last are
    deques; those between are tuples, which the garbage collector visits only once. Entries that no longer wait may
    remain until ``peek`` or ``drop`` removes them. Every change is one operation of a list or deque and may be
    repeated, so that an interrupt leaves none half done.
    """

    __slots__ = ("chunks",)

    def __init__(self) -> None:
        self.chunks: list[Any] = [deque()]

    def __len__(self) -> int:
        return sum(map(len, self.chunks))

    def __iter__(self) -> Iterator[Entry]:
        """The waiting entries."""
        return (entry for chunk in self.chunks for entry in chunk if entry.holder is None)

    def push(self, entry: Entry) -> None:
        """Insert an entry, unless it is here already."""
        chunks, key = self.chunks, entry.key
        tail = chunks[-1]
        if not tail or tail[-1].key < key:
            if len(tail) < CHUNK:
                tail.append(entry)
            elif len(chunks) == 1:
                chunks.append(deque((entry,)))
            else:
                chunks[-1:] = (tuple(tail), deque((entry,)))
            return
        front = chunks[0]
        if key < front[0].key:
            if len(front) < CHUNK:
                front.appendleft(entry)
            else:
                chunks[:1] = (deque((entry,)), front if len(chunks) == 1 else tuple(front))
            return
        at = bisect_left(chunks, key, key=_last_key)
        chunk = chunks[at]
        place = bisect_left(chunk, key, key=_key)
        if chunk[place] is not entry:
            entries = [*islice(chunk, place), entry, *islice(chunk, place, None)]
            half = len(entries) if len(entries) <= 2 * CHUNK else CHUNK
            self._replace(at, entries[:half], entries[half:])

    def peek(self) -> Entry | None:
        """The first waiting entry, without removing it."""
        chunks = self.chunks
        while True:
            front = chunks[0]
            if not front:
                return None
            entry: Entry = front[0]
            if entry.holder is None:
                return entry
            if len(front) > 1 or len(chunks) == 1:
                front.popleft()
            elif len(chunks) == 2:
                del chunks[0]
            else:
                chunks[:2] = (deque(chunks[1]),)

    def remove(self, entry: Entry) -> None:
        """Remove an entry, if it is here."""
        chunks, key = self.chunks, entry.key
        tail = chunks[-1]
        if not tail or tail[-1].key < key:
            return
        front = chunks[0]
        if front[0] is entry and len(front) > 1:
            front.popleft()
            return
        at = bisect_left(chunks, key, key=_last_key)
        chunk = chunks[at]
        place = bisect_left(chunk, key, key=_key)
        if chunk[place] is entry:
            self._replace(at, [*islice(chunk, place), *islice(chunk, place + 1, None)])

    def page(self, after: int) -> list[Entry]:
        """Some of the entries after that key, whether or not they still wait; an empty list at the end."""
        chunks = self.chunks
        tail = chunks[-1]
        if not tail or tail[-1].key <= after:
            return []
        chunk = chunks[bisect_right(chunks, after, key=_last_key)]
        if chunk[0].key > after:
            return list(chunk)
        return list(islice(chunk, bisect_right(chunk, after, key=_key), None))

    def drop(self, entries: Sequence[Entry]) -> None:
        """Remove entries that no longer wait, given in order; other such entries may be removed as well."""
        chunks = self.chunks
        after, last = entries[0].key - 1, entries[-1].key
        while after < last and chunks[-1] and chunks[-1][-1].key > after:
            at = bisect_right(chunks, after, key=_last_key)
            chunk = chunks[at]
            after = chunk[-1].key
            self._replace(at, [entry for entry in chunk if entry.holder is None])

    def _replace(self, at: int, *pieces: list[Entry]) -> None:
        """Replace one piece."""
        chunks = self.chunks
        low, high, last = at, at + 1, len(chunks) - 1
        made: list[Sequence[Entry]] = [piece for piece in pieces if piece]
        if not made:
            if not last:
                made = [()]
            elif not at:
                made, high = [chunks[1]], 2
            elif at == last:
                made, low = [chunks[last - 1]], last - 1
        first_made, last_made = low == 0, high > last
        for number, piece in enumerate(made):
            outer = (first_made and number == 0) or (last_made and number == len(made) - 1)
            made[number] = deque(piece) if outer else tuple(piece)
        chunks[low:high] = made
