"""The unsettled deliveries of a channel, so that settlements can be joined into ranges. No I/O, no threads.

A multiple settlement applies to every delivery up to its number, so it is used only where none of them is unsettled or
is to be settled in another way.
"""

from collections.abc import Iterable
from typing import Final

__all__ = ["AcknowledgementRanges"]

_GONE: Final = 0
_OPEN: Final = 1
_ACCEPTED: Final = 2
_REQUEUED: Final = 3

_COMPACT = 1024


class AcknowledgementRanges:
    """Delivery tags count from 1 on each channel, without gaps."""

    def __init__(self) -> None:
        self._first = 1
        self._head = 0
        self._states = bytearray()
        self._accepted: list[int] = []
        self._open = 0

    def __len__(self) -> int:
        """The number of open deliveries."""
        return self._open

    def arrived(self, tag: int) -> None:
        """The broker delivered this one."""
        states = self._states
        missing = tag - self._first - len(states)
        if missing > 0:
            states += bytes(missing)
        states.append(_OPEN)
        self._open += 1

    def accept(self, tag: int) -> bool:
        """Acknowledge with the next ``take``; false if it is not open."""
        index = tag - self._first
        if not 0 <= index < len(self._states) or self._states[index] != _OPEN:
            return False
        self._states[index] = _ACCEPTED
        self._accepted.append(tag)
        self._open -= 1
        return True

    def is_open(self, tag: int) -> bool:
        """Whether it arrived and is not settled."""
        index = tag - self._first
        return 0 <= index < len(self._states) and self._states[index] == _OPEN

    def requeue(self, tags: Iterable[int]) -> list[tuple[int, bool]]:
        """Stop tracking those of these that are open; the result is what to requeue, in order, as that of ``take``."""
        requeued = [tag for tag in tags if self.is_open(tag)]
        for tag in requeued:
            self._states[tag - self._first] = _REQUEUED
        self._open -= len(requeued)
        return self._join(requeued, _REQUEUED)

    def take(self) -> list[tuple[int, bool]]:
        """The acknowledgements to write: each a tag, and whether it settles all deliveries before it as well."""
        if not self._accepted:
            return []
        accepted, self._accepted = self._accepted, []
        return self._join(accepted, _ACCEPTED)

    def _join(self, tags: list[int], state: int) -> list[tuple[int, bool]]:
        states, head = self._states, self._head
        last, count = 0, 0
        while head < len(states) and states[head] in (_GONE, state):
            if states[head] == state:
                states[head] = _GONE
                last, count = self._first + head, count + 1
            head += 1
        self._head = head
        singles = sorted(tag for tag in tags if tag > last)
        for tag in singles:
            states[tag - self._first] = _GONE
        if head >= _COMPACT and head * 2 > len(states):
            del states[:head]
            self._first += head
            self._head = 0
        found = [(last, count > 1)] if count else []
        return found + [(tag, False) for tag in singles]
