"""A session's way in: its receivers, the delivery lane, redelivery, and the waits that stop and close need.

One application call is in a receive, or one listener is running, at a time (Jakarta Messaging 3.1 sections 2.14,
6.2.6).
"""

import logging
import threading
from collections.abc import Callable
from typing import Any

import msgspec

from jmsbridge.core.clock import Clock, remaining
from jmsbridge.core.inbox import Delivery, Inbox
from jmsbridge.core.lane import Lane
from jmsbridge.core.locks import Rank, assert_unlocked, ranked
from jmsbridge.core.receiver import Receiver
from jmsbridge.core.unsettled import Lazy, Policy
from jmsbridge.emulate.parking import Park
from jmsbridge.errors import IllegalStateException, JMSException, MessageFormatException
from jmsbridge.selectors import Selector
from jmsbridge.spi import AddressInUse, BackendError, Channel, Interest, LinkLost, Native, Outcome, SubscriptionRefused

__all__ = ["Incoming", "Redelivery"]

log = logging.getLogger("jmsbridge.receive")

_PATIENCE = 10.0  # seconds after which a wait for the user's own listener is logged
_NO_DEAD_LETTERS = 30.0  # seconds between further redeliveries where the broker has no dead-letter queue

_MakeMessage = Callable[[Delivery], Any]
_Report = Callable[[JMSException], None]


class Redelivery(msgspec.Struct, frozen=True):
    """At once, then after ``delay`` seconds doubling to ``delay_max``; after ``maximum`` times dead-letter."""

    maximum: int
    delay: float
    delay_max: float

    def delay_before(self, count: int) -> float:
        """Seconds to wait before delivery number ``count``."""
        return 0.0 if count <= 2 else float(min(self.delay_max, self.delay * 2 ** min(count - 3, 30)))

    def is_exhausted(self, count: int) -> bool:
        """Whether delivery number ``count`` is one too many; a negative maximum means never."""
        return 0 <= self.maximum < count - 1


class _DeadLetter:
    """The ticket of a message that goes to the dead-letter queue: who cannot put it there tells the application."""

    def __init__(self, what: str, report: _Report) -> None:
        self._what = what
        self._report = report

    def succeed(self) -> None:
        """It is there."""

    def fail(self, error: BackendError) -> None:
        """It is not; a link that died has a cause of its own, of which the application hears."""
        if not isinstance(error, LinkLost):
            failure = JMSException(
                f"{self._what} and comes again, since it cannot go to the dead-letter queue: {error}"
            )
            failure.__cause__ = error
            self._report(failure)


class Incoming:
    """Everything about receiving that belongs to one session."""

    def __init__(
        self,
        name: str,
        clock: Clock,
        policy: Policy,
        redelivery: Redelivery,
        make_message: _MakeMessage,
        park_limit: int,
        report: _Report,
    ) -> None:
        self.lane = Lane(f"jmsbridge-{name}-deliver", self._pump)
        self._parking = Lane(f"jmsbridge-{name}-park", self._tend)
        self._park_limit = park_limit
        self.policy = policy
        self._clock = clock
        self._redelivery = redelivery
        self._make_message = make_message
        self._report = report
        self._idle_lock = ranked(Rank.CONSUMER)
        self._idle = threading.Condition(self._idle_lock)  # guards _watchers; notified when a handling ends
        self._watchers = 0
        self._receivers: tuple[Receiver, ...] = ()
        self.native = Native.NONE
        self.running = False
        self.receiving: tuple[int, Receiver] | None = None
        """Thread and receiver of a receive in progress."""
        self._receiver_thread: int | None = None  # of the last receive
        self._current: Receiver | None = None  # the receiver whose listener may be running
        self._in_progress: Delivery | None = None
        self._recovered = False
        self.returning: list[Delivery] = []
        """Taken back from the application, and not yet in line again. What an interrupt leaves here is put back by the
        next thing that the session does.
        """

    # ---- receivers

    @property
    def receivers(self) -> tuple[Receiver, ...]:
        """All open consumers, in creation order."""
        return self._receivers

    def new_receiver(self, interest: Interest) -> Receiver:
        """A receiver that is not yet part of the session; ``add`` makes it so once it is subscribed."""
        return Receiver(interest, self._clock, self._accept, self._new_park)

    def _new_park(self, selector: Selector) -> Park:
        return Park(selector, self._park_limit, self._clock, self._parking.wake)

    def _tend(self) -> None:
        for receiver in self._receivers:
            receiver.tend()

    def add(self, receiver: Receiver) -> None:
        """Take a subscribed receiver in; under the session's lock."""
        self._receivers = (*self._receivers, receiver)

    def remove(self, receiver: Receiver) -> None:
        """Forget a closed one; under the session's lock."""
        self._receivers = tuple(one for one in self._receivers if one is not receiver)

    def adopt(self, native: Native) -> None:
        """Note what the current link offers."""
        self.native = native

    # ---- checks on every arrival

    def _accept(self, delivery: Delivery) -> bool:
        if delivery.settled:  # was accepted before, see ``reclaim``
            return True
        envelope = delivery.arrival.envelope
        if envelope.expiration and envelope.expiration <= self._clock.now_ms():
            self._drop(delivery)
            return False
        if delivery.count > 1 and self._is_dead(delivery) and (delivery.local_failures or self._is_count_true()):
            delivery.inbox.handed(delivery)
            self._dead_letter(delivery)
            return False
        selector = delivery.inbox.selector
        if selector is not None and not selector.matches_envelope(envelope):
            self._drop(delivery)
            return False
        return True

    def _is_count_true(self) -> bool:
        # elsewhere the flag alone, which a message may have that nobody has seen, stands for a count of two
        return bool(self.native & (Native.DELIVERY_COUNT | Native.RELEASE))

    def _is_dead(self, delivery: Delivery) -> bool:
        return self._redelivery.is_exhausted(delivery.count) and Native.REJECT in self.native

    def _dead_letter(self, delivery: Delivery) -> None:
        what = f"message {delivery.arrival.envelope.message_id} failed {delivery.count - 1} times"
        log.warning("%s: it goes to the dead-letter queue", what)
        delivery.inbox.settle((delivery,), Outcome.REJECTED, _DeadLetter(what, self._report))

    def _drop(self, delivery: Delivery) -> None:
        delivery.inbox.handed(delivery)
        if self.policy.transacted:
            self.policy.handing(delivery)  # it goes when the transaction commits
        else:
            delivery.inbox.settle((delivery,), Outcome.ACCEPTED)

    # ---- receive

    def check_receive(self) -> int:
        """Before a receive: the calling thread. IllegalState for a second thread and beside a listener (rule TH-3)."""
        me = threading.get_ident()
        if self.receiving is not None and self.receiving[0] != me:
            raise IllegalStateException("another thread is receiving on this session; a session serves one thread")
        for one in self._receivers:
            if one.listener is not None:
                raise IllegalStateException("this session has a message listener; receive belongs to another session")
            if one.inbox.in_hand is not None:
                self.reclaim()
        if self.returning:
            self.put_back()
        self._receiver_thread = me
        return me

    def left_receive(self) -> None:
        """A receive has ended, whatever it brought."""
        if self._watchers:
            self._notify_idle()

    def reclaim(self) -> None:
        """What an interrupt kept a receive from returning is first in line again, and counts as not delivered."""
        if threading.get_ident() != self._receiver_thread:
            return  # the thread that receives may be about to return it
        if self.returning:
            self.put_back()
        for receiver in self._receivers:
            inbox = receiver.inbox
            delivery = inbox.in_hand
            if delivery is not None:
                if delivery.handing:
                    delivery.settled = not self.policy.disown(delivery)
                inbox.reclaim()

    def hand(self, delivery: Delivery) -> Any:
        """The message for a delivery that the application gets now; settled as the mode says."""
        message = self.peek(delivery)
        self.handed(delivery)
        return message

    def handed(self, delivery: Delivery) -> None:
        """The application is about to get it: settle as the mode says. It stays in hand until its receive returns."""
        if delivery.settled:
            delivery.inbox.spend(delivery)
            delivery.inbox.forget(1)
            return
        self.policy.handing(delivery)
        delivery.inbox.spend(delivery)
        self.policy.handled(delivery)

    def peek(self, delivery: Delivery) -> Any:
        """The message, without handing it out. One that cannot be read is put aside, and MessageFormat says so."""
        try:
            return self._make_message(delivery)
        except Exception as error:
            name = delivery.arrival.envelope.message_id
            log.exception("message %s cannot be read", name)
            self._put_aside(delivery)
            raise MessageFormatException(f"message {name} cannot be read: {error}") from error

    def _put_aside(self, delivery: Delivery) -> None:
        delivery.failed()
        outcome = Outcome.REJECTED if Native.REJECT in self.native else Outcome.FAILED
        delivery.inbox.handed(delivery)
        delivery.inbox.settle((delivery,), outcome)

    def unhand(self, delivery: Delivery) -> None:
        """The application did not get it after all: first in line again, unmarked (rule BO-18)."""
        delivery.inbox.put_back([delivery], 0.0)

    # ---- listeners

    def _pump(self) -> None:
        if isinstance(self.policy, Lazy):
            try:
                self.policy.settle_due()
            except BackendError as error:
                log.warning("messages will come again: %s", error)
        progress = True
        while progress and self.running:
            progress = False
            for receiver in self._receivers:
                if receiver.listener is None or not self.running:
                    continue
                self._current = receiver  # before the poll: who closes the receiver after it sees it here
                try:
                    delivery = receiver.poll()
                    if delivery is not None:
                        progress = True
                        self._call(receiver, delivery)
                except BackendError as error:  # an acknowledgement that had to be confirmed was not
                    log.warning("the message will come again: %s", error)
                finally:
                    self._current = None
                    if self._watchers:
                        self._notify_idle()

    def _call(self, receiver: Receiver, delivery: Delivery) -> None:
        listener = receiver.listener
        if listener is None:
            self.unhand(delivery)
            return
        try:
            message = self.peek(delivery)
        except MessageFormatException:
            return  # logged and put aside
        self.policy.handing(delivery)
        delivery.inbox.handed(delivery)
        self._in_progress, self._recovered = delivery, False
        failed = False
        try:
            assert_unlocked()
            listener(message)
        except BaseException:  # user code; even SystemExit must not end the lane
            failed = True
            log.exception("the message listener raised on message %s", delivery.arrival.envelope.message_id)
        self._in_progress = None
        if self.policy.automatic and (failed or self._recovered):
            delivery.failed()
            self._put_back([delivery])
        elif not failed:
            self.policy.handled(delivery)

    # ---- redelivery

    def recover(self) -> None:
        """Deliver again all that is delivered and unsettled, in order, before anything newer (rules AC-6 to AC-8)."""
        self._recovered = True
        self.policy.take_unsettled(self.returning)
        self.put_back()

    def put_back(self) -> None:
        """Deliver again what is ``returning``, marked as failed."""
        self._put_back(self.returning)

    def _put_back(self, returning: list[Delivery]) -> None:
        for delivery in returning:
            if delivery.handing:
                delivery.failed()
        while returning:
            self._replay(returning[0].inbox, returning)

    def _replay(self, inbox: Inbox, returning: list[Delivery]) -> None:
        """Those of this inbox once more, in order; at the limit dead-letter, for a closed consumer give back."""
        delays = []
        for delivery in [one for one in returning if one.inbox is inbox]:
            if not inbox.is_lost() and not inbox.retired and not self._is_dead(delivery):
                delays.append(self._delay_before(delivery.count))
                continue
            returning.remove(delivery)  # before it is settled: an interrupt must not have it settled twice
            if inbox.retired:
                inbox.settle((delivery,), Outcome.FAILED)
            elif not inbox.is_lost():
                self._dead_letter(delivery)
        if delays:
            inbox.put_back(returning, max(delays))

    def _delay_before(self, count: int) -> float:
        if self._redelivery.is_exhausted(count):
            return _NO_DEAD_LETTERS
        return self._redelivery.delay_before(count)

    # ---- start, stop, and the waits of close

    def start(self) -> None:
        """The connection runs: let messages through and ask for them."""
        self.running = True
        for receiver in self._receivers:
            receiver.inbox.start()
        self.lane.wake()

    def stop(self) -> None:
        """Let nothing further through; what is being handled goes on: ``wait_quiet`` waits for it."""
        self.running = False
        for receiver in self._receivers:
            receiver.inbox.stop()

    def wait_quiet(
        self,
        receiver: Receiver | None = None,
        *,
        receives: bool = True,
        unless: Callable[[], bool] = lambda: False,
    ) -> None:
        """Wait until no listener is running and no receive that has a message is in progress: of one receiver, or any.

        From the listener itself there is nothing to wait for. The user's own listener may take long: that is logged.
        """
        while not self._wait(lambda: unless() or not self._is_busy(receiver, receives=receives), _PATIENCE):
            log.warning("still waiting for a message listener or a receive to return")

    def _is_busy(self, receiver: Receiver | None, *, receives: bool) -> bool:
        current, receiving = self._current, self.receiving
        if current is not None and not self.lane.is_current() and (receiver is None or current is receiver):
            return True
        if receiving is None or receiving[0] == threading.get_ident():
            return False
        thread_of = receiving[1]
        if receiver is not None and thread_of is not receiver:
            return False
        return receives or not thread_of.inbox.is_parked()

    def _wait(self, done: Callable[[], bool], timeout: float) -> bool:
        deadline = self._clock.monotonic() + timeout
        with self._idle_lock:
            self._watchers += 1
            try:
                while not done():
                    left = remaining(self._clock, deadline)
                    if not left:
                        return False
                    self._idle.wait(min(left, 0.05))  # a receive may park without a sign
                return True
            finally:
                self._watchers -= 1

    def _notify_idle(self) -> None:
        with self._idle_lock:
            self._idle.notify_all()

    # ---- links

    def interrupted(self) -> None:
        """The link died: no inbox has anything any more; the broker will deliver again."""
        for receiver in self._receivers:
            receiver.interrupted()

    def resume(self, channel: Channel, patient: bool) -> list[BackendError]:
        """Subscribe everything again, with no credit yet.

        What cannot be had again ends its consumer, and comes back for the exception listener. A link that dies raises;
        so does, while ``patient``, a subscription that the broker may still count as the lost link's.
        """
        problems = []
        for receiver in self._receivers:
            if receiver.closed:
                continue
            try:
                subscription = channel.subscribe(receiver.wanted(self.native), receiver.inbox)
                receiver.attach(subscription)
            except BackendError as error:
                if error.retriable or (patient and isinstance(error, SubscriptionRefused | AddressInUse)):
                    raise
                receiver.end(error)
                problems.append(error)
                continue
            if receiver.closed:  # meanwhile, by the application
                subscription.close()
        return problems

    def give_back(self) -> None:
        """At the end of the session: unseen messages unmarked, delivered ones marked as failed, all in place."""
        self.put_back()
        for receiver in self._receivers:
            receiver.release_unseen()
        unsettled: list[Delivery] = []
        self.policy.take_unsettled(unsettled)
        for delivery in unsettled:
            delivery.failed()
            delivery.inbox.settle((delivery,), Outcome.FAILED)
        for receiver in self._receivers:
            receiver.inbox.retire()

    def close(self) -> None:
        """End the threads."""
        self.lane.close()
        self._parking.close()
