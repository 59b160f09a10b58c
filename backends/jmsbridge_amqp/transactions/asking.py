"""Asks a broker whether it has transactions: if not, it refuses the link to its coordinator.

Over a session of its own, because some brokers refuse a link by ending its session. For the I/O thread.
"""

from collections.abc import Callable

from jmsbridge.transport.network.link_life import ignored
from jmsbridge_amqp.connection.driver import Driver
from jmsbridge_amqp.connection.link_group import LinkGroup
from jmsbridge_amqp.transactions.coordinator import Coordinator

__all__ = ["ask_for_transactions"]


def ask_for_transactions(driver: Driver, done: Callable[[bool], None]) -> None:
    """``done`` gets the answer."""
    session = LinkGroup(driver, ignored)
    coordinator = Coordinator(driver, session, ignored)
    coordinator.attach(lambda failure: session.detach_and_end(lambda: done(failure is None)))
