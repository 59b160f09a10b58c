"""Link, channel and subscription: the verbs of the SPI over the broker."""

from collections.abc import Sequence
from typing import Any

from jmsbridge.spi import (
    Address,
    ChannelLost,
    Envelope,
    Inbox,
    Interest,
    LinkEvents,
    LinkLost,
    Mode,
    Native,
    NotSupported,
    Outcome,
    SendRefused,
    Ticket,
)
from jmsbridge.transport.tickets import Answer

from .broker import Broker, Entry

__all__ = ["Channel", "Link", "Subscription"]


class Link:
    """One life of a connection. There is no network, so calls are answered before they return."""

    broker = "Acme 1.0"

    def __init__(self, broker: Broker, native: Native, events: LinkEvents) -> None:
        self.native = native
        self.home = broker
        self.open_channels: list[Channel] = []
        self.events = events
        self._dead: str | None = None
        with broker.lock:
            broker.links.append(self)

    def channel(self, transacted: bool) -> "Channel":
        self.check()
        if transacted:
            raise NotSupported("Acme has no transactions")
        channel = Channel(self)
        with self.home.lock:
            self.open_channels.append(channel)
        return channel

    def declare(self, address: Address) -> Address:
        self.check()
        raise NotSupported("Acme has no temporary destinations")

    def delete(self, address: Address) -> None:
        self.check()
        raise NotSupported("Acme has no temporary destinations")

    def unsubscribe(self, key: str, address: Address | None) -> None:
        self.check()
        raise NotSupported("Acme has no durable subscriptions")

    def close(self) -> None:
        self._end("the link was closed")

    def die(self, reason: str) -> None:
        """End like a broken connection, and report it; once."""
        if self._end(reason):
            self.events.lost(LinkLost(reason))

    def _end(self, reason: str) -> bool:
        with self.home.lock:
            if self._dead is not None:
                return False
            self._dead = reason
            self.home.links.remove(self)
            for channel in list(self.open_channels):
                channel.close()
            return True

    def check(self) -> None:
        """Promise 7: after the link is lost every verb fails at once."""
        if self._dead is not None:
            raise LinkLost(self._dead)


class Channel:
    """An order of sends."""

    def __init__(self, link: Link) -> None:
        self.link = link
        self.subscriptions: list[Subscription] = []
        self._dead: str | None = None

    def send(self, envelope: Envelope, ticket: Ticket | None) -> None:
        with self.link.home.lock, Answer(ticket):
            self.check()
            if not envelope.address.name:
                raise SendRefused("a destination needs a name")
            self.link.home.send(envelope)

    def subscribe(self, interest: Interest, inbox: Inbox) -> "Subscription":
        unsupported = {
            "durable subscriptions": interest.durable,
            "shared subscriptions": interest.shared,
            "browsing": interest.mode is Mode.BROWSE,
            "no_local": interest.no_local,
        }
        with self.link.home.lock:
            self.check()
            for feature, wanted in unsupported.items():
                if wanted:
                    raise NotSupported(f"Acme has no {feature}")
            subscription = Subscription(self, interest, inbox)
            self.subscriptions.append(subscription)
            return subscription

    def commit(self, ticket: Ticket) -> None:
        ticket.fail(NotSupported("Acme has no transactions"))

    def rollback(self, ticket: Ticket) -> None:
        ticket.fail(NotSupported("Acme has no transactions"))

    def die(self, reason: str) -> None:
        """End alone, as where the broker closes a channel for a mistake, and say so; once."""
        with self.link.home.lock:
            if self._dead is not None:
                return
            self._dead = reason
            self.close()
        self.link.events.channel_lost(self, ChannelLost(reason))

    def check(self) -> None:
        """Promise 7, for a channel."""
        self.link.check()
        if self._dead is not None:
            raise ChannelLost(self._dead)

    def close(self) -> None:
        with self.link.home.lock:
            for subscription in list(self.subscriptions):
                subscription.close()
            if self in self.link.open_channels:
                self.link.open_channels.remove(self)


class Subscription:
    """A flow of arrivals, as much as ``credit`` allows."""

    def __init__(self, channel: Channel, interest: Interest, inbox: Inbox) -> None:
        self.native = channel.link.native
        self.inbox = inbox
        self.credit = 0
        self.presettled = interest.presettled
        self.unsettled: dict[Entry, None] = {}
        self._channel = channel
        self._address = interest.address
        self._broker = channel.link.home
        self.store = self._broker.attach(interest.address, self)

    def grant(self, count: int) -> None:
        with self._broker.lock:
            self._channel.check()
            self.credit += count
            self.store.dispatch()

    def settle(self, tokens: Sequence[Any], outcome: Outcome, ticket: Ticket | None = None, failures: int = 1) -> None:
        with self._broker.lock, Answer(ticket):
            self._channel.check()
            if outcome is Outcome.REJECTED:
                raise NotSupported("Acme has no dead-letter queue")
            self.store.settle(self, list(tokens), outcome)

    def drain(self, ticket: Ticket) -> None:
        with self._broker.lock, Answer(ticket):
            self._channel.check()
            self.credit = 0

    def close(self) -> None:
        with self._broker.lock:
            if self in self._channel.subscriptions:
                self._channel.subscriptions.remove(self)
                self.credit = 0
                self._broker.detach(self._address, self)
