"""A serial executor: one lazily started thread that runs user code, in order, for one session.

``wake`` says that there may be work; the thread then calls the work function once, which does all of it. Any number of
wakes during a call cause one more call, so that work is done in batches.
"""

import logging
import threading
from collections.abc import Callable
from typing import NamedTuple, Protocol, TypeAlias

from jmsbridge.core.runtime.locks import Rank, ranked
from jmsbridge.core.runtime.threads import cannot_start, start_thread
from jmsbridge.core.runtime.waiting import LONGEST_WAIT, WaitSet

__all__ = ["ON_THREADS", "Executor", "Executors", "NewExecutor", "SerialExecutor"]

log = logging.getLogger("jmsbridge.executor")

_IDLE = 5  # the thread ends after so many LONGEST_WAITs without work; the next wake starts another


class Executor(Protocol):
    """Where the callbacks of one session run: a thread of its own, or an event loop."""

    def wake(self) -> None:
        """There may be work: call the work function soon. From any thread; never waits, never raises."""

    def is_current(self) -> bool:
        """Whether the caller is in a callback."""

    def close(self) -> None:
        """Call the work function no more; does not wait."""


class SerialExecutor:
    """Runs ``work()`` on a thread of its own whenever it was woken.

    ``_woken``, the number of the pass that is certain to come, is written last, so that a ``wake`` interrupted by a
    signal handler does not count. A thread that finds another one running ends, so an extra start does no harm.
    """

    def __init__(self, name: str, work: Callable[[], None]) -> None:
        self._name = name
        self._work = work
        self._ready_lock = ranked(Rank.LEAF)
        self._ready = threading.Condition(self._ready_lock)  # guards what follows; only its own thread waits on it
        self._pending = False
        self._pass = 0  # the number of the next pass, that is, call of ``work``
        self._woken = -1  # the last pass that was asked for
        self._ident: int | None = None  # of the running thread
        self._running = False
        self._idle = WaitSet()
        self._closed = False

    def wake(self) -> None:
        """There may be work. Cheap if a pass is already asked for."""
        coming = self._pass
        if self._woken == coming:  # that pass has not begun: it will see what the caller added before this call
            return
        with self._ready_lock:
            if self._closed:
                return
            self._pending = True
            running = self._ident is not None
            if running:
                self._ready.notify_all()
        if running or self._start():
            self._woken = coming

    def _start(self) -> bool:
        try:
            start_thread(self._name, self._run)
        except RuntimeError:  # no more threads: the next wake tries again
            cannot_start(self._name)
            return False
        return True

    def is_current(self) -> bool:
        """Whether the caller is on this executor's thread, that is, in a callback."""
        return self._ident == threading.get_ident()

    def close(self) -> None:
        """End the thread after its current work; does not wait."""
        with self._ready_lock:
            self._closed = True
            self._pending = False
            self._ready.notify_all()

    def wait_idle(self, timeout: float) -> None:
        """Wait until the work function is not running, at most ``timeout`` seconds."""
        self._idle.wait_for(lambda: not self._running, timeout)

    def _run(self) -> None:
        with self._ready_lock:
            if self._ident is not None:
                return
            self._ident = threading.get_ident()
        while self._wait_work():
            try:
                self._work()
            except Exception:
                log.exception("%s: unexpected error", self._name)
            self._running = False
            if self._idle.gates:
                self._idle.notify()

    def _wait_work(self) -> bool:
        with self._ready_lock:
            for _ in range(_IDLE):
                if self._pending or self._closed:
                    break
                self._ready.wait(LONGEST_WAIT)
            if self._pending and not self._closed:
                self._pending = False
                self._running = True
                self._pass += 1  # before looking for work: a later ``wake`` asks for another pass
                return True
            self._ident = None
            return False


NewExecutor: TypeAlias = Callable[[str, Callable[[], None]], Executor]
"""Makes an executor, given its name and its work function."""


class Executors(NamedTuple):
    """How a session makes the executors of its callbacks."""

    deliver: NewExecutor = SerialExecutor
    """Of the message listeners."""
    complete: NewExecutor = SerialExecutor
    """Of the answers to asynchronous sends."""


ON_THREADS = Executors()
"""Threads of their own."""
