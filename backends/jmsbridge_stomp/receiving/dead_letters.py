"""Dead letters of one subscription: a confirmed copy to another queue, then the acceptance of the original.

The broker's own way is not used: NACK drops a message on Artemis, and on ActiveMQ Classic it moves it without a reason.
"""

from collections.abc import Callable
from typing import Any

import msgspec

from jmsbridge.spi import DEAD_LETTER_NOTES, Address, BackendError, ChannelLost, Envelope, Interest
from jmsbridge.transport.deliveries.copies import CopiesUnderWay
from jmsbridge.transport.deliveries.dead_letters import DeadLetters
from jmsbridge_stomp.facts import LinkFacts
from jmsbridge_stomp.receiving.receiver import Delivery
from jmsbridge_stomp.sending.copier import Copier

__all__ = ["SubscriptionDeadLetters"]

_PATIENCE = 10.0  # seconds for which a close waits for copies, but at most half of ``close_timeout``


class SubscriptionDeadLetters:
    """``give_back`` returns an original whose copy failed. For the I/O thread."""

    def __init__(
        self, facts: LinkFacts, copier: Copier, interest: Interest, give_back: Callable[[Delivery], None]
    ) -> None:
        self._life = facts.sockets.life
        self._copier = copier
        self._give_back = give_back
        self._copying = CopiesUnderWay(self._life.thread)
        letters: DeadLetters[Delivery] = DeadLetters(
            interest, facts.dead_letters or None, None, lambda: self._life.broker, self
        )
        self.reject = letters.reject
        self.expire = letters.expire

    def when_idle(self, task: Callable[[], None]) -> None:
        """Call this when no copy is under way."""
        self._copying.when_idle(task, min(_PATIENCE, self._life.endpoint.close_timeout / 2))

    def read(self, token: Delivery) -> tuple[Envelope, int]:
        """A message, and its delivery count."""
        return token.envelope, 2 if token.is_redelivered else 1

    def copy_letter(
        self, queue: str, token: Delivery, notes: dict[str, Any], done: Callable[[BackendError | None], None]
    ) -> None:
        """Send the copy."""
        kept = {name: value for name, value in token.envelope.properties.items() if name not in DEAD_LETTER_NOTES}
        letter = msgspec.structs.replace(
            token.envelope, address=Address(queue), properties=kept | notes, expiration=0, duplicate_id=None
        )
        self._copier.send(letter, self._copying.begin(token, done))

    def settle_original(self, token: Delivery, error: BackendError | None, pause: float) -> BackendError | None:
        """Accept the original; after an error return it in ``pause`` seconds, or when the consumer is closed."""
        if error is not None:
            self._life.thread.call_later(pause, lambda: self._give_back(token))
        elif not token.receiver.accept(token, None):
            return ChannelLost("the consumer is closed", in_doubt=True)
        return error
