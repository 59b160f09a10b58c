"""A wire with a delay: actions are run later, in order, on one thread."""

import threading
import time
from collections import deque
from collections.abc import Callable

from jmsbridge.testing.proxy import Direction

__all__ = ["Wire"]


class Wire:
    """Carries actions in both directions; each is called ``delay`` seconds after it was given.

    Actions run on the wire's thread, without its lock.
    """

    def __init__(self, delay: float, name: str) -> None:
        self._delay = delay
        self._more = threading.Condition()  # guards all below
        self._lines: dict[Direction, deque[tuple[float, Callable[[], None]]]] = {way: deque() for way in Direction}
        self._frozen: set[Direction] = set()
        self._ended = False
        self._thread = threading.Thread(target=self._run, name=f"jmsbridge-{name}-io", daemon=True)
        self._thread.start()

    def carry(self, direction: Direction, action: Callable[[], None]) -> None:
        """Put an action on the wire; dropped when the wire has ended."""
        with self._more:
            if not self._ended:
                self._lines[direction].append((time.monotonic() + self._delay, action))
                self._more.notify()

    def freeze(self, directions: set[Direction]) -> None:
        """Stop these directions for good."""
        with self._more:
            self._frozen |= directions

    def tear(self, action: Callable[[], None]) -> None:
        """Drop everything that is on the wire; run this action next, and none after it."""
        with self._more:
            if self._ended:
                return
            self._clear()
            self._frozen = {Direction.OUT}
            self._lines[Direction.IN].append((time.monotonic() + self._delay, action))
            self._more.notify()

    def end(self) -> None:
        """Drop everything that is on the wire, and end its thread. Idempotent."""
        with self._more:
            self._ended = True
            self._clear()
            self._more.notify()
        if threading.current_thread() is not self._thread:
            self._thread.join(10)

    def _clear(self) -> None:
        for line in self._lines.values():
            line.clear()

    def _run(self) -> None:
        while (action := self._next()) is not None:
            action()

    def _next(self) -> Callable[[], None] | None:
        with self._more:
            while not self._ended:
                lines = [line for way, line in self._lines.items() if line and way not in self._frozen]
                first = min(lines, key=lambda line: line[0][0], default=None)
                wait = None if first is None else first[0][0] - time.monotonic()
                if first is not None and wait is not None and wait <= 0:
                    return first.popleft()[1]
                self._more.wait(wait)
            return None
