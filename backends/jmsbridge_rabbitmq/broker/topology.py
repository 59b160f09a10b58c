"""What stands for queues, topics and subscriptions on the broker, and the conversations that make it.

The names are those of RabbitMQ's Java client for JMS, so both use the same queues:

=======================  ============================================================================================
queue ``q``              the queue ``q``, reached through the default exchange
topic ``t``              the key ``t`` in the exchange ``jms.durable.topic``; each subscription is a queue bound to it
temporary queue          an exclusive queue
temporary topic          its key in ``jms.temp.topic``, and an exclusive queue of its name that shows who owns it
durable subscription     the queue ``<client id>.<name>``, or ``<name>`` as in Java
shared, not durable      the queue ``jms-cons-shared-<client id>.<name>``, gone after a minute unused
other subscription       an exclusive queue
definition               the exchange ``jms.definition.<queue>``: bound to nothing but the queue, it goes with it; its
                         alternate exchange, which nothing uses, is a digest of topic, selector and no_local
selector at the broker   the exchange ``jms-dutop-slx-…`` or ``jms-ndtop-slx-…`` between the topics' and the queue, with
                         which it goes
=======================  ============================================================================================

Everything is looked for first and made only where it is missing: what exists may differ from what we would make, and
to use it needs fewer permissions than to declare it.
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
_EXPIRES = 60_000  # ms a shared subscription outlives its last consumer, for the sake of a reconnect
_LOOKS = 50  # at the consumers of a quorum queue, which is told a little later that one has ended
_BETWEEN = 0.02  # seconds between two looks


class Names(msgspec.Struct, frozen=True):
    """How the queues of named subscriptions are called; ``java`` leaves the client id out, as Java does."""

    client_id: str | None
    java: bool

    def durable(self, key: str) -> str:
        """The queue of a durable subscription, shared or not."""
        return key if self.java else self._own(key)

    def shared(self, key: str) -> str:
        """The queue of a shared subscription that is not durable."""
        return f"jms-cons-shared-{self._own(key)}"

    def _own(self, key: str) -> str:
        # a dot in the client id would make "a.b" + "c" the same as "a" + "b.c"
        client = (self.client_id or "").replace("%", "%25").replace(".", "%2E")
        return f"{client}.{key}"


class Definition(msgspec.Struct, frozen=True, kw_only=True):
    """A named subscription: its queue, and what makes another subscription of that name another one."""

    queue: str
    topic: str
    durable: bool
    shared: bool
    selector: str | None
    no_local: bool
    term: str | None = None  # the selector for the broker, where that is to select

    @property
    def marker(self) -> str:
        """The exchange that holds the digest."""
        name = f"jms.definition.{self.queue}"
        return name if len(name.encode()) <= 200 else f"jms.definition.{_hash(self.queue)}"

    @property
    def digest(self) -> str:
        """What that exchange says; begins as its name, so that the same permissions hold for both."""
        parts = (self.topic, self.selector or "", self.no_local, *(("broker",) if self.term is not None else ()))
        return f"jms.definition.{_hash(repr(parts))}"

    @property
    def sort(self) -> str:
        """The exchange's type, which tells shared from unshared."""
        return "direct" if self.shared else "fanout"


def _hash(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:24]


# -- queues and exchanges


def _passive(queue: str) -> Ask:
    return Ask("queue_declare", {"queue": queue, "passive": True})


def find_queue(queue: str) -> Conversation:
    """How many messages are waiting in a queue, and how many consumers it has."""
    answer = yield _passive(queue)
    return answer.message_count, answer.consumer_count


def ensure_queue(queue: str, kinds: QueueKinds) -> Conversation:
    """A durable queue: the one that is there, or a new one."""
    check(queue)
    try:
        yield _passive(queue)
    except ChannelException as no:
        if no.code == 405:
            return  # somebody's temporary queue: sending to it is allowed, using it is not
        if no.code != 404:
            raise
        yield from _make(queue, kinds)


def _make(queue: str, kinds: QueueKinds) -> Conversation:
    try:
        yield from kinds.declare(queue)
    except ChannelException as other:
        if other.code != 406:
            raise
        yield _passive(queue)  # somebody else has made it meanwhile, in another way


def ensure_exchange(name: str) -> Conversation:
    """One of the two exchanges for topics."""
    arguments = {"exchange": name, "exchange_type": "topic"}
    try:
        yield Ask("exchange_declare", {**arguments, "passive": True})
    except ChannelException as no:
        if no.code != 404:
            raise
        yield Ask("exchange_declare", {**arguments, "durable": name == TOPICS})


def delete_queue(queue: str, what: str, kinds: QueueKinds) -> Conversation:
    """Delete a queue that has no consumers; AddressInUse where it has."""
    if not (yield from _delete_unused(queue, kinds)):
        raise AddressInUse(f"{what} has consumers; close them first")


def _delete_unused(queue: str, kinds: QueueKinds) -> Conversation:
    """Delete a queue unless it has consumers; whether that was done. Only classic queues check it in the same step."""
    answer = yield _passive(queue)
    kind = yield from kinds.kind_of(queue)
    looks = 1 if kind.type == "classic" else _LOOKS
    while answer.consumer_count:
        looks -= 1
        if not looks:
            return False
        yield Pause(_BETWEEN)
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
    """The queue of a subscription that ends with its consumer; with a selector for the broker."""
    check(topic)
    yield from ensure_exchange(exchange)
    yield Ask("queue_declare", {"queue": queue, "exclusive": True})
    kinds.note(queue, Kind("classic"))  # exclusive queues are nothing else
    yield from _bind(queue, exchange, topic, term, durable=False)


def _bind(queue: str, exchange: str, topic: str, term: str | None, *, durable: bool) -> Conversation:
    if term is None:
        yield Ask("queue_bind", {"queue": queue, "exchange": exchange, "routing_key": topic})
    else:
        yield from selector_exchanges.bind(queue, exchange, topic, term, durable=durable)


def define(sub: Definition, kinds: QueueKinds) -> Conversation:
    """The queue of a named subscription.

    One of another definition that nobody consumes goes, with its messages; SubscriptionRefused where somebody does.
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
        if sub.term is not None and consumers == 0:  # as it was made by Java, without a selector
            yield Ask("queue_unbind", {"queue": sub.queue, "exchange": TOPICS, "routing_key": sub.topic})
        yield Ask("queue_bind", {"queue": sub.queue, "exchange": sub.marker, "routing_key": ""})
        return
    raise SubscriptionRefused(f"subscription {sub.queue!r} is being changed by somebody else; try again")


def _consumers(sub: Definition) -> Conversation:
    try:
        answer = yield _passive(sub.queue)
    except ChannelException as no:
        if no.code == 404:
            return None
        if no.code == 405:
            raise SubscriptionRefused(f"subscription {sub.queue!r}: a queue of that name is another's") from no
        raise
    return answer.consumer_count


def _marker(sub: Definition) -> dict[str, Any]:
    arguments = {"alternate-exchange": sub.digest}
    flags = {"durable": True, "auto_delete": True, "internal": True}
    return {"exchange": sub.marker, "exchange_type": sub.sort, **flags, "arguments": arguments}


def _make_subscription(sub: Definition, kinds: QueueKinds) -> Conversation:
    if sub.durable:
        yield from _make(sub.queue, kinds)
    else:  # lives by its consumers, which only a classic queue counts in the step in which it is deleted
        arguments = {"x-expires": _EXPIRES, "x-queue-type": "classic"}
        yield Ask("queue_declare", {"queue": sub.queue, "durable": True, "arguments": arguments})


def _replace(sub: Definition, kinds: QueueKinds, consumers: int | None, no: ChannelException) -> Conversation:
    """Take away a subscription that is defined otherwise, if one may."""
    if consumers is not None and "arg 'type'" in no.text:
        sort = "an unshared" if sub.shared else "a shared"
        raise SubscriptionRefused(f"subscription {sub.queue!r} exists as {sort} one; unsubscribe it first") from no
    if consumers:
        raise SubscriptionRefused(
            f"subscription {sub.queue!r} is in use with another topic, selector or no_local; close its consumers first"
        ) from no
    if consumers is not None and not (yield from _delete_unused(sub.queue, kinds)):
        raise SubscriptionRefused(f"subscription {sub.queue!r} is in use with another definition") from no
    yield Ask("exchange_delete", {"exchange": sub.marker})  # it went with the queue, unless there was none


def end_subscription(queue: str | None, lock: str | None, kinds: QueueKinds) -> Conversation:
    """Its last consumer here is gone: delete the lock, and the queue where it lives by its consumers.

    What is refused is left to the broker, which does it a little later, or has done it.
    """
    if lock is not None:
        with contextlib.suppress(ChannelException):
            yield Ask("queue_delete", {"queue": lock})
    if queue is not None:
        with contextlib.suppress(ChannelException):
            yield from _delete_unused(queue, kinds)


def unsubscribe(queue: str, key: str, kinds: QueueKinds) -> Conversation:
    """Delete a durable subscription that nobody consumes."""
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
    """Keep other links from a subscription whose queue does not refuse a second consumer; the name of the lock.

    SubscriptionRefused where another link has it; this link must not ask twice.
    """
    name = f"jms-lock-{_hash(queue)}"
    try:
        yield Ask("queue_declare", {"queue": name, "exclusive": True})
    except ChannelException as no:
        if no.code != 405:
            raise
        raise SubscriptionRefused(f"subscription {queue!r} has a consumer on another connection") from no
    return name


def client_lock(client_id: str) -> Conversation:
    """Take a client id: an exclusive queue, which goes with the connection; AddressInUse where it is taken."""
    yield Ask("queue_declare", {"queue": client_queue(client_id), "exclusive": True})


def temporary(address: Address) -> Conversation:
    """A temporary destination of this connection.

    For a topic it is a queue that keeps nothing. It is bound to the topic, so that a send has somewhere to go as long
    as the topic lives.
    """
    check(address.name)
    if not address.topic:
        yield Ask("queue_declare", {"queue": address.name, "exclusive": True})
        return
    yield from ensure_exchange(TEMPORARY_TOPICS)
    yield Ask("queue_declare", {"queue": address.name, "exclusive": True, "arguments": {"x-max-length": 0}})
    yield Ask("queue_bind", {"queue": address.name, "exchange": TEMPORARY_TOPICS, "routing_key": address.name})
