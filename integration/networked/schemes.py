"""The networked backends, one row each: the facts that the tests of this folder need."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlencode

import pytest

from integration.activemq import administration as activemq_administration
from integration.artemis import administration as artemis_administration
from integration.brokerj import administration as brokerj_administration
from integration.lab.broker import Broker
from integration.networked import frames
from integration.pulsar import administration as pulsar_administration
from integration.rabbitmq import administration as rabbitmq_administration

__all__ = ["SCHEMES", "Scheme", "rows"]


@dataclass(frozen=True)
class Scheme:
    """One backend on one broker."""

    name: str
    """Its name in test ids."""
    broker: str
    """Its broker in ``integration.lab.table``."""
    listener: str
    """The broker's listener without TLS, in front of which tests put TLS."""
    plain: str
    """The scheme of its URLs."""
    tls: str
    """The scheme of its URLs over TLS."""
    package: str
    """The backend's implementation of Link."""
    sockets: int
    """How many sockets a connection has that sends and receives."""
    heartbeat: str | None
    """The option with the seconds between heart-beats; None where they cannot be chosen."""
    frame_end: frames.FrameEnd
    """Finds the ends of its frames."""
    set_password: Callable[[Broker, str, str], None] | None
    """Create a user with this password, or change the password; None where that needs a restart."""
    remove_queue: Callable[[Broker, str], None]
    options: dict[str, str] = field(default_factory=dict)
    """The options of its connections."""
    repeats: bool = False
    """Whether slow tests of this row are long ones, since another row has the same protocol and client code, or since
    they take a minute."""
    durable: bool = True
    """Whether it has durable subscriptions by this protocol."""
    own_for_certificates: bool = False
    """Whether logins with a certificate need a broker that was started for them."""
    certificate_options: dict[str, str] = field(default_factory=lambda: {"login": "external"})
    """Further options of those: another ``login``, or none, where the certificate alone says who the user is."""
    certificates_elsewhere: bool = False
    """Whether the tests of the broker itself already have a client that logs in with its certificate."""
    module: str | None = None
    """The module of its client library, where that may be missing."""
    same_sizes: bool = True
    """Whether its frames have the same sizes each time that a conversation is repeated."""
    has_rest: bool = False
    """Whether the option ``admin_url`` is the address of the broker's REST interface."""

    def chosen(self, broker: Broker) -> dict[str, str]:
        """The options of its connections to a broker."""
        return {**self.options, "admin_url": broker.url("http")} if self.has_rest else self.options

    def url(self, broker: Broker) -> str:
        """The broker's URL with them."""
        options = self.chosen(broker)
        return f"{broker.url(self.plain)}?{urlencode(options)}" if options else broker.url(self.plain)


def _amqp(
    broker: str,
    remove: Callable[[Broker, str], None],
    set_password: Callable[[Broker, str, str], None] | None,
    **more: Any,
) -> Scheme:
    return Scheme(
        f"{broker}-amqp",
        broker,
        listener="amqp",
        plain="amqp",
        tls="amqps",
        package="jmsbridge_amqp",
        sockets=1,
        heartbeat="heartbeat",
        frame_end=frames.amqp_1_0,
        set_password=set_password,
        remove_queue=remove,
        module="proton",
        **more,
    )


def _stomp(
    broker: str,
    sockets: int,
    remove: Callable[[Broker, str], None],
    set_password: Callable[[Broker, str, str], None] | None,
    **more: Any,
) -> Scheme:
    return Scheme(
        f"{broker}-stomp",
        broker,
        listener="stomp",
        plain="stomp",
        tls="stomp+ssl",
        package="jmsbridge_stomp",
        sockets=sockets,
        heartbeat="heartbeat",
        frame_end=frames.stomp,
        set_password=set_password,
        remove_queue=remove,
        certificate_options={},
        same_sizes=False,
        **more,
    )


SCHEMES = (
    Scheme(
        "rabbitmq",
        "rabbitmq",
        listener="amqp",
        plain="rabbitmq",
        tls="rabbitmqs",
        package="jmsbridge_rabbitmq",
        sockets=2,
        heartbeat="heartbeat",
        frame_end=frames.amqp_0_9_1,
        set_password=rabbitmq_administration.set_password,
        remove_queue=rabbitmq_administration.remove_queue,
    ),
    _amqp("artemis", artemis_administration.remove_queue, artemis_administration.set_password),
    _amqp(
        "activemq",
        activemq_administration.remove_queue,
        None,
        own_for_certificates=True,
        certificate_options={"login": "anonymous"},
    ),
    _amqp(
        "brokerj",
        brokerj_administration.remove_queue,
        brokerj_administration.set_password,
        options={"topic_prefix": "amq.topic/"},
        repeats=True,
        own_for_certificates=True,
    ),
    _amqp(
        "rabbitmq",
        rabbitmq_administration.remove_queue,
        rabbitmq_administration.set_password,
        repeats=True,
        durable=False,
    ),
    _stomp("artemis", 3, artemis_administration.remove_queue, artemis_administration.set_password),
    _stomp("activemq", 2, activemq_administration.remove_queue, None, repeats=True, own_for_certificates=True),
    Scheme(
        "pulsar",
        "pulsar",
        listener="binary",
        plain="pulsar",
        tls="pulsar+ssl",
        package="jmsbridge_pulsar",
        sockets=2,
        heartbeat=None,
        frame_end=frames.size_first,
        set_password=None,
        remove_queue=pulsar_administration.remove_queue,
        options={"single_address": "true"},
        repeats=True,
        certificates_elsewhere=True,
        module="_pulsar",
        same_sizes=False,
        has_rest=True,
    ),
)


def rows(*, slow: bool = False) -> list[Any]:
    """The rows as parameters, of a ``slow`` test or of any other."""
    return [
        pytest.param(
            each,
            id=each.name,
            marks=[pytest.mark.broker(each.broker), *([pytest.mark.long] if slow and each.repeats else [])],
        )
        for each in SCHEMES
    ]
