"""Finds or creates the queue that a subscription consumes, and removes it after the last consumer."""

import uuid
from typing import NamedTuple

from jmsbridge.spi import (
    Address,
    AddressInUse,
    AddressRefused,
    Endpoint,
    Interest,
    SubscriptionRefused,
)
from jmsbridge.transport.literal_names import check_literal
from jmsbridge.transport.network.link_life import Done, LinkLife, ignored
from jmsbridge_rabbitmq.broker import topology
from jmsbridge_rabbitmq.broker.conversations import Control, Conversation
from jmsbridge_rabbitmq.broker.erlang_selector import erlang_selector
from jmsbridge_rabbitmq.broker.known import KnownDestinations
from jmsbridge_rabbitmq.broker.queue_kinds import warn_of_limit

__all__ = ["Source", "Sources"]


class Source(NamedTuple):
    """The queue of a subscription, and how it is consumed."""

    queue: str
    kind: str | None
    """``classic``, ``quorum`` or ``stream``; None if unknown."""
    eager: bool
    """Start the consumer at once, not with the first credit."""
    exclusive: bool = False
    """Consume exclusively."""
    expires: bool = False
    """Delete the queue with its last consumer."""
    lock: str | None = None
    """The exclusive queue that serves as a lock against other links, where ``exclusive`` does not suffice."""
    limit: int | None = None
    """How often a message may be requeued before the broker drops or dead-letters it; None: without limit."""


class Sources:
    """The sources of one link's subscriptions; ``temporaries`` are the destinations that the link has created."""

    def __init__(
        self, life: LinkLife, control: Control, known: KnownDestinations, names: topology.Names, endpoint: Endpoint
    ) -> None:
        self.temporaries: set[Address] = set()
        self._life = life
        self._control = control
        self._known = known
        self._names = names
        self._endpoint = endpoint
        self._locks: set[str] = set()  # queues that this link has locked

    def find(self, interest: Interest) -> Source:
        """Find or create the source; blocks. AddressRefused for a topic whose name is a pattern to the broker."""
        check_literal(interest.address, "RabbitMQ", wildcards=("*", "#") if interest.address.topic else ())
        selector = interest.selector if interest.select and interest.selector else None
        term = erlang_selector(selector, self._life.broker) if selector is not None else None
        found: Source = self._control.wait(self._find(interest, term), f"consuming {interest.address}")
        return found

    def _find(self, interest: Interest, term: str | None) -> Conversation:
        address, kinds = interest.address, self._known.kinds
        if not address.topic:
            if not address.temporary:
                yield from topology.ensure_queue(address.name, kinds)
                kind = yield from self._kind_of(address.name)
                return Source(address.name, kind.type, eager=False, limit=kind.limit)
            yield from topology.find_queue(address.name)
            return Source(address.name, "classic", eager=False)
        if address.temporary and address not in self.temporaries:
            yield from topology.find_queue(address.name)  # 404 if it was deleted, 405 if another connection owns it
            raise AddressInUse(f"{address} belongs to another connection; only that one may consume it")
        if interest.key is None:
            return (yield from self._single(address, term))
        return (yield from self._named(interest, interest.key, term))

    def _kind_of(self, queue: str) -> Conversation:
        kind = yield from self._known.kinds.kind_of(queue)
        warn_of_limit(queue, kind, self._life.broker, str(self._endpoint))
        return kind

    def _single(self, address: Address, term: str | None) -> Conversation:
        exchange = topology.TEMPORARY_TOPICS if address.temporary else topology.TOPICS
        queue = f"jms-cons-{uuid.uuid4()}"
        yield from topology.exclusive_queue(queue, exchange, address.name, term, self._known.kinds)
        return Source(queue, "classic", eager=True, expires=True)

    def _named(self, interest: Interest, key: str, term: str | None) -> Conversation:
        if interest.address.temporary:
            raise AddressRefused(f"{interest.address} is temporary; it cannot have durable or shared subscriptions")
        queue = self._names.durable(key) if interest.durable else self._names.shared(key)
        definition = topology.Definition(
            queue=queue,
            topic=interest.address.name,
            durable=interest.durable,
            shared=interest.shared,
            selector=interest.selector,
            no_local=interest.no_local,
            term=term,
        )
        yield from topology.define(definition, self._known.kinds)
        kind = yield from self._kind_of(queue)
        alone = interest.durable and not interest.shared
        lock = (yield from self._lock(queue)) if alone and kind.type != "classic" else None
        return Source(
            queue, kind.type, eager=True, exclusive=alone, expires=not interest.durable, lock=lock, limit=kind.limit
        )

    def _lock(self, queue: str) -> Conversation:
        """Lock a quorum queue, which would accept a second consumer although the first is exclusive."""
        if queue in self._locks:
            raise SubscriptionRefused(f"subscription {queue!r} has a consumer on this connection; close it first")
        lock = yield from topology.lock(queue)
        self._locks.add(queue)
        return lock

    # -- I/O thread

    def forget(self, queue: str) -> None:
        """The broker ended a consumer of this queue: check before the next use that it exists."""
        self._known.forget("", queue)

    def leave(self, source: Source, done: Done | None = None) -> None:
        """A consumer has ended: release its lock, and delete a non-durable subscription after its last consumer."""
        queue = source.queue if source.expires else None
        if not self._life.is_over and (queue is not None or source.lock is not None):
            self._locks.discard(source.queue)
            conversation = topology.end_subscription(queue, source.lock, self._known.kinds)
            # an error is ignored: the broker then cleans up later
            self._control.ask(conversation, "closing a subscription", done or ignored)
        elif done is not None:
            done(None, None)
