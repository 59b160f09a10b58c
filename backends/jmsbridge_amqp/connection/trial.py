"""Attaches a link only to learn whether the broker takes it, over a session of its own. For the I/O thread.

Some brokers answer by ending the session, which would end its other links, too.
"""

from collections.abc import Callable
from typing import Any

from jmsbridge.transport.network.link_life import ignored
from jmsbridge_amqp.connection.amqp_link import AmqpLink, Attached
from jmsbridge_amqp.connection.driver import Driver
from jmsbridge_amqp.connection.link_group import LinkGroup

__all__ = ["try_link"]


class _Deaf:
    """Listens to a link that gets no messages."""

    def on_delivery(self, delivery: object) -> None:
        """There are none."""

    def on_flow(self) -> None:
        """Does not matter."""


def try_link(driver: Driver, make: Callable[[Any], Any], done: Attached) -> None:
    """Attach the receiver that ``make`` makes of proton's session, and close it; ``done`` gets the refusal, or None."""
    session = LinkGroup(driver, ignored)
    link = AmqpLink(session, make(session.proton), _Deaf(), ignored)
    link.attach(lambda failure: session.detach_and_end(lambda: done(failure)))
