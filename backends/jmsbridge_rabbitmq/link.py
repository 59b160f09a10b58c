"""The SPI's Link: its verbs, on a pair of connections."""

import time
import uuid

from jmsbridge.spi import (
    Address,
    AddressInUse,
    BackendError,
    ClientIdRefused,
    ConnectFailed,
    Endpoint,
    LinkEvents,
    LinkLost,
    Native,
    NotSupported,
    SubscriptionRefused,
)
from jmsbridge.transport.network.link_life import Done
from jmsbridge_rabbitmq.broker import selector_exchanges, topology
from jmsbridge_rabbitmq.broker.admin import RabbitAdmin
from jmsbridge_rabbitmq.broker.capabilities import native_with
from jmsbridge_rabbitmq.broker.conversations import Control
from jmsbridge_rabbitmq.broker.known import KnownDestinations
from jmsbridge_rabbitmq.broker.queue_kinds import QueueKinds
from jmsbridge_rabbitmq.channel import Channel
from jmsbridge_rabbitmq.connection.options import RabbitOptions
from jmsbridge_rabbitmq.connection.pair import ConnectionPair
from jmsbridge_rabbitmq.consuming.sources import Sources
from jmsbridge_rabbitmq.consuming.subscriptions import Subscriptions
from jmsbridge_rabbitmq.messages.wire import Encoder
from jmsbridge_rabbitmq.publishing.publishers import Publishers

__all__ = ["Link"]

_CLIENT_ID_PATIENCE = 2.0  # seconds for the broker to notice the death of the link that used the client id


class Link(RabbitAdmin):
    """The SPI's Link and Admin; verbs from any thread."""

    def __init__(self, endpoint: Endpoint, options: RabbitOptions, events: LinkEvents) -> None:
        self.native: Native = native_with(options)
        self.broker = "RabbitMQ"
        self.pair = ConnectionPair(endpoint, options, events)
        self.known = KnownDestinations(QueueKinds(options.queue_type, options.delivery_limit))
        self.endpoint = endpoint
        self._events = events
        self._options = options
        super().__init__(self.pair.life, Control(self.pair), self.known.kinds, options.dead_letter_queue)
        java = options.subscription_names == "java" or (not options.subscription_names and options.dialect == "jms")
        self._names = topology.Names(endpoint.client_id, java)
        self._sources = Sources(self._life, self._control, self.known, self._names, endpoint)
        stamp = endpoint.client_id or str(uuid.uuid4())
        self.encoder = Encoder(options.dialect, stamp, options.text_marker)
        self._publishers = Publishers(
            self.pair, self._control, self.known, self.encoder, quorum=options.queue_type == "quorum"
        )
        self.subscriptions = Subscriptions(
            self.pair, self._sources, self._publishers.copier, options, self.native, stamp, events
        )

    # -- opening

    def connect(self) -> None:
        """Connect, authenticate and reserve the client id; if that fails, close everything."""
        deadline = time.monotonic() + self.endpoint.connect_timeout
        try:
            self.pair.connect(self.known.kinds.learn)
            self.broker = self._life.broker
            if self._options.topic_selectors == "broker":
                self._find_plugin(deadline)
            if self.endpoint.client_id:
                self._take_client_id(self.endpoint.client_id, deadline)
        except LinkLost as error:
            self.close()
            raise ConnectFailed(f"{self.endpoint}: {error}") from error
        except BaseException:
            self.close()
            raise

    def _find_plugin(self, deadline: float) -> None:
        self._life.is_private = True  # without the plugin the broker may close the connection
        try:
            self._control.wait(selector_exchanges.probe(), "checking for the selector plugin", deadline)
        except BackendError as error:
            if "exchange type" not in str(error):
                raise
            plugin = selector_exchanges.PLUGIN
            raise NotSupported(
                f"topic_selectors=broker needs the plugin {plugin} on {self.endpoint}: enable it there"
                f" (rabbitmq-plugins enable {plugin}), or leave topic_selectors at client"
            ) from error
        self._life.is_private = False

    def _take_client_id(self, client_id: str, deadline: float) -> None:
        patience = min(deadline, time.monotonic() + _CLIENT_ID_PATIENCE)
        while True:
            try:
                self._control.wait(topology.client_lock(client_id), f"reserving client id {client_id!r}", deadline)
                return
            except AddressInUse as error:
                if time.monotonic() >= patience:
                    raise ClientIdRefused(
                        f"client id {client_id!r} is in use on {self.endpoint}; choose another or close that connection"
                    ) from error
                time.sleep(0.1)  # sleep: the broker sends no event when it has noticed

    # -- verbs

    def check(self) -> None:
        """Raise ``LinkLost`` if the link is dead."""
        self._life.check()

    def channel(self, transacted: bool) -> Channel:
        """Open a channel."""
        self._life.check()
        if transacted:
            raise NotSupported(f"{self.broker} has no atomic transactions")
        return Channel(self._life, self._publishers, self.subscriptions, self._events)

    def declare(self, address: Address) -> Address:
        """Create a temporary destination; ``AddressInUse`` while another connection owns it."""
        self._control.wait(topology.temporary(address), f"creating {address}")
        self._sources.temporaries.add(address)
        return address

    def delete(self, address: Address) -> None:
        """Delete a temporary destination that has no consumers."""
        self._life.check()
        if self.subscriptions.consumes(address):
            raise AddressInUse(f"{address} has consumers; close them first")
        what = f"deleting {address}"

        def start(done: Done) -> None:
            self.pair.consuming.expect()
            self._control.ask(topology.delete_queue(address.name, str(address), self.known.kinds), what, done)

        self._life.wait_closing(start, what, optional=False)
        self._sources.temporaries.discard(address)

    def unsubscribe(self, key: str, address: Address | None) -> None:
        """Delete a durable subscription."""
        self._life.check()
        queue = self._names.durable(key)
        if self.subscriptions.holds(queue):
            raise SubscriptionRefused(
                f"subscription {key!r} has unsettled messages; acknowledge them, or close their session first"
            )
        self._control.wait(topology.unsubscribe(queue, key, self.known.kinds), f"unsubscribing {key!r}")

    def close(self) -> None:
        """End the link; idempotent."""
        self._life.close(lambda: self.subscriptions.finish_limited(self.pair.close))
