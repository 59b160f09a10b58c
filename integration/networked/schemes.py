"""The networked backends, one row each: the facts that the tests of this folder need."""

from collections.abc import Callable
from dataclasses import dataclass

from integration.activemq import administration as activemq_administration
from integration.artemis import administration as artemis_administration
from integration.lab.broker import Broker
from integration.networked import frames
from integration.rabbitmq import administration as rabbitmq_administration

__all__ = ["SCHEMES", "Scheme"]


@dataclass(frozen=True)
class Scheme:
    """One backend on one broker."""

    name: str
    """Its name in test ids."""
    broker: str
    """Its broker in ``integration.lab.table``."""
    listener: str
    """The broker's listener without TLS, in front of which tests put TLS."""
    tls: str
    """The scheme of its URLs over TLS."""
    package: str
    """The backend's implementation of Link."""
    sockets: int
    """How many sockets a connection has that sends and receives."""
    heartbeat: str
    """The option with the seconds between heart-beats."""
    frame_end: frames.FrameEnd
    """Finds the ends of its frames."""
    set_password: Callable[[Broker, str, str], None] | None
    """Create a user with this password, or change the password; None where that needs a restart."""
    remove_queue: Callable[[Broker, str], None]
    certificates: bool = True
    """Whether its users can log in with a certificate."""
    module: str | None = None
    """The module of its client library, where that may be missing."""


def _amqp(
    broker: str,
    remove: Callable[[Broker, str], None],
    set_password: Callable[[Broker, str, str], None] | None,
    certificates: bool = True,
) -> Scheme:
    return Scheme(
        f"{broker}-amqp",
        broker,
        listener="amqp",
        tls="amqps",
        package="jmsbridge_amqp",
        sockets=1,
        heartbeat="heartbeat",
        frame_end=frames.amqp_1_0,
        set_password=set_password,
        remove_queue=remove,
        certificates=certificates,
        module="proton",
    )


SCHEMES = (
    Scheme(
        "rabbitmq",
        "rabbitmq",
        listener="amqp",
        tls="rabbitmqs",
        package="jmsbridge_rabbitmq",
        sockets=2,
        heartbeat="heartbeat",
        frame_end=frames.amqp_0_9_1,
        set_password=rabbitmq_administration.set_password,
        remove_queue=rabbitmq_administration.remove_queue,
    ),
    _amqp("artemis", artemis_administration.remove_queue, artemis_administration.set_password),
    _amqp("activemq", activemq_administration.remove_queue, None, certificates=False),
)
