"""A lean loop for pika: what to do when sockets are ready, when time has come, and when other threads want something.

pika's own does the same with three times the work for each turn, and wakes with a write and a read per call from
another thread; here a thread that is about to look is not woken at all. Where there is no epoll, pika's own is used.
"""

import heapq
import itertools
import os
import select
import threading
import time
from collections import deque
from collections.abc import Callable
from typing import Any

from pika.adapters.select_connection import IOLoop

__all__ = ["EpollLoop", "new_ioloop"]

_Task = Callable[[], None]
_Handler = Callable[[int, int], None]

_LONGEST = 3600.0  # seconds; the platform refuses very long waits


class _Timer:
    """Something to do later; without ``task`` it was cancelled."""

    __slots__ = ("deadline", "number", "task")

    def __init__(self, deadline: float, number: int, task: _Task) -> None:
        self.deadline = deadline
        self.number = number
        self.task: _Task | None = task

    def __lt__(self, other: "_Timer") -> bool:
        return (self.deadline, self.number) < (other.deadline, other.number)


class EpollLoop:
    """What pika expects of a loop; all but ``add_callback_threadsafe`` belongs to the thread that calls ``start``."""

    READ = select.POLLIN
    WRITE = select.POLLOUT
    ERROR = select.POLLERR

    def __init__(self) -> None:
        self._epoll = select.epoll()
        self._wake = os.eventfd(0, os.EFD_NONBLOCK | os.EFD_CLOEXEC)
        # edge-triggered, so that nobody has to read it
        self._epoll.register(self._wake, select.EPOLLIN | select.EPOLLET)
        self._handlers: dict[int, _Handler] = {}
        self._tasks: deque[_Task] = deque()
        self._timers: list[_Timer] = []
        self._numbers = itertools.count()
        self._asleep = False
        self._stopping = False
        self._wake_lock = threading.RLock()  # guards _closed; the handler of a signal may come here again
        self._closed = False

    # -- from any thread

    def add_callback_threadsafe(self, callback: _Task) -> None:
        """Do this on the loop's thread, soon; after the end nothing is done."""
        self._tasks.append(callback)
        if self._asleep:
            with self._wake_lock:  # the number may be another file's as soon as it is closed
                if not self._closed:
                    os.eventfd_write(self._wake, 1)

    add_callback = add_callback_threadsafe

    # -- running

    def start(self) -> None:
        """Run until ``stop``."""
        self._stopping = False
        while not self._stopping:
            self._turn()

    def _turn(self) -> None:
        tasks, handlers = self._tasks, self._handlers
        for _ in range(len(tasks)):  # what they add comes with the next turn
            tasks.popleft()()
        self._asleep = True  # before looking: who comes later wakes
        events = self._epoll.poll(0.0 if tasks or self._stopping else self._pause())
        self._asleep = False
        for fd, event in events:
            handler = handlers.get(fd)
            if handler is not None:
                # a broken socket is found out by reading it
                handler(fd, event | select.POLLIN if event & (select.EPOLLHUP | select.EPOLLERR) else event)
        if self._timers:
            self._run_timers()

    def _pause(self) -> float | None:
        timers = self._timers
        while timers and timers[0].task is None:
            heapq.heappop(timers)
        return min(_LONGEST, max(0.0, timers[0].deadline - time.monotonic())) if timers else None

    def _run_timers(self) -> None:
        now, timers = time.monotonic(), self._timers
        while timers and timers[0].deadline <= now:
            timer = heapq.heappop(timers)
            if timer.task is not None:
                task, timer.task = timer.task, None
                task()

    def stop(self) -> None:
        """End ``start`` after this turn."""
        self._stopping = True

    def close(self) -> None:
        """Let go of everything; nothing runs any more."""
        with self._wake_lock:
            if self._closed:
                return
            self._closed = True
            self._epoll.close()
            os.close(self._wake)
        self._tasks.clear()
        self._timers.clear()

    # -- timers

    def call_later(self, delay: float, callback: _Task) -> _Timer:
        """Do this ``delay`` seconds from now."""
        timer = _Timer(time.monotonic() + delay, next(self._numbers), callback)
        heapq.heappush(self._timers, timer)
        return timer

    def remove_timeout(self, timeout_handle: _Timer) -> None:
        """Forget it."""
        timeout_handle.task = None

    # -- sockets

    def add_handler(self, fd: int, handler: _Handler, events: int) -> None:
        """Call ``handler`` when one of ``events`` is there."""
        self._handlers[fd] = handler
        self._epoll.register(fd, events)

    def update_handler(self, fd: int, events: int) -> None:
        """Wait for these events from now on."""
        self._epoll.modify(fd, events)

    def remove_handler(self, fd: int) -> None:
        """Wait for nothing there any more."""
        del self._handlers[fd]
        self._epoll.unregister(fd)


def new_ioloop() -> Any:
    """The leanest loop that this system has."""
    return EpollLoop() if hasattr(select, "epoll") and hasattr(os, "eventfd") else IOLoop()
