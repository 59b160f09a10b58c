"""The checks of every arrival before the application gets it: expiry, limit of redeliveries, emulated selector."""

import logging
from collections.abc import Callable
from typing import TypeAlias

from jmsbridge.core.receiving.acknowledgement import AcknowledgePolicy
from jmsbridge.core.receiving.delivery import Delivery, Hand
from jmsbridge.core.runtime.clock import Clock
from jmsbridge.core.runtime.interrupts import wait_whole
from jmsbridge.errors import JMSException
from jmsbridge.spi import BackendError, LinkLost, Outcome

__all__ = ["ArrivalChecks", "Report"]

log = logging.getLogger("jmsbridge.receive")

Report: TypeAlias = Callable[[JMSException], None]
"""Calls the connection's exception listener."""


class _DeadLetter:
    """The ticket of a dead letter that is being moved; a failure is reported to the application."""

    def __init__(self, what: str, report: Report) -> None:
        self._what = what
        self._report = report

    def succeed(self) -> None:
        """It was moved."""

    def fail(self, error: BackendError) -> None:
        """It was not moved. The loss of the link is not reported here, because it is reported elsewhere."""
        if not isinstance(error, LinkLost):
            failure = JMSException(f"{self._what}, cannot be moved to its queue and is delivered again: {error}")
            failure.__cause__ = error
            self._report(failure)


class ArrivalChecks:
    """The checks of one session. A delivery that does not pass has been settled and removed from ``Hand``."""

    def __init__(self, clock: Clock, policy: AcknowledgePolicy, hand: Hand, report: Report) -> None:
        self._clock = clock
        self._policy = policy
        self._hand = hand
        self._report = report
        self.on_dead_letter: Callable[[Delivery], object] | None = None
        """Called with each delivery that is moved to the dead-letter queue."""

    def passes(self, delivery: Delivery) -> bool:
        """Whether the application gets this delivery."""
        returned = delivery.inbox.returned
        if returned is not None:
            returned.mark(delivery)
        envelope = delivery.arrival.envelope
        if envelope.expiration and envelope.expiration <= self._clock.now_ms():
            self._expire(delivery)
            return False
        if (delivery.local_failures or delivery.arrival.failures) and self.is_dead(delivery):
            delivery.inbox.spend(delivery)
            wait_whole(lambda: self.dead_letter(delivery))
            self._hand.delivery = None
            return False
        selector = delivery.inbox.selector
        if selector is not None and not selector.matches_envelope(envelope):
            self._drop(delivery)
            return False
        return True

    def is_dead(self, delivery: Delivery) -> bool:
        """Whether it has failed as often as the redelivery policy allows, and there is a queue to move it to."""
        return delivery.inbox.can_reject and delivery.inbox.redelivery.is_exhausted(delivery.failures)

    def dead_letter(self, delivery: Delivery) -> None:
        """Move it to the dead-letter queue."""
        envelope = delivery.arrival.envelope
        times = "once" if delivery.failures == 1 else f"{delivery.failures} times"
        what = f"message {envelope.message_id} of {envelope.address} failed {times}"
        log.warning("%s: it is moved to the dead-letter queue", what)
        if self.on_dead_letter is not None:
            self.on_dead_letter(delivery)
        delivery.inbox.settle((delivery,), Outcome.REJECTED, _DeadLetter(what, self._report))

    def _expire(self, delivery: Delivery) -> None:
        if delivery.inbox.redelivery.expiry_queue is None:
            self._drop(delivery)
            return
        delivery.inbox.spend(delivery)
        what = f"message {delivery.arrival.envelope.message_id} of {delivery.arrival.envelope.address} has expired"
        wait_whole(lambda: delivery.inbox.settle((delivery,), Outcome.REJECTED, _DeadLetter(what, self._report)))
        self._hand.delivery = None

    def _drop(self, delivery: Delivery) -> None:
        delivery.inbox.spend(delivery)
        self._policy.drop(delivery)
        self._hand.delivery = None
