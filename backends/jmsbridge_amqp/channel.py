"""The SPI's Channel: a queue for its verbs, a session for its sends and its transaction, and its subscriptions."""

import logging
from collections import deque
from collections.abc import Callable, Collection
from contextlib import AbstractContextManager, nullcontext

from jmsbridge.spi import (
    Address,
    BackendError,
    ChannelLost,
    Envelope,
    Inbox,
    Interest,
    NotSupported,
    Ticket,
)
from jmsbridge.transport.deliveries.expiry import now_ms
from jmsbridge.transport.network.link_life import DEADLINE, Done, after_all, ignored
from jmsbridge.transport.queued_channel import BUSY, Command, QueuedChannel
from jmsbridge_amqp.connection.errors import FULL, Failure, attach_error
from jmsbridge_amqp.connection.link_group import LinkGroup
from jmsbridge_amqp.facts import LinkFacts
from jmsbridge_amqp.receiving.asking import asked_apart
from jmsbridge_amqp.receiving.sources import source_for
from jmsbridge_amqp.receiving.subscription import Subscription
from jmsbridge_amqp.sending.outgoing import Outgoing
from jmsbridge_amqp.sending.sender import cancelled
from jmsbridge_amqp.sending.senders import Senders
from jmsbridge_amqp.transactions.coordinator import Coordinator
from jmsbridge_amqp.transactions.transaction import Transaction

__all__ = ["Channel"]

log = logging.getLogger("jmsbridge.amqp")


class Channel(QueuedChannel[Outgoing, Transaction]):
    """``forget`` is called once it is closed."""

    def __init__(self, facts: LinkFacts, forget: "Callable[[Channel], None]") -> None:
        super().__init__(facts.driver.life)
        self._facts = facts
        self._driver = facts.driver
        self._forget = forget
        self._session: LinkGroup | None = None
        self._senders: Senders | None = None
        self._coordinator: Coordinator | None = None
        self._subscriptions: list[Subscription] = []
        self._target: Address | None = None  # the last address that was checked; any thread
        self._ensuring: Outgoing | None = None  # the message whose queue is being created
        self._closing = False

    # -- opening

    def open(self, transacted: bool, done: Done) -> None:
        """Attach the coordinator for transactions; without them, the first send begins the session. I/O thread."""
        self._driver.when_emptied.append(self._go_on)
        facts = self._facts
        self._senders = Senders(self._driver, self._begin, facts.naming, facts.nodes, relay=facts.relay)
        if not transacted:
            done(None, None)
            return
        self._coordinator = Coordinator(self._driver, self._begin(), self._coordinator_ended)

        def attached(failure: Failure | None) -> None:
            if failure is not None:
                self.finish(ignored)
                done(None, self._no_transactions(failure))
                return
            assert self._coordinator is not None
            assert self._senders is not None
            self.transaction = Transaction(self._driver, self._coordinator, self._senders, self.lose, self._go_on)
            done(None, None)

        self._coordinator.attach(attached)

    def _no_transactions(self, failure: Failure) -> BackendError:
        broker = self._life.broker
        if failure.name == FULL:
            return attach_error(failure, "opening a session with transactions", broker)
        return NotSupported(f"{broker} has no transactions here ({failure})")

    def _begin(self) -> LinkGroup:
        """The session of the sends and the transaction.

        A channel that only consumes never begins it: Artemis answers the end of a session that has had no link only
        when it next looks at all connections, which is every 2 seconds.
        """
        if self._session is None:
            self._session = LinkGroup(self._driver, self._session_ended)
        return self._session

    # -- verbs

    def _encode(self, envelope: Envelope, ticket: Ticket | None) -> Outgoing:
        if envelope.address is not self._target:
            self._facts.product.check(envelope.address)
            self._target = envelope.address
        if envelope.reply_to is not None:
            self._facts.product.check(envelope.reply_to)
        data = self._facts.encoder.encode(envelope, now_ms())
        if ticket is None and self._facts.product.answers_all:
            ticket = _Unasked()
        drops = self._facts.nodes is not None and envelope.address.topic
        return Outgoing(envelope.address, data, ticket, drops=drops)

    def subscribe(self, interest: Interest, inbox: Inbox) -> Subscription:
        """Attach a receiver without credit."""
        self.check()
        self._pause(self._facts.names.pause(interest))
        with self._asked(interest):
            return self._subscribe(interest, inbox)

    def _pause(self, seconds: float) -> None:
        def start(done: Done) -> None:
            self._life.thread.call_later(seconds, lambda: done(None, None))

        if seconds:
            self._life.wait(start, "waiting to subscribe")

    def _asked(self, interest: Interest) -> AbstractContextManager[None]:
        """Where a refusal would end the connection, the broker is asked over another one."""
        facts, key = self._facts, interest.key
        clashes = interest.shared and not interest.durable and not facts.client_id and not interest.no_local
        if facts.other is None or key is None or not (clashes and facts.product.clash_ends_connection):
            return nullcontext()
        if facts.names.is_active(key, durable=False):  # then this link knows its topic and selector
            return nullcontext()
        return asked_apart(interest, facts.other)

    def _subscribe(self, interest: Interest, inbox: Inbox) -> Subscription:
        source = source_for(interest, self._facts)
        made = Subscription(self._facts, self, interest, inbox, source, self._drop)
        self._subscriptions.append(made)
        try:
            self._life.wait(made.open, f"consuming {interest.address}")
            self.check()  # a later loss will end it
        except BackendError:
            self._drop(made)
            raise
        return made

    def _drop(self, subscription: Subscription) -> None:
        if subscription in self._subscriptions:
            self._subscriptions.remove(subscription)
            subscription.released()

    # -- the queue

    def _cancel(self, message: Outgoing) -> None:
        message.cancel(cancelled(message, self._life.broker))

    def _cancel_later(self, wanted: Collection[int]) -> None:
        if self.transaction is not None:
            self.transaction.cancel(wanted)
        if self._senders is not None:
            self._senders.cancel(wanted)

    def _serve(self, items: deque[Outgoing | Command]) -> None:
        transaction, senders, driver = self.transaction, self._senders, self._driver
        assert senders is not None
        count = 0
        while items:
            if (transaction is not None and transaction.is_ending) or not driver.has_room():
                return
            if self._ensuring is not None or not self._has_node(items[0]):
                return
            item = items.popleft()
            if isinstance(item, Command):
                item.run()
                if self._lost is not None:
                    return
            elif transaction is not None:
                transaction.send(item)
            else:
                count += 1
                senders.push(item)
        if count >= BUSY:
            self._box.watch()

    def _has_node(self, item: Outgoing | Command) -> bool:
        """Whether this can be served now. If its queue has to be created, all later items wait for that, too."""
        nodes = self._facts.nodes
        if nodes is None or not isinstance(item, Outgoing) or nodes.is_known(item.address):
            return True
        self._ensuring = item

        def ensured(_: object, error: BackendError | None) -> None:
            if self._ensuring is not item:
                return
            self._ensuring = None
            self._life.thread.cancel(timer)
            items = self._box.items
            if error is not None and items and items[0] is item:  # it may have been cancelled
                items.popleft()
                item.fail(error)
            self._go_on()

        late = BackendError(f"{item.address}: no answer from {self._life.broker} within {DEADLINE:.3g} s")
        timer = self._life.thread.call_later(DEADLINE, lambda: ensured(None, late))
        nodes.ensure(item.address, ensured)
        return False

    # -- ends

    def _coordinator_ended(self, failure: Failure) -> None:
        error = ChannelLost(f"{self._life.broker} ended the transactions of a channel ({failure})")
        error.__cause__ = failure
        self.lose(error)

    def _session_ended(self, failure: Failure) -> None:
        if self._session is not None and self._session.is_refused:
            self._session = None  # the next message tries again
            return
        error = ChannelLost(f"{self._life.broker} ended a session ({failure})")
        error.__cause__ = failure
        self.lose(error)

    def lose(self, error: BackendError) -> None:
        """The channel is lost, its link lives on: answer everything, end the sessions, then report it."""
        if self._lost is not None or self._closing:
            return
        self._lost = error
        self._answer_all(error, lambda _: ChannelLost(str(error), in_doubt=True))
        self._box.refuse_all()
        timer = self._driver.expect_soon("ending a lost channel", DEADLINE)

        def ended() -> None:
            self._life.thread.cancel(timer)
            if not self._life.is_over:  # otherwise the loss of the link is reported
                self._facts.events.channel_lost(self, error)

        self._end_sessions(ended)

    def _answer_all(self, error: BackendError, doubt: Callable[[int], BackendError]) -> None:
        transaction = self.transaction
        if transaction is not None:
            transaction.stop()
        if self._senders is not None:
            self._senders.end(error, doubt)
        if self._coordinator is not None:
            self._coordinator.end(error, doubt)
        if transaction is not None:
            transaction.end(error)
        for subscription in list(self._subscriptions):
            subscription.end(error)
        self._finish_waiting()

    def _end_sessions(self, done: Callable[[], None]) -> None:
        def ended() -> None:
            if self._go_on in self._driver.when_emptied:
                self._driver.when_emptied.remove(self._go_on)
            self._forget(self)
            done()

        starts: list[Callable[[Done], object]] = [subscription.finish for subscription in self._subscriptions]
        session = self._session
        if session is not None:
            starts.append(lambda done: session.detach_and_end(lambda: done(None, None)))
        after_all(starts, ended)

    def finish(self, done: Done) -> None:
        """Close: write what waits, then end the sessions."""
        if self._senders is None:
            done(None, None)
        else:
            super().finish(done)

    def _finish(self, done: Done) -> None:
        assert self._senders is not None
        if self.transaction is None:
            self._senders.when_idle(lambda: self._close_sessions(done))
        else:
            self._close_sessions(done)

    def _close_sessions(self, done: Done) -> None:
        if self._closing or self._is_over:
            done(None, None)
            return
        self._closing = True
        lost = self._lost = ChannelLost("the channel is closed")
        if self.transaction is not None:
            self.transaction.stop()
        self._end_sessions(lambda: self._closed_sessions(lost, done))

    def _closed_sessions(self, lost: BackendError, done: Done) -> None:
        self._answer_all(lost, lambda _: ChannelLost(str(lost), in_doubt=True))
        done(None, None)

    def end(self) -> None:
        """The link is lost: answer everything; I/O thread."""
        self._box.refuse_all()
        self._answer_all(self._life.lost(), self._driver.doubt)


class _Unasked:
    """The ticket of a send for whose answer nobody asked."""

    def succeed(self) -> None:
        """As expected."""

    def fail(self, error: BackendError) -> None:
        """The caller did not want to know."""
        log.debug("a message that was to be sent without confirmation was not sent: %s", error)
