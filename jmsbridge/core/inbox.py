"""One subscription's arrivals, credit and unsettled tokens, for the life of one link.

Arrivals enter on the backend's thread and leave on a receiver's or the delivery lane's. When the link dies the inbox
dies with it: what it held will come again from the broker, and settlements of its tokens are dropped and counted.
"""

import contextlib
import threading
from collections import deque
from collections.abc import Callable, Sequence
from enum import Enum, auto
from typing import Any

from jmsbridge.core.clock import LONGEST_WAIT, Clock
from jmsbridge.core.locks import Rank, ranked
from jmsbridge.emulate.parking import Park
from jmsbridge.selectors import Selector
from jmsbridge.spi import Arrival, BackendError, LinkLost, Outcome, Retires, Subscription, Ticket

__all__ = ["Delivery", "Inbox", "Nothing"]


class Nothing(Enum):
    """Why ``wait_next`` came back empty-handed."""

    TIMEOUT = auto()
    CLOSED = auto()  # by the consumer: no more messages, ever
    MOVED = auto()  # the link died: go on with the consumer's next inbox
    UNASKED = auto()  # without a window, and nobody has asked for a message: ``fetch`` first


class Delivery:
    """One message handed, or about to be handed, to the application."""

    __slots__ = ("arrival", "count", "due", "handing", "inbox", "local_failures", "redelivered", "settled", "spent")

    def __init__(self, arrival: Arrival, inbox: "Inbox") -> None:
        self.arrival = arrival
        self.inbox = inbox
        self.count = arrival.delivery_count
        self.redelivered = arrival.redelivered
        self.due = 0.0  # monotonic time before which it is not delivered again
        self.spent = False  # its credit was counted when it was first handed out
        self.handing = False  # its handing out has begun
        self.settled = False  # by a receive that an interrupt kept from returning it
        self.local_failures = 0  # deliveries that failed here and that the broker has not been told of

    def failed(self) -> None:
        """It was seen and comes again: flag and count say so (rule JX-1)."""
        self.handing = False
        self.count += 1
        self.redelivered = True
        self.local_failures += 1


class Inbox:
    """Receiving end of one subscription; implements ``spi.Inbox``.

    ``window`` is the number of messages that may be on the way or unseen; 0 fetches one message per ``wait_next``.
    """

    def __init__(self, window: int, clock: Clock, wake: Callable[[], None] | None) -> None:
        self._clock = clock
        self._ready_lock = ranked(Rank.INBOX)
        self._ready = threading.Condition(self._ready_lock)  # guards everything below
        self._queue: deque[Arrival] = deque()
        self._again: deque[Delivery] = deque()  # to be redelivered, before anything in _queue
        self._latest: Arrival | None = None  # the last that was taken out of _queue
        self.in_hand: Delivery | None = None
        """Taken, and not yet handed to the application. What an interrupt leaves here comes again."""
        self.unsure = False
        """An interrupt came while credit was given or taken: nobody knows how much the broker counts."""
        self._wake = wake
        self._open = False  # the connection is started
        self._end: Nothing | None = None
        self._parked = 0  # threads inside wait
        self._held = 0  # taken and not settled
        self._retired = False
        self._finished = False
        self.subscription: Subscription | None = None
        self.selector: Selector | None = None  # set where the client must filter because the broker cannot
        self.park: Park | None = None  # the same on a queue, where others may want what does not match
        self.sorts = False  # set where the broker does not deliver by priority
        self.stale = 0  # settlements dropped because the link had died
        self.window = window
        self._refill = max(1, window // 2)
        self._spent = 0
        self._credit = False

    # ---- the backend's side

    def put(self, arrival: Arrival) -> None:
        """One arrival; called by the backend on any thread."""
        if self.park is not None and self.park.takes(arrival):
            return
        with self._ready_lock:
            if self.sorts:
                self._insert(arrival)
            else:
                self._queue.append(arrival)
            if self._parked:
                self._ready.notify_all()  # an interrupt may have left a waiter behind that nobody waits on
            wake = self._wake
        if wake is not None:
            wake()

    def put_again(self, arrival: Arrival) -> None:
        """The same, after an interrupt: put it unless it is here or was taken, and wake in any case."""
        with self._ready_lock:
            here = arrival is self._latest or any(each is arrival for each in self._queue)
            if here:
                self._ready.notify_all()
            wake = self._wake
        if self.park is not None and self.park.has(arrival):
            self.park.wake()
        elif not here:
            self.put(arrival)
        elif wake is not None:
            wake()

    def _insert(self, arrival: Arrival) -> None:
        # the broker knows no priorities: order at least what is here, first come first served within a priority
        queue, level = self._queue, arrival.envelope.priority
        place = len(queue)
        while place and queue[place - 1].envelope.priority < level:
            place -= 1
        queue.insert(place, arrival)

    # ---- credit

    def start(self) -> None:
        """The connection is started: let messages out, and ask for the first ones."""
        with self._ready_lock:
            self._open = True
            wanted = self.window or (1 if self._parked else 0)  # without a window, one for a waiting receive
            first = wanted > 0 and not self._credit and self._end is None and self.subscription is not None
            self._credit = self._credit or first
            self._ready.notify_all()
            wake = self._wake
        if first:
            self._grant(wanted)
        if wake is not None:
            wake()
        if self.park is not None:
            self.park.wake()

    def stop(self) -> None:
        """Let no further message out; credit stays with the broker."""
        with self._ready_lock:
            self._open = False

    def listen(self, wake: Callable[[], None] | None) -> None:
        """Set what to wake when a message is there: the delivery lane, or nothing."""
        with self._ready_lock:
            self._wake = wake
        if wake is not None:
            wake()

    def fetch(self) -> None:
        """With a window of 0: ask for one message, unless one is already on the way."""
        try:
            with self._ready_lock:
                if self.window or self._credit or self._queue or self._again or not self._open or self._end is not None:
                    return
                if self.subscription is None:  # the link is being replaced: ``start`` comes again
                    return
                self._credit = True
            self._grant(1)
        except BaseException:  # an interrupt
            self.unsure = True
            raise

    def _grant(self, count: int) -> None:
        subscription = self.subscription
        if subscription is None:
            return
        try:
            subscription.grant(count)
        except BackendError:
            return  # the link is dying and says so itself

    def drain(self, ticket: Ticket) -> None:
        """Take all credit back; answered when everything on its way is here."""
        subscription = self.subscription
        if subscription is None:
            ticket.succeed()
            return
        if self.park is not None:
            self.park.pause()
        subscription.drain(ticket)
        with self._ready_lock:
            self._credit = False
            self._spent = 0

    def regrant(self) -> None:
        """After a drain: fill the window again."""
        with self._ready_lock:
            count = self.window - len(self._queue) - sum(not delivery.spent for delivery in self._again)
            wanted = self.window > 0 and self._open and self._end is None and not self._credit
            self._credit = self._credit or wanted
        if self.park is not None:
            self.park.resume()
        if wanted and count > 0:
            self._grant(count)

    def refill(self, count: int) -> bool:
        """Ask for as many again as were parked; False while no message may leave."""
        with self._ready_lock:
            wanted = self._credit and self._end is None
            waits = not self._open and wanted
        if wanted and not waits:
            self._grant(count)
        return not waits

    def is_running(self) -> bool:
        """Whether messages may leave."""
        return self._open and self._end is None

    def handed(self, delivery: Delivery) -> None:
        """The application has it, or it was dropped: ask for more when half the window is spent."""
        self.in_hand = None
        self.spend(delivery)

    def spend(self, delivery: Delivery) -> None:
        """Count its credit: as ``handed``, but it is still in hand.

        Called by the one thread that receives; a message that comes again costs no credit again.
        """
        if delivery.spent:
            return
        delivery.spent = True
        self._spent += 1
        if self._spent >= self._refill and self.window:
            try:
                count, self._spent = self._spent, 0
                self._grant(count)
            except BaseException:  # an interrupt
                self.unsure = True
                raise

    def reclaim(self) -> None:
        """What an interrupt left in hand is first in line again; called by the thread that was interrupted."""
        with self._ready_lock:
            delivery = self.in_hand
            if delivery is not None:
                delivery.handing = False
                self._held -= not delivery.settled
                self.in_hand = None  # from here to the next line no interrupt comes: it waits for the end of a call
                self._again.appendleft(delivery)

    # ---- the receiver's side

    def wait_next(self, deadline: float | None) -> Delivery | Nothing:
        """The next message, waiting until the monotonic ``deadline`` (None: for ever)."""
        with self._ready_lock:
            while True:
                if self._end is not None:
                    return self._end
                pause: float | None = None
                if self._open:
                    if self._again:
                        pause = self._again[0].due - self._clock.monotonic()
                        if pause <= 0:
                            return self._take(self._again[0], self._again)
                    elif self._queue:
                        return self._take(Delivery(self._queue[0], self), self._queue)
                    elif not self.window and not self._credit and self.subscription is not None:
                        return Nothing.UNASKED
                if deadline is not None:
                    left = deadline - self._clock.monotonic()
                    if left <= 0:
                        return Nothing.TIMEOUT
                    pause = left if pause is None else min(pause, left)
                self._parked += 1
                try:
                    self._ready.wait(None if pause is None else min(pause, LONGEST_WAIT))
                finally:
                    self._parked -= 1

    def _take(self, delivery: Delivery, line: deque[Any]) -> Delivery:
        # signals are seen at the end of a call, so after popleft: an interrupt finds it in line or in hand
        fresh = line is self._queue
        self._held += 1
        self._credit = self._credit and not (fresh and not self.window)
        self.in_hand = delivery
        if fresh:
            self._latest = delivery.arrival
        line.popleft()
        return delivery

    def is_parked(self) -> bool:
        """Whether a receiver is waiting in ``wait_next``, so has nothing in hand."""
        with self._ready_lock:
            return self._parked > 0

    def put_back(self, returning: list[Delivery], delay: float) -> None:
        """Deliver those that are this inbox's again, in this order, before anything newer, not before ``delay`` seconds
        from now. They leave ``returning`` in the same step, which no interrupt divides.
        """
        due = self._clock.monotonic() + delay if delay else 0.0
        deliveries = [delivery for delivery in returning if delivery.inbox is self]
        others = [delivery for delivery in returning if delivery.inbox is not self]
        for delivery in deliveries:
            delivery.due = due
        with self._ready_lock:
            held = max(0, self._held - len(deliveries))
            line = deque(deliveries)
            line += self._again
            # signals are seen at the end of a call, and there is none in these two lines
            self._again, self._held, self.in_hand = line, held, None
            returning[:] = others
            self._ready.notify_all()
            wake = self._wake
        if wake is not None:
            wake()
            if delay:
                self._clock.call_later(delay, wake)

    # ---- settlement

    def settle(self, deliveries: Sequence[Delivery], outcome: Outcome, ticket: Ticket | None = None) -> bool:
        """Say what became of them, in delivery order.

        A dead link's tokens are dropped and counted, and the answer is False: the broker sends them again.
        """
        subscription = self.subscription
        if subscription is None or self._end is Nothing.MOVED:
            self.stale += len(deliveries)
            if ticket is not None:
                ticket.fail(LinkLost("the connection was lost before the acknowledgement; the broker delivers again"))
            return False
        settled = True
        try:
            if outcome in (Outcome.FAILED, Outcome.REJECTED):
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
            settled = False
        if deliveries and deliveries[-1].arrival is self._latest:
            self._latest = None  # the backend knows that it was put: the message need not be kept
        self.forget(len(deliveries))
        return settled

    def forget(self, count: int) -> None:
        """That many taken messages need no settlement."""
        with self._ready_lock:
            self._held = max(0, self._held - count)  # an interrupt may have had something settled twice
            last = self._is_last()
        if last:
            self._end_subscription()

    def reopen(self, count: int) -> None:
        """That many settled messages may become unsettled again."""
        with self._ready_lock:
            self._held += count

    # ---- ends

    def close(self) -> None:
        """No more messages leave; a blocked ``wait_next`` returns ``Nothing.CLOSED``."""
        with self._ready_lock:
            self._end = self._end or Nothing.CLOSED
            self._ready.notify_all()

    def lose(self) -> None:
        """The link died: empty, and send receivers to the next inbox."""
        with self._ready_lock:
            self._queue.clear()
            self._again.clear()
            self._end = self._end or Nothing.MOVED
            self._ready.notify_all()
        if self.park is not None:
            self.park.lose()

    def is_lost(self) -> bool:
        """Whether the link of this inbox died."""
        return self._end is Nothing.MOVED

    def unseen(self) -> tuple[list[Arrival], list[Delivery]]:
        """Take out what the application has not seen (again): fresh arrivals, and waiting redeliveries."""
        with self._ready_lock:
            fresh, again = list(self._queue), list(self._again)
            self._queue.clear()
            self._again.clear()
            self._held += len(again)
            if self.in_hand is not None and not self.in_hand.handing:
                again.insert(0, self.in_hand)
            self.in_hand = None
        return fresh, again

    def retire(self) -> None:
        """End the subscription once its last taken message is settled; at once when none is (rule AC-11)."""
        with self._ready_lock:
            self._retired = True
            last = self._is_last()
        if last:
            self._end_subscription()
        elif isinstance(self.subscription, Retires) and self._end is not Nothing.MOVED:
            with contextlib.suppress(LinkLost):
                self.subscription.retire()

    def _is_last(self) -> bool:
        # under the lock: whether the subscription is to be ended now; true once
        last = self._retired and self._held <= 0 and not self._finished
        self._finished = self._finished or last
        return last

    @property
    def retired(self) -> bool:
        """Whether the consumer was closed."""
        return self._retired

    def _end_subscription(self) -> None:
        if self.subscription is not None and self._end is not Nothing.MOVED:
            with contextlib.suppress(LinkLost):  # it ended with its link
                self.subscription.close()
