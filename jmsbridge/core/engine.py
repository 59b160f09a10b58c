"""The engine of one session: its channel, its ways in and out, its transaction, and how all of that ends."""

import contextlib
import functools
import logging
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

import msgspec

from jmsbridge.core.inbox import Delivery
from jmsbridge.core.incoming import Incoming, Redelivery
from jmsbridge.core.locks import Rank, ranked
from jmsbridge.core.modes import INDIVIDUAL_ACKNOWLEDGE, SESSION_TRANSACTED, DupsOk, make_policy
from jmsbridge.core.outgoing import Outgoing
from jmsbridge.core.plan import Plan
from jmsbridge.core.receiver import Receiver
from jmsbridge.core.state import Life, State
from jmsbridge.core.transaction import Buffered, Transaction
from jmsbridge.core.transaction import Native as NativeTransaction
from jmsbridge.core.translate import raise_first, translate
from jmsbridge.destinations import Destination
from jmsbridge.errors import IllegalStateException, InDoubtException, JMSException, TransactionRolledBackException
from jmsbridge.message import message_from_arrival
from jmsbridge.spi import BackendError, Channel, Interest, Link, LinkLost, Native

if TYPE_CHECKING:
    from jmsbridge.core.hub import Hub

__all__ = ["Child", "Engine", "SessionSettings"]

log = logging.getLogger("jmsbridge.session")


class SessionSettings(msgspec.Struct, frozen=True):
    """What a session is created with."""

    mode: int
    prefetch: int
    dups_ok: DupsOk
    group_ack_threshold: int


class Child:
    """A producer, consumer or browser: closed by its session."""

    __slots__ = ()

    def _shut(self) -> None:
        """The session is closed: do what ``close`` still has to do without it."""
        raise NotImplementedError


C = TypeVar("C")


class Engine:
    """Owned by a Session or JMSContext. The session's thread and its lanes use it; ``close`` comes from any thread."""

    def __init__(self, hub: "Hub", settings: SessionSettings) -> None:
        self.hub = hub
        self.mode = settings.mode
        self.transacted = settings.mode == SESSION_TRANSACTED
        self.prefetch = settings.prefetch
        self.name = hub.next_session_name()
        self.life = Life(Rank.SESSION)
        options = hub.options
        wait = options.send_timeout if options.block_on_acknowledge else None
        policy = make_policy(settings.mode, settings.dups_ok, hub.clock, self._wake, wait)
        redelivery = Redelivery(options.max_redeliveries, options.redelivery_delay, options.redelivery_delay_max)
        limit = options.emulation_limit
        self.incoming = Incoming(self.name, hub.clock, policy, redelivery, self._make_message, limit, hub.report)
        self.outgoing = Outgoing(self.name, hub.clock, options, hub.supervisor.throttle, hub.report)
        self.outgoing.group_ack_threshold = settings.group_ack_threshold
        self._recovered: tuple[Channel, Plan, Transaction | None, int] | None = None
        self._lock = ranked(Rank.SESSION)  # guards _epoch, _channel, _children and the set of receivers
        self._epoch = 0
        self._channel: Channel | None = None
        self._children: list[Child] = []
        self.broken: JMSException | None = None
        self._acknowledge_any = functools.partial(self.acknowledge, None)

    def _wake(self) -> None:
        self.incoming.lane.wake()

    # ---- guards

    def check_open(self) -> None:
        """IllegalState unless open; callbacks keep full service until they return (rule CL-5)."""
        if self.life.state is not State.OPEN:
            self._refuse()

    def _refuse(self) -> None:
        if self.life.state is State.CLOSING and (
            self.incoming.lane.is_current() or self.outgoing.ledger.lane.is_current()
        ):
            return
        raise IllegalStateException(f"the session {self.name} is closed")

    def forbid_in_completion(self, what: str) -> None:
        """IllegalState from a completion listener of this session (rule CL-9)."""
        if self.outgoing.ledger.lane.is_current():
            raise IllegalStateException(f"{what} is not allowed in a completion listener of its own session")

    def forbid_in_callback(self, what: str) -> None:
        """IllegalState from any callback of this session (rules CL-7, CL-9)."""
        self.forbid_in_completion(what)
        if self.incoming.lane.is_current():
            raise IllegalStateException(f"{what} is not allowed in a message listener of its own session")

    def plan(self) -> Plan:
        """What holds on the current link."""
        return self.hub.wait_link()[1]

    # ---- links

    def open(self) -> None:
        """Open the channel on the current link and join the connection."""
        while True:
            link, plan, epoch = self.hub.wait_link()
            try:
                channel, transaction = self._open_channel(link, plan)
            except LinkLost:
                self.hub.wait_changed(epoch)
                continue
            except BackendError as error:
                raise translate(error) from error
            self._attach(channel, plan, transaction, epoch)
            if self.hub.join(self, epoch):
                return

    def _open_channel(self, link: Link, plan: Plan) -> tuple[Channel, Transaction | None]:
        if self.hub.options.block_on_acknowledge:
            plan.require(Native.SETTLE_CONFIRM)
        if not self.transacted:
            return link.channel(False), None
        if plan.require(Native.TRANSACTIONS) == "native":
            channel = link.channel(True)
            return channel, NativeTransaction(channel)
        channel = link.channel(False)
        return channel, Buffered(channel)

    def _attach(self, channel: Channel, plan: Plan, transaction: Transaction | None, epoch: int) -> None:
        with self._lock:
            self._epoch = epoch
            self._channel = channel
        self.incoming.adopt(plan.native)
        self.outgoing.attach(channel, plan, transaction)

    def interrupted(self) -> None:
        """The link died (supervisor's thread)."""
        with self._lock:
            self._channel = None
        self.outgoing.interrupted()
        self.incoming.interrupted()
        with self._lock:
            # one step: a commit or rollback meanwhile has either the deliveries or the failure. Only now, because what
            # was handed out before its inbox was lost is in the transaction, and what comes later is seen to be lost
            if self.incoming.policy.lose() and self.transacted:
                self.outgoing.fate.error = LinkLost("the connection was lost during the transaction")

    def recover_on(self, link: Link, plan: Plan, epoch: int, *, patient: bool = False) -> None:
        """Rebuild on a new link, with no credit (supervisor's thread); raises BackendError."""
        if self.life.state is not State.OPEN:
            return
        try:
            channel, transaction = self._open_channel(link, plan)
        except JMSException as error:  # this broker can do less than the session needs (design section 6)
            self.failed(error)
            self.hub.report(error)
            return
        with self._lock:
            self._epoch = epoch
        self.incoming.adopt(plan.native)
        for receiver in self.incoming.receivers:
            try:
                self._require(receiver.interest, plan)
            except JMSException as error:
                receiver.close()
                self.hub.report(error)
        for problem in self.incoming.resume(channel, patient):
            self.hub.report(translate(problem))
        self._recovered = (channel, plan, transaction, epoch)

    def restored(self) -> None:
        """Credit and senders again (supervisor's thread)."""
        recovered, self._recovered = self._recovered, None
        if recovered is not None:
            self._attach(*recovered)
        if self.hub.is_running:
            self.incoming.start()

    def failed(self, error: JMSException) -> None:
        """There will be no link any more: senders fail, receivers wake and fail."""
        self.broken = error
        self.outgoing.shut(error)
        for receiver in self.incoming.receivers:
            receiver.close()

    # ---- messages

    def _make_message(self, delivery: Delivery) -> Any:
        arrival = delivery.arrival
        acknowledger: Callable[[], None] = self._acknowledge_any
        if self.mode == INDIVIDUAL_ACKNOWLEDGE:
            acknowledger = functools.partial(self.acknowledge, delivery)
        return message_from_arrival(arrival.envelope, delivery.redelivered, delivery.count, acknowledger)

    def acknowledge(self, delivery: Delivery | None) -> None:
        """``Message.acknowledge`` and ``JMSContext.acknowledge``."""
        self.check_open()
        self.incoming.reclaim()
        try:
            self.incoming.policy.acknowledge(delivery)
        except BackendError as error:
            raise translate(error) from error

    # ---- consumers

    def consume(
        self, interest: Interest, kind: Callable[["Engine", Receiver, Destination], C], target: Destination
    ) -> C:
        """Subscribe and make the consumer object; refuses what the broker lacks and the client may not emulate."""
        self.hub.use()
        plan = self.plan()
        self._require(interest, plan)
        claim = self.hub.claim_durable(interest, plan)
        receiver = self.incoming.new_receiver(interest)
        receiver.claim = claim
        try:
            self._subscribe(receiver)
        except BaseException:
            self.hub.release(receiver.claim)
            raise
        if self.incoming.running:
            receiver.inbox.start()
        if not self.incoming.running:  # stopped meanwhile
            receiver.inbox.stop()
        return kind(self, receiver, target)

    def _subscribe(self, receiver: Receiver) -> None:
        while True:
            channel, epoch = self.channel()
            try:
                receiver.attach(channel.subscribe(receiver.wanted(self.incoming.native), receiver.inbox))
            except LinkLost:
                self.hub.wait_changed(epoch)
                continue
            except BackendError as error:
                raise translate(error) from error
            with self._lock:
                self.check_open()
                current = epoch == self._epoch and self._channel is channel
                if current:
                    self.incoming.add(receiver)
                    return
            receiver.interrupted()  # the link died meanwhile: again, on the next one

    def _require(self, interest: Interest, plan: Plan) -> None:
        self.hub.temporaries.check_consumable(interest.address, plan)
        if interest.selector is not None:
            plan.require(Native.TOPIC_SELECTORS if interest.address.topic else Native.QUEUE_SELECTORS)
        if interest.no_local:
            plan.require(Native.NO_LOCAL)
        if interest.shared:
            plan.require(Native.SHARED_DURABLE if interest.durable else Native.SHARED)
        elif interest.durable:
            plan.require(Native.DURABLE)
            plan.require(Native.EXCLUSIVE_DURABLE)

    def channel(self) -> tuple[Channel, int]:
        """The current channel and its epoch, waiting for a reconnect."""
        channel = self.outgoing.wait_channel()
        with self._lock:
            return channel, self._epoch

    def close_receiver(self, receiver: Receiver) -> None:
        """Close one consumer: seed 002. Waits for a receive or listener of it, except in that listener itself."""
        if self.hub.is_forked:
            return
        receiver.close()
        self.incoming.wait_quiet(receiver)
        with self._lock:
            self.incoming.remove(receiver)
        self.hub.release(receiver.claim)
        try:
            receiver.release_unseen()
            receiver.inbox.retire()
        except BackendError as error:
            raise translate(error) from error

    def add_child(self, child: Child) -> None:
        """Something to shut with the session."""
        with self._lock:
            self._children.append(child)

    def forget_child(self, child: Child) -> None:
        """It was closed by itself."""
        with self._lock:
            if child in self._children:
                self._children.remove(child)

    # ---- transaction

    def _check_transacted(self, what: str) -> None:
        self.check_open()
        if not self.transacted:
            raise IllegalStateException(f"{what} needs a transacted session")
        self.forbid_in_completion(what)

    def commit(self) -> None:
        """See ``Session.commit``."""
        self._check_transacted("commit")
        self.incoming.reclaim()
        self.outgoing.check_committable()
        committed = False
        self.outgoing.finish()
        try:
            self._commit()
            committed = True
        finally:
            self.outgoing.end_transaction(committed=committed)

    def _commit(self) -> None:
        deliveries: list[Delivery] = []
        try:
            with self._lock:
                self.incoming.policy.take_unsettled(deliveries)
                transaction, failure = self.outgoing.transaction()
            self._commit_all(transaction, failure, deliveries)
        except JMSException:
            raise
        except BaseException:  # Ctrl-C, say: nobody knows how far it came, so what was consumed comes again
            self._undo(deliveries)
            raise

    def _commit_all(
        self, transaction: Transaction | None, failure: BackendError | None, deliveries: list[Delivery]
    ) -> None:
        if failure is None and any(delivery.inbox.is_lost() for delivery in deliveries):
            failure = LinkLost("the connection was lost during the transaction")
        doomed = failure is not None
        if failure is None and transaction is not None and (deliveries or transaction.is_busy):
            try:
                transaction.commit(deliveries, self.hub.options.send_timeout)
                return
            except InDoubtException:
                self._take_back(deliveries)
                self.incoming.put_back()
                raise
            except BackendError as error:
                failure = error
        if failure is not None:
            # what a link took with it while committing is delivered anew by the next one
            self._undo(deliveries if doomed or not isinstance(failure, LinkLost) else [])
            if failure.in_doubt and not doomed:
                raise translate(failure) from failure
            raise TransactionRolledBackException(f"the transaction was rolled back: {failure}") from failure

    def _take_back(self, deliveries: list[Delivery]) -> None:
        """These, and what an interrupt kept a commit from taking, are to be delivered again."""
        self.incoming.returning += deliveries
        del deliveries[:]  # once: an interrupt may lead here again
        self.incoming.policy.take_unsettled(self.incoming.returning)

    def _undo(self, deliveries: list[Delivery]) -> None:
        try:
            self._take_back(deliveries)
            self._roll_back(self.hub.options.send_timeout)
        except BaseException:  # an interrupt: nothing of it must be part of the next commit
            self._take_back(deliveries)
            self._roll_back(0.0)
            raise
        finally:
            try:
                self.outgoing.end_transaction(committed=False)
            finally:
                self.incoming.put_back()

    def _roll_back(self, timeout: float) -> None:
        transaction, _ = self.outgoing.transaction()
        if transaction is None:
            return
        try:
            transaction.rollback(timeout)
        except BackendError as error:
            log.warning("rollback: %s", error)

    def rollback(self) -> None:
        """See ``Session.rollback``."""
        self._check_transacted("rollback")
        self.incoming.reclaim()
        self.outgoing.finish()
        self._undo([])

    def recover(self) -> None:
        """See ``Session.recover``."""
        self.check_open()
        if self.transacted:
            raise IllegalStateException("recover needs a session that is not transacted; rollback is for transactions")
        self.incoming.reclaim()
        try:
            self.incoming.recover()
        except BackendError as error:
            raise translate(error) from error

    # ---- end

    def close(self) -> None:
        """See ``Session.close``."""
        if self.life.state is State.CLOSED or self.hub.is_forked:
            return
        self.forbid_in_callback("close")
        if not self.life.wait_begin_close():
            return
        errors: list[BaseException] = []
        steps = (
            self._quiet,
            self.outgoing.close,
            self._shut_children,
            self.outgoing.wait_groups,
            self._end_transaction,
            self._give_back,
        )
        for step in steps:
            try:
                step()
            except BaseException as error:  # an interrupt too: what is half closed helps nobody
                errors.append(error)
                if not isinstance(error, Exception) and step in (self._shut_children, self._give_back):
                    step()
        self.incoming.close()
        self.outgoing.ledger.lane.close()
        self.hub.leave(self)
        self.life.end_close()
        raise_first(errors)

    def _quiet(self) -> None:
        self.incoming.stop()
        for receiver in self.incoming.receivers:
            receiver.close()
            self.hub.release(receiver.claim)
        self.incoming.wait_quiet()

    def _shut_children(self) -> None:
        with self._lock:
            children, self._children = self._children, []
        for child in children:
            child._shut()

    def _end_transaction(self) -> None:
        transaction, _ = self.outgoing.transaction()
        if transaction is not None and self._channel is not None and transaction.is_busy:
            transaction.rollback(self.hub.options.close_timeout)

    def _give_back(self) -> None:
        with contextlib.suppress(LinkLost):  # a dead link has given everything back already
            try:
                self.incoming.give_back()
            finally:
                if self._channel is not None:
                    self._channel.close()

    def abandon(self, error: JMSException) -> None:
        """In a forked child: nothing of the parent's link works here."""
        self.broken = error
        for receiver in self.incoming.receivers:
            receiver.abandon()
        self.outgoing.abandon(error)
