"""The kinds of send, each with its ticket: what the broker's answer leads to.

``give_up`` says that the call which sends was interrupted or failed before the backend had the ticket for certain: the
call has told its caller so, and nothing more is to come of it.
"""

from collections.abc import Callable
from typing import Any, Protocol

from jmsbridge.core.runtime.waiting import AnswerMissing
from jmsbridge.core.sending.group import Group
from jmsbridge.core.sending.ledger import Entry, Ledger
from jmsbridge.core.sending.watched import WatchedSends
from jmsbridge.core.transaction import SessionTransaction
from jmsbridge.core.translate import translate
from jmsbridge.errors import unchecked
from jmsbridge.message import Message
from jmsbridge.spi import BackendError, Ticket

__all__ = ["AcknowledgedSend", "AsyncSend", "Completion", "Sender", "TransactedSend", "UnwatchedSend"]


class Completion(Protocol):
    """A completion listener."""

    def on_completion(self, message: Any) -> None:
        """The broker has the message."""

    def on_exception(self, message: Any, error: Any) -> None:
        """It has not, or nobody knows."""


class Sender(Protocol):
    """What the way out needs of a producer."""

    _no_id: bool
    _no_timestamp: bool
    _last_async: int
    _unchecked: bool
    _group: Group | None


class AsyncSend(Entry):
    """A send with a completion listener; its message is out of reach until the listener is called.

    A refusal dooms the ``transaction`` that it belongs to, if any.
    """

    __slots__ = ("foreign", "listener", "message", "simplified", "transaction")

    def __init__(
        self, ledger: Ledger, size: int, message: Message, listener: Completion, foreign: Any, simplified: bool
    ) -> None:
        super().__init__(ledger, size)
        self.message = message
        self.listener = listener
        self.foreign = foreign
        self.simplified = simplified
        self.transaction: SessionTransaction | None = None

    def fail(self, error: BackendError) -> None:
        """The broker has not, or nobody knows."""
        if self.transaction is not None and not self.answered:
            self.transaction.doom(error)
        super().fail(error)

    def give_up(self) -> None:
        """No callback; nobody knows whether it is part of its transaction."""
        if self.transaction is not None:
            self.transaction.doom(_interrupted())
        self.withdraw()

    def withdraw(self) -> None:
        """It was not sent: no callback, and the message is accessible again."""
        self.message._gate = None
        self.ledger.withdraw(self)

    def complete(self) -> None:
        """Call back, on the completion thread."""
        message = self.message
        message._gate = None
        target = message if self.foreign is None else self.foreign
        if self.error is None:
            message._reset_for_reading()
            self.listener.on_completion(target)
            return
        error = translate(self.error, (target,))
        self.listener.on_exception(target, unchecked(error) if self.simplified else error)


class AcknowledgedSend(Entry):
    """A send watched by the session's send-acknowledgement handler; ``waiter`` is the blocking sender, if it waits.

    ``on_success`` and ``on_failure`` get the message; a failure that the sender waits for is the sender's to tell.
    """

    __slots__ = ("message", "on_failure", "on_success", "waiter")

    def __init__(
        self,
        ledger: Ledger,
        size: int,
        message: Any,
        waiter: Ticket | None,
        on_success: Callable[[Any], None],
        on_failure: Callable[[Any, BackendError], None],
    ) -> None:
        super().__init__(ledger, size)
        self.message = message
        self.waiter = waiter
        self.on_success = on_success
        self.on_failure = on_failure

    def succeed(self) -> None:
        """The broker has it."""
        if self.waiter is not None:
            self.waiter.succeed()
        super().succeed()

    def fail(self, error: BackendError) -> None:
        """The broker has not, or nobody knows."""
        if self.waiter is not None:
            self.waiter.fail(error)
        super().fail(error)

    def give_up(self) -> None:
        """No callback; a group that it belongs to counts it as unknown."""
        if self.waiter is not None:
            self.waiter.fail(_interrupted())
        self.ledger.withdraw(self)

    def withdraw(self) -> None:
        """It was not sent: no callback, and no group waits for it."""
        if self.waiter is not None:
            self.waiter.succeed()
        self.ledger.withdraw(self)

    def complete(self) -> None:
        """Call back, on the completion thread."""
        if self.error is None:
            self.on_success(self.message)
        elif self.waiter is None:
            self.on_failure(self.message, self.error)


class UnwatchedSend:
    """The ticket of a send that only the end of the session waits for: a failure goes to the exception listener."""

    __slots__ = ("_message", "_sends", "size")

    def __init__(self, sends: WatchedSends, size: int, message: Any) -> None:
        self._sends = sends
        self._message = message
        self.size = size

    def succeed(self) -> None:
        """The broker has it."""
        self._sends.remove(self)

    def fail(self, error: BackendError) -> None:
        """The broker has not, or nobody knows."""
        if self._sends.remove(self):
            self._sends.report(self._message, error)

    def give_up(self) -> None:
        """Nothing is told."""
        self._sends.remove(self)


class TransactedSend:
    """The ticket of a plain send inside a transaction: commit waits for it, and a refusal dooms the transaction."""

    __slots__ = ("_sends", "_transaction", "size")

    def __init__(self, sends: WatchedSends, size: int, transaction: SessionTransaction) -> None:
        self._sends = sends
        self._transaction = transaction
        self.size = size

    def succeed(self) -> None:
        """The broker has it."""
        self._sends.remove(self)

    def fail(self, error: BackendError) -> None:
        """The broker has not, or nobody knows."""
        if self._sends.remove(self):
            self._transaction.doom(error)

    def give_up(self) -> None:
        """Nobody knows whether it is part of the transaction, which can so only be rolled back."""
        self._transaction.doom(_interrupted())
        self._sends.remove(self)


def _interrupted() -> BackendError:
    return AnswerMissing("a send was interrupted; whether the broker gets the message is unknown", in_doubt=True)
