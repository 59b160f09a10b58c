"""What all channels and subscriptions of a link share."""

from collections.abc import Callable
from typing import NamedTuple

from jmsbridge.spi import LinkEvents, Native
from jmsbridge_stomp.connection.errors import Refusal
from jmsbridge_stomp.connection.products import Product
from jmsbridge_stomp.connection.sockets import Sockets
from jmsbridge_stomp.connection.stomp_socket import StompSocket
from jmsbridge_stomp.messages.wire import Encoder
from jmsbridge_stomp.sending.commit_rule import CommitRule

__all__ = ["LinkFacts", "NewSocket"]

NewSocket = Callable[[Callable[[Refusal], None]], StompSocket]
"""Makes a socket that is not connected yet; takes what is told of its end."""


class LinkFacts(NamedTuple):
    """``main`` is the socket that every link has. ``active`` has the durable subscriptions with a consumer.

    ``sender`` is written into messages to topics, for no-local; ``dead_letters`` is empty if there is no such queue.
    """

    sockets: Sockets
    main: StompSocket
    new_socket: NewSocket
    product: Product
    native: Native
    encoder: Encoder
    rule: CommitRule
    sender: str
    client_id: str | None
    dead_letters: str
    active: set[str]
    events: LinkEvents
