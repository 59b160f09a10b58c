"""A look at a queue that takes nothing."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from jmsbridge.spi import Arrival, Inbox, LinkLost, Native, Outcome, Ticket
from jmsbridge_embedded.backlog import GONE, Entry
from jmsbridge_embedded.native import NATIVE
from jmsbridge_embedded.queue import Queue

if TYPE_CHECKING:
    from jmsbridge.selectors import Selector
    from jmsbridge_embedded.channel import Channel

__all__ = ["Browser"]


class Browser:
    """The SPI's Subscription for BROWSE interests; guarded by the broker's lock.

    Shows the messages that waited when it was made, in order, without those that have gone since. The end is a
    ``drain`` answered after fewer arrivals than were granted. Its tokens need no settlement.
    """

    def __init__(self, channel: "Channel", queue: Queue, selector: "Selector | None", inbox: Inbox) -> None:
        self.native: Native = NATIVE
        self.lost: str | None = None
        self._channel = channel
        self._common = queue.common
        self._lock = queue.common.lock
        self._put = inbox.put
        queue.common.catch_up()
        waiting = queue.waiting()
        if selector is not None:
            waiting = [entry for entry in waiting if selector.matches_envelope(entry.envelope)]
        waiting.reverse()
        self._left: list[Entry] = waiting

    def grant(self, count: int) -> None:
        """Show that many more."""
        with self._lock:
            if self.lost is not None:
                raise LinkLost(self.lost)
            now = self._common.clock()
            left = self._left
            while left and count > 0:
                entry = left.pop()
                envelope = entry.envelope
                if entry.holder is GONE or (envelope.expiration and envelope.expiration <= now):
                    continue
                count -= 1
                self._put(Arrival(None, envelope, entry.count > 0, entry.count + 1))

    def settle(self, tokens: Sequence[Any], outcome: Outcome, ticket: Ticket | None = None, failures: int = 1) -> None:
        """Nothing was taken, so nothing changes."""
        self._answer(ticket)

    def drain(self, ticket: Ticket) -> None:
        """Answered at once: what was granted has arrived."""
        self._answer(ticket)

    def close(self) -> None:
        """End it."""
        with self._lock:
            if self.lost is None:
                self.stop("the browser was closed")
                self._channel.subscriptions.discard(self)

    def stop(self, lost: str) -> None:
        """Show nothing more; every verb says ``lost`` from now on. With the broker's lock held."""
        self.lost = lost
        self._left.clear()

    def release(self, *, death: bool = False) -> None:
        """Nothing to give back."""

    def leave(self) -> None:
        """Nobody waits for it."""

    def _answer(self, ticket: Ticket | None) -> None:
        lost = self.lost
        if ticket is None:
            if lost is not None:
                raise LinkLost(lost)
        elif lost is None:
            ticket.succeed()
        else:
            ticket.fail(LinkLost(lost))
