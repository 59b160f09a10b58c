"""What a networked backend declares beside the SPI."""

from typing import Protocol, runtime_checkable

__all__ = ["Networked"]


@runtime_checkable
class Networked(Protocol):
    """Implemented by a backend that connects over TCP, so that ``jmsbridge doctor`` can test each step of connecting.

    Where ``tls`` is true, the backend's options are ``jmsbridge.transport.tls.TlsOptions``.
    """

    port: int
    """The default port of this scheme."""
    tls: bool
    """Whether connections of this scheme begin with TLS."""
