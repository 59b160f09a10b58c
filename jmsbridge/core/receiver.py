"""One consumer's way in: from its inbox, through the checks that every arrival passes, to a JMS message."""

import logging
from collections.abc import Callable
from typing import Any

import msgspec

from jmsbridge.core.clock import Clock
from jmsbridge.core.inbox import Delivery, Inbox, Nothing
from jmsbridge.core.ticket import Waiter
from jmsbridge.core.translate import translate
from jmsbridge.emulate.parking import Park
from jmsbridge.selectors import Selector, compile_selector
from jmsbridge.spi import BackendError, Interest, LinkLost, Native, NotSupported, Outcome, Subscription

__all__ = ["Receiver"]

log = logging.getLogger("jmsbridge.receive")

_GRACE = 0.05  # seconds that receive_no_wait allows a broker without drain
_PATIENCE = 15.0  # seconds for the answer to a drain

_ONCE_MORE = (Nothing.MOVED, Nothing.UNASKED)

_Accept = Callable[[Delivery], bool]
_NewPark = Callable[[Selector], Park]


class Receiver:
    """The facade's side of one subscription, over all links that it lives on.

    ``accept`` is asked for each delivery before the application sees it; where it says no it has settled the delivery.
    ``new_park`` makes the place for what an emulated selector on a queue does not match.
    """

    def __init__(self, interest: Interest, clock: Clock, accept: _Accept, new_park: _NewPark) -> None:
        self.interest = interest
        self.listener: Callable[[Any], None] | None = None
        self._clock = clock
        self._accept = accept
        self._new_park = new_park
        self._wake: Callable[[], None] | None = None
        self._drains = True
        self.closed = False
        self.claim: tuple[str, ...] | None = None  # what it holds in the process, see ``claims``
        self.error: BackendError | None = None
        """Why the broker ended it."""
        self.inbox = self._new_inbox()

    def _new_inbox(self) -> Inbox:
        return Inbox(self.interest.window, self._clock, self._wake)

    def _is_filtered(self, native: Native) -> bool:
        feature = Native.TOPIC_SELECTORS if self.interest.address.topic else Native.QUEUE_SELECTORS
        return self.interest.selector is None or feature in native

    def wanted(self, native: Native) -> Interest:
        """What to ask of a link that offers ``native``: the definition as it is, and whether to filter by it."""
        interest = self.interest
        select = self._is_filtered(native)
        if not select and not interest.address.topic:  # parked messages are settled late, and none before it is seen
            return msgspec.structs.replace(interest, select=False, deferred=True, presettled=False)
        return msgspec.structs.replace(interest, select=select)

    def attach(self, subscription: Subscription) -> None:
        """Go on with this subscription of the current link; what its broker cannot filter is filtered here.

        NotSupported, and the subscription is closed, where that might lose messages.
        """
        self._drains = Native.DRAIN in subscription.native
        text = self.interest.selector
        if text is not None and not self._is_filtered(subscription.native):
            if self.interest.address.topic:
                self.inbox.selector = compile_selector(text)
            else:
                self._emulate_selector(text, subscription)
        self.inbox.sorts = Native.PRIORITY not in subscription.native
        self.inbox.subscription = subscription

    def _emulate_selector(self, text: str, subscription: Subscription) -> None:
        if Native.HAND_BACK not in subscription.native:
            subscription.close()
            raise NotSupported(
                f"the broker has no selectors on queues, and handing messages back to {self.interest.address} may drop "
                "or move them: it has a limit of deliveries; use a queue without one, or select in the application"
            )
        self.inbox.park = self._new_park(compile_selector(text))

    def tend(self) -> None:
        """Let the parked messages go that have waited long enough."""
        inbox = self.inbox
        if inbox.park is not None and inbox.subscription is not None:
            inbox.park.tend(inbox.subscription, inbox.refill)

    def listen(self, listener: Callable[[Any], None] | None, wake: Callable[[], None]) -> None:
        """Set or remove the listener; ``wake`` is the delivery lane's."""
        self.listener = listener
        self._wake = wake if listener is not None else None
        self.inbox.listen(self._wake)
        if listener is not None:
            self.inbox.fetch()

    def interrupted(self) -> None:
        """The link died: go on with an empty inbox that has no subscription yet."""
        old, self.inbox = self.inbox, self._new_inbox()
        if self.closed:
            self.inbox.close()
        old.lose()

    def close(self) -> None:
        """No more messages, on this link or a later one; a blocked ``next`` returns None."""
        self.closed = True  # before the inbox is looked up: ``interrupted`` may be changing it
        self.inbox.close()

    def end(self, error: BackendError) -> None:
        """The broker ended it: receives say why."""
        self.error = error
        self.close()

    def abandon(self) -> None:
        """In a forked child: locks may be held by threads that do not exist here."""
        self.inbox = self._new_inbox()
        self.close()

    # ---- taking

    def next(self, deadline: float | None) -> Delivery | None:
        """The next message for the application, waiting until ``deadline``; None on time-out and on close."""
        while True:
            inbox = self.inbox
            if not inbox.window:
                inbox.fetch()
            found = inbox.wait_next(deadline)
            if isinstance(found, Delivery):
                if self._accept(found):
                    return found
                continue
            if found in _ONCE_MORE:
                continue
            if found is Nothing.TIMEOUT and not inbox.window and deadline is not None:
                return self._last_chance(inbox)
            return None

    def next_now(self) -> Delivery | None:
        """What is immediately available at the broker, not only here (rule CN-7)."""
        found = self.poll()
        if found is None and self.inbox.subscription is not None and self.inbox.is_running():
            if self._drains:
                return self._last_chance(self.inbox)
            return self.next(self._clock.monotonic() + _GRACE)
        return found

    def poll(self) -> Delivery | None:
        """The next message that is already here."""
        while True:
            inbox = self.inbox
            if not inbox.window:
                inbox.fetch()
            found = inbox.wait_next(0.0)
            if isinstance(found, Delivery):
                if self._accept(found):
                    return found
            elif found not in _ONCE_MORE:
                return None

    def _last_chance(self, inbox: Inbox) -> Delivery | None:
        # take all credit back, so that whatever was on its way is here; then ask again
        if not inbox.is_running():
            return None
        try:
            deadline = self._clock.monotonic() + _PATIENCE
            more = True
            while more:
                more = self._drain(inbox) and self._clock.monotonic() < deadline
                while isinstance(found := inbox.wait_next(0.0), Delivery):
                    if self._accept(found):
                        return found
            return None
        except LinkLost:
            return None
        except BackendError as error:
            raise translate(error) from error
        except BaseException:  # an interrupt
            inbox.unsure = True
            raise
        finally:
            inbox.regrant()

    def _drain(self, inbox: Inbox) -> bool:
        # whether there may be more: messages that were parked may have used up the credit
        waiter = Waiter()
        inbox.drain(waiter)
        waiter.wait_answer(_PATIENCE, "a drain")
        if inbox.park is None or not inbox.park.is_hungry:
            return False
        inbox.regrant()
        inbox.fetch()
        return True

    def make_sure(self) -> None:
        """After an interrupt: agree with the broker again on how much credit there is."""
        inbox = self.inbox
        if not inbox.unsure:
            return
        waiter = Waiter()
        inbox.drain(waiter)
        try:
            waiter.wait_answer(_PATIENCE, "a drain")
        except LinkLost:
            return
        inbox.regrant()
        inbox.unsure = False

    # ---- ends

    def release_unseen(self) -> None:
        """Give back what the application has not seen, at once and unmarked (rules AC-12, BR-3)."""
        inbox = self.inbox
        if inbox.subscription is None:
            return
        waiter = Waiter()
        inbox.drain(waiter)
        try:
            waiter.wait_answer(_PATIENCE, "a drain")
        except BackendError as error:
            log.debug("drain before close: %s", error)
        fresh, again = inbox.unseen()
        parked = [] if inbox.park is None else inbox.park.empty()
        try:
            if parked:
                inbox.subscription.settle([arrival.token for arrival in parked], Outcome.RELEASED)
            if fresh:
                inbox.subscription.settle([arrival.token for arrival in fresh], Outcome.RELEASED)
        except LinkLost:
            return
        for delivery in again:  # put back unseen (rule BO-18), or waiting for its redelivery
            if delivery.settled:
                inbox.forget(1)
            else:
                inbox.settle((delivery,), Outcome.FAILED if delivery.local_failures else Outcome.RELEASED)
