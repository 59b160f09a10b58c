"""The networked backends, one row each: what the tests of this folder need to know of a scheme and its broker."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from integration.lab.broker import Broker
from integration.rabbitmq import administration as rabbitmq_administration
from integration.rabbitmq import frames as rabbitmq_frames
from jmsbridge.testing.proxy import Direction

__all__ = ["SCHEMES", "Boundaries", "Scheme"]


class Boundaries(Protocol):
    """A ``watch`` for the fault proxy that knows where the units of the protocol end."""

    def __call__(self, connection: int, direction: Direction, data: bytes) -> None:
        """Keep what passed."""

    def of(self, connection: int, direction: Direction) -> list[int]:
        """After how many bytes each unit of one connection ended; 0 is before the first."""

    def is_between(self, connection: int, direction: Direction) -> bool:
        """Whether what passed so far stops where a unit ends."""


@dataclass(frozen=True)
class Scheme:
    """One backend on one broker."""

    name: str
    """The scheme of its URLs."""
    broker: str
    """Its broker in ``integration.lab.table``."""
    listener: str
    """The broker's listener without TLS, which a test puts TLS in front of."""
    tls: str
    """The scheme of its URLs over TLS."""
    package: str
    """Of the backend."""
    sockets: int
    """How many a connection has that sends and receives."""
    heartbeat: str
    """The option with the seconds between two signs of life."""
    boundaries: Callable[[], Boundaries]
    set_password: Callable[[Broker, str, str], None]
    """Make a user with this password, or change it."""
    remove_queue: Callable[[Broker, str], None]


SCHEMES = (
    Scheme(
        "rabbitmq",
        "rabbitmq",
        listener="amqp",
        tls="rabbitmqs",
        package="jmsbridge_rabbitmq",
        sockets=2,
        heartbeat="heartbeat",
        boundaries=rabbitmq_frames.Boundaries,
        set_password=rabbitmq_administration.set_password,
        remove_queue=rabbitmq_administration.remove_queue,
    ),
)
