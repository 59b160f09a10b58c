"""What the name of a destination means: itself, and nothing else, on every broker.

Java's clients give some names another meaning, each client to its own. ``TABLE`` says what becomes of them here: the
prefix that says what the call says already is taken off, what means exactly one name stays one, and the rest is refused
instead of becoming, without a word, a queue of a strange name that nobody else reads.
"""

import re
from collections.abc import Callable

import msgspec

from jmsbridge.errors import InvalidDestinationException

__all__ = ["TABLE", "Syntax", "plain_name"]


class Syntax(msgspec.Struct, frozen=True):
    """A form of names that means more than a name to some client: ``example``, whose it is, and what it means there.

    ``here`` says what becomes of it. ``found`` finds it in a name; None where nothing is refused.
    """

    example: str
    whose: str
    means: str
    here: str
    found: Callable[[str], object] | None = None


_WILDCARDS = frozenset("*#>")


def _wildcard(name: str) -> bool:
    return not _WILDCARDS.isdisjoint(name.split("."))


TABLE: tuple[Syntax, ...] = (
    Syntax(
        "queue://orders",
        "ActiveMQ, Qpid, STOMP",
        "the queue orders",
        "in `create_queue` the queue `orders`, and `topic://news` in `create_topic` the topic `news`",
    ),
    Syntax(
        "queue:///orders?targetClient=1",
        "IBM MQ",
        "a queue, with options",
        "refused: give the name alone",
        re.compile("(queue|topic):///").match,
    ),
    Syntax(
        "topic://news",
        "ActiveMQ, Qpid",
        "a destination of that kind, whatever the call says",
        "refused: use the call for the kind that is meant, and the `jms_reply_to` of a request for a temporary one",
        re.compile("(temp-)?(queue|topic)://").match,
    ),
    Syntax(
        "/queue/orders",
        "STOMP, RabbitMQ's AMQP 1.0",
        "a queue; also `/queues/…`, `/topic/…`, `/exchanges/…`, `/amq/queue/…` and the like",
        "refused: give the name alone",
        re.compile(r"/(queues?|topics?|exchanges?|amq/queue|dsub|reply-queue|(remote-)?temp-(queue|topic))/").match,
    ),
    Syntax(
        "orders,audit",
        "ActiveMQ Classic",
        "several destinations as one, a composite",
        "refused: make each of them, and send to each",
        re.compile(",").search,
    ),
    Syntax(
        "orders::eu",
        "Artemis",
        "a queue of an address",
        "refused: give the name of the queue; a subscription is consumed by `create_shared_durable_consumer`",
        re.compile("::").search,
    ),
    Syntax(
        "orders?consumer.exclusive=true",
        "ActiveMQ, Artemis, Starlight for JMS",
        "a queue, with options for the consumer, the producer or the queue",
        "refused: give the name alone; this client's options are arguments, such as `prefetch`",
        re.compile(r"\?[\w.-]+=").search,
    ),
    Syntax(
        "orders.*",
        "ActiveMQ, Artemis, RabbitMQ (topics)",
        "all destinations that match; a word between dots is `*`, `#` or `>`",
        "refused: name each destination, or publish what belongs together to one topic and select",
        _wildcard,
    ),
    Syntax(
        "persistent://tenant/space/orders",
        "Pulsar",
        "the full name of a topic",
        "a name like any other, and on Pulsar that full one",
    ),
    Syntax(
        "VirtualTopic.orders, Consumer.eu.VirtualTopic.orders",
        "ActiveMQ Classic",
        "what the broker's configuration says of such names",
        "a name like any other; so are `ActiveMQ.Advisory.…`, `jms.queue.…`, `amq.…` and `orders:eu`",
    ),
)
"""In the order of asking."""


def plain_name(name: object, *, topic: bool, literal: bool = False) -> str:
    """The name that is meant; InvalidDestination for what means something else elsewhere, unless it is ``literal``.

    A topic whose name is a pattern is refused even so: where there are patterns, nobody can subscribe to it alone.
    """
    if not isinstance(name, str) or not name:
        raise InvalidDestinationException(f"{name!r} is not a destination name: a non-empty string is needed")
    if literal:
        if topic and _wildcard(name):
            raise InvalidDestinationException(f"{name!r} is a pattern; where topics have patterns, none is called so")
        return name
    prefix = "topic://" if topic else "queue://"
    meant = name if name.startswith(f"{prefix}/") else name.removeprefix(prefix)
    if not meant:
        raise InvalidDestinationException(f"{name!r} is not a destination name: there is nothing behind {prefix}")
    for syntax in TABLE:
        if syntax.found is not None and syntax.found(meant):
            raise InvalidDestinationException(_refusal(name, syntax, topic))
    return meant


def _refusal(name: str, syntax: Syntax, topic: bool) -> str:
    remedy = syntax.here.partition("refused: ")[2]
    exact = "" if topic and _wildcard(name) else "; with literal=True it is a name and nothing else"
    means = syntax.means.partition(";")[0]
    return f"{name!r} is more than a name to {syntax.whose}: {means}. Here {remedy}{exact}".replace("`", "")
