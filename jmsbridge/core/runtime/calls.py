"""The calls of one session in the main thread, where a signal handler may interrupt them."""

import threading
from collections.abc import Callable
from typing import Any, TypeVar, cast

from jmsbridge.core.runtime.interrupts import Work, in_main_thread, main_thread, start_whole
from jmsbridge.errors import IllegalStateException

__all__ = ["MainThreadCalls"]

T = TypeVar("T")


class MainThreadCalls:
    """Knows whether the last call in the main thread was interrupted.

    ``mend`` completes an interrupted call; it runs where no signal handler interrupts.
    """

    __slots__ = ("_mend", "_mending", "_unfinished", "interrupt", "main", "under_way")

    def __init__(self, mend: Callable[[], None]) -> None:
        self._mend = mend
        self._unfinished: Work[Any] | None = None
        self._mending: Work[None] | None = None
        self.main = main_thread()
        self.under_way = False
        """Set by the main thread while it is in a call; an interrupted call leaves it set."""
        self.interrupt: BaseException | None = None
        """The exception of a signal handler that came when a message was about to be returned to the application.

        The next call raises it.
        """

    def finish_interrupted(self) -> None:
        """Complete an interrupted call; in the main thread, before the next call.

        Raises ``interrupt``, then the error of the interrupted ``wait_whole``.
        """
        pending = self._unfinished
        self.wait_end()
        mending = self._mending = Work(self._mend)
        start_whole(mending)
        mending.wait_done()
        if mending.error is not None:
            raise mending.error
        interrupt, self.interrupt = self.interrupt, None  # no call follows, so no signal handler runs in between
        if interrupt is not None:
            raise interrupt
        self._unfinished = None
        self.under_way = False
        if pending is not None and pending.error is not None:
            raise pending.error

    def wait_whole(self, work: Callable[[], T]) -> T:
        """Run ``work`` completely. If the wait is interrupted, it goes on, and the session's next call waits for it."""
        if not in_main_thread():
            return work()
        pending = Work(work)
        self._unfinished = pending
        self.under_way = True
        start_whole(pending)
        pending.wait_done()
        self._unfinished = None
        self.under_way = False
        if pending.is_cancelled:
            raise IllegalStateException("the session was closed by another thread before this call began")
        if pending.error is not None:
            raise pending.error
        return cast(T, pending.result)

    def wait_end(self) -> None:
        """Wait for the steps of interrupted calls that are still running, and cancel those that have not begun."""
        for work in (self._unfinished, self._mending):
            if work is not None and not work.cancel():
                work.wait_done()

    def is_caller(self) -> bool:
        """Whether the calling thread is the main thread."""
        return threading.get_ident() == self.main
