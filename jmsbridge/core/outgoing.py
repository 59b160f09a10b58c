"""A session's way out: stamp, freeze, and hand to the backend under the guarantee asked for."""

import logging
import threading
from collections import deque
from collections.abc import Callable
from typing import Any, Protocol

from jmsbridge.config import Options
from jmsbridge.core.clock import Clock
from jmsbridge.core.group import Group
from jmsbridge.core.ledger import Entry, Ledger
from jmsbridge.core.locks import Rank, ranked
from jmsbridge.core.naming import message_ids
from jmsbridge.core.plan import Plan
from jmsbridge.core.ticket import AnswerMissing, Waiter
from jmsbridge.core.transaction import Transaction
from jmsbridge.core.translate import translate
from jmsbridge.destinations import Destination
from jmsbridge.errors import InDoubtException, JMSException, unchecked
from jmsbridge.message import Message
from jmsbridge.spi import BackendError, Channel, Envelope, LinkLost, Native

__all__ = ["Completion", "Outgoing", "Sender"]

log = logging.getLogger("jmsbridge.send")

_NON_PERSISTENT = 1
_PERSISTENT = 2

_KEPT_FAILURES = 1000


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


class _AsyncSend(Entry):
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
        message = self.message
        message._gate = None
        target = message if self.foreign is None else self.foreign
        if self.error is None:
            message._reset_for_reading()
            self.listener.on_completion(target)
            return
        error = translate(self.error, (target,))
        self.listener.on_exception(target, unchecked(error) if self.simplified else error)


class _Acknowledged(Entry):
    """A send watched by the session's send-acknowledgement handler; ``waiter`` is the blocking sender, if it waits."""

    __slots__ = ("message", "owner", "waiter")

    def __init__(self, owner: "Outgoing", size: int, message: Any, waiter: Waiter | None) -> None:
        super().__init__(owner.ledger, size)
        self.owner = owner
        self.message = message
        self.waiter = waiter

    def succeed(self) -> None:
        if self.waiter is not None:
            self.waiter.succeed()
        super().succeed()

    def fail(self, error: BackendError) -> None:
        if self.waiter is not None:
            self.waiter.fail(error)
        super().fail(error)

    def complete(self) -> None:
        handler = self.owner.handler
        if self.error is None and handler is not None:
            handler(self.message)
        elif self.error is not None and self.waiter is None:
            self.owner.report(self.message, self.error)


class _Unwatched:
    """The ticket of a send that nobody waits for, but the end of the session: only a failure has consequences."""

    __slots__ = ("_message", "_owner")

    def __init__(self, owner: "Outgoing", message: Any) -> None:
        self._owner = owner
        self._message = message

    def succeed(self) -> None:
        self._owner.watch_no_more(self)

    def fail(self, error: BackendError) -> None:
        if self._owner.watch_no_more(self):
            self._owner.report(self._message, error)


class Outgoing:
    """Everything about sending that belongs to one session.

    ``channel`` is None while the link is down: senders wait for it. ``on_failure`` gets failures that no caller waits
    for.
    """

    def __init__(
        self,
        name: str,
        clock: Clock,
        options: Options,
        window: int,
        on_failure: Callable[[JMSException], None],
    ) -> None:
        self.ledger = Ledger(f"jmsbridge-{name}-complete", window, options.confirmation_window_size)
        self.handler: Callable[[Any], None] | None = None
        self.failed: deque[JMSException] = deque(maxlen=_KEPT_FAILURES)
        self.transaction: Transaction | None = None
        self.transaction_failure: BackendError | None = None
        self._transacted = False
        self._clock = clock
        self._now_ms = clock.now_ms
        self._options = options
        self._next_id = message_ids()
        self._on_failure = on_failure
        self._plan: Plan | None = None
        self._up = threading.Condition(ranked(Rank.CONSUMER))  # guards _channel and _down
        self._answered = threading.Condition(ranked(Rank.LEAF))  # guards _unwatched
        self._unwatched: dict[_Unwatched, None] = {}
        self._channel: Channel | None = None
        self._down: JMSException | None = None
        self._weighed = options.confirmation_window_size is not None
        self._block_durable = options.block_on_durable_send
        self._block_non_durable = options.block_on_non_durable_send
        self._timeout = options.send_timeout

    # ---- links

    def attach(self, channel: Channel, plan: Plan, transaction: Transaction | None) -> None:
        """Send over this channel from now on."""
        with self._up:
            self._channel = channel
            self._plan = plan
            self.transaction = transaction
            self._transacted = transaction is not None
            self._up.notify_all()

    def suspend(self) -> None:
        """The link died: sends wait from now on. Called under a backend's lock, so without one of ours."""
        self._channel = None

    def interrupted(self) -> None:
        """The link died: sends wait; a transaction that held sends is lost."""
        with self._up:
            self._channel = None
            if self.transaction is not None and self.transaction.is_busy:
                self.transaction_failure = LinkLost("the connection was lost during the transaction")

    def shut(self, error: JMSException) -> None:
        """There will be no link any more; senders fail with ``error``."""
        with self._up:
            self._channel = None
            self._down = error
            self._up.notify_all()

    def wait_channel(self) -> Channel:
        """The channel, waiting for a reconnect as long as ``send_timeout`` allows."""
        channel = self._channel
        if channel is not None:
            return channel
        with self._up:
            self._up.wait_for(lambda: self._channel is not None or self._down is not None, self._timeout)
            if self._channel is not None:
                return self._channel
            if self._down is not None:
                raise self._down
        raise JMSException(f"the connection was not restored within {self._timeout:g} s (option send_timeout)")

    # ---- sending

    def send(
        self,
        sender: Sender,
        destination: Destination,
        message: Message,
        mode: int,
        priority: int,
        ttl: int,
        delay: int,
        listener: Completion | None = None,
        duplicate_id: str | None = None,
        foreign: Any = None,
        group: Group | None = None,
    ) -> None:
        """Send one message; times in milliseconds. Returns when the guarantee asked for is reached (section 7.3)."""
        if message._gate is not None:
            message._refuse()
        if delay or duplicate_id is not None:
            self._require(delay, duplicate_id)
        envelope = self._stamp(sender, destination, message, mode, priority, ttl, delay, duplicate_id)
        if foreign is not None:
            _write_headers(message, foreign)
        if listener is not None:
            self._send_async(sender, envelope, message, listener, foreign)
        elif self._transacted:
            self._send_in_transaction(envelope)
        elif group is not None:
            group.send(self.wait_channel(), envelope)
        elif self.handler is not None:
            self._send_acknowledged(envelope, message if foreign is None else foreign)
        elif self._block_non_durable if mode == _NON_PERSISTENT else self._block_durable:
            self._send_and_wait(envelope, message)
        else:
            self._send_unwatched(envelope, message if foreign is None else foreign)

    def _stamp(
        self,
        sender: Sender,
        destination: Destination,
        message: Message,
        mode: int,
        priority: int,
        ttl: int,
        delay: int,
        duplicate_id: str | None,
    ) -> Envelope:
        now = self._now_ms()
        due = now + delay
        timestamp = 0 if sender._no_timestamp else now
        message_id = None if sender._no_id else self._next_id()
        expiration = now + ttl if ttl else 0
        envelope = message._freeze(
            destination._address,
            message_id,
            timestamp,
            mode != _NON_PERSISTENT,
            priority,
            expiration,
            0 if delay == 0 and timestamp else due,
            duplicate_id,
        )
        message._message_id = message_id
        message._timestamp = timestamp
        message._destination = destination
        message._delivery_mode = _NON_PERSISTENT if mode == _NON_PERSISTENT else _PERSISTENT
        message._priority = priority
        message._expiration = expiration
        message._delivery_time = due
        return envelope

    def _require(self, delay: int, duplicate_id: str | None) -> None:
        self.wait_channel()
        plan = self._plan
        if plan is None:
            return
        if delay:
            plan.require(Native.DELAY)
        if duplicate_id is not None:
            plan.require(Native.DUPLICATE_DETECTION)

    def _send_and_wait(self, envelope: Envelope, message: Any) -> None:
        deadline = self._clock.monotonic() + self._timeout
        while True:
            channel = self.wait_channel()
            waiter = Waiter()
            channel.send(envelope, waiter)
            if waiter.answered and waiter.error is None:
                return
            try:
                waiter.wait_answer(self._timeout, "a send")
                return
            except BackendError as error:
                again = isinstance(error, LinkLost) and (self._options.resend or not error.in_doubt)
                if not again or self._clock.monotonic() >= deadline:
                    raise translate(error, (message,)) from error
                self._wait_replaced(channel, error, deadline)

    def _wait_replaced(self, channel: Channel, error: BackendError, deadline: float) -> None:
        with self._up:
            self._up.wait_for(
                lambda: self._channel is not channel or self._down is not None,
                max(0.0, deadline - self._clock.monotonic()),
            )
            if self._channel is channel:
                raise translate(error) from error

    def _send_async(
        self, sender: Sender, envelope: Envelope, message: Message, listener: Completion, foreign: Any
    ) -> None:
        channel = self.wait_channel()
        size = _weigh(envelope) if self._weighed else 0
        entry = _AsyncSend(self.ledger, size, message, listener, foreign, sender._unchecked)
        try:
            self.ledger.enter(entry, self._timeout)
        except AnswerMissing as error:
            raise translate(error) from error
        message._gate = entry
        sender._last_async = entry.number
        try:
            if self._transacted and self.transaction is not None:
                self.transaction.send(envelope, entry)
            else:
                channel.send(envelope, entry)
        except BaseException:
            message._gate = None
            self.ledger.withdraw(entry)
            raise

    def _send_in_transaction(self, envelope: Envelope) -> None:
        self.wait_channel()
        transaction = self.transaction
        assert transaction is not None
        transaction.send(envelope, _TransactedSend(self))

    def _send_acknowledged(self, envelope: Envelope, message: Any) -> None:
        channel = self.wait_channel()
        blocking = self._block_durable if envelope.persistent else self._block_non_durable
        waiter = Waiter() if blocking else None
        entry = _Acknowledged(self, _weigh(envelope) if self._weighed else 0, message, waiter)
        try:
            self.ledger.enter(entry, self._timeout)
            channel.send(envelope, entry)
            if waiter is not None:
                waiter.wait_answer(self._timeout, "a send")
        except BackendError as error:
            raise translate(error, (message,)) from error

    def _send_unwatched(self, envelope: Envelope, message: Any) -> None:
        channel = self.wait_channel()
        ticket = _Unwatched(self, message)
        with self._answered:
            self._unwatched[ticket] = None
        channel.send(envelope, ticket)

    def watch_no_more(self, ticket: _Unwatched) -> bool:
        """A send that nobody waits for has its answer; false when it had one before."""
        with self._answered:
            known = ticket in self._unwatched
            if known:
                del self._unwatched[ticket]
                if not self._unwatched:
                    self._answered.notify_all()
            return known

    def report(self, message: Any, error: BackendError) -> None:
        """A send that nobody waits for has failed: keep it, and tell the connection's exception listener."""
        lost, unknown = ((), (message,)) if error.in_doubt else ((message,), ())
        failure = InDoubtException(f"a send that was not waited for failed: {error}", refused=lost, unknown=unknown)
        failure.__cause__ = error
        self.failed.append(failure)
        self._on_failure(failure)

    # ---- ends

    def abandon(self, error: JMSException) -> None:
        """In a forked child: locks may be held by threads that do not exist here."""
        self._up = threading.Condition(ranked(Rank.CONSUMER))
        self._answered = threading.Condition(ranked(Rank.LEAF))
        self._channel, self._down = None, error

    def finish(self, number: int | None = None) -> None:
        """Wait for asynchronous sends up to ``number`` (all) and their callbacks; stragglers fail (rule CL-8)."""
        ledger, timeout = self.ledger, self._options.close_timeout
        if number is not None:
            ledger.wait_finished(number, timeout, _give_up)
            return
        self._wait_unwatched(timeout)
        deadline = self._clock.monotonic() + timeout
        while not ledger.is_idle:  # a callback may have sent again
            ledger.wait_finished(ledger.last, max(0.0, deadline - self._clock.monotonic()), _give_up)

    def _wait_unwatched(self, timeout: float) -> None:
        with self._answered:
            self._answered.wait_for(lambda: not self._unwatched, timeout)
            late = list(self._unwatched)
        for ticket in late:
            ticket.fail(_give_up())


class _TransactedSend:
    """The ticket of a plain send inside a transaction: a refusal dooms the transaction."""

    __slots__ = ("_owner",)

    def __init__(self, owner: Outgoing) -> None:
        self._owner = owner

    def succeed(self) -> None:
        """Part of the transaction."""

    def fail(self, error: BackendError) -> None:
        self._owner.transaction_failure = error


def _give_up() -> BackendError:
    return AnswerMissing("no answer to an asynchronous send before close, commit or rollback", in_doubt=True)


def _weigh(envelope: Envelope) -> int:
    body = envelope.body
    return len(body) if isinstance(body, str | bytes) else 64 * (1 + len(body) if body else 1)


def _write_headers(message: Message, foreign: Any) -> None:
    # another provider's message gets its headers through its own setters (rule BO-8)
    foreign.jms_destination = message._destination
    foreign.jms_delivery_mode = message._delivery_mode
    foreign.jms_message_id = message._message_id
    foreign.jms_timestamp = message._timestamp
    foreign.jms_priority = message._priority
    foreign.jms_expiration = message._expiration
    foreign.jms_delivery_time = message._delivery_time
