"""A channel's queue of work for the I/O thread: sends, settlements and all other verbs, in call order."""

from collections.abc import Callable
from typing import Protocol

from jmsbridge.spi import BackendError, Ticket
from jmsbridge_amqp.sending.outgoing import Outgoing
from jmsbridge_amqp.transactions.transaction import Transaction

__all__ = ["Command", "Sink", "Work"]


class Command:
    """A verb to run, and its ticket."""

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


class Sink(Protocol):
    """What a subscription needs of its channel."""

    transaction: Transaction | None

    def check(self) -> None:
        """Raise if the channel is lost; any thread."""

    def put(self, ticket: Ticket | None, run: Callable[[], None]) -> None:
        """Run this on the I/O thread, after the channel's earlier verbs; any thread."""

    def lose(self, error: BackendError) -> None:
        """Give the channel up; I/O thread."""
