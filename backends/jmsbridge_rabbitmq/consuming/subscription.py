"""Receiving: credit, messages beyond the credit, and settlements.

RabbitMQ limits unsettled messages and has no credit. So messages that it pushes beyond the credit are held here and do
not reach the inbox. On a queue, which may have other consumers, the consumer starts with the first credit; on a
subscription's own queue it starts at once, because it makes the subscription exclusive, or keeps it alive.
"""

from collections import deque
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from jmsbridge.spi import (
    Address,
    Arrival,
    BackendError,
    ChannelLost,
    Inbox,
    Interest,
    LinkEvents,
    Native,
    Outcome,
    Ticket,
)
from jmsbridge.transport.deliveries.commands import Commands
from jmsbridge.transport.deliveries.credit import CreditGate
from jmsbridge.transport.deliveries.expiry import is_expired, now_ms
from jmsbridge.transport.network.link_life import Done
from jmsbridge_rabbitmq.broker.capabilities import of_kind
from jmsbridge_rabbitmq.connection.options import RabbitOptions
from jmsbridge_rabbitmq.connection.pair import ConnectionPair
from jmsbridge_rabbitmq.consuming.consumer_channel import MOST, ConsumerChannel
from jmsbridge_rabbitmq.consuming.copies import Copies
from jmsbridge_rabbitmq.consuming.delivery_limit import DeliveryLimit
from jmsbridge_rabbitmq.consuming.sources import Source, Sources
from jmsbridge_rabbitmq.messages.wire import decode
from jmsbridge_rabbitmq.protocol.frames import Content
from jmsbridge_rabbitmq.publishing.publisher import Publisher

__all__ = ["LinkFacts", "Subscription"]


class LinkFacts(NamedTuple):
    """What all subscriptions of a link share; ``forget`` is called with a closed one."""

    native: Native
    options: RabbitOptions
    stamp: str
    events: LinkEvents
    forget: "Callable[[Subscription], None]"


class Subscription:
    """The SPI's Subscription. All but the verbs belongs to the I/O thread."""

    def __init__(
        self,
        pair: ConnectionPair,
        sources: Sources,
        copier: Publisher,
        facts: LinkFacts,
        interest: Interest,
        inbox: Inbox,
        source: Source,
        lose: Callable[[BackendError], None],
    ) -> None:
        self.native: Native = of_kind(facts.native, source.kind, facts.options)
        if interest.dead_letters:
            self.native |= Native.REJECT
        self._pair = pair
        self._life = pair.life
        self._sources = sources
        self._facts = facts
        self._interest = interest
        self._source = source
        self._lose = lose
        self._channel = ConsumerChannel(pair, sources, source, str(interest.address), self._arrived, self._ended)
        self._limit = DeliveryLimit(source.limit)
        dead_letters = facts.options.dead_letter_queue
        self._copies = Copies(pair, copier, self._channel, interest, source, self._limit, dead_letters)
        self._gate = CreditGate(inbox, self._channel.accept if interest.presettled else None, self._expire)
        self._commands = Commands(pair.life, self._refusal, self._settle_accepted)
        self._lost: BackendError | None = None
        self._closed = False
        self._window = min(interest.window or 1, MOST)
        self._exact = interest.window == 0 and not source.eager  # never take more messages than the credit
        self._draining = False
        self._drains: deque[Ticket] = deque()
        self._retired = False
        self._left = False
        self._when_drained: list[Callable[[], None]] = []

    @property
    def is_closed(self) -> bool:
        """Whether ``close`` was called."""
        return self._closed

    def consumes(self, address: Address) -> bool:
        """Whether it consumes this destination and is not retired."""
        return self._interest.address == address and not self._retired

    @property
    def is_limited(self) -> bool:
        """Whether its queue has a delivery limit."""
        return self._limit.limit is not None

    def holds(self, queue: str) -> bool:
        """Whether it is retired and holds unsettled messages of a queue."""
        return self._retired and self._source.queue == queue and self._channel.unsettled > 0

    def open(self, done: Callable[[BackendError | None], None]) -> None:
        """Open the channel and, for an eager source, the consumer; I/O thread."""
        self._channel.open(self._window if self._source.eager else None, done)

    # -- verbs, from any thread

    def grant(self, count: int) -> None:
        """Allow ``count`` more arrivals."""
        self._check()
        self._commands.put(None, lambda: self._grant(count))

    def settle(self, tokens: Sequence[Any], outcome: Outcome, ticket: Ticket | None = None, failures: int = 1) -> None:
        """Settle; the ticket is answered when this is written."""
        if ticket is None:
            self._check()
            if outcome is Outcome.ACCEPTED:
                self._commands.accept(tokens)
                return
        self._commands.put(ticket, lambda: self._settle(tokens, outcome, ticket, failures))

    def drain(self, ticket: Ticket) -> None:
        """Take credit to zero, after available messages have arrived."""
        self._commands.put(ticket, lambda: self._drain(ticket))

    def retire(self) -> None:
        """End the consumer, its lock, and a non-durable subscription of which it is the last consumer.

        Blocks until the broker has done so. Unsettled messages can still be settled.
        """
        self._check()
        self._life.wait_closing(self._retire, f"ending the consumer of {self._interest.address}")

    def close(self) -> None:
        """Close the channel, which requeues unsettled messages."""
        if self._closed:
            return
        self._life.wait_closing(self._finish, f"closing the consumer of {self._interest.address}")
        if self._life.is_over:
            self._facts.forget(self)
        self._closed = True  # last, so that an interrupted close can be repeated

    def _finish(self, done: Done) -> None:
        def finished(result: Any, error: BackendError | None) -> None:
            self._facts.forget(self)
            done(result, error)

        self.finish(finished)

    def _check(self) -> None:
        self._life.check()
        if self._lost is not None:
            raise type(self._lost)(str(self._lost)) from self._lost

    def _refusal(self) -> BackendError | None:
        """Why verbs are refused although the link is alive."""
        if self._lost is None and self._channel.is_open:
            return None
        return self._lost or ChannelLost("the consumer is closed")

    # -- arrivals

    def _arrived(self, content: Content) -> None:
        address = self._interest.address
        inbound = decode(address, content.properties, content.body, content.redelivered)
        envelope, count = inbound.envelope, inbound.delivery_count
        if self._is_own(inbound.stamp):
            self._channel.accept(content)
        elif is_expired(envelope):
            self._expire(content)
        elif envelope.delivery_time and address.topic and envelope.delivery_time > now_ms():
            # a topic's message is routed when it is sent; only now is it delayed, for this queue alone
            self._copies.postpone(content, envelope.delivery_time)
        else:
            arrival = Arrival(content, envelope, content.redelivered or count > 1, count)
            if inbound.returns < self._limit.near_from or not self._move_to_tail(arrival, inbound.returns):
                self._hold(arrival)

    def _hold(self, arrival: Arrival) -> None:
        self._gate.held.append(arrival)
        if self._retired and not self._draining:
            self._requeue_held()
        else:
            self._hand_up()

    def _move_to_tail(self, arrival: Arrival, returns: int) -> bool:
        """Copy a message near the limit to the tail of its queue, unless it is the first of the unsettled ones here.

        Otherwise a crash would count for a message that the application has not seen. The first one stays, so that a
        message that crashes its process each time reaches the limit, which exists for that.
        """
        near = self._limit.arrived(arrival.token, returns, arrival.delivery_count, self._channel.is_unsettled)
        if not returns or self._channel.unsettled < 2 or self._pair.blocked:
            return False
        self._copies.copy_to_tail(near, near.deliveries, lambda error: self._hold(arrival))
        return True

    def _expire(self, content: Content) -> None:
        queue = self._interest.expired
        if queue:
            self._copies.expire(content, queue)
        else:
            self._channel.accept(content)

    def _is_own(self, stamp: str | None) -> bool:
        return self._interest.no_local and self._interest.address.topic and stamp == self._facts.stamp

    def _hand_up(self) -> None:
        self._gate.hand_up()
        channel = self._channel
        if (self._exact or self._interest.deferred) and channel.is_consuming and not self._draining:
            if not self._exact:
                self._adjust()
            elif channel.is_full or self._gate.credit <= 0:
                channel.cancel(self._pull)

    def _adjust(self) -> None:
        """Deferred settlements fill the window: replace the consumer, because a new one has a new window."""
        if self._channel.will_be_full and self._gate.credit > 0 and not self._gate.held:
            self._channel.renew(self._gate.credit)
        elif self._channel.window < self._window and self._channel.is_settled:
            self._channel.renew(self._window)

    def _grant(self, count: int) -> None:
        self._gate.credit += count
        self._hand_up()
        channel = self._channel
        if self._exact:
            self._pull()
        elif self._gate.credit > 0 and not (channel.is_consuming or channel.is_busy or self._draining):
            channel.consume(min(self._window, self._gate.credit) if self._interest.deferred else self._window)

    def _pull(self) -> None:
        """Without a window: use basic.get while there is credit; when the queue is empty, start a consumer."""
        channel = self._channel
        if self._gate.credit <= 0 or channel.is_consuming or channel.is_busy or self._draining or self._drains:
            return

        def got(found: bool) -> None:
            if found:
                self._pull()
            elif self._gate.credit > 0 and not self._drains:
                channel.consume(self._gate.credit)
            if self._drains and not channel.is_getting:
                self._drain_next()

        channel.get(got)

    # -- drain

    def _drain(self, ticket: Ticket) -> None:
        self._drains.append(ticket)
        if not self._draining and not self._channel.is_getting:
            self._drain_next()

    def _drain_next(self) -> None:
        if self._draining:
            return
        channel = self._channel
        channel.write_acks()
        self._draining = channel.holds_acks = True
        if not channel.is_consuming:
            if channel.is_busy:
                channel.round_trip(self._fetch)  # basic.get could overtake deliveries to the cancelled consumer
            else:
                self._fetch()
        elif self._exact:
            channel.cancel(self._fetch)
        elif self._source.kind == "classic":
            channel.wait_quiescent(self._look)
        else:
            channel.wait_quiescent(self._drained)  # basic.get could overtake deliveries on their way

    def _look(self) -> None:
        """Fetch if the queue may have kept messages back: the window is full, or an acknowledgement is on its way."""
        if self._channel.is_full or self._channel.acks_may_be_unseen:
            self._fetch()
        else:
            self._drained()

    def _fetch(self) -> None:
        """Use basic.get until the credit is used up or the queue is empty."""
        if self._gate.credit <= 0 or self._gate.held:
            self._drained()
        else:
            self._channel.get(lambda found: self._fetch() if found else self._drained())

    def _drained(self) -> None:
        self._gate.credit = 0
        self._draining = self._channel.holds_acks = False
        self._channel.write_acks()
        tickets, self._drains = self._drains, deque()
        for ticket in tickets:
            ticket.succeed()
        self._go_on_after_drain()

    def _go_on_after_drain(self) -> None:
        waiting, self._when_drained = self._when_drained, []
        for task in waiting:
            task()

    # -- the end of the consumer

    def _retire(self, done: Done) -> None:
        if not self._channel.is_open:
            done(None, None)
        elif self._draining:
            self._when_drained.append(lambda: self._retire(done))
        else:
            self._retired, self._gate.credit = True, 0
            self._channel.leave(lambda: self._leave(done))

    def _leave(self, done: Done) -> None:
        """The consumer has ended: requeue held messages, and release the source."""
        self._requeue_held()
        if self._left:
            done(None, None)
        else:
            self._left = True
            self._sources.leave(self._source, done)

    def _cancel_consumer(self) -> None:
        """Cancel the consumer; it starts again with the next credit."""
        self._channel.cancel(self._consumer_cancelled)

    def _consumer_cancelled(self) -> None:
        if self._gate.credit > 0:
            self._grant(0)
        else:
            self._requeue_held()

    def _requeue_held(self) -> None:
        held = [arrival.token for arrival in self._gate.held]
        self._gate.held.clear()
        self._copies.requeue(held)

    # -- settling

    def _settle(self, tokens: Sequence[Content], outcome: Outcome, ticket: Ticket | None, failures: int) -> None:
        if outcome is Outcome.REJECTED:
            self._copies.reject(tokens, failures, ticket)
            return
        if outcome is Outcome.ACCEPTED:
            self._settle_accepted(tokens)
        else:
            deliveries = failures + (outcome is Outcome.REQUEUED)
            self._requeue(tokens, deliveries, unwanted=outcome is Outcome.RELEASED)
            if self._interest.deferred:
                self._hand_up()
        if ticket is not None:
            ticket.succeed()

    def _settle_accepted(self, tokens: Sequence[Content]) -> None:
        for token in tokens:
            self._channel.accept(token)
        if self._interest.deferred:
            self._hand_up()

    def _requeue(self, tokens: Sequence[Content], failures: int, *, unwanted: bool) -> None:
        """Requeue; cancel the consumer before, so that others get the messages, and start it with the next credit.

        The broker serves consumers in turn, so two that alternate in requeueing would get their own messages for ever.
        """
        channel = self._channel
        cancel = channel.is_consuming and not self._source.eager and not self._draining
        cancel = cancel and (unwanted or self._gate.credit <= 0)
        if cancel:
            self._cancel_consumer()
        self._copies.requeue(tokens, failures)
        if cancel and self._gate.credit <= 0:
            self._requeue_held()

    # -- ends

    def finish(self, done: Done) -> None:
        """Close the channel, which requeues unsettled messages; I/O thread."""
        self._gate.credit = 0
        if self._limit.limit is not None:  # all deliveries on their way must arrive first: some may be near the limit
            self._channel.leave(lambda: self._requeue_near_limit(done))
        elif self._source.kind != "classic" and self._channel.was_used:
            self._channel.leave(lambda: self._close_channel(done))
        else:
            self._close_channel(done)

    def _requeue_near_limit(self, done: Done) -> None:
        self._copies.requeue([near.content for near in self._limit.unsettled(self._channel.is_unsettled)])
        self._close_channel(done)

    def _close_channel(self, done: Done) -> None:
        def close() -> None:
            self._fail_drains(ChannelLost("the consumer was closed"))
            self._channel.close(lambda: self._leave(done))

        self._copies.when_idle(close)
        if self._pair.blocked:
            self.on_blocked()

    def on_blocked(self) -> None:
        """During an alarm the broker takes no copies: stop waiting for them, so that the originals are requeued."""
        self._copies.wait_no_longer()

    def _ended(self, error: BackendError) -> None:
        """The broker ended the subscription: report it, or the loss of the channel if the queue is not the reason."""
        self._mark_lost(error if isinstance(error, ChannelLost) else ChannelLost(str(error)))
        if isinstance(error, ChannelLost):
            self._lose(error)
        else:
            self._facts.events.subscription_lost(self, error)

    def _mark_lost(self, error: BackendError) -> None:
        self._lost = error
        self._fail_drains(error)
        self._go_on_after_drain()

    def give_up(self, error: BackendError, done: Done) -> None:
        """The SPI channel is lost: end the subscription and requeue what it holds; I/O thread."""
        self._mark_lost(self._lost or error)
        self._finish(done)

    def _fail_drains(self, error: BackendError) -> None:
        tickets, self._drains = self._drains, deque()
        for ticket in tickets:
            ticket.fail(error)

    def end(self) -> None:
        """The link is lost: answer all tickets; I/O thread."""
        self._channel.end(self._life.lost(in_doubt=True))
        self._fail_drains(self._life.lost(in_doubt=True))
        self._commands.refuse_all()
