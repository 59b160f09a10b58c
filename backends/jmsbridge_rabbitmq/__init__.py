"""RabbitMQ over AMQP 0-9-1 with publisher confirms: ``rabbitmq://host/vhost``, with TLS ``rabbitmqs://``.

Start reading at ``link``. ``broker.topology`` maps destinations and subscriptions to queues and exchanges,
``publishing.publisher`` sends, ``consuming.subscription`` receives, ``messages.wire`` encodes and decodes.
"""

from typing import Any

import msgspec

from jmsbridge.spi import Backend, ConnectFailed, Endpoint, LinkEvents, Native
from jmsbridge.spi import Link as LinkProtocol
from jmsbridge_rabbitmq.broker.capabilities import NATIVE
from jmsbridge_rabbitmq.connection.options import RabbitOptions, WithoutTls
from jmsbridge_rabbitmq.connection.parameters import PORT, TLS_PORT
from jmsbridge_rabbitmq.connection.pika_log import quiet_pika
from jmsbridge_rabbitmq.link import Link
from jmsbridge_rabbitmq.protocol.names import check_client_id

__all__ = ["RabbitBackend", "RabbitOptions", "backend", "tls_backend"]


class RabbitBackend:
    """The SPI's Backend."""

    native: Native = NATIVE

    def __init__(self, name: str, options: type[RabbitOptions], port: int, *, tls: bool) -> None:
        self.name = name
        self.port = port
        self.tls = tls
        self.options: type[msgspec.Struct] = options

    def open(self, endpoint: Endpoint, options: Any, events: LinkEvents) -> LinkProtocol:
        """Connect and authenticate."""
        if endpoint.host is None:
            raise ConnectFailed(f"{endpoint} has no host; write {self.name}://HOST[:PORT][/VIRTUAL-HOST]")
        if endpoint.client_id:
            check_client_id(endpoint.client_id)
        quiet_pika()
        link = Link(endpoint, options or RabbitOptions(), events)
        link.connect()
        return link


backend: Backend = RabbitBackend("rabbitmq", WithoutTls, PORT, tls=False)
"""The entry point ``rabbitmq``."""

tls_backend: Backend = RabbitBackend("rabbitmqs", RabbitOptions, TLS_PORT, tls=True)
"""The entry point ``rabbitmqs``: the same over TLS."""
