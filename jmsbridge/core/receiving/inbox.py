"""One subscription's arrivals and credit, for the life of one link.

The backend's thread puts arrivals; the thread of a receive or of the listeners takes them. When the link is lost, the
inbox is emptied: the broker delivers its messages again, and settlements of its tokens are dropped and counted.
"""

import contextlib
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from itertools import groupby

from jmsbridge.core.emulation.unmatched import UnmatchedBuffer
from jmsbridge.core.receiving.delivery import Delivery, DeliveryState, InboxSettings, NoDelivery
from jmsbridge.core.receiving.returned_deliveries import ReturnedDeliveries
from jmsbridge.core.runtime.locks import Rank, ranked
from jmsbridge.core.runtime.waiting import WaitSet, wait_answered
from jmsbridge.selectors import Selector
from jmsbridge.spi import Arrival, BackendError, LinkLost, Outcome, Retires, Subscription, Ticket

__all__ = ["Inbox"]

_LEAST_HAD = 100

_TAKEN, _WAITING, _SETTLED = DeliveryState.TAKEN, DeliveryState.WAITING, DeliveryState.SETTLED
_ACCEPTED = Outcome.ACCEPTED


class Inbox:
    """The received messages of one subscription; implements ``spi.Inbox``.

    ``window`` is the number of messages that may be in transit or not yet taken; 0 fetches one message per
    ``wait_next``. ``on_message`` is called when there may be a message for a listener.
    """

    def __init__(self, settings: InboxSettings, on_message: Callable[[], None] | None) -> None:
        self._clock = settings.clock
        self._switch = settings.switch
        self._hand = settings.hand
        self._is_unsettled = settings.is_unsettled
        self.redelivery = settings.redelivery
        self.interest = settings.interest
        self.window = settings.interest.window
        self.line = settings.line
        """The queue or subscription whose messages the broker delivers again; None if it ends with its link."""
        self.had: deque[str | None] = deque(maxlen=max(_LEAST_HAD, 2 * self.window))
        """The ids of the last messages that the application had: as many as can be in flight when a broker dies."""
        self._refill = max(1, self.window // 2)
        self._lock = ranked(Rank.INBOX)  # guards what follows; appending to a queue needs no lock
        self._queue: deque[Arrival] = deque()
        self._taken: Arrival | None = None  # the last one taken from _queue
        self._again: deque[Delivery] = deque()  # to be redelivered, before anything in _queue
        self._on_message = on_message
        self._closed = False
        self._lost = False
        self._credit = False
        self._credit_suspended = False  # no credit for a while, so that other consumers get what was released
        self._spent = 0
        self._left: set[Delivery] | None = None  # once retired: its unsettled deliveries
        self._finished = False
        self.waiting = WaitSet()
        self.subscription: Subscription | None = None
        self.selector: Selector | None = None  # set if the client must filter because the broker cannot
        self.unmatched: UnmatchedBuffer | None = None  # set if the client must filter a queue
        self.sorts = False  # whether the client must order by priority
        self.can_reject = False  # whether REJECTED moves messages to another queue
        self.returned: ReturnedDeliveries | None = None  # set if the broker does not mark what is returned
        self.credit_unknown = False
        """Set if a signal handler interrupted a change of credit: the broker's count is then unknown."""
        self.stale = 0  # settlements dropped because the link was lost

    # ---- the backend's side

    def put(self, arrival: Arrival) -> None:
        """Add one arrival; called by the backend on any thread."""
        if self.unmatched is not None and self.unmatched.takes(arrival):
            return
        if self.sorts:
            with self._lock:
                self._insert(arrival)
        else:
            self._queue.append(arrival)
        self._tell()

    def put_again(self, arrival: Arrival) -> None:
        """Add an arrival unless an interrupted ``put`` has added it already."""
        with self._lock:
            # with NO_ACKNOWLEDGE only _taken remembers an arrival that has left the queue
            known = arrival is self._taken or self._has(arrival)
        if not (known or self._is_unsettled(arrival) or (self.unmatched is not None and self.unmatched.has(arrival))):
            self.put(arrival)
        self._tell()

    def _has(self, arrival: Arrival) -> bool:
        # under the lock
        return any(one is arrival for one in self._queue) or any(one.arrival is arrival for one in self._again)

    def _tell(self) -> None:
        if self.waiting.gates:
            self.waiting.notify()
        on_message = self._on_message
        if on_message is not None:
            on_message()

    def _insert(self, arrival: Arrival) -> None:
        # the broker has no priorities: order the messages that are here, by arrival within a priority
        queue, level = self._queue, arrival.envelope.priority
        place = len(queue)
        while place and queue[place - 1].envelope.priority < level:
            place -= 1
        queue.insert(place, arrival)

    # ---- credit

    def start(self) -> None:
        """The connection is started: ask for the first messages."""
        with self._lock:
            wanted = self.window or (1 if self.waiting.gates else 0)  # without a window, one for a waiting receive
            first = wanted > 0 and not self._credit and not self._ended() and self.subscription is not None
            self._credit = self._credit or first
            wanted -= min(wanted, len(self._queue))  # of a consumer that was closed, see ``reopen``
        if first and wanted:
            self._grant(wanted)
        self._tell()
        if self.unmatched is not None:
            self.unmatched.wake()

    def listen(self, on_message: Callable[[], None] | None) -> None:
        """Set what to call when there may be a message; None for nothing."""
        with self._lock:
            self._on_message = on_message
            pause = self.pause() if self._again else None
        if on_message is not None:
            on_message()
            if pause:
                self._clock.call_later(pause, on_message)

    def fetch(self) -> None:
        """With a window of 0: ask for one message, unless one is already in transit."""
        with self._lock:
            if self.window or self._credit or self._queue or self._again or not self.is_running():
                return
            if self.subscription is None:  # the link is being replaced: ``start`` will be called again
                return
            self.credit_unknown = True
            self._credit = True
        self._grant(1)
        self.credit_unknown = False

    def _grant(self, count: int) -> None:
        if self.subscription is not None and not self._credit_suspended:
            with contextlib.suppress(BackendError):  # the link is lost, which is reported elsewhere
                self.subscription.grant(count)

    def drain(self, ticket: Ticket) -> None:
        """Take all credit back; the ticket is answered when all messages in transit have arrived."""
        subscription = self.subscription
        if subscription is None:
            ticket.succeed()
            return
        if self.unmatched is not None:
            self.unmatched.wait_paused()
            self.resume_credit()
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

    def suspend_credit(self, timeout: float) -> None:
        """Take all credit back until ``resume_credit``, so that others get what is released; raises BackendError."""
        with self._lock:
            if self._credit_suspended or not self._credit or self._ended() or self.subscription is None:
                return
            self._credit_suspended = True
        wait_answered(self.subscription.drain, timeout, "a drain")

    def resume_credit(self) -> None:
        """Grant the credit again that ``suspend_credit`` took back."""
        with self._lock:
            if not self._credit_suspended:
                return
            self._credit_suspended = self._credit = False
            self._spent = 0
        self._fill()
        self._tell()  # without a window, a waiting receive asks again

    def refill(self, count: int) -> bool:
        """Grant credit to replace ``count`` buffered messages; False while the connection is stopped."""
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
        """Whether messages may be taken."""
        return self._switch.on and not self._ended()

    def _ended(self) -> bool:
        return self._closed or self._lost

    def spend(self, delivery: Delivery) -> None:
        """A message was consumed or dropped: ask for more when half the window is used up.

        Called only by the thread that receives. A redelivered message does not use up credit again.
        """
        if delivery.spent:
            return
        delivery.spent = True
        self.had.append(delivery.arrival.envelope.message_id)
        self._spent = spent = self._spent + 1
        if spent >= self._refill and self.window:
            self.credit_unknown = True
            self._spent = 0
            self._grant(spent)
            self.credit_unknown = False

    # ---- the receiver's side

    def take(self) -> Delivery | NoDelivery:
        """Take the first message that may be taken now; it is in the session's ``Hand`` from now on."""
        with self._lock:
            if self._closed:
                return NoDelivery.CLOSED
            if self._lost:
                return NoDelivery.LINK_LOST
            if not self._switch.on:
                return NoDelivery.TIMEOUT
            if self._again:
                if self.pause() > 0:
                    return NoDelivery.TIMEOUT
                delivery = self._again[0]
                delivery.state = _TAKEN
                self._hand.delivery = delivery  # before it leaves the queue, so that it is always in one of the two
                self._again.popleft()
                return delivery
            if self._queue:
                delivery = Delivery(self._queue[0], self)
                if not self.window:
                    self._credit = False
                self._hand.delivery = delivery
                self._taken = self._queue.popleft()
                return delivery
            if not self.window and not self._credit and self.subscription is not None:
                return NoDelivery.NO_CREDIT
            return NoDelivery.TIMEOUT

    def wait_next(self, deadline: float | None) -> Delivery | NoDelivery:
        """Take the next message; waits until the monotonic ``deadline`` (None: for ever)."""
        while (found := self.take()) is NoDelivery.TIMEOUT:
            left = None if deadline is None else deadline - self._clock.monotonic()
            if left is not None and left <= 0:
                return found
            pause = self.pause_left()
            if pause is not None and (left is None or pause < left):
                left = pause
            self.waiting.wait_for(self.has_news, left)
        return found

    def is_in_hand(self) -> bool:
        """Whether a message was taken from it that the application does not have yet."""
        with self._lock:
            delivery = self._hand.delivery
            return delivery is not None and delivery.inbox is self

    def pause(self) -> float:
        """Seconds until the first message that waits for its redelivery may be taken."""
        try:
            return self._again[0].due - self._clock.monotonic()
        except IndexError:
            return 0.0

    def pause_left(self) -> float | None:
        """Seconds to wait for the first message that waits for its redelivery; None if none can become available."""
        return max(self.pause(), 0.001) if self._again and self._switch.on else None

    def has_news(self) -> bool:
        """Whether ``take`` would give something else than TIMEOUT."""
        if self._ended():
            return True
        if not self._switch.on:
            return False
        if self._again:
            return self.pause() <= 0
        return bool(self._queue) or (not self.window and not self._credit and self.subscription is not None)

    @property
    def awaits_redelivery(self) -> bool:
        """Whether a message is here that will be delivered again, now or after a pause; no other one is before."""
        return bool(self._again)

    def redeliver(self, deliveries: list[Delivery], delay: float) -> None:
        """Redeliver these, in this order and before newer messages, after ``delay`` seconds."""
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
        """Put the delivery in the session's ``Hand`` back at the head of the inbox, unmarked, if it has left it."""
        with self._lock:
            delivery.state = _WAITING
            if not self._has(delivery.arrival):
                self._again.appendleft(delivery)
            self._hand.delivery = None
        self._tell()

    # ---- settlement

    def settle(self, deliveries: Sequence[Delivery], outcome: Outcome, ticket: Ticket | None = None) -> bool:
        """Tell the broker the outcome of these deliveries, in delivery order; no effect on those that are settled.

        If the link is lost, they are dropped and counted, and the result is False: the broker delivers them again.
        """
        told = self.tell(deliveries, outcome, ticket)
        self.done(deliveries)
        return told

    def release(self, deliveries: Iterable[Delivery], has_failed: Callable[[Delivery], bool]) -> None:
        """Return these to the broker, in order: as FAILED those that have failed, the others as RELEASED."""
        for failed, group in groupby(deliveries, has_failed):
            self.settle(tuple(group), Outcome.FAILED if failed else Outcome.RELEASED)

    def accept(self, delivery: Delivery) -> None:
        """Settle one delivery as ACCEPTED."""
        subscription = self.subscription
        if subscription is None or self._lost:
            self.settle((delivery,), _ACCEPTED)
            return
        try:
            subscription.settle((delivery.arrival.token,), _ACCEPTED)
        except LinkLost:
            self.stale += 1
        delivery.state = _SETTLED
        if self._left is not None:
            self.done((delivery,))

    def tell(self, deliveries: Sequence[Delivery], outcome: Outcome, ticket: Ticket | None = None) -> bool:
        """Tell the broker the outcome without marking them settled; in a transaction, ``done`` follows the commit."""
        subscription = self.subscription
        if subscription is None or self._lost:
            self.stale += len(deliveries)
            if ticket is not None:
                ticket.fail(
                    LinkLost(
                        "the connection was lost before the acknowledgement; the broker delivers the messages again"
                    )
                )
            return False
        try:
            if outcome in (Outcome.FAILED, Outcome.REJECTED, Outcome.REQUEUED):
                if self.returned is not None and outcome is not Outcome.REJECTED:
                    self.returned.add(deliveries, outcome)
                least = int(outcome is Outcome.FAILED)  # a rejected message may have failed only in other clients
                for failures, group in groupby(deliveries, lambda delivery: max(least, delivery.local_failures)):
                    alike = tuple(group)
                    answer = ticket if alike[-1] is deliveries[-1] else None
                    subscription.settle([delivery.arrival.token for delivery in alike], outcome, answer, failures)
            else:
                subscription.settle([delivery.arrival.token for delivery in deliveries], outcome, ticket)
        except LinkLost as error:
            self.stale += len(deliveries)
            if ticket is not None:
                ticket.fail(error)
            return False
        return True

    def done(self, deliveries: Sequence[Delivery]) -> None:
        """Mark these as settled."""
        for delivery in deliveries:
            delivery.state = _SETTLED
        if self._left is None:  # after the state is set: a concurrent ``retire`` sees the state
            return
        with self._lock:
            if self._left is None:  # reopened meanwhile
                return
            self._left.difference_update(deliveries)
            last = self._is_last()
        if last:
            self._end_subscription()

    # ---- ends

    def close(self) -> None:
        """No more messages can be taken; a blocked ``wait_next`` returns ``NoDelivery.CLOSED``."""
        with self._lock:
            self._closed = True
            self._taken = None  # the collector does not see an Arrival, whose token may lead back to this inbox
        self.waiting.notify()

    def lose(self) -> list[Delivery]:
        """The link is lost: discard all messages; waiting receivers continue with the next inbox.

        Returns what the application had got, and would have got again.
        """
        with self._lock:
            seen = [delivery for delivery in self._again if delivery.local_failures]
            self._queue.clear()
            self._again.clear()
            self._taken = None  # as in ``close``
            self._lost = True
        self.waiting.notify()
        if self.unmatched is not None:
            self.unmatched.lose()
        return seen

    def is_lost(self) -> bool:
        """Whether the link of this inbox is lost."""
        return self._lost

    def release_unseen(self) -> None:
        """Release the messages that the application has not seen (rules AC-12, BR-3), the older ones first."""
        if self.subscription is None:
            return
        with self._lock:
            fresh, again = list(self._queue), list(self._again)
            self._queue.clear()
            self._again.clear()
        unmatched = [] if self.unmatched is None else self.unmatched.empty()
        # put back unseen (rule BO-18), or waiting for redelivery
        self.release(again, lambda delivery: delivery.local_failures > 0)
        released = [arrival.token for arrival in (*unmatched, *fresh)]
        with contextlib.suppress(LinkLost):
            if released:
                self.subscription.settle(released, Outcome.RELEASED)

    def retire(self, unsettled: Iterable[Delivery]) -> None:
        """The consumer is closed: end the subscription when these deliveries are settled (rule AC-11).

        Until then, what the application has not seen stays here for the consumer that may ``reopen`` it.
        """
        unsettled = [delivery for delivery in unsettled if delivery.inbox is self]
        if not (unsettled and self.can_reopen):
            self.release_unseen()
        with self._lock:
            self._left = {delivery for delivery in unsettled if delivery.state is not _SETTLED}  # settled meanwhile
            last = self._is_last()
        if last:
            self._end_subscription()
        elif isinstance(self.subscription, Retires) and not self._lost:
            with contextlib.suppress(LinkLost):
                self.subscription.retire()

    def _is_last(self) -> bool:
        # under the lock: whether to end the subscription now; true only once
        last = not self._left and not self._finished
        self._finished = self._finished or last
        return last

    @property
    def retired(self) -> bool:
        """Whether the consumer was closed."""
        return self._left is not None

    @property
    def can_reopen(self) -> bool:
        """Whether ``reopen`` is for it: the backend has this subscription of one consumer until its last settlement."""
        return self.interest.durable and not self.interest.shared and not isinstance(self.subscription, Retires)

    def reopen(self) -> bool:
        """Once retired: go on for another consumer; false if the subscription has ended."""
        with self._lock:
            if self._finished or self._lost:
                return False
            self._closed, self._left, self._on_message = False, None, None
            return True

    def _end_subscription(self) -> None:
        if self.subscription is not None and not self._lost:
            self.release_unseen()
            with contextlib.suppress(LinkLost):  # the subscription ended with its link
                self.subscription.close()
