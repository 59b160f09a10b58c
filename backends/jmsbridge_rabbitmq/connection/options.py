"""What can be set about a connection to RabbitMQ, beside the options that every broker has."""

from typing import Annotated, Literal

import msgspec

from jmsbridge.spi import AddressRefused
from jmsbridge.transport.tls import TlsOptions, refuse_tls_options
from jmsbridge_rabbitmq.messages.wire import Dialect
from jmsbridge_rabbitmq.protocol import names

__all__ = ["RabbitOptions", "WithoutTls"]

_Seconds = Annotated[int, msgspec.Meta(ge=1, le=3600)]


class RabbitOptions(TlsOptions, frozen=True, kw_only=True):
    """Options of ``rabbitmq://`` and ``rabbitmqs://``; the path of the URL is the virtual host."""

    dialect: Dialect = "amqp"
    """How messages are written: ``amqp`` as plain AMQP messages, ``jms`` as RabbitMQ's Java client for JMS writes them.
    Both are read, whatever this says."""
    text_marker: bool = False
    """In dialect ``amqp``, mark texts so that the Java client reads them as TextMessage from its AMQP destinations."""
    subscription_names: Literal["client", "java"] | None = None
    """The queue of a durable subscription: ``client`` names it ``<client id>.<name>``, which keeps the rule that a name
    belongs to its client id; ``java`` names it ``<name>``, as the Java client does. Not given, the dialect decides."""
    topic_selectors: Literal["client", "broker"] = "client"
    """Who selects among the messages of a topic. ``client`` is exact; ``broker`` is the plugin
    rabbitmq_jms_topic_exchange, which a subscription that is shared with the Java client needs, with its faults."""
    queue_type: Literal["classic", "quorum"] | None = None
    """The type of the queues that are made here; not given, the virtual host's default. Existing ones stay as they
    are."""
    delivery_limit: Annotated[int, msgspec.Meta(ge=-1)] | None = None
    """The ``delivery-limit`` that policies set for quorum queues (-1: none), which nobody can see over AMQP 0-9-1.
    Not given, the queue's argument counts, or else what RabbitMQ has for queues that say nothing: 20 from version 4."""
    dead_letter_queue: str = "jms.dlq"
    """The queue that takes what was redelivered too often; empty for none."""
    heartbeat: _Seconds = 30
    """Seconds between signs of life; a broker that was silent for that time and 5 to 10 seconds more is given up."""
    login: Literal["plain", "external"] = "plain"
    """``external`` logs in with the client certificate instead of a password (plugin rabbitmq_auth_mechanism_ssl)."""

    def __post_init__(self) -> None:
        if self.login == "external" and self.certificate is None:
            raise ValueError(
                "option 'login' is 'external', which logs in with a client certificate: give 'certificate'"
            )
        if self.dead_letter_queue:
            _check_dead_letter_queue(self.dead_letter_queue)


class WithoutTls(RabbitOptions, frozen=True, kw_only=True):
    """The same for the scheme without TLS."""

    def __post_init__(self) -> None:
        refuse_tls_options(self, "rabbitmq", "rabbitmqs")
        super().__post_init__()


def _check_dead_letter_queue(queue: str) -> None:
    """ValueError now, not when the first message is to go there."""
    try:
        names.check_new(queue)
    except AddressRefused as error:
        raise ValueError(f"option 'dead_letter_queue': {error}") from error
