"""Receiving in a session: its receivers, ``receive``, redelivery, and the waits of stop and close.

At any time either one call is in a receive or one listener is running (Jakarta Messaging 3.1 sections 2.14, 6.2.6).
"""

import logging
import threading
from collections.abc import Callable, Sequence
from typing import Any

from jmsbridge.config import RedeliveryPolicy
from jmsbridge.core.emulation.unmatched import UnmatchedBuffer
from jmsbridge.core.receiving.acknowledgement import AcknowledgePolicy, DupsOkPolicy, by_inbox, settle_all
from jmsbridge.core.receiving.checks import ArrivalChecks, Report
from jmsbridge.core.receiving.delivery import Delivery, DeliveryState, DeliverySwitch, Hand, InboxSettings
from jmsbridge.core.receiving.inbox import Inbox
from jmsbridge.core.receiving.listening import Listening
from jmsbridge.core.receiving.lost_deliveries import LostDeliveries
from jmsbridge.core.receiving.receiver import Receiver
from jmsbridge.core.receiving.returned_deliveries import ReturnedDeliveries
from jmsbridge.core.runtime.calls import MainThreadCalls
from jmsbridge.core.runtime.clock import Clock
from jmsbridge.core.runtime.executor import NewExecutor, SerialExecutor
from jmsbridge.core.runtime.interrupts import calling_thread, wait_whole
from jmsbridge.core.runtime.waiting import WaitSet
from jmsbridge.errors import IllegalStateException, JMSException, MessageFormatException
from jmsbridge.selectors import Selector
from jmsbridge.spi import (
    AddressInUse,
    Arrival,
    BackendError,
    Channel,
    ChannelLost,
    Interest,
    LinkLost,
    Native,
    Outcome,
    Subscription,
    SubscriptionRefused,
)

__all__ = ["POLL", "POLL_WITHOUT_FETCH", "Incoming"]

log = logging.getLogger("jmsbridge.receive")

POLL = -1.0
"""The time-out of a receive that takes only a message that has arrived already: asyncio does not wait in it."""
POLL_WITHOUT_FETCH = -2.0
"""The same, but a consumer with a prefetch of 0 does not ask the broker for a message either."""
_PATIENCE = 10.0  # seconds after which a wait for the user's own listener is logged
_NO_DEAD_LETTERS = 30.0  # seconds between redeliveries after the limit, if the broker has no dead-letter queue

_HANDED = DeliveryState.HANDED

_MakeMessage = Callable[[Delivery], Any]


class Incoming:
    """The receiving side of one session."""

    def __init__(
        self,
        name: str,
        clock: Clock,
        switch: DeliverySwitch,
        policy: AcknowledgePolicy,
        make_message: _MakeMessage,
        unmatched_limit: int,
        report: Report,
        calls: MainThreadCalls,
        returned: ReturnedDeliveries,
        lost: LostDeliveries,
        new_executor: NewExecutor,
    ) -> None:
        self.policy = policy
        self.hand = Hand()
        self.listening = Listening(self, f"jmsbridge-{name}-deliver", switch, new_executor)
        self.upkeep = SerialExecutor(f"jmsbridge-{name}-upkeep", self._do_upkeep)
        self.native = Native.NONE
        self._unmatched_limit = unmatched_limit
        self._clock = clock
        self._switch = switch
        self._make_message = make_message
        self.checks = ArrivalChecks(clock, policy, self.hand, report)
        self._calls = calls
        self._returned = returned
        self._quiet = WaitSet()  # notified when a receive or a listener has ended
        self._receivers: dict[Receiver, None] = {}
        self._thread: int | None = None  # of the receive in progress
        self._receiving: Receiver | None = None  # the receiver of the receive in progress
        self._lost = lost

    # ---- receivers

    @property
    def receivers(self) -> tuple[Receiver, ...]:
        """All open consumers, in creation order."""
        return tuple(self._receivers)

    def new_receiver(self, interest: Interest, redelivery: RedeliveryPolicy) -> Receiver:
        """Create a receiver; ``add`` it to the session once it is subscribed."""
        settings = InboxSettings(
            interest, redelivery, self._clock, self._switch, self.hand, self._is_unsettled, self._returned
        )
        return Receiver(settings, self.checks, self._new_buffer)

    def _new_buffer(self, selector: Selector) -> UnmatchedBuffer:
        return UnmatchedBuffer(selector, self._unmatched_limit, self._clock, self.upkeep.wake)

    def _do_upkeep(self) -> None:
        policy = self.policy
        if isinstance(policy, DupsOkPolicy):
            try:
                policy.settle_due()
            except BackendError as error:
                log.warning("messages will be delivered again: %s", error)
        for receiver in self.receivers:
            receiver.release_due()

    def add(self, receiver: Receiver) -> None:
        """Add a subscribed receiver; under the session's lock."""
        self._receivers[receiver] = None

    def remove(self, receiver: Receiver) -> None:
        """Remove a closed receiver; under the session's lock."""
        self._receivers.pop(receiver, None)

    def reopen(self, interest: Interest) -> Inbox | None:
        """The inbox of a durable subscription whose consumer was closed before its last message was settled: where the
        backend has that subscription until then, its next consumer goes on with it."""
        for inbox in self._left() if interest.durable else ():
            if inbox.interest == interest and inbox.can_reopen and inbox.reopen():
                return inbox
        return None

    def _left(self) -> set[Inbox]:
        """The inboxes of closed consumers whose messages are not all settled."""
        return {delivery.inbox for delivery in self._unsettled() if delivery.inbox.retired}

    def _unsettled(self) -> list[Delivery]:
        """What the application got and is not settled, with the message of a listener that is running."""
        held = self.hand.delivery
        return [*self.policy.unsettled(), *([held] if held is not None else ())]

    def _is_unsettled(self, arrival: Arrival) -> bool:
        return any(delivery.arrival is arrival for delivery in self._unsettled())

    # ---- receive

    def receive(self, receiver: Receiver, timeout: float | None, read: Callable[[Any], Any] | None) -> Any:
        """The next message, or the result of ``read`` for it; None if there is none within ``timeout`` seconds.

        With ``POLL`` or ``POLL_WITHOUT_FETCH`` as the time-out it takes only what has arrived. If ``read`` refuses a
        message, the automatic modes deliver it again first, and in the others it counts as received (rule BO-18). If it
        raises something else, every mode delivers it again first.
        """
        self._thread = self._check_receive()
        self._receiving = receiver
        deadline = None if timeout is None else self._clock.monotonic() + timeout
        try:
            while (
                delivery := receiver.next(deadline)
                if timeout is None or timeout > 0
                else (receiver.poll(asks=timeout == POLL) if timeout else receiver.next_no_wait())
            ) is not None:
                result = self.message_of(delivery)
                if read is not None:
                    result = self._read(read, result, delivery)
                try:
                    self._hand_over(delivery)
                except LinkLost:
                    continue  # a confirmed acknowledgement failed: the broker delivers the message again
                return result
            self._end_receive()
            receiver.check_alive()
            return None
        except BaseException:
            self._end_receive()
            raise
        finally:
            self._receiving = self._thread = None  # no call here: an interrupt in it would lose the message

    def _end_receive(self) -> None:
        """A receive ends without a message: wake those that wait for its end."""
        self._receiving = self._thread = None
        if self._quiet.gates:
            self._quiet.notify()

    def _check_receive(self) -> int:
        me = threading.get_ident()
        if self._thread is not None and self._thread != me:
            raise IllegalStateException("another thread is receiving on this session; a session is for one thread")
        if self.listening.receivers:
            raise IllegalStateException("this session has a message listener; call receive on another session")
        return me

    def check_listen(self) -> None:
        """IllegalState while another thread is in a receive (rule TH-3)."""
        if self._thread is not None and self._thread != calling_thread():
            raise IllegalStateException("another thread is receiving on this session; set the listener on another one")

    def _read(self, read: Callable[[Any], Any], message: Any, delivery: Delivery) -> Any:
        try:
            return read(message)
        except Exception as error:
            if self.policy.automatic or not isinstance(error, JMSException):  # such as a TypeError for what is no type
                delivery.inbox.put_back(delivery)
            else:
                self._hand_over(delivery)
            raise

    def message_of(self, delivery: Delivery) -> Any:
        """The message of a delivery; MessageFormat if it cannot be read, after rejecting it."""
        if not self._lost.is_empty:
            self._lost.mark(delivery)
        try:
            return self._make_message(delivery)
        except Exception as error:
            if wait_whole(lambda: self._reject_unreadable(delivery)):
                raise  # the message is readable: a signal handler raised
            self.hand.delivery = None
            name = delivery.arrival.envelope.message_id
            raise MessageFormatException(f"message {name} cannot be read: {error}") from error

    def lose(self) -> None:
        """The link is lost: remember what the application has got, to mark it later where the broker does not."""
        self._lost.add(self.policy.unsettled())
        for inbox in self._left():
            inbox.lose()
        self.policy.lose()

    def _reject_unreadable(self, delivery: Delivery) -> bool:
        """Reject it, unless it is readable after all; True if it is readable."""
        try:
            self._make_message(delivery)
            return True
        except Exception:
            log.exception("message %s cannot be read", delivery.arrival.envelope.message_id)
        delivery.failed()
        delivery.inbox.spend(delivery)
        outcome = Outcome.REJECTED if delivery.inbox.can_reject else Outcome.FAILED
        delivery.inbox.settle((delivery,), outcome)
        return False

    def _hand_over(self, delivery: Delivery) -> None:
        """The application gets this message: settle it as the mode requires.

        If a signal handler raises from here on until ``receive`` has returned, the session's next call raises that
        exception, since the message may be acknowledged.
        """
        delivery.state = _HANDED
        try:
            self.give(delivery)
            self.policy.after_handover(delivery)
            self._receiving = self._thread = None  # as in ``_end_receive``, without a call for each message
            if self._quiet.gates:
                self._quiet.notify()
        except BackendError:
            self.hand.delivery = None
            raise
        except BaseException as interrupt:
            self._calls.interrupt = interrupt
            return
        self.hand.delivery = None

    def give(self, delivery: Delivery) -> None:
        """The application is about to get this message."""
        self.policy.before_handover(delivery)
        delivery.inbox.spend(delivery)
        if delivery.inbox.is_lost():  # since the message was taken: the broker may give it to another session first
            self._lost.add((delivery,))

    def finish_interrupted(self) -> None:
        """Complete an interrupted call. Runs where no signal handler interrupts, while no receive is in progress."""
        self.policy.finish()
        if self.listening.is_idle:
            self._empty_hand()
        for receiver in self.receivers:
            receiver.resync_credit()

    def _empty_hand(self) -> None:
        delivery = self.hand.delivery
        if delivery is None:
            return
        if delivery.state is _HANDED:
            try:
                self.give(delivery)
                self.policy.after_handover(delivery)
            except LinkLost as error:
                log.debug("an acknowledgement is lost with its link: %s", error)
        elif delivery.state is not DeliveryState.SETTLED:  # the application did not get it: first again, unmarked
            delivery.inbox.put_back(delivery)
        self.hand.delivery = None

    # ---- redelivery

    def recover(self) -> None:
        """Redeliver all unsettled deliveries, in order and before newer messages (rules AC-6 to AC-8)."""
        self.listening.has_recovered = True
        self.redeliver(self.policy.take_unsettled())

    def redeliver(self, deliveries: Sequence[Delivery]) -> None:
        """Redeliver these, in order and marked.

        Those at the limit of redeliveries are moved to the dead-letter queue; those of a closed consumer are returned
        to the broker. Those that were dropped in a transaction did not fail, and are dropped again.
        """
        for delivery in deliveries:
            if delivery.state is _HANDED:
                delivery.failed()
        for inbox, group in by_inbox(deliveries):
            self._redeliver(inbox, group)

    def _redeliver(self, inbox: Inbox, deliveries: list[Delivery]) -> None:
        if inbox.is_lost():
            inbox.done(deliveries)
            self._lost.add(deliveries)
            return
        if inbox.retired:
            inbox.release(deliveries, lambda delivery: delivery.state is _HANDED)
            return
        again = []
        for delivery in deliveries:
            if self.checks.is_dead(delivery):
                self.checks.dead_letter(delivery)
            else:
                again.append(delivery)
        if again:
            inbox.redeliver(again, max(_pause(delivery) for delivery in again))
            if inbox.is_lost():  # meanwhile, so ``interrupted`` may not have found them there
                self._lost.add(again)

    # ---- start, stop, and the waits of close

    def start(self) -> None:
        """The connection is started: ask for messages and deliver them."""
        for receiver in self.receivers:
            receiver.inbox.start()

    def wait_stopped(self, unless: Callable[[], bool]) -> None:
        """The connection is stopped: wait until no listener is running and no receive will return a message.

        Does not wait in the listener itself. A long wait for the user's listener is logged.
        """
        self._wait(lambda: unless() or not (self.listening.is_running() or self._has_message()))

    def wait_quiet(self, receiver: Receiver | None = None) -> None:
        """Wait until no listener is running and no receive is in progress, of this receiver or of any."""
        self._wait(lambda: not (self.listening.is_running(receiver) or self._is_receiving(receiver)))

    def _has_message(self) -> bool:
        receiving = self._receiving
        return receiving is not None and self._thread != calling_thread() and receiving.inbox.is_in_hand()

    def _is_receiving(self, receiver: Receiver | None) -> bool:
        receiving = self._receiving
        return receiving is not None and self._thread != calling_thread() and receiver in (None, receiving)

    def _wait(self, done: Callable[[], bool]) -> None:
        while not self._quiet.wait_for(done, _PATIENCE):
            log.warning("still waiting for a message listener or a receive to return")

    def listener_returned(self) -> None:
        """A listener has returned."""
        if self._quiet.gates:
            self._quiet.notify()

    # ---- links

    def end_subscription(self, subscription: Subscription, error: BackendError) -> None:
        """The broker has ended it: its consumer gets no more messages."""
        for receiver in self.receivers:
            if receiver.inbox.subscription is subscription:
                receiver.end(error)
        for inbox in self._left():
            if inbox.subscription is subscription:
                inbox.lose()

    def interrupted(self) -> None:
        """The link is lost: empty all inboxes; the broker delivers the messages again."""
        for receiver in self.receivers:
            inbox = receiver.inbox
            self._lost.add(receiver.interrupted())
            self._lost.add_inbox(inbox)  # last: whatever ``give`` hands over later sees that the link is lost

    def resume(self, channel: Channel, patient: bool) -> list[BackendError]:
        """Subscribe all receivers again, without credit.

        If a subscription fails, its consumer ends, and the error is returned for the exception listener. Raises if the
        link is lost, or, while ``patient``, if the broker may still count the subscription as the lost link's; and
        ChannelLost if it may succeed later, so that this session alone tries again.
        """
        problems = []
        for receiver in self.receivers:
            if receiver.closed:
                continue
            try:
                subscription = channel.subscribe(receiver.wanted(self.native), receiver.inbox)
                receiver.attach(subscription)
            except BackendError as error:
                if error.retriable or (patient and isinstance(error, SubscriptionRefused | AddressInUse)):
                    raise
                if patient and type(error) is BackendError:  # no refusal: a queue without a leader does not answer
                    raise ChannelLost(str(error)) from error
                receiver.end(error)
                problems.append(error)
                continue
            if receiver.closed:  # meanwhile, by the application
                subscription.close()
        return problems

    # ---- ends

    def retire(self, receiver: Receiver, patience: float) -> None:
        """The consumer is closed, and no call of it is in progress; its unsettled deliveries can still be settled."""
        held = self.hand.delivery
        if held is not None and held.inbox is receiver.inbox and self.listening.is_idle:
            self._empty_hand()
        self.policy.settle_batch()  # first: with nothing unsettled a backend need not wait for what is on its way
        receiver.take_credit_back(patience)
        receiver.inbox.retire(self._unsettled())  # with the message of a listener that closes its own consumer

    def return_all(self, delivered: Sequence[Delivery], left: Callable[[], float]) -> None:
        """At the end of the session: requeue delivered messages and release unseen ones, the older ones first."""
        for receiver in self.receivers:
            receiver.take_credit_back(left())
        settle_all(delivered, Outcome.REQUEUED)
        for receiver in self.receivers:
            receiver.inbox.release_unseen()
        for receiver in self.receivers:
            receiver.inbox.retire(())

    def close(self) -> None:
        """End the threads."""
        self.listening.close()
        self.upkeep.close()


def _pause(delivery: Delivery) -> float:
    redelivery = delivery.inbox.redelivery
    return _NO_DEAD_LETTERS if redelivery.is_exhausted(delivery.failures) else redelivery.delay_after(delivery.failures)
