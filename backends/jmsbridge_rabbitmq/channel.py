"""One session's ordering domain: a publisher and its subscriptions.

Each has an AMQP channel of its own. When the broker closes that of a consumer for what happened on it, the whole domain
ends, because what its session consumed belongs together.
"""

import uuid
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from jmsbridge.spi import (
    Address,
    AddressInUse,
    AddressRefused,
    BackendError,
    ChannelLost,
    Envelope,
    Inbox,
    Interest,
    Mode,
    NotSupported,
    SubscriptionRefused,
    Ticket,
)
from jmsbridge_rabbitmq.broker import topology
from jmsbridge_rabbitmq.broker.conversations import Conversation, Done
from jmsbridge_rabbitmq.broker.erlang_selector import erlang_selector
from jmsbridge_rabbitmq.broker.queue_kinds import warn_of_limit
from jmsbridge_rabbitmq.consuming.consumer_channel import Source
from jmsbridge_rabbitmq.consuming.subscription import Subscription
from jmsbridge_rabbitmq.publishing.publisher import Publisher

if TYPE_CHECKING:
    from jmsbridge_rabbitmq.link import Link

__all__ = ["Channel"]

_TRIES = 50  # for a subscription that others end and make anew all the time


class Channel:
    """The SPI's Channel."""

    def __init__(self, link: "Link") -> None:
        self._link = link
        self._publisher = Publisher(link)
        link.publishers.add(self._publisher)
        self._subscriptions: list[Subscription] = []
        self._closed = False
        self._lost: BackendError | None = None

    def send(self, envelope: Envelope, ticket: Ticket | None) -> None:
        """Send one message."""
        if self._lost is not None and ticket is None:
            raise ChannelLost(str(self._lost))
        self._publisher.send(envelope, ticket)

    def cancel(self, tickets: Sequence[Ticket]) -> None:
        """Take back what an alarm, or the making of a queue, holds up."""

        def cancel(done: Done) -> None:
            self._publisher.cancel(tickets)
            done(None, None)

        self._link.wait(cancel, "taking sends back")

    def commit(self, ticket: Ticket) -> None:
        """Not on this broker: what AMQP 0-9-1 calls a transaction is not atomic."""
        ticket.fail(self._no_transactions())

    def rollback(self, ticket: Ticket) -> None:
        """Not on this broker."""
        ticket.fail(self._no_transactions())

    def _no_transactions(self) -> BackendError:
        return NotSupported(f"{self._link.broker} has no atomic transactions")

    # -- subscribing

    def subscribe(self, interest: Interest, inbox: Inbox) -> Subscription:
        """Find or make what is consumed, and a consumer with zero credit."""
        self._check()
        _refuse(interest, self._link)
        tries = _TRIES if interest.shared and not interest.durable else 1
        while True:
            tries -= 1
            try:
                made = self._subscribe(interest, inbox)
                break
            except AddressRefused:  # its last consumer has just left, and taken it along
                if not tries:
                    raise
        self._subscriptions = [*(each for each in self._subscriptions if not each.is_closed), made]
        try:
            self._check()  # once it is there: a loss that comes later finds it
        except ChannelLost:
            made.close()
            raise
        return made

    def _check(self) -> None:
        self._link.check()
        if self._lost is not None:
            raise ChannelLost(str(self._lost))

    def _subscribe(self, interest: Interest, inbox: Inbox) -> Subscription:
        link = self._link
        what = f"consuming {interest.address}"
        term = erlang_selector(interest.selector, link.broker) if interest.select and interest.selector else None
        source = link.ask(self._source(interest, term), what)
        made = Subscription(link, interest, inbox, source, self._lose)
        link.subscriptions.add(made)
        try:
            link.wait(lambda done: made.open(lambda error: done(None, error)), what)
        except BackendError:
            link.forget_subscription(made)
            link.loop.post(lambda: link.left(source))
            raise
        return made

    def _source(self, interest: Interest, term: str | None) -> Conversation:
        address, kinds = interest.address, self._link.kinds
        if not address.topic:
            if not address.temporary:
                yield from topology.ensure_queue(address.name, kinds)
                kind = yield from self._kind_of(address.name)
                return Source(address.name, kind.type, eager=False, limit=kind.limit)
            yield from topology.find_queue(address.name)
            return Source(address.name, "classic", eager=False)
        if address.temporary:
            yield from self._find_temporary_topic(address)
        if interest.key is None:
            return (yield from self._single(address, term))
        return (yield from self._named(interest, interest.key, term))

    def _kind_of(self, queue: str) -> Conversation:
        kind = yield from self._link.kinds.kind_of(queue)
        warn_of_limit(queue, kind, self._link.broker, str(self._link.endpoint))
        return kind

    def _find_temporary_topic(self, address: Address) -> Conversation:
        if address not in self._link.temporaries:
            yield from topology.find_queue(address.name)  # 404 where it is gone, 405 where it is another's
            raise AddressInUse(f"{address} belongs to another connection, which alone may consume it")

    def _single(self, address: Address, term: str | None) -> Conversation:
        exchange = topology.TEMPORARY_TOPICS if address.temporary else topology.TOPICS
        queue = f"jms-cons-{uuid.uuid4()}"
        yield from topology.exclusive_queue(queue, exchange, address.name, term, self._link.kinds)
        return Source(queue, "classic", eager=True, expires=True)

    def _named(self, interest: Interest, key: str, term: str | None) -> Conversation:
        if interest.address.temporary:
            raise AddressRefused(f"{interest.address} is temporary: it has no durable or shared subscriptions")
        names, kinds = self._link.names, self._link.kinds
        queue = names.durable(key) if interest.durable else names.shared(key)
        definition = topology.Definition(
            queue=queue,
            topic=interest.address.name,
            durable=interest.durable,
            shared=interest.shared,
            selector=interest.selector,
            no_local=interest.no_local,
            term=term,
        )
        yield from topology.define(definition, kinds)
        kind = yield from self._kind_of(queue)
        alone = interest.durable and not interest.shared
        lock = (yield from self._lock(queue)) if alone and kind.type != "classic" else None
        return Source(
            queue, kind.type, eager=True, exclusive=alone, expires=not interest.durable, lock=lock, limit=kind.limit
        )

    def _lock(self, queue: str) -> Conversation:
        """Quorum queues take a second consumer although the first is exclusive."""
        locks = self._link.locks
        if queue in locks:
            raise SubscriptionRefused(f"subscription {queue!r} has a consumer on this connection")
        lock = yield from topology.lock(queue)
        locks.add(queue)
        return lock

    # -- the end

    def _lose(self, error: BackendError) -> None:
        """The broker closed the AMQP channel of one of its consumers: end the others and the publisher, answer what is
        open, then say so. I/O thread.
        """
        if self._lost is not None or self._closed:
            return
        self._lost = error
        subscriptions = self._subscriptions
        left = len(subscriptions) + 1

        def ended(_: Any, __: BackendError | None) -> None:
            nonlocal left
            left -= 1
            if not left:
                self._link.events.channel_lost(self, error)

        for subscription in subscriptions:
            subscription.give_up(error, ended)
        self._close_publisher(ended)

    def close(self) -> None:
        """Close everything of it; what is unsettled goes back."""
        if self._closed:
            return
        for subscription in self._subscriptions:
            subscription.close()
        self._link.wait_closing(self._close_publisher, "closing a channel")
        self._closed = True  # last, so that an interrupted close can be repeated

    def _close_publisher(self, done: Done) -> None:
        def closed() -> None:
            self._link.publishers.discard(self._publisher)  # which has answered everything
            done(None, None)

        self._publisher.close(closed)


def _refuse(interest: Interest, link: "Link") -> None:
    if interest.mode is Mode.BROWSE:
        raise NotSupported(f"{link.broker} cannot show the messages of a queue without taking them")
    able = interest.address.topic and link.options.topic_selectors == "broker"
    if interest.selector is not None and interest.select and not able:
        raise NotSupported(f"{link.broker} cannot select by message properties")
