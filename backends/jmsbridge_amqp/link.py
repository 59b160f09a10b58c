"""The SPI's Link: one AMQP connection."""

import itertools
import time
from collections.abc import Callable

import msgspec

from jmsbridge.spi import (
    Address,
    BackendError,
    ConnectFailed,
    Endpoint,
    LinkEvents,
    LinkLost,
    Native,
    NotSupported,
    SubscriptionRefused,
    SubscriptionUnknown,
)
from jmsbridge.spi import Channel as SpiChannel
from jmsbridge.transport.network.diagnosis import CLOSE_FIRST
from jmsbridge.transport.network.link_life import Done, after_all
from jmsbridge_amqp.administration.admin import AmqpAdmin
from jmsbridge_amqp.channel import Channel
from jmsbridge_amqp.connection.capabilities import ANONYMOUS_RELAY, native_of
from jmsbridge_amqp.connection.driver import Driver
from jmsbridge_amqp.connection.errors import connect_error
from jmsbridge_amqp.connection.opening import Facts, Redirected, open_connection
from jmsbridge_amqp.connection.options import AmqpOptions
from jmsbridge_amqp.facts import LinkFacts
from jmsbridge_amqp.messages.wire import Encoder, Naming
from jmsbridge_amqp.nodes.nodes import Nodes
from jmsbridge_amqp.receiving.asking import NoEvents, OtherLink
from jmsbridge_amqp.receiving.subscription_names import SubscriptionNames, first_name
from jmsbridge_amqp.receiving.unsubscribing import unsubscribe, unsubscribe_by_queue
from jmsbridge_amqp.sending.copier import Copier
from jmsbridge_amqp.sending.group_channel import GroupChannel
from jmsbridge_amqp.transactions.asking import ask_for_transactions

__all__ = ["Link", "open_link"]

_REDIRECTS = 3
_TRANSACTIONS = Native.TRANSACTIONS | Native.SEND_TRANSACTIONS
_numbers = itertools.count(1)


def open_link(endpoint: Endpoint, options: AmqpOptions, events: LinkEvents, *, asks: bool = False) -> "Link":
    """Connect and authenticate, following a few redirects. ``asks`` says that the link belongs to another one."""
    asked, deadline = endpoint, time.monotonic() + endpoint.connect_timeout
    for _ in range(_REDIRECTS + 1):
        link = Link(endpoint, options, events, asks=asks)
        try:
            link.connect(deadline)
            return link
        except _Elsewhere as elsewhere:
            there = elsewhere.there
            endpoint = msgspec.structs.replace(endpoint, host=there.host, port=there.port or endpoint.port)
            if there.virtual_host:
                options = msgspec.structs.replace(options, virtual_host=there.virtual_host)
    raise ConnectFailed(
        f"{asked}: redirected {_REDIRECTS + 1} times, the last time to {endpoint}; connect to it directly"
    )


class _Elsewhere(BackendError):
    """The broker redirects to another address."""

    def __init__(self, there: Redirected) -> None:
        super().__init__(f"redirected to {there}")
        self.there = there


class Link(AmqpAdmin):
    """Its methods are for any thread."""

    def __init__(self, endpoint: Endpoint, options: AmqpOptions, events: LinkEvents, *, asks: bool = False) -> None:
        self.native: Native = Native.NONE
        self.broker = "the broker"
        self.group_channels = 1
        self.endpoint = endpoint
        self._options = options
        self._events = events
        self._asks = asks
        self._driver = Driver(f"jmsbridge-amqp-{next(_numbers)}-io", endpoint, events)
        self._life = self._driver.life
        self._life.when_lost.append(self._answer_all)
        self._channels: set[Channel] = set()
        self._group_channels: set[GroupChannel] = set()

    # -- opening

    def connect(self, deadline: float) -> None:
        """Connect, until this ``time.monotonic()``; if that fails, close the socket at once."""
        self._life.open(lambda done: self._connect(deadline, done), deadline)

    def _connect(self, deadline: float, done: Done) -> None:
        def learned(facts: Facts, transactions: bool) -> None:
            if self._driver.opening is None or self._life.is_over:
                return  # the connection broke while the broker was asked
            self._driver.opening = None
            self._learn(facts, _TRANSACTIONS if transactions else Native.NONE)
            done(None, None)

        def opened(facts: Facts | None, error: BaseException | None) -> None:
            if facts is not None:
                self._driver.rest = facts.product.rest
                self._driver.rests = facts.product.group_channels > 1
            if facts is not None and Native.TRANSACTIONS not in facts.product.native:
                ask_for_transactions(self._driver, lambda there: learned(facts, there))
                return
            if facts is not None:
                learned(facts, True)
                return
            self._driver.opening = None
            assert error is not None
            if isinstance(error, Redirected):
                made: BackendError = _Elsewhere(error)
            else:
                made = error if isinstance(error, BackendError) else connect_error(error, self.endpoint)
            self._driver.abandon(lambda: self._life.refuse(made, done))

        open_connection(self._driver, self.endpoint, self._options, deadline, opened)

    def _learn(self, facts: Facts, found: Native) -> None:
        product = facts.product
        chosen = self._options.dead_letter_queue
        dead_letters = product.dead_letters if chosen is None else chosen
        self.broker = self._life.broker = facts.name
        self.group_channels = product.group_channels
        self.dead_letters = Address(dead_letters) if dead_letters else None
        self.native = found | native_of(product, facts.offered, dead_letters)
        options = self._options
        naming = Naming(
            product.queue_prefix if options.queue_prefix is None else options.queue_prefix,
            product.topic_prefix if options.topic_prefix is None else options.topic_prefix,
            product.needs_nodes,
        )
        nodes = Nodes(self._driver) if product.needs_nodes else None
        copier = Copier(self._driver, naming, nodes)
        copier.relay = ANONYMOUS_RELAY in facts.offered
        self._facts = LinkFacts(
            driver=self._driver,
            product=product,
            native=self.native,
            naming=naming,
            encoder=Encoder(naming, None, Native.DUPLICATE_DETECTION in self.native, product.needs_nodes),
            names=SubscriptionNames(self.endpoint.client_id, product.shared_pause),
            copier=copier,
            nodes=nodes,
            dead_letters=dead_letters,
            relay=copier.relay,
            structures=options.maps_and_streams,
            client_id=self.endpoint.client_id,
            events=self._events,
            other=self._other(),
        )

    def _other(self) -> Callable[[], OtherLink] | None:
        if self._asks:
            return None
        endpoint, options = self.endpoint, self._options  # not the link, which messages in use would then keep
        return lambda: open_link(endpoint, options, NoEvents(), asks=True)

    # -- verbs

    def channel(self, transacted: bool) -> Channel:
        """Begin a session."""
        self._life.check()
        if transacted and Native.TRANSACTIONS not in self.native:
            raise NotSupported(f"{self.broker} has no transactions over AMQP 1.0")
        made = Channel(self._facts, self._channels.discard)
        self._channels.add(made)
        try:
            self._life.wait(lambda done: made.open(transacted, done), "opening a channel")
        except BackendError:
            self._channels.discard(made)
            raise
        return made

    def group_channel(self, number: int) -> SpiChannel:
        """A channel for groups of sends: number 0 over this connection, the others each over its own."""
        if not number:
            return self.channel(True)
        self._life.check()
        endpoint, options = msgspec.structs.replace(self.endpoint, client_id=None), self._options

        def connect(events: LinkEvents) -> Link:
            return open_link(endpoint, options, events, asks=True)

        made = GroupChannel(connect, self._events, self._group_channels.discard)
        self._group_channels.add(made)
        if self._life.is_over:  # meanwhile: its end may not have found this one
            made.abandon()
        return made

    def declare(self, address: Address) -> Address:
        """Not supported: the broker would choose the name."""
        self._life.check()
        raise NotSupported(f"{self.broker} chooses the names of temporary destinations ({address})")

    def delete(self, address: Address) -> None:
        """Delete a temporary destination, as far as the broker has something for that."""
        nodes = self._facts.nodes
        if nodes is None:
            super().delete(address)
        else:
            self._life.wait(lambda done: nodes.delete(address, done), f"deleting {address}")

    def unsubscribe(self, key: str, address: Address | None) -> None:
        """Delete a durable subscription."""
        self._life.check()
        if Native.DURABLE not in self.native:
            raise NotSupported(f"{self.broker} has no durable subscriptions over AMQP 1.0")
        client_id = self.endpoint.client_id
        self._facts.product.check_key(key, client_id)
        name = first_name(key, client_id, durable=True)
        if self._facts.names.is_active(key, durable=True):
            raise SubscriptionRefused(f"subscription {key!r} has a consumer; {CLOSE_FIRST}")
        if client_id is None and Native.SHARED_DURABLE not in self.native:
            raise SubscriptionUnknown(f"{self.broker} has no durable subscription without a client id: {key!r}")
        # not the subscription's own topic: with another one, the broker refuses as long as there is a consumer
        topic = None if client_id else self._facts.naming.text(Address(f"{key}.unsubscribed", topic=True))

        def ask(done: Done) -> None:
            if topic is not None and self._facts.product.names_queues:
                unsubscribe_by_queue(self._driver, name, key, topic, done)
            else:
                unsubscribe(self._driver, name, key, topic, done)

        self._life.wait(ask, f"unsubscribing {key!r}")

    def close(self) -> None:
        """Close the connection; idempotent."""
        for each in list(self._group_channels):
            each.close()
        self._life.close(self._close)

    def abandon(self) -> None:
        """End the connection without asking the broker."""
        if not self._life.is_over:
            self._life.thread.post(lambda: self._life.die(LinkLost("the link was given up")))

    def _close(self) -> None:
        """End the channels, then the connection. I/O thread."""
        after_all([channel.finish for channel in self._channels], self._driver.close)

    def _answer_all(self) -> None:
        for each in list(self._group_channels):
            each.abandon()
        for channel in list(self._channels):
            channel.end()
