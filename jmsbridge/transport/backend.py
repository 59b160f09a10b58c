"""What a networked backend says of itself, beside the SPI."""

from typing import Protocol, runtime_checkable

__all__ = ["Networked"]


@runtime_checkable
class Networked(Protocol):
    """Offered by a backend whose brokers are reached over TCP, so that ``jmsbridge doctor`` can try step by step.

    Where ``tls`` is true, the backend's options are ``jmsbridge.transport.tls.TlsOptions``.
    """

    port: int
    """Where brokers usually listen for this scheme."""
    tls: bool
    """Whether the conversation of this scheme begins with TLS."""
