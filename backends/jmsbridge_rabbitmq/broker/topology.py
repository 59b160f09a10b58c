"""How destinations and subscriptions are mapped to queues and exchanges, and the conversations that create them.

The names are those of RabbitMQ's Java client for JMS, so that both use the same queues:

=======================  ============================================================================================
queue ``q``              the queue ``q``, reached through the default exchange
topic ``t``              the key ``t`` in the exchange ``jms.durable.topic``; each subscription is a queue bound to it
temporary queue          an exclusive queue
temporary topic          its key in ``jms.temp.topic``, and an exclusive queue of its name as the mark of its owner
durable subscription     the queue ``<client id>.<name>``, or ``<name>`` as in Java
shared, not durable      the queue ``jms-cons-shared-<client id>.<name>``, deleted after a minute without use
other subscription       an exclusive queue
definition               the exchange ``jms.definition.<queue>``, bound only to the queue and deleted with it; the name
                         of its alternate exchange, which does not exist, is a digest of topic, selector and no_local
selector at the broker   the exchange ``jms-dutop-slx-…`` or ``jms-ndtop-slx-…`` between the topics' exchange and the
                         queue, deleted with it
=======================  ============================================================================================

Everything is created only if it is missing: what exists may have other arguments, and using it needs fewer permissions
than declaring it.
"""

import contextlib
import hashlib
from typing import Any

import msgspec

from jmsbridge.spi import Address, AddressInUse, SubscriptionRefused, SubscriptionUnknown
from jmsbridge_rabbitmq.broker import selector_exchanges
from jmsbridge_rabbitmq.broker.conversations import Ask, Conversation, Pause
from jmsbridge_rabbitmq.broker.queue_kinds import Kind, QueueKinds
from jmsbridge_rabbitmq.protocol.errors import ChannelException
from jmsbridge_rabbitmq.protocol.names import check, client_queue

__all__ = [
    "TEMPORARY_TOPICS",
    "TOPICS",
    "Definition",
    "Names",
    "client_lock",
    "define",
    "delete_queue",
    "end_subscription",
    "ensure_exchange",
    "ensure_queue",
    "exclusive_queue",
    "find_queue",
    "lock",
    "temporary",
    "unsubscribe",
]

TOPICS = "jms.durable.topic"
TEMPORARY_TOPICS = "jms.temp.topic"
_EXPIRES = 60_000  # ms for which a shared subscription outlives its last consumer, to survive a reconnect
_CHECKS = 50  # how often to ask a quorum queue for its consumers: it learns late that one has ended
_CHECK_INTERVAL = 0.02  # seconds between two checks


class Names(msgspec.Struct, frozen=True):
    """The names of the queues of named subscriptions; ``java`` omits the client id, like the Java client."""

    client_id: str | None
    java: bool

    def durable(self, key: str) -> str:
        """The queue of a durable subscription, shared or not."""
        return key if self.java else self._own(key)

    def shared(self, key: str) -> str:
        """The queue of a shared subscription that is not durable."""
        return f"jms-cons-shared-{self._own(key)}"

    def _own(self, key: str) -> str:
        # dots are escaped, or "a.b" + "c" would equal "a" + "b.c"
        client = (self.client_id or "").replace("%", "%25").replace(".", "%2E")
        return f"{client}.{key}"


class Definition(msgspec.Struct, frozen=True, kw_only=True):
    """A named subscription: its queue, and the properties that define it."""

    queue: str
    topic: str
    durable: bool
    shared: bool
    selector: str | None
    no_local: bool
    term: str | None = None  # the selector for the broker's plugin, if it is used

    @property
    def marker(self) -> str:
        """The exchange that holds the digest."""
        name = f"jms.definition.{self.queue}"
        return name if len(name.encode()) <= 200 else f"jms.definition.{_hash(self.queue)}"

    @property
    def digest(self) -> str:
        """The digest of the definition; begins like the exchange's name, so that the same permissions apply to both."""
        parts = (self.topic, self.selector or "", self.no_local, *(("broker",) if self.term is not None else ()))
        return f"jms.definition.{_hash(repr(parts))}"

    @property
    def sort(self) -> str:
        """The exchange's type, which distinguishes shared from unshared subscriptions."""
        return "direct" if self.shared else "fanout"


def _hash(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:24]


# -- queues and exchanges


def _passive(queue: str) -> Ask:
    return Ask("queue_declare", {"queue": queue, "passive": True})


def find_queue(queue: str) -> Conversation:
    """The numbers of waiting messages and of consumers of a queue."""
    answer = yield _passive(queue)
    return answer.message_count, answer.consumer_count


def ensure_queue(queue: str, kinds: QueueKinds) -> Conversation:
    """Create a durable queue unless it exists."""
    check(queue)
    try:
        yield _passive(queue)
    except ChannelException as no:
        if no.code == 405:
            return  # another connection's temporary queue: sends to it are allowed
        if no.code != 404:
            raise
        yield from _make(queue, kinds)


def _make(queue: str, kinds: QueueKinds) -> Conversation:
    try:
        yield from kinds.declare(queue)
    except ChannelException as other:
        if other.code != 406:
            raise
        yield _passive(queue)  # another client has created it meanwhile, with other arguments


def ensure_exchange(name: str) -> Conversation:
    """Create one of the two exchanges for topics unless it exists."""
    arguments = {"exchange": name, "exchange_type": "topic"}
    try:
        yield Ask("exchange_declare", {**arguments, "passive": True})
    except ChannelException as no:
        if no.code != 404:
            raise
        yield Ask("exchange_declare", {**arguments, "durable": name == TOPICS})


def delete_queue(queue: str, what: str, kinds: QueueKinds) -> Conversation:
    """Delete a queue; AddressInUse while it has consumers."""
    if not (yield from _delete_unused(queue, kinds)):
        raise AddressInUse(f"{what} has consumers; close them first")


def _delete_unused(queue: str, kinds: QueueKinds) -> Conversation:
    """Delete a queue unless it has consumers; return whether it was. Only classic queues check it in the same step."""
    answer = yield _passive(queue)
    kind = yield from kinds.kind_of(queue)
    checks = 1 if kind.type == "classic" else _CHECKS
    while answer.consumer_count:
        checks -= 1
        if not checks:
            return False
        yield Pause(_CHECK_INTERVAL)
        answer = yield _passive(queue)
    try:
        yield Ask("queue_delete", {"queue": queue, "if_unused": kind.type == "classic"})
    except ChannelException as no:
        if no.code != 406:
            raise
        return False
    kinds.forget(queue)
    return True


# -- subscriptions


def exclusive_queue(queue: str, exchange: str, topic: str, term: str | None, kinds: QueueKinds) -> Conversation:
    """Create the queue of a subscription that ends with its consumer; ``term`` is the selector for the plugin."""
    check(topic)
    yield from ensure_exchange(exchange)
    yield Ask("queue_declare", {"queue": queue, "exclusive": True})
    kinds.note(queue, Kind("classic"))  # exclusive queues are always classic
    yield from _bind(queue, exchange, topic, term, durable=False)


def _bind(queue: str, exchange: str, topic: str, term: str | None, *, durable: bool) -> Conversation:
    if term is None:
        yield Ask("queue_bind", {"queue": queue, "exchange": exchange, "routing_key": topic})
    else:
        yield from selector_exchanges.bind(queue, exchange, topic, term, durable=durable)


def define(sub: Definition, kinds: QueueKinds) -> Conversation:
    """Find or create the queue of a named subscription.

    A queue with another definition is deleted with its messages; SubscriptionRefused if it has consumers.
    """
    check(sub.queue)
    check(sub.topic)
    yield from ensure_exchange(TOPICS)
    for _ in range(3):
        consumers = yield from _consumers(sub)
        try:
            yield Ask("exchange_declare", _marker(sub))
        except ChannelException as no:
            if no.code != 406:
                raise
            yield from _replace(sub, kinds, consumers, no)
            continue
        if consumers is None:
            yield from _make_subscription(sub, kinds)
        yield from _bind(sub.queue, TOPICS, sub.topic, sub.term, durable=sub.durable)
        if sub.term is not None and consumers == 0:  # remove the binding of Java without a selector
            yield Ask("queue_unbind", {"queue": sub.queue, "exchange": TOPICS, "routing_key": sub.topic})
        yield Ask("queue_bind", {"queue": sub.queue, "exchange": sub.marker, "routing_key": ""})
        return
    raise SubscriptionRefused(f"subscription {sub.queue!r} is being changed by another client; try again")


def _consumers(sub: Definition) -> Conversation:
    try:
        answer = yield _passive(sub.queue)
    except ChannelException as no:
        if no.code == 404:
            return None
        if no.code == 405:
            raise SubscriptionRefused(
                f"subscription {sub.queue!r}: another connection has an exclusive queue of that name"
            ) from no
        raise
    return answer.consumer_count


def _marker(sub: Definition) -> dict[str, Any]:
    arguments = {"alternate-exchange": sub.digest}
    flags = {"durable": True, "auto_delete": True, "internal": True}
    return {"exchange": sub.marker, "exchange_type": sub.sort, **flags, "arguments": arguments}


def _make_subscription(sub: Definition, kinds: QueueKinds) -> Conversation:
    if sub.durable:
        yield from _make(sub.queue, kinds)
    else:  # ends with its last consumer; only a classic queue checks for consumers in the same step
        arguments = {"x-expires": _EXPIRES, "x-queue-type": "classic"}
        yield Ask("queue_declare", {"queue": sub.queue, "durable": True, "arguments": arguments})


def _replace(sub: Definition, kinds: QueueKinds, consumers: int | None, no: ChannelException) -> Conversation:
    """Delete a subscription with another definition, if it has no consumers."""
    if consumers is not None and "arg 'type'" in no.text:
        sort = "an unshared" if sub.shared else "a shared"
        raise SubscriptionRefused(f"subscription {sub.queue!r} exists as {sort} one; unsubscribe it first") from no
    if consumers:
        raise SubscriptionRefused(
            f"subscription {sub.queue!r} is in use with another topic, selector or no_local; close its consumers first"
        ) from no
    if consumers is not None and not (yield from _delete_unused(sub.queue, kinds)):
        raise SubscriptionRefused(
            f"subscription {sub.queue!r} is in use with another definition; close its consumers first"
        ) from no
    yield Ask("exchange_delete", {"exchange": sub.marker})  # unless it was deleted with the queue


def end_subscription(queue: str | None, lock: str | None, kinds: QueueKinds) -> Conversation:
    """Clean up after the last consumer of this link: delete the lock, and ``queue`` if no consumer is left.

    Refusals are ignored: the broker deletes these later, or has done so.
    """
    if lock is not None:
        with contextlib.suppress(ChannelException):
            yield Ask("queue_delete", {"queue": lock})
    if queue is not None:
        with contextlib.suppress(ChannelException):
            yield from _delete_unused(queue, kinds)


def unsubscribe(queue: str, key: str, kinds: QueueKinds) -> Conversation:
    """Delete a durable subscription that has no consumer."""
    try:
        deleted = yield from _delete_unused(queue, kinds)
    except ChannelException as no:
        if no.code == 404:
            raise SubscriptionUnknown(f"there is no durable subscription {key!r} (queue {queue!r})") from no
        raise
    if not deleted:
        raise SubscriptionRefused(f"subscription {key!r} has a consumer; close it first")


# -- what belongs to a link


def lock(queue: str) -> Conversation:
    """Lock a subscription whose queue does not refuse a second consumer, and return the name of the lock.

    SubscriptionRefused if another link has locked it; this link must not lock it twice.
    """
    name = f"jms-lock-{_hash(queue)}"
    try:
        yield Ask("queue_declare", {"queue": name, "exclusive": True})
    except ChannelException as no:
        if no.code != 405:
            raise
        raise SubscriptionRefused(
            f"subscription {queue!r} has a consumer on another connection; close it first"
        ) from no
    return name


def client_lock(client_id: str) -> Conversation:
    """Reserve a client id by an exclusive queue, which ends with the connection; AddressInUse if it is in use."""
    yield Ask("queue_declare", {"queue": client_queue(client_id), "exclusive": True})


def temporary(address: Address) -> Conversation:
    """Create a temporary destination of this connection.

    For a topic this is an exclusive queue of length 0, bound to the topic, so that sends are routed while it exists.
    """
    check(address.name)
    if not address.topic:
        yield Ask("queue_declare", {"queue": address.name, "exclusive": True})
        return
    yield from ensure_exchange(TEMPORARY_TOPICS)
    yield Ask("queue_declare", {"queue": address.name, "exclusive": True, "arguments": {"x-max-length": 0}})
    yield Ask("queue_bind", {"queue": address.name, "exchange": TEMPORARY_TOPICS, "routing_key": address.name})
