"""One message on its way to a producer."""

from typing import Any

from jmsbridge.spi import BackendError, Ticket

__all__ = ["Outgoing"]


class Outgoing:
    """``message`` is built for the client library, ``size`` at least its bytes; ``alone`` if it joins no batch."""

    __slots__ = ("address", "alone", "message", "size", "ticket")

    def __init__(self, address: Any, message: Any, size: int, alone: bool, ticket: Ticket | None) -> None:
        self.address = address
        self.message = message
        self.size = size
        self.alone = alone
        self.ticket = ticket

    def fail(self, error: BackendError) -> None:
        """It was not sent, or is in doubt."""
        if self.ticket is not None:
            self.ticket.fail(error)
