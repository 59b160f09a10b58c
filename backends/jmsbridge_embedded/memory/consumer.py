"""A consumer of one queue or topic subscription."""

from _thread import start_new_thread
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final

from jmsbridge.spi import (
    DEAD_LETTER_EXPIRED,
    Address,
    Inbox,
    Interest,
    LinkLost,
    Native,
    Outcome,
    Ticket,
    rejected_to,
)
from jmsbridge_embedded.memory.queues.backlog import GONE, Backlog, Entry, View
from jmsbridge_embedded.memory.queues.queue import Queue
from jmsbridge_embedded.memory.queues.steps import accepted, granted, paused
from jmsbridge_embedded.memory.queues.walk import in_slices
from jmsbridge_embedded.native import NATIVE
from jmsbridge_embedded.rules import dead_letter, is_expired

if TYPE_CHECKING:
    from jmsbridge_embedded.memory.channel import Channel

__all__ = ["Consumer"]

_ACCEPTED: Final = Outcome.ACCEPTED


class Consumer:
    """The SPI's Subscription for CONSUME interests; guarded by the broker's lock.

    ``own`` are messages of groups that wait for this consumer only; ``turn`` tells when it was last served where not
    all take from the same view.
    """

    def __init__(self, channel: "Channel", queue: Queue, interest: Interest, inbox: Inbox) -> None:
        self.native: Native = NATIVE
        self.queue = queue
        self.credit = 0
        self.held: set[Entry] = set()
        self.view: View = queue.main
        self.own: Backlog | None = None
        self.turn = 0
        self.lost: str | None = None
        self.put = inbox.put
        self.put_again = inbox.put_again
        self.presettled = interest.presettled
        self.expired = interest.expired or None
        self._interest = interest
        self._retired = False
        self._channel = channel
        self._common = queue.common
        self._lock = queue.common.lock

    # -- Subscription --------------------------------------------------------------------------------------------

    def grant(self, count: int) -> None:
        """Allow that many more arrivals; those that wait arrive before this returns."""
        common = self._common
        try:
            with self._lock:
                if common.step is not None:
                    common.mend()
                lost = self.lost
                if lost is None and count > 0 and not self._retired:
                    queue = self.queue
                    common.do(granted, self, self.credit + count)
                    if queue.size:
                        queue.serve(self)
                    common.step = None
        except BaseException:  # an interrupt: others need not wait for the next verb
            start_new_thread(common.mend_now, ())
            raise
        if lost is not None:
            raise LinkLost(lost)

    def settle(self, tokens: Sequence[Any], outcome: Outcome, ticket: Ticket | None = None, failures: int = 1) -> None:
        """Say what became of these; recorded when this returns."""
        common = self._common
        try:
            with self._lock:
                if common.step is not None:
                    common.mend()
                lost = self.lost
                if lost is None:
                    in_transaction = self._channel.accepted
                    if outcome is not _ACCEPTED:
                        self._return(tokens, outcome, failures)
                    elif in_transaction is None:
                        self.accept(tokens)
                    else:
                        in_transaction.update((entry, self) for entry in tokens if entry.holder is self)
                    common.step = None
        except BaseException:  # an interrupt: others need not wait for the next verb
            start_new_thread(common.mend_now, ())
            raise
        if lost is None:
            if ticket is not None:
                ticket.succeed()
        elif ticket is None:
            raise LinkLost(lost)
        else:
            ticket.fail(LinkLost(lost))

    def drain(self, ticket: Ticket) -> None:
        """Take credit to zero; everything that was available has arrived when this returns."""
        common = self._common
        try:
            if self.queue.delayed:
                in_slices(common, lambda: self.lost is None and self.queue.catch_up())
            with self._lock:
                if common.step is not None:
                    common.mend()
                lost = self.lost
                if lost is None:
                    if self.credit > 0:
                        common.do(paused, self)
                    common.step = None
        except BaseException:  # an interrupt: others need not wait for the next verb
            start_new_thread(common.mend_now, ())
            raise
        if lost is None:
            ticket.succeed()
        else:
            ticket.fail(LinkLost(lost))

    def retire(self) -> None:
        """Its consumer was closed: from now on it only holds what is not settled yet."""
        common = self._common
        with self._lock:
            common.mend()
            if self.lost is None and not self._retired:
                self._retired = True
                self.queue.leave(self)
            common.step = None

    def close(self) -> None:
        """End it; whatever is still held goes back as REQUEUED, except what the open transaction accepted."""
        common = self._common
        with self._lock:
            common.mend()
            if self.lost is None:
                self.stop("the subscription was closed")
                self.release()
                self.leave()
                self._channel.subscriptions.discard(self)
            common.step = None

    # -- for the broker, with its lock held ----------------------------------------------------------------------

    def prepare(self) -> None:
        """Look at the messages that wait, where it selects; without the broker's lock."""
        view = self.view
        if view.walk is not None:
            in_slices(self._common, lambda: self.lost is None and self.queue.look(view))

    def accept(self, tokens: Sequence[Entry]) -> None:
        """These messages are done."""
        common, queue = self._common, self.queue
        if len(tokens) == 1:
            (entry,) = tokens
            if entry.holder is not self:
                return
            size, stored = queue.size - 1, common.stored - 1
            common.step = (accepted, self, (entry,), size, stored)
            entry.holder = GONE
            self.held.discard(entry)
            queue.size = size
            common.stored = stored
            if queue.grouped:
                queue.ungroup((entry,))
        else:
            entries = [entry for entry in dict.fromkeys(tokens) if entry.holder is self]
            common.do(accepted, self, entries, queue.size - len(entries), common.stored - len(entries))
        if self._retired:
            queue.rest()

    def stop(self, lost: str) -> None:
        """No more arrivals; every verb says ``lost`` from now on."""
        self.lost = lost
        self.queue.pause(self)

    def release(self, *, death: bool = False) -> None:
        """After ``stop``: held messages return to their places, except what the open transaction accepted.

        After a ``death`` nobody knows which of them were seen: they are marked as redelivered, but deaths alone never
        use up the redeliveries of a message.
        """
        kept = self._channel.accepted or {}
        for entry in [entry for entry in self.held if entry not in kept]:
            self.put_back((entry,), 0 if death and entry.count else 1, 0)

    def leave(self) -> None:
        """After ``release``: leave the queue, which hands out what came back."""
        self.queue.leave(self)

    def put_back(self, entries: Sequence[Entry], deliveries: int, failures: int) -> None:
        """These messages wait again, each counting that many of both; the caller dispatches."""
        self.held.difference_update(entries)
        queue = self.queue
        if self.expired is not None and not queue.ended:
            now = self._common.clock()
            for entry in entries:
                if is_expired(entry.envelope, now):
                    entry.holder = None
                    self.put_aside(entry)
            entries = [entry for entry in entries if entry.holder is self]
        queue.give_back(entries, deliveries, failures)

    def put_aside(self, entry: Entry) -> None:
        """A message that nobody holds has expired: it goes to the queue that this consumer names for such ones."""
        queue, to = self.queue, Address(self.expired or "")
        target = self._channel.broker.queue(to)
        made = dead_letter(entry.envelope, to, queue.origin, entry.count, self._common.clock(), DEAD_LETTER_EXPIRED)
        queue.move(entry, made, target)

    def _reject(self, entry: Entry, deliveries: int) -> None:
        to, reason = rejected_to(self._interest, entry.envelope, self._common.clock())
        self._channel.broker.bury(entry, self.queue.origin, deliveries, to, reason)

    def _return(self, tokens: Sequence[Entry], outcome: Outcome, failures: int) -> None:
        entries = [entry for entry in dict.fromkeys(tokens) if entry.holder is self]
        if self._channel.accepted:
            for entry in entries:
                self._channel.accepted.pop(entry, None)
        if outcome is Outcome.REJECTED:
            for entry in entries:
                self._reject(entry, entry.count + failures)
            self.accept(entries)
        else:
            failures = 0 if outcome is Outcome.RELEASED else failures
            self.put_back(entries, failures + (outcome is Outcome.REQUEUED), failures)
            self.queue.dispatch()
            if self._retired:
                self.queue.rest()
