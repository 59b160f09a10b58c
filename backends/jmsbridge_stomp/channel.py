"""The SPI's Channel: a queue for its sends and transactions, and its subscriptions."""

from collections import deque
from collections.abc import Callable

from jmsbridge.spi import (
    BackendError,
    ChannelLost,
    Envelope,
    Inbox,
    Interest,
    Mode,
    Native,
    NotSupported,
    SelectorRefused,
    SendCancelled,
    Ticket,
)
from jmsbridge.transport.deliveries.expiry import now_ms
from jmsbridge.transport.literal_names import check_key
from jmsbridge.transport.network.link_life import Done, after_all, ignored
from jmsbridge.transport.queued_channel import BUSY, Command, QueuedChannel
from jmsbridge.transport.tickets import CallbackTicket
from jmsbridge_stomp.connection.errors import in_use
from jmsbridge_stomp.facts import LinkFacts
from jmsbridge_stomp.protocol.frames import Unencodable, header
from jmsbridge_stomp.receiving.receiver import selector_of
from jmsbridge_stomp.receiving.subscription import Subscription
from jmsbridge_stomp.sending.copier import Copier
from jmsbridge_stomp.sending.outgoing import Outgoing
from jmsbridge_stomp.sending.sender import Sender
from jmsbridge_stomp.sending.transaction import Transaction

__all__ = ["Channel"]


class Channel(QueuedChannel[Outgoing, Transaction]):
    """``forget`` is called once it is closed. ``only_sends`` says that nothing will be subscribed on it."""

    def __init__(
        self,
        facts: LinkFacts,
        copier: Copier,
        transacted: bool,
        forget: "Callable[[Channel], None]",
        *,
        only_sends: bool = False,
    ) -> None:
        super().__init__(facts.sockets.life)
        self._facts = facts
        self._copier = copier
        self._forget = forget
        # whether acknowledgements join the transaction, on its socket; durable subscriptions need that of the client id
        self._joins = transacted and Native.TRANSACTIONS in facts.native and not only_sends
        shared = facts.main if self._joins and facts.client_id is not None else None
        rule = facts.rule if transacted and shared is None else None
        self._sender = Sender(facts, self._go_on, self.lose, shared, rule)
        self.transaction = Transaction(self._sender, lambda: self._life.broker, self._go_on) if transacted else None
        self._subscriptions: list[Subscription] = []
        self._only_sends = only_sends

    # -- verbs

    def _encode(self, envelope: Envelope, ticket: Ticket | None) -> Outgoing:
        data = self._facts.encoder.encode(envelope, now_ms())
        return Outgoing(envelope.address, data, ticket)

    def subscribe(self, interest: Interest, inbox: Inbox) -> Subscription:
        """Subscribe without credit."""
        self.check()
        if self._only_sends:
            raise NotSupported("nothing can be consumed on a channel for groups of sends")
        self._check_interest(interest)
        key = None if interest.shared else interest.key
        transaction = self.transaction if self._joins else None
        made = Subscription(self._facts, self._copier, self, interest, inbox, transaction)

        def open_it(done: Done) -> None:
            if key is not None and key in self._facts.active:
                done(None, in_use(key))
                return
            if key is not None:
                self._facts.active.add(key)
            if interest.mode is Mode.BROWSE:
                self._life.thread.look()  # what was accepted is not to be shown
            self._subscriptions.append(made)
            made.open(done)

        try:
            self._life.wait(open_it, f"consuming {interest.address}")
            self.check()  # a later loss will end it
        except BackendError:
            self._life.thread.post(lambda: self._give_up(made))
            raise
        return made

    def _give_up(self, subscription: Subscription) -> None:
        """It could not be opened: its name is free at once, and a socket that was made for it is closed."""
        self.drop(subscription)
        subscription.finish(ignored)

    def _check_interest(self, interest: Interest) -> None:
        broker = self._life.broker
        self._facts.product.dialect.check(interest.address)
        if interest.key is not None:
            check_key(interest.key, broker)
        if interest.mode is Mode.BROWSE and Native.BROWSE not in self._facts.native:
            raise NotSupported(f"{broker} cannot be browsed over STOMP ({interest.address})")
        if interest.shared and Native.SHARED not in self._facts.native:
            raise NotSupported(f"{broker} has no shared subscriptions over STOMP ({interest.key!r})")
        if interest.durable and Native.DURABLE not in self._facts.native:
            raise NotSupported(f"over STOMP jmsbridge has no durable subscriptions on {broker} ({interest.key!r})")
        if interest.durable and not interest.shared and self._facts.client_id is None:
            raise NotSupported(
                f"{broker} has durable subscriptions over STOMP only with a client id ({interest.key!r})"
            )
        try:
            header("selector", selector_of(interest, self._facts.product.dialect))
        except Unencodable as error:
            raise SelectorRefused(f"{interest.address}: the selector is too long for {broker} over STOMP") from error

    def drop(self, subscription: Subscription) -> None:
        """Forget a subscription that has ended; I/O thread."""
        if subscription in self._subscriptions:
            self._subscriptions.remove(subscription)
            key = subscription.interest.key
            if key is not None and not subscription.interest.shared:
                self._facts.active.discard(key)

    # -- the queue

    def _cancel(self, message: Outgoing) -> None:
        message.fail(SendCancelled(f"{message.what} was cancelled before it was written to {self._life.broker}"))

    def _serve(self, items: deque[Outgoing | Command]) -> None:
        transaction, sender, count = self.transaction, self._sender, 0
        while items and not self._is_over:
            if transaction is not None and transaction.is_ending:
                return
            if isinstance(items[0], Command):
                item = items.popleft()
                assert isinstance(item, Command)
                item.run()
                continue
            if sender.socket is None:
                return
            item = items.popleft()
            assert isinstance(item, Outgoing)
            if transaction is not None:
                transaction.send(item, is_last=not items or isinstance(items[0], Command))
            else:
                sender.write(item)
            count += 1
        if count >= BUSY:
            self._box.watch()

    # -- ends

    def lose(self, error: BackendError) -> None:
        """The channel is lost, its link lives on: answer everything, close its sockets, then report it."""
        if self._lost is not None or self._life.is_over:
            return
        self._lost = error
        self._sender.end(lambda doubt: ChannelLost(str(error), in_doubt=doubt))
        self._box.refuse_all()
        self._finish_waiting()
        self._finish_all(lambda: None if self._life.is_over else self._facts.events.channel_lost(self, error))

    def _finish_all(self, done: Callable[[], None]) -> None:
        """End every subscription, then the socket for sends."""

        def closed() -> None:
            self._forget(self)
            done()

        after_all([subscription.finish for subscription in self._subscriptions], lambda: self._sender.close(closed))

    def _finish(self, done: Done) -> None:
        self._sender.when_idle(lambda: self._close_sockets(done))

    def _close_sockets(self, done: Done) -> None:
        if self._is_over:
            done(None, None)
            return
        if self.transaction is not None and self.transaction.is_open:
            self.transaction.rollback(CallbackTicket(lambda _: self._close_sockets(done)))
            return
        self._lost = ChannelLost("the channel is closed")
        self._finish_all(lambda: done(None, None))

    def end(self) -> None:
        """The link is lost: answer everything; I/O thread."""
        life = self._life
        self._box.refuse_all()
        if self.transaction is not None:
            self.transaction.end(life.lost())
        self._sender.end(life.lost)
        for subscription in list(self._subscriptions):
            subscription.end(life.lost())
