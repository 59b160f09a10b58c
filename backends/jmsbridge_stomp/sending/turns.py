"""Ends the transactions of a socket one after the other. For the I/O thread."""

from collections import deque
from collections.abc import Callable

__all__ = ["Turns"]


class Turns:
    """Those of one socket."""

    def __init__(self) -> None:
        self._waiting: deque[Callable[[], None]] = deque()
        self._is_taken = False
        self._is_passing = False  # the turn, to the next one

    def take(self, task: Callable[[], None]) -> None:
        """Run this when it is its turn, which lasts until ``leave``."""
        self._waiting.append(task)
        self._pass()

    def leave(self) -> None:
        """The one whose turn it is has ended."""
        self._is_taken = False
        self._pass()

    def _pass(self) -> None:
        """A loop, since with a dead socket each of a thousand may end at once."""
        if self._is_passing:
            return
        self._is_passing = True
        while self._waiting and not self._is_taken:
            self._is_taken = True
            self._waiting.popleft()()
        self._is_passing = False
