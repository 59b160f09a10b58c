"""The transactions of a transacted session: one object per transaction has its sends, its consumed messages and whether
it can still be committed.

A transaction ends with ``commit`` or ``rollback``, and the next one begins at once (rule TX-1). An answer that comes
after a transaction has ended does not affect the next one. Commit and rollback run where no signal handler interrupts.
"""

import logging
import time
from collections.abc import Iterable

from jmsbridge.core.receiving.acknowledgement import AcknowledgePolicy, settle_in_transaction
from jmsbridge.core.receiving.delivery import Delivery
from jmsbridge.core.runtime.locks import Rank, ranked
from jmsbridge.core.runtime.waiting import AnswerMissing, Waiter, cancel, wait_answered
from jmsbridge.core.translate import translate
from jmsbridge.errors import InDoubtException, TransactionRolledBackException
from jmsbridge.message import Message, message_from_arrival
from jmsbridge.spi import (
    BackendError,
    Channel,
    ChannelLost,
    Envelope,
    LinkLost,
    Native,
    Outcome,
    Ticket,
    TransactionRolledBack,
)

__all__ = [
    "BrokerTransactions",
    "EmulatedTransactions",
    "OrderedTransactions",
    "RolledBack",
    "SessionTransaction",
    "SessionTransactions",
    "TransactedPolicy",
    "transactions_on",
]

log = logging.getLogger("jmsbridge.transaction")


class SessionTransaction:
    """One transaction; it begins when the one before it ends."""

    __slots__ = ("_lock", "consumed", "error", "sends", "sent")

    def __init__(self) -> None:
        self._lock = ranked(Rank.LEAF)  # guards consumed
        self.error: BackendError | None = None
        """Why it can only be rolled back, if so."""
        self.sends: list[Envelope] = []  # all of them, where the broker's transactions are not all or nothing
        self.sent = 0  # how many were sent, where they are
        self.consumed: dict[Delivery, None] = {}

    @property
    def has_sends(self) -> bool:
        """Whether messages were sent in it."""
        return self.sent > 0 or bool(self.sends)

    def mark_rollback_only(self, error: BackendError) -> None:
        """It can only be rolled back, because of this error; the first error is kept."""
        if self.error is None:
            self.error = error

    def consume(self, delivery: Delivery) -> None:
        """The application consumes this message in it."""
        with self._lock:
            self.consumed[delivery] = None

    def deliveries(self) -> tuple[Delivery, ...]:
        """The consumed messages, in order."""
        with self._lock:
            return tuple(self.consumed)

    def take_deliveries(self) -> list[Delivery]:
        """Remove and return the consumed messages."""
        with self._lock:
            consumed, self.consumed = self.consumed, {}
        return list(consumed)

    def lost(self) -> BackendError | None:
        """Why it can only be rolled back, if so; also because consumed messages were lost with their link."""
        if self.error is None and any(delivery.inbox.is_lost() for delivery in self.deliveries()):
            self.error = _link_lost()
        return self.error


def _link_lost() -> BackendError:
    """The error of transactions whose link is lost."""
    return LinkLost("the connection was lost during the transaction")


class BrokerTransactions:
    """Transactions of the broker: all or nothing."""

    has_settlements = True
    """Whether what is settled belongs to them."""

    def __init__(self, channel: Channel) -> None:
        self._channel = channel

    def send(self, transaction: SessionTransaction, envelope: Envelope, ticket: Ticket) -> None:
        """Send in the broker's transaction."""
        transaction.sent += 1
        self._channel.send(envelope, ticket)

    def commit(self, transaction: SessionTransaction, timeout: float) -> None:
        """Settle what was consumed as part of the transaction, then commit it."""
        if not settle_in_transaction(transaction.deliveries(), Outcome.ACCEPTED):
            raise TransactionRolledBack("the connection was lost during the transaction")
        wait_answered(self._channel.commit, timeout, "a commit")

    def rollback(self, timeout: float) -> None:
        """Roll the broker's transaction back; a lost link has done so already."""
        try:
            wait_answered(self._channel.rollback, timeout, "a rollback")
        except LinkLost:
            return


class OrderedTransactions(BrokerTransactions):
    """Emulation for brokers whose transactions have only the sends: commit those, wait for the answer, acknowledge.

    The sends are all or nothing. Consumed messages are delivered again if the commit or the acknowledging fails.
    """

    has_settlements = False

    def send(self, transaction: SessionTransaction, envelope: Envelope, ticket: Ticket) -> None:
        """Send in the broker's transaction."""
        transaction.sends.append(envelope)
        self._channel.send(envelope, ticket)

    def commit(self, transaction: SessionTransaction, timeout: float) -> None:
        """Commit the sends, then acknowledge."""
        deadline = time.monotonic() + timeout
        if transaction.sends:
            wait_answered(self._channel.commit, timeout, "a commit")
        _acknowledge(transaction, deadline)


class EmulatedTransactions:
    """Emulation for brokers without transactions: hold the sends; on commit send all, wait for answers, acknowledge.

    A failure before anything was sent is a clean rollback; later some sends may be visible: InDoubt lists them.
    """

    has_settlements = False

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
        _acknowledge(transaction, deadline)

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
        """Nothing was sent, so there is nothing to undo."""


def _acknowledge(transaction: SessionTransaction, deadline: float) -> None:
    """The sends of the transaction took effect: acknowledge what was consumed."""
    deliveries = transaction.deliveries()
    try:
        settle_in_transaction(deliveries, Outcome.ACCEPTED, max(0.0, deadline - time.monotonic()))
    except BackendError as error:
        sent = transaction.sends
        if not sent and not error.in_doubt and len({delivery.inbox for delivery in deliveries}) == 1:
            raise TransactionRolledBack(f"nothing was acknowledged: {error}") from error
        what = "the commit's messages are sent, but " if sent else ""
        raise InDoubtException(
            f"{what}acknowledging failed ({error}): consumed messages may be delivered again", sent=_messages(sent)
        ) from error


def _messages(envelopes: Iterable[Envelope]) -> list[Message]:
    return [message_from_arrival(envelope, False, 0, None) for envelope in envelopes]


def _raise_failed(answers: list[tuple[Envelope, BackendError | None]], first: BackendError) -> None:
    messages = [(message_from_arrival(envelope, False, 0, None), error) for envelope, error in answers]
    sent = [message for message, error in messages if error is None]
    refused = [message for message, error in messages if error is not None and not error.in_doubt]
    unknown = [message for message, error in messages if error is not None and error.in_doubt]
    if not sent and not unknown:
        what = "" if isinstance(first, LinkLost) else "the broker refused the first send of the commit: "
        raise TransactionRolledBack(f"{what}{first}") from first
    raise InDoubtException(
        f"the commit failed halfway ({first}): {len(sent)} of {len(messages)} messages are visible; "
        "nothing was acknowledged, so consumed messages will be delivered again",
        sent=sent,
        refused=refused,
        unknown=unknown,
    ) from first


_Strategy = BrokerTransactions | EmulatedTransactions


def transactions_on(channel: Channel, native: Native) -> _Strategy:
    """The way of committing that a link with these capabilities permits."""
    if Native.SEND_TRANSACTIONS not in native:
        return EmulatedTransactions(channel)
    return BrokerTransactions(channel) if Native.TRANSACTIONS in native else OrderedTransactions(channel)


class RolledBack(Exception):
    """The transaction was not committed; ``error`` is for the application.

    ``deliveries`` are to be redelivered by the client; other consumed messages the broker delivers again.
    """

    def __init__(self, error: InDoubtException | TransactionRolledBackException, deliveries: list[Delivery]) -> None:
        super().__init__(str(error))
        self.error = error
        self.deliveries = deliveries


class SessionTransactions:
    """The transactions of one session, one after the other; ``current`` is the open one."""

    def __init__(self) -> None:
        self._lock = ranked(Rank.CONSUMER)  # guards current and _strategy
        self.current = SessionTransaction()
        self._ending: SessionTransaction | None = None  # the last one that commit or rollback ended or is ending
        self._closed: BackendError | None = None  # why no further one can be committed
        self._strategy: _Strategy | None = None

    def attach(self, strategy: _Strategy) -> None:
        """Use this channel from now on; an open transaction with sends on another one can only be rolled back."""
        with self._lock:
            before, self._strategy = self._strategy, strategy
            if before is not None and self.current.has_sends:
                self.current.mark_rollback_only(_link_lost())

    def lose(self) -> None:
        """The link is lost: an open transaction that has work can only be rolled back."""
        with self._lock:
            if self.current.has_sends or self.current.consumed:
                self.current.mark_rollback_only(_link_lost())

    def send(self, envelope: Envelope, ticket: Ticket) -> None:
        """Add a send to the current transaction."""
        transaction, strategy = self.current, self._strategy
        assert strategy is not None
        strategy.send(transaction, envelope, ticket)
        if self._strategy is not strategy:  # its link was lost meanwhile, and ``attach`` did not see this send
            transaction.mark_rollback_only(_link_lost())

    def commit(self, timeout: float) -> None:
        """Commit the current transaction; RolledBack if that fails."""
        ending, strategy = self._end()
        failure = ending.lost()
        if failure is not None:
            self._roll_back(strategy, timeout)
            raise RolledBack(_rolled_back(failure), ending.take_deliveries())
        if strategy is None or not (ending.has_sends or ending.consumed):
            return
        try:
            strategy.commit(ending, timeout)
        except InDoubtException as in_doubt:
            raise RolledBack(in_doubt, ending.take_deliveries()) from in_doubt
        except BackendError as error:
            self._roll_back(strategy, timeout)
            raise RolledBack(_for_application(error, ending), _to_redeliver(ending, error)) from error
        for delivery in ending.take_deliveries():
            delivery.inbox.done((delivery,))

    def consume(self, deliveries: Iterable[Delivery]) -> None:
        """Add consumed messages to the current transaction."""
        for delivery in deliveries:
            self.current.consume(delivery)

    def rollback(self, timeout: float) -> list[Delivery]:
        """Roll the current transaction back, and return its consumed messages, which are to be redelivered."""
        ending, strategy = self._end()
        if ending.has_sends or ending.consumed:
            self._roll_back(strategy, timeout)
        return ending.take_deliveries()

    def close(self, timeout: float) -> list[Delivery]:
        """The session is being closed: ``rollback``; a ``commit`` that another thread has begun then fails."""
        self._closed = ChannelLost("the session was closed")
        return self.rollback(timeout)

    @property
    def has_settlements(self) -> bool:
        """Whether what is settled belongs to the broker's transaction."""
        return self._strategy is not None and self._strategy.has_settlements

    def unsettled(self) -> tuple[Delivery, ...]:
        """What was consumed in a transaction that has not ended, or in one that failed with its link."""
        with self._lock:
            ending = self._ending
            return (*(ending.deliveries() if ending is not None else ()), *self.current.deliveries())

    def _end(self) -> tuple[SessionTransaction, _Strategy | None]:
        with self._lock:
            ending = self._ending = self.current
            self.current = SessionTransaction()
            self.current.error = self._closed
            return ending, self._strategy

    def _roll_back(self, strategy: _Strategy | None, timeout: float) -> None:
        if strategy is None:
            return
        try:
            strategy.rollback(timeout)
        except BackendError as error:
            log.warning("rollback: %s", error)


def _for_application(
    failure: BackendError, ending: SessionTransaction
) -> InDoubtException | TransactionRolledBackException:
    if failure.in_doubt and ending.sends:
        text = "nothing was acknowledged, so consumed messages will be delivered again"
        unknown = InDoubtException(f"{failure}; {text}", unknown=_messages(ending.sends))
        unknown.__cause__ = failure
        return unknown
    if failure.in_doubt:
        in_doubt = translate(failure)
        assert isinstance(in_doubt, InDoubtException)
        return in_doubt
    return _rolled_back(failure)


def _rolled_back(failure: BackendError) -> TransactionRolledBackException:
    made = TransactionRolledBackException(f"the transaction was rolled back: {failure}")
    made.__cause__ = failure
    return made


def _to_redeliver(ending: SessionTransaction, failure: BackendError) -> list[Delivery]:
    if not isinstance(failure, LinkLost):
        return ending.take_deliveries()
    for delivery in ending.deliveries():  # lost with the link during the commit: the broker delivers them again
        delivery.inbox.done((delivery,))  # they stay in ``unsettled``, so that ``lose`` finds them
    return []


class TransactedPolicy(AcknowledgePolicy):
    """SESSION_TRANSACTED: consumed messages belong to the current transaction; commit or rollback decides."""

    deferred = True
    transacted = True

    def __init__(self, transactions: SessionTransactions) -> None:
        self._transactions = transactions

    def before_handover(self, delivery: Delivery) -> None:
        """Add it to the transaction."""
        self._transactions.current.consume(delivery)

    def drop(self, delivery: Delivery) -> None:
        """Settle it with the transaction, if it can only be settled so."""
        if self._transactions.has_settlements:
            self._transactions.current.consume(delivery)
        else:
            super().drop(delivery)

    def unsettled(self) -> tuple[Delivery, ...]:
        """What was consumed in a transaction that has not ended."""
        return self._transactions.unsettled()

    def take_unsettled(self) -> list[Delivery]:
        """Remove and return the consumed messages of the current transaction."""
        return self._transactions.current.take_deliveries()

    def lose(self) -> None:
        """The broker delivers the consumed messages again, so the transaction must not be committed."""
        self._transactions.lose()
