"""Calls that a signal handler cannot divide.

Python runs signal handlers in the main thread, between any two steps of what runs there; what they raise,
KeyboardInterrupt for instance, leaves that code half done. No other thread is concerned. So what has to be done as a
whole is done on another thread while the main thread waits: an exception ends the wait, never the work. What is too
frequent for that says by plain stores how far it came, and the next call finishes it: see ``SessionCore.begin``.

``docs/decisions/interrupts.md`` tells why.
"""

import _thread
import logging
import sys
import threading
from collections import deque
from collections.abc import Callable
from queue import Empty, SimpleQueue
from types import FrameType
from typing import Generic, TypeVar, cast

from jmsbridge.transport.forking import at_fork

__all__ = [
    "Work",
    "calling_frame",
    "calling_thread",
    "for_main_thread",
    "in_main_thread",
    "main_thread",
    "start_whole",
    "wait_whole",
]

log = logging.getLogger("jmsbridge.interrupts")

T = TypeVar("T")

_IDLE = 5.0  # seconds without work after which a thread ends

_main = threading.main_thread().ident
_own = threading.local()  # ``for_main``: set in the threads that work for the main thread


def main_thread() -> int | None:
    """The ident of the thread in which a signal handler's exception may surface."""
    return _main


def in_main_thread() -> bool:
    """Whether a signal handler's exception may surface in the calling code."""
    return threading.get_ident() == _main


def for_main_thread() -> bool:
    """Whether the call was made in the main thread, where it or another thread does it."""
    return calling_thread() == _main


def calling_thread() -> int | None:
    """The thread that made the call, also in a thread that works for the main thread."""
    return _main if getattr(_own, "for_main", False) else threading.get_ident()


def calling_frame() -> FrameType | None:
    """In a thread that works for the main thread: where the main thread waits for it."""
    frame: FrameType | None = getattr(_own, "frame", None)
    return frame


class Work(Generic[T]):
    """Something to be done once, wholly; ``undo`` takes back a result for which nobody waits any more."""

    __slots__ = ("_claims", "_done", "_frame", "_undo", "_wanted", "_work", "error", "is_done", "result")

    def __init__(self, work: Callable[[], T], undo: Callable[[T], None] | None = None) -> None:
        self._work = work
        self._undo = undo
        self._frame: FrameType | None = sys._getframe(1)
        self._claims: dict[str, str] = {}  # by ``setdefault``: the first claim stands, and may be made again
        self._done = threading.Lock()
        self._done.acquire()
        self._wanted = True
        self.is_done = False
        self.result: T | None = None
        self.error: BaseException | None = None

    def run(self) -> None:
        """Do it, unless it was done or cancelled."""
        if self._claims.setdefault("work", "run") != "run":
            return
        _own.frame = self._frame
        try:
            self.result = self._work()
        except BaseException as error:
            self.error = error
        _own.frame = self._frame = None
        self.is_done = True
        if not self._wanted:
            self._take_back()
        self._done.release()

    def cancel(self) -> bool:
        """Never do it; False when it has begun."""
        return self._claims.setdefault("work", "cancel") == "cancel"

    def wait_done(self) -> None:
        """Return when it is done; its own deadlines bound that."""
        with self._done:  # wait: the work has deadlines of its own
            return

    def give_up(self) -> None:
        """Nobody wants the result any more; what is there, or comes, is undone."""
        self._wanted = False
        if self.is_done:
            start_whole(Work(self._take_back))

    def _take_back(self) -> None:
        me = str(threading.get_ident())
        if self._undo is not None and self.error is None and self._claims.setdefault("undo", me) == me:
            try:
                self._undo(cast(T, self.result))
            except Exception:
                log.warning("what an interrupted call had made could not be closed", exc_info=True)


def wait_whole(work: Callable[[], T], undo: Callable[[T], None] | None = None, *, to_the_end: bool = False) -> T:
    """Do ``work`` as a whole and return its result.

    In the main thread another thread does it. When a signal handler raises meanwhile, that is raised here at once while
    the work goes on, and ``undo`` gets its result; with ``to_the_end`` it is raised when the work is done, or when the
    handler raises a second time.
    """
    if threading.get_ident() != _main:
        return work()
    pending = Work(work, undo)
    try:
        start_whole(pending)
        pending.wait_done()
        result, error = pending.result, pending.error
    except BaseException:
        if not pending.cancel():
            if to_the_end:
                pending.wait_done()
            pending.give_up()
        raise
    if error is not None:
        raise error
    return cast(T, result)


_jobs: "SimpleQueue[Work[object]]" = SimpleQueue()
_free: deque[None] = deque()  # one element for each thread that waits for a job and was not promised one


def start_whole(work: "Work[T]") -> None:
    """Have it done by a thread that no signal handler interrupts."""
    _jobs.put(work)  # type: ignore[arg-type]
    try:
        _free.pop()
    except IndexError:
        _thread.start_new_thread(_serve, ())  # not a Thread: its start could be interrupted before it runs


def _serve() -> None:
    _own.for_main = True
    promised = True
    while True:
        try:
            work = _jobs.get(timeout=_IDLE)
        except Empty:
            if promised:  # the thread that promised a job was interrupted before it gave one
                promised = False
                _free.append(None)
                continue
            try:
                _free.pop()
            except IndexError:  # promised in this moment
                promised = True
                continue
            return
        work.run()
        del work
        promised = False
        _free.append(None)


def _after_fork_in_child() -> None:
    global _main, _jobs
    _main = threading.get_ident()
    _jobs = SimpleQueue()
    _free.clear()


at_fork(after_in_child=_after_fork_in_child)
