"""The options of a connection over STOMP, in addition to those of every broker."""

from typing import Annotated

import msgspec

from jmsbridge.transport.network.tls import TlsOptions, refuse_tls_options

__all__ = ["PORT", "TLS_PORT", "StompOptions", "WithoutTls"]

PORT, TLS_PORT = 61613, 61612
"""The usual ports of STOMP."""


class StompOptions(TlsOptions, frozen=True, kw_only=True):
    """Options of ``stomp://`` and ``stomp+ssl://``."""

    virtual_host: str | None = None
    """The header ``host`` of CONNECT; the default is the host of the URL, and on RabbitMQ, where a virtual host is
    meant, ``/`` if there is none of that name."""
    heartbeat: Annotated[int, msgspec.Meta(ge=2, le=3600)] = 60
    """Seconds of silence after which the link is given up. The broker is asked for a heart-beat in half of this time,
    and gets one in a quarter of it, so that it notices a dead client as well."""
    dead_letter_queue: str | None = None
    """The queue for messages that were redelivered too often; empty for none. The default is the broker's own:
    ``DLQ`` on Artemis, ``ActiveMQ.DLQ`` on ActiveMQ Classic, and ``jms.dlq`` on RabbitMQ."""


class WithoutTls(StompOptions, frozen=True, kw_only=True):
    """Options of ``stomp://``, where those of TLS are refused."""

    def __post_init__(self) -> None:
        refuse_tls_options(self, "stomp", "stomp+ssl")
