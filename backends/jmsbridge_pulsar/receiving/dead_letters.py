"""Dead letters of one subscription: a confirmed copy to another queue, then the acceptance of the original.

The client library's own way is not used: it counts deliveries, not failures, and gives no reason.
"""

from collections.abc import Callable
from typing import Any

from jmsbridge.spi import BackendError, Envelope, Interest
from jmsbridge.transport.deliveries.dead_letters import CopiedDeadLetters, letter_of
from jmsbridge_pulsar.facts import LinkFacts
from jmsbridge_pulsar.receiving.delivery import Delivery
from jmsbridge_pulsar.sending.encoding import outgoing_of

__all__ = ["SubscriptionDeadLetters"]


class SubscriptionDeadLetters(CopiedDeadLetters[Delivery]):
    """For the I/O thread."""

    def __init__(
        self,
        facts: LinkFacts,
        interest: Interest,
        accept: Callable[[Delivery], None],
        return_original: Callable[[Delivery], None],
    ) -> None:
        super().__init__(facts.life, interest, facts.options.dead_letter_queue, accept, return_original)
        self._facts = facts

    def read(self, token: Delivery) -> tuple[Envelope, int]:
        """A message, and its delivery count."""
        return token.envelope, token.count

    def copy_letter(
        self, queue: str, token: Delivery, notes: dict[str, Any], done: Callable[[BackendError | None], None]
    ) -> None:
        """Send the copy."""
        ticket = self._copying.begin(token.key, done)
        try:
            outgoing = outgoing_of(self._facts, letter_of(token.envelope, queue, notes), ticket)
        except BackendError as error:
            ticket.fail(error)
            return
        self._facts.producers.send(outgoing)
        self._facts.producers.flush()
