"""Dead letters of one subscription: a confirmed copy to another queue, then the acceptance of the original.

The client library's own way is not used: it counts deliveries, not failures, and gives no reason.
"""

from collections.abc import Callable
from typing import Any

import msgspec

from jmsbridge.spi import DEAD_LETTER_NOTES, Address, BackendError, Envelope, Interest
from jmsbridge.transport.deliveries.copies import CopiesUnderWay
from jmsbridge.transport.deliveries.dead_letters import DeadLetters
from jmsbridge_pulsar.facts import LinkFacts
from jmsbridge_pulsar.receiving.delivery import Delivery
from jmsbridge_pulsar.sending.encoding import outgoing_of

__all__ = ["SubscriptionDeadLetters"]

_PATIENCE = 10.0  # seconds for which a close waits for copies, but at most half of ``close_timeout``


class SubscriptionDeadLetters:
    """``accept`` and ``give_back`` settle an original. For the I/O thread."""

    def __init__(
        self,
        facts: LinkFacts,
        interest: Interest,
        accept: Callable[[Delivery], None],
        give_back: Callable[[Delivery], None],
    ) -> None:
        self._facts = facts
        self._accept = accept
        self._give_back = give_back
        self._copying = CopiesUnderWay(facts.life.thread)
        letters: DeadLetters[Delivery] = DeadLetters(
            interest, facts.options.dead_letter_queue or None, None, lambda: facts.life.broker, self
        )
        self.reject = letters.reject
        self.expire = letters.expire

    def when_idle(self, task: Callable[[], None]) -> None:
        """Call this when no copy is under way."""
        self._copying.when_idle(task, min(_PATIENCE, self._facts.life.endpoint.close_timeout / 2))

    def read(self, token: Delivery) -> tuple[Envelope, int]:
        """A message, and its delivery count."""
        return token.envelope, token.count

    def copy_letter(
        self, queue: str, token: Delivery, notes: dict[str, Any], done: Callable[[BackendError | None], None]
    ) -> None:
        """Send the copy."""
        kept = {name: value for name, value in token.envelope.properties.items() if name not in DEAD_LETTER_NOTES}
        letter = msgspec.structs.replace(
            token.envelope, address=Address(queue), properties=kept | notes, expiration=0, duplicate_id=None
        )
        ticket = self._copying.begin(token.key, done)
        try:
            outgoing = outgoing_of(self._facts, letter, ticket)
        except BackendError as error:
            ticket.fail(error)
            return
        self._facts.producers.send(outgoing)
        self._facts.producers.flush()

    def settle_original(self, token: Delivery, error: BackendError | None, pause: float) -> BackendError | None:
        """Accept the original; after an error return it in ``pause`` seconds, or when the consumer is closed."""
        if error is None:
            self._accept(token)
        else:
            self._facts.life.thread.call_later(pause, lambda: self._give_back(token))
        return error
