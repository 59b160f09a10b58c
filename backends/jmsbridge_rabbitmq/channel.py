"""One session's channel: a publisher and its subscriptions.

Each uses its own AMQP channel. When the broker closes the AMQP channel of a consumer because of an error, the whole SPI
channel ends, because the messages that its session consumed belong together.
"""

from collections.abc import Callable, Sequence
from functools import partial

from jmsbridge.spi import BackendError, ChannelLost, Envelope, Inbox, Interest, LinkEvents, NotSupported, Ticket
from jmsbridge.transport.network.link_life import Done, LinkLife, after_all
from jmsbridge_rabbitmq.consuming.subscription import Subscription
from jmsbridge_rabbitmq.consuming.subscriptions import Subscriptions
from jmsbridge_rabbitmq.publishing.publishers import Publishers

__all__ = ["Channel"]


class Channel:
    """The SPI's Channel."""

    def __init__(
        self, life: LinkLife, publishers: Publishers, subscriptions: Subscriptions, events: LinkEvents
    ) -> None:
        self._life = life
        self._events = events
        self._publishers = publishers
        self._publisher = publishers.make()
        self._subscriptions = subscriptions
        self._mine: list[Subscription] = []
        self._closed = False
        self._lost: BackendError | None = None

    def send(self, envelope: Envelope, ticket: Ticket | None) -> None:
        """Send one message."""
        if self._lost is not None and ticket is None:
            raise ChannelLost(str(self._lost))
        self._publisher.send(envelope, ticket)

    def subscribe(self, interest: Interest, inbox: Inbox) -> Subscription:
        """Find or create the source, and start a subscription with zero credit."""
        self._check()
        made = self._subscriptions.subscribe(interest, inbox, self._lose)
        self._mine = [*(each for each in self._mine if not each.is_closed), made]
        try:
            self._check()  # after adding it: a later loss will end it
        except ChannelLost:
            made.close()
            raise
        return made

    def _check(self) -> None:
        self._life.check()
        if self._lost is not None:
            raise ChannelLost(str(self._lost))

    def cancel(self, tickets: Sequence[Ticket]) -> None:
        """Cancel sends that wait for the end of an alarm, or for the creation of a queue."""

        def cancel(done: Done) -> None:
            self._publisher.cancel(tickets)
            done(None, None)

        self._life.wait(cancel, "cancelling sends")

    def commit(self, ticket: Ticket) -> None:
        """Not supported: transactions of AMQP 0-9-1 are not atomic."""
        ticket.fail(self._no_transactions())

    def rollback(self, ticket: Ticket) -> None:
        """Not supported."""
        ticket.fail(self._no_transactions())

    def _no_transactions(self) -> BackendError:
        return NotSupported(f"{self._life.broker} has no atomic transactions")

    def _lose(self, error: BackendError) -> None:
        """The broker closed a consumer's AMQP channel: end the others and the publisher, then report it. I/O thread."""
        if self._lost is not None or self._closed:
            return
        self._lost = error
        ends: list[Callable[[Done], None]] = [partial(each.give_up, error) for each in self._mine]
        after_all([*ends, self._close_publisher], lambda: self._events.channel_lost(self, error))

    def close(self) -> None:
        """Close the publisher and the subscriptions; unsettled messages return to the broker."""
        if self._closed:
            return
        for subscription in self._mine:
            subscription.close()
        self._life.wait_closing(self._close_publisher, "closing a channel")
        self._closed = True  # last, so that an interrupted close can be repeated

    def _close_publisher(self, done: Done) -> None:
        def closed() -> None:
            self._publishers.open.discard(self._publisher)  # it has answered all tickets
            done(None, None)

        self._publisher.close(closed)
