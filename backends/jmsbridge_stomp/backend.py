"""The SPI's Backend, for ``stomp://`` and ``stomp+ssl://``."""

from jmsbridge.spi import Backend
from jmsbridge.transport.backend import Networked
from jmsbridge_stomp.connection.options import PORT, TLS_PORT, StompOptions, WithoutTls
from jmsbridge_stomp.connection.products import NATIVE
from jmsbridge_stomp.link import open_link

__all__ = ["StompOptions", "backend", "tls_backend"]

backend: Backend = Networked("stomp", NATIVE, WithoutTls, PORT, open_link, spi_version=1, tls=False)
"""The entry point ``stomp``."""

tls_backend: Backend = Networked("stomp+ssl", NATIVE, StompOptions, TLS_PORT, open_link, spi_version=1, tls=True)
"""The entry point ``stomp+ssl``: the same over TLS."""
