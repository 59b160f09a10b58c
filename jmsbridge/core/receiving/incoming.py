"""A session's way in: its receivers, ``receive``, redelivery, and the waits that stop and close need.

One application call is in a receive, or one listener is running, at a time (Jakarta Messaging 3.1 sections 2.14,
6.2.6).
"""

import logging
import threading
from collections.abc import Callable, Sequence
from typing import Any

from jmsbridge.config import RedeliveryPolicy
from jmsbridge.core.emulation.unmatched import UnmatchedBuffer
from jmsbridge.core.receiving.acknowledgement import AcknowledgePolicy, DupsOkPolicy, by_inbox
from jmsbridge.core.receiving.checks import ArrivalChecks, Report
from jmsbridge.core.receiving.delivery import Delivery, DeliveryState, DeliverySwitch, Hand
from jmsbridge.core.receiving.inbox import Inbox, InboxSettings
from jmsbridge.core.receiving.listening import Listening
from jmsbridge.core.receiving.receiver import Receiver
from jmsbridge.core.runtime.calls import MainThreadCalls
from jmsbridge.core.runtime.clock import Clock
from jmsbridge.core.runtime.executor import SerialExecutor
from jmsbridge.core.runtime.interrupts import calling_thread, wait_whole
from jmsbridge.core.runtime.waiting import WaitSet
from jmsbridge.errors import IllegalStateException, JMSException, MessageFormatException
from jmsbridge.selectors import Selector
from jmsbridge.spi import (
    AddressInUse,
    Arrival,
    BackendError,
    Channel,
    Interest,
    LinkLost,
    Native,
    Outcome,
    SubscriptionRefused,
)

__all__ = ["Incoming"]

log = logging.getLogger("jmsbridge.receive")

_PATIENCE = 10.0  # seconds after which a wait for the user's own listener is logged
_NO_DEAD_LETTERS = 30.0  # seconds between further redeliveries where the broker has no dead-letter queue

_HANDED = DeliveryState.HANDED

_MakeMessage = Callable[[Delivery], Any]


class Incoming:
    """Everything about receiving that belongs to one session."""

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
    ) -> None:
        self.policy = policy
        self.hand = Hand()
        self.listening = Listening(self, f"jmsbridge-{name}-deliver", switch)
        self.upkeep = SerialExecutor(f"jmsbridge-{name}-upkeep", self._tend)
        self.native = Native.NONE
        self._unmatched_limit = unmatched_limit
        self._clock = clock
        self._switch = switch
        self._make_message = make_message
        self._checks = ArrivalChecks(clock, policy, self.hand, report)
        self._calls = calls
        self._quiet = WaitSet()  # notified when a receive or a listener has ended
        self._receivers: dict[Receiver, None] = {}
        self._thread: int | None = None  # of the receive in progress
        self._receiving: Receiver | None = None  # the receiver of the receive in progress

    # ---- receivers

    @property
    def receivers(self) -> tuple[Receiver, ...]:
        """All open consumers, in creation order."""
        return tuple(self._receivers)

    def new_receiver(self, interest: Interest, redelivery: RedeliveryPolicy) -> Receiver:
        """A receiver that is not yet part of the session; ``add`` makes it so once it is subscribed."""
        settings = InboxSettings(interest.window, redelivery, self._clock, self._switch, self.hand, self._is_unsettled)
        return Receiver(interest, settings, self._checks, self._new_buffer)

    def _new_buffer(self, selector: Selector) -> UnmatchedBuffer:
        return UnmatchedBuffer(selector, self._unmatched_limit, self._clock, self.upkeep.wake)

    def _tend(self) -> None:
        policy = self.policy
        if isinstance(policy, DupsOkPolicy):
            try:
                policy.settle_due()
            except BackendError as error:
                log.warning("messages will come again: %s", error)
        for receiver in self.receivers:
            receiver.tend()

    def add(self, receiver: Receiver) -> None:
        """Take a subscribed receiver in; under the session's lock."""
        self._receivers[receiver] = None

    def remove(self, receiver: Receiver) -> None:
        """Forget a closed one; under the session's lock."""
        self._receivers.pop(receiver, None)

    def _is_unsettled(self, arrival: Arrival) -> bool:
        held = self.hand.delivery
        if held is not None and held.arrival is arrival:
            return True
        return any(delivery.arrival is arrival for delivery in self.policy.unsettled())

    # ---- receive

    def receive(self, receiver: Receiver, timeout: float | None, read: Callable[[Any], Any] | None) -> Any:
        """The next message, or what ``read`` makes of it; None when there is none within ``timeout`` seconds.

        A message that ``read`` refuses is first in line again in the modes
        that acknowledge by themselves, and counts as received in the others (rule BO-18).
        """
        self._thread = self._check_receive()
        self._receiving = receiver
        deadline = None if timeout is None else self._clock.monotonic() + timeout
        try:
            while (delivery := receiver.next_now() if timeout == 0 else receiver.next(deadline)) is not None:
                result = self.message_of(delivery)
                if read is not None:
                    result = self._read(read, result, delivery)
                try:
                    self._hand_over(delivery)
                except LinkLost:
                    continue  # an acknowledgement that had to be confirmed was not: the message comes again
                return result
            receiver.check_alive()
            return None
        finally:
            self._receiving = self._thread = None  # no call here: what interrupted it would take the message with it

    def _check_receive(self) -> int:
        me = threading.get_ident()
        if self._thread is not None and self._thread != me:
            raise IllegalStateException("another thread is receiving on this session; a session serves one thread")
        if self.listening.receivers:
            raise IllegalStateException("this session has a message listener; receive belongs to another session")
        return me

    def check_listen(self) -> None:
        """IllegalState while another thread is in a receive (rule TH-3)."""
        if self._thread is not None and self._thread != calling_thread():
            raise IllegalStateException("another thread is receiving on this session; a listener needs another session")

    def _read(self, read: Callable[[Any], Any], message: Any, delivery: Delivery) -> Any:
        try:
            return read(message)
        except JMSException:
            if self.policy.automatic:
                delivery.inbox.put_back(delivery)
            else:
                self._hand_over(delivery)
            raise

    def message_of(self, delivery: Delivery) -> Any:
        """The message of a delivery. One that cannot be read is put aside, and MessageFormat says so."""
        try:
            return self._make_message(delivery)
        except Exception as error:
            if wait_whole(lambda: self._put_aside(delivery)):
                raise  # it can be read: a signal handler raised
            self.hand.delivery = None
            name = delivery.arrival.envelope.message_id
            raise MessageFormatException(f"message {name} cannot be read: {error}") from error

    def _put_aside(self, delivery: Delivery) -> bool:
        """To the dead-letter queue, unless it can be read after all."""
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
        """The application gets it: settle as the mode says. What a signal handler raises from here on until ``receive``
        has returned is raised by the session's next call, since the message may be acknowledged.
        """
        delivery.state = _HANDED
        try:
            self.policy.handing(delivery)
            delivery.inbox.spend(delivery)
            self.policy.handled(delivery)
            self._receiving = self._thread = None
            if self._quiet.gates:
                self._quiet.notify()
        except BackendError:
            self.hand.delivery = None
            raise
        except BaseException as interrupt:
            self._calls.interrupt = interrupt
            return
        self.hand.delivery = None

    def finish_interrupted(self) -> None:
        """Do what an interrupted call left undone. Runs where no signal handler interrupts, and beside no receive."""
        self.policy.finish()
        if self.listening.is_idle:
            self._empty_hand()
        for receiver in self.receivers:
            receiver.make_sure()

    def _empty_hand(self) -> None:
        delivery = self.hand.delivery
        if delivery is None:
            return
        if delivery.state is _HANDED:
            try:
                self.policy.handing(delivery)
                delivery.inbox.spend(delivery)
                self.policy.handled(delivery)
            except LinkLost as error:
                log.debug("an acknowledgement is lost with its link: %s", error)
        elif delivery.state is not DeliveryState.SETTLED:  # the application did not get it: first in line, unmarked
            delivery.inbox.put_back(delivery)
        self.hand.delivery = None

    # ---- redelivery

    def recover(self) -> None:
        """Deliver again all that is delivered and unsettled, in order, before anything newer (rules AC-6 to AC-8)."""
        self.listening.has_recovered = True
        self.redeliver(self.policy.take_unsettled())

    def redeliver(self, deliveries: Sequence[Delivery]) -> None:
        """These were delivered in vain: again, in order, marked; at the limit to the dead-letter queue, for a closed
        consumer back to the broker.
        """
        for delivery in deliveries:
            delivery.failed()
        for inbox, group in by_inbox(deliveries):
            self._redeliver(inbox, group)

    def _redeliver(self, inbox: Inbox, deliveries: list[Delivery]) -> None:
        if inbox.is_lost():
            inbox.done(deliveries)
            return
        again = []
        for delivery in deliveries:
            if inbox.retired:
                inbox.settle((delivery,), Outcome.FAILED)
            elif self._checks.is_dead(delivery):
                self._checks.dead_letter(delivery)
            else:
                again.append(delivery)
        if again:
            inbox.redeliver(again, max(_pause(delivery) for delivery in again))

    # ---- start, stop, and the waits of close

    def start(self) -> None:
        """The connection runs: ask for messages and let them through."""
        for receiver in self.receivers:
            receiver.inbox.start()

    def wait_stopped(self, unless: Callable[[], bool]) -> None:
        """The connection is stopped: wait until no listener is running and no receive will bring a message.

        From the listener itself there is nothing to wait for. The user's own listener may take long: that is logged.
        """
        self._wait(lambda: unless() or not (self.listening.is_running() or self._has_message()))

    def wait_quiet(self, receiver: Receiver | None = None) -> None:
        """Wait until no listener is running and no receive is in progress: of one receiver, or any."""
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

    def ended(self) -> None:
        """A listener has returned."""
        if self._quiet.gates:
            self._quiet.notify()

    # ---- links

    def interrupted(self) -> None:
        """The link died: no inbox has anything any more; the broker will deliver again."""
        for receiver in self.receivers:
            receiver.interrupted()

    def resume(self, channel: Channel, patient: bool) -> list[BackendError]:
        """Subscribe everything again, with no credit yet.

        What cannot be had again ends its consumer, and comes back for the exception listener. A link that dies raises;
        so does, while ``patient``, a subscription that the broker may still count as the lost link's.
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
                receiver.end(error)
                problems.append(error)
                continue
            if receiver.closed:  # meanwhile, by the application
                subscription.close()
        return problems

    # ---- ends

    def retire(self, receiver: Receiver, patience: float) -> None:
        """Its consumer is closed, and nothing of it is in progress: unseen messages go back unmarked; the rest of its
        deliveries can still be settled.
        """
        held = self.hand.delivery
        if held is not None and held.inbox is receiver.inbox and self.listening.is_idle:
            self._empty_hand()
        receiver.release_unseen(patience)
        self.policy.settle_done()
        held = self.hand.delivery  # the listener's, which closes its own consumer
        receiver.inbox.retire([*self.policy.unsettled(), *([held] if held is not None else ())])

    def give_back(self, delivered: Sequence[Delivery], left: Callable[[], float]) -> None:
        """At the end of the session: unseen messages unmarked, delivered ones counted, all in place."""
        for receiver in self.receivers:
            receiver.release_unseen(left())
        for delivery in delivered:
            delivery.inbox.settle((delivery,), Outcome.REQUEUED)
        for receiver in self.receivers:
            receiver.inbox.retire(())

    def close(self) -> None:
        """End the threads."""
        self.listening.close()
        self.upkeep.close()


def _pause(delivery: Delivery) -> float:
    redelivery = delivery.inbox.redelivery
    return _NO_DEAD_LETTERS if redelivery.is_exhausted(delivery.failures) else redelivery.delay_after(delivery.failures)
