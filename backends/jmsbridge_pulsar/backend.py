"""The SPI's Backend, for ``pulsar://`` and ``pulsar+ssl://``."""

from jmsbridge.spi import Backend
from jmsbridge.transport.backend import Networked
from jmsbridge_pulsar.connection.options import PORT, TLS_PORT, PulsarOptions, WithoutTls
from jmsbridge_pulsar.facts import NATIVE
from jmsbridge_pulsar.link import open_link

__all__ = ["PulsarOptions", "backend", "tls_backend"]

backend: Backend = Networked("pulsar", NATIVE, WithoutTls, PORT, open_link, spi_version=1, tls=False)
"""The entry point ``pulsar``."""

tls_backend: Backend = Networked("pulsar+ssl", NATIVE, PulsarOptions, TLS_PORT, open_link, spi_version=1, tls=True)
"""The entry point ``pulsar+ssl``: the same over TLS."""
