"""One message on its way to the broker."""

from typing import Protocol

from jmsbridge.spi import Address, BackendError, Ticket

__all__ = ["Outgoing", "Unit"]


class Unit(Protocol):
    """The transaction of a send, as far as a sender knows it."""

    @property
    def txn(self) -> bytes | None:
        """Its id at the broker."""

    def answered(self, error: BackendError | None) -> None:
        """One of its sends was accepted, or refused."""


class Outgoing:
    """An encoded message and the ticket of its send. ``unit`` is its transaction, if it has one.

    ``drops`` says that the broker releases the message if nobody subscribes to its topic.
    """

    __slots__ = ("address", "begins", "data", "drops", "ticket", "unit")

    def __init__(self, address: Address, data: bytes, ticket: Ticket | None, *, drops: bool = False) -> None:
        self.address = address
        self.data = data
        self.ticket = ticket
        self.drops = drops
        self.unit: Unit | None = None
        self.begins = 0
        """How many bytes proton had produced before this message."""

    def written(self) -> None:
        """It was written. In a transaction its ticket is answered now, because the commit will confirm the message."""
        ticket = self.ticket
        if self.unit is not None and ticket is not None:
            self.ticket = None
            ticket.succeed()

    def succeed(self) -> None:
        """The broker has it."""
        if self.unit is not None:
            self.unit.answered(None)
        elif self.ticket is not None:
            self.ticket.succeed()

    def fail(self, error: BackendError) -> None:
        """The broker does not have it, or it is in doubt."""
        if self.unit is not None:
            self.unit.answered(error)
        if self.ticket is not None:
            self.ticket.fail(error)

    def cancel(self, error: BackendError) -> None:
        """It was cancelled, which is no failure of its transaction."""
        if self.unit is not None:
            self.unit.answered(None)
        if self.ticket is not None:
            self.ticket.fail(error)
