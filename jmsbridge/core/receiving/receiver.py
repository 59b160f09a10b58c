"""Receives for one consumer: takes messages from its inbox and checks them."""

import logging
from collections.abc import Callable
from functools import partial
from typing import Any, TypeVar

import msgspec

from jmsbridge.core.emulation.unmatched import UnmatchedBuffer
from jmsbridge.core.receiving.checks import ArrivalChecks
from jmsbridge.core.receiving.delivery import Delivery, InboxSettings, NoDelivery
from jmsbridge.core.receiving.inbox import Inbox
from jmsbridge.core.runtime.waiting import wait_answered
from jmsbridge.core.translate import translate
from jmsbridge.errors import JMSException
from jmsbridge.selectors import Selector, compile_selector
from jmsbridge.spi import BackendError, Interest, LinkLost, Native, NotSupported, Subscription

__all__ = ["Receiver"]

T = TypeVar("T")

log = logging.getLogger("jmsbridge.receive")

_GRACE = 0.05  # seconds that receive_no_wait waits on a broker without drain
_PATIENCE = 15.0  # seconds for the answer to a drain

_ONCE_MORE = (NoDelivery.LINK_LOST, NoDelivery.NO_CREDIT)


class Receiver:
    """The facade's side of one subscription, across reconnects.

    ``new_buffer`` creates the buffer for messages of a queue that an emulated selector does not match.
    """

    def __init__(
        self,
        settings: InboxSettings,
        checks: ArrivalChecks,
        new_buffer: Callable[[Selector], UnmatchedBuffer],
    ) -> None:
        self.interest = settings.interest
        self.listener: Callable[[Any], None] | None = None
        self._settings = settings
        self._clock = settings.clock
        self._passes = checks.passes
        self._new_buffer = new_buffer
        self._on_message: Callable[[], None] | None = None
        self._drains = True
        self.turns = 0
        """How often its session has looked for messages for its listener."""
        self.joined = -1
        """The last turn for which it was queued."""
        self.closed = False
        self.claim: tuple[str, ...] | None = None  # its exclusive name in this process, see ``links.claims``
        self._ended: BackendError | JMSException | None = None  # why it gets no more messages
        self.inbox = self._new_inbox()

    def _new_inbox(self) -> Inbox:
        return Inbox(self._settings, self._on_message)

    def _is_filtered(self, native: Native) -> bool:
        feature = Native.TOPIC_SELECTORS if self.interest.address.topic else Native.QUEUE_SELECTORS
        return self.interest.selector is None or feature in native

    def wanted(self, native: Native) -> Interest:
        """The interest for a link that offers ``native``: says whether the broker is to filter."""
        interest = self.interest
        select = self._is_filtered(native)
        if not select and not interest.address.topic:  # the client settles unmatched messages, later
            return msgspec.structs.replace(interest, select=False, deferred=True, presettled=False)
        return msgspec.structs.replace(interest, select=select)

    def attach(self, subscription: Subscription) -> None:
        """Continue with this subscription of the current link; filter in the client if the broker cannot.

        Closes the subscription and raises NotSupported if filtering might lose messages, or if the broker cannot move
        messages to the queues that the redelivery policy names.
        """
        self._drains = Native.DRAIN in subscription.native
        self.inbox.can_reject = Native.REJECT in subscription.native
        self.inbox.returned = None if Native.FAIL in subscription.native else self._settings.returned
        if not self.inbox.can_reject and (self.interest.dead_letters or self.interest.expired):
            subscription.close()
            raise NotSupported(
                f"the redelivery policy of {self.interest.address} names a queue for dead letters or expired messages, "
                "and the broker cannot move messages there; remove dead_letter_queue and expiry_queue"
            )
        text = self.interest.selector
        if text is not None and not self._is_filtered(subscription.native):
            if self.interest.address.topic:
                self.inbox.selector = compile_selector(text)
            else:
                self._emulate_selector(text, subscription)
        self.inbox.sorts = Native.PRIORITY not in subscription.native
        self.inbox.subscription = subscription

    def _emulate_selector(self, text: str, subscription: Subscription) -> None:
        if Native.UNLIMITED_REQUEUE not in subscription.native:
            subscription.close()
            raise NotSupported(
                f"the broker has no selectors on queues, and requeueing messages to {self.interest.address} may drop "
                "or move them, because the queue has a delivery limit; use one without, or select in the application"
            )
        self.inbox.unmatched = self._new_buffer(compile_selector(text))

    def release_due(self) -> None:
        """Release the unmatched messages that have waited long enough."""
        inbox = self.inbox
        if inbox.unmatched is not None and inbox.subscription is not None:
            inbox.unmatched.release_due(inbox.subscription, inbox)

    def listen(self, listener: Callable[[Any], None] | None, on_message: Callable[[], None]) -> None:
        """Set or remove the listener; ``on_message`` is called when there may be a message for it."""
        self.listener = listener
        self._on_message = on_message if listener is not None else None
        self.inbox.listen(self._on_message)
        if listener is not None:
            self.inbox.fetch()

    def interrupted(self) -> list[Delivery]:
        """The link is lost: continue with an empty inbox that has no subscription yet.

        Returns the discarded messages that the application had got.
        """
        old, self.inbox = self.inbox, self._new_inbox()
        if self.closed:
            self.inbox.close()
        return old.lose()

    def close(self) -> None:
        """The application closed the consumer: it gets no more messages; a blocked ``next`` returns None."""
        self._ended = None
        self._shut()

    def _shut(self) -> None:
        self.closed = True  # before the inbox is looked up: ``interrupted`` may be changing it
        self.inbox.close()

    def end(self, error: BackendError | JMSException) -> None:
        """The broker ended it, or the connection is lost for good: receives raise this error."""
        self._ended = error
        self._shut()

    def check_alive(self) -> None:
        """Raise the error that ended it, if any; a close by the application is not an error."""
        error = self._ended
        if isinstance(error, BackendError):
            raise translate(error)
        if error is not None:
            raise JMSException(f"the connection is lost: {error}") from error

    def abandon(self, error: JMSException) -> None:
        """In a forked child: locks may be held by threads that do not exist here."""
        self.inbox = self._new_inbox()
        self.end(error)

    # ---- taking

    def next(self, deadline: float | None) -> Delivery | None:
        """The next message for the application; waits until ``deadline``, None on time-out and on close."""
        while True:
            inbox = self.inbox
            if not inbox.window:
                inbox.fetch()
            found = inbox.take()
            if found is NoDelivery.TIMEOUT:
                found = inbox.wait_next(deadline)
            if isinstance(found, Delivery):
                if self._passes(found):
                    return found
                continue
            if found in _ONCE_MORE:
                continue
            if found is NoDelivery.TIMEOUT and not inbox.window and inbox.has_credit:
                return self._look(inbox, partial(self._first, inbox))
            return None

    def next_no_wait(self) -> Delivery | None:
        """The next message that is immediately available, at the broker or here (rule CN-7)."""
        found = self.poll()
        inbox = self.inbox
        if found is None and inbox.subscription is not None and inbox.is_running():
            if self._drains:
                return self._look(inbox, partial(self._first, inbox))
            return self.next(self._clock.monotonic() + _GRACE)
        return found

    def poll(self, *, asks: bool = True) -> Delivery | None:
        """The next message that is already here; with ``asks`` a consumer without a window asks for one."""
        while True:
            inbox = self.inbox
            if asks and not inbox.window:
                inbox.fetch()
            found = inbox.take()
            if isinstance(found, Delivery):
                if self._passes(found):
                    return found
            elif found not in _ONCE_MORE or not (asks or found is NoDelivery.LINK_LOST):
                return None

    def wait_looked(self) -> None:
        """Have all messages arrive that the broker has for it now, as ``next_no_wait`` does, and take none."""
        inbox = self.inbox
        if inbox.subscription is None or not inbox.is_running():
            return
        if not self._drains:
            inbox.waiting.wait_for(inbox.has_news, _GRACE)
            return
        self._look(inbox, inbox.has_news)

    def _look(self, inbox: Inbox, look: Callable[[], T]) -> T | None:
        """Drain, so that all available messages arrive, grant credit again, and return what ``look`` finds."""
        inbox.credit_unknown = True
        more, found = True, None
        try:
            deadline = self._clock.monotonic() + _PATIENCE
            while more and not found:
                more = self._drain(inbox) and self._clock.monotonic() < deadline
                found = look()
        except LinkLost:
            found = None
        except BackendError as error:
            self._ask_again(inbox)
            raise translate(error, changes_nothing=True) from error
        self._ask_again(inbox)
        return found

    def _ask_again(self, inbox: Inbox) -> None:
        inbox.regrant()
        inbox.credit_unknown = False

    def _first(self, inbox: Inbox) -> Delivery | None:
        while isinstance(found := inbox.take(), Delivery):
            if self._passes(found):
                return found
        return None

    def _drain(self, inbox: Inbox) -> bool:
        # whether there may be more messages: buffered ones may have used up the credit
        wait_answered(inbox.drain, _PATIENCE, "a drain")
        if inbox.unmatched is None or not inbox.unmatched.wants_credit:
            return False
        inbox.regrant()
        inbox.fetch()
        return True

    def resync_credit(self) -> None:
        """After an interrupted call: drain and grant again, so that client and broker agree on the credit."""
        inbox = self.inbox
        if not inbox.credit_unknown:
            return
        try:
            wait_answered(inbox.drain, _PATIENCE, "a drain")
        except LinkLost:
            return
        self._ask_again(inbox)

    # ---- ends

    def take_credit_back(self, patience: float) -> None:
        """At its end: have what is on its way arrive, and nothing more."""
        inbox = self.inbox
        if inbox.subscription is None:
            return
        try:
            wait_answered(inbox.drain, min(patience, _PATIENCE), "a drain")
        except BackendError as error:
            log.debug("drain before close: %s", error)
