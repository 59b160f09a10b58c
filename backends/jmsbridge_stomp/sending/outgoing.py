"""One message on its way to the broker."""

from typing import Protocol

from jmsbridge.spi import Address, BackendError, Ticket
from jmsbridge_stomp.connection.errors import Refusal

__all__ = ["Outgoing"]


class _Writer(Protocol):
    def answered(self, outgoing: "Outgoing", answer: Refusal | BackendError | None) -> None:
        """The broker has answered this message; see ``Answered``."""


class Outgoing:
    """An encoded message and the ticket of its send; called with its answer, which ``writer`` gets."""

    __slots__ = ("address", "data", "ticket", "writer")

    def __init__(self, address: Address, data: bytes, ticket: Ticket | None) -> None:
        self.address = address
        self.data = data
        self.ticket = ticket
        self.writer: _Writer | None = None
        """Set when it is written."""

    def __call__(self, answer: Refusal | BackendError | None) -> None:
        """See ``Answered``. It is called itself, since a callable made for each message costs 1 us."""
        assert self.writer is not None
        self.writer.answered(self, answer)

    @property
    def what(self) -> str:
        """What it is, for errors."""
        return f"a message to {self.address}"

    def fail(self, error: BackendError) -> None:
        """The broker does not have it, or it is in doubt."""
        if self.ticket is not None:
            self.ticket.fail(error)
