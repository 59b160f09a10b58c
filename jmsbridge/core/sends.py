"""The kinds of send, each with its ticket: what the broker's answer leads to."""

import logging
from collections.abc import Callable
from typing import Any, Protocol

from jmsbridge.core.group import Group
from jmsbridge.core.ledger import Entry, Ledger
from jmsbridge.core.translate import translate
from jmsbridge.errors import unchecked
from jmsbridge.message import Message
from jmsbridge.spi import BackendError, Ticket

__all__ = [
    "AcknowledgedSend",
    "AsyncSend",
    "Completion",
    "Fate",
    "Owner",
    "Sender",
    "TransactedSend",
    "UnwatchedSend",
    "Watched",
    "write_headers",
]

log = logging.getLogger("jmsbridge.send")


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


class Owner(Protocol):
    """What the tickets need of the session's way out."""

    ledger: Ledger
    handler: Callable[[Any], None] | None
    fate: "Fate"

    def report(self, message: Any, error: BackendError) -> None:
        """A send that nobody waits for has failed."""

    def watch_no_more(self, ticket: "Watched") -> bool:
        """It has its answer; false when it had one before."""


class AsyncSend(Entry):
    """A send with a completion listener; its message is out of reach until the listener is called."""

    __slots__ = ("foreign", "listener", "message", "simplified")

    def __init__(
        self, ledger: Ledger, size: int, message: Message, listener: Completion, foreign: Any, simplified: bool
    ) -> None:
        super().__init__(ledger, size)
        self.message = message
        self.listener = listener
        self.foreign = foreign
        self.simplified = simplified

    def complete(self) -> None:
        """Call back, on the completion lane."""
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
    """A send watched by the session's send-acknowledgement handler; ``waiter`` is the blocking sender, if it waits."""

    __slots__ = ("message", "owner", "waiter")

    def __init__(self, owner: Owner, size: int, message: Any, waiter: Ticket | None) -> None:
        super().__init__(owner.ledger, size)
        self.owner = owner
        self.message = message
        self.waiter = waiter

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

    def complete(self) -> None:
        """Call back, on the completion lane."""
        handler = self.owner.handler
        if self.error is None and handler is not None:
            handler(self.message)
        elif self.error is not None and self.waiter is None:
            self.owner.report(self.message, self.error)


class UnwatchedSend:
    """The ticket of a send that nobody waits for, but the end of the session: only a failure has consequences."""

    __slots__ = ("_message", "_owner")

    def __init__(self, owner: Owner, message: Any) -> None:
        self._owner = owner
        self._message = message

    def succeed(self) -> None:
        """The broker has it."""
        self._owner.watch_no_more(self)

    def fail(self, error: BackendError) -> None:
        """The broker has not, or nobody knows."""
        if self._owner.watch_no_more(self):
            self._owner.report(self._message, error)


class Fate:
    """Why one transaction cannot be committed any more, if so; the next transaction has its own.

    What is heard late, of a transaction that was rolled back meanwhile, dooms nothing.
    """

    __slots__ = ("error",)

    def __init__(self) -> None:
        self.error: BackendError | None = None


class TransactedSend:
    """The ticket of a plain send inside a transaction: commit waits for it, and a refusal dooms the transaction."""

    __slots__ = ("_fate", "_owner")

    def __init__(self, owner: Owner) -> None:
        self._owner = owner
        self._fate = owner.fate

    def succeed(self) -> None:
        """The broker has it."""
        self._owner.watch_no_more(self)

    def fail(self, error: BackendError) -> None:
        """The broker has not, or nobody knows."""
        if self._owner.watch_no_more(self):
            self._fate.error = error


Watched = UnwatchedSend | TransactedSend


def write_headers(message: Message, foreign: Any) -> None:
    """Another provider's message gets its headers through its own setters (rule BO-8).

    One that it does not take is logged, and the message is sent all the same: an implementation of JMS 1.1 has no
    delivery time, say.
    """
    for name, value in (
        ("jms_destination", message._destination),
        ("jms_delivery_mode", message._delivery_mode),
        ("jms_message_id", message._message_id),
        ("jms_timestamp", message._timestamp),
        ("jms_priority", message._priority),
        ("jms_expiration", message._expiration),
        ("jms_delivery_time", message._delivery_time),
    ):
        try:
            setattr(foreign, name, value)
        except Exception as error:  # another provider's code
            log.warning("a foreign message of type %s does not take %s: %r", type(foreign).__name__, name, error)
