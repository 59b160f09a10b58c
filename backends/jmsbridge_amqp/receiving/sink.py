"""What a subscription needs of its channel, whose verbs wait in one queue."""

from collections.abc import Callable
from typing import Protocol

from jmsbridge.spi import BackendError, Ticket
from jmsbridge_amqp.transactions.transaction import Transaction

__all__ = ["Sink"]


class Sink(Protocol):
    """What a subscription needs of its channel."""

    transaction: Transaction | None

    def check(self) -> None:
        """Raise if the channel is lost; any thread."""

    def put(self, ticket: Ticket | None, run: Callable[[], None]) -> None:
        """Run this on the I/O thread, after the channel's earlier verbs; any thread."""

    def lose(self, error: BackendError) -> None:
        """Give the channel up; I/O thread."""
