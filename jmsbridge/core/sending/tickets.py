"""The tickets of the different kinds of send: each defines what the broker's answer causes.

``give_up`` is called when the sending call was interrupted or failed, so that it is unknown whether the backend got the
ticket. The call raises; no callback follows.
"""

from collections.abc import Callable
from typing import Any, Protocol

from jmsbridge.core.runtime.waiting import AnswerMissing
from jmsbridge.core.sending.group import Group
from jmsbridge.core.sending.ledger import Entry, Ledger
from jmsbridge.core.sending.pending import PendingSends
from jmsbridge.core.transaction import SessionTransaction
from jmsbridge.core.translate import translate
from jmsbridge.errors import unchecked
from jmsbridge.message import Message
from jmsbridge.spi import BackendError, Envelope, Ticket

__all__ = [
    "AcknowledgedSend",
    "AsyncSend",
    "Awaited",
    "AwaitedSend",
    "Completion",
    "DelayedSend",
    "NotNow",
    "PlainSend",
    "Sender",
]


class Completion(Protocol):
    """A completion listener."""

    def on_completion(self, message: Any) -> None:
        """The broker has the message."""

    def on_exception(self, message: Any, error: Any) -> object:
        """The broker refused the message, or it is in doubt."""


class Sender(Protocol):
    """The attributes of a producer that sending uses."""

    _no_id: bool
    _no_timestamp: bool
    _last_async: int
    _unchecked: bool
    _group: Group | None


class AsyncSend(Entry):
    """A send with a completion listener; the application cannot access the message until the listener is called.

    If it fails, its ``transaction``, if any, can only be rolled back.
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
        """The broker refused it, or it is in doubt."""
        if self.transaction is not None and not self.answered:
            self.transaction.mark_rollback_only(error)
        super().fail(error)

    def give_up(self) -> None:
        """No callback; it is unknown whether it is part of its transaction."""
        if self.transaction is not None:
            self.transaction.mark_rollback_only(_interrupted())
        self.cancel()

    def cancel(self) -> None:
        """It was not sent: no callback, and the application can access the message again."""
        self.message._gate = None
        self.ledger.remove(self)

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


class NotNow(Exception):
    """A send that a task awaits would have to wait: nothing was sent, and the task may try again."""


class Awaited:
    """The completion of a send that a task awaits: the call does not wait, but raises NotNow."""

    __slots__ = ()

    def on_entered(self, entry: "AwaitedSend") -> None:
        """The send is in the ledger, and passed to the backend next."""

    def on_completion(self, message: Any) -> None:
        """The broker has the message."""

    def on_exception(self, message: Any, error: BackendError) -> bool:
        """The broker refused the message, or it is in doubt; returns whether ``send_again`` follows."""
        return False


class AwaitedSend(AsyncSend):
    """A send that a task awaits. The application may use its message meanwhile, as during no other asynchronous send:
    it is the task that waits."""

    __slots__ = ("envelope",)

    def __init__(
        self,
        ledger: Ledger,
        size: int,
        message: Message,
        listener: Awaited,
        foreign: Any,
        simplified: bool,
        envelope: Envelope,
    ) -> None:
        super().__init__(ledger, size, message, listener, foreign, simplified)
        self.envelope = envelope

    def complete(self) -> None:
        """Tell the task."""
        target = self.message if self.foreign is None else self.foreign
        if self.error is None:
            self.listener.on_completion(target)
        else:
            self.listener.on_exception(target, self.error)


class AcknowledgedSend(Entry):
    """A send reported to the session's send-acknowledgement handler; ``waiter`` is the ticket of a blocking sender.

    ``on_success`` and ``on_failure`` get the message; if a sender waits, it reports the failure itself.
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
        """The broker refused it, or it is in doubt."""
        if self.waiter is not None:
            self.waiter.fail(error)
        super().fail(error)

    def give_up(self) -> None:
        """No callback; a group that it belongs to counts it as in doubt."""
        if self.waiter is not None:
            self.waiter.fail(_interrupted())
        self.ledger.remove(self)

    def cancel(self) -> None:
        """It was not sent: no callback, and its group does not wait for it."""
        if self.waiter is not None:
            self.waiter.succeed()
        self.ledger.remove(self)

    def complete(self) -> None:
        """Call back, on the completion thread."""
        if self.error is None:
            self.on_success(self.message)
        elif self.waiter is None:
            self.on_failure(self.message, self.error)


class PlainSend:
    """A send that no call waits for, only the end of the session or of its transaction.

    If it fails, its ``transaction`` can only be rolled back; without one, the failure goes to the exception listener.
    """

    __slots__ = ("_message", "_sends", "_transaction", "size")

    def __init__(
        self, sends: PendingSends, size: int, message: Any, transaction: SessionTransaction | None = None
    ) -> None:
        self._sends = sends
        self._message = message
        self._transaction = transaction
        self.size = size

    def succeed(self) -> None:
        """The broker has it."""
        self._sends.remove(self)

    def fail(self, error: BackendError) -> None:
        """The broker does not have it, or it is in doubt."""
        if not self._sends.remove(self):
            return
        if self._transaction is None:
            self._sends.report(self._message, error)
        else:
            self._transaction.mark_rollback_only(error)

    def give_up(self) -> None:
        """Report nothing, since the call that sent it raises; it is unknown whether it is part of its transaction."""
        if self._transaction is not None:
            self._transaction.mark_rollback_only(_interrupted())
        self._sends.remove(self)


class DelayedSend:
    """A send that waits in the process for its delivery time, and that no call waits for.

    ``report`` gets a failure; answered once.
    """

    __slots__ = ("_message", "_report")

    def __init__(self, message: Any, report: Callable[[Any, BackendError], None]) -> None:
        self._message = message
        self._report = report

    def succeed(self) -> None:
        """The broker has it."""

    def fail(self, error: BackendError) -> None:
        """It was not sent, the broker does not have it, or it is in doubt."""
        self._report(self._message, error)


def _interrupted() -> BackendError:
    return AnswerMissing("a send was interrupted; it is unknown whether the broker gets the message", in_doubt=True)
