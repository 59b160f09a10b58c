"""A consumer of one queue or subscription in a file."""

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from jmsbridge.spi import DEAD_LETTER_EXPIRED, Envelope, Inbox, Interest, LinkLost, Native, Outcome, Ticket, rejected_to
from jmsbridge_embedded.file.batch import Batch
from jmsbridge_embedded.file.disk.catalog import Line
from jmsbridge_embedded.file.operations import Drain, Grant, Settle
from jmsbridge_embedded.file.token import Token
from jmsbridge_embedded.native import NATIVE
from jmsbridge_embedded.rules import is_expired

if TYPE_CHECKING:
    from jmsbridge_embedded.file.channel import FileChannel
    from jmsbridge_embedded.file.dispatch import View

__all__ = ["FileConsumer"]


class FileConsumer:
    """The SPI's Subscription for CONSUME interests.

    ``lost`` is set by whoever ends it, and verbs see it at once; ``ended`` by the store's thread, which alone uses
    the other attributes. ``retired`` says that its line does not count it as a consumer any more, though it may hold
    messages still.
    """

    def __init__(self, channel: "FileChannel", line: Line, number: int, interest: Interest, inbox: Inbox) -> None:
        self.native: Native = NATIVE
        self.channel = channel
        self.link = channel.link
        self.line = line
        self.id = number
        self.put = inbox.put
        self.presettled = interest.presettled
        self._interest = interest
        self.expired = interest.expired or None
        self.credit = 0
        self.owed = 0
        self.held: dict[int, Token] = {}
        self.view: View | None = None
        self.ended = False
        self.retired = False
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

    def retire(self) -> None:
        """Its consumer was closed: from now on it only holds what is not settled yet.

        Returns when other processes see it so, where that takes no longer than closing may.
        """
        if self.lost is None:
            self.link.end_soon(self._retire)

    def close(self) -> None:
        """End it; whatever is still held goes back as REQUEUED, except what the open transaction accepted."""
        if self.lost is None:
            self.channel.end_consumer(self)

    # -- for the store's thread ----------------------------------------------------------------------------------

    def _retire(self, batch: Batch) -> None:
        if not self.ended:
            self.leave(batch)

    def leave(self, batch: Batch) -> None:
        """No consumer any more, in memory for good, in the file when the transaction says so; once is enough."""
        batch.store.dispatcher.leave(self)
        if self.retired:
            return
        self.retired = True
        batch.on_undo(self._not_left)
        if not batch.catalog.leave(self.id, self.line.id):
            batch.available.add(self.line.id)  # its groups are free

    def _not_left(self) -> None:
        self.retired = False

    def may_have(self, envelope: Envelope) -> bool:
        """Whether its selector matches."""
        return self.view is None or self.view.selector.matches_envelope(envelope)

    def give_back(self, batch: Batch, tokens: Iterable[Token], deliveries: int | None, failures: int) -> None:
        """These wait again in their places; no number of deliveries means a death, see ``Entries.give_back``.

        Those that expired meanwhile go where this consumer wants such messages, unless their line is gone.
        """
        line = self.line
        back: list[Token] = []
        late: list[Token] = []
        for token in tokens:
            is_late = self.expired is not None and is_expired(token.envelope, batch.now)
            (late if is_late else back).append(token)
        batch.give_back(line.id, [(token.id, token.rank) for token in back], deliveries, failures)
        if late and batch.catalog.by_id(line.id) is not None:
            for token in late:
                batch.bury(token.envelope, self.expired, line.origin, token.count, DEAD_LETTER_EXPIRED)
        batch.entries.forget(token.id for token in late)

    def reject(self, batch: Batch, token: Token, deliveries: int) -> None:
        """A copy of this message is put aside; one that has expired, where this consumer wants such messages."""
        to, reason = rejected_to(self._interest, token.envelope, batch.now)
        batch.bury(token.envelope, to, self.line.origin, deliveries, reason)

    def forget(self, number: int) -> None:
        """A claim was rolled back."""
        self.held.pop(number, None)

    def stop(self, batch: Batch, lost: str) -> None:
        """No more arrivals; what happens in memory is for good, whatever becomes of the transaction."""
        self.lost = lost
        self.ended = True
        batch.store.dispatcher.leave(self)
