"""RabbitMQ over AMQP 0-9-1 with publisher confirms: ``rabbitmq://host/vhost``, with TLS ``rabbitmqs://``.

Start reading at ``link``; ``topology`` says what stands for queues, topics and subscriptions on the broker,
``subscription`` and ``publisher`` are the two ways, ``wire`` is what a message looks like.
"""

from typing import Any

import msgspec

from jmsbridge.spi import Backend, ConnectFailed, Endpoint, LinkEvents, Native
from jmsbridge.spi import Link as LinkProtocol
from jmsbridge_rabbitmq.amqp import quiet_pika
from jmsbridge_rabbitmq.link import Link
from jmsbridge_rabbitmq.names import check_client_id
from jmsbridge_rabbitmq.native import NATIVE
from jmsbridge_rabbitmq.options import RabbitOptions, WithoutTls

__all__ = ["RabbitBackend", "RabbitOptions", "backend", "tls_backend"]


class RabbitBackend:
    """The SPI's Backend."""

    native: Native = NATIVE

    def __init__(self, name: str, options: type[RabbitOptions]) -> None:
        self.name = name
        self.options: type[msgspec.Struct] = options

    def open(self, endpoint: Endpoint, options: Any, events: LinkEvents) -> LinkProtocol:
        """Connect and authenticate."""
        if endpoint.host is None:
            raise ConnectFailed(f"{endpoint} names no host: {self.name}://HOST[:PORT][/VIRTUAL-HOST]")
        if endpoint.client_id:
            check_client_id(endpoint.client_id)
        quiet_pika()
        link = Link(endpoint, options or RabbitOptions(), events)
        link.connect()
        return link


backend: Backend = RabbitBackend("rabbitmq", WithoutTls)
"""The entry point ``rabbitmq``."""

tls_backend: Backend = RabbitBackend("rabbitmqs", RabbitOptions)
"""The entry point ``rabbitmqs``: the same over TLS."""
