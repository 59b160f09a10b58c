"""What everything in one broker shares: the lock, the clock, and what an interrupt may have left half done."""

import threading
from collections.abc import Callable
from typing import Any

__all__ = ["BrokerState"]


class BrokerState:
    """The lock, the clock, the number of stored messages, and the step that is being done.

    ``stored`` counts waiting, delayed and unsettled messages and the sends held by open transactions. ``lock`` is the
    broker's one lock; it guards everything below the border.

    **Interrupts.** A signal handler may raise an exception anywhere in a verb that the main thread executes, and that
    releases the lock. Whatever must not stay half done is therefore a *step*: a function whose arguments say what is
    true afterwards (this entry, that credit, so many messages), so that it may be repeated from its start at any time.
    ``step`` is written, in one store, before the first change of a step; from that moment the step takes effect. It
    stays until the next step is written or the verb ends. A thread that takes the lock and finds a step repeats it,
    then looks after all queues (``mend``). The interrupted verb starts a thread that does so at once, so that no other
    thread depends on it.
    """

    __slots__ = ("_mend_all", "clock", "lock", "name", "step", "stored")

    def __init__(self, name: str, clock: Callable[[], int], mend_all: Callable[[], None]) -> None:
        self.name = name
        self.clock = clock
        self.lock = threading.Lock()
        self._mend_all = mend_all
        self.step: tuple[Any, ...] | None = None
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
        self.step = None

    def mend_now(self) -> None:
        """The same on a thread that ``start_new_thread`` begins, where no signal arrives."""
        with self.lock:
            self.mend()
