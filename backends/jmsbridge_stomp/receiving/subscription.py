"""The SPI's Subscription: credit, drain and settlements on a subscription of STOMP, which may be replaced by another.

STOMP cannot return a single message: only UNSUBSCRIBE returns what is unsettled, in its old order. So messages that are
returned are kept until the receiver holds no others, and then all return at once; the next credit subscribes again.
"""

import time
from collections.abc import Callable, Sequence
from functools import partial
from operator import attrgetter
from typing import Any, Protocol

from jmsbridge.spi import Arrival, BackendError, ChannelLost, Inbox, Interest, Mode, Native, Outcome, Ticket
from jmsbridge.transport.deliveries.commands import Commands
from jmsbridge.transport.deliveries.credit import CreditGate
from jmsbridge.transport.deliveries.expiry import is_expired
from jmsbridge.transport.network.link_life import Done
from jmsbridge_stomp.connection.errors import Refusal, answer_of, connect_error, fails_alone, refused
from jmsbridge_stomp.connection.stomp_socket import StompSocket
from jmsbridge_stomp.facts import LinkFacts
from jmsbridge_stomp.messages.wire import Decoder
from jmsbridge_stomp.protocol.frames import Frame
from jmsbridge_stomp.receiving.answers import Answers
from jmsbridge_stomp.receiving.dead_letters import SubscriptionDeadLetters
from jmsbridge_stomp.receiving.definitions import NON_DURABLE, prepare, shared_queue
from jmsbridge_stomp.receiving.late_window import LateWindow
from jmsbridge_stomp.receiving.probing import probe
from jmsbridge_stomp.receiving.receiver import Delivery, Receiver, accept_all, accept_one, name_of
from jmsbridge_stomp.receiving.unwanted import Unwanted
from jmsbridge_stomp.sending.copier import Copier
from jmsbridge_stomp.sending.transaction import Transaction

__all__ = ["Sink", "Subscription"]

_FIRST = 0.2  # seconds after SUBSCRIBE in which the first message may still come, at least
_NEXT = 0.05  # seconds after a message in which the next one may still come, at least
_ANSWERS = 5  # so many times as long as the broker took to answer SUBSCRIBE, if that is more


class Sink(Protocol):
    """What a subscription needs of its channel."""

    def check(self) -> None:
        """Raise if the channel is lost; any thread."""

    def put(self, ticket: Ticket | None, run: Callable[[], None]) -> None:
        """Run this on the I/O thread, in call order with sends and commits."""

    def drop(self, subscription: "Subscription") -> None:
        """Forget a subscription that has ended; I/O thread."""


class Subscription:
    """All but the verbs belongs to the I/O thread. ``transaction`` is given if acknowledgements belong to it."""

    def __init__(
        self,
        facts: LinkFacts,
        copier: Copier,
        sink: Sink,
        interest: Interest,
        inbox: Inbox,
        transaction: Transaction | None,
    ) -> None:
        self.native: Native = facts.native | (Native.REJECT if interest.dead_letters else Native.NONE)
        if interest.address.topic:
            self.native &= ~Native.DRAIN
        self._facts = facts
        self._life = facts.sockets.life
        self._sink = sink
        self._transaction = transaction
        self.interest = interest
        self._decoder = Decoder(facts.product.dialect, interest.address)
        self._commands = Commands(self._life, lambda: self._error, self._settle_accepted)
        size_of = attrgetter("size") if interest.deferred else None
        self._gate = CreditGate(inbox, accept_one if interest.presettled else None, self._expire, size_of)
        self._unwanted = Unwanted(interest, facts.sender, transacted=transaction is not None)
        self._late = LateWindow(facts.product, interest, self._gate)
        self._dead_letters = SubscriptionDeadLetters(facts, copier, interest, self._return)
        self._receiver: Receiver | None = None
        self._socket: StompSocket | None = None  # its own
        self._attaching = False
        self._browses = interest.mode is Mode.BROWSE
        self._has_shown_all = False  # a browser
        self._came = 0
        self._is_prepared = False
        self._pause = _NEXT
        self._fresh_until = 0.0
        self._draining: list[Ticket] = []
        self._when_attached: list[Done] = []
        self._when_still: list[Callable[[], None]] = []  # what waits for an attempt to subscribe to end
        self._error: BackendError | None = None
        self._closed = False

    # -- verbs, from any thread

    def grant(self, count: int) -> None:
        """Allow ``count`` more arrivals."""
        self._sink.check()
        self._commands.put(None, lambda: self._grant(count))

    def settle(self, tokens: Sequence[Any], outcome: Outcome, ticket: Ticket | None = None, failures: int = 1) -> None:
        """Settle; the ticket of an acceptance is answered by the broker."""
        if ticket is None:
            self._sink.check()
        if outcome is Outcome.ACCEPTED and self._transaction is not None:
            transaction = self._transaction
            self._sink.put(ticket, lambda: self._join(transaction, tokens, ticket))
        elif outcome is Outcome.ACCEPTED and ticket is None:
            self._commands.accept(tokens)
        else:
            self._commands.put(ticket, lambda: self._settle(tokens, outcome, ticket, failures))

    def drain(self, ticket: Ticket) -> None:
        """Take the credit to zero; what the broker has sent beyond it is held."""
        self._commands.put(ticket, lambda: self._drain(ticket))

    def close(self) -> None:
        """End the flow; unsettled messages return to the broker."""
        if self._closed:
            return
        self._life.wait_closing(self.finish, f"closing the consumer of {self.interest.address}")
        self._closed = True  # last, so that an interrupted close can be repeated

    # -- subscribing

    def open(self, done: Done) -> None:
        """Subscribe to a topic now; to a queue with the first credit, since messages are pushed at once."""
        if self.interest.address.topic:
            self._attach(done)
        else:
            done(None, None)

    def _attach(self, done: Done) -> None:
        self._when_attached.append(done)
        if self._attaching:
            return
        self._attaching = True
        if self._transaction is not None:
            self._transaction.when_connected(self._placed)
        elif self._facts.product.shares_socket:
            self._subscribe(self._facts.main)
        elif self._socket is not None:
            self._subscribe(self._socket)
        else:
            self._connect()

    def _placed(self, socket: StompSocket | None, error: BackendError | None) -> None:
        """The transaction's socket is there, or was refused."""
        if socket is not None and error is None:
            self._subscribe(socket)
        else:
            self._attached(error)

    def _connect(self) -> None:
        socket = self._socket = self._facts.new_socket(self._socket_ended)

        def opened(headers: object, error: BaseException | None) -> None:
            if error is None:
                self._prepare(socket)
                return
            self._socket = None
            if fails_alone(error):
                self._attached(connect_error(error, self._life.endpoint))
            else:
                self._life.die(error)

        interest = self.interest
        client_id = NON_DURABLE if interest.shared and not interest.durable else self._facts.client_id
        deadline = time.monotonic() + self._life.endpoint.connect_timeout
        socket.connect(client_id if interest.key is not None else None, deadline, opened)

    def _prepare(self, socket: StompSocket) -> None:
        """Look at the definition of a subscription that others may know, then subscribe."""

        def prepared(error: BackendError | None) -> None:
            if self._socket is not socket:
                return  # it has ended meanwhile, which was reported
            self._is_prepared = True
            if error is None:
                self._facts.sockets.batch(lambda: self._subscribe(socket))
            else:
                self._attached(error)

        if self.interest.key is None or self._is_prepared:
            self._subscribe(socket)
        else:
            prepare(self._facts, self.interest, prepared)

    def _subscribe(self, socket: StompSocket) -> None:
        receiver = self._receiver = Receiver(socket, self._facts, self.interest, self._gate.credit, self._late.size)
        asked = time.monotonic()

        def answered(error: Refusal | BackendError | None) -> None:
            self._pause = max(_NEXT, _ANSWERS * (time.monotonic() - asked))
            if error is not None:
                self._receiver = None
                self._socket = None if socket.is_refused else self._socket  # its end is no more news
            self._attached(answer_of(error, f"consuming {self.interest.address}", self._life.broker, BackendError))

        receiver.subscribe(partial(self._arrived, receiver), answered)

    def _attached(self, error: BackendError | None) -> None:
        self._attaching = False
        self._fresh_until = time.monotonic() + max(_FIRST, self._pause)
        waiting, self._when_attached = self._when_attached, []
        for done in waiting:
            done(None, error)
        self._still()

    def _still(self) -> None:
        tasks, self._when_still = self._when_still, []
        for task in tasks:
            task()

    # -- credit

    def _grant(self, count: int) -> None:
        self._gate.credit += count
        self._gate.hand_up()
        if self._receiver is None and not self._attaching:
            self._attach(self._attached_later)
        elif self._receiver is not None and self.interest.deferred:
            self._late.look(self._receiver)

    def _attached_later(self, _: object, error: BackendError | None) -> None:
        if error is not None and self._error is None:
            self._lose(error)
            if not self._life.is_over:
                self._facts.events.subscription_lost(self, error)

    def _drain(self, ticket: Ticket) -> None:
        """What is there arrives first. Where the broker does not tell, it gets a moment for that."""
        rest = self._fresh_until - time.monotonic()
        if self._error is not None:
            ticket.fail(self._error)
        elif self._attaching:
            self._when_still.append(lambda: self._drain(ticket))
        elif self._gate.credit == 0:
            self._end_credit(ticket)
        elif self._browses:
            self._draining.append(ticket)
            self._look_shown()
        elif Native.DRAIN in self.native:
            self._draining.append(ticket)
            if len(self._draining) == 1:
                self._probe()
        elif rest > 0 and not self._may_leave():
            self._draining.append(ticket)
            self._life.thread.call_later(rest, lambda: self._drain_late(ticket))
        else:
            self._end_credit(ticket)

    def _may_leave(self) -> bool:
        """Whether the application holds no message and is only closing: UNSUBSCRIBE returns what is on its way."""
        prefetches = self.interest.window > 0 and not self.interest.deferred
        return prefetches and (self._receiver is None or self._holds_only_returned(self._receiver))

    def _drain_late(self, ticket: Ticket) -> None:
        if ticket in self._draining:
            self._draining.remove(ticket)
            self._drain(ticket)

    def _probe(self) -> None:
        """Ask the broker whether there is more, until nothing came meanwhile."""
        came = self._came

        def answered(answer: Refusal | BackendError | None) -> None:
            error = answer_of(answer, f"a drain of {self.interest.address}", self._life.broker, BackendError)
            draining, self._draining = self._draining, []
            for ticket in draining:
                if error is not None:
                    ticket.fail(error)
                elif self._came != came:
                    self._drain(ticket)
                else:
                    self._end_credit(ticket)

        if self._receiver is None:
            answered(None)
            return
        probe(self._receiver.socket, self._facts.product.dialect.destination(self.interest.address)[0], answered)

    def _look_shown(self) -> None:
        """Answer a browser's drains once all messages are here."""
        if self._has_shown_all:
            draining, self._draining = self._draining, []
            for ticket in draining:
                self._end_credit(ticket)

    def _end_credit(self, ticket: Ticket) -> None:
        self._gate.credit = 0
        self._look_returned()
        ticket.succeed()

    # -- arrivals

    def _arrived(self, receiver: Receiver, frames: Sequence[Frame]) -> None:
        for frame in frames:
            if receiver is not self._receiver:
                return  # it was left meanwhile, and the broker takes the rest back
            if receiver.can_settle(frame):
                self._take(receiver, frame)
        self._gate.hand_up()
        self._fresh_until = time.monotonic() + self._pause
        if self.interest.deferred:
            self._late.look(receiver)

    def _take(self, receiver: Receiver, frame: Frame) -> None:
        if self._browses and receiver.is_end(frame):
            self._gate.hand_up()
            self._has_shown_all = True
            self._look_shown()
            return
        inbound = self._decoder.decode(frame)
        self._came += 1
        delivery = receiver.delivered(frame, inbound.envelope, inbound.redelivered)
        if self._unwanted.has(inbound):
            accept_one(delivery)
        elif is_expired(inbound.envelope):
            self._expire(delivery)
        else:
            count = 2 if inbound.redelivered else 1
            self._gate.hold(Arrival(delivery, inbound.envelope, inbound.redelivered, count))
            if delivery.size:
                self._late.arrived(delivery.size)

    def _expire(self, delivery: Delivery) -> None:
        """Move or drop an expired message instead of handing it over."""
        if self._browses:
            return
        if self.interest.expired:
            self._dead_letters.expire(delivery, self.interest.expired)
        else:
            accept_one(delivery)

    # -- outcomes

    def _settle(self, tokens: Sequence[Delivery], outcome: Outcome, ticket: Ticket | None, failures: int) -> None:
        if outcome is Outcome.REJECTED:
            self._dead_letters.reject(tokens, failures, ticket)
        elif outcome is Outcome.ACCEPTED:
            self._settle_accepted(tokens, None if ticket is None else Answers(ticket, len(tokens), self._life.broker))
        else:
            for token in tokens:
                self._keep_returned(token)
            self._look_returned()
            if ticket is not None:
                ticket.succeed()

    def _settle_accepted(self, tokens: Sequence[Delivery], answered: Answers | None = None) -> None:
        if answered is None:
            accept_all(tokens)
            self._commands.watch(0 if self._receiver is None else self._receiver.awaited)
        else:
            for token in tokens:
                if not token.receiver.accept(token, answered):
                    answered(None)  # it has expired, or was returned, and comes again
        self._look_returned()

    def _join(self, transaction: Transaction, tokens: Sequence[Delivery], ticket: Ticket | None) -> None:
        """Accept in the transaction."""
        receiver = self._receiver
        if receiver is None or self._error is not None:
            if ticket is not None:
                ticket.fail(self._error or ChannelLost("the consumer holds none of these messages"))
            return

        def over(committed: bool) -> None:
            receiver.end_joined(committed=committed)
            self._look_returned()

        joined = receiver.join(tokens)
        if joined:
            transaction.accept([one.ack for one in joined], receiver, len(receiver.deliveries), over)
        if ticket is not None:
            ticket.succeed()

    def _return(self, delivery: Delivery) -> None:
        self._keep_returned(delivery)
        self._facts.sockets.batch(self._look_returned)

    def _keep_returned(self, delivery: Delivery) -> None:
        receiver = delivery.receiver
        if delivery in receiver.deliveries:
            receiver.returned.add(delivery)

    def _look_returned(self) -> None:
        """Return what is to return, if the application holds nothing else; the next credit subscribes again."""
        receiver = self._receiver
        if receiver is None or self._attaching or self._error is not None or self._browses:
            return
        address = self.interest.address
        if (address.topic and self.interest.key is None) or not self._holds_only_returned(receiver):
            return
        wanted = self.interest.window or self._gate.credit > 0  # with a window of 0, nothing is kept without credit
        if wanted and not (receiver.returned or self._late.is_too_large or receiver.is_worn):
            return
        self._late.ended()
        self._gate.clear()
        self._receiver = None
        self._attaching = True

        def returned() -> None:
            self._attaching = False
            if self._error is None and self._gate.credit > 0:
                self._attach(self._attached_later)
            self._still()

        self._leave(receiver, returned)

    def _leave(self, receiver: Receiver, done: Callable[[], None]) -> None:
        """End a receiver, so that what is unsettled returns to the broker."""
        socket = self._socket
        if self._facts.product.keeps_unsettled and socket is not None:
            self._socket = None
            socket.close(done)
        else:
            receiver.unsubscribe(done)

    def _holds_only_returned(self, receiver: Receiver) -> bool:
        return not receiver.joined and len(receiver.deliveries) == len(receiver.returned) + len(self._gate.held)

    # -- ends

    def finish(self, done: Done) -> None:
        """Return what is unsettled, and unsubscribe."""
        if self._life.is_over:
            done(None, None)
        else:
            self._commands.work()
            self._dead_letters.when_idle(lambda: self._finish(done))

    def _finish(self, done: Done) -> None:
        self._commands.work()  # what was accepted meanwhile
        if self._attaching:
            self._when_still.append(lambda: self._finish(done))
            return
        receiver, self._receiver = self._receiver, None
        socket, self._socket = self._socket, None
        self._lose(ChannelLost("the consumer was closed"))

        def ended() -> None:
            self._sink.drop(self)
            done(None, None)

        def unsubscribed() -> None:
            if socket is None:
                ended()
            elif self.interest.shared and not self.interest.durable:
                self._delete_queue(socket, lambda: socket.close(ended))
            else:
                socket.close(ended)

        if receiver is None or not receiver.socket.is_open or self._facts.product.keeps_unsettled:
            unsubscribed()
        else:
            receiver.unsubscribe(unsubscribed)

    def _delete_queue(self, socket: StompSocket, then: Callable[[], None]) -> None:
        """Delete the queue of a shared subscription that is not durable; the broker refuses if it has consumers.

        The frame is that for a durable subscription of a client with the first word of the queue's name as its id.
        """
        name = shared_queue(self.interest, self._facts.client_id).removeprefix(f"{NON_DURABLE}.")
        socket.ask("UNSUBSCRIBE", [(name_of(self._facts.product), name)], lambda _: then())

    def _socket_ended(self, refusal: Refusal) -> None:
        """The broker refused a frame and ended this subscription's own socket."""
        socket, self._socket = self._socket, None
        if socket is None:
            return
        self._receiver = None
        text = f"{self._life.broker} ended the consumer of {self.interest.address} ({refusal})"
        error = refused(refusal, f"consuming {self.interest.address}", self._life.broker, BackendError)
        attaching = self._attaching
        if attaching:  # the broker does not always name what it refuses
            self._attached(error)
        socket.answer_open(lambda doubt: ChannelLost(text, in_doubt=doubt))
        if not attaching and self._error is None:
            self._lose(error)
            self._facts.events.subscription_lost(self, error)

    def _lose(self, error: BackendError) -> None:
        self._error = self._error or error
        self._gate.clear()
        self._gate.credit = 0
        draining, self._draining = self._draining, []
        for ticket in draining:
            ticket.fail(self._error)

    def end(self, error: BackendError) -> None:
        """The channel or the link is lost."""
        self._lose(error)
        self._commands.refuse_all()
        if self._attaching:
            self._attached(error)
