"""Browsing a queue without consuming its messages (Jakarta Messaging 3.1 section 4.1.6)."""

import contextlib
from collections.abc import Generator, Iterator

from jmsbridge.closing import Closing
from jmsbridge.core.emulation.browsing import Page, look
from jmsbridge.core.runtime.waiting import wait_answered
from jmsbridge.core.session import SessionCore
from jmsbridge.core.translate import translated_reading
from jmsbridge.destinations import Queue
from jmsbridge.errors import IllegalStateException
from jmsbridge.message import Message, message_from_arrival
from jmsbridge.selectors import optional_selector
from jmsbridge.spi import Arrival, Interest, LinkLost, Mode, Native, Subscription
from jmsbridge.strict import Strict

__all__ = ["QueueBrowser"]

_STEP = 100  # messages requested at a time, so that memory stays bounded on long queues


class QueueBrowser(Closing, Strict):
    """Shows a queue's messages in the order in which they would be received; each iteration starts again.

    Works on a stopped connection, too.
    """

    __slots__ = ("__weakref__", "_closed", "_core", "_is_truncated", "_open", "_queue", "_selector", "_session")
    _session: object

    def __init__(self, core: SessionCore, queue: Queue, selector: str | None) -> None:
        self._core = core
        self._queue = queue
        self._selector = selector
        self._closed = False
        self._is_truncated = False
        self._open: set[Subscription] = set()  # of iterations that have not ended
        core.add_child(self)

    def _check(self) -> None:
        if self._closed:
            raise IllegalStateException("the browser is closed")
        self._core.check_open()

    @property
    def queue(self) -> Queue:
        """The queue."""
        self._check()
        return self._queue

    @property
    def message_selector(self) -> str | None:
        """The selector, or None."""
        self._check()
        return self._selector

    @property
    def is_truncated(self) -> bool:
        """Whether the last iteration left messages out: an emulated browser shows at most ``emulation_limit``."""
        return self._is_truncated

    @property
    def enumeration(self) -> Iterator[Message]:
        """A new iterator over the queue's messages; it ends at the end of the queue."""
        self._check()
        return self._browse()

    def __iter__(self) -> Iterator[Message]:
        return self.enumeration

    def _browse(self) -> Iterator[Message]:
        plan = self._core.plan()
        is_native = plan.require(Native.BROWSE) == "native"
        shown = self._browse_natively() if is_native else self._browse_copies()
        now = self._core.connection.clock.now_ms
        selects = is_native and Native.QUEUE_SELECTORS in plan.native
        selector = None if selects else optional_selector(self._selector)
        with contextlib.closing(shown):
            for arrival in shown:
                envelope = arrival.envelope
                expired = envelope.expiration and envelope.expiration <= now()
                if not expired and (selector is None or selector.matches_envelope(envelope)):
                    yield message_from_arrival(envelope, arrival.redelivered, arrival.delivery_count, None)

    def _browse_copies(self) -> Generator[Arrival, None, None]:
        options = self._core.connection.options
        with translated_reading:
            link = self._core.connection.wait_link()[0]
            copies, self._is_truncated = look(link, self._queue.address, options.emulation_limit, options.send_timeout)
        for arrival in copies:
            self._check()
            yield arrival

    def _browse_natively(self) -> Generator[Arrival, None, None]:
        timeout = self._core.connection.options.send_timeout
        selects = Native.QUEUE_SELECTORS in self._core.incoming.native
        interest = Interest(
            address=self._queue.address, mode=Mode.BROWSE, selector=self._selector, select=selects, window=_STEP
        )
        page = Page()
        with translated_reading:
            subscription = self._core.channel.wait_current()[0].subscribe(interest, page)
            self._open.add(subscription)
            try:
                more = True
                while more:
                    self._check()
                    subscription.grant(_STEP)
                    wait_answered(subscription.drain, timeout, "a browser's drain")
                    more = len(page.arrivals) >= _STEP
                    arrivals, page.arrivals = page.arrivals, []
                    for arrival in arrivals:
                        self._check()
                        yield arrival
            finally:
                self._open.discard(subscription)
                _end(subscription)

    def close(self) -> None:
        """End browsing, unfinished iterations included; idempotent."""
        if not self._closed:
            self._core.forget_child(self)
            self._shut()

    def _shut(self) -> None:
        """Called when the session closes."""
        self._closed = True
        while self._open:
            _end(self._open.pop())


def _end(subscription: Subscription) -> None:
    with contextlib.suppress(LinkLost):  # it ended with its link
        subscription.close()
