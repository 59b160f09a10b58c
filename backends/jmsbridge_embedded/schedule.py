"""What one broker has to do later, and what all its queues share."""

import logging
import threading
from collections.abc import Callable
from heapq import heapify, heappop, heappush
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from jmsbridge_embedded.backlog import Entry
    from jmsbridge_embedded.queue import Queue

__all__ = ["Common", "Schedule"]

_LONGEST_WAIT = 30.0
"""Seconds; the wall clock may be set while the thread waits."""

_log = logging.getLogger("jmsbridge.embedded")


class Schedule:
    """Due times: delayed messages that appear, queues to be swept of expired ones.

    Guarded by the broker's lock, which every method expects to be held. The thread exists only while something is
    scheduled; without ``threaded`` there is none and somebody calls ``run``.
    """

    def __init__(self, name: str, lock: threading.Lock, clock: Callable[[], int], threaded: bool) -> None:
        self._name = name
        self._clock = clock
        self._threaded = threaded
        self._heap: list[tuple[int, int, Queue, Entry | None]] = []
        self._count = 0
        self._wake = threading.Condition(lock)
        self._thread: threading.Thread | None = None

    def __len__(self) -> int:
        return len(self._heap)

    def add(self, due: int, queue: "Queue", entry: "Entry | None") -> None:
        """Show this message, or sweep the queue when there is none, at ``due`` (milliseconds since the epoch)."""
        self._count += 1
        heappush(self._heap, (due, self._count, queue, entry))
        if not self._threaded:
            return
        if self._thread is None:
            name = f"jmsbridge-embedded-{self._name}-io"
            self._thread = threading.Thread(target=self._work, name=name, daemon=True)
            self._thread.start()
        elif self._heap[0][1] == self._count:
            self._wake.notify()

    def run(self, now: int) -> None:
        """Do everything that is due."""
        heap = self._heap
        while heap and heap[0][0] <= now:
            due, _, queue, entry = heappop(heap)
            if entry is None:
                queue.sweep(due, now)
            else:
                queue.appear(entry, now)

    def forget(self, queue: "Queue") -> None:
        """Drop everything about a queue that is gone."""
        self._heap = [item for item in self._heap if item[2] is not queue]
        heapify(self._heap)
        self._wake.notify()

    def clear(self) -> None:
        """Drop everything; the thread ends."""
        self._heap.clear()
        self._wake.notify()

    def _work(self) -> None:
        with self._wake:
            try:
                while self._heap:
                    now = self._clock()
                    self.run(now)
                    if self._heap:
                        self._wake.wait(min(_LONGEST_WAIT, max(0.0, (self._heap[0][0] - now) / 1000)))
            except Exception:
                _log.exception("embedded broker %r: the timer failed; the next delayed message restarts it", self._name)
            finally:
                self._thread = None


class Common:
    """What all queues of one broker share: the clock, the schedule, and the number of stored messages.

    ``stored`` counts waiting, delayed and unsettled messages and the sends held by open transactions. ``lock`` is the
    broker's one lock; it guards everything below the border.
    """

    __slots__ = ("clock", "lock", "name", "schedule", "stored")

    def __init__(self, name: str, clock: Callable[[], int], threaded: bool) -> None:
        self.name = name
        self.clock = clock
        self.lock = threading.Lock()
        self.schedule = Schedule(name, self.lock, clock, threaded)
        self.stored = 0

    def catch_up(self) -> None:
        """Do what is due already, so that an answer given now is right to the millisecond."""
        if len(self.schedule):
            self.schedule.run(self.clock())
