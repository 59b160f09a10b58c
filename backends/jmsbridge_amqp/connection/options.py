"""The options of a connection over AMQP 1.0, in addition to those of every broker."""

from typing import Annotated, Literal

import msgspec

from jmsbridge.transport.network.tls import TlsOptions, refuse_tls_options

__all__ = ["AmqpOptions", "WithoutTls"]


class AmqpOptions(TlsOptions, frozen=True, kw_only=True):
    """Options of ``amqp://`` and ``amqps://``."""

    login: Literal["plain", "external", "anonymous", "scram"] | None = None
    """How to log in: with user and password (``plain``, ``scram``), with the client certificate (``external``), or not
    at all. The default is ``plain`` with a user name, else ``external`` with a certificate, else ``anonymous``."""
    virtual_host: str | None = None
    """The host name sent when the connection opens, by which some brokers choose a virtual host; the default is the
    host of the URL, and for RabbitMQ ``vhost:NAME`` is another virtual host."""
    heartbeat: Annotated[int, msgspec.Meta(ge=2, le=3600)] = 60
    """Seconds of silence after which the link is given up. The broker is told half of this time, so that it sends a
    heart-beat early enough when it has nothing else to send."""
    dead_letter_queue: str | None = None
    """The queue for messages that were redelivered too often; empty for none. The default is the broker's own:
    ``DLQ`` on Artemis, ``ActiveMQ.DLQ`` on ActiveMQ Classic, else ``jms.dlq``."""
    queue_prefix: str | None = None
    """What is written before the names of queues on the wire; the default is what the broker announces, or what is
    known of its product."""
    topic_prefix: str | None = None
    """The same for topics; ``amq.topic/`` on Qpid Broker-J."""
    maps_and_streams: bool = False
    """Whether a map without the annotation of JMS clients is a MapMessage, and a list a StreamMessage. So ActiveMQ
    Classic means the messages of OpenWire programs. Otherwise both are ObjectMessages, as in Qpid JMS."""


class WithoutTls(AmqpOptions, frozen=True, kw_only=True):
    """Options of ``amqp://``, where those of TLS are refused."""

    def __post_init__(self) -> None:
        refuse_tls_options(self, "amqp", "amqps")
