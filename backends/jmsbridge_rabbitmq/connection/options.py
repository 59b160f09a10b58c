"""The options of a connection to RabbitMQ, in addition to those of every broker."""

from typing import Annotated, Literal

import msgspec

from jmsbridge.spi import AddressRefused
from jmsbridge.transport.network.tls import TlsOptions, refuse_tls_options
from jmsbridge_rabbitmq.messages.wire import Dialect
from jmsbridge_rabbitmq.protocol import names

__all__ = ["RabbitOptions", "WithoutTls"]

_Seconds = Annotated[int, msgspec.Meta(ge=1, le=3600)]


class RabbitOptions(TlsOptions, frozen=True, kw_only=True):
    """Options of ``rabbitmq://`` and ``rabbitmqs://``; the path of the URL is the virtual host."""

    dialect: Dialect = "amqp"
    """How messages are written: ``amqp`` as plain AMQP messages, ``jms`` as RabbitMQ's Java client for JMS writes them.
    Both are always read."""
    text_marker: bool = False
    """In dialect ``amqp``, mark texts so that the Java client's AMQP destinations read them as TextMessage."""
    subscription_names: Literal["client", "java"] | None = None
    """How the queue of a durable subscription is named: ``client`` is ``<client id>.<name>``, so that each client id
    has its own names; ``java`` is ``<name>``, as in the Java client. The default depends on the dialect."""
    topic_selectors: Literal["client", "broker"] = "client"
    """Where selectors of topics are evaluated. ``client`` is exact; ``broker`` uses the plugin
    rabbitmq_jms_topic_exchange, faults included; a subscription that is shared with the Java client needs it."""
    queue_type: Literal["classic", "quorum"] | None = None
    """The type of queues that jmsbridge creates; the default is the virtual host's. Existing queues keep theirs."""
    delivery_limit: Annotated[int, msgspec.Meta(ge=-1)] | None = None
    """The ``delivery-limit`` that policies set for quorum queues (-1: none); AMQP 0-9-1 does not show it. The default
    is the queue's own argument or, without one, RabbitMQ's default: 20 from version 4 on."""
    dead_letter_queue: str = "jms.dlq"
    """The queue for messages that were redelivered too often; empty for none."""
    heartbeat: _Seconds = 30
    """Heart-beat time-out in seconds. The link is lost when the broker has been silent for this time plus 5 seconds, or
    at the latest twice as long: after 35 to 70 seconds by default."""
    login: Literal["plain", "external"] = "plain"
    """``external`` logs in with the client certificate instead of a password (plugin rabbitmq_auth_mechanism_ssl)."""

    def __post_init__(self) -> None:
        if self.login == "external" and self.certificate is None:
            raise ValueError(
                "option 'login' is 'external', which needs a client certificate: set the option 'certificate'"
            )
        if self.dead_letter_queue:
            _check_dead_letter_queue(self.dead_letter_queue)


class WithoutTls(RabbitOptions, frozen=True, kw_only=True):
    """Options of ``rabbitmq://``, where those of TLS are refused."""

    def __post_init__(self) -> None:
        refuse_tls_options(self, "rabbitmq", "rabbitmqs")
        super().__post_init__()


def _check_dead_letter_queue(queue: str) -> None:
    """ValueError for an invalid name, before the first message is to go there."""
    try:
        names.check_new(queue)
    except AddressRefused as error:
        raise ValueError(f"option 'dead_letter_queue': {error}") from error
