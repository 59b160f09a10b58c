"""A lane: one lazily started thread that runs user code, in order, for one session.

``wake`` says that there may be work; the lane then calls its work function once, which does all there is. Many wakes
while it works cost one further pass, so hand-overs batch by themselves.
"""

import logging
import threading
from collections.abc import Callable

from jmsbridge.core.locks import Rank, ranked

__all__ = ["Lane"]

log = logging.getLogger("jmsbridge.lane")

_IDLE = 5.0  # seconds without work after which the thread ends; the next wake starts another


class Lane:
    """Runs ``work()`` on a thread of its own whenever it was woken."""

    def __init__(self, name: str, work: Callable[[], None]) -> None:
        self._name = name
        self._work = work
        self._ready_lock = ranked(Rank.LEAF)
        self._ready = threading.Condition(self._ready_lock)  # guards the fields below
        self._pending = False
        self._running = False
        self._thread: threading.Thread | None = None
        self._ident: int | None = None
        self._closed = False

    def wake(self) -> None:
        """There may be work. Cheap when the lane already knows."""
        if self._pending:  # not yet taken up: the coming pass will see what the caller added before this call
            return
        with self._ready_lock:
            if self._closed:
                return
            self._pending = True
            if self._thread is None:
                self._start()
            elif not self._running:
                self._ready.notify_all()

    def _start(self) -> None:
        thread = threading.Thread(target=self._run, name=self._name, daemon=True)
        try:
            thread.start()
        except RuntimeError:  # no more threads: the next wake tries again
            self._pending = False
            log.critical("%s: the thread cannot be started", self._name, exc_info=True)
        else:
            self._thread = thread

    def is_current(self) -> bool:
        """Whether the caller is on this lane's thread, so inside its callback."""
        return self._ident == threading.get_ident()

    def close(self) -> None:
        """End the thread after what it is doing; no waiting."""
        with self._ready_lock:
            self._closed = True
            self._pending = False
            self._ready.notify_all()

    def _run(self) -> None:
        with self._ready_lock:
            self._ident = threading.get_ident()
        while self._next():
            try:
                self._work()
            except Exception:
                log.exception("%s: unexpected error", self._name)
            with self._ready_lock:
                self._running = False
                self._ready.notify_all()

    def _next(self) -> bool:
        with self._ready_lock:
            if not self._pending and not self._closed:
                self._ready.wait_for(lambda: self._pending or self._closed, _IDLE)
            if self._pending and not self._closed:
                self._pending = False
                self._running = True
                return True
            self._thread = None
            self._ident = None
            self._ready.notify_all()
            return False
