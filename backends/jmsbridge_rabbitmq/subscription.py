"""The way in: one consumer on an AMQP channel of its own.

RabbitMQ counts unsettled messages and knows no credit. So what it pushes beyond the credit is held here, and nothing
of it is handed up. On a queue, which others consume as well, the consumer starts with the first credit; on a
subscription's own queue it starts at once, and is what makes the subscription exclusive, or keeps it alive.
"""

import logging
from collections import deque
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from jmsbridge.spi import (
    Address,
    AddressRefused,
    Arrival,
    BackendError,
    ChannelLost,
    Envelope,
    Inbox,
    Interest,
    LinkLost,
    Native,
    NotSupported,
    Outcome,
    SubscriptionRefused,
    Ticket,
)
from jmsbridge_rabbitmq.errors import Refused, is_exclusive_use, refusal
from jmsbridge_rabbitmq.frames import Content
from jmsbridge_rabbitmq.loop import Mailbox
from jmsbridge_rabbitmq.publisher import now_ms
from jmsbridge_rabbitmq.tags import Tags
from jmsbridge_rabbitmq.wire import decode

if TYPE_CHECKING:
    from jmsbridge_rabbitmq.link import Link

__all__ = ["Source", "Subscription"]

log = logging.getLogger("jmsbridge.rabbitmq")

_Work = Callable[[], None]


class Source(NamedTuple):
    """What is consumed, and how."""

    queue: str
    kind: str | None
    """``classic``, ``quorum`` or ``stream``; None where that could not be found out."""
    eager: bool
    """Consume at once, not only when there is credit."""
    exclusive: bool = False
    """Refuse other consumers."""
    expires: bool = False
    """Delete the queue with its last consumer."""


class _Order(NamedTuple):
    """One verb on its way to the I/O thread."""

    ticket: Ticket | None
    run: _Work


class Subscription:
    """All but the verbs belongs to the I/O thread."""

    def __init__(self, link: "Link", interest: Interest, inbox: Inbox, source: Source) -> None:
        self._link = link
        self._interest = interest
        self._inbox = inbox
        self.source = source
        self.native: Native = link.native if source.kind == "classic" else link.native & ~_CLASSIC_ONLY
        self._orders: Mailbox[_Order] = Mailbox(link.loop, self._work, self._refuse)
        self._channel: Any = None
        self._lost: BackendError | None = None
        self._closing: _Work | None = None
        self._leaving: _Work | None = None  # closes when nothing is being copied
        self._closed = False
        self._tags = Tags()
        self._held: deque[Arrival] = deque()
        self._credit = 0
        self._window = interest.window or 1
        self._exact = interest.window == 0 and not source.eager
        self._tag: str | None = None
        self._cancelling = False
        self._unsettled = 0  # messages of the present consumer, which its window counts
        self._freed = 0  # those of them whose acknowledgement is not written yet
        self._is_marked = False  # acknowledgements will be written at the end of the batch
        self._copying = 0  # messages on their way to another queue
        self._getting: Callable[[bool], None] | None = None  # told whether a basic.get brought a message
        self._drains: deque[Ticket] = deque()
        self._draining = False

    def consumes(self, address: Address) -> bool:
        """Whether it is a consumer of this destination."""
        return self._interest.address == address

    # -- the beginning

    def open(self, done: Callable[[BackendError | None], None]) -> None:
        """Open the channel and, for an eager source, the consumer."""
        self._opening: Callable[[BackendError | None], None] | None = done

        def opened(channel: Any) -> None:
            self._channel = channel
            channel.add_on_close_callback(self._on_closed)
            channel.add_on_cancel_callback(self._on_cancelled)
            link = self._link
            link.consuming.listen(channel, self._arrived)
            channel.add_callback(self._on_empty, [link.get_empty], one_shot=False)
            if self.source.eager:
                self._consume(self._window, self._opened)
            else:
                self._opened(None)

        self._link.consuming.channel(on_open_callback=opened)

    def _opened(self, _: Any) -> None:
        done, self._opening = self._opening, None
        if done is not None:
            done(None)

    def _consume(self, prefetch: int, done: Callable[[Any], None]) -> None:
        self._channel.basic_qos(prefetch_count=prefetch)
        self._cancelling = False
        self._window, self._unsettled, self._freed = prefetch, 0, 0
        loop = self._link.loop
        timer = loop.call_later(_DEADLINE, self._late)

        def started(frame: Any) -> None:
            loop.cancel(timer)
            done(frame)

        self._tag = self._link.consuming.consume(self._channel, self.source.queue, self.source.exclusive, started)

    def _late(self) -> None:
        """A quorum queue without a leader answers nothing at all."""
        if self._channel is None or self._closing is not None or self._lost is not None:
            return
        where = f"consuming {self._interest.address}: {self._link.broker} did not start within {_DEADLINE:g} s"
        error = BackendError(f"{where}; is queue {self.source.queue!r} a quorum queue that has lost its leader?")
        opening, self._opening = self._opening, None
        if opening is not None:
            self._channel = None
            opening(error)
        else:
            self._end(error)

    def _cancel(self, done: Callable[[Any], None]) -> None:
        tag, self._tag = self._tag, None
        self._cancelling = True

        def cancelled(frame: Any) -> None:
            self._cancelling = False
            done(frame)

        self._channel.basic_cancel(tag, callback=cancelled)

    # -- verbs, from any thread

    def grant(self, count: int) -> None:
        """Allow that many more arrivals."""
        self._check()
        self._orders.put(_Order(None, lambda: self._grant(count)))

    def settle(self, tokens: Sequence[Any], outcome: Outcome, ticket: Ticket | None = None, failures: int = 1) -> None:
        """Settle; the ticket is answered after the write."""
        if ticket is None:
            self._check()
        self._orders.put(_Order(ticket, lambda: self._settle(tokens, outcome, ticket)))

    def drain(self, ticket: Ticket) -> None:
        """Take credit to zero, after what is available has come."""
        self._orders.put(_Order(ticket, lambda: self._drain(ticket)))

    def close(self) -> None:
        """Close the channel: what was held goes back."""
        if self._closed:
            return
        self._closed = True
        self._link.forget_subscription(self)
        if self._link.loop.ended is None:
            self._link.wait(self._close, f"closing the consumer of {self._interest.address}", optional=True)

    def _check(self) -> None:
        lost = self._link.loop.ended or self._lost
        if lost is not None:
            raise type(lost)(str(lost))

    def _refuse(self, order: _Order) -> None:
        if order.ticket is not None:
            order.ticket.fail(self._link.lost_early())

    def _work(self, orders: deque[_Order]) -> None:
        while orders:
            order = orders.popleft()
            if self._lost is None and self._channel is not None:
                order.run()
            elif order.ticket is not None:
                order.ticket.fail(self._lost or ChannelLost("the consumer is closed"))

    # -- arrivals

    def _arrived(self, content: Content) -> None:
        if self._closing is not None:
            return  # what is still under way goes back with the channel
        self._tags.arrived(content.delivery_tag)
        if content.consumer_tag:
            if content.consumer_tag != self._tag and not self._cancelling:
                self._give_back(content)
                return
            if content.consumer_tag == self._tag:
                self._unsettled += 1
        inbound = decode(self._interest.address, content.properties, content.body, content.redelivered)
        envelope, count = inbound.envelope, inbound.delivery_count
        if self._is_own(inbound.stamp) or _is_expired(envelope):
            self._accept(content)
        elif envelope.delivery_time and self._interest.address.topic and envelope.delivery_time > now_ms():
            self._postpone(content, envelope.delivery_time)
        else:
            self._held.append(Arrival(content, envelope, content.redelivered or count > 1, count))
        self._hand_up()
        if not content.consumer_tag:
            self._got(True)

    def _is_own(self, stamp: str | None) -> bool:
        return self._interest.no_local and self._interest.address.topic and stamp == self._link.stamp

    def _hand_up(self) -> None:
        held, inbox = self._held, self._inbox
        while held and self._credit > 0:
            arrival = held.popleft()
            if _is_expired(arrival.envelope):
                self._accept(arrival.token)
                continue
            self._credit -= 1
            if self._interest.presettled:
                self._accept(arrival.token)
            inbox.put(arrival)
        if self._exact:
            done = self._unsettled >= self._window or self._credit <= 0
            if self._tag is not None and done and not self._draining:
                self._cancel(lambda _: self._pull())
        elif self._interest.deferred:
            self._widen()

    def _widen(self) -> None:
        """Late settlements fill the window, so that nothing can be under way: consume again with a new one."""
        usual = self._interest.window or 1
        if self._tag is None or self._draining:
            return
        if self._unsettled - self._freed >= self._window and self._credit > 0 and not self._held:
            self._cancel(_ignore)
            self._consume(self._credit, _ignore)
        elif self._window < usual and len(self._tags) == 0:
            self._cancel(_ignore)
            self._consume(usual, _ignore)

    def _grant(self, count: int) -> None:
        self._credit = max(self._credit, 0) + count
        self._hand_up()
        if self._exact:
            self._pull()
        elif self._tag is None and not self._draining and self._credit > 0:
            self._consume(self._interest.window or 1, _ignore)

    def _pull(self) -> None:
        """Without a window: ask for a message while there is credit; when there is none, wait for one as a consumer."""
        if self._credit <= 0 or self._tag is not None or self._cancelling or self._draining or self._drains:
            return

        def got(found: bool) -> None:
            if found:
                self._pull()
            elif self._credit > 0 and not self._drains:
                self._consume(self._credit, _ignore)

        self._get(got)

    # -- basic.get

    def _get(self, done: Callable[[bool], None]) -> None:
        if self._getting is None:
            self._getting = done
            self._link.consuming.get(self._channel, self.source.queue)

    def _on_empty(self, _: Any) -> None:
        self._got(False)

    def _got(self, found: bool) -> None:
        done, self._getting = self._getting, None
        if done is not None:
            done(found)
        if self._drains and self._getting is None:
            self._drain_next()

    # -- drain

    def _drain(self, ticket: Ticket) -> None:
        self._drains.append(ticket)
        if not self._draining and self._getting is None:
            self._drain_next()

    def _drain_next(self) -> None:
        """The queue's answer to a question comes after what it has sent; the rest is fetched one by one."""
        if self._draining:
            return
        self._write_acks()
        self._draining = True
        if self._exact and self._tag is not None:
            self._cancel(lambda _: self._fetch())
        elif self._tag is None:
            self._fetch()
        else:
            # what the queue sent before the first answer is written before the second
            self._fence(lambda _: self._fence(lambda _: self._fetch()))

    def _fence(self, done: Callable[[Any], None]) -> None:
        self._channel.queue_declare(self.source.queue, passive=True, callback=done)

    def _fetch(self) -> None:
        """What a full window keeps back is fetched singly, until the queue says that it is empty."""
        if self._credit <= 0 or self._held or not self._may_get():
            self._drained()
        else:
            self._get(lambda found: self._fetch() if found else self._drained())

    def _may_get(self) -> bool:
        """While the queue may push, basic.get would overtake; on other than classic queues it always may."""
        return self._tag is None or (self.source.kind == "classic" and self._unsettled >= self._window)

    def _drained(self) -> None:
        self._credit = 0
        self._draining = False
        self._write_acks()
        tickets, self._drains = self._drains, deque()
        for ticket in tickets:
            ticket.succeed()

    # -- settling

    def _settle(self, tokens: Sequence[Content], outcome: Outcome, ticket: Ticket | None) -> None:
        if outcome is Outcome.REJECTED:
            self._reject(tokens, ticket)
            return
        if outcome is Outcome.ACCEPTED:
            for token in tokens:
                self._accept(token)
        else:
            self._step_aside()
            for token in tokens:
                self._give_back(token)
        if self._interest.deferred:
            self._hand_up()
        if ticket is not None:
            ticket.succeed()

    def _step_aside(self) -> None:
        """Who gives back without credit does not want it again: others shall have it first."""
        if self._credit <= 0 and self._tag is not None and not self.source.eager and not self._draining:
            while self._held:
                self._give_back(self._held.popleft().token)
            self._cancel(lambda _: self._grant(0))

    def _accept(self, content: Content) -> None:
        if self._tags.accept(content.delivery_tag):
            self._freed += content.consumer_tag == self._tag
            if not self._is_marked:
                self._is_marked = True
                self._link.consuming.at_flush(self._write_acks)

    def _give_back(self, content: Content) -> None:
        if self._tags.drop(content.delivery_tag):
            self._unsettled -= content.consumer_tag == self._tag
            self._link.consuming.give_back(self._channel, content.delivery_tag)

    def _write_acks(self) -> None:
        self._is_marked = False
        if self._draining or self._channel is None or not self._channel.is_open:
            return  # while messages are fetched an acknowledgement would let the queue push
        self._unsettled -= self._freed
        self._freed = 0
        for tag, multiple in self._tags.take():
            self._link.consuming.ack(self._channel, tag, multiple)

    def _reject(self, tokens: Sequence[Content], ticket: Ticket | None) -> None:
        """A confirmed copy in the dead-letter queue, then the acceptance."""
        queue = self._link.options.dead_letter_queue
        if not queue:
            error = NotSupported(f"{self._link.broker} has no dead-letter queue (option dead_letter_queue)")
            if ticket is not None:
                ticket.fail(error)
            return
        left = [len(tokens)]

        def copied(token: Content, error: BackendError | None) -> None:
            left[0] -= 1
            if error is None:
                error = self._settle_copied(token)
            else:
                self._give_back(token)
            if ticket is not None and error is not None:
                ticket.fail(error)
            elif ticket is not None and left[0] == 0:
                ticket.succeed()

        for token in tokens:
            self._copy(queue, token, 0, copied)

    def _postpone(self, content: Content, due: int) -> None:
        """A message of a topic was routed when it was sent and is too early: let it wait, for this queue alone."""

        def copied(token: Content, error: BackendError | None) -> None:
            if error is None:
                self._settle_copied(token)
            elif self._link.loop.ended is None:
                log.warning("%s: a delayed message cannot wait at the broker: %s", self._interest.address, error)
                self._link.loop.call_later(max(0.0, due - now_ms()) / 1000, lambda: self._give_back(token))

        self._copy(self.source.queue, content, due - now_ms(), copied)

    def _copy(
        self, queue: str, token: Content, wait: int, done: Callable[[Content, BackendError | None], None]
    ) -> None:
        self._copying += 1

        def copied(token: Content, error: BackendError | None) -> None:
            self._copying -= 1
            done(token, error)
            if self._copying == 0 and self._leaving is not None:
                leaving, self._leaving = self._leaving, None
                leaving()

        self._link.copies.copy(queue, token, wait, _Copied(token, copied))

    def _settle_copied(self, token: Content) -> BackendError | None:
        if self._channel is None or not self._channel.is_open:
            return self._lost or ChannelLost("the consumer is closed", in_doubt=True)
        self._accept(token)
        return None

    # -- ends

    def _close(self, done: Callable[[Any, BackendError | None], None]) -> None:
        channel = self._channel
        if channel is None or not channel.is_open:
            done(None, None)
            return
        if self._copying:
            self._leaving = lambda: self._close(done)
            return

        def closed() -> None:
            self._link.left(self.source)
            done(None, None)

        self._draining = False
        self._write_acks()
        self._closing = closed
        self._fail_drains(ChannelLost("the consumer was closed"))
        channel.close()

    def _on_closed(self, channel: Any, reason: BaseException) -> None:
        link, self._channel = self._link, None
        if self._closing is not None:
            self._closing()
            return
        if link.loop.ended is not None or not link.consuming.is_open:
            return
        no = Refused(getattr(reason, "reply_code", 0), getattr(reason, "reply_text", str(reason)))
        opening, self._opening = self._opening, None
        error = refusal(no, f"consuming {self._interest.address}", link.broker)
        if opening is not None:
            if is_exclusive_use(no):
                what = self._interest.key or self.source.queue
                error = SubscriptionRefused(f"{what!r} has a consumer that excludes others ({no})")
                error.__cause__ = no
            opening(error)
            return
        self._end(error)

    def _on_cancelled(self, frame: Any) -> None:
        if self._tag is None or frame.method.consumer_tag != self._tag:
            return
        self._tag = None
        link = self._link
        link.forget("", self.source.queue)
        where = f"{self._interest.address}: {link.broker} ended the consumer"
        self._end(AddressRefused(f"{where}: its queue {self.source.queue!r} was deleted, or its node stopped"))

    def _end(self, error: BackendError) -> None:
        """The broker ended it, the link lives on."""
        self._lost = error if isinstance(error, LinkLost) else ChannelLost(str(error))
        self._fail_drains(self._lost)
        self._link.events.subscription_lost(self, error)

    def _fail_drains(self, error: BackendError) -> None:
        tickets, self._drains = self._drains, deque()
        for ticket in tickets:
            ticket.fail(error)

    def end(self) -> None:
        """The link is gone: answer everything."""
        self._channel = None
        opening, self._opening = self._opening, None
        if opening is not None:
            opening(self._link.lost_late())
        self._fail_drains(self._link.lost_late())
        self._orders.refuse_all()


class _Copied:
    """The answer to a copy on its way to the dead-letter queue."""

    def __init__(self, token: Content, done: Callable[[Content, BackendError | None], None]) -> None:
        self._token = token
        self._done = done

    def succeed(self) -> None:
        """It is there."""
        self._done(self._token, None)

    def fail(self, error: BackendError) -> None:
        """It is not."""
        self._done(self._token, error)


_DEADLINE = 20.0  # seconds for a consumer to start
_CLASSIC_ONLY = Native.DRAIN | Native.HAND_BACK


def _is_expired(envelope: Envelope) -> bool:
    return envelope.expiration != 0 and envelope.expiration <= now_ms()


def _ignore(_: Any) -> None:
    """For answers that change nothing."""
