"""The SPI's Subscription: credit, drain and settlements on a receiver, which may be replaced by another.

ActiveMQ Classic keeps a message that was returned with its receiver, and marks it as redelivered only when the
receiver's session ends. There the receiver is closed as soon as it holds nothing else, and the next credit attaches
another.
"""

import time
from collections import deque
from collections.abc import Callable, Sequence
from typing import Any

from jmsbridge.spi import (
    Address,
    AddressRefused,
    Arrival,
    BackendError,
    ChannelLost,
    Inbox,
    Interest,
    Mode,
    Native,
    Outcome,
    Ticket,
)
from jmsbridge.transport.deliveries.expiry import is_expired
from jmsbridge.transport.network.link_life import DEADLINE, Done, ignored
from jmsbridge.transport.network.loop import Timer
from jmsbridge_amqp.connection import states
from jmsbridge_amqp.connection.errors import Failure, attach_error
from jmsbridge_amqp.facts import LinkFacts
from jmsbridge_amqp.messages.wire import Decoder
from jmsbridge_amqp.nodes.nodes import AGAIN, PATIENCE, Nodes
from jmsbridge_amqp.receiving.dead_letters import SubscriptionDeadLetters
from jmsbridge_amqp.receiving.receiver import Receiver, Source
from jmsbridge_amqp.receiving.sharing import check_sharing
from jmsbridge_amqp.receiving.sink import Sink
from jmsbridge_amqp.receiving.token import Token

__all__ = ["Subscription"]

_AGAIN = 0.05  # seconds until a drain without an answer is repeated; doubles each time
_COLLECTS = 0.02  # seconds for which returned messages are collected, where they come again by turn
_GONE = ("amqp:resource-deleted", "amqp:not-found")


class Subscription:
    """Made by the channel. All but the verbs belongs to the I/O thread.

    ``sink`` is the channel, as far as a subscription needs it; ``forget`` is called once the subscription is closed.
    """

    def __init__(
        self,
        facts: LinkFacts,
        sink: Sink,
        interest: Interest,
        inbox: Inbox,
        source: Source,
        forget: "Callable[[Subscription], None]",
    ) -> None:
        self.native: Native = facts.native | (Native.REJECT if interest.dead_letters else Native.NONE)
        self._facts = facts
        self._driver = facts.driver
        self._life = facts.driver.life
        self._sink = sink
        self._interest = interest
        self._inbox = inbox
        self._source = source
        self._forget = forget
        self._decoder = Decoder(interest.address, facts.naming, facts.structures)
        self._dead_letters = SubscriptionDeadLetters(
            facts.copier, interest, self._decoder, facts.naming, facts.dead_letters, self._return_later
        )  # fmt: skip
        self._browses = interest.mode is Mode.BROWSE
        self._receiver: Receiver | None = None
        self._attaching = False
        self._replacing = False
        self._draining = False
        self._drain_timer: Timer | None = None
        self._repeat_timer: Timer | None = None
        self._steps: deque[int | Ticket] = deque()
        self._counted: set[int] = set()
        self._returning: dict[int, bool] = {}  # what is collected: whether the application has seen it
        self._returned = False
        self._marked = False
        self._finishing: list[Done] = []  # what waits for it to be closed
        self._closed = False
        self._error: BackendError | None = None

    # -- verbs, from any thread

    def grant(self, count: int) -> None:
        """Allow ``count`` more arrivals."""
        self._sink.check()
        self._sink.put(None, lambda: self._step(count))

    def settle(self, tokens: Sequence[Any], outcome: Outcome, ticket: Ticket | None = None, failures: int = 1) -> None:
        """Settle; the ticket is answered when this is written."""
        if ticket is None:
            self._sink.check()
        self._sink.put(ticket, lambda: self._settle(tokens, outcome, ticket, failures))

    def drain(self, ticket: Ticket) -> None:
        """Take the credit to zero, after what is available has arrived."""
        self._sink.put(ticket, lambda: self._step(ticket))

    def close(self) -> None:
        """End the flow; unsettled messages return to the broker."""
        if self._closed:
            return
        self._life.wait_closing(self.finish, f"closing the consumer of {self._interest.address}")
        self._closed = True  # last, so that an interrupted close can be repeated

    # -- attaching

    def open(self, done: Done) -> None:
        """Attach the first receiver."""

        def attached(error: BackendError | None) -> None:
            if error is None and self._facts.product.hides_sharing and self._interest.durable:
                check_sharing(self._driver, self._interest, self._source, lambda error: self._checked(error, done))
            else:
                done(None, error)

        if self._facts.nodes is None:
            self._attach(attached)
        else:
            self._open_node(self._facts.nodes, attached)

    def _open_node(self, nodes: Nodes, attached: Callable[[BackendError | None], None]) -> None:
        """Attach to the queue once it is there.

        RabbitMQ tells others of a queue before it can be consumed; and it may have been deleted.
        """
        address, until = self._interest.address, time.monotonic() + PATIENCE

        def find() -> None:
            if not self._life.is_over:
                nodes.consume(address, found)

        def tried(error: BackendError | None) -> None:
            if isinstance(error, AddressRefused) and not address.topic and time.monotonic() < until:
                self._life.thread.call_later(AGAIN, find)
            else:
                attached(error)

        def found(queue: Any, error: BackendError | None) -> None:
            error = error or self._error  # the channel may have been closed meanwhile
            if error is not None:
                attached(error)
                return
            self._source.address = self._facts.naming.text(Address(queue))
            self._attach(tried)

        find()

    def _checked(self, error: BackendError | None, done: Done) -> None:
        """After ``check_sharing``: with an error close the receiver, and leave the subscription as it was."""
        if error is None:
            done(None, None)
        else:
            self._finish(lambda *_: done(None, error))

    def _attach(self, attached: Callable[[BackendError | None], None]) -> None:
        self._attaching = True
        self._counted.clear()
        made = Receiver(
            self._driver, self._source, self._arrived, self._ended, self._facts.product.drain_checks
        )  # fmt: skip
        self._receiver = made

        def answered(failure: Failure | None) -> None:
            self._attaching = False
            if failure is None:
                attached(None)
            else:
                self._receiver = None
                attached(self._refusal(failure))
            self._go_on()

        made.attach(answered)

    def _refusal(self, failure: Failure) -> BackendError:
        what = f"consuming {self._interest.address}"
        key = self._interest.key
        if key is not None:
            what += f" as {key!r}"
        selects = self._source.selector is not None
        return attach_error(failure, what, self._life.broker, selector=selects, key=key is not None)

    def _go_on(self) -> None:
        """A receiver was attached, or closed: close the subscription if that is asked, else grant and drain."""
        waiting, self._finishing = self._finishing, []
        for done in waiting:
            self._finish(done)
        self._work()

    def _attach_again(self) -> None:
        timer = self._driver.expect_soon(f"consuming {self._interest.address} again", DEADLINE)

        def attached(error: BackendError | None) -> None:
            self._life.thread.cancel(timer)
            if error is not None:
                self._lose(error)
                self._facts.events.subscription_lost(self, error)

        self._attach(attached)

    # -- credit

    def _step(self, step: int | Ticket) -> None:
        steps = self._steps
        if isinstance(step, int) and steps and isinstance(steps[-1], int):
            steps[-1] += step
        else:
            steps.append(step)
        self._work()

    def _work(self) -> None:
        """Grant and drain, in order."""
        if self._returning:
            self._write_returns()
        steps = self._steps
        while steps and not (self._draining or self._attaching or self._replacing):
            step = steps[0]
            if self._error is not None:
                steps.popleft()
                if not isinstance(step, int):
                    step.fail(self._error)
            elif isinstance(step, int):
                if self._receiver is None:
                    self._attach_again()
                    return
                steps.popleft()
                self._receiver.grant(step)
            elif self._receiver is None:
                steps.popleft()
                step.succeed()
            else:
                self._draining = True
                self._drain_timer = self._driver.expect_soon(f"a drain of {self._interest.address}", DEADLINE)
                self._repeat_timer = self._life.thread.call_later(_AGAIN, lambda: self._drain_again(_AGAIN))
                self._receiver.drain(self._drained)

    def _drain_again(self, waited: float) -> None:
        """Ask once more: Artemis forgets a drain that comes just when it has answered another."""
        self._repeat_timer = self._life.thread.call_later(waited, lambda: self._drain_again(2 * waited))
        if self._receiver is not None:
            self._receiver.ask_again()

    def _drained(self) -> None:
        self._draining = False
        self._cancel_timer()
        step = self._steps.popleft()
        assert not isinstance(step, int)
        step.succeed()
        self._look_returned()
        self._work()

    def _cancel_timer(self) -> None:
        for timer in (self._drain_timer, self._repeat_timer):
            if timer is not None:
                self._life.thread.cancel(timer)
        self._drain_timer = self._repeat_timer = None

    # -- arrivals

    def _arrived(self, number: int, data: bytes) -> None:
        receiver = self._receiver
        assert receiver is not None
        inbound = self._decoder.decode(data)
        envelope, count = inbound.envelope, inbound.delivery_count
        token = Token(receiver, number, data, count)
        if envelope.expiration and is_expired(envelope):
            self._expired(receiver, token)
            return
        if count > 1:
            self._counted.add(number)
        if self._interest.presettled:
            receiver.dispose(number, states.ACCEPTED)
        self._inbox.put(Arrival(token, envelope, count > 1, count))

    def _expired(self, receiver: Receiver, token: Token) -> None:
        """Move or drop an expired message instead of handing it over, and grant its credit again."""
        if self._interest.expired and not self._browses:
            self._dead_letters.expire(token, self._interest.expired)
        else:
            receiver.dispose(token.number, states.ACCEPTED)
        if not self._draining:
            receiver.grant(1)

    # -- outcomes

    def _settle(self, tokens: Sequence[Token], outcome: Outcome, ticket: Ticket | None, failures: int) -> None:
        if self._error is not None:
            if ticket is not None:
                ticket.fail(self._error)
        elif self._browses:
            if ticket is not None:
                ticket.succeed()
        elif outcome is Outcome.REJECTED:
            self._dead_letters.reject(tokens, failures, ticket)
        elif outcome is Outcome.ACCEPTED and self._sink.transaction is not None:
            self._sink.transaction.accept(tokens)
            if ticket is not None:
                ticket.succeed()
        elif outcome is Outcome.ACCEPTED:
            for token in tokens:
                if token.receiver.dispose(token.number, states.ACCEPTED):
                    self._counted.discard(token.number)
            self._answer(ticket)
            self._look_returned()
        else:
            for token in tokens:
                self._return(token.receiver, token.number, seen=outcome is not Outcome.RELEASED)
            self._answer(ticket)
            self._look_returned()

    def _answer(self, ticket: Ticket | None) -> None:
        if ticket is not None:
            self._driver.when_written(ticket)

    def _return(self, receiver: Receiver, number: int, *, seen: bool) -> None:
        """Return a message, marked as redelivered if the application has seen it.

        The mark is a failed delivery, which brokers count and limit, so it is made only once.
        """
        if self._facts.product.returns_by_turn:
            if not self._returning:
                self._life.thread.call_later(_COLLECTS, self._write_returns)
            self._returning.setdefault(number, seen)
            return
        marks = seen and (number not in self._counted or self._facts.product.keeps_returned)
        if receiver.dispose(number, states.MODIFIED if marks else states.RELEASED):
            self._counted.discard(number)
            self._returned = True
            self._marked = self._marked or seen

    def _write_returns(self) -> None:
        """Return what was collected, in order of arrival.

        RabbitMQ puts a released message back by way of its log, so modified ones overtake it: all are modified.
        """
        returning, self._returning = self._returning, {}
        receiver = self._receiver
        if receiver is None:
            return
        for number in sorted(returning):
            failed = returning[number] and number not in self._counted
            if receiver.dispose(number, states.MODIFIED, failed=failed):
                self._counted.discard(number)

    def _return_later(self, token: Token) -> None:
        self._driver.batch(lambda: self._return(token.receiver, token.number, seen=True))
        self._look_returned()

    def _look_returned(self) -> None:
        """Close a receiver that keeps what was returned, once it is idle; the next credit attaches another."""
        receiver = self._receiver
        if not (self._returned and self._facts.product.keeps_returned) or receiver is None or self._draining:
            return
        if self._replacing or self._attaching or receiver.unsettled or receiver.credit > 0 or not self._can_replace:
            return
        self._replacing = True
        marked, self._marked, self._returned = self._marked, False, False
        timer = self._driver.expect_soon(f"returning messages of {self._interest.address}", DEADLINE)

        def replaced() -> None:
            self._life.thread.cancel(timer)
            self._receiver, self._replacing = None, False
            self._go_on()

        receiver.close(replaced, keep=self._interest.durable, mark=marked)

    @property
    def _can_replace(self) -> bool:
        return not self._browses and (not self._interest.address.topic or self._interest.durable)

    # -- ends

    def released(self) -> None:
        """The subscription was closed, or refused: its name may be used again."""
        self._facts.names.release(self._interest)

    def finish(self, done: Done) -> None:
        """Return what is unsettled, and close the receiver."""
        self._dead_letters.when_idle(lambda: self._finish(done))

    def _finish(self, done: Done) -> None:
        if self._replacing or self._attaching:
            self._finishing.append(done)
            return
        transaction = self._sink.transaction
        if transaction is not None and transaction.holds(self._receiver):
            transaction.when_ended(lambda: self._finish(ignored))
            done(None, None)
            return
        receiver = self._receiver
        if receiver is not None and not self._facts.product.keeps_returned:
            for number in list(receiver.unsettled):
                self._return(receiver, number, seen=True)
            self._write_returns()
        self._receiver = None
        self._lose(ChannelLost("the consumer was closed"))
        if receiver is None:
            self._forget(self)
            done(None, None)
            return
        mark = self._facts.product.keeps_returned and (self._marked or bool(receiver.unsettled))

        def closed() -> None:
            self._forget(self)
            done(None, None)

        receiver.close(closed, keep=self._interest.durable, mark=mark and not self._interest.address.topic)

    def _ended(self, failure: Failure) -> None:
        """The broker closed the link."""
        self._receiver = None
        text = f"{self._life.broker} ended the consumer of {self._interest.address} ({failure})"
        if failure.name in _GONE:
            error = BackendError(text)
            error.__cause__ = failure
            self._lose(error)
            self._facts.events.subscription_lost(self, error)
        else:
            lost = ChannelLost(text)
            lost.__cause__ = failure
            self._lose(lost)
            self._sink.lose(lost)

    def _lose(self, error: BackendError) -> None:
        """The subscription has ended: fail the drains that wait."""
        self._error = self._error or error
        self._draining = False
        self._cancel_timer()
        steps, self._steps = self._steps, deque()
        for step in steps:
            if not isinstance(step, int):
                step.fail(error)

    def end(self, error: BackendError) -> None:
        """The channel or the link is lost."""
        self._lose(error)
        if self._receiver is not None:
            self._receiver.forget()
