"""A serial executor: one lazily started thread that runs user code, in order, for one session.

``wake`` says that there may be work; the thread then calls the work function once, which does all there is. Many wakes
while it works cost one further pass, so hand-overs batch by themselves.
"""

import logging
import threading
from collections.abc import Callable

from jmsbridge.core.runtime.locks import Rank, ranked
from jmsbridge.core.runtime.threads import start_thread
from jmsbridge.core.runtime.waiting import LONGEST_WAIT, WaitSet

__all__ = ["SerialExecutor"]

log = logging.getLogger("jmsbridge.executor")

_IDLE = 5  # times LONGEST_WAIT without work after which the thread ends; the next wake starts another


class SerialExecutor:
    """Runs ``work()`` on a thread of its own whenever it was woken.

    A wake-up that a signal handler interrupts is not believed to have happened: ``_woken``, the pass that is sure to
    come, is written last. A thread that finds another one at work ends; so one start too many does no harm.
    """

    def __init__(self, name: str, work: Callable[[], None]) -> None:
        self._name = name
        self._work = work
        self._ready_lock = ranked(Rank.LEAF)
        self._ready = threading.Condition(self._ready_lock)  # guards the fields below; only the own thread waits on it
        self._pending = False
        self._pass = 0  # which pass over the work is the next one
        self._woken = -1  # the pass that somebody was woken for
        self._ident: int | None = None  # of the thread at work
        self._running = False
        self._idle = WaitSet()
        self._closed = False

    def wake(self) -> None:
        """There may be work. Cheap when the thread already knows."""
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
            log.critical("%s: the thread cannot be started", self._name, exc_info=True)
            return False
        return True

    def is_current(self) -> bool:
        """Whether the caller is on this executor's thread, so inside its callback."""
        return self._ident == threading.get_ident()

    def close(self) -> None:
        """End the thread after what it is doing; no waiting."""
        with self._ready_lock:
            self._closed = True
            self._pending = False
            self._ready.notify_all()

    def wait_idle(self, timeout: float) -> None:
        """Return when the work function is not running, or after ``timeout`` seconds."""
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
                self._pass += 1  # before looking for work: who comes later wakes again
                return True
            self._ident = None
            return False
