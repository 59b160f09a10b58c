"""The core of one session: its channel, sending and receiving, its transactions, and how it is closed."""

import contextlib
import functools
import weakref
from collections.abc import Callable
from threading import get_ident
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

import msgspec

from jmsbridge.config import policy_for
from jmsbridge.core.links import claims
from jmsbridge.core.modes import INDIVIDUAL_ACKNOWLEDGE, SESSION_TRANSACTED, DupsOk, make_policy
from jmsbridge.core.plan import Plan
from jmsbridge.core.receiving.acknowledgement import AcknowledgePolicy
from jmsbridge.core.receiving.delivery import Delivery
from jmsbridge.core.receiving.incoming import Incoming
from jmsbridge.core.receiving.receiver import Receiver
from jmsbridge.core.runtime.calls import MainThreadCalls
from jmsbridge.core.runtime.closing import CloseState, State
from jmsbridge.core.runtime.executor import ON_THREADS, Executors
from jmsbridge.core.runtime.interrupts import for_main_thread, wait_whole
from jmsbridge.core.runtime.locks import Rank, ranked
from jmsbridge.core.runtime.waiting import WaitSet
from jmsbridge.core.sending.outgoing import Outgoing
from jmsbridge.core.session_channel import SessionChannel
from jmsbridge.core.transaction import RolledBack, SessionTransactions, TransactedPolicy
from jmsbridge.core.translate import raise_first, translate, translated
from jmsbridge.destinations import Destination
from jmsbridge.errors import IllegalStateException, JMSException
from jmsbridge.message import Message, message_from_arrival
from jmsbridge.spi import BackendError, ChannelLost, Interest, Link, LinkLost

if TYPE_CHECKING:
    from jmsbridge.core.connection import ConnectionCore
    from jmsbridge.core.sending.tickets import AwaitedSend, Completion, Sender

__all__ = ["Child", "SessionCore", "SessionSettings"]


class SessionSettings(msgspec.Struct, frozen=True):
    """What a session is created with."""

    mode: int
    prefetch: int
    dups_ok: DupsOk
    group_ack_threshold: int


class Child(Protocol):
    """A producer, consumer or browser: closed by its session, or if the call that creates it is interrupted."""

    def close(self) -> None:
        """Close it."""

    def _shut(self) -> None:
        """The session is closed: do the part of ``close`` that does not need the session."""


C = TypeVar("C", bound=Child)


class SessionCore:
    """Belongs to a Session or JMSContext. Used by the session's thread and its executors; ``close`` is for any thread.

    In the main thread a signal handler may interrupt any call; the next call first completes it: see ``begin``.
    """

    outgoing_kind: type[Outgoing] = Outgoing

    def __init__(
        self, connection: "ConnectionCore", settings: SessionSettings, executors: Executors = ON_THREADS
    ) -> None:
        self.connection = connection
        self.mode = settings.mode
        self.prefetch = settings.prefetch
        self.name = connection.next_session_name()
        self.life = CloseState(Rank.SESSION)
        self.transactions = SessionTransactions() if settings.mode == SESSION_TRANSACTED else None
        self.calls = MainThreadCalls(self._mend)
        self.incoming = self._new_incoming(settings, executors)
        self.outgoing = self.outgoing_kind(
            self.name,
            connection.clock,
            connection.options,
            connection.supervisor.throttle,
            self.transactions,
            connection.report,
            lambda: connection.wait_link()[0],
            executors.complete,
        )
        self.outgoing.group_ack_threshold = settings.group_ack_threshold
        self.channel = SessionChannel(connection, self.incoming, self.outgoing, self.transactions, self.failed)
        self._lock = ranked(Rank.SESSION)  # guards _children
        self._children: weakref.WeakSet[Child] = weakref.WeakSet()  # weak: the application may drop them unclosed
        self._has_failed = False  # no link can bring it back
        self._is_committing = False
        self._committed = WaitSet()  # notified when a commit has ended
        self.acknowledger: Callable[[Delivery | None], Any] = self.acknowledge
        """What ``Message.acknowledge`` calls; its result is that of the call."""
        self._acknowledge_any = functools.partial(self._acknowledge, None)

    def _new_incoming(self, settings: SessionSettings, executors: Executors) -> Incoming:
        connection = self.connection
        options = connection.options
        wait = options.send_timeout if options.block_on_acknowledge else None
        policy: AcknowledgePolicy
        if self.transactions is not None:
            policy = TransactedPolicy(self.transactions)
        else:
            policy = make_policy(
                settings.mode, settings.dups_ok, connection.clock, lambda: self.incoming.upkeep.wake(), wait
            )
        return Incoming(
            self.name,
            connection.clock,
            connection.delivery,
            policy,
            self._make_message,
            options.emulation_limit,
            connection.report,
            self.calls,
            connection.returned,
            connection.lost,
            executors.deliver,
        )

    # ---- guards

    @property
    def transacted(self) -> bool:
        """Whether sends and acknowledgements take effect at ``commit``."""
        return self.transactions is not None

    def check_open(self) -> None:
        """IllegalState unless open, or called in a callback that close waits for (rule CL-5)."""
        if self.life.state is not State.OPEN:
            self._refuse()

    def _refuse(self) -> None:
        if self.life.state is State.CLOSING and self.is_in_callback():
            return
        raise IllegalStateException(f"the session {self.name} is closed")

    def is_in_callback(self, *, completion: bool = True) -> bool:
        """Whether the caller is a message listener of this session, or a completion listener."""
        return self.incoming.listening.executor.is_current() or (
            completion and self.outgoing.ledger.executor.is_current()
        )

    def forbid_in_completion(self, what: str) -> None:
        """IllegalState from a completion listener of this session (rule CL-9)."""
        if self.outgoing.ledger.executor.is_current():
            raise IllegalStateException(f"{what} is not allowed in a completion listener of its own session")

    def forbid_in_callback(self, what: str) -> None:
        """IllegalState from any callback of this session (rules CL-7, CL-9)."""
        self.forbid_in_completion(what)
        if self.incoming.listening.executor.is_current():
            raise IllegalStateException(f"{what} is not allowed in a message listener of its own session")

    # ---- interrupted calls

    def begin(self) -> None:
        """Called first in each call: raise IllegalState unless open, and complete an interrupted call.

        Raises the exception of a signal handler that came when a message was about to be returned to the application,
        and the error of an interrupted commit or rollback.
        """
        if self.life.state is not State.OPEN:
            self._refuse()
        if self.calls.under_way and self.calls.is_caller():
            self.calls.finish_interrupted()

    def _mend(self) -> None:
        self.outgoing.finish_interrupted()
        self.incoming.finish_interrupted()

    def plan(self) -> Plan:
        """The plan of the current link."""
        return self.connection.wait_link()[1]

    # ---- links

    def open(self) -> None:
        """Open the channel on the current link and join the connection."""
        self.channel.require(self.plan())  # in the caller's thread, so that a warning points to the caller's line
        join = functools.partial(self.connection.join, self)
        wait_whole(lambda: self.channel.open(join), lambda _: self.close())

    def recover_on(self, link: Link, plan: Plan, epoch: int, *, patient: bool = False) -> None:
        """Create channel and subscriptions on a new link, without credit (supervisor's thread); raises BackendError.

        Also for a session that is being closed: sends that its close waits for may wait for the link.
        """
        if self.channel.is_closed or self._has_failed:
            return
        try:
            self.channel.recover_on(link, plan, epoch, patient)
        except ChannelLost as error:  # the link works: it is not given up for one session
            self.channel.remake_on_next(error)
        except JMSException as error:  # this broker can do less than the session needs
            self.failed(error)
            self.connection.report(error)

    def failed(self, error: JMSException) -> None:
        """The session or its connection is lost for good: waiting senders and receivers fail."""
        self._has_failed = True
        self.outgoing.channel.shut(error)
        for receiver in self.incoming.receivers:
            receiver.end(error)

    # ---- messages

    def send(
        self,
        sender: "Sender",
        destination: Destination,
        message: Message,
        foreign: Any,
        mode: int,
        priority: int,
        ttl: int,
        delay: int,
        listener: "Completion | None",
        duplicate_id: str | None,
    ) -> None:
        """Send one message; times in milliseconds. ``foreign`` is another provider's message of which it is a copy."""
        main = get_ident() == self.calls.main
        outgoing = self.outgoing
        if destination._address.temporary:
            self.connection.temporaries.check_exists(destination._address)
        if main:
            self.calls.under_way = True
        envelope = outgoing.stamp(
            sender, destination, message, mode, priority, ttl, delay, duplicate_id, is_async=listener is not None
        )
        outgoing.send(sender, envelope, message, foreign, mode, listener)
        if main:
            self.calls.under_way = False

    def send_again(self, sender: "Sender", lost: "AwaitedSend") -> None:
        """Send on the next link what the last one lost: the same message, with its id."""
        main = get_ident() == self.calls.main
        self.begin()
        if main:
            self.calls.under_way = True
        message = lost.message
        self.outgoing.send(sender, lost.envelope, message, lost.foreign, message._delivery_mode, lost.listener)
        if main:
            self.calls.under_way = False

    def receive(self, receiver: Receiver, timeout: float | None, read: Callable[[Any], Any] | None) -> Any:
        """The next message, or what ``read`` makes of it: see ``Incoming.receive``."""
        main = get_ident() == self.calls.main
        incoming = self.incoming
        if main:
            self.calls.under_way = True
        try:
            result = incoming.receive(receiver, timeout, read)
        except BackendError as error:
            raise translate(error) from error
        if main:  # no call from here on: what interrupted it would take the message with it
            self.calls.under_way = self.calls.interrupt is not None
        return result

    def _make_message(self, delivery: Delivery) -> Any:
        arrival = delivery.arrival
        acknowledger: Callable[[], Any] = self._acknowledge_any
        if self.mode == INDIVIDUAL_ACKNOWLEDGE:
            acknowledger = functools.partial(self._acknowledge, delivery)
        count = arrival.delivery_count + delivery.uncounted
        return message_from_arrival(arrival.envelope, delivery.redelivered, count, acknowledger)

    def _acknowledge(self, delivery: Delivery | None) -> Any:
        return self.acknowledger(delivery)

    def acknowledge(self, delivery: Delivery | None) -> None:
        """``Message.acknowledge`` and ``JMSContext.acknowledge``."""
        self.begin()
        main = get_ident() == self.calls.main
        if main:
            self.calls.under_way = True
        try:
            self.incoming.policy.acknowledge(delivery)
        except BackendError as error:
            raise translate(error) from error
        if main:
            self.calls.under_way = False

    # ---- consumers

    def consume(
        self, interest: Interest, kind: Callable[["SessionCore", Receiver, Destination], C], target: Destination
    ) -> C:
        """Subscribe and create the consumer; refuses what the broker cannot do and the client may not emulate."""
        self.begin()
        self.connection.use()
        plan = self.plan()
        self.channel.require_for(interest, plan)
        return wait_whole(lambda: self._consume(interest, plan, kind, target), lambda made: made.close())

    def _consume(
        self,
        interest: Interest,
        plan: Plan,
        kind: Callable[["SessionCore", Receiver, Destination], C],
        target: Destination,
    ) -> C:
        claim = self.connection.claim_durable(interest, plan)
        address = interest.address
        redelivery = policy_for(self.connection.options, address.name, address.topic)
        interest = msgspec.structs.replace(
            interest, dead_letters=redelivery.dead_letter_queue, expired=redelivery.expiry_queue
        )
        receiver = self.incoming.new_receiver(interest, redelivery)
        receiver.claim = claim
        try:
            self.channel.subscribe(receiver, self.check_open)
        except BaseException:
            claims.release(receiver.claim)
            raise
        self.connection.subscribed(interest)
        if self.connection.delivery.on:
            receiver.inbox.start()
        return kind(self, receiver, target)

    def listen(self, receiver: Receiver, listener: Callable[[Any], None] | None) -> None:
        """Set or remove the listener of a consumer."""
        self.begin()
        self.incoming.check_listen()
        wait_whole(lambda: self.incoming.listening.set(receiver, listener))

    def tell_failed(self, error: BaseException) -> None:
        """For telemetry: the listener that is running does not raise this error, but deals with it itself."""

    def tell_dead_lettered(self, destination: Destination) -> None:
        """For telemetry: a listener has moved a message of this destination to the dead-letter queue itself."""

    def close_receiver(self, receiver: Receiver) -> None:
        """Close one consumer; messages that it delivered can still be acknowledged.

        Waits for its receive or listener, except when called in that listener.
        """
        if self.connection.is_forked:
            return
        receiver.close()
        self.incoming.wait_quiet(receiver)
        self.incoming.listening.remove(receiver)
        self.channel.forget(receiver)
        claims.release(receiver.claim)
        with translated:
            self.incoming.retire(receiver, self.connection.options.close_timeout)

    def add_child(self, child: Child) -> None:
        """Add an object to close with the session."""
        with self._lock:
            self._children.add(child)

    def forget_child(self, child: Child) -> None:
        """Remove an object that was closed on its own."""
        with self._lock:
            self._children.discard(child)

    # ---- transaction

    def _check_transacted(self, what: str) -> SessionTransactions:
        self.begin()
        if self.transactions is None:
            raise IllegalStateException(f"{what} needs a transacted session")
        self.forbid_in_completion(what)
        return self.transactions

    def commit(self) -> None:
        """See ``Session.commit``."""
        transactions = self._check_transacted("commit")
        self.outgoing.check_committable()
        self.calls.wait_whole(lambda: self._commit(transactions))

    def _commit(self, transactions: SessionTransactions) -> None:
        timeout = self.connection.options.send_timeout
        committed, self._is_committing = False, True
        try:
            self.outgoing.finish(timeout)
            transactions.commit(timeout)
            committed = True
        except RolledBack as ended:
            self.incoming.redeliver(ended.deliveries)
            raise ended.error from ended.error.__cause__
        finally:
            self.outgoing.end_transaction(committed=committed)
            self._is_committing = False
            self._committed.notify()

    def rollback(self) -> None:
        """See ``Session.rollback``."""
        transactions = self._check_transacted("rollback")
        self.calls.wait_whole(lambda: self._roll_back(transactions, self.incoming.redeliver))

    def roll_sends_back(self) -> None:
        """Undo what was sent in the transaction. What was consumed in it belongs to the next one, instead of coming
        again."""
        transactions = self._check_transacted("rollback")
        self.calls.wait_whole(lambda: self._roll_back(transactions, transactions.consume))

    def _roll_back(self, transactions: SessionTransactions, then: Callable[[list[Delivery]], None]) -> None:
        timeout = self.connection.options.send_timeout
        try:
            self.outgoing.finish(timeout)
        finally:
            deliveries = transactions.rollback(timeout)
            self.outgoing.end_transaction(committed=False)
            then(deliveries)

    def recover(self) -> None:
        """See ``Session.recover``."""
        self.begin()
        if self.transactions is not None:
            raise IllegalStateException("recover needs a session that is not transacted; use rollback here")
        with translated:
            self.calls.wait_whole(self.incoming.recover)

    # ---- end

    def close(self) -> None:
        """See ``Session.close``."""
        if self.life.state is State.CLOSED or self.connection.is_forked:
            return
        self.forbid_in_callback("close")
        deadline = self.connection.clock.monotonic() + self.connection.options.close_timeout
        wait_whole(lambda: self.close_by(deadline), to_the_end=True)

    def close_by(self, deadline: float) -> None:
        """Close; waits, except those for the user's callbacks, end at the monotonic time ``deadline``."""
        self.forbid_in_callback("close")
        if not self.life.wait_begin_close():
            return
        self.calls.wait_end()

        def left() -> float:
            return max(0.0, deadline - self.connection.clock.monotonic())

        errors: list[BaseException] = []
        if for_main_thread():
            self.outgoing.finish_interrupted()
        steps: tuple[Callable[[], None], ...] = (
            lambda: self._wait_quiet(left),
            lambda: self.outgoing.close(left()),
            self._shut_children,
            lambda: self.outgoing.wait_groups(left()),
            lambda: self._close_channel(left),
        )
        for step in steps:
            try:
                step()
            except BaseException as error:  # close the rest nevertheless
                errors.append(error)
        self.incoming.close()
        self.outgoing.ledger.executor.close()
        self.connection.leave(self)
        self.life.end_close()
        raise_first(errors)

    def _wait_quiet(self, left: Callable[[], float]) -> None:
        self._committed.wait_for(lambda: not self._is_committing, left())
        for receiver in self.incoming.receivers:
            receiver.close()
            claims.release(receiver.claim)
        self.incoming.wait_quiet()
        self.incoming.upkeep.close()
        self.incoming.upkeep.wait_idle(left())

    def _shut_children(self) -> None:
        with self._lock:
            children = list(self._children)
            self._children.clear()
        for child in children:
            child._shut()

    def _close_channel(self, left: Callable[[], float]) -> None:
        try:
            with contextlib.suppress(LinkLost):  # a lost link has requeued everything already
                self._return_messages(left)
        finally:
            self.channel.close()

    def _return_messages(self, left: Callable[[], float]) -> None:
        self.incoming.finish_interrupted()
        transactions = self.transactions
        delivered = self.incoming.policy.close() if transactions is None else transactions.close(left())
        self.incoming.return_all(delivered, left)

    def abandon(self, error: JMSException) -> None:
        """In a forked child: the parent's link must not be used."""
        for receiver in self.incoming.receivers:
            receiver.abandon(error)
        self.outgoing.channel.abandon(error)
