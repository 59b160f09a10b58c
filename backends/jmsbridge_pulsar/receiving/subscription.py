"""The SPI's Subscription: credit and settlements on a consumer or a reader of the client library."""

import threading
from collections.abc import Callable, Sequence
from typing import Any

from jmsbridge.spi import BackendError, ChannelLost, Inbox, Interest, LinkLost, Mode, Native, Outcome, Ticket
from jmsbridge.transport.deliveries.polling import CreditPump
from jmsbridge.transport.network.link_life import Done, ignored
from jmsbridge_pulsar.facts import LinkFacts
from jmsbridge_pulsar.receiving.browsing import open_browser
from jmsbridge_pulsar.receiving.credit import Credit
from jmsbridge_pulsar.receiving.dead_letters import SubscriptionDeadLetters
from jmsbridge_pulsar.receiving.definitions import check_definition, definition
from jmsbridge_pulsar.receiving.delivery import Delivery
from jmsbridge_pulsar.receiving.filtering import filter_properties
from jmsbridge_pulsar.receiving.flow import Flow
from jmsbridge_pulsar.receiving.memory import known_of
from jmsbridge_pulsar.receiving.opening import open_taker, subscription_name
from jmsbridge_pulsar.receiving.resuming import Beginning, Progress
from jmsbridge_pulsar.receiving.takers import Taker

__all__ = ["Subscription"]

_JOINING = 1.0  # seconds; the thread never waits that long for a message


class Subscription:
    """Its verbs are for any thread. ``forget`` is called when it has ended."""

    def __init__(
        self, facts: LinkFacts, interest: Interest, inbox: Inbox, forget: "Callable[[Subscription], None]"
    ) -> None:
        self._facts = facts
        self._life = facts.life
        self._forget = forget
        self.interest = interest
        self.native: Native = _native(facts, interest)
        name = subscription_name(facts, interest)
        where = facts.names.topic(interest.address)
        whole = str(facts.life.endpoint), where, name
        self._known = known_of(*whole) if name else None
        is_durable = bool(name) and (not interest.address.topic or interest.durable)
        self._progress = Progress(whole) if name and not is_durable else None
        self._beginning = self._progress or (None if name else Beginning())
        self._returns = not interest.address.topic or interest.shared  # the broker returns single messages
        self._taker: Taker | None = None
        self._credit = Credit(
            facts.life,
            filter_properties(interest) if facts.options.broker_selectors else {},
            {} if interest.key is None else definition(interest, facts.client_id),
            self._failed,
            durable=is_durable,
            begins=self._beginning,
        )
        self._flow = Flow(facts, interest, self._known, self._credit, self._open, self._let_go, self._progress)
        self._dead_letters = SubscriptionDeadLetters(facts, interest, self._accept, self._return)
        self._error: BackendError | None = None
        self._closing = threading.Lock()
        self._is_closed = False
        self._pump = CreditPump(
            f"jmsbridge-pulsar-{interest.address.name}-io",
            self._flow,
            inbox,
            self._failed,
            accept=self._accept if interest.presettled else None,
            expire=None if interest.mode is Mode.BROWSE else self._expire,
        )

    def open(self) -> None:
        """Subscribe; a queue's consumer is opened by its first credit, so that it keeps nothing from others."""
        try:
            if self.interest.address.topic or self.interest.mode is Mode.BROWSE:
                self._flow.begin()
            else:
                address = self.interest.address
                self._life.wait(lambda done: self._facts.make_queue(address, done), f"consuming {address}")
        except BaseException:
            self._error = ChannelLost("the consumer was not opened")
            self._pump.close(timeout=0.0)
            self._life.thread.post(lambda: self._close_taker(ignored))
            raise

    def _open(self) -> Taker:
        facts, interest = self._facts, self.interest
        made: Taker
        if interest.mode is Mode.BROWSE:
            self._taker = made = open_browser(facts, interest.address, interest.window)
        else:
            if interest.key is not None and facts.rest is not None:
                topic = facts.names.topic(interest.address)
                name, namespace = subscription_name(facts, interest), facts.options.namespace
                check_definition(facts.rest, namespace, topic, name, interest, facts.client_id)
            made = self._life.wait(self._open_taker, f"consuming {interest.address}")
        return made

    def _open_taker(self, done: Done) -> None:
        """I/O thread. When the broker answers, a close or an interrupt may have ended the wait for it."""

        def opened(taker: Taker | None, error: BackendError | None) -> None:
            self._taker = taker
            if taker is not None and self._beginning is not None:
                self._beginning.open()
            if self._error is not None:
                self._close_taker(ignored)
            done(taker, error)

        open_taker(self._facts, self.interest, self._credit, opened)

    def _let_go(self) -> bool:
        """End the consumer if it need not stay, so that what the broker may still send goes to others.

        The next credit opens another one.
        """
        if self._flow.unsettled or (
            self.interest.address.topic and not (self.interest.shared and self.interest.durable)
        ):
            return False
        self._life.wait_closing(self._close_taker, f"pausing the consumer of {self.interest.address}")
        return True

    # -- verbs

    def grant(self, count: int) -> None:
        """Allow that many more arrivals."""
        self._check()
        self._credit.allow(count)
        self._pump.grant(count)

    def drain(self, ticket: Ticket) -> None:
        """Take the credit to zero."""
        error = self._ended()
        if error is not None:
            ticket.fail(error)
        else:
            self._pump.drain(ticket)

    def settle(
        self, tokens: Sequence[Delivery], outcome: Outcome, ticket: Ticket | None = None, failures: int = 1
    ) -> None:
        """Settle; it reaches the broker within 0.2 s, and its disk later."""
        error = self._ended()
        if isinstance(error, LinkLost | ChannelLost):
            if ticket is None:
                raise error
            ticket.fail(error)
            return
        if outcome is Outcome.REJECTED and error is None:  # else the broker has ended it, and it is no error
            self._life.thread.post(lambda: self._dead_letters.reject(tokens, failures, ticket))
            return
        if outcome is Outcome.ACCEPTED:
            self._accept(*tokens)
        else:
            for token in tokens:
                self._return(token)
        if self._known is not None and outcome in (Outcome.FAILED, Outcome.REQUEUED):
            self._known.lose((token.key, token) for token in tokens)  # a close ends what the library would return
        if ticket is not None:
            ticket.succeed()

    def _accept(self, *tokens: Delivery) -> None:
        held, taker = [token for token in tokens if token.key in self._flow.unsettled], self._taker
        if self._known is not None:
            self._known.accepted.add(*[token.key for token in held])
        for token in held:
            if taker is not None:
                taker.accept(token.key, token.message)
            self._flow.settled(token)  # last: after an interrupt it is accepted once more

    def _return(self, token: Delivery) -> None:
        """Return a message; without a shared subscription it stays here until the consumer is closed."""
        if self._returns and self._flow.settled(token) and self._taker is not None:
            self._taker.requeue(token.key, token.message)

    def _expire(self, token: Delivery) -> None:
        self._credit.allow(1)  # the pump hands it to nobody, so the facade still wants a message
        queue = self.interest.expired
        if queue:
            self._life.thread.post(lambda: self._dead_letters.expire(token, queue))
        else:
            self._accept(token)

    # -- ends

    def _check(self) -> None:
        error = self._ended()
        if error is not None:
            raise error

    def _ended(self) -> BackendError | None:
        if self._life.is_over:
            return self._life.lost()
        return self._error

    def _failed(self, error: BackendError) -> None:
        """The pump cannot take messages any more, or the broker has closed the consumer.

        The library would open that again, some time, and then keep messages that nobody gets.
        """
        if self._error is None and not self._life.is_over:
            self._error = error
            self._life.thread.post(lambda: self._close_taker(ignored))
            self._facts.events.subscription_lost(self, error)

    def close(self) -> None:
        """Return what is unsettled, and end."""
        with self._closing:
            if self._is_closed:
                return
            self._is_closed = True
        self._life.wait_closing(self._wait_copies, f"closing the consumer of {self.interest.address}")
        closed = ChannelLost("the consumer was closed")
        self._pump.close(closed, self._life.endpoint.close_timeout)
        self._error = self._error or closed
        self._life.wait_closing(self._close_taker, f"closing the consumer of {self.interest.address}")
        self._flow.forget(is_lost=False)
        self._forget(self)

    def _wait_copies(self, done: Done) -> None:
        self._dead_letters.when_idle(lambda: done(None, None))

    def _close_taker(self, done: Done) -> None:
        taker, self._taker = self._taker, None
        self._credit.close()
        if self._beginning is not None:
            self._beginning.close()

        def closed(*_: Any) -> None:
            done(None, None)

        if taker is None:
            closed()
        else:
            taker.close(self._facts.library, closed)

    def finish(self, done: Done) -> None:
        """The link is being closed; I/O thread."""
        self._pump.close(ChannelLost("the link was closed"), 0.0)
        self._close_taker(done)

    def join(self) -> None:
        """Wait until the thread that takes messages has ended, after ``end``."""
        self._pump.close(timeout=_JOINING)

    def end(self, error: BackendError) -> None:
        """The link is lost; I/O thread."""
        self._error = self._error or error
        self._pump.close(error, 0.0)
        self._taker = None
        self._flow.forget(is_lost=True)
        if self._beginning is not None:
            self._beginning.close()


def _native(facts: LinkFacts, interest: Interest) -> Native:
    native = facts.native | (Native.REJECT if interest.dead_letters else Native.NONE)
    if interest.address.topic and not interest.shared:
        native &= ~Native.RETURN
    if interest.mode is Mode.BROWSE:
        native |= Native.DRAIN
    return native
