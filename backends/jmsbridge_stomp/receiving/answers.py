"""One ticket for several acknowledgements. For the I/O thread."""

from jmsbridge.spi import BackendError, Ticket
from jmsbridge_stomp.connection.errors import Refusal, answer_of

__all__ = ["Answers"]


class Answers:
    """Answers a ticket when so many receipts have come."""

    def __init__(self, ticket: Ticket, count: int, broker: str) -> None:
        self._ticket = ticket
        self._left = count
        self._broker = broker
        self._error: BackendError | None = None
        if not count:
            ticket.succeed()

    def __call__(self, error: Refusal | BackendError | None) -> None:
        """Take one answer."""
        self._error = self._error or answer_of(error, "an acknowledgement", self._broker, BackendError)
        self._left -= 1
        if self._left:
            return
        if self._error is None:
            self._ticket.succeed()
        else:
            self._ticket.fail(self._error)
