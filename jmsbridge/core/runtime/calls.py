"""The calls of one session in the main thread, which a signal handler may interrupt."""

import threading
from collections.abc import Callable
from typing import Any, TypeVar, cast

from jmsbridge.core.runtime.interrupts import Work, in_main_thread, main_thread, start_whole

__all__ = ["MainThreadCalls"]

T = TypeVar("T")


class MainThreadCalls:
    """Knows whether the last call in the main thread came to its end.

    ``mend`` does what an interrupted one left undone; it runs where no signal handler interrupts.
    """

    __slots__ = ("_mend", "_mending", "_unfinished", "interrupt", "main", "under_way")

    def __init__(self, mend: Callable[[], None]) -> None:
        self._mend = mend
        self._unfinished: Work[Any] | None = None
        self._mending: Work[None] | None = None
        self.main = main_thread()
        self.under_way = False
        """Set by the main thread while it is in a call; left set by an interrupted one."""
        self.interrupt: BaseException | None = None
        """What a signal handler raised when a message was on its last step to the application: the next call raises it.
        """

    def finish_interrupted(self) -> None:
        """In the main thread, before the next call: what an interrupted call left undone is done first.

        Raises ``interrupt``, then what the interrupted ``wait_whole`` ended with.
        """
        pending = self._unfinished
        self.wait_end()
        mending = self._mending = Work(self._mend)
        start_whole(mending)
        mending.wait_done()
        if mending.error is not None:
            raise mending.error
        interrupt, self.interrupt = self.interrupt, None  # from here on no call: all or nothing
        if interrupt is not None:
            raise interrupt
        self._unfinished = None
        self.under_way = False
        if pending is not None and pending.error is not None:
            raise pending.error

    def wait_whole(self, work: Callable[[], T]) -> T:
        """Do a step of the session as a whole. An interrupted one goes on; the session's next call waits for it."""
        if not in_main_thread():
            return work()
        pending = Work(work)
        self._unfinished = pending
        self.under_way = True
        start_whole(pending)
        pending.wait_done()
        self._unfinished = None
        self.under_way = False
        if pending.error is not None:
            raise pending.error
        return cast(T, pending.result)

    def wait_end(self) -> None:
        """What goes on of an interrupted call, a step or the mending, ends first; what has not begun never will."""
        for work in (self._unfinished, self._mending):
            if work is not None and not work.cancel():
                work.wait_done()

    def is_caller(self) -> bool:
        """Whether the calling thread is the main thread."""
        return threading.get_ident() == self.main
