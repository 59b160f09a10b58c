"""What all queues of one broker share: the lock, the clock, and what an interrupt may have left half done."""

import threading
from collections.abc import Callable
from typing import Any

from jmsbridge_embedded.memory.queues.schedule import Schedule

__all__ = ["Common"]


class Common:
    """The clock, the schedule, the number of stored messages, and the step that is being done.

    ``stored`` counts waiting, delayed and unsettled messages and the sends held by open transactions. ``lock`` is the
    broker's one lock; it guards everything below the border.

    **Interrupts.** An exception of a signal handler may come up anywhere in a verb that the main thread is in, and it
    lets go of the lock. Whatever must not stay half done is therefore a *step*: a function of ``steps`` with
    arguments that say what is true afterwards (this entry, that credit, so many messages), so that it may be done
    again from the start at any time. ``step`` is written, in one store, before the first change of a step; that is
    the moment from which it happens. It stays until the next step is written or the verb ends. Who takes the lock
    and finds one does it again, and then looks after all queues (``mend``): the interrupted verb has a thread of its
    own do that at once, and others do not depend on it.
    """

    __slots__ = ("_mend_all", "clock", "lock", "name", "schedule", "step", "stored")

    def __init__(self, name: str, clock: Callable[[], int], threaded: bool, mend_all: Callable[[], None]) -> None:
        self.name = name
        self.clock = clock
        self.lock = threading.Lock()
        self._mend_all = mend_all
        self.step: tuple[Any, ...] | None = None
        self.schedule = Schedule(self, threaded)
        self.stored = 0

    def do(self, function: Callable[..., None], *arguments: Any) -> None:
        """Do a step; the lock is held."""
        self.step = (function, *arguments)
        function(False, *arguments)

    def mend(self) -> None:
        """Finish what an interrupt left half done; the lock is held."""
        step = self.step
        if step is None:
            return
        function, *arguments = step
        function(True, *arguments)
        self._mend_all()
        self.schedule.nudge()
        self.step = None

    def mend_now(self) -> None:
        """The same on a thread that ``start_new_thread`` begins, where no signal arrives."""
        with self.lock:
            self.mend()
