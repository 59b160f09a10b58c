"""A queue browser for brokers that have none: take the messages, release all of them, and show the copies."""

import logging
import time
from functools import partial

from jmsbridge.core.runtime.waiting import WaitSet, wait_answered
from jmsbridge.spi import Address, Arrival, Interest, Link, Native, NotSupported, Outcome, Subscription

__all__ = ["Page", "look"]

log = logging.getLogger("jmsbridge.browsing")

_GRACE = 0.1
"""Seconds without an arrival after which a broker without drain is assumed to have no more messages, if it is near."""
_ROUND_TRIPS = 3
"""The same in round trips, of which subscribing takes at least one."""


class Page:
    """Collects the arrivals of a browser."""

    def __init__(self) -> None:
        self.arrivals: list[Arrival] = []
        self._more = WaitSet()

    def put(self, arrival: Arrival) -> None:
        """One message."""
        self.arrivals.append(arrival)
        self._more.notify()

    def put_again(self, arrival: Arrival) -> None:
        """Add a message unless it is here already."""
        if not any(one is arrival for one in self.arrivals):
            self.put(arrival)

    def wait_quiet(self, count: int, seconds: float) -> None:
        """Wait until ``count`` messages are here, or none has come for so long."""
        seen = -1
        while seen < len(self.arrivals) < count:
            seen = len(self.arrivals)
            self._more.wait_for(partial(self._has_more_than, seen), seconds)

    def _has_more_than(self, count: int) -> bool:
        return len(self.arrivals) > count


def look(link: Link, address: Address, limit: int, timeout: float) -> tuple[list[Arrival], bool]:
    """The first ``limit`` messages of a queue, which are back in the queue, and whether it has more; BackendError.

    They are taken over a separate channel: after a failure, closing it returns them to the queue.
    """
    most = limit + 1  # one more, to see whether the queue is longer
    channel = link.channel(False)
    page = Page()
    began = time.monotonic()
    try:
        subscription = channel.subscribe(Interest(address=address, window=most, deferred=True), page)
        if Native.UNLIMITED_REQUEUE not in subscription.native:
            raise NotSupported(
                f"{link.broker} has no queue browser, and requeueing messages to {address} may drop or move them, "
                "because it has a delivery limit; use a queue without one"
            )
        grace = max(_GRACE, _ROUND_TRIPS * (time.monotonic() - began))
        _take(subscription, page, most, min(grace, timeout), timeout)
        if page.arrivals:
            subscription.settle([arrival.token for arrival in page.arrivals], Outcome.RELEASED)
        subscription.close()
    finally:
        channel.close()
    is_truncated = len(page.arrivals) > limit
    if is_truncated:
        log.warning("a browser shows only the first %d messages of %s (option emulation_limit)", limit, address)
    return page.arrivals[:limit], is_truncated


def _take(subscription: Subscription, page: Page, limit: int, grace: float, timeout: float) -> None:
    subscription.grant(limit)
    if Native.DRAIN not in subscription.native:
        page.wait_quiet(limit, grace)
    wait_answered(subscription.drain, timeout, "a browser's drain")
