"""One message on its way to a producer."""

from typing import Any

from jmsbridge.spi import BackendError, Ticket
from jmsbridge_pulsar.messages.encoding import Outgoing as Encoded

__all__ = ["Outgoing"]


class Outgoing:
    """``encoded`` is the message, ``data`` its bytes in an entry, if it is written by us.

    ``alone`` if it shares its entry with no other.
    """

    __slots__ = ("address", "alone", "data", "encoded", "ticket")

    def __init__(self, address: Any, encoded: Encoded, data: bytes, alone: bool, ticket: Ticket | None) -> None:
        self.address = address
        self.encoded = encoded
        self.data = data
        self.alone = alone
        self.ticket = ticket

    def fail(self, error: BackendError) -> None:
        """It was not sent, or is in doubt."""
        if self.ticket is not None:
            self.ticket.fail(error)
