"""One subscription's arrivals and credit, for the life of one link.

Arrivals enter on the backend's thread and leave on a receiver's or the listener's. When the link dies the inbox dies
with it: what it held will come again from the broker, and settlements of its tokens are dropped and counted.
"""

import contextlib
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from enum import Enum, auto

from jmsbridge.config import RedeliveryPolicy
from jmsbridge.core.emulation.unmatched import UnmatchedBuffer
from jmsbridge.core.receiving.delivery import Delivery, DeliveryState, DeliverySwitch, Hand
from jmsbridge.core.runtime.clock import Clock
from jmsbridge.core.runtime.locks import Rank, ranked
from jmsbridge.core.runtime.waiting import Waiter, WaitSet
from jmsbridge.selectors import Selector
from jmsbridge.spi import Arrival, BackendError, LinkLost, Outcome, Retires, Subscription, Ticket

__all__ = ["Inbox", "InboxSettings", "NoDelivery"]

_TAKEN, _WAITING, _SETTLED = DeliveryState.TAKEN, DeliveryState.WAITING, DeliveryState.SETTLED


class NoDelivery(Enum):
    """Why there is no message."""

    TIMEOUT = auto()
    CLOSED = auto()  # by the consumer: no more messages, ever
    LINK_LOST = auto()  # go on with the consumer's next inbox
    NO_CREDIT = auto()  # without a window, and nobody has asked for a message: ``fetch`` first


class InboxSettings:
    """What all inboxes of one consumer, one per link, share with their session."""

    __slots__ = ("clock", "hand", "is_unsettled", "redelivery", "switch", "window")

    def __init__(
        self,
        window: int,
        redelivery: RedeliveryPolicy,
        clock: Clock,
        switch: DeliverySwitch,
        hand: Hand,
        is_unsettled: Callable[[Arrival], bool],
    ) -> None:
        self.window = window
        self.redelivery = redelivery
        self.clock = clock
        self.switch = switch
        self.hand = hand
        self.is_unsettled = is_unsettled


class Inbox:
    """Receiving end of one subscription; implements ``spi.Inbox``.

    ``window`` is the number of messages that may be on the way or unseen; 0 fetches one message per ``wait_next``.
    ``on_message`` is called when a message may be there for a listener.
    """

    def __init__(self, settings: InboxSettings, on_message: Callable[[], None] | None) -> None:
        self._clock = settings.clock
        self._switch = settings.switch
        self._hand = settings.hand
        self._is_unsettled = settings.is_unsettled
        self.redelivery = settings.redelivery
        self.window = settings.window
        self._refill = max(1, self.window // 2)
        self._lock = ranked(Rank.INBOX)  # guards what follows; who only appends to a queue needs no lock
        self._queue: deque[Arrival] = deque()
        self._again: deque[Delivery] = deque()  # to be redelivered, before anything in _queue
        self._on_message = on_message
        self._closed = False
        self._lost = False
        self._credit = False
        self._is_aside = False  # no credit, so that others get what was released; ``_credit`` says what there was
        self._spent = 0
        self._left: set[Delivery] | None = None  # once retired: its deliveries that are not settled
        self._finished = False
        self._waiting = WaitSet()
        self.subscription: Subscription | None = None
        self.selector: Selector | None = None  # set where the client must filter because the broker cannot
        self.unmatched: UnmatchedBuffer | None = None  # the same on a queue, where others may want what does not match
        self.sorts = False  # set where the broker does not deliver by priority
        self.can_reject = False  # set where what is rejected goes to another queue
        self.unsure = False
        """A signal handler interrupted while credit was given or taken: nobody knows how much the broker counts."""
        self.stale = 0  # settlements dropped because the link had died

    # ---- the backend's side

    def put(self, arrival: Arrival) -> None:
        """One arrival; called by the backend on any thread."""
        if self.unmatched is not None and self.unmatched.takes(arrival):
            return
        if self.sorts:
            with self._lock:
                self._insert(arrival)
        else:
            self._queue.append(arrival)
        self._tell()

    def put_again(self, arrival: Arrival) -> None:
        """An arrival that an interrupted ``put`` may have taken in already."""
        with self._lock:
            known = self._has(arrival)
        if not (known or self._is_unsettled(arrival) or (self.unmatched is not None and self.unmatched.has(arrival))):
            self.put(arrival)
        self._tell()

    def _has(self, arrival: Arrival) -> bool:
        # under the lock
        return any(one is arrival for one in self._queue) or any(one.arrival is arrival for one in self._again)

    def _tell(self) -> None:
        if self._waiting.gates:
            self._waiting.notify()
        on_message = self._on_message
        if on_message is not None:
            on_message()

    def _insert(self, arrival: Arrival) -> None:
        # the broker knows no priorities: order at least what is here, first come first served within a priority
        queue, level = self._queue, arrival.envelope.priority
        place = len(queue)
        while place and queue[place - 1].envelope.priority < level:
            place -= 1
        queue.insert(place, arrival)

    # ---- credit

    def start(self) -> None:
        """The connection is started: ask for the first messages."""
        with self._lock:
            wanted = self.window or (1 if self._waiting.gates else 0)  # without a window, one for a waiting receive
            first = wanted > 0 and not self._credit and not self._ended() and self.subscription is not None
            self._credit = self._credit or first
        if first:
            self._grant(wanted)
        self._tell()
        if self.unmatched is not None:
            self.unmatched.wake()

    def listen(self, on_message: Callable[[], None] | None) -> None:
        """Set what to call when a message is there, or nothing."""
        with self._lock:
            self._on_message = on_message
            pause = self._pause() if self._again else None
        if on_message is not None:
            on_message()
            if pause:
                self._clock.call_later(pause, on_message)

    def fetch(self) -> None:
        """With a window of 0: ask for one message, unless one is already on the way."""
        with self._lock:
            if self.window or self._credit or self._queue or self._again or not self.is_running():
                return
            if self.subscription is None:  # the link is being replaced: ``start`` comes again
                return
            self.unsure = True
            self._credit = True
        self._grant(1)
        self.unsure = False

    def _grant(self, count: int) -> None:
        if self.subscription is not None and not self._is_aside:
            with contextlib.suppress(BackendError):  # the link is dying and says so itself
                self.subscription.grant(count)

    def drain(self, ticket: Ticket) -> None:
        """Take all credit back; answered when everything on its way is here."""
        subscription = self.subscription
        if subscription is None:
            ticket.succeed()
            return
        if self.unmatched is not None:
            self.unmatched.wait_paused()
            self.restore()
        subscription.drain(ticket)
        with self._lock:
            self._credit = False
            self._spent = 0

    def regrant(self) -> None:
        """After a drain: fill the window again."""
        if self.unmatched is not None:
            self.unmatched.resume()
        self._fill()

    def _fill(self) -> None:
        with self._lock:
            count = self.window - len(self._queue) - sum(not delivery.spent for delivery in self._again)
            can_ask = self.is_running() and self.subscription is not None
            wanted = self.window > 0 and can_ask and not self._credit
            self._credit = self._credit or wanted
        if wanted and count > 0:
            self._grant(count)

    def withdraw(self, timeout: float) -> None:
        """Take all credit back until ``restore``, so that others get what is released; BackendError."""
        with self._lock:
            if self._is_aside or not self._credit or self._ended() or self.subscription is None:
                return
            self._is_aside = True
        waiter = Waiter()
        self.subscription.drain(waiter)
        waiter.wait_answer(timeout, "a drain")

    def restore(self) -> None:
        """Give the credit again that ``withdraw`` took back."""
        with self._lock:
            if not self._is_aside:
                return
            self._is_aside = self._credit = False
            self._spent = 0
        self._fill()
        self._tell()  # without a window, a receive that waits asks again

    def refill(self, count: int) -> bool:
        """Ask for as many again as were put aside; False while no message may leave."""
        with self._lock:
            wanted = self._credit and not self._ended()
            waits = not self._switch.on and wanted
        if wanted and not waits:
            self._grant(count)
        return not waits

    @property
    def has_credit(self) -> bool:
        """Whether the broker may send something."""
        return self._credit

    def is_running(self) -> bool:
        """Whether messages may leave."""
        return self._switch.on and not self._ended()

    def _ended(self) -> bool:
        return self._closed or self._lost

    def spend(self, delivery: Delivery) -> None:
        """The application gets it, or it was dropped: ask for more when half the window is spent.

        Called by the one thread that receives; a message that comes again costs no credit again.
        """
        if delivery.spent:
            return
        delivery.spent = True
        self._spent += 1
        if self._spent >= self._refill and self.window:
            self.unsure = True
            count, self._spent = self._spent, 0
            self._grant(count)
            self.unsure = False

    # ---- the receiver's side

    def take(self) -> Delivery | NoDelivery:
        """The first message that may leave now; it is in the session's hand from this moment on."""
        with self._lock:
            if self._closed:
                return NoDelivery.CLOSED
            if self._lost:
                return NoDelivery.LINK_LOST
            if not self._switch.on:
                return NoDelivery.TIMEOUT
            if self._again:
                if self._pause() > 0:
                    return NoDelivery.TIMEOUT
                delivery = self._again[0]
                delivery.state = _TAKEN
                self._hand.delivery = delivery  # first in hand, then out of the queue: never nowhere
                self._again.popleft()
                return delivery
            if self._queue:
                delivery = Delivery(self._queue[0], self)
                if not self.window:
                    self._credit = False
                self._hand.delivery = delivery
                self._queue.popleft()
                return delivery
            if not self.window and not self._credit and self.subscription is not None:
                return NoDelivery.NO_CREDIT
            return NoDelivery.TIMEOUT

    def wait_next(self, deadline: float | None) -> Delivery | NoDelivery:
        """The next message, waiting until the monotonic ``deadline`` (None: for ever)."""
        while (found := self.take()) is NoDelivery.TIMEOUT:
            left = None if deadline is None else deadline - self._clock.monotonic()
            if left is not None and left <= 0:
                return found
            again = self._again
            pause = self._pause() if again else None
            if pause is not None and self._switch.on and (left is None or pause < left):
                left = max(pause, 0.001)
            self._waiting.wait_for(self._has_news, left)
        return found

    def is_in_hand(self) -> bool:
        """Whether a message of it has left and is not with the application yet."""
        with self._lock:
            delivery = self._hand.delivery
            return delivery is not None and delivery.inbox is self

    def _pause(self) -> float:
        # seconds until the first of those that wait may be redelivered
        try:
            return self._again[0].due - self._clock.monotonic()
        except IndexError:
            return 0.0

    def _has_news(self) -> bool:
        if self._ended():
            return True
        if not self._switch.on:
            return False
        if self._again:
            return self._pause() <= 0
        return bool(self._queue) or (not self.window and not self._credit and self.subscription is not None)

    def redeliver(self, deliveries: list[Delivery], delay: float) -> None:
        """Deliver these again, in this order, before anything newer, not before ``delay`` seconds from now."""
        due = self._clock.monotonic() + delay if delay else 0.0
        with self._lock:
            for delivery in reversed(deliveries):
                delivery.due = due
                delivery.state = _WAITING
                self._again.appendleft(delivery)
            on_message = self._on_message
        self._tell()
        if delay and on_message is not None:
            self._clock.call_later(delay, on_message)

    def put_back(self, delivery: Delivery) -> None:
        """What is in the session's hand is first in line again, unmarked; nothing if it never left."""
        with self._lock:
            delivery.state = _WAITING
            if not self._has(delivery.arrival):
                self._again.appendleft(delivery)
            self._hand.delivery = None
        self._tell()

    # ---- settlement

    def settle(self, deliveries: Sequence[Delivery], outcome: Outcome, ticket: Ticket | None = None) -> bool:
        """Say what became of them, in delivery order, and be done with them; harmless when it was said before.

        A dead link's tokens are dropped and counted, and the answer is False: the broker sends them again.
        """
        told = self.tell(deliveries, outcome, ticket)
        self.done(deliveries)
        return told

    def accept(self, delivery: Delivery) -> None:
        """The same for one that is done."""
        subscription = self.subscription
        if subscription is None or self._lost:
            self.settle((delivery,), Outcome.ACCEPTED)
            return
        try:
            subscription.settle((delivery.arrival.token,), Outcome.ACCEPTED)
        except LinkLost:
            self.stale += 1
        delivery.state = _SETTLED
        if self._left is not None:
            self.done((delivery,))

    def tell(self, deliveries: Sequence[Delivery], outcome: Outcome, ticket: Ticket | None = None) -> bool:
        """Say what became of them; where that is part of a transaction, ``done`` follows when it is committed."""
        subscription = self.subscription
        if subscription is None or self._lost:
            self.stale += len(deliveries)
            if ticket is not None:
                ticket.fail(LinkLost("the connection was lost before the acknowledgement; the broker delivers again"))
            return False
        try:
            if outcome in (Outcome.FAILED, Outcome.REJECTED, Outcome.REQUEUED):
                least = int(outcome is Outcome.FAILED)  # one that is rejected may have failed elsewhere only
                for delivery in deliveries:
                    answer = ticket if delivery is deliveries[-1] else None
                    subscription.settle((delivery.arrival.token,), outcome, answer, max(least, delivery.local_failures))
            else:
                subscription.settle([delivery.arrival.token for delivery in deliveries], outcome, ticket)
        except LinkLost as error:
            self.stale += len(deliveries)
            if ticket is not None:
                ticket.fail(error)
            return False
        return True

    def done(self, deliveries: Sequence[Delivery]) -> None:
        """Nothing more is to be said of these."""
        for delivery in deliveries:
            delivery.state = _SETTLED
        if self._left is None:  # looked at last: who retires this inbox meanwhile sees the state
            return
        with self._lock:
            self._left.difference_update(deliveries)
            last = self._is_last()
        if last:
            self._end_subscription()

    # ---- ends

    def close(self) -> None:
        """No more messages leave; a blocked ``wait_next`` returns ``NoDelivery.CLOSED``."""
        with self._lock:
            self._closed = True
        self._waiting.notify()

    def lose(self) -> None:
        """The link died: empty, and send receivers to the next inbox."""
        with self._lock:
            self._queue.clear()
            self._again.clear()
            self._lost = True
        self._waiting.notify()
        if self.unmatched is not None:
            self.unmatched.lose()

    def is_lost(self) -> bool:
        """Whether the link of this inbox died."""
        return self._lost

    def unseen(self) -> tuple[list[Arrival], list[Delivery]]:
        """Take out what the application has not seen (again): fresh arrivals, and waiting redeliveries."""
        with self._lock:
            fresh, again = list(self._queue), list(self._again)
            self._queue.clear()
            self._again.clear()
        return fresh, again

    def retire(self, unsettled: Iterable[Delivery]) -> None:
        """Its consumer is closed: end the subscription once these deliveries are settled, at once when they are (rule
        AC-11).
        """
        with self._lock:
            self._left = {delivery for delivery in unsettled if delivery.inbox is self}
            self._left = {delivery for delivery in self._left if delivery.state is not _SETTLED}  # done with meanwhile
            last = self._is_last()
        if last:
            self._end_subscription()
        elif isinstance(self.subscription, Retires) and not self._lost:
            with contextlib.suppress(LinkLost):
                self.subscription.retire()

    def _is_last(self) -> bool:
        # under the lock: whether the subscription is to be ended now; true once
        last = not self._left and not self._finished
        self._finished = self._finished or last
        return last

    @property
    def retired(self) -> bool:
        """Whether the consumer was closed."""
        return self._left is not None

    def _end_subscription(self) -> None:
        if self.subscription is not None and not self._lost:
            with contextlib.suppress(LinkLost):  # it ended with its link
                self.subscription.close()
