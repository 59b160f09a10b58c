"""What waits in a channel's queue for the I/O thread: sends, and the ends of transactions, in call order."""

from collections.abc import Callable

from jmsbridge.spi import BackendError, Ticket

__all__ = ["Command", "Outgoing", "Work"]


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


class Command:
    """A verb to run, and its ticket, if the caller waits for it."""

    __slots__ = ("run", "ticket")

    def __init__(self, ticket: Ticket | None, run: Callable[[], None]) -> None:
        self.ticket = ticket
        self.run = run

    def fail(self, error: BackendError) -> None:
        """It cannot be run any more."""
        if self.ticket is not None:
            self.ticket.fail(error)


Work = Outgoing | Command
"""What waits in the queue."""
