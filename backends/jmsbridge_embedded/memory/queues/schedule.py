"""Timed calls of one broker, and jobs that it does in slices."""

import logging
import threading
import time
from _thread import start_new_thread
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import suppress
from heapq import heapify, heappop, heappush

from jmsbridge_embedded.memory.queues.slices import PAUSE, do_slice
from jmsbridge_embedded.memory.queues.state import BrokerState

__all__ = ["Alarm", "Schedule"]

_LONGEST_WAIT = 30.0
"""Seconds; bounded because the wall clock may be changed while the thread waits."""

_log = logging.getLogger("jmsbridge.embedded")


class Alarm:
    """A function to call at ``due`` (milliseconds since the epoch); ``act`` is None once called or called off."""

    __slots__ = ("act", "due")

    def __init__(self, due: int, act: Callable[[int], None]) -> None:
        self.due = due
        self.act: Callable[[int], None] | None = act


class Schedule:
    """Alarms, and jobs that are done in slices.

    The broker's lock is held in every method. The thread exists only while there is something to do; without
    ``threaded`` there is none, and ``run`` has to be called.
    """

    def __init__(self, state: BrokerState, threaded: bool) -> None:
        self._state = state
        self._threaded = threaded
        self._heap: list[tuple[int, int, Alarm]] = []
        self._jobs: deque[Iterator[None]] = deque()
        self._count = 0
        self._off = 0
        self._wake = threading.Condition(state.lock)
        self._thread: threading.Thread | None = None

    def __len__(self) -> int:
        return sum(alarm.act is not None for _, _, alarm in self._heap)

    def set(self, due: int, act: Callable[[int], None]) -> Alarm:
        """Call ``act`` at ``due``, with the time of the call."""
        self._count += 1
        alarm = Alarm(due, act)
        heappush(self._heap, (due, self._count, alarm))
        if self._heap[0][2] is alarm:
            self.nudge()
        return alarm

    def call_off(self, alarm: Alarm | None) -> None:
        """Cancel an alarm, and drop the reference to its function."""
        if alarm is None or alarm.act is None:
            return
        alarm.act = None
        self._off += 1
        if 2 * self._off > len(self._heap) + 64:
            heap = [item for item in self._heap if item[2].act is not None]
            heapify(heap)
            self._heap, self._off = heap, 0

    def start(self, job: Iterator[None]) -> None:
        """Run a job in slices; the lock is released between two of them."""
        self._jobs.append(job)
        self.nudge()

    def nudge(self) -> None:
        """Start the thread, or wake it."""
        if not self._threaded or not (self._heap or self._jobs):
            return
        if self._thread is None:
            with suppress(RuntimeError):  # the interpreter is shutting down
                start_new_thread(self._begin, ())
        else:
            self._wake.notify()

    def run(self, now: int) -> None:
        """Do everything that is due, and complete all jobs."""
        while self._call(now) or self._jobs:
            self._work()

    def clear(self) -> None:
        """Drop all alarms and jobs; the thread ends."""
        for _, _, alarm in self._heap:
            alarm.act = None
        self._heap = []
        self._off = 0
        self._jobs.clear()
        self._wake.notify()

    def _call(self, now: int) -> bool:
        """Call what is due; return whether there was anything."""
        called = False
        while self._heap and (self._heap[0][0] <= now or self._heap[0][2].act is None):
            alarm = heappop(self._heap)[2]
            act, alarm.act = alarm.act, None
            if act is None:
                self._off = max(0, self._off - 1)
            else:
                called = True
                act(now)
        return called

    def _work(self) -> bool:
        """Do one part of the first job, then rotate the jobs; return whether one is left."""
        if self._jobs:
            if next(self._jobs[0], self) is self:
                self._jobs.popleft()
            else:
                self._jobs.rotate(-1)
        return bool(self._jobs)

    def _begin(self) -> None:
        """Start the thread; called where no signal arrives, because ``start`` waits and must not be interrupted."""
        with self._state.lock:
            if self._thread is None and (self._heap or self._jobs):
                name = f"jmsbridge-embedded-{self._state.name}-io"
                self._thread = threading.Thread(target=self._serve, name=name, daemon=True)
                self._thread.start()

    def _serve(self) -> None:
        try:
            while self._turn():
                time.sleep(PAUSE)  # sleep: gives way between slices
        except Exception:
            _log.exception("embedded broker %r: the timer failed; the next alarm restarts it", self._state.name)
            with self._state.lock:
                self._thread = None

    def _turn(self) -> bool:
        """Do one slice of work, or wait for some; return whether to continue."""
        with self._wake:
            self._state.repair()
            now = self._state.clock()
            self._call(now)
            busy = do_slice(self._work)
            self._state.step = None
            if busy:
                return True
            if not self._heap:
                self._thread = None
                return False
            self._wake.wait(min(_LONGEST_WAIT, max(0.0, (self._heap[0][0] - now) / 1000)))
            return True
