"""The SPI's Channel: a queue for its sends and transactions, and its subscriptions."""

from collections import deque
from collections.abc import Callable, Sequence

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
    SendRefused,
    SubscriptionRefused,
    Ticket,
)
from jmsbridge.transport.deliveries.expiry import now_ms
from jmsbridge.transport.network.io_thread import Mailbox
from jmsbridge.transport.network.link_life import Done
from jmsbridge.transport.tickets import CallbackTicket
from jmsbridge_stomp.facts import LinkFacts
from jmsbridge_stomp.protocol.frames import Unencodable, header
from jmsbridge_stomp.receiving.receiver import selector_of
from jmsbridge_stomp.receiving.subscription import Subscription
from jmsbridge_stomp.sending.copier import Copier
from jmsbridge_stomp.sending.outgoing import Command, Outgoing, Work
from jmsbridge_stomp.sending.sender import Sender
from jmsbridge_stomp.sending.transaction import Transaction

__all__ = ["Channel"]

_BUSY = 64  # after so many sends in one batch, the I/O thread looks for more without a wake-up


class Channel:
    """Verbs from any thread; the rest belongs to the I/O thread. ``forget`` is called once it is closed.

    ``only_sends`` says that nothing will be subscribed on it.
    """

    def __init__(
        self,
        facts: LinkFacts,
        copier: Copier,
        transacted: bool,
        forget: "Callable[[Channel], None]",
        *,
        only_sends: bool = False,
    ) -> None:
        self._facts = facts
        self._copier = copier
        self._life = facts.sockets.life
        self._forget = forget
        self._box: Mailbox[Work] = Mailbox(self._life.thread, self._serve, self._refuse)
        # whether acknowledgements join the transaction, on its socket; durable subscriptions need that of the client id
        self._joins = transacted and Native.TRANSACTIONS in facts.native and not only_sends
        shared = facts.main if self._joins and facts.client_id is not None else None
        rule = facts.rule if transacted and shared is None else None
        self._sender = Sender(facts, self._go_on, self.lose, shared, rule)
        self._transaction = Transaction(self._sender, lambda: self._life.broker, self._go_on) if transacted else None
        self._subscriptions: list[Subscription] = []
        self._only_sends = only_sends
        self._lost: BackendError | None = None
        self._finishing: list[Done] = []  # what waits for the queue to be empty
        self._closed = False

    # -- verbs

    def check(self) -> None:
        """Raise if the channel or its link is lost."""
        self._life.check()
        if self._lost is not None:
            raise ChannelLost(str(self._lost))

    def send(self, envelope: Envelope, ticket: Ticket | None) -> None:
        """Encode the message and pass it to the I/O thread."""
        if ticket is None:
            self.check()
        try:
            data = self._facts.encoder.encode(envelope, now_ms())
        except (BackendError, ValueError) as error:
            refused = error if isinstance(error, BackendError) else SendRefused(f"{envelope.address}: {error}")
            if ticket is None:
                raise refused from error
            ticket.fail(refused)
            return
        self._put(Outgoing(f"a message to {envelope.address}", data, ticket))

    def put(self, ticket: Ticket | None, run: Callable[[], None]) -> None:
        """Run this on the I/O thread, in call order with sends and commits."""
        self._put(Command(ticket, run))

    def _put(self, item: Work) -> None:
        self._box.put(item)
        if self._lost is not None:  # the link, which may end at this moment, need not know the channel any more
            self._box.refuse_all()

    def subscribe(self, interest: Interest, inbox: Inbox) -> Subscription:
        """Subscribe without credit."""
        self.check()
        if self._only_sends:
            raise NotSupported("nothing can be consumed on a channel for groups of sends")
        self._check_interest(interest)
        key = None if interest.shared else interest.key
        transaction = self._transaction if self._joins else None
        made = Subscription(self._facts, self._copier, self, interest, inbox, transaction)

        def open_it(done: Done) -> None:
            if key is not None and key in self._facts.active:
                done(None, SubscriptionRefused(f"durable subscription {key!r} has a consumer; close that one first"))
                return
            if key is not None:
                self._facts.active.add(key)
            self._subscriptions.append(made)
            made.open(done)

        try:
            self._life.wait(open_it, f"consuming {interest.address}")
            self.check()  # a later loss will end it
        except SubscriptionRefused:
            raise
        except BackendError:
            self._life.thread.post(lambda: self.drop(made))
            raise
        return made

    def _check_interest(self, interest: Interest) -> None:
        broker = self._life.broker
        self._facts.product.dialect.check(interest.address)
        if interest.mode is Mode.BROWSE and Native.BROWSE not in self._facts.native:
            raise NotSupported(f"{broker} cannot be browsed over STOMP ({interest.address})")
        if interest.shared and Native.SHARED not in self._facts.native:
            raise NotSupported(f"{broker} has no shared subscriptions over STOMP ({interest.key!r})")
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

    def cancel(self, tickets: Sequence[Ticket]) -> None:
        """Cancel sends that were not written."""
        wanted = {id(ticket) for ticket in tickets}

        def cancel(done: Done) -> None:
            items = self._box.items
            for item in [] if self._is_over else list(items):
                if isinstance(item, Outgoing) and item.ticket is not None and id(item.ticket) in wanted:
                    items.remove(item)
                    item.fail(SendCancelled(f"{item.what} was cancelled before it was written to {self._life.broker}"))
            done(None, None)

        self._life.wait(cancel, "cancelling sends")

    def commit(self, ticket: Ticket) -> None:
        """Make the sends of the transaction effective."""
        if self._transaction is None:
            ticket.fail(NotSupported("this channel has no transactions"))
        else:
            transaction = self._transaction
            self.put(ticket, lambda: transaction.commit(ticket))

    def rollback(self, ticket: Ticket) -> None:
        """Forget the sends of the transaction."""
        if self._transaction is None:
            ticket.fail(NotSupported("this channel has no transactions"))
        else:
            transaction = self._transaction
            self.put(ticket, lambda: transaction.rollback(ticket))

    def close(self) -> None:
        """Roll back, return unsettled messages, close the sockets."""
        if self._closed:
            return
        self._life.wait_closing(self.finish, "closing a channel")
        self._closed = True  # last, so that an interrupted close can be repeated

    # -- the queue

    @property
    def _is_over(self) -> bool:
        return self._lost is not None or self._life.is_over

    def _serve(self, items: deque[Work]) -> None:
        if self._lost is not None:
            self._box.refuse_all()
            return
        transaction, sender, count = self._transaction, self._sender, 0
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
                transaction.send(item)
            else:
                sender.write(item)
            count += 1
        if count >= _BUSY:
            self._box.watch()

    def _refuse(self, item: Work) -> None:
        item.fail(self._life.lost_early() if self._lost is None else ChannelLost(str(self._lost)))

    def _go_on(self) -> None:
        """There is room, or a transaction has ended: serve what waits, then close if that is asked."""
        self._box.work()
        waiting, self._finishing = self._finishing, []
        for done in waiting:
            self.finish(done)

    # -- ends

    def lose(self, error: BackendError) -> None:
        """The channel is lost, its link lives on: answer everything, close its sockets, then report it."""
        if self._lost is not None or self._life.is_over:
            return
        self._lost = error
        self._sender.end(lambda doubt: ChannelLost(str(error), in_doubt=doubt))
        self._box.refuse_all()
        for done in self._finishing:
            done(None, None)
        self._finish_all(lambda: None if self._life.is_over else self._facts.events.channel_lost(self, error))

    def _finish_all(self, done: Callable[[], None]) -> None:
        """End every subscription, then the socket for sends."""
        left = len(self._subscriptions) + 1

        def ended(*_: object) -> None:
            nonlocal left
            left -= 1
            if not left:
                self._sender.close(closed)

        def closed() -> None:
            self._forget(self)
            done()

        for subscription in list(self._subscriptions):
            subscription.finish(ended)
        ended()

    def finish(self, done: Done) -> None:
        """Close: write what waits, roll back, then close the sockets; I/O thread."""
        if self._is_over:
            done(None, None)
            return
        self._box.work()
        if (self._transaction is not None and self._transaction.is_ending) or self._box.items:
            self._finishing.append(done)
            return
        self._sender.when_idle(lambda: self._finish(done))

    def _finish(self, done: Done) -> None:
        if self._is_over:
            done(None, None)
            return
        if self._transaction is not None and self._transaction.is_open:
            self._transaction.rollback(CallbackTicket(lambda _: self._finish(done)))
            return
        self._lost = ChannelLost("the channel is closed")
        self._finish_all(lambda: done(None, None))

    def end(self) -> None:
        """The link is lost: answer everything; I/O thread."""
        life = self._life
        self._box.refuse_all()
        if self._transaction is not None:
            self._transaction.end(life.lost_early())
        self._sender.end(lambda doubt: life.lost_late() if doubt else life.lost_early())
        for subscription in list(self._subscriptions):
            subscription.end(life.lost_early())
