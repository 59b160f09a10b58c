"""Time, and timers whose actions only wake other threads.

One thread per process, started with the first timer. An action must return at once: it wakes an executor or sets an
event.
"""

import heapq
import itertools
import logging
import threading
import time
from collections.abc import Callable

from jmsbridge.core.runtime.locks import Rank, ranked
from jmsbridge.core.runtime.threads import start_thread
from jmsbridge.core.runtime.waiting import LONGEST_WAIT

__all__ = ["Clock", "Timer", "system"]

log = logging.getLogger("jmsbridge.clock")

_IDLE = 10  # the thread ends after so many LONGEST_WAITs without a timer


class Timer:
    """One scheduled action; ``cancel`` makes it a no-op."""

    __slots__ = ("_clock", "action", "due")

    def __init__(self, clock: "Clock", due: float, action: Callable[[], None]) -> None:
        self._clock = clock
        self.due = due
        self.action: Callable[[], None] | None = action

    def cancel(self) -> None:
        """Do not run it; no effect if it has run."""
        if self.action is not None:
            self.action = None
            self._clock.cancelled += 1


class Clock:
    """Wall-clock milliseconds for headers, a monotonic clock for waits, and timers."""

    def __init__(self) -> None:
        self._ready_lock = ranked(Rank.LEAF)
        self._ready = threading.Condition(self._ready_lock)  # guards _heap and _ident; only this thread waits on it
        self._heap: list[tuple[float, int, Timer]] = []
        self._order = itertools.count()
        self._ident: int | None = None  # of the running thread
        self.cancelled = 0  # about how many timers in the heap were cancelled

    def now_ms(self) -> int:
        """Milliseconds since the epoch."""
        return time.time_ns() // 1_000_000

    def monotonic(self) -> float:
        """Seconds of the monotonic clock."""
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
            running = self._ident is not None
            if running and self._heap[0][2] is timer:
                self._ready.notify()
        if not running:
            start_thread("jmsbridge-clock", self._run)
        return timer

    def _run(self) -> None:
        with self._ready_lock:
            if self._ident is not None:  # two threads were started at once: one is enough
                return
            self._ident = threading.get_ident()
        while (timer := self._wait_due()) is not None:
            action = timer.action
            if action is not None:
                try:
                    action()
                except Exception:
                    log.exception("a timer's action raised")

    def _wait_due(self) -> Timer | None:
        with self._ready_lock:
            idle = 0
            while not self._heap or self._heap[0][0] > self.monotonic():
                idle = 0 if self._heap else idle + 1
                if idle > _IDLE:
                    self._ident = None  # the next timer starts a new thread
                    return None
                wait = self._heap[0][0] - self.monotonic() if self._heap else LONGEST_WAIT
                self._ready.wait(max(0.0, min(wait, LONGEST_WAIT)))
            return heapq.heappop(self._heap)[2]

    def after_fork(self) -> None:
        """In a forked child: the thread does not exist and the lock may be held for ever, so start again."""
        self.__init__()  # type: ignore[misc]


system = Clock()
