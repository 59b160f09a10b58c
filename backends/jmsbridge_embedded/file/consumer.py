"""A consumer of one queue or subscription in a file."""

import logging
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import Any

from jmsbridge.spi import (
    DEAD_LETTER_EXPIRED,
    BackendError,
    Inbox,
    Interest,
    LinkLost,
    Native,
    Outcome,
    Ticket,
    rejected_to,
)
from jmsbridge_embedded.file.access import Access
from jmsbridge_embedded.file.batch import Batch
from jmsbridge_embedded.file.disk.catalog import QueueRow
from jmsbridge_embedded.file.dispatch import Taker, Token
from jmsbridge_embedded.file.operations import SMALL, Verb
from jmsbridge_embedded.native import NATIVE
from jmsbridge_embedded.rules import answer, check_alive, is_expired

__all__ = ["Accepted", "FileConsumer"]

Accepted = dict[int, tuple[Token, "FileConsumer"]]
"""The messages that an open transaction has accepted, by id, with the consumers that hold them."""

_log = logging.getLogger("jmsbridge.embedded")


class FileConsumer(Taker):
    """The SPI's Subscription for CONSUME interests.

    ``lost`` is set on the thread that ends it, and verbs see it at once; ``ended`` on the store's thread, which alone
    uses the other attributes. ``transaction`` is the channel's, None on a channel without one. ``_retired`` says that
    its queue no longer counts it as a consumer, though it may still hold messages.
    """

    def __init__(
        self,
        access: Access,
        queue: QueueRow,
        number: int,
        interest: Interest,
        inbox: Inbox,
        transaction: Accepted | None,
        on_close: "Callable[[FileConsumer], None]",
    ) -> None:
        super().__init__(queue, number, interest, inbox)
        self.native: Native = NATIVE
        self.ended = False
        self.lost: str | None = None
        self._access = access
        self._store = access.store
        self._interest = interest
        self._transaction = transaction
        self._on_close = on_close
        self._ungranted = 0
        self._retired = False

    # -- Subscription --------------------------------------------------------------------------------------------

    def grant(self, count: int) -> None:
        """Allow ``count`` more arrivals."""
        check_alive(self.lost)
        if count > 0:
            owed, self._ungranted = self._ungranted, 0
            count += owed
            self._store.submit(Verb(partial(self._grant, count), failed=partial(self._grant_again, count)))

    def settle(self, tokens: Sequence[Any], outcome: Outcome, ticket: Ticket | None = None, failures: int = 1) -> None:
        """Settle these messages; without a ticket this is recorded within some milliseconds."""
        if self.lost is not None:
            answer(ticket, self.lost)
            return
        self._store.submit(_Settle(self, tokens, outcome, ticket, failures))

    def drain(self, ticket: Ticket) -> None:
        """Take credit to zero."""
        if self.lost is not None:
            answer(ticket, self.lost)
            return
        self._ungranted = 0
        self._store.submit(Verb(self._drain, ticket))

    def retire(self) -> None:
        """Leave the queue; from now on this only holds its unsettled messages.

        Returns when other processes see it, or after the time that closing may take.
        """
        if self.lost is None:
            self._access.end_soon(self._retire)

    def close(self) -> None:
        """Close it; held messages return as REQUEUED, except those that the open transaction accepted."""
        if self.lost is None:
            self._access.end_soon(self._close)

    # -- in a transaction of the file ----------------------------------------------------------------------------

    def _grant(self, count: int, batch: Batch) -> None:
        self._store.dispatcher.grant(batch, self, count)

    def _grant_again(self, count: int, error: BackendError) -> None:
        """A grant failed: add it to the next one. If the link is dead, it has reported that."""
        self._ungranted += count

    def _drain(self, batch: Batch) -> bool:
        """Deliver what is available, then take credit to zero."""
        self._check()
        if self.credit and not self._store.dispatcher.dispatch(batch, self.queue.id):
            return True
        self._store.dispatcher.pause(batch, self)
        return False

    def finish(self, tokens: Sequence[Token], outcome: Outcome, failures: int, batch: Batch) -> None:
        """Settle, inside the transaction."""
        self._check()
        held, transaction = self.held, self._transaction
        mine = {token.id: token for token in tokens if token.id in held}
        if outcome is not Outcome.ACCEPTED or transaction is None:
            self._settle_now(mine, outcome, failures, batch)
            return
        new = [number for number in mine if number not in transaction]
        batch.on_undo(lambda: _remove(transaction, new))
        transaction.update((number, (mine[number], self)) for number in new)

    def _settle_now(self, mine: dict[int, Token], outcome: Outcome, failures: int, batch: Batch) -> None:
        """Settle messages that no open transaction has to keep."""
        _remove(self.held, mine)
        batch.on_undo(lambda: self.held.update(mine))
        transaction = self._transaction
        if transaction:
            taken = {number: transaction[number] for number in mine if number in transaction}
            _remove(transaction, taken)
            batch.on_undo(lambda: transaction.update(taken))
        if outcome is Outcome.ACCEPTED:
            batch.entries.forget(mine)
        elif outcome is Outcome.REJECTED:
            for token in mine.values():
                to, reason = rejected_to(self._interest, token.envelope, batch.now)
                batch.dead_letter(token.envelope, to, self.queue.origin, token.count + failures, reason)
            batch.entries.forget(mine)
        else:
            failures = 0 if outcome is Outcome.RELEASED else failures
            self.put_back(batch, mine.values(), failures + (outcome is Outcome.REQUEUED), failures)

    def _close(self, batch: Batch) -> None:
        self.stop("the subscription was closed")
        self._on_close(self)
        kept = self._transaction or {}
        back = {number: token for number, token in self.held.items() if number not in kept}
        self.put_back(batch, back.values(), 1, 0)
        _remove(self.held, back)
        batch.on_undo(lambda: self.held.update(back))
        self.leave(batch)

    def _retire(self, batch: Batch) -> None:
        if not self.ended:
            self.leave(batch)

    def leave(self, batch: Batch) -> None:
        """Leave the queue: in memory irrevocably, in the file with this transaction. Idempotent."""
        self._store.dispatcher.leave(self)
        if self._retired:
            return
        self._retired = True
        batch.on_undo(self._not_left)
        if not batch.catalog.leave(self.id, self.queue.id):
            batch.available.add(self.queue.id)  # its groups have no owner now

    def _not_left(self) -> None:
        self._retired = False

    def put_back(self, batch: Batch, tokens: Iterable[Token], deliveries: int | None, failures: int) -> None:
        """Return messages to their places; ``deliveries`` None means a death, see ``Entries.put_back``.

        Those that have expired move to the expiry queue that this consumer names, if any, unless their queue is gone.
        """
        queue = self.queue
        back: list[Token] = []
        late: list[Token] = []
        for token in tokens:
            is_late = self.expired is not None and is_expired(token.envelope, batch.now)
            (late if is_late else back).append(token)
        self._store.dispatcher.put_back(batch, queue.id, back, deliveries, failures)
        if late and batch.catalog.by_id(queue.id) is not None:
            for token in late:
                batch.dead_letter(token.envelope, self.expired, queue.origin, token.count, DEAD_LETTER_EXPIRED)
        batch.entries.forget(token.id for token in late)

    def stop(self, lost: str) -> None:
        """No more arrivals; this change in memory stays even if the transaction is rolled back."""
        self.lost = lost
        self.ended = True
        self._store.dispatcher.leave(self)

    def _check(self) -> None:
        if self.ended:
            raise LinkLost(self.lost or "the subscription was closed")


def _remove(found: dict[int, Any], numbers: Iterable[int]) -> None:
    for number in numbers:
        del found[number]


class _Settle:
    """Settlements of one consumer; cheaper than a ``Verb``, because there is one for each message."""

    __slots__ = ("_consumer", "_failures", "_outcome", "_ticket", "_tokens", "lazy", "size", "sync")

    def __init__(
        self, consumer: FileConsumer, tokens: Sequence[Token], outcome: Outcome, ticket: Ticket | None, failures: int
    ) -> None:
        self.sync = ticket is not None
        self.lazy = ticket is None and outcome is Outcome.ACCEPTED
        self.size = SMALL
        self._consumer = consumer
        self._tokens = tokens
        self._outcome = outcome
        self._ticket = ticket
        self._failures = failures

    def run(self, batch: Batch) -> None:
        self._consumer.finish(self._tokens, self._outcome, self._failures, batch)
        if self._ticket is not None:
            batch.effects.append(self._ticket.succeed)

    def fail(self, error: BackendError) -> None:
        if self._ticket is not None:
            self._ticket.fail(error)
        else:
            _log.warning("a settlement was not recorded; the messages will be delivered again: %s", error)
