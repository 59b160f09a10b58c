"""The SPI's Link: the sockets to one broker."""

import itertools
import time
import uuid
from collections.abc import Callable

import msgspec

from jmsbridge.spi import (
    Address,
    BackendError,
    ClientIdRefused,
    ConnectFailed,
    Endpoint,
    LinkEvents,
    LinkLost,
    Native,
    NotSupported,
    SubscriptionUnknown,
)
from jmsbridge.transport.literal_names import check_client_id, check_key
from jmsbridge.transport.network.link_life import Done, after_all
from jmsbridge_stomp.administration.admin import StompAdmin
from jmsbridge_stomp.channel import Channel
from jmsbridge_stomp.connection.errors import Refusal, connect_error, has_no_host, in_use, may_read_escapes
from jmsbridge_stomp.connection.options import StompOptions
from jmsbridge_stomp.connection.products import Product, product_of
from jmsbridge_stomp.connection.scheduling import ask_scheduler
from jmsbridge_stomp.connection.sockets import Sockets
from jmsbridge_stomp.connection.stomp_socket import StompSocket
from jmsbridge_stomp.facts import LinkFacts, NewSocket
from jmsbridge_stomp.messages.wire import Encoder
from jmsbridge_stomp.receiving.unsubscribing import unsubscribe
from jmsbridge_stomp.sending.commit_rule import CommitRule
from jmsbridge_stomp.sending.copier import Copier

__all__ = ["Link", "open_link"]

_numbers = itertools.count(1)


def open_link(endpoint: Endpoint, options: StompOptions, events: LinkEvents) -> "Link":
    """Connect and log in."""
    check_client_id(endpoint)
    if not set(endpoint.client_id or "").isdisjoint("\r\n\0"):
        raise ClientIdRefused(f"the client id {endpoint.client_id!r} has a character that STOMP cannot send")
    link = Link(endpoint, options, events)
    link.connect()
    return link


class Link(StompAdmin):
    """Its methods are for any thread."""

    def __init__(self, endpoint: Endpoint, options: StompOptions, events: LinkEvents) -> None:
        self.native: Native = Native.NONE
        self.broker = "the broker"
        self.group_channels = 1
        self.endpoint = endpoint
        self._options = options
        self._events = events
        self._sockets = Sockets(f"jmsbridge-stomp-{next(_numbers)}-io", endpoint, events, options.heartbeat)
        self._life = self._sockets.life
        self._life.when_lost.append(self._answer_all)
        self._main = StompSocket(self._sockets, options, self._life.die)
        self._channels: set[Channel] = set()
        self._copier: Copier | None = None

    # -- opening

    def connect(self) -> None:
        """Connect; if that fails, close the socket at once."""
        deadline = time.monotonic() + self.endpoint.connect_timeout
        self._life.open(lambda done: self._connect(deadline, done), deadline)

    def _connect(self, deadline: float, done: Done) -> None:
        def refused(error: BaseException) -> None:
            if not self._life.is_over and self._adapts(error):
                self._main = StompSocket(self._sockets, self._options, self._life.die)
                self._connect(deadline, done)
            elif not self._life.is_over:
                made = error if isinstance(error, BackendError) else connect_error(error, self.endpoint)
                self._life.refuse(made, done)

        def opened(headers: dict[str, str] | None, error: BaseException | None) -> None:
            if headers is None or error is not None:
                refused(error or ConnectionError("no answer"))
                return
            try:
                product, self.broker = product_of(headers.get("server"), self.endpoint)
            except ConnectFailed as unknown:
                self._main.drop()
                refused(unknown)
                return
            self._life.broker = self.broker
            self._sockets.beat()
            if product.has_scheduler:
                ask_scheduler(self._main, self._life.thread, lambda is_on: learned(product, is_on))
            else:
                learned(product, False)

        def learned(product: Product, schedules: bool) -> None:
            if schedules:
                product = msgspec.structs.replace(product, native=product.native | Native.DELAY)
            self._learn(product)
            done(None, None)

        self._main.connect(self.endpoint.client_id, deadline, opened)

    def _adapts(self, error: BaseException) -> bool:
        """Whether to try once more, as some brokers want it: RabbitMQ's own virtual host, or backslashes escaped."""
        if self._options.virtual_host is None and has_no_host(error):
            self._options = msgspec.structs.replace(self._options, virtual_host="/")
        elif not self._sockets.escapes_login and may_read_escapes(error) and self._has_backslash():
            self._sockets.escapes_login = True
        else:
            return False
        return True

    def _has_backslash(self) -> bool:
        endpoint = self.endpoint
        login = (endpoint.user, endpoint.password, endpoint.client_id, self._options.virtual_host)
        return any("\\" in part for part in login if part is not None)

    def _learn(self, product: Product) -> None:
        chosen = self._options.dead_letter_queue
        dead_letters = product.dead_letters if chosen is None else chosen
        self.dead_letters = Address(dead_letters) if dead_letters else None
        self.native = product.native if dead_letters else product.native & ~Native.REJECT
        sender = self.endpoint.client_id or str(uuid.uuid4())
        native = self.native
        self._facts = LinkFacts(
            sockets=self._sockets,
            main=self._main,
            new_socket=_maker_of_sockets(self._sockets, self._options, product),
            product=product,
            native=native,
            encoder=Encoder(
                product.dialect,
                sender,
                delays=Native.DELAY in native,
                detects=Native.DUPLICATE_DETECTION in native,
            ),
            rule=CommitRule(asks=product.commits_whole),
            sender=sender,
            client_id=self.endpoint.client_id,
            dead_letters=dead_letters,
            active=set(),
            events=self._events,
        )
        self._copier = Copier(self._facts)

    # -- verbs

    def channel(self, transacted: bool) -> Channel:
        """Make a channel; it connects its socket with its first send."""
        return self._channel(transacted, only_sends=False)

    def group_channel(self, number: int) -> Channel:
        """A channel for groups of sends: always on a socket of its own."""
        return self._channel(True, only_sends=True)

    def _channel(self, transacted: bool, *, only_sends: bool) -> Channel:
        self._life.check()
        assert self._copier is not None
        if transacted and Native.SEND_TRANSACTIONS not in self.native:
            raise NotSupported(f"{self.broker} has no transactions over STOMP")
        made = Channel(self._facts, self._copier, transacted, self._channels.discard, only_sends=only_sends)
        self._channels.add(made)
        return made

    def declare(self, address: Address) -> Address:
        """Not supported: ActiveMQ Classic would choose the name, Artemis has none over STOMP."""
        self._life.check()
        raise NotSupported(f"{self.broker} has no temporary destinations of a given name over STOMP ({address})")

    def unsubscribe(self, key: str, address: Address | None) -> None:
        """Delete a durable subscription."""
        self._life.check()
        if Native.DURABLE not in self.native:
            raise NotSupported(f"over STOMP jmsbridge has no durable subscriptions on {self.broker} ({key!r})")
        if self.endpoint.client_id is None and not self._facts.product.managed:
            raise SubscriptionUnknown(f"{self.broker} has no durable subscription without a client id: {key!r}")
        if key in self._facts.active:
            raise in_use(key)
        check_key(key, self.broker)
        facts = self._facts
        self._life.wait(lambda done: unsubscribe(facts, key, address, done), f"unsubscribing {key!r}")

    def close(self) -> None:
        """Close every socket; idempotent."""
        self._life.close(self._close)

    def _close(self) -> None:
        """End the channels, then the sockets. I/O thread."""
        after_all([channel.finish for channel in self._channels], self._disconnect)

    def _disconnect(self) -> None:
        def ended() -> None:
            self._life.thread.post(lambda: self._life.die(LinkLost("the link was closed")))

        if self._copier is None:
            ended()
        else:
            self._copier.close(lambda: self._main.close(ended))

    def _answer_all(self) -> None:
        for channel in list(self._channels):
            channel.end()
        if self._copier is not None:
            self._copier.end()


def _maker_of_sockets(sockets: Sockets, options: StompOptions, product: Product) -> NewSocket:
    """Not of the link, which messages in use must not keep."""

    def new_socket(ended: Callable[[Refusal], None]) -> StompSocket:
        made = StompSocket(sockets, options, ended)
        made.ends_with_errors = not product.shares_socket
        made.names_refused = product.names_refused
        return made

    return new_socket
