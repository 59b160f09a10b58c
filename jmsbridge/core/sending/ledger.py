"""The ledger of asynchronous sends: answers come in any order, callbacks run in send order.

A send is entered before it reaches the backend. Its answer marks the entry; the completion thread calls back the
answered entries at the head, one at a time, up to the first without an answer (Jakarta Messaging 3.1 section 7.3).
"""

import itertools
import logging
import time
from collections import deque
from collections.abc import Callable, Sequence

from jmsbridge.core.runtime.executor import NewExecutor
from jmsbridge.core.runtime.locks import Rank, ranked
from jmsbridge.core.runtime.waiting import OneAnswer, WaitSet
from jmsbridge.core.sending.weight import window_text
from jmsbridge.errors import IllegalStateException, ResourceAllocationException
from jmsbridge.spi import Ticket

__all__ = ["Entry", "Ledger", "step"]

log = logging.getLogger("jmsbridge.completion")

_GIVE_WAY = 50e-6  # seconds
_PATIENCE = 10.0  # seconds after which a wait for the user's own callback is logged


def step(window: int) -> int:
    """How much of a full window must become free before a sender continues, so that there are few wake-ups."""
    return max(1, min(window // 2, max(window // 8, 64)))


class Entry(OneAnswer):
    """One asynchronous send and its ticket; subclasses implement ``complete``, which is called after the answer."""

    __slots__ = ("ledger", "number", "removed", "size")

    def __init__(self, ledger: "Ledger", size: int = 0) -> None:
        self.ledger = ledger
        self.size = size
        self.answered = False
        self.removed = False
        self.error = None
        self.number = 0

    def complete(self) -> None:
        """Call back; runs on the completion thread, in sending order; exceptions are logged."""

    def _tell(self) -> None:
        self.ledger.wake()


class Ledger:
    """All asynchronous sends of one session, in sending order, with the send window.

    ``enter`` is called by the sending thread, answers come from any thread, callbacks run on the executor only.
    ``give_up`` answers sends whose time-out is over, in order.
    """

    def __init__(
        self,
        name: str,
        window: int,
        window_bytes: int | None,
        give_up: Callable[[Sequence[Ticket]], None],
        new_executor: NewExecutor,
    ) -> None:
        self.executor = new_executor(name, self._deliver)
        self._give_up = give_up
        self._window = window
        self._window_bytes = window_bytes
        self._entries: deque[Entry] = deque()  # appended by senders, popped by the executor
        self._lock = ranked(Rank.LEAF)  # guards what follows
        self._targets: list[int] = []
        self._changed = WaitSet()  # senders and closers
        self._numbers = itertools.count(1)
        self._entered = 0
        self._finished = 0  # written by the executor only
        self._bytes = 0  # of those in _entries
        self._closed = False

    @property
    def is_awaited(self) -> bool:
        """Whether some thread waits for callbacks."""
        return bool(self._targets)

    @property
    def unfinished(self) -> int:
        """How many sends have had no callback yet."""
        return self._entered - self._finished

    @property
    def last(self) -> int:
        """The number of the last send, for ``wait_finished``."""
        return self._entered

    @property
    def is_idle(self) -> bool:
        """Whether every send has been called back."""
        return self._finished >= self._entered

    def enter(self, entry: Entry, timeout: float) -> None:
        """Add a send; waits for room in the window, ResourceAllocation after ``timeout`` seconds.

        IllegalState after ``close``. A send from a callback does not wait, because it would wait for itself.
        """
        if self._window_bytes is not None or self._entered - self._finished >= self._window:
            self._wait_room(entry.size, timeout)
        with self._lock:
            if self._closed:
                raise IllegalStateException("the session is closed")
            entry.number = next(self._numbers)
            self._entries.append(entry)
            self._entered = entry.number  # last: an entry whose ``enter`` was interrupted is not waited for
            self._bytes += entry.size

    def remove(self, entry: Entry) -> None:
        """The call of ``send`` raises, so there is no callback for this entry."""
        entry.removed = True
        with self._lock:
            self._bytes = sum(one.size for one in self._entries)
        entry.answered = True
        self.wake()

    def wake(self) -> None:
        """Call back on the completion thread if the oldest entry is answered; for the thread that brings an answer."""
        # also if the head was answered earlier: the thread may have failed to start then
        try:
            due = self._entries[0].answered
        except IndexError:
            due = True
        if due:
            self.executor.wake()

    def is_full(self, size: int) -> bool:
        """Whether a send of this size would wait for room in the window."""
        if self._entered - self._finished >= self._window:
            return True
        limit = self._window_bytes
        return limit is not None and self._bytes > 0 and self._bytes + size > limit

    def _wait_room(self, size: int, timeout: float) -> None:
        deadline = time.monotonic() + timeout
        while self.is_full(size) and not self.executor.is_current():
            finished = self._finished
            target = min(finished + step(self._entered - finished), self._entered)
            if not self._wait(target, max(0.0, deadline - time.monotonic())):
                raise self.refusal(timeout)

    def refusal(self, timeout: float) -> ResourceAllocationException:
        """The error of a sender that has waited so long for room."""
        return ResourceAllocationException(
            f"the message was not sent: the send {window_text(self._window, self._window_bytes)} "
            f"stayed full for {timeout:g} s"
        )

    def _wait(self, target: int, timeout: float | None) -> bool:
        self._targets.append(target)
        try:
            return self._changed.wait_for(lambda: self._finished >= target, timeout)
        finally:
            if target in self._targets:
                self._targets.remove(target)

    def _deliver(self) -> None:
        entries = self._entries
        while entries and entries[0].answered:
            entry = self._next()
            try:
                if not entry.removed:
                    entry.complete()
            except BaseException:  # user code; even SystemExit must not end the thread
                log.exception("a completion listener raised; the send's outcome stands")
            self._finished = entry.number
            if self._targets:
                self._notify()

    def _next(self) -> Entry:
        if self._window_bytes is None:
            return self._entries.popleft()
        with self._lock:
            entry = self._entries.popleft()
            self._bytes -= entry.size
            return entry

    def _notify(self) -> None:
        if any(target <= self._finished for target in tuple(self._targets)):
            self._changed.notify()
            time.sleep(_GIVE_WAY)  # sleep: lets the woken thread take the GIL now instead of after 5 ms

    def close(self, *, when_idle: bool) -> bool:
        """Accept no more sends; with ``when_idle`` do so only if all callbacks have run. Returns whether they have."""
        with self._lock:
            idle = self.is_idle
            self._closed = self._closed or idle or not when_idle
            return idle

    def wait_finished(self, number: int, timeout: float) -> None:
        """Wait until send ``number`` and all before it have been called back.

        After ``timeout`` seconds those without an answer are given up; the wait for a running callback is not limited,
        but logged.
        """
        if self._finished >= number:
            return
        self.wake()
        if self._wait(number, timeout):
            return
        self.give_up(number)
        while not self._wait(number, _PATIENCE):
            log.warning("still waiting for a completion listener to return")
            self.executor.wake()  # in case its thread could not be started

    def give_up(self, number: int) -> None:
        """Give up what has no answer, of send ``number`` and all before it."""
        self._give_up([entry for entry in tuple(self._entries) if entry.number <= number and not entry.answered])
