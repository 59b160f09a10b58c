"""What one session is made of: its channel, its ways in and out, its transaction, and how all of that ends."""

import contextlib
import functools
import weakref
from collections.abc import Callable
from threading import get_ident
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

import msgspec

from jmsbridge.config import policy_for
from jmsbridge.core.modes import INDIVIDUAL_ACKNOWLEDGE, SESSION_TRANSACTED, DupsOk, make_policy
from jmsbridge.core.plan import Plan
from jmsbridge.core.receiving.acknowledgement import AcknowledgePolicy
from jmsbridge.core.receiving.delivery import Delivery
from jmsbridge.core.receiving.incoming import Incoming
from jmsbridge.core.receiving.receiver import Receiver
from jmsbridge.core.runtime.calls import MainThreadCalls
from jmsbridge.core.runtime.closing import CloseState, State
from jmsbridge.core.runtime.interrupts import for_main_thread, wait_whole
from jmsbridge.core.runtime.locks import Rank, ranked
from jmsbridge.core.sending.outgoing import Outgoing
from jmsbridge.core.session_channel import SessionChannel
from jmsbridge.core.transaction import RolledBack, SessionTransactions, TransactedPolicy
from jmsbridge.core.translate import raise_first, translate
from jmsbridge.destinations import Destination
from jmsbridge.errors import IllegalStateException, JMSException
from jmsbridge.message import Message, message_from_arrival
from jmsbridge.spi import BackendError, Interest, Link, LinkLost

if TYPE_CHECKING:
    from jmsbridge.core.connection import ConnectionCore
    from jmsbridge.core.sending.tickets import Completion, Sender

__all__ = ["Child", "SessionCore", "SessionSettings"]


class SessionSettings(msgspec.Struct, frozen=True):
    """What a session is created with."""

    mode: int
    prefetch: int
    dups_ok: DupsOk
    group_ack_threshold: int


class Child(Protocol):
    """A producer, consumer or browser: closed by its session."""

    def _shut(self) -> None:
        """The session is closed: do what ``close`` still has to do without it."""


C = TypeVar("C", bound="_Closable")


class _Closable(Protocol):
    """What is closed again when the call that made it was interrupted."""

    def close(self) -> None:
        """Close it."""


class SessionCore:
    """Owned by a Session or JMSContext. The session's thread and its executors use it; ``close`` comes from any thread.

    In the main thread a signal handler may interrupt any call; the next call first does what was left undone: see
    ``begin``.
    """

    def __init__(self, connection: "ConnectionCore", settings: SessionSettings) -> None:
        self.connection = connection
        self.mode = settings.mode
        self.prefetch = settings.prefetch
        self.name = connection.next_session_name()
        self.life = CloseState(Rank.SESSION)
        self.transactions = SessionTransactions() if settings.mode == SESSION_TRANSACTED else None
        self.calls = MainThreadCalls(self._mend)
        self.incoming = self._new_incoming(settings)
        self.outgoing = Outgoing(
            self.name,
            connection.clock,
            connection.options,
            connection.supervisor.throttle,
            self.transactions,
            connection.report,
        )
        self.outgoing.group_ack_threshold = settings.group_ack_threshold
        self.channel = SessionChannel(connection, self.incoming, self.outgoing, self.transactions, self.failed)
        self._lock = ranked(Rank.SESSION)  # guards _children
        self._children: weakref.WeakSet[Child] = weakref.WeakSet()  # the application's, which may forget them
        self._acknowledge_any = functools.partial(self.acknowledge, None)

    def _new_incoming(self, settings: SessionSettings) -> Incoming:
        connection = self.connection
        options = connection.options
        wait = options.send_timeout if options.block_on_acknowledge else None
        policy: AcknowledgePolicy
        if self.transactions is not None:
            policy = TransactedPolicy(self.transactions)
        else:
            policy = make_policy(settings.mode, settings.dups_ok, connection.clock, self._wake_upkeep, wait)
        return Incoming(
            self.name,
            connection.clock,
            connection.delivery,
            policy,
            self._make_message,
            options.emulation_limit,
            connection.report,
            self.calls,
        )

    def _wake_upkeep(self) -> None:
        self.incoming.upkeep.wake()

    # ---- guards

    @property
    def transacted(self) -> bool:
        """Whether sends and receipts take effect at ``commit``."""
        return self.transactions is not None

    def check_open(self) -> None:
        """IllegalState unless open; callbacks keep full service until they return (rule CL-5)."""
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
        """Before each call: IllegalState unless open, and what an interrupted call left undone is done first.

        Raises what a signal handler raised when a message was on its last step to the application, and what an
        interrupted commit or rollback ended with.
        """
        if self.life.state is not State.OPEN:
            self._refuse()
        if self.calls.under_way and self.calls.is_caller():
            self.calls.finish_interrupted()

    def _mend(self) -> None:
        self.outgoing.finish_interrupted()
        self.incoming.finish_interrupted()

    def plan(self) -> Plan:
        """What holds on the current link."""
        return self.connection.wait_link()[1]

    # ---- links

    def open(self) -> None:
        """Open the channel on the current link and join the connection."""
        self.channel.require(self.plan())  # in the caller's thread, to which a warning points
        wait_whole(lambda: self.channel.open(self._join), lambda _: self.close())

    def _join(self, epoch: int) -> bool:
        return self.connection.join(self, epoch)

    def recover_on(self, link: Link, plan: Plan, epoch: int, *, patient: bool = False) -> None:
        """Rebuild on a new link, with no credit (supervisor's thread); raises BackendError."""
        if self.life.state is not State.OPEN:
            return
        try:
            self.channel.recover_on(link, plan, epoch, patient)
        except JMSException as error:  # this broker can do less than the session needs
            self.failed(error)
            self.connection.report(error)

    def failed(self, error: JMSException) -> None:
        """There will be no link any more: senders fail, receivers wake and fail."""
        self.outgoing.shut(error)
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
        """Send one message; times in milliseconds. ``foreign`` is another provider's message that it is a copy of."""
        main = get_ident() == self.calls.main
        outgoing = self.outgoing
        if main:
            self.calls.under_way = True
        envelope = outgoing.stamp(
            sender, destination, message, mode, priority, ttl, delay, duplicate_id, is_async=listener is not None
        )
        outgoing.send(sender, envelope, message, foreign, mode, listener)
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
        acknowledger: Callable[[], None] = self._acknowledge_any
        if self.mode == INDIVIDUAL_ACKNOWLEDGE:
            acknowledger = functools.partial(self.acknowledge, delivery)
        return message_from_arrival(arrival.envelope, delivery.redelivered, delivery.count, acknowledger)

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
        """Subscribe and make the consumer object; refuses what the broker lacks and the client may not emulate."""
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
            self.connection.release(receiver.claim)
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

    def close_receiver(self, receiver: Receiver) -> None:
        """Close one consumer, keeping what it delivered acknowledgeable.

        Waits for a receive or listener of it, except in that listener itself.
        """
        if self.connection.is_forked:
            return
        receiver.close()
        self.incoming.wait_quiet(receiver)
        self.incoming.listening.remove(receiver)
        self.channel.forget(receiver)
        self.connection.release(receiver.claim)
        try:
            self.incoming.retire(receiver, self.connection.options.close_timeout)
        except BackendError as error:
            raise translate(error) from error

    def add_child(self, child: Child) -> None:
        """Something to shut with the session."""
        with self._lock:
            self._children.add(child)

    def forget_child(self, child: Child) -> None:
        """It was closed by itself."""
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
        committed = False
        try:
            self.outgoing.finish(timeout)
            transactions.commit(timeout)
            committed = True
        except RolledBack as ended:
            self.incoming.redeliver(ended.deliveries)
            raise ended.error from ended.error.__cause__
        finally:
            self.outgoing.end_transaction(committed=committed)

    def rollback(self) -> None:
        """See ``Session.rollback``."""
        transactions = self._check_transacted("rollback")
        self.calls.wait_whole(lambda: self._rollback(transactions))

    def _rollback(self, transactions: SessionTransactions) -> None:
        timeout = self.connection.options.send_timeout
        try:
            self.outgoing.finish(timeout)
        finally:
            deliveries = transactions.rollback(timeout)
            self.outgoing.end_transaction(committed=False)
            self.incoming.redeliver(deliveries)

    def recover(self) -> None:
        """See ``Session.recover``."""
        self.begin()
        if self.transactions is not None:
            raise IllegalStateException("recover needs a session that is not transacted; rollback is for transactions")
        try:
            self.calls.wait_whole(self.incoming.recover)
        except BackendError as error:
            raise translate(error) from error

    # ---- end

    def close(self) -> None:
        """See ``Session.close``."""
        if self.life.state is State.CLOSED or self.connection.is_forked:
            return
        self.forbid_in_callback("close")
        deadline = self.connection.clock.monotonic() + self.connection.options.close_timeout
        wait_whole(lambda: self.close_by(deadline), to_the_end=True)

    def close_by(self, deadline: float) -> None:
        """The same, with all waits but those for the user's callbacks ending at the monotonic ``deadline``."""
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
            lambda: self._wait_quiet(left()),
            lambda: self.outgoing.close(left()),
            self._shut_children,
            lambda: self.outgoing.wait_groups(left()),
            lambda: self._give_back(left),
        )
        for step in steps:
            try:
                step()
            except BaseException as error:  # what is half closed helps nobody
                errors.append(error)
        self.incoming.close()
        self.outgoing.ledger.executor.close()
        self.connection.leave(self)
        self.life.end_close()
        raise_first(errors)

    def _wait_quiet(self, timeout: float) -> None:
        for receiver in self.incoming.receivers:
            receiver.close()
            self.connection.release(receiver.claim)
        self.incoming.wait_quiet()
        self.incoming.upkeep.close()
        self.incoming.upkeep.wait_idle(timeout)

    def _shut_children(self) -> None:
        with self._lock:
            children = list(self._children)
            self._children.clear()
        for child in children:
            child._shut()

    def _give_back(self, left: Callable[[], float]) -> None:
        try:
            with contextlib.suppress(LinkLost):  # a dead link has given everything back already
                self._give_back_messages(left)
        finally:
            self.channel.close()

    def _give_back_messages(self, left: Callable[[], float]) -> None:
        self.incoming.finish_interrupted()
        if self.transactions is None:
            delivered = self.incoming.policy.take_unsettled()
        else:
            delivered = self.transactions.rollback(left())
        self.incoming.give_back(delivered, left)

    def abandon(self, error: JMSException) -> None:
        """In a forked child: nothing of the parent's link works here."""
        for receiver in self.incoming.receivers:
            receiver.abandon(error)
        self.outgoing.abandon(error)
