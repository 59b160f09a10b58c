"""Names of destinations: a name means the same on every broker.

Each Java client gives some names a special meaning. ``TABLE`` says how they are treated here: a prefix that repeats the
kind of destination is removed, a form that means exactly one name is kept as a name, and everything else is refused,
since otherwise a queue with an unexpected name would silently be created.
"""

import re
from collections.abc import Callable

import msgspec

from jmsbridge.errors import InvalidDestinationException

__all__ = ["TABLE", "Syntax", "plain_name"]


class Syntax(msgspec.Struct, frozen=True):
    """A form of names with a special meaning: an ``example``, ``whose`` client gives it one, and what it ``means``.

    ``here`` says how it is treated. ``found`` finds it in a name; None where nothing is refused.
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
        "a destination of that kind, whichever method is called",
        "refused: use the method for that kind; send a reply to the `jms_reply_to` of its request",
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
        "a composite of several destinations",
        "refused: create each of them, and send to each",
        re.compile(",").search,
    ),
    Syntax(
        "orders::eu",
        "Artemis",
        "a queue at an address",
        "refused: give the name of the queue; a subscription is consumed by `create_shared_durable_consumer`",
        re.compile("::").search,
    ),
    Syntax(
        "orders?consumer.exclusive=true",
        "ActiveMQ, Artemis, Starlight for JMS",
        "a queue, with options for the consumer, the producer or the queue",
        "refused: give the name alone; options are arguments of methods, such as `prefetch`",
        re.compile(r"\?[\w.-]+=").search,
    ),
    Syntax(
        "orders.*",
        "ActiveMQ, Artemis, RabbitMQ (topics)",
        "all destinations that match; a word between dots is `*`, `#` or `>`",
        "refused: name each destination, or publish to one topic and use selectors",
        _wildcard,
    ),
    Syntax(
        "persistent://tenant/space/orders",
        "Pulsar",
        "the full name of a topic",
        "a name like any other; on Pulsar the full name",
    ),
    Syntax(
        "VirtualTopic.orders, Consumer.eu.VirtualTopic.orders",
        "ActiveMQ Classic",
        "whatever the broker's configuration says about such names",
        "a name like any other; so are `ActiveMQ.Advisory.…`, `jms.queue.…`, `amq.…` and `orders:eu`",
    ),
)
"""Checked in this order."""


def plain_name(name: object, *, topic: bool, literal: bool = False) -> str:
    """The destination's name; InvalidDestination for a name with a special meaning, unless it is ``literal``.

    A topic name that is a pattern is refused even then: a broker with patterns cannot subscribe to that topic alone.
    """
    if not isinstance(name, str) or not name:
        raise InvalidDestinationException(f"{name!r} is not a destination name: a non-empty string is needed")
    if literal:
        if topic and _wildcard(name):
            raise InvalidDestinationException(f"{name!r} is a pattern, which cannot be the name of a topic")
        return name
    prefix = "topic://" if topic else "queue://"
    meant = name if name.startswith(f"{prefix}/") else name.removeprefix(prefix)
    if not meant:
        raise InvalidDestinationException(f"{name!r} is not a destination name: the part after {prefix} is empty")
    for syntax in TABLE:
        if syntax.found is not None and syntax.found(meant):
            raise InvalidDestinationException(_refusal(name, syntax, topic))
    return meant


def _refusal(name: str, syntax: Syntax, topic: bool) -> str:
    remedy = syntax.here.partition("refused: ")[2]
    exact = "" if topic and _wildcard(name) else "; with literal=True it is used as a plain name"
    means = syntax.means.partition(";")[0]
    return f"{name!r} has a special meaning for {syntax.whose}: {means}. Here, {remedy}{exact}".replace("`", "")
