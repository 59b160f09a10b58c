"""Time, and timers that only enqueue.

One thread per process, started with the first timer. A timer's action must return at once: it wakes a lane or sets an
event.
"""

import heapq
import itertools
import logging
import threading
import time
from collections.abc import Callable

from jmsbridge.core.locks import Rank, ranked

__all__ = ["LONGEST_WAIT", "Clock", "Timer", "remaining", "system"]

log = logging.getLogger("jmsbridge.clock")

LONGEST_WAIT = 3600.0
"""Seconds; waits are cut into pieces of at most this length, since the platform refuses very long ones."""


_IDLE = 10.0  # seconds


class Timer:
    """One scheduled action; ``cancel`` makes it a no-op."""

    __slots__ = ("_clock", "action", "due")

    def __init__(self, clock: "Clock", due: float, action: Callable[[], None]) -> None:
        self._clock = clock
        self.due = due
        self.action: Callable[[], None] | None = action

    def cancel(self) -> None:
        """Never run it; harmless when it has run."""
        if self.action is not None:
            self.action = None
            self._clock.cancelled += 1


class Clock:
    """Wall-clock milliseconds for headers, a monotonic clock for waits, and timers."""

    def __init__(self) -> None:
        self._ready_lock = ranked(Rank.LEAF)
        self._ready = threading.Condition(self._ready_lock)  # guards _heap and _thread
        self._heap: list[tuple[float, int, Timer]] = []
        self._order = itertools.count()
        self._thread: threading.Thread | None = None
        self.cancelled = 0  # about how many of the heap were cancelled

    def now_ms(self) -> int:
        """Milliseconds since the epoch."""
        return time.time_ns() // 1_000_000

    def monotonic(self) -> float:
        """Seconds that never run backwards."""
        return time.monotonic()

    def call_later(self, delay: float, action: Callable[[], None]) -> Timer:
        """Run ``action`` on the clock thread after ``delay`` seconds."""
        timer = Timer(self, self.monotonic() + delay, action)
        with self._ready_lock:
            if self.cancelled > 100 and self.cancelled > len(self._heap) // 2:
                self._heap = [entry for entry in self._heap if entry[2].action is not None]
                heapq.heapify(self._heap)
                self.cancelled = 0
            heapq.heappush(self._heap, (timer.due, next(self._order), timer))
            if self._thread is None:
                thread = threading.Thread(target=self._run, name="jmsbridge-clock", daemon=True)
                thread.start()
                self._thread = thread
            elif self._heap[0][2] is timer:
                self._ready.notify()
        return timer

    def _run(self) -> None:
        while True:
            with self._ready_lock:
                while not self._heap or self._heap[0][0] > self.monotonic():
                    wait = self._heap[0][0] - self.monotonic() if self._heap else _IDLE
                    if not self._ready.wait(min(wait, LONGEST_WAIT)) and not self._heap:
                        self._thread = None  # nothing to do for a while: the next timer starts a new thread
                        return
                action = heapq.heappop(self._heap)[2].action
            if action is not None:
                try:
                    action()
                except Exception:
                    log.exception("a timer's action raised")

    def after_fork(self) -> None:
        """In a forked child: the thread is gone and the lock may be held for ever; start afresh."""
        self.__init__()  # type: ignore[misc]


def remaining(clock: Clock, deadline: float | None) -> float | None:
    """Seconds until a monotonic deadline, at least 0; None for none."""
    return None if deadline is None else max(0.0, deadline - clock.monotonic())


system = Clock()
