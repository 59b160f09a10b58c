"""The open subscriptions of one link."""

from collections.abc import Callable

from jmsbridge.spi import Address, AddressRefused, BackendError, Inbox, Interest, LinkEvents, Mode, Native, NotSupported
from jmsbridge.transport.network.link_life import after_all
from jmsbridge_rabbitmq.connection.options import RabbitOptions
from jmsbridge_rabbitmq.connection.pair import ConnectionPair
from jmsbridge_rabbitmq.consuming.sources import Sources
from jmsbridge_rabbitmq.consuming.subscription import LinkFacts, Subscription
from jmsbridge_rabbitmq.publishing.publisher import Publisher

__all__ = ["Subscriptions"]

_TRIES = 50  # for a shared subscription that other consumers end and create again


class Subscriptions:
    """Creates the subscriptions of a link. ``copier`` sends copies of received messages.

    ``subscribe``, ``consumes`` and ``holds`` from any thread, the rest on the I/O thread.
    """

    def __init__(
        self,
        pair: ConnectionPair,
        sources: Sources,
        copier: Publisher,
        options: RabbitOptions,
        native: Native,
        stamp: str,
        events: LinkEvents,
    ) -> None:
        self.open: set[Subscription] = set()
        self._pair = pair
        self._sources = sources
        self._copier = copier
        self._selects = options.topic_selectors == "broker"
        self._facts = LinkFacts(native, options, stamp, events, self.open.discard)
        pair.life.when_lost.append(self._end)
        pair.when_blocked.append(self._blocked)

    def subscribe(self, interest: Interest, inbox: Inbox, lose: Callable[[BackendError], None]) -> Subscription:
        """Start a subscription with zero credit; ``lose`` is called if its AMQP channel is lost."""
        self._refuse(interest)
        tries = _TRIES if interest.shared and not interest.durable else 1
        while True:
            tries -= 1
            try:
                return self._subscribe(interest, inbox, lose)
            except AddressRefused:  # its last consumer has just ended it
                if not tries:
                    raise

    def _refuse(self, interest: Interest) -> None:
        broker = self._pair.life.broker
        if interest.mode is Mode.BROWSE:
            raise NotSupported(f"{broker} cannot browse a queue over AMQP 0-9-1")
        if interest.selector is not None and interest.select and not (interest.address.topic and self._selects):
            raise NotSupported(f"{broker} does not evaluate selectors for {interest.address}")

    def _subscribe(self, interest: Interest, inbox: Inbox, lose: Callable[[BackendError], None]) -> Subscription:
        source = self._sources.find(interest)
        made = Subscription(self._pair, self._sources, self._copier, self._facts, interest, inbox, source, lose)
        self.open.add(made)
        try:
            what = f"consuming {interest.address}"
            self._pair.life.wait(lambda done: made.open(lambda error: done(None, error)), what)
        except BackendError:
            self.open.discard(made)
            self._pair.thread.post(lambda: self._sources.leave(source))
            raise
        return made

    def consumes(self, address: Address) -> bool:
        """Whether a subscription that is not retired consumes this destination."""
        return any(each.consumes(address) for each in list(self.open))

    def holds(self, queue: str) -> bool:
        """Whether a retired subscription holds unsettled messages of a queue."""
        return any(each.holds(queue) for each in list(self.open))

    def finish_limited(self, done: Callable[[], None]) -> None:
        """Close the subscriptions of queues with a delivery limit; messages near the limit are copied first."""
        after_all([each.finish for each in self.open if each.is_limited], done)

    def _end(self) -> None:
        for each in list(self.open):
            each.end()

    def _blocked(self, active: bool) -> None:
        for each in list(self.open) if active else ():
            each.on_blocked()
