"""Credit for a broker that is polled and never pushes: one thread fetches as long as there is credit."""

import contextlib
import logging
import threading
from collections import deque
from collections.abc import Callable, Sequence
from typing import Any, Protocol

from jmsbridge.spi import Arrival, BackendError, ChannelLost, Inbox, Ticket
from jmsbridge.transport.deliveries.expiry import is_expired

__all__ = ["CreditPump", "Source"]

log = logging.getLogger("jmsbridge.transport")


class Source(Protocol):
    """Where a pump takes messages from; called on the pump's thread, except ``wake``."""

    def fetch(self, most: int, *, wait: bool) -> Sequence[Arrival]:
        """Return at most ``most`` arrivals, in the broker's order.

        With ``wait``, block until there is one, ``wake`` is called or the source's own time-out is over; otherwise
        return what is available now. An empty result without ``wait`` means that the broker has no message.
        """

    def release(self, arrivals: Sequence[Arrival]) -> None:
        """Release these to the broker, as if they had never been fetched."""

    def wake(self) -> None:
        """End the ``fetch`` that waits, or else the next one that would wait; from any thread."""


class CreditPump:
    """Fetches for one subscription; its verbs may be called from any thread.

    ``failed`` gets the ``BackendError`` of a fetch, once; the pump then ends. For subscriptions that are presettled,
    ``accept`` gets the token of each message just before it is handed over. ``expire`` gets that of each message that
    had expired when it was fetched; such a message uses no credit and is not handed over. Arrivals never exceed the
    credit, and nothing arrives after ``drain``'s answer or after ``close``.
    """

    def __init__(
        self,
        name: str,
        source: Source,
        inbox: Inbox,
        failed: Callable[[BackendError], None],
        *,
        accept: Callable[[Any], None] | None = None,
        expire: Callable[[Any], None] | None = None,
        batch: int = 100,
    ) -> None:
        self._source = source
        self._inbox = inbox
        self._failed = failed
        self._accept = accept
        self._expire = expire
        self._batch = batch
        self._lock = threading.Lock()  # guards what follows; the source and the inbox are called without it
        self._credit = 0
        self._drains: deque[Ticket] = deque()
        self._is_closed = False
        self._work = threading.Event()
        self._thread = threading.Thread(target=self._run, name=name, daemon=True)
        self._thread.start()

    def grant(self, count: int) -> None:
        """Allow that many more arrivals."""
        with self._lock:
            self._credit += count
        self._wake()

    def drain(self, ticket: Ticket) -> None:
        """Fetch what is available and covered by credit, take the credit to zero, and answer the ticket."""
        with self._lock:
            is_late = self._is_closed
            if not is_late:
                self._drains.append(ticket)
        if is_late:
            ticket.fail(ChannelLost("the consumer is closed"))
        else:
            self._wake()

    def close(self, error: BackendError | None = None, timeout: float | None = None) -> None:
        """Stop fetching; open drains fail with ``error``. Blocks until the thread has ended."""
        self._end(error or ChannelLost("the consumer was closed"))
        if threading.current_thread() is not self._thread:
            self._thread.join(timeout)

    def _wake(self) -> None:
        self._work.set()
        self._source.wake()

    def _end(self, error: BackendError) -> None:
        with self._lock:
            self._is_closed = True
            drains, self._drains = self._drains, deque()
        for ticket in drains:
            ticket.fail(error)
        self._wake()

    # -- the thread

    def _run(self) -> None:
        while not self._is_closed:
            self._work.wait()
            self._work.clear()
            try:
                self._fetch_all()
            except Exception as error:  # a mistake in the source must not leave drains without an answer
                if not isinstance(error, BackendError):
                    log.exception("unexpected error while messages were fetched")
                failure = error if isinstance(error, BackendError) else BackendError(f"fetching failed: {error!r}")
                self._end(failure)
                self._failed(failure)
                del failure  # its traceback has this frame, and those of the source, which would stay for long

    def _fetch_all(self) -> None:
        """Fetch until the credit is used up or the pump is closed."""
        while True:
            with self._lock:
                credit, is_draining, is_closed = self._credit, bool(self._drains), self._is_closed
            if is_closed:
                return
            if credit > 0:
                arrivals = self._source.fetch(min(credit, self._batch), wait=not is_draining)
                self._hand_up(arrivals)
                if arrivals or not is_draining:
                    continue
            if not is_draining:
                return
            self._drained()

    def _hand_up(self, arrivals: Sequence[Arrival]) -> None:
        expired = [self._expire is not None and is_expired(arrival.envelope) for arrival in arrivals]
        with self._lock:
            is_closed = self._is_closed
            self._credit -= 0 if is_closed else expired.count(False)
        if is_closed:
            with contextlib.suppress(BackendError):  # if the link is lost, the broker delivers them again by itself
                self._source.release(arrivals)
            return
        for arrival, is_late in zip(arrivals, expired, strict=True):
            if is_late and self._expire is not None:
                self._expire(arrival.token)
                continue
            if self._accept is not None:  # at hand-over: a message that was only fetched is not lost with the link
                self._accept(arrival.token)
            self._inbox.put(arrival)

    def _drained(self) -> None:
        with self._lock:
            self._credit = 0
            drains, self._drains = self._drains, deque()
        for ticket in drains:
            ticket.succeed()
