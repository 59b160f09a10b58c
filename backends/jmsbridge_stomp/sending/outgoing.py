"""One message on its way to the broker."""

from jmsbridge.spi import BackendError, Ticket

__all__ = ["Outgoing"]


class Outgoing:
    """An encoded message and the ticket of its send."""

    __slots__ = ("data", "ticket", "what")

    def __init__(self, what: str, data: bytes, ticket: Ticket | None) -> None:
        self.what = what
        self.data = data
        self.ticket = ticket

    def fail(self, error: BackendError) -> None:
        """The broker does not have it, or it is in doubt."""
        if self.ticket is not None:
            self.ticket.fail(error)
