"""Which sends of a channel the broker has not answered yet, where it answers by number. Pure.

Answers come singly or for all up to a number, and in any order.
"""

from collections.abc import Iterator
from itertools import islice
from typing import Generic, TypeVar

__all__ = ["NumberedAnswers"]

T = TypeVar("T")

_COMPACT = 64
_MOST = 10_000
_SPAN = 100_000


class NumberedAnswers(Generic[T]):
    """Entries by their number, which counts from 1 on each channel."""

    def __init__(self) -> None:
        self._entries: list[T | None] = []
        self._start()

    def _start(self) -> None:
        self._first = 1  # the number of _entries[0]
        self._head = 0  # everything before this index is answered
        self._entries.clear()
        self._open = 0

    def __len__(self) -> int:
        """How many are not answered."""
        return self._open

    @property
    def is_full(self) -> bool:
        """Whether no more should be sent: too many are not answered, or were sent since the first of those."""
        return self._open >= _MOST or len(self._entries) - self._head >= _SPAN

    def sent(self, entry: T) -> int:
        """Remember a send; its number."""
        self._entries.append(entry)
        self._open += 1
        return self._first + len(self._entries) - 1

    def take_back(self) -> None:
        """The last send was not written after all; its number goes to the next."""
        self._entries.pop()
        self._open -= 1

    def answered(self, number: int, multiple: bool) -> list[T]:
        """The entries that an answer settles, in sending order; what is unknown or answered already is left out."""
        entries = self._entries
        index = number - self._first
        if index >= len(entries) or index < self._head:
            return []
        if multiple:
            found = [entry for entry in entries[self._head : index + 1] if entry is not None]
            self._head = index + 1
        else:
            entry = entries[index]
            found = [] if entry is None else [entry]
            entries[index] = None
            while self._head < len(entries) and entries[self._head] is None:
                self._head += 1
        self._open -= len(found)
        if multiple or self._head >= _COMPACT:  # nothing answered is kept
            self._first += self._head
            del entries[: self._head]
            self._head = 0
        return found

    def waiting(self) -> Iterator[T]:
        """All entries that are not answered, in sending order."""
        return (entry for entry in islice(self._entries, self._head, None) if entry is not None)

    def give_up(self) -> list[T]:
        """The same, and forget them: the channel is gone."""
        found = list(self.waiting())
        self._start()
        return found
