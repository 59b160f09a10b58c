"""Browsing a queue of the broker in a file."""

from collections.abc import Callable, Sequence
from typing import Any, Final

from jmsbridge.spi import Arrival, BackendError, Inbox, Native, Outcome, Ticket
from jmsbridge_embedded.file.access import Access
from jmsbridge_embedded.file.batch import Batch
from jmsbridge_embedded.file.disk.catalog import QueueRow, selector_of
from jmsbridge_embedded.file.disk.entries import BAND
from jmsbridge_embedded.file.disk.wire import decode
from jmsbridge_embedded.file.operations import Verb
from jmsbridge_embedded.native import NATIVE
from jmsbridge_embedded.rules import answer, check_alive

__all__ = ["FileBrowser"]

_PAGE: Final = 250
_AT_ONCE: Final = 2000


class FileBrowser:
    """The SPI's Subscription for BROWSE interests.

    Shows, in order and page by page, the messages that waited when it was created and still wait. It has shown all when
    a ``drain`` is answered after fewer arrivals than were granted. Its tokens need not be settled.
    """

    def __init__(
        self,
        access: Access,
        queue: QueueRow | None,
        selector: str | None,
        inbox: Inbox,
        last: int,
        on_close: "Callable[[FileBrowser], None]",
    ) -> None:
        self.native: Native = NATIVE
        self.lost: str | None = None
        self._access = access
        self._find = queue
        self._selector = None if selector is None else selector_of(selector)
        self._put = inbox.put
        self._on_close = on_close
        self._last = last
        self._after = -1
        self._credit = 0

    def grant(self, count: int) -> None:
        """Show up to ``count`` more messages."""
        check_alive(self.lost)
        if count > 0:
            self._access.store.submit(Verb(lambda batch: self._grant(batch, count), failed=_ignored))

    def settle(self, tokens: Sequence[Any], outcome: Outcome, ticket: Ticket | None = None, failures: int = 1) -> None:
        """Answer the ticket; a browser takes no messages."""
        answer(ticket, self.lost)

    def drain(self, ticket: Ticket) -> None:
        """Show what the credit covers, then answer."""
        if self.lost is None:
            self._access.store.submit(Verb(self._drain, ticket))
        else:
            answer(ticket, self.lost)

    def close(self) -> None:
        """Close the browser."""
        if self.lost is None:
            self.lost = "the browser was closed"
            self._on_close(self)
            self._access.call(lambda batch: None)  # when this returns, no arrival is under way

    # -- in a transaction of the file ----------------------------------------------------------------------------

    def _grant(self, batch: Batch, count: int) -> None:
        self._remember(batch)
        self._credit += count
        if self._show(batch):
            batch.again.append(Verb(self._show, failed=_ignored))

    def _drain(self, batch: Batch) -> bool:
        if self._show(batch):
            return True
        self._credit = 0
        return False

    def _show(self, batch: Batch) -> bool:
        """Show the next messages; return whether to continue in the next transaction."""
        check_alive(self.lost)
        self._remember(batch)
        queue, budget = self._find, _AT_ONCE
        while queue is not None and self._credit > 0:
            if budget <= 0:
                return True
            wanted = _PAGE if self._selector is not None else min(_PAGE, self._credit)
            rows = batch.entries.page(queue.id, self._after, 10 * BAND, wanted)
            budget -= len(rows)
            for _, rank, over, expires, _, body, failures in rows:
                if self._credit <= 0:
                    break
                self._after = rank
                if rank % BAND > self._last or (expires and expires <= batch.now):
                    continue
                envelope = decode(body, queue.address)
                if self._selector is None or self._selector.matches_envelope(envelope):
                    self._credit -= 1
                    batch.effects.append((self._put, Arrival(None, envelope, over > 0, over + 1, failures)))
            if len(rows) < wanted:
                break
        return False

    def _remember(self, batch: Batch) -> None:
        after, credit = self._after, self._credit
        batch.on_undo(lambda: self._go_back(after, credit))

    def _go_back(self, after: int, credit: int) -> None:
        self._after, self._credit = after, credit


def _ignored(error: BackendError) -> None:
    """For ``grant``, which has no ticket: the ``drain`` that follows reports the error."""
