"""A consumer of one queue or topic subscription."""

from _thread import start_new_thread
from collections.abc import Callable, Sequence
from typing import Any, Final

from jmsbridge.spi import Inbox, Interest, Native, Outcome, Ticket, rejected_to
from jmsbridge_embedded.memory.queues.backlog import GONE, Entry
from jmsbridge_embedded.memory.queues.queue import Queue
from jmsbridge_embedded.memory.queues.slices import in_slices
from jmsbridge_embedded.memory.queues.steps import accepted, granted, paused
from jmsbridge_embedded.memory.queues.takers import Taker
from jmsbridge_embedded.native import NATIVE
from jmsbridge_embedded.rules import answer, check_alive, is_expired

__all__ = ["Accepted", "Consumer"]

Accepted = dict[Entry, "Consumer"]
"""The messages that an open transaction has accepted, with the consumers that hold them."""

_ACCEPTED: Final = Outcome.ACCEPTED


class Consumer(Taker):
    """The SPI's Subscription for CONSUME interests; guarded by the broker's lock.

    ``transaction`` is the channel's, None on a channel without one.
    """

    def __init__(
        self,
        queue: Queue,
        interest: Interest,
        inbox: Inbox,
        transaction: Accepted | None,
        on_close: "Callable[[Consumer], None]",
    ) -> None:
        super().__init__(queue.main, interest, inbox)
        self.native: Native = NATIVE
        self.queue = queue
        self.lost: str | None = None
        self._interest = interest
        self._retired = False
        self._transaction = transaction
        self._on_close = on_close
        self._state = queue.state
        self._lock = queue.state.lock

    # -- Subscription --------------------------------------------------------------------------------------------

    def grant(self, count: int) -> None:
        """Allow ``count`` more arrivals; waiting messages arrive before this returns."""
        state = self._state
        try:
            with self._lock:
                if state.step is not None:
                    state.repair()
                lost = self.lost
                if lost is None and count > 0 and not self._retired:
                    queue = self.queue
                    state.do(granted, self, self.credit + count)
                    if queue.size:
                        queue.serve(self)
                    state.step = None
        except BaseException:  # an interrupt: other threads do not depend on the next verb
            start_new_thread(state.repair_now, ())
            raise
        check_alive(lost)

    def settle(self, tokens: Sequence[Any], outcome: Outcome, ticket: Ticket | None = None, failures: int = 1) -> None:
        """Settle these messages; done when this returns."""
        state = self._state
        try:
            with self._lock:
                if state.step is not None:
                    state.repair()
                lost = self.lost
                if lost is None:
                    if outcome is not _ACCEPTED:
                        self._return(tokens, outcome, failures)
                    elif self._transaction is None:
                        self.accept(tokens)
                    else:
                        self._transaction.update((entry, self) for entry in tokens if entry.holder is self)
                    state.step = None
        except BaseException:  # an interrupt: other threads do not depend on the next verb
            start_new_thread(state.repair_now, ())
            raise
        if ticket is not None or lost is not None:
            answer(ticket, lost)

    def drain(self, ticket: Ticket) -> None:
        """Take credit to zero; every available message has arrived when this returns."""
        state = self._state
        try:
            if self.queue.timetable.delayed:
                in_slices(state, lambda: self.lost is None and self.queue.catch_up())
            with self._lock:
                if state.step is not None:
                    state.repair()
                lost = self.lost
                if lost is None:
                    if self.credit > 0:
                        state.do(paused, self)
                    state.step = None
        except BaseException:  # an interrupt: other threads do not depend on the next verb
            start_new_thread(state.repair_now, ())
            raise
        answer(ticket, lost)

    def retire(self) -> None:
        """Leave the queue; from now on this only holds its unsettled messages."""
        state = self._state
        with self._lock:
            state.repair()
            if self.lost is None and not self._retired:
                self._retired = True
                self.queue.leave(self)
            state.step = None

    def close(self) -> None:
        """Close it; held messages return as REQUEUED, except those that the open transaction accepted."""
        state = self._state
        with self._lock:
            state.repair()
            if self.lost is None:
                self.stop("the subscription was closed")
                self.release()
                self.leave()
                self._on_close(self)
            state.step = None

    # -- for the channel, with the broker's lock held ------------------------------------------------------------

    def prepare(self) -> None:
        """With a selector: look for waiting messages that match. The broker's lock is not held."""
        view = self.view
        if view.walk is not None:
            in_slices(self._state, lambda: self.lost is None and self.queue.look(view))

    def accept(self, tokens: Sequence[Entry]) -> None:
        """Remove these messages for good."""
        state, queue = self._state, self.queue
        if len(tokens) == 1:
            (entry,) = tokens
            if entry.holder is not self:
                return
            size = queue.size - 1
            stored = state.stored - 1
            state.step = (accepted, queue, self, tokens, size, stored)
            entry.holder = GONE
            self.held.discard(entry)
            queue.size = size
            state.stored = stored
            if queue.grouped:
                queue.ungroup(tokens)
        else:
            entries = [entry for entry in dict.fromkeys(tokens) if entry.holder is self]
            state.do(accepted, queue, self, entries, queue.size - len(entries), state.stored - len(entries))
        if self._retired:
            queue.rest()

    def stop(self, lost: str) -> None:
        """No more arrivals; verbs fail with ``lost`` from now on."""
        self.lost = lost
        self.queue.pause(self)

    def release(self, *, death: bool = False) -> None:
        """After ``stop``: return held messages to their places, except those that the open transaction accepted.

        After a ``death`` it is unknown which of them were seen: they are marked as redelivered, but further deaths do
        not raise the delivery count.
        """
        kept = self._transaction or {}
        for entry in [entry for entry in self.held if entry not in kept]:
            self.put_back((entry,), 0 if death and entry.count else 1, 0)

    def leave(self) -> None:
        """After ``release``: leave the queue, which dispatches the returned messages."""
        self.queue.leave(self)

    def put_back(self, entries: Sequence[Entry], deliveries: int, failures: int) -> None:
        """Return these messages to their places, adding to both counts; the caller dispatches."""
        self.held.difference_update(entries)
        queue = self.queue
        if self.expired is not None and not queue.ended:
            now = self._state.clock()
            for entry in entries:
                if is_expired(entry.envelope, now):
                    entry.holder = None
                    queue.move_expired(entry, self)
            entries = [entry for entry in entries if entry.holder is self]
        queue.put_back(entries, deliveries, failures)

    def _return(self, tokens: Sequence[Entry], outcome: Outcome, failures: int) -> None:
        entries = [entry for entry in dict.fromkeys(tokens) if entry.holder is self]
        if self._transaction:
            for entry in entries:
                self._transaction.pop(entry, None)
        if outcome is Outcome.REJECTED:
            for entry in entries:
                to, reason = rejected_to(self._interest, entry.envelope, self._state.clock())
                self.queue.dead_letter(entry, to, entry.count + failures, reason)
            self.accept(entries)
        else:
            failures = 0 if outcome is Outcome.RELEASED else failures
            self.put_back(entries, failures + (outcome is Outcome.REQUEUED), failures)
            self.queue.dispatch()
            if self._retired:
                self.queue.rest()
