"""A browser for brokers that have none: take what is there, hand all of it back, and look at the copies."""

import logging
import threading

from jmsbridge.core.locks import Rank, ranked
from jmsbridge.core.ticket import Waiter
from jmsbridge.spi import Address, Arrival, Interest, Link, Native, NotSupported, Outcome, Subscription

__all__ = ["look"]

log = logging.getLogger("jmsbridge.browsing")

_GRACE = 0.1  # seconds without an arrival after which a broker without drain is believed to have no more


class _Page:
    """Collects the arrivals."""

    def __init__(self) -> None:
        self.arrivals: list[Arrival] = []
        self._more_lock = ranked(Rank.LEAF)
        self._more = threading.Condition(self._more_lock)  # guards arrivals

    def put(self, arrival: Arrival) -> None:
        """One message."""
        with self._more:
            self.arrivals.append(arrival)
            self._more.notify_all()

    def put_again(self, arrival: Arrival) -> None:
        """The same, unless it is here."""
        with self._more:
            if not any(each is arrival for each in self.arrivals):
                self.arrivals.append(arrival)
            self._more.notify_all()

    def wait_quiet(self, count: int) -> None:
        """Return when ``count`` messages are here, or when none has come for a while."""
        with self._more:
            while len(self.arrivals) < count and self._more.wait(_GRACE):
                pass


def look(link: Link, address: Address, limit: int, timeout: float) -> tuple[list[Arrival], bool]:
    """The first ``limit`` messages of a queue, all of which are back in it, and whether there are more.

    They travel over a channel of their own: if anything goes wrong, closing it hands them back. BackendError when
    something does.
    """
    most = limit + 1  # one more tells a queue that is longer from one that is not
    channel = link.channel(False)
    page = _Page()
    try:
        subscription = channel.subscribe(Interest(address=address, window=most, deferred=True), page)
        if Native.HAND_BACK not in subscription.native:
            raise NotSupported(
                f"{link.broker} has no queue browser, and handing messages back to {address} may drop or move them: "
                "it has a limit of deliveries; use a queue without one"
            )
        _take(subscription, page, most, timeout)
        if page.arrivals:
            subscription.settle([arrival.token for arrival in page.arrivals], Outcome.RELEASED)
        subscription.close()
    finally:
        channel.close()
    is_cut = len(page.arrivals) > limit
    if is_cut:
        log.warning("a browser shows the first %d messages of %s only (option emulation_limit)", limit, address)
    return page.arrivals[:limit], is_cut


def _take(subscription: Subscription, page: _Page, limit: int, timeout: float) -> None:
    subscription.grant(limit)
    if Native.DRAIN not in subscription.native:
        page.wait_quiet(limit)
    waiter = Waiter()
    subscription.drain(waiter)
    waiter.wait_answer(timeout, "a browser's drain")
