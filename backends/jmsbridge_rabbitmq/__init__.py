"""RabbitMQ over AMQP 0-9-1 with publisher confirms: ``rabbitmq://host/vhost``, with TLS ``rabbitmqs://``.

Start reading at ``link``. ``broker.topology`` maps destinations and subscriptions to queues and exchanges,
``publishing.publisher`` sends, ``consuming.subscription`` receives, ``messages.wire`` encodes and decodes.
"""

from jmsbridge.spi import Backend, Endpoint, LinkEvents
from jmsbridge.transport.backend import Networked
from jmsbridge_rabbitmq.broker.capabilities import NATIVE
from jmsbridge_rabbitmq.connection.options import RabbitOptions, WithoutTls
from jmsbridge_rabbitmq.connection.parameters import PORT, TLS_PORT
from jmsbridge_rabbitmq.connection.pika_log import quiet_pika
from jmsbridge_rabbitmq.link import Link
from jmsbridge_rabbitmq.protocol.names import check_client_id

__all__ = ["RabbitOptions", "backend", "tls_backend"]


def _open(endpoint: Endpoint, options: RabbitOptions, events: LinkEvents) -> Link:
    if endpoint.client_id:
        check_client_id(endpoint.client_id)
    quiet_pika()
    link = Link(endpoint, options, events)
    link.connect()
    return link


backend: Backend = Networked("rabbitmq", NATIVE, WithoutTls, PORT, _open, spi_version=1, tls=False, paths=True)
"""The entry point ``rabbitmq``."""

tls_backend: Backend = Networked(
    "rabbitmqs", NATIVE, RabbitOptions, TLS_PORT, _open, spi_version=1, tls=True, paths=True
)
"""The entry point ``rabbitmqs``: the same over TLS."""
