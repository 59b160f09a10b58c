"""A consumer of one queue or subscription in a file."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from jmsbridge.spi import Inbox, Interest, LinkLost, Native, Outcome, Ticket
from jmsbridge_embedded.file.batch import Batch
from jmsbridge_embedded.file.catalog import Line
from jmsbridge_embedded.file.operations import Drain, Grant, Settle
from jmsbridge_embedded.file.token import Token
from jmsbridge_embedded.native import NATIVE

if TYPE_CHECKING:
    from jmsbridge_embedded.file.channel import FileChannel
    from jmsbridge_embedded.file.dispatch import View

__all__ = ["FileConsumer"]


class FileConsumer:
    """The SPI's Subscription for CONSUME interests.

    ``lost`` is set by whoever ends it, and verbs see it at once; ``ended`` by the store's thread, which alone uses
    the other attributes.
    """

    def __init__(self, channel: "FileChannel", line: Line, number: int, interest: Interest, inbox: Inbox) -> None:
        self.native: Native = NATIVE
        self.channel = channel
        self.link = channel.link
        self.line = line
        self.id = number
        self.put = inbox.put
        self.presettled = interest.presettled
        self.credit = 0
        self.owed = 0
        self.held: dict[int, Token] = {}
        self.view: View | None = None
        self.ended = False
        self.lost: str | None = None

    # -- Subscription --------------------------------------------------------------------------------------------

    def grant(self, count: int) -> None:
        """Allow that many more arrivals."""
        if self.lost is not None:
            raise LinkLost(self.lost)
        if count > 0:
            owed, self.owed = self.owed, 0
            self.channel.store.submit(Grant(self, count + owed))

    def settle(self, tokens: Sequence[Any], outcome: Outcome, ticket: Ticket | None = None, failures: int = 1) -> None:
        """Say what became of these; without a ticket it is recorded within some milliseconds."""
        if self.lost is None:
            self.channel.store.submit(Settle(self, tokens, outcome, ticket, failures))
        elif ticket is None:
            raise LinkLost(self.lost)
        else:
            ticket.fail(LinkLost(self.lost))

    def drain(self, ticket: Ticket) -> None:
        """Take credit to zero."""
        if self.lost is None:
            self.owed = 0
            self.channel.store.submit(Drain(self, ticket))
        else:
            ticket.fail(LinkLost(self.lost))

    def close(self) -> None:
        """End it; whatever is still held goes back as FAILED, except what the open transaction accepted."""
        if self.lost is None:
            self.channel.end_consumer(self)

    # -- for the store's thread ----------------------------------------------------------------------------------

    def forget(self, number: int) -> None:
        """A claim was rolled back."""
        self.held.pop(number, None)

    def stop(self, batch: Batch, lost: str) -> None:
        """No more arrivals; what happens in memory is for good, whatever becomes of the transaction."""
        self.lost = lost
        if not self.ended:
            self.ended = True
            batch.store.dispatcher.leave(self)
