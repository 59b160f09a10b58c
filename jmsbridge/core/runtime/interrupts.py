"""Steps that a signal handler cannot interrupt.

Python runs signal handlers in the main thread, between any two bytecodes; an exception from one, KeyboardInterrupt for
instance, leaves the running code half done. Other threads are not affected. So a step that must be complete runs on
another thread while the main thread waits: the exception ends the wait, not the step. Code that runs too often for that
records its progress by plain stores, and the next call completes it: see ``SessionCore.begin``.

``docs/decisions/interrupts.md`` explains why.
"""

import _thread
import logging
import sys
import threading
from collections import deque
from collections.abc import Callable
from queue import Empty, SimpleQueue
from types import FrameType
from typing import Any, Generic, TypeVar, cast

from jmsbridge.transport.network.forking import at_fork

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
_own = threading.local()  # ``for_main`` is set in threads that run steps for the main thread


def main_thread() -> int | None:
    """The ident of the thread in which a signal handler's exception may surface."""
    return _main


def in_main_thread() -> bool:
    """Whether a signal handler's exception may surface in the calling code."""
    return threading.get_ident() == _main


def for_main_thread() -> bool:
    """Whether the call was made in the main thread, even if another thread runs this step of it."""
    return calling_thread() == _main


def calling_thread() -> int | None:
    """The thread that made the call, even if another thread runs this step of it."""
    return _main if getattr(_own, "for_main", False) else threading.get_ident()


def calling_frame() -> FrameType | None:
    """In a thread that runs a step for the main thread: the frame in which the main thread waits."""
    frame: FrameType | None = getattr(_own, "frame", None)
    return frame


class Work(Generic[T]):
    """A step to run once; ``undo`` discards the result if the caller no longer waits for it."""

    __slots__ = ("_claims", "_done", "_frame", "_undo", "_wanted", "_work", "error", "is_done", "result")

    def __init__(self, work: Callable[[], T], undo: Callable[[T], None] | None = None) -> None:
        self._work = work
        self._undo = undo
        self._frame: FrameType | None = sys._getframe(1)
        self._claims: dict[str, object] = {}  # by ``setdefault``: the first claim wins, and repeating it has no effect
        self._done = threading.Lock()
        self._done.acquire()
        self._wanted = True
        self.is_done = False
        self.result: T | None = None
        self.error: BaseException | None = None

    def run(self) -> None:
        """Run it, unless it was run or cancelled."""
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
        """Do not run it, and end the wait for it; False if it has begun."""
        mine = object()
        claim = self._claims.setdefault("work", mine)
        if claim is mine:
            self._done.release()
        return claim != "run"

    @property
    def is_cancelled(self) -> bool:
        """Whether it will never run."""
        return self._claims.get("work", "run") != "run"

    def wait_done(self) -> None:
        """Wait until it is done or cancelled; its own deadlines limit the wait."""
        with self._done:  # wait: the step has deadlines of its own
            return

    def give_up(self) -> None:
        """The result is no longer wanted: undo it, now or when it comes."""
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
    """Run ``work`` completely and return its result.

    For the main thread another thread runs it. If a signal handler raises meanwhile, its exception is raised here at
    once; the work goes on, and ``undo`` gets its result. With ``to_the_end`` the exception is raised when the work is
    done, or when the handler raises a second time.
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


_free: "deque[SimpleQueue[Work[Any]]]" = deque()  # for each idle thread, where it waits for its next work


def start_whole(work: "Work[T]") -> None:
    """Run it on a thread that no signal handler interrupts."""
    try:
        next_work = _free.pop()
    except IndexError:
        _thread.start_new_thread(_serve, (work,))  # not Thread.start, which a signal handler could interrupt
    else:
        next_work.put(work)


def _serve(work: "Work[Any]") -> None:
    _own.for_main = True
    next_work: SimpleQueue[Work[Any]] = SimpleQueue()
    while True:
        work.run()
        del work
        _free.append(next_work)
        try:
            work = next_work.get(timeout=_IDLE)
        except Empty:
            try:
                _free.remove(next_work)
            except ValueError:  # a caller has just taken it: the work comes, unless a signal handler raised in between
                work = next_work.get()
            else:
                return


def _after_fork_in_child() -> None:
    global _main
    _main = threading.get_ident()
    _free.clear()


at_fork(after_in_child=_after_fork_in_child)
