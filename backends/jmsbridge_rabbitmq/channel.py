"""One session's ordering domain: a publisher and its subscriptions."""

from jmsbridge.spi import BackendError, Envelope, Inbox, Interest, NotSupported, Ticket
from jmsbridge.transport.link_life import Done, LinkLife
from jmsbridge_rabbitmq.consuming.subscription import Subscription
from jmsbridge_rabbitmq.consuming.subscriptions import Subscriptions
from jmsbridge_rabbitmq.publishing.publishers import Publishers

__all__ = ["Channel"]


class Channel:
    """The SPI's Channel."""

    def __init__(self, life: LinkLife, publishers: Publishers, subscriptions: Subscriptions) -> None:
        self._life = life
        self._publishers = publishers
        self._publisher = publishers.make()
        self._subscriptions = subscriptions
        self._mine: list[Subscription] = []
        self._closed = False

    def send(self, envelope: Envelope, ticket: Ticket | None) -> None:
        """Send one message."""
        self._publisher.send(envelope, ticket)

    def subscribe(self, interest: Interest, inbox: Inbox) -> Subscription:
        """Find or make what is consumed, and a consumer with zero credit."""
        made = self._subscriptions.subscribe(interest, inbox)
        self._mine = [*(each for each in self._mine if not each.is_closed), made]
        return made

    def commit(self, ticket: Ticket) -> None:
        """Not on this broker: what AMQP 0-9-1 calls a transaction is not atomic."""
        ticket.fail(self._no_transactions())

    def rollback(self, ticket: Ticket) -> None:
        """Not on this broker."""
        ticket.fail(self._no_transactions())

    def _no_transactions(self) -> BackendError:
        return NotSupported(f"{self._life.broker} has no atomic transactions")

    def close(self) -> None:
        """Close everything of it; what is unsettled goes back."""
        if self._closed:
            return
        for subscription in self._mine:
            subscription.close()
        self._life.wait_closing(self._close_publisher, "closing a channel")
        self._closed = True  # last, so that an interrupted close can be repeated

    def _close_publisher(self, done: Done) -> None:
        def closed() -> None:
            self._publishers.open.discard(self._publisher)  # which has answered everything
            done(None, None)

        self._publisher.close(closed)
