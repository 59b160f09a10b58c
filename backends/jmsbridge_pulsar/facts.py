"""What the parts of a link know of it."""

from collections.abc import Callable
from typing import NamedTuple, Protocol

from jmsbridge.spi import Address, LinkEvents, Native
from jmsbridge.transport.network.link_life import Done, LinkLife
from jmsbridge_pulsar.administration.rest import Rest
from jmsbridge_pulsar.connection.attachments import Attached, Controlled
from jmsbridge_pulsar.connection.library import Library
from jmsbridge_pulsar.connection.options import PulsarOptions
from jmsbridge_pulsar.messages.names import Names
from jmsbridge_pulsar.sending.outgoing import Outgoing

__all__ = ["NATIVE", "LinkFacts", "Sending"]

NATIVE = (
    Native.SEND_CONFIRM
    | Native.TYPED_PROPERTIES
    | Native.BODY_KINDS
    | Native.DURABLE
    | Native.SHARED
    | Native.SHARED_DURABLE
    | Native.CLIENT_ID
    | Native.EXCLUSIVE_DURABLE
    | Native.DELAY
    | Native.EXPIRY
    | Native.CREDIT
    | Native.RETURN
    | Native.UNLIMITED_REQUEUE
    | Native.REJECT
    | Native.NO_LOCAL
    | Native.BROWSE
)
"""The most that this backend can do: ``BROWSE`` only with an ``admin_url``."""


class Sending(Protocol):
    """The producers of a link, for the I/O thread."""

    def send(self, outgoing: Outgoing) -> None:
        """Pass a message on; ``flush`` follows in the same batch of work."""

    def flush(self) -> None:
        """Close the entries of all producers."""


class LinkFacts(NamedTuple):
    """One link."""

    life: LinkLife
    library: Library
    options: PulsarOptions
    events: LinkEvents
    native: Native
    names: Names
    sender: str
    """Its id in messages, by which a consumer recognises those of its own connection."""
    client_id: str | None
    rest: Rest | None
    producers: Sending
    producer: Callable[[str, str], Attached | None]
    """The library's producer on a topic, by its name; I/O thread."""
    consumer: Callable[[str, int], Attached | None]
    """The library's consumer of this name on a partition; I/O thread."""
    controlled: dict[str, Controlled]
    """By the name of a consumer, who gives it credit."""
    make_queue: Callable[[Address, Done], None]
    """Make the subscription of a queue, unless it is a topic or known already; I/O thread."""
    largest: int
    """Bytes of the largest message that the broker takes."""
