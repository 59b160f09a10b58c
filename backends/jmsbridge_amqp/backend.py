"""The SPI's Backend, for ``amqp://`` and ``amqps://``; importing it needs python-qpid-proton."""

from jmsbridge.spi import Backend
from jmsbridge.transport.backend import Networked
from jmsbridge_amqp.connection.capabilities import NATIVE
from jmsbridge_amqp.connection.mechanisms import limits_of_proton
from jmsbridge_amqp.connection.opening import PORT, TLS_PORT
from jmsbridge_amqp.connection.options import AmqpOptions, WithoutTls
from jmsbridge_amqp.link import open_link

__all__ = ["AmqpOptions", "backend", "tls_backend"]

backend: Backend = Networked(
    "amqp", NATIVE, WithoutTls, PORT, open_link, spi_version=1, tls=False, limits=limits_of_proton()
)
"""The entry point ``amqp``."""

tls_backend: Backend = Networked(
    "amqps", NATIVE, AmqpOptions, TLS_PORT, open_link, spi_version=1, tls=True, limits=limits_of_proton()
)
"""The entry point ``amqps``: the same over TLS."""
