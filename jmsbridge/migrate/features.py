"""Which features of a broker a call needs, by their names in the table of capabilities."""

from collections.abc import Iterator, Sequence

from tree_sitter import Node

from jmsbridge.migrate.methods import Method
from jmsbridge.migrate.syntax import text

__all__ = ["USED", "needs", "of_selector", "of_subscription"]

_TRANSACTIONS = ("transactions", "send_transactions")

_ALWAYS: dict[str, tuple[str, ...]] = {
    "commit": _TRANSACTIONS,
    "rollback": _TRANSACTIONS,
    "createBrowser": ("browse",),
    "createDurableConsumer": ("durable", "exclusive_durable"),
    "createDurableSubscriber": ("durable", "exclusive_durable"),
    "createSharedConsumer": ("shared",),
    "createSharedDurableConsumer": ("shared_durable",),
    "createTemporaryQueue": ("temporary",),
    "createTemporaryTopic": ("temporary",),
    "createMapMessage": ("body_kinds",),
    "createObjectMessage": ("body_kinds",),
    "createStreamMessage": ("body_kinds",),
    "setClientID": ("client_id",),
    "setClientId": ("client_id",),
    "setDeliveryDelay": ("delivery_delay",),
    "withDeliveryDelay": ("delivery_delay",),
    "setPriority": ("priority",),
    "withPriority": ("priority",),
    "setTimeToLive": ("expiry",),
    "withTimeToLive": ("expiry",),
    "receiveNoWait": ("drain",),
    "receiveBodyNoWait": ("drain",),
    "publish": ("send_confirm",),
    "send": ("send_confirm",),
    "convertAndSend": ("send_confirm",),
    "sendAndReceive": ("send_confirm", "temporary"),
    "convertSendAndReceive": ("send_confirm", "temporary"),
    "request": ("send_confirm", "temporary"),
    "browse": ("browse",),
    "browseSelected": ("browse", "queue_selectors"),
    "receiveSelected": ("queue_selectors",),
    "receiveSelectedAndConvert": ("queue_selectors",),
    "setSubscriptionDurable": ("durable",),
    "setSubscriptionShared": ("shared",),
}
_SWITCHES = {"setClientID", "setClientId", "setSubscriptionDurable", "setSubscriptionShared"}
_BY_PROPERTY = {
    "JMSXGroupID": "message_groups",
    "JMSXDeliveryCount": "delivery_count",
}
_TYPED = {f"set{kind}Property" for kind in ("Byte", "Short", "Int", "Long", "Float", "Double", "Boolean")}
_SESSIONS = {"createSession", "createQueueSession", "createTopicSession", "createContext", "setSessionTransacted"}
_CONSUMERS = {"createConsumer", "createReceiver", "createSubscriber", "createBrowser"}
_SUBSCRIPTIONS = {
    "createDurableConsumer",
    "createDurableSubscriber",
    "createSharedConsumer",
    "createSharedDurableConsumer",
}

USED = frozenset(
    {
        *(name for names in _ALWAYS.values() for name in names),
        *_BY_PROPERTY.values(),
        "typed_properties",
        "queue_selectors",
        "topic_selectors",
        "no_local",
    }
)
"""Every feature that a call may need."""

_Given = Sequence[tuple[Node, str]]


def needs(method: Method, given: _Given, first: str | None) -> tuple[str, ...]:
    """The features that a call needs; ``given`` has its arguments with their types, empty where unknown, and ``first``
    the text of the first one, None if it is none or unknown.
    """
    is_off = method.name in _SWITCHES and text(given[0][0] if given else None) in ("false", "null")
    found = dict.fromkeys((*(() if is_off else _ALWAYS.get(method.name, ())), *_property(method, given, first)))
    for rule in (_transaction, _selector, _settings):
        found |= dict.fromkeys(rule(method, given))
    return tuple(found)


def of_selector(kind: str) -> tuple[str, ...]:
    """What a selector needs on this kind of destination."""
    return {"Queue": ("queue_selectors",), "Topic": ("topic_selectors",)}.get(
        kind, ("queue_selectors", "topic_selectors")
    )


def of_subscription(durable: bool, shared: bool) -> tuple[str, ...]:
    """What a subscription of that kind needs."""
    if shared:
        return ("shared_durable",) if durable else ("shared",)
    return ("durable", "exclusive_durable") if durable else ()


def _transaction(method: Method, given: _Given) -> Iterator[str]:
    first = text(given[0][0]) if given else ""
    if method.name in _SESSIONS and (
        first == "true" or any(text(node).endswith("SESSION_TRANSACTED") for node, _ in given)
    ):
        yield from _TRANSACTIONS


def _selector(method: Method, given: _Given) -> Iterator[str]:
    place = 1 if method.name in _CONSUMERS else 2 if method.name in _SUBSCRIPTIONS else None
    if place is None:
        return
    kind = "Topic" if method.name in _SUBSCRIPTIONS else next((_kind(each) for _, each in given[:1]), "")
    if method.name == "createBrowser":
        kind = "Queue"
    if len(given) > place and text(given[place][0]) not in ("null", '""'):
        yield from of_selector(kind)
    if len(given) > place + 1 and text(given[place + 1][0]) != "false":
        yield "no_local"


def _kind(type_: str) -> str:
    return type_.removeprefix("Temporary")


def _property(method: Method, given: _Given, first: str | None) -> Iterator[str]:
    if first in _BY_PROPERTY and "Property" in method.name:
        yield _BY_PROPERTY[first]
    elif method.name in _TYPED:
        yield "typed_properties"


def _settings(method: Method, given: _Given) -> Iterator[str]:
    """A send with delivery mode, priority and time to live; an unknown or another value than the default counts."""
    if method.takes is None or "ms" not in method.takes or method.name not in ("send", "publish"):
        return
    place = method.takes.index("ms")
    priority = text(given[place - 1][0])
    if priority != "4" and not priority.endswith("DEFAULT_PRIORITY"):
        yield "priority"
    if text(given[place][0]) not in ("0", "0L") and not text(given[place][0]).endswith("DEFAULT_TIME_TO_LIVE"):
        yield "expiry"
