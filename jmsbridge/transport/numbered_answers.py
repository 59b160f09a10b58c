"""The unanswered sends of a channel whose broker answers by number. No I/O, no threads.

An answer is for one number or for all up to that number; answers come in any order.
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
    """Entries by number; numbers count from 1 on each channel."""

    def __init__(self) -> None:
        self._entries: list[T | None] = []
        self._start()

    def _start(self) -> None:
        self._first = 1  # the number of _entries[0]
        self._head = 0  # everything before this index is answered
        self._entries.clear()
        self._open = 0

    def __len__(self) -> int:
        """The number of unanswered sends."""
        return self._open

    @property
    def is_full(self) -> bool:
        """Whether to send no more: too many are unanswered, or too many were made since the oldest unanswered one."""
        return self._open >= _MOST or len(self._entries) - self._head >= _SPAN

    def sent(self, entry: T) -> int:
        """Add a send and return its number."""
        self._entries.append(entry)
        self._open += 1
        return self._first + len(self._entries) - 1

    def take_back(self) -> None:
        """Remove the last send, which was not written; the next one gets its number."""
        self._entries.pop()
        self._open -= 1

    def answered(self, number: int, multiple: bool) -> list[T]:
        """Remove and return the entries that an answer is for, in sending order; none for an unknown number."""
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
        if multiple or self._head >= _COMPACT:  # drop the answered entries
            self._first += self._head
            del entries[: self._head]
            self._head = 0
        return found

    def waiting(self) -> Iterator[T]:
        """All unanswered entries, in sending order."""
        return (entry for entry in islice(self._entries, self._head, None) if entry is not None)

    def give_up(self) -> list[T]:
        """Remove and return all unanswered entries: the channel has ended."""
        found = list(self.waiting())
        self._start()
        return found
