"""The SPI's Backend for brokers that are reached over TCP."""

from collections.abc import Callable
from typing import Any

import msgspec

from jmsbridge.spi import ConnectFailed, Endpoint, Link, LinkEvents, Native

__all__ = ["Networked"]


class Networked:
    """One scheme of such a backend. ``jmsbridge doctor`` tests each step of connecting to it.

    ``connect`` connects and authenticates, by default to ``port``. ``spi_version`` is the number for which the backend
    was written, not the constant. ``tls`` says whether connections begin with TLS; the options are then
    ``jmsbridge.transport.network.tls.TlsOptions``. ``limits`` says what the installed client library cannot do, with
    the remedy; it is empty if nothing is missing. ``paths`` says whether its URLs may have a path.
    """

    def __init__(
        self,
        name: str,
        native: Native,
        options: type[msgspec.Struct],
        port: int,
        connect: Callable[[Endpoint, Any, LinkEvents], Link],
        *,
        spi_version: int,
        tls: bool,
        limits: str = "",
        paths: bool = False,
    ) -> None:
        self.spi_version = spi_version
        self.name = name
        self.native = native
        self.options = options
        self.port = port
        self.tls = tls
        self.limits = limits
        self._paths = paths
        self._connect = connect

    def open(self, endpoint: Endpoint, options: Any, events: LinkEvents) -> Link:
        """Connect and authenticate."""
        if endpoint.host is None:
            raise ConnectFailed(f"{endpoint} has no host; write {self.name}://HOST[:PORT]")
        path = endpoint.path.strip("/")
        if path and not self._paths:
            is_host = "virtual_host" in self.options.__struct_fields__
            remedy = f"for a virtual host write ?virtual_host={path}" if is_host else "leave it out"
            raise ConnectFailed(f"{endpoint}: a URL of {self.name} has no path; {remedy}")
        return self._connect(endpoint, options or self.options(), events)
