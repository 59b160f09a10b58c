"""A consumer of one queue or topic subscription."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from jmsbridge.spi import Arrival, Inbox, Interest, LinkLost, Native, Outcome, Ticket
from jmsbridge_embedded.backlog import GONE, Backlog, Entry
from jmsbridge_embedded.native import NATIVE
from jmsbridge_embedded.queue import Queue

if TYPE_CHECKING:
    from jmsbridge_embedded.channel import Channel

__all__ = ["Consumer"]


class Consumer:
    """The SPI's Subscription for CONSUME interests; guarded by the broker's lock."""

    def __init__(self, channel: "Channel", queue: Queue, interest: Interest, inbox: Inbox) -> None:
        self.native: Native = NATIVE
        self.queue = queue
        self.credit = 0
        self.held: set[Entry] = set()
        self.view: Backlog = queue.main
        self.own: list[tuple[int, Entry]] = []
        self.lost: str | None = None
        self._channel = channel
        self._common = queue.common
        self._lock = queue.common.lock
        self._put = inbox.put
        self._presettled = interest.presettled

    # -- Subscription --------------------------------------------------------------------------------------------

    def grant(self, count: int) -> None:
        """Allow that many more arrivals; those that wait arrive before this returns."""
        with self._lock:
            if self.lost is not None:
                raise LinkLost(self.lost)
            if count <= 0:
                return
            queue = self.queue
            if not self.credit:
                queue.ring.append(self)
            self.credit += count
            if queue.size:
                queue.dispatch()

    def settle(self, tokens: Sequence[Any], outcome: Outcome, ticket: Ticket | None = None, failures: int = 1) -> None:
        """Say what became of these; recorded when this returns."""
        with self._lock:
            lost = self.lost
            if lost is None:
                accepted = self._channel.accepted
                if outcome is not Outcome.ACCEPTED:
                    self._return(tokens, outcome, failures)
                elif accepted is None:
                    self.accept(tokens)
                else:
                    accepted.update((entry, self) for entry in tokens if entry.holder is self)
        if lost is None:
            if ticket is not None:
                ticket.succeed()
        elif ticket is None:
            raise LinkLost(lost)
        else:
            ticket.fail(LinkLost(lost))

    def drain(self, ticket: Ticket) -> None:
        """Take credit to zero; everything that was available has arrived when this returns."""
        with self._lock:
            lost = self.lost
            if lost is None:
                self._common.catch_up()
                self.queue.pause(self)
        if lost is None:
            ticket.succeed()
        else:
            ticket.fail(LinkLost(lost))

    def close(self) -> None:
        """End it; whatever is still held goes back as FAILED, except what the open transaction accepted."""
        with self._lock:
            if self.lost is None:
                self.stop("the subscription was closed")
                self.release()
                self.leave()
                self._channel.subscriptions.discard(self)

    # -- for the broker, with its lock held ----------------------------------------------------------------------

    def deliver(self, entry: Entry) -> None:
        """Hand one message to the facade."""
        if self._presettled:
            self.queue.forget(entry)
        else:
            entry.holder = self
            self.held.add(entry)
        count = entry.count
        if count:
            self._put(Arrival(entry, entry.envelope, True, count + 1))
        else:
            self._put(Arrival(entry, entry.envelope))

    def accept(self, tokens: Sequence[Entry]) -> None:
        """These messages are done."""
        held = self.held
        done = 0
        for entry in tokens:
            if entry.holder is self:
                entry.holder = GONE
                held.remove(entry)
                done += 1
        self.queue.size -= done
        self._common.stored -= done

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
            self.put_back((entry,), 0 if death and entry.count else 1)

    def leave(self) -> None:
        """After ``release``: leave the queue, which hands out what came back."""
        self.queue.leave(self)

    def put_back(self, entries: Sequence[Entry], failures: int = 1) -> None:
        """These messages were delivered in vain; the caller dispatches."""
        self.held.difference_update(entries)
        self.queue.give_back(entries, failures)

    def _return(self, tokens: Sequence[Entry], outcome: Outcome, failures: int) -> None:
        entries = [entry for entry in tokens if entry.holder is self]
        if self._channel.accepted:
            for entry in entries:
                self._channel.accepted.pop(entry, None)
        if outcome is Outcome.REJECTED:
            for entry in entries:
                self._channel.broker.bury(entry, self.queue.origin, entry.count + failures)
            self.accept(entries)
        else:
            self.put_back(entries, 0 if outcome is Outcome.RELEASED else failures)
            self.queue.dispatch()
