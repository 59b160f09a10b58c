"""Dead letters of one subscription: a confirmed copy to another queue, then the acceptance of the original.

The broker's own way is not used: NACK drops a message on Artemis, and on ActiveMQ Classic it moves it without a reason.
"""

from collections.abc import Callable
from typing import Any

from jmsbridge.spi import BackendError, Envelope, Interest
from jmsbridge.transport.deliveries.dead_letters import CopiedDeadLetters, letter_of
from jmsbridge_stomp.facts import LinkFacts
from jmsbridge_stomp.receiving.receiver import Delivery, accept_one
from jmsbridge_stomp.sending.copier import Copier

__all__ = ["SubscriptionDeadLetters"]


class SubscriptionDeadLetters(CopiedDeadLetters[Delivery]):
    """For the I/O thread."""

    def __init__(
        self, facts: LinkFacts, copier: Copier, interest: Interest, return_original: Callable[[Delivery], None]
    ) -> None:
        super().__init__(facts.sockets.life, interest, facts.dead_letters, accept_one, return_original)
        self._copier = copier

    def read(self, token: Delivery) -> tuple[Envelope, int]:
        """A message, and its delivery count."""
        return token.envelope, 2 if token.is_redelivered else 1

    def copy_letter(
        self, queue: str, token: Delivery, notes: dict[str, Any], done: Callable[[BackendError | None], None]
    ) -> None:
        """Send the copy."""
        self._copier.send(letter_of(token.envelope, queue, notes), self._copying.begin(token, done))
