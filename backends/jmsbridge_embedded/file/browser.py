"""A look at a queue in a file that takes nothing."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final

from jmsbridge.spi import Arrival, Inbox, LinkLost, Native, Outcome, Ticket
from jmsbridge_embedded.file.batch import Batch
from jmsbridge_embedded.file.disk.catalog import Line, selector_of
from jmsbridge_embedded.file.disk.entries import BAND
from jmsbridge_embedded.file.disk.wire import decode
from jmsbridge_embedded.file.operations import Browse
from jmsbridge_embedded.native import NATIVE

if TYPE_CHECKING:
    from jmsbridge_embedded.file.channel import FileChannel

__all__ = ["FileBrowser"]

_PAGE: Final = 250
_AT_ONCE: Final = 2000


class FileBrowser:
    """The SPI's Subscription for BROWSE interests.

    Shows the messages that waited when it was made, in order, without those that have gone since, page by page. The
    end is a ``drain`` answered after fewer arrivals than were granted. Its tokens need no settlement.
    """

    def __init__(
        self, channel: "FileChannel", line: Line | None, selector: str | None, inbox: Inbox, last: int
    ) -> None:
        self.native: Native = NATIVE
        self.lost: str | None = None
        self.turn: Browse | None = None
        self._channel = channel
        self._line = line
        self._selector = None if selector is None else selector_of(selector)
        self._put = inbox.put
        self._last = last
        self._after = -1

    def grant(self, count: int) -> None:
        """Show that many more."""
        if self.lost is not None:
            raise LinkLost(self.lost)
        if count > 0:
            self._channel.store.submit(Browse(self, count))

    def settle(self, tokens: Sequence[Any], outcome: Outcome, ticket: Ticket | None = None, failures: int = 1) -> None:
        """Nothing was taken, so nothing changes."""
        if ticket is None:
            if self.lost is not None:
                raise LinkLost(self.lost)
        elif self.lost is None:
            ticket.succeed()
        else:
            ticket.fail(LinkLost(self.lost))

    def drain(self, ticket: Ticket) -> None:
        """Answered after what was granted has arrived."""
        if self.lost is None:
            self._channel.store.submit(Browse(self, 0, ticket))
        else:
            ticket.fail(LinkLost(self.lost))

    def close(self) -> None:
        """End it."""
        if self.lost is None:
            self._channel.end_browser(self)
            self._channel.link.call(lambda batch: None)  # what was under way has arrived

    def show(self, batch: Batch, count: int) -> tuple[int, bool]:
        """The next ``count`` ones; how many are left to be shown, and whether there may be more to look at."""
        line, budget, after = self._line, _AT_ONCE, self._after
        batch.on_undo(lambda: self._go_back(after))
        while line is not None and count > 0:
            if budget <= 0:
                return count, True
            wanted = _PAGE if self._selector is not None else min(_PAGE, count)
            rows = batch.entries.page(line.id, self._after, 10 * BAND, wanted)
            budget -= len(rows)
            for _, rank, over, expires, _, body, failures in rows:
                if count <= 0:
                    break
                self._after = rank
                if rank % BAND > self._last or (expires and expires <= batch.now):
                    continue
                envelope = decode(body, line.address)
                if self._selector is None or self._selector.matches_envelope(envelope):
                    count -= 1
                    batch.effects.append((self._put, Arrival(None, envelope, over > 0, over + 1, failures)))
            if len(rows) < wanted:
                break
        return count, False

    def _go_back(self, after: int) -> None:
        self._after = after
