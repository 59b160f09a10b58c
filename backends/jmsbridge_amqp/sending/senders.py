"""The sending links of one channel: one for all addresses, or one for each if the broker has no anonymous relay.

For the I/O thread.
"""

from collections.abc import Callable, Collection

from jmsbridge.spi import Address, BackendError
from jmsbridge_amqp.connection.driver import Driver
from jmsbridge_amqp.connection.link_group import LinkGroup
from jmsbridge_amqp.connection.terminus import capability
from jmsbridge_amqp.messages.naming import Naming
from jmsbridge_amqp.nodes.nodes import Nodes
from jmsbridge_amqp.sending.outgoing import Outgoing
from jmsbridge_amqp.sending.sender import Sender

__all__ = ["Senders"]


_LINKS = 64
"""So many links are kept when each address needs one: fewer than any broker allows (RabbitMQ 256 in a session), and
enough that a program with a fixed set of destinations attaches each only once."""


class Senders:
    """``relay`` says that one link can send to any address, because each message names its own.

    ``begin`` begins the session, or returns it if it has begun; ``nodes`` forgets the queues of refused messages.
    """

    def __init__(
        self, driver: Driver, begin: Callable[[], LinkGroup], naming: Naming, nodes: Nodes | None, *, relay: bool
    ) -> None:
        self._driver = driver
        self._begin = begin
        self._naming = naming
        self._nodes = nodes
        self._relay = self._new_relay() if relay else None
        self._retired: list[Sender] = []
        self._each: dict[Address, Sender] = {}

    def _new_relay(self) -> Sender:
        return Sender(self._driver, self._begin, None, None, self._nodes, self._replace)

    def _replace(self, relay: Sender) -> None:
        """An address is full: Artemis gives this link no more credit before there is room, for no other address."""
        if relay is not self._relay:
            return
        self._relay = self._new_relay()
        self._retired = [each for each in self._retired if not each.is_idle]
        self._retired.append(relay)
        for outgoing in relay.retire():
            self._relay.push(outgoing)

    def push(self, outgoing: Outgoing) -> None:
        """Write this message, after those before it to the same address."""
        if self._relay is not None:
            self._relay.push(outgoing)
            return
        address = outgoing.address
        sender = self._each.pop(address, None)
        if sender is None:
            self._make_room()
            sender = Sender(self._driver, self._begin, self._naming.text(address), capability(address), self._nodes)
        self._each[address] = sender  # in the order of their last use
        sender.push(outgoing)

    def _make_room(self) -> None:
        """Close the idle link that was used least recently, if there are many."""
        for address, sender in self._each.items() if len(self._each) >= _LINKS else ():
            if sender.is_idle:
                del self._each[address]
                sender.close()
                return

    def _all(self) -> list[Sender]:
        return [*self._each.values()] if self._relay is None else [*self._retired, self._relay]

    def when_idle(self, task: Callable[[], None]) -> None:
        """Call this once every message was written and answered."""
        busy = [each for each in self._all() if not each.is_idle]
        if not busy:
            task()
        else:
            busy[0].when_idle(lambda: self.when_idle(task))

    def cancel(self, tickets: Collection[int]) -> None:
        """Drop the waiting messages whose tickets have these ``id``s."""
        for sender in self._all():
            sender.cancel(tickets)

    def drop(self, unit: object) -> None:
        """Forget the waiting messages of a transaction."""
        for sender in self._all():
            sender.drop(unit)

    def end(self, early: BackendError, doubt: Callable[[int], BackendError]) -> None:
        """Answer everything: the channel or the link is lost."""
        for sender in self._all():
            sender.end(early, doubt)
