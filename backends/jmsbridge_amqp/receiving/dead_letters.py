"""Dead letters of one subscription: a confirmed copy to another queue, then the acceptance of the original."""

from collections.abc import Callable
from typing import Any

from jmsbridge.spi import Address, BackendError, ChannelLost, Envelope, Interest
from jmsbridge.transport.deliveries.copies import CopiesUnderWay
from jmsbridge.transport.deliveries.dead_letters import DeadLetters
from jmsbridge_amqp.connection import states
from jmsbridge_amqp.messages.wire import Decoder, Naming, copy_for
from jmsbridge_amqp.receiving.token import Token
from jmsbridge_amqp.sending.copier import Copier

__all__ = ["SubscriptionDeadLetters"]

_PATIENCE = 10.0  # seconds for which a close waits for copies, but at most half of ``close_timeout``


class SubscriptionDeadLetters:
    """``give_back`` returns an original whose copy failed. For the I/O thread."""

    def __init__(
        self,
        copier: Copier,
        interest: Interest,
        decoder: Decoder,
        naming: Naming,
        queue: str,
        give_back: Callable[[Token], None],
    ) -> None:
        self._life = copier.driver.life
        self._copier = copier
        self._decoder = decoder
        self._naming = naming
        self._give_back = give_back
        self._copying = CopiesUnderWay(self._life.thread)
        letters: DeadLetters[Token] = DeadLetters(interest, queue or None, None, lambda: self._life.broker, self)
        self.reject = letters.reject
        self.expire = letters.expire

    def when_idle(self, task: Callable[[], None]) -> None:
        """Call this when no copy is under way."""
        self._copying.when_idle(task, min(_PATIENCE, self._life.endpoint.close_timeout / 2))

    def read(self, token: Token) -> tuple[Envelope, int]:
        """Headers and properties of a message, and its delivery count."""
        return self._decoder.decode(token.data).envelope, token.count

    def copy_letter(
        self, queue: str, token: Token, notes: dict[str, Any], done: Callable[[BackendError | None], None]
    ) -> None:
        """Send the copy."""
        address = Address(queue)
        ticket = self._copying.begin(token, done)
        self._copier.send(address, copy_for(token.data, address, notes, self._naming), ticket)

    def settle_original(self, token: Token, error: BackendError | None, pause: float) -> BackendError | None:
        """Accept the original; after an error return it in ``pause`` seconds, or when the consumer is closed."""
        if error is not None:
            self._life.thread.call_later(pause, lambda: self._give_back(token))
        elif not token.receiver.dispose(token.number, states.ACCEPTED):
            return ChannelLost("the consumer is closed", in_doubt=True)
        return error
