"""What all channels and subscriptions of a link share."""

from collections.abc import Callable
from typing import NamedTuple

from jmsbridge.spi import LinkEvents, Native
from jmsbridge_amqp.connection.driver import Driver
from jmsbridge_amqp.connection.products import Product
from jmsbridge_amqp.messages.wire import Encoder, Naming
from jmsbridge_amqp.nodes.nodes import Nodes
from jmsbridge_amqp.receiving.asking import OtherLink
from jmsbridge_amqp.receiving.subscription_names import SubscriptionNames
from jmsbridge_amqp.sending.copier import Copier

__all__ = ["LinkFacts"]


class LinkFacts(NamedTuple):
    """``relay`` says that one link can send to any address, because each message names its own.

    ``nodes`` creates queues where links do not. ``structures`` is the option ``maps_and_streams``. ``other`` opens a
    second link to the same broker, for questions; None on such a link.
    """

    driver: Driver
    product: Product
    native: Native
    naming: Naming
    encoder: Encoder
    names: SubscriptionNames
    copier: Copier
    nodes: Nodes | None
    dead_letters: str
    relay: bool
    structures: bool
    client_id: str | None
    events: LinkEvents
    other: Callable[[], OtherLink] | None
