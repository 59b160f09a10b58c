"""Dead letters of one subscription: a confirmed copy to another queue, then the acceptance of the original."""

from collections.abc import Callable
from typing import Any

from jmsbridge.spi import Address, BackendError, Envelope, Interest
from jmsbridge.transport.deliveries.dead_letters import CopiedDeadLetters
from jmsbridge_amqp.connection import states
from jmsbridge_amqp.messages.wire import Decoder, Naming, copy_for
from jmsbridge_amqp.receiving.token import Token
from jmsbridge_amqp.sending.copier import Copier

__all__ = ["SubscriptionDeadLetters"]


class SubscriptionDeadLetters(CopiedDeadLetters[Token]):
    """For the I/O thread."""

    def __init__(
        self,
        copier: Copier,
        interest: Interest,
        decoder: Decoder,
        naming: Naming,
        queue: str,
        return_original: Callable[[Token], None],
    ) -> None:
        super().__init__(copier.driver.life, interest, queue, _accept, return_original)
        self._copier = copier
        self._decoder = decoder
        self._naming = naming

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


def _accept(token: Token) -> bool:
    return token.receiver.dispose(token.number, states.ACCEPTED)
