"""What must be known of a broker by its product, because AMQP 1.0 has no way to ask."""

from typing import Any, Final

import msgspec

from jmsbridge.spi import Address, Native
from jmsbridge.transport.literal_names import check_key, check_literal

__all__ = ["ARTEMIS", "CLASSIC", "GENERIC", "RABBITMQ", "Product", "product_of"]

_MESSAGES: Final = (
    Native.SEND_CONFIRM | Native.TYPED_PROPERTIES | Native.BODY_KINDS | Native.CREDIT | Native.DRAIN | Native.REJECT
)
_ACTIVEMQ: Final = (
    _MESSAGES
    | Native.BROWSE
    | Native.QUEUE_SELECTORS
    | Native.TOPIC_SELECTORS
    | Native.NO_LOCAL
    | Native.PRIORITY
    | Native.EXPIRY
    | Native.UNLIMITED_REQUEUE
    | Native.DURABLE
    | Native.EXCLUSIVE_DURABLE
    | Native.CLIENT_ID
    | Native.GROUPS
    | Native.TRANSACTIONS
    | Native.SEND_TRANSACTIONS
)


class Product(msgspec.Struct, frozen=True, kw_only=True):
    """One product. ``native`` is what it always has; what a broker offers when the connection opens is added."""

    name: str
    native: Native
    queue_prefix: str = ""
    topic_prefix: str = ""
    """Written before names, unless the broker says other ones when the connection opens."""
    dead_letters: str
    """Its own dead-letter queue."""
    own_selectors: bool = False
    """Selectors must be rewritten as ``artemis_selectors`` says."""
    zero_sequences: bool = False
    """To selectors, a message without group sequence has the sequence 0."""
    keeps_returned: bool = False
    """A message that is returned stays with its receiver until that is closed, and is marked as redelivered only if
    the whole session ends."""
    syntax: tuple[str, ...] = ()
    """Texts with a special meaning in a name, so that a destination with such a name is refused."""
    wildcards: tuple[str, ...] = ()
    """Wildcards; they stand for words between full stops."""
    clash_ends_connection: bool = False
    """A consumer of a shared non-durable subscription with another topic or selector ends the whole connection."""
    returns_by_turn: bool = False
    """Returned messages come again in the order in which they were returned, but released ones later than modified."""
    names_queues: bool = False
    """The queue of a subscription can be consumed as ``ADDRESS::QUEUE``."""
    drain_checks: int = 0
    """How many answers to drains may belong to an earlier drain; see ``Receiver``."""
    answers_all: bool = False
    """Every message must ask for an answer: the broker closes the connection when messages that do and messages that
    do not come over one link."""
    management: str = ""
    """The address that takes management messages; empty if the product has none over AMQP 1.0."""
    needs_nodes: bool = False
    """Queues must exist before a link can use them, names are escaped as in URLs, and topics are an exchange."""
    rest: float = 0.0
    """Seconds for which no session is begun after another has ended: the broker forgets a begin that comes while the
    session that had the number before is shutting down."""
    shared_pause: float = 0.0
    """Seconds for which no shared non-durable subscription is begun after another has ended: the broker deletes its
    queue late, also under a new consumer. See ``SubscriptionNames``."""
    hides_sharing: bool = False
    """Only a second consumer shows whether a durable subscription is shared."""
    group_channels: int = 1
    """How many connections a session's groups of sends are worth: the broker waits for the disk at each message of a
    connection, also in a transaction, but those of several connections are written together."""

    def check(self, address: Address) -> None:
        """AddressRefused for a name in which this broker finds a wildcard, an option, or more than one name."""
        check_literal(address, self.name, self.syntax, self.wildcards)

    def check_key(self, key: str, client_id: str | None) -> None:
        """AddressRefused for the name of a subscription which this broker would not find again."""
        check_key(key, self.name, self.syntax if self.names_queues and client_id is None else ())


ARTEMIS: Final = Product(
    name="Artemis",
    native=_ACTIVEMQ | Native.RETURN | Native.FAIL | Native.RELEASE | Native.DUPLICATE_DETECTION,
    dead_letters="DLQ",
    own_selectors=True,
    zero_sequences=True,
    clash_ends_connection=True,
    names_queues=True,
    syntax=("::", "?"),
    wildcards=("*", "#"),
    drain_checks=2,
    management="activemq.management",
    shared_pause=0.2,
    hides_sharing=True,
)
CLASSIC: Final = Product(
    name="ActiveMQ Classic",
    native=_ACTIVEMQ,
    queue_prefix="queue://",
    topic_prefix="topic://",
    dead_letters="ActiveMQ.DLQ",
    drain_checks=2,
    zero_sequences=True,
    keeps_returned=True,
    syntax=(",", "?"),
    wildcards=("*", ">"),
    group_channels=8,
)
RABBITMQ: Final = Product(
    name="RabbitMQ",
    native=_MESSAGES | Native.RETURN | Native.FAIL,
    queue_prefix="/queues/",
    topic_prefix="/exchanges/amq.topic/",
    dead_letters="jms.dlq",
    wildcards=("*", "#"),
    needs_nodes=True,
    returns_by_turn=True,
    rest=0.05,
)
GENERIC: Final = Product(
    name="the broker",
    native=_MESSAGES
    | Native.RETURN
    | Native.FAIL
    | Native.DURABLE
    | Native.BROWSE
    | Native.QUEUE_SELECTORS
    | Native.TOPIC_SELECTORS,
    dead_letters="jms.dlq",
    answers_all=True,
)

_BY_NAME: Final = {"apache-activemq-artemis": ARTEMIS, "activemq": CLASSIC, "rabbitmq": RABBITMQ}


def product_of(properties: dict[Any, Any] | None) -> tuple[Product, str]:
    """The product, by what the broker says of itself when the connection opens; and its name with its version."""
    said = {str(key): value for key, value in (properties or {}).items()}
    product = str(said.get("product") or "")
    row = _BY_NAME.get(product.lower(), GENERIC)
    row = msgspec.structs.replace(
        row,
        queue_prefix=str(said.get("queue-prefix") or row.queue_prefix),
        topic_prefix=str(said.get("topic-prefix") or row.topic_prefix),
    )
    name = row.name if row.name != GENERIC.name or not product else product
    return row, f"{name} {said.get('version') or ''}".strip()
