"""State shared by all parts of one broker: the lock, the clock, and the step in progress."""

import threading
from collections.abc import Callable
from typing import Any

__all__ = ["BrokerState"]


class BrokerState:
    """The lock, the clock, the number of stored messages, and the step in progress.

    ``stored`` counts waiting, delayed and unsettled messages and the sends of open transactions. ``lock`` guards
    everything in the broker.

    **Interrupts.** A signal handler may raise an exception anywhere in a verb on the main thread, which releases the
    lock. A change that must not stay half done is therefore a *step*: a function whose arguments state the result
    (this entry, that credit, so many messages), so that it may be repeated from its start at any time. ``step`` is
    assigned, in one store, before the first change of a step; from then on the step takes effect. It stays until the
    next step is assigned or the verb ends. A thread that takes the lock and finds a step repeats it, then repairs all
    queues (``repair``). The interrupted verb starts a thread that does so at once.
    """

    __slots__ = ("_repair_all", "clock", "lock", "name", "step", "stored")

    def __init__(self, name: str, clock: Callable[[], int], repair_all: Callable[[], None]) -> None:
        self.name = name
        self.clock = clock
        self.lock = threading.Lock()
        self._repair_all = repair_all
        self.step: tuple[Any, ...] | None = None
        self.stored = 0

    def do(self, function: Callable[..., None], *arguments: Any) -> None:
        """Execute a step; the lock is held."""
        self.step = (function, *arguments)
        function(False, *arguments)

    def repair(self) -> None:
        """Finish a step that was interrupted; the lock is held."""
        step = self.step
        if step is None:
            return
        function, *arguments = step
        function(True, *arguments)
        self._repair_all()
        self.step = None

    def repair_now(self) -> None:
        """Take the lock and ``repair``; on a thread of ``start_new_thread``, where no signal arrives."""
        with self.lock:
            self.repair()
