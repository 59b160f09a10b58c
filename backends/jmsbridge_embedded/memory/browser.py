"""Browsing a queue of the broker in memory."""

from _thread import start_new_thread
from collections import deque
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from jmsbridge.spi import Arrival, Inbox, Native, Outcome, Ticket
from jmsbridge_embedded.memory.queues.backlog import Entry
from jmsbridge_embedded.memory.queues.queue import Queue
from jmsbridge_embedded.memory.queues.slices import in_slices
from jmsbridge_embedded.memory.queues.walk import Walk
from jmsbridge_embedded.native import NATIVE
from jmsbridge_embedded.rules import answer, check_alive

if TYPE_CHECKING:
    from jmsbridge.selectors import Selector

__all__ = ["Browser"]


class Browser:
    """The SPI's Subscription for BROWSE interests; guarded by the broker's lock.

    Shows, in order, the messages that waited when it was created, except those that no longer wait at their turn. It
    has shown all when a ``drain`` is answered after fewer arrivals than were granted. Its tokens need not be settled.
    """

    def __init__(
        self, queue: Queue, selector: "Selector | None", inbox: Inbox, on_close: "Callable[[Browser], None]"
    ) -> None:
        self.native: Native = NATIVE
        self.lost: str | None = None
        self.credit = 0
        self.page: deque[Entry] = deque()
        self.put = inbox.put
        self.put_again = inbox.put_again
        self._on_close = on_close
        self._state = queue.state
        self._queue = queue
        self._selector = selector
        self._walk = Walk(queue.sequence)

    def prepare(self) -> None:
        """Let due messages appear in the queue; they are read when credit comes. The broker's lock is not held."""
        if self._queue.timetable.delayed:
            in_slices(self._state, self._catch_up)

    def _catch_up(self) -> bool:
        if self.lost is None and self._queue.catch_up():
            return True
        self._walk = Walk(self._queue.sequence)
        return False

    def grant(self, count: int) -> None:
        """Show up to ``count`` more messages."""
        state = self._state
        try:
            with state.lock:
                state.repair()
                lost = self.lost
                self.credit += max(0, count)
            if lost is None:
                in_slices(state, self._show)
        except BaseException:  # an interrupt: other threads do not depend on the next verb
            start_new_thread(state.repair_now, ())
            raise
        check_alive(lost)

    def settle(self, tokens: Sequence[Any], outcome: Outcome, ticket: Ticket | None = None, failures: int = 1) -> None:
        """Answer the ticket; a browser takes no messages."""
        answer(ticket, self.lost)

    def drain(self, ticket: Ticket) -> None:
        """Show what the credit covers, then answer."""
        state = self._state
        try:
            in_slices(state, self._show)
            with state.lock:
                state.repair()
                self.credit = 0
        except BaseException:  # an interrupt: other threads do not depend on the next verb
            start_new_thread(state.repair_now, ())
            raise
        answer(ticket, self.lost)

    def close(self) -> None:
        """Close the browser."""
        with self._state.lock:
            self._state.repair()
            if self.lost is None:
                self.stop("the browser was closed")
                self._on_close(self)

    def stop(self, lost: str) -> None:
        """Show nothing more; verbs fail with ``lost`` from now on. The broker's lock is held."""
        self.lost = lost
        self.page.clear()

    def release(self, *, death: bool = False) -> None:
        """Do nothing: a browser holds no messages."""

    def leave(self) -> None:
        """Do nothing: a queue does not know its browsers."""

    def _show(self) -> bool:
        """Show some more messages; return whether there is more to do. The broker's lock is held."""
        if self.lost is not None or self.credit <= 0:
            return False
        if not self.page:
            self.page.extend(self._walk.page(self._queue.backlogs()))
            return not self._walk.done
        now = self._state.clock()
        while self.page and self.credit > 0:
            entry = self.page[0]
            if self._is_to_be_shown(entry, now):
                arrival = Arrival(None, entry.envelope, entry.count > 0, entry.count + 1, entry.failures)
                self._state.do(_shown, self, arrival, self.credit - 1, len(self.page) - 1)
            else:
                self.page.popleft()
        return self.credit > 0

    def _is_to_be_shown(self, entry: Entry, now: int) -> bool:
        envelope = entry.envelope
        if entry.holder is not None or 0 < envelope.expiration <= now:
            return False
        return self._selector is None or self._selector.matches_envelope(envelope)


def _shown(again: bool, browser: Browser, arrival: Arrival, credit: int, left: int) -> None:
    """A step: a browser has shown a message."""
    browser.credit = credit
    if again:
        browser.put_again(arrival)
    else:
        browser.put(arrival)
    if len(browser.page) > left:
        browser.page.popleft()
