"""Sends copies of received messages, over a session of its own. For the I/O thread."""

from jmsbridge.spi import Address, BackendError, ChannelLost, Ticket
from jmsbridge.transport.deliveries.copies import TimedTicket
from jmsbridge_amqp.connection.driver import Driver
from jmsbridge_amqp.connection.errors import Failure
from jmsbridge_amqp.connection.link_group import LinkGroup
from jmsbridge_amqp.messages.wire import Naming
from jmsbridge_amqp.nodes.nodes import Nodes
from jmsbridge_amqp.sending.outgoing import Outgoing
from jmsbridge_amqp.sending.senders import Senders

__all__ = ["Copier"]


class Copier:
    """One per link; its session begins with the first copy."""

    def __init__(self, driver: Driver, naming: Naming, nodes: Nodes | None) -> None:
        self.driver = driver
        self.relay = False
        """Whether one link can send to any address, because each message names its own."""
        self._naming = naming
        self._nodes = nodes
        self._senders: Senders | None = None
        driver.life.when_lost.append(self._lost)

    def send(self, address: Address, data: bytes, ticket: Ticket) -> None:
        """Send a message; without an answer within ``DEADLINE`` the ticket fails, and what was not written is dropped.

        An answer that comes later is ignored.
        """
        is_pushed = False

        def is_in_doubt() -> bool:
            if self._senders is not None:
                self._senders.cancel((id(copy),))
            return is_pushed

        copy = TimedTicket(self.driver.life, ticket, str(address), is_in_doubt)

        def ensured(_: object, error: BackendError | None) -> None:
            nonlocal is_pushed
            if copy.is_answered:
                return  # the original is returned: its copy must not be sent, too
            if error is None:
                is_pushed = True
                self._push(Outgoing(address, data, copy))
            else:
                copy.fail(error)

        if self._nodes is None:
            ensured(None, None)
        else:
            self._nodes.ensure(address, ensured)

    def _push(self, outgoing: Outgoing) -> None:
        if self._senders is None:
            session = LinkGroup(self.driver, self._ended)
            self._senders = Senders(self.driver, lambda: session, self._naming, self._nodes, relay=self.relay)
        self._senders.push(outgoing)

    def _ended(self, failure: Failure) -> None:
        senders, self._senders = self._senders, None
        if senders is not None:
            lost = ChannelLost(f"{self.driver.life.broker} ended the session ({failure})", in_doubt=True)
            senders.end(lost, lambda _: lost)

    def _lost(self) -> None:
        if self._senders is not None:
            self._senders.end(self.driver.life.lost(), self.driver.doubt)
