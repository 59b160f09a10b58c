"""What one broker has to do later, or bit by bit."""

import logging
import threading
import time
from _thread import start_new_thread
from collections import deque
from collections.abc import Iterator
from contextlib import suppress
from heapq import heapify, heappop, heappush
from typing import TYPE_CHECKING

from jmsbridge_embedded.memory.queues.walk import PAUSE, do_slice

if TYPE_CHECKING:
    from jmsbridge_embedded.memory.queues.contents import Contents
    from jmsbridge_embedded.memory.queues.state import Common

__all__ = ["Alarm", "Schedule"]

_LONGEST_WAIT = 30.0
"""Seconds; the wall clock may be set while the thread waits."""

_log = logging.getLogger("jmsbridge.embedded")


class Alarm:
    """A time (milliseconds since the epoch) at which a queue wants to be called; without a queue it was called off."""

    __slots__ = ("due", "queue")

    def __init__(self, due: int, queue: "Contents") -> None:
        self.due = due
        self.queue: Contents | None = queue


class Schedule:
    """Alarms of queues, and jobs that are done in slices.

    Guarded by the broker's lock, which every method expects to be held. The thread exists only while there is
    something to do; without ``threaded`` there is none and somebody calls ``run``.
    """

    def __init__(self, common: "Common", threaded: bool) -> None:
        self._common = common
        self._threaded = threaded
        self._heap: list[tuple[int, int, Alarm]] = []
        self._jobs: deque[Iterator[None]] = deque()
        self._count = 0
        self._off = 0
        self._wake = threading.Condition(common.lock)
        self._thread: threading.Thread | None = None

    def __len__(self) -> int:
        return sum(alarm.queue is not None for _, _, alarm in self._heap)

    def set(self, queue: "Contents", due: int) -> None:
        """Call this queue at ``due``, and no more when it wanted to be called before."""
        self._count += 1
        alarm, before = Alarm(due, queue), queue.alarm
        heappush(self._heap, (due, self._count, alarm))
        queue.alarm = alarm
        self.call_off(before)
        if self._heap[0][2] is alarm:
            self.nudge()

    def call_off(self, alarm: Alarm | None) -> None:
        """Forget an alarm; what it was for is not kept until its time."""
        if alarm is None or alarm.queue is None:
            return
        alarm.queue = None
        self._off += 1
        if 2 * self._off > len(self._heap) + 64:
            heap = [item for item in self._heap if item[2].queue is not None]
            heapify(heap)
            self._heap, self._off = heap, 0

    def start(self, job: Iterator[None]) -> None:
        """Do a job bit by bit: the lock is let go between two slices."""
        self._jobs.append(job)
        self.nudge()

    def nudge(self) -> None:
        """See that the thread is there, and looks at what there is to do now."""
        if not self._threaded or not (self._heap or self._jobs):
            return
        if self._thread is None:
            with suppress(RuntimeError):  # the interpreter ends
                start_new_thread(self._begin, ())
        else:
            self._wake.notify()

    def run(self, now: int) -> None:
        """Do everything that is due, jobs to their ends."""
        while self._call(now) or self._jobs:
            self._work()

    def clear(self) -> None:
        """Drop everything; the thread ends."""
        for _, _, alarm in self._heap:
            alarm.queue = None
        self._heap = []
        self._off = 0
        self._jobs.clear()
        self._wake.notify()

    def _call(self, now: int) -> bool:
        """Call the queues whose time has come; whether there were any."""
        called = False
        while self._heap and (self._heap[0][0] <= now or self._heap[0][2].queue is None):
            queue = heappop(self._heap)[2].queue
            if queue is None:
                self._off = max(0, self._off - 1)
            else:
                called = True
                queue.alarm = None
                queue.wake(now)
        return called

    def _work(self) -> bool:
        """Go on with the first job, after which it is the turn of the next; whether one is left."""
        if self._jobs:
            if next(self._jobs[0], self) is self:
                self._jobs.popleft()
            else:
                self._jobs.rotate(-1)
        return bool(self._jobs)

    def _begin(self) -> None:
        """Begin the thread, on one that is begun for that: to wait for it is nothing for one that signals interrupt."""
        with self._common.lock:
            if self._thread is None and (self._heap or self._jobs):
                name = f"jmsbridge-embedded-{self._common.name}-io"
                self._thread = threading.Thread(target=self._serve, name=name, daemon=True)
                self._thread.start()

    def _serve(self) -> None:
        try:
            while self._turn():
                time.sleep(PAUSE)  # sleep: gives way between slices
        except Exception:
            _log.exception("embedded broker %r: the timer failed; the next alarm restarts it", self._common.name)
            with self._common.lock:
                self._thread = None

    def _turn(self) -> bool:
        """One slice of work, or the wait until there is some; whether there will be more."""
        with self._wake:
            self._common.mend()
            now = self._common.clock()
            self._call(now)
            busy = do_slice(self._work)
            self._common.step = None
            if busy:
                return True
            if not self._heap:
                self._thread = None
                return False
            self._wake.wait(min(_LONGEST_WAIT, max(0.0, (self._heap[0][0] - now) / 1000)))
            return True
