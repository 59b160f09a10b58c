"""The way in: credit, what is held because of it, and settlements.

RabbitMQ counts unsettled messages and knows no credit. So what it pushes beyond the credit is held here, and nothing
of it is handed up. On a queue, which others consume as well, the consumer starts with the first credit; on a
subscription's own queue it starts at once, and is what makes the subscription exclusive, or keeps it alive.
"""

from collections import deque
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from jmsbridge.spi import (
    Address,
    Arrival,
    BackendError,
    ChannelLost,
    Envelope,
    Inbox,
    Interest,
    Native,
    Outcome,
    Ticket,
)
from jmsbridge_rabbitmq.broker.capabilities import of_kind
from jmsbridge_rabbitmq.broker.conversations import Done
from jmsbridge_rabbitmq.connection.io_thread import Mailbox
from jmsbridge_rabbitmq.consuming.consumer_channel import MOST, ConsumerChannel, Source
from jmsbridge_rabbitmq.consuming.copies import Copies
from jmsbridge_rabbitmq.consuming.delivery_limit import DeliveryLimit
from jmsbridge_rabbitmq.messages.wire import decode
from jmsbridge_rabbitmq.protocol.frames import Content
from jmsbridge_rabbitmq.publishing.publisher import now_ms

if TYPE_CHECKING:
    from jmsbridge_rabbitmq.link import Link

__all__ = ["Subscription"]


class _Command(NamedTuple):
    """One verb on its way to the I/O thread."""

    ticket: Ticket | None
    run: Callable[[], None]


class Subscription:
    """The SPI's Subscription. All but the verbs belongs to the I/O thread."""

    def __init__(
        self, link: "Link", interest: Interest, inbox: Inbox, source: Source, lose: Callable[[BackendError], None]
    ) -> None:
        self.native: Native = of_kind(link.native, source.kind, link.options)
        if interest.dead_letters:
            self.native |= Native.REJECT
        self._link = link
        self._lose = lose
        self._interest = interest
        self._inbox = inbox
        self._source = source
        self._flow = ConsumerChannel(link, source, str(interest.address), self._arrived, self._ended)
        self._limit = DeliveryLimit(source.limit)
        self._copies = Copies(link, self._flow, interest, source, self._limit)
        self._orders: Mailbox[_Command] = Mailbox(link.loop, self._work, self._refuse)
        self._lost: BackendError | None = None
        self._closed = False
        self._held: deque[Arrival] = deque()
        self._credit = 0
        self._window = min(interest.window or 1, MOST)
        self._exact = interest.window == 0 and not source.eager  # one consumer, or fetch, for each bit of credit
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
        """Whether it is a consumer of this destination, and not a closed one that holds unsettled messages."""
        return self._interest.address == address and not self._retired

    @property
    def is_limited(self) -> bool:
        """Whether the broker limits how often its messages may be requeued."""
        return self._limit.limit is not None

    def holds(self, queue: str) -> bool:
        """Whether its consumer was closed and left unsettled messages of a queue."""
        return self._retired and self._source.queue == queue and self._flow.unsettled > 0

    def open(self, done: Callable[[BackendError | None], None]) -> None:
        """Open the channel and, for an eager source, the consumer; I/O thread."""
        self._flow.open(self._window if self._source.eager else None, done)

    # -- verbs, from any thread

    def grant(self, count: int) -> None:
        """Allow that many more arrivals."""
        self._check()
        self._orders.put(_Command(None, lambda: self._grant(count)))

    def settle(self, tokens: Sequence[Any], outcome: Outcome, ticket: Ticket | None = None, failures: int = 1) -> None:
        """Settle; the ticket is answered with the write."""
        if ticket is None:
            self._check()
        self._orders.put(_Command(ticket, lambda: self._settle(tokens, outcome, ticket, failures)))

    def drain(self, ticket: Ticket) -> None:
        """Take credit to zero, after what is available has come."""
        self._orders.put(_Command(ticket, lambda: self._drain(ticket)))

    def retire(self) -> None:
        """End the consumer, with the lock that it holds or the queue of which it is the last consumer.

        Blocks until the broker has done so. What it delivered can still be settled.
        """
        self._check()
        self._link.wait_closing(self._retire, f"ending the consumer of {self._interest.address}")

    def close(self) -> None:
        """Close the channel, which requeues what is unsettled."""
        if self._closed:
            return
        link = self._link
        link.wait_closing(self._finish, f"closing the consumer of {self._interest.address}")
        if link.loop.ended is not None:
            link.forget_subscription(self)
        self._closed = True  # last, so that an interrupted close can be repeated

    def _finish(self, done: Done) -> None:
        def finished(result: Any, error: BackendError | None) -> None:
            self._link.forget_subscription(self)
            done(result, error)

        self.finish(finished)

    def _check(self) -> None:
        self._link.check()
        if self._lost is not None:
            raise type(self._lost)(str(self._lost)) from self._lost

    def _refuse(self, order: _Command) -> None:
        if order.ticket is not None:
            order.ticket.fail(self._link.lost_early())

    def _work(self, orders: deque[_Command]) -> None:
        while orders:
            order = orders.popleft()
            if self._lost is None and self._flow.is_open:
                order.run()
            elif order.ticket is not None:
                order.ticket.fail(self._lost or ChannelLost("the consumer is closed"))

    # -- arrivals

    def _arrived(self, content: Content) -> None:
        address = self._interest.address
        inbound = decode(address, content.properties, content.body, content.redelivered)
        envelope, count = inbound.envelope, inbound.delivery_count
        if self._is_own(inbound.stamp):
            self._flow.accept(content)
        elif _is_expired(envelope):
            self._expire(content)
        elif envelope.delivery_time and address.topic and envelope.delivery_time > now_ms():
            # it was routed to those who subscribed when it was sent, and waits now, for this queue alone
            self._copies.postpone(content, envelope.delivery_time)
        else:
            arrival = Arrival(content, envelope, content.redelivered or count > 1, count)
            if inbound.returns < self._limit.near_from or not self._move_to_tail(arrival, inbound.returns):
                self._hold(arrival)

    def _hold(self, arrival: Arrival) -> None:
        self._held.append(arrival)
        if self._retired and not self._draining:
            self._return_held()
        else:
            self._hand_up()

    def _move_to_tail(self, arrival: Arrival, returns: int) -> bool:
        """Copy a message to the tail of its queue where it is near the limit and would wait behind others here.

        A crash would requeue it once more although nobody has seen it. The first in line stays: a message that makes
        its process crash each time still meets the limit of its queue, which exists for that.
        """
        near = self._limit.arrived(arrival.token, returns, arrival.delivery_count, self._flow.is_unsettled)
        if not returns or self._flow.unsettled < 2 or self._link.blocked:
            return False
        self._copies.copy_to_tail(near, near.deliveries, lambda error: self._hold(arrival))
        return True

    def _expire(self, content: Content) -> None:
        queue = self._interest.expired
        if queue:
            self._copies.expire(content, queue)
        else:
            self._flow.accept(content)

    def _is_own(self, stamp: str | None) -> bool:
        return self._interest.no_local and self._interest.address.topic and stamp == self._link.stamp

    def _hand_up(self) -> None:
        held, inbox = self._held, self._inbox
        while held and self._credit > 0:
            arrival = held.popleft()
            if _is_expired(arrival.envelope):
                self._expire(arrival.token)
                continue
            self._credit -= 1
            if self._interest.presettled:
                self._flow.accept(arrival.token)
            inbox.put(arrival)
        flow = self._flow
        if flow.is_consuming and not self._draining:
            if self._exact:
                if flow.is_full or self._credit <= 0:
                    flow.cancel(self._pull)
            elif self._interest.deferred:
                self._adjust()

    def _adjust(self) -> None:
        """Late settlements fill the window; another consumer has one of its own."""
        if self._flow.will_be_full and self._credit > 0 and not self._held:
            self._flow.renew(self._credit)
        elif self._flow.window < self._window and self._flow.is_clear:
            self._flow.renew(self._window)

    def _grant(self, count: int) -> None:
        self._credit += count
        self._hand_up()
        if self._exact:
            self._pull()
        elif self._credit > 0 and not self._flow.is_consuming and not self._flow.is_busy and not self._draining:
            self._flow.consume(min(self._window, self._credit) if self._interest.deferred else self._window)

    def _pull(self) -> None:
        """Without a window: ask for a message while there is credit; when there is none, wait for one as a consumer."""
        flow = self._flow
        if self._credit <= 0 or flow.is_consuming or flow.is_busy or self._draining or self._drains:
            return

        def got(found: bool) -> None:
            if found:
                self._pull()
            elif self._credit > 0 and not self._drains:
                flow.consume(self._credit)
            if self._drains and not flow.is_getting:
                self._drain_next()

        flow.get(got)

    # -- drain

    def _drain(self, ticket: Ticket) -> None:
        self._drains.append(ticket)
        if not self._draining and not self._flow.is_getting:
            self._drain_next()

    def _drain_next(self) -> None:
        if self._draining:
            return
        flow = self._flow
        flow.write_acks()
        self._draining = flow.holds_acks = True
        if not flow.is_consuming:
            if flow.is_busy:
                flow.round_trip(self._fetch)  # a fetch would overtake what is on its way to the one that ends
            else:
                self._fetch()
        elif self._exact:
            flow.cancel(self._fetch)
        elif self._source.kind == "classic":
            flow.wait_quiescent(self._look)
        else:
            flow.round_trip(self._drained)  # a fetch would overtake what is on its way

    def _look(self) -> None:
        """The queue keeps something back when the window is full, or as long as it does not know that it is not."""
        if self._flow.is_full or self._flow.acks_may_be_unseen:
            self._fetch()
        else:
            self._drained()

    def _fetch(self) -> None:
        """One by one, until the queue says that it is empty."""
        if self._credit <= 0 or self._held:
            self._drained()
        else:
            self._flow.get(lambda found: self._fetch() if found else self._drained())

    def _drained(self) -> None:
        self._credit = 0
        self._draining = self._flow.holds_acks = False
        self._flow.write_acks()
        tickets, self._drains = self._drains, deque()
        for ticket in tickets:
            ticket.succeed()
        self._go_on_after_drain()

    def _go_on_after_drain(self) -> None:
        waiting, self._when_drained = self._when_drained, []
        for task in waiting:
            task()

    # -- without credit

    def _retire(self, done: Done) -> None:
        if not self._flow.is_open:
            done(None, None)
        elif self._draining:
            self._when_drained.append(lambda: self._retire(done))
        else:
            self._retired, self._credit = True, 0
            self._flow.leave(lambda: self._leave(done))

    def _leave(self, done: Done) -> None:
        """No consumer is left: let go of what was held, and of what lives by the consumer or is exclusive by it."""
        self._return_held()
        if self._left:
            done(None, None)
        else:
            self._left = True
            self._link.left(self._source, done)

    def _step_aside(self) -> None:
        """End the consumer; it begins anew with the next credit."""
        self._flow.cancel(self._stepped_aside)

    def _stepped_aside(self) -> None:
        if self._credit > 0:
            self._grant(0)
        else:
            self._return_held()

    def _return_held(self) -> None:
        while self._held:
            self._copies.requeue(self._held.popleft().token)

    # -- settling

    def _settle(self, tokens: Sequence[Content], outcome: Outcome, ticket: Ticket | None, failures: int) -> None:
        if outcome is Outcome.REJECTED:
            self._copies.reject(tokens, failures, ticket)
            return
        if outcome is Outcome.ACCEPTED:
            for token in tokens:
                self._flow.accept(token)
        else:
            deliveries = failures + (outcome is Outcome.REQUEUED)
            self._give_back(tokens, deliveries, unwanted=outcome is Outcome.RELEASED)
        if self._interest.deferred:
            self._hand_up()
        if ticket is not None:
            ticket.succeed()

    def _give_back(self, tokens: Sequence[Content], failures: int, *, unwanted: bool) -> None:
        """Others shall have it first. So the consumer ends before, and begins anew with the next credit.

        The broker serves consumers in turn: two that take turns at giving back get their own messages again for ever.
        """
        flow = self._flow
        aside = flow.is_consuming and not self._source.eager and not self._draining
        aside = aside and (unwanted or self._credit <= 0)
        if aside:
            self._step_aside()
        for token in tokens:
            self._copies.requeue(token, failures)
        if aside and self._credit <= 0:
            self._return_held()

    # -- ends

    def finish(self, done: Done) -> None:
        """Close the channel, which requeues what is unsettled. I/O thread."""
        if self._limit.limit is None:
            self._close_channel(done)
        else:  # everything that is on its way has to arrive first, because some of it may be near the limit
            self._flow.leave(lambda: self._requeue_near_limit(done))

    def _requeue_near_limit(self, done: Done) -> None:
        for near in self._limit.unsettled(self._flow.is_unsettled):
            self._copies.requeue(near.content)
        self._close_channel(done)

    def _close_channel(self, done: Done) -> None:
        def close() -> None:
            self._fail_drains(ChannelLost("the consumer was closed"))
            self._flow.close(lambda: self._leave(done))

        self._copies.when_idle(close)
        if self._link.blocked:
            self.stalled()

    def stalled(self) -> None:
        """The broker takes no copies, as long as its alarm lasts: what they copy goes back as well."""
        self._copies.wait_no_longer()

    def _ended(self, error: BackendError) -> None:
        """The broker ended it, the link lives on. What is not about its queue is told as the end of its channel."""
        self._mark_lost(error if isinstance(error, ChannelLost) else ChannelLost(str(error)))
        if isinstance(error, ChannelLost):
            self._lose(error)
        else:
            self._link.events.subscription_lost(self, error)

    def _mark_lost(self, error: BackendError) -> None:
        self._lost = error
        self._fail_drains(error)
        self._go_on_after_drain()

    def give_up(self, error: BackendError, done: Done) -> None:
        """Its channel is lost: end it, with everything that it holds; I/O thread."""
        self._mark_lost(self._lost or error)
        self._finish(done)

    def _fail_drains(self, error: BackendError) -> None:
        tickets, self._drains = self._drains, deque()
        for ticket in tickets:
            ticket.fail(error)

    def end(self) -> None:
        """The link is gone: answer everything; I/O thread."""
        self._flow.end(self._link.lost_late())
        self._fail_drains(self._link.lost_late())
        self._orders.refuse_all()


def _is_expired(envelope: Envelope) -> bool:
    return envelope.expiration != 0 and envelope.expiration <= now_ms()
