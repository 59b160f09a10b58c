"""The transaction of a transacted session: one object has its fate, its sends and what it consumed.

A transaction ends with ``commit`` or ``rollback``, and the next one begins in the same moment (rule TX-1). What is
heard late, of a transaction that has ended, concerns no other one. Commit and rollback run where no signal handler
interrupts.
"""

import logging
import time
from typing import Protocol

from jmsbridge.core.receiving.acknowledgement import tell_all
from jmsbridge.core.receiving.delivery import Delivery
from jmsbridge.core.runtime.locks import Rank, ranked
from jmsbridge.core.runtime.waiting import AnswerMissing, Waiter, cancel
from jmsbridge.core.translate import translate
from jmsbridge.errors import InDoubtException, TransactionRolledBackException
from jmsbridge.message import message_from_arrival
from jmsbridge.spi import BackendError, Channel, Envelope, LinkLost, Outcome, Ticket, TransactionRolledBack

__all__ = ["Buffered", "Native", "RolledBack", "SessionTransaction", "SessionTransactions", "TransactedPolicy"]

log = logging.getLogger("jmsbridge.transaction")


class SessionTransaction:
    """One transaction, from the end of the one before it."""

    __slots__ = ("_lock", "consumed", "error", "sends", "sent")

    def __init__(self) -> None:
        self._lock = ranked(Rank.LEAF)  # guards consumed
        self.error: BackendError | None = None
        """Why it cannot be committed any more, if so."""
        self.sends: list[Envelope] = []  # held until commit, where the broker has no transactions
        self.sent = 0  # how many were sent within the broker's transaction
        self.consumed: dict[Delivery, None] = {}

    @property
    def has_sends(self) -> bool:
        """Whether anything was sent in it."""
        return self.sent > 0 or bool(self.sends)

    def doom(self, error: BackendError) -> None:
        """It can only be rolled back."""
        if self.error is None:
            self.error = error

    def consume(self, delivery: Delivery) -> None:
        """The application gets this message within it."""
        with self._lock:
            self.consumed[delivery] = None

    def deliveries(self) -> tuple[Delivery, ...]:
        """What it consumed, in order."""
        with self._lock:
            return tuple(self.consumed)

    def take_deliveries(self) -> list[Delivery]:
        """The same, taken out."""
        with self._lock:
            consumed, self.consumed = self.consumed, {}
        return list(consumed)

    def lost(self) -> BackendError | None:
        """Its fate: why it was lost, if so; also when a link took with it what was consumed."""
        if self.error is None and any(delivery.inbox.is_lost() for delivery in self.deliveries()):
            self.error = _lost_transaction()
        return self.error


def _lost_transaction() -> BackendError:
    """What dooms the transactions of a link that died."""
    return LinkLost("the connection was lost during the transaction")


class _Way(Protocol):
    """How the transactions of one channel are made: by the broker, or held together by the client."""

    def send(self, transaction: SessionTransaction, envelope: Envelope, ticket: Ticket) -> None:
        """Add a send; the ticket is answered when it is part of the transaction."""

    def commit(self, transaction: SessionTransaction, timeout: float) -> None:
        """Make it effective. BackendError when rolled back, InDoubtException when only a part may be effective."""

    def rollback(self, timeout: float) -> None:
        """Undo the sends."""


class Native:
    """Transactions of the broker: everything or nothing."""

    def __init__(self, channel: Channel) -> None:
        self._channel = channel

    def send(self, transaction: SessionTransaction, envelope: Envelope, ticket: Ticket) -> None:
        """Send in the broker's transaction."""
        transaction.sent += 1
        self._channel.send(envelope, ticket)

    def commit(self, transaction: SessionTransaction, timeout: float) -> None:
        """Settle what was consumed as part of the transaction, then commit it."""
        if not tell_all(transaction.deliveries(), Outcome.ACCEPTED):
            raise TransactionRolledBack("the connection was lost during the transaction")
        waiter = Waiter()
        self._channel.commit(waiter)
        waiter.wait_answer(timeout, "a commit")

    def rollback(self, timeout: float) -> None:
        """Roll the broker's transaction back; a dead link has done so already."""
        waiter = Waiter()
        self._channel.rollback(waiter)
        try:
            waiter.wait_answer(timeout, "a rollback")
        except LinkLost:
            return


class Buffered:
    """Emulation for brokers without transactions: hold the sends, on commit send and confirm all, then acknowledge.

    A failure before anything was sent is a clean rollback; later some sends may be visible, and InDoubt lists them.
    """

    def __init__(self, channel: Channel) -> None:
        self._channel = channel

    def send(self, transaction: SessionTransaction, envelope: Envelope, ticket: Ticket) -> None:
        """Hold it."""
        transaction.sends.append(envelope)
        ticket.succeed()

    def commit(self, transaction: SessionTransaction, timeout: float) -> None:
        """Send and confirm all, then acknowledge."""
        deadline = time.monotonic() + timeout
        waiters = [(envelope, Waiter()) for envelope in transaction.sends]
        for envelope, waiter in waiters:
            self._channel.send(envelope, waiter)
        answers = [(envelope, self._answer(waiter, deadline)) for envelope, waiter in waiters]
        failures = [error for _, error in answers if error is not None]
        if failures:
            _raise_failed(answers, failures[0])
        deliveries = transaction.deliveries()
        try:
            tell_all(deliveries, Outcome.ACCEPTED, max(0.0, deadline - time.monotonic()))
        except BackendError as error:
            sent = transaction.sends
            if not sent and not error.in_doubt and len({delivery.inbox for delivery in deliveries}) == 1:
                raise TransactionRolledBack(f"nothing was acknowledged: {error}") from error
            what = "the commit's messages are sent, but " if sent else ""
            raise InDoubtException(
                f"{what}acknowledging failed ({error}): what was consumed may return",
                sent=[message_from_arrival(envelope, False, 0, None) for envelope in sent],
            ) from error

    def _answer(self, waiter: Waiter, deadline: float) -> BackendError | None:
        try:
            waiter.wait_answer(max(0.0, deadline - time.monotonic()), "a send of a commit")
        except AnswerMissing as error:
            cancel(self._channel, (waiter,))
            return waiter.error or (None if waiter.answered else error)
        except BackendError as error:
            return error
        return None

    def rollback(self, timeout: float) -> None:
        """The sends were never sent."""


def _raise_failed(answers: list[tuple[Envelope, BackendError | None]], first: BackendError) -> None:
    messages = [(message_from_arrival(envelope, False, 0, None), error) for envelope, error in answers]
    sent = [message for message, error in messages if error is None]
    refused = [message for message, error in messages if error is not None and not error.in_doubt]
    unknown = [message for message, error in messages if error is not None and error.in_doubt]
    if not sent and not unknown:
        raise TransactionRolledBack(f"the broker refused the first send of the commit: {first}") from first
    raise InDoubtException(
        f"the commit failed half-way ({first}): {len(sent)} of {len(messages)} messages are visible; "
        "nothing was acknowledged, so what was consumed will be delivered again",
        sent=sent,
        refused=refused,
        unknown=unknown,
    ) from first


class RolledBack(Exception):
    """How a transaction ended that was not committed: ``error`` is for the application.

    ``deliveries`` are to be redelivered here; what is missing comes again from the broker.
    """

    def __init__(self, error: InDoubtException | TransactionRolledBackException, deliveries: list[Delivery]) -> None:
        super().__init__(str(error))
        self.error = error
        self.deliveries = deliveries


class SessionTransactions:
    """The transactions of one session, one after the other. ``current`` is the one that is open."""

    def __init__(self) -> None:
        self._lock = ranked(Rank.CONSUMER)  # guards current and _way
        self.current = SessionTransaction()
        self._ending: SessionTransaction | None = None  # the one that a commit is about to end
        self._way: _Way | None = None

    def attach(self, way: _Way) -> None:
        """Go on over this link; a transaction with work on another one is lost."""
        with self._lock:
            before, self._way = self._way, way
            if before is not None and self.current.has_sends:
                self.current.doom(_lost_transaction())

    def lose(self) -> None:
        """The link died."""
        with self._lock:
            if self.current.has_sends or self.current.consumed:
                self.current.doom(_lost_transaction())

    def send(self, envelope: Envelope, ticket: Ticket) -> None:
        """Add a send to the current transaction."""
        transaction, way = self.current, self._way
        assert way is not None
        way.send(transaction, envelope, ticket)
        if self._way is not way:  # its link died meanwhile, and did not see this send
            transaction.doom(_lost_transaction())

    def commit(self, timeout: float) -> None:
        """End the current transaction by making it effective; RolledBack when it was not."""
        ending, way = self._end()
        failure = ending.lost()
        if failure is not None:
            self._undo(way, timeout)
            raise RolledBack(_rolled_back(failure), ending.take_deliveries())
        if way is None or not (ending.has_sends or ending.consumed):
            return
        try:
            way.commit(ending, timeout)
        except InDoubtException as in_doubt:
            raise RolledBack(in_doubt, ending.take_deliveries()) from in_doubt
        except BackendError as error:
            self._undo(way, timeout)
            raise RolledBack(_told(error), _returned(ending, error)) from error
        for delivery in ending.take_deliveries():
            delivery.inbox.done((delivery,))

    def rollback(self, timeout: float) -> list[Delivery]:
        """End the current transaction by undoing it; what it consumed is to be redelivered."""
        ending, way = self._end()
        if ending.has_sends or ending.consumed:
            self._undo(way, timeout)
        return ending.take_deliveries()

    def unsettled(self) -> tuple[Delivery, ...]:
        """What was consumed in a transaction that has not ended."""
        with self._lock:
            ending = self._ending
            return (*(ending.deliveries() if ending is not None else ()), *self.current.deliveries())

    def _end(self) -> tuple[SessionTransaction, _Way | None]:
        with self._lock:
            ending = self._ending = self.current
            self.current = SessionTransaction()
            return ending, self._way

    def _undo(self, way: _Way | None, timeout: float) -> None:
        if way is None:
            return
        try:
            way.rollback(timeout)
        except BackendError as error:
            log.warning("rollback: %s", error)


def _told(failure: BackendError) -> InDoubtException | TransactionRolledBackException:
    if failure.in_doubt:
        in_doubt = translate(failure)
        assert isinstance(in_doubt, InDoubtException)
        return in_doubt
    return _rolled_back(failure)


def _rolled_back(failure: BackendError) -> TransactionRolledBackException:
    made = TransactionRolledBackException(f"the transaction was rolled back: {failure}")
    made.__cause__ = failure
    return made


def _returned(ending: SessionTransaction, failure: BackendError) -> list[Delivery]:
    deliveries = ending.take_deliveries()
    if not isinstance(failure, LinkLost):
        return deliveries
    for delivery in deliveries:  # what a link took with it while committing is delivered anew by the next one
        delivery.inbox.done((delivery,))
    return []


class TransactedPolicy:
    """SESSION_TRANSACTED: what is consumed belongs to the current transaction."""

    automatic = False
    deferred = True
    presettled = False
    transacted = True

    def __init__(self, transactions: SessionTransactions) -> None:
        self._transactions = transactions

    def handing(self, delivery: Delivery) -> None:
        """It is part of the transaction."""
        self._transactions.current.consume(delivery)

    def handled(self, delivery: Delivery) -> None:
        """Nothing: commit or rollback decides."""

    def acknowledge(self, delivery: Delivery | None) -> None:
        """Ignored (rule AC-4)."""

    def finish(self) -> None:
        """Nothing is left half done."""

    def settle_done(self) -> None:
        """Nothing waits."""

    def unsettled(self) -> tuple[Delivery, ...]:
        """What was consumed in a transaction that has not ended."""
        return self._transactions.unsettled()

    def take_unsettled(self) -> list[Delivery]:
        """The same, taken out."""
        return self._transactions.current.take_deliveries()

    def lose(self) -> None:
        """What was consumed comes again, so nothing of the transaction may take effect."""
        self._transactions.lose()
