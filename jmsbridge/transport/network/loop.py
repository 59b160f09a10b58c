"""A small event loop: sockets, timers, and tasks from other threads.

It has the interface that pika expects of an I/O loop. A thread that is about to look for work anyway is not woken.
``EpollLoop`` is for Linux, ``SelectorLoop`` for every other platform.
"""

import contextlib
import heapq
import itertools
import os
import select
import selectors
import socket
import threading
import time
from collections import deque
from collections.abc import Callable, Sequence
from functools import cached_property

__all__ = ["EpollLoop", "IoLoop", "SelectorLoop", "Timer", "new_loop"]

_Task = Callable[[], None]
_Handler = Callable[[int, int], None]

_READ = 1 << 18  # bytes for one read
_LONGEST = 3600.0  # seconds; platforms refuse very long waits
_BROKEN = 0x18  # EPOLLERR | EPOLLHUP


class Timer:
    """A task to run at ``deadline``; cancelled if ``task`` is None."""

    __slots__ = ("deadline", "number", "task")

    def __init__(self, deadline: float, number: int, task: _Task) -> None:
        self.deadline = deadline
        self.number = number
        self.task: _Task | None = task

    def __lt__(self, other: "Timer") -> bool:
        return (self.deadline, self.number) < (other.deadline, other.number)


class IoLoop:
    """The loop itself. All methods but ``add_callback_threadsafe`` are for the thread that calls ``start``.

    ``poll`` waits for events, at most so many seconds; ``wake`` ends the wait from another thread; ``release`` closes
    the file descriptors of both.
    """

    READ = 1  # the values of epoll
    WRITE = 4
    ERROR = 8

    def __init__(
        self,
        poll: Callable[[float | None], Sequence[tuple[int, int]]],
        wake: Callable[[], object],
        release: Callable[[], None],
    ) -> None:
        self._poll = poll
        self._wake_poll = wake
        self._release = release
        self._handlers: dict[int, _Handler] = {}
        self._tasks: deque[_Task] = deque()
        self._timers: list[Timer] = []
        self._numbers = itertools.count()
        self._asleep = False
        self._stopping = False
        self._wake_lock = threading.RLock()  # guards _closed; a signal handler may enter it again
        self._closed = False

    @cached_property
    def room(self) -> memoryview:
        """What a socket reads into, for a moment: one for all of them, since a connection may have thousands."""
        return memoryview(bytearray(_READ))

    # -- from any thread

    def add_callback_threadsafe(self, callback: _Task) -> None:
        """Run this on the loop's thread soon; not run once the loop is closed."""
        self._tasks.append(callback)
        if self._asleep:
            with self._wake_lock:  # once closed, the file descriptor's number may belong to another file
                if not self._closed:
                    self._wake_poll()

    add_callback = add_callback_threadsafe

    # -- running

    def start(self) -> None:
        """Run until ``stop``."""
        self._stopping = False
        while not self._stopping:
            self._turn()

    def _turn(self) -> None:
        tasks, handlers = self._tasks, self._handlers
        for _ in range(len(tasks)):  # tasks that they add run in the next turn
            tasks.popleft()()
        self._asleep = True  # before looking for tasks: a thread that adds one after that wakes the loop
        events = self._poll(0.0 if tasks or self._stopping else self._pause())
        self._asleep = False
        for fd, event in events:
            handler = handlers.get(fd)
            if handler is not None:
                # reading a broken socket raises its error
                handler(fd, event | 1 if event & _BROKEN else event)
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
        """Release the file descriptors; no task or timer runs any more."""
        with self._wake_lock:
            if self._closed:
                return
            self._closed = True
            self._release()
        self._tasks.clear()
        self._timers.clear()

    # -- timers

    def call_later(self, delay: float, callback: _Task) -> Timer:
        """Run this in ``delay`` seconds."""
        timer = Timer(time.monotonic() + delay, next(self._numbers), callback)
        heapq.heappush(self._timers, timer)
        return timer

    def remove_timeout(self, timeout_handle: Timer) -> None:
        """Cancel a timer."""
        timeout_handle.task = None


class EpollLoop(IoLoop):
    """The loop on Linux."""

    def __init__(self) -> None:
        self._epoll = epoll = select.epoll()
        self._wake = wake = os.eventfd(0, os.EFD_NONBLOCK | os.EFD_CLOEXEC)
        # edge-triggered: need not be read
        epoll.register(wake, select.EPOLLIN | select.EPOLLET)
        super().__init__(epoll.poll, lambda: os.eventfd_write(wake, 1), self._close_both)

    def _close_both(self) -> None:
        self._epoll.close()
        os.close(self._wake)

    def add_handler(self, fd: int, handler: _Handler, events: int) -> None:
        """Call ``handler`` when one of ``events`` occurs."""
        self._handlers[fd] = handler
        self._epoll.register(fd, events)

    def update_handler(self, fd: int, events: int) -> None:
        """Wait for these events from now on."""
        self._epoll.modify(fd, events)

    def remove_handler(self, fd: int) -> None:
        """Stop waiting for events of this file."""
        del self._handlers[fd]
        self._epoll.unregister(fd)


class SelectorLoop(IoLoop):
    """The loop for platforms without epoll, on the standard library's selectors."""

    def __init__(self) -> None:
        self._selector = selectors.DefaultSelector()
        self._reading, self._writing = socket.socketpair()
        self._reading.setblocking(False)
        self._writing.setblocking(False)
        self._selector.register(self._reading.fileno(), selectors.EVENT_READ)
        super().__init__(self._select, self._send_wake, self._close_all)
        self._handlers[self._reading.fileno()] = self._drain_wake

    def _select(self, timeout: float | None) -> list[tuple[int, int]]:
        found = self._selector.select(timeout)
        return [(key.fd, mask & 1 | (mask & 2) << 1) for key, mask in found]

    def _send_wake(self) -> None:
        with contextlib.suppress(BlockingIOError):  # full of earlier wake-ups, so the loop wakes anyway
            self._writing.send(b"\0")

    def _drain_wake(self, fd: int, event: int) -> None:
        self._reading.recv(4096)

    def _close_all(self) -> None:
        self._selector.close()
        self._reading.close()
        self._writing.close()

    def add_handler(self, fd: int, handler: _Handler, events: int) -> None:
        """Call ``handler`` when one of ``events`` occurs."""
        self._handlers[fd] = handler
        self._selector.register(fd, _mask(events))

    def update_handler(self, fd: int, events: int) -> None:
        """Wait for these events from now on."""
        if fd in self._selector.get_map():
            self._selector.unregister(fd)
        if events:
            self._selector.register(fd, _mask(events))

    def remove_handler(self, fd: int) -> None:
        """Stop waiting for events of this file."""
        del self._handlers[fd]
        if fd in self._selector.get_map():
            self._selector.unregister(fd)


def _mask(events: int) -> int:
    """Translate epoll's events for the selector, which reports errors to those that wait for reading."""
    reads, writes = events & IoLoop.READ, events & IoLoop.WRITE
    return (selectors.EVENT_READ if reads or not writes else 0) | (selectors.EVENT_WRITE if writes else 0)


def new_loop() -> EpollLoop | SelectorLoop:
    """The fastest loop that this platform supports."""
    return EpollLoop() if hasattr(select, "epoll") and hasattr(os, "eventfd") else SelectorLoop()
