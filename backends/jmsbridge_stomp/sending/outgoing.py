"""One message on its way to the broker."""

from jmsbridge.spi import Address, BackendError, Ticket

__all__ = ["Outgoing"]


class Outgoing:
    """An encoded message and the ticket of its send."""

    __slots__ = ("address", "data", "ticket")

    def __init__(self, address: Address, data: bytes, ticket: Ticket | None) -> None:
        self.address = address
        self.data = data
        self.ticket = ticket

    @property
    def what(self) -> str:
        """What it is, for errors."""
        return f"a message to {self.address}"

    def fail(self, error: BackendError) -> None:
        """The broker does not have it, or it is in doubt."""
        if self.ticket is not None:
            self.ticket.fail(error)
