"""A session's way out: stamp, freeze, and hand to the backend under the guarantee asked for."""

import copy
import logging
import threading
from collections import deque
from collections.abc import Callable
from functools import partial
from typing import Any

from jmsbridge.config import Options
from jmsbridge.core.clock import Clock
from jmsbridge.core.group import Group
from jmsbridge.core.ledger import Entry, Ledger, step
from jmsbridge.core.locks import Rank, ranked
from jmsbridge.core.naming import message_ids
from jmsbridge.core.plan import Plan
from jmsbridge.core.sends import (
    AcknowledgedSend,
    AsyncSend,
    Completion,
    Fate,
    Sender,
    TransactedSend,
    UnwatchedSend,
    Watched,
    write_headers,
)
from jmsbridge.core.throttle import Throttle
from jmsbridge.core.ticket import AnswerMissing, Waiter
from jmsbridge.core.transaction import Transaction
from jmsbridge.core.translate import translate
from jmsbridge.destinations import Destination
from jmsbridge.emulate.delaying import Delays
from jmsbridge.errors import InDoubtException, JMSException, ResourceAllocationException
from jmsbridge.message import Message, message_from_arrival
from jmsbridge.spi import BackendError, BodyKind, Channel, Envelope, LinkLost, Native, SendRefused, Ticket

__all__ = ["Outgoing"]

log = logging.getLogger("jmsbridge.send")

_NON_PERSISTENT = 1
_PERSISTENT = 2
_GROUPACK = 3

_KEPT_FAILURES = 1000

_NEEDED_TO_SEND = Native.SEND_CONFIRM | Native.DELAY | Native.TYPED_PROPERTIES | Native.BODY_KINDS


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
        throttle: Throttle,
        on_failure: Callable[[JMSException], None],
    ) -> None:
        self.ledger = Ledger(f"jmsbridge-{name}-complete", options.send_window, options.confirmation_window_size)
        self.handler: Callable[[Any], None] | None = None
        self.group_ack_threshold = 1
        self._groups: list[Group] = []
        self.failed: deque[JMSException] = deque(maxlen=max(_KEPT_FAILURES, options.send_window))
        self._transaction: Transaction | None = None
        self.fate = Fate()
        self._transacted = False
        self._clock = clock
        self._now_ms = clock.now_ms
        self._options = options
        self._window = options.send_window
        self._low_water = self._window - step(self._window)
        self._throttle = throttle
        self._next_id = message_ids()
        self._on_failure = on_failure
        self._plan: Plan | None = None
        self._lacks = False  # something that any send may need
        self._up_lock = ranked(Rank.CONSUMER)
        self._up = threading.Condition(self._up_lock)  # guards _channel and _down
        self._answered_lock = ranked(Rank.LEAF)
        self._answered = threading.Condition(self._answered_lock)  # guards _watched
        self._watched: dict[Watched, None] = {}
        self._channel: Channel | None = None
        self._down: JMSException | None = None
        self._delays = Delays(name, clock, options.emulation_limit, self._send_due)
        self._after_commit: list[tuple[Envelope, Any]] = []  # delayed sends of the transaction
        self._weighed = options.confirmation_window_size is not None
        self._block_durable = options.block_on_durable_send
        self._block_non_durable = options.block_on_non_durable_send
        self._timeout = options.send_timeout

    # ---- links

    def attach(self, channel: Channel, plan: Plan, transaction: Transaction | None) -> None:
        """Send over this channel from now on."""
        with self._up_lock:
            old = self._transaction
            self._plan = plan
            self._lacks = bool(_NEEDED_TO_SEND & ~plan.native)
            self._transaction = transaction
            self._transacted = transaction is not None
            self._channel = channel  # last: who finds it finds the transaction of its link
            fate = self.fate  # only now: what a sender still adds to the old one is seen here or noticed by the sender
            if old is not None and old.is_busy:
                fate.error = _lost_transaction()
            self._up.notify_all()

    def suspend(self) -> None:
        """The link died: sends wait from now on. Called under a backend's lock, so without one of ours."""
        self._channel = None

    def interrupted(self) -> None:
        """The link died: sends wait; a transaction that held sends is lost."""
        with self._up_lock:
            fate = self.fate  # read first: a rollback empties the transaction, then begins a new one
            self._channel = None
            if self._transaction is not None and self._transaction.is_busy:
                fate.error = _lost_transaction()

    def shut(self, error: JMSException) -> None:
        """There will be no link any more; senders fail with ``error``."""
        with self._up_lock:
            self._channel = None
            self._down = error
            self._up.notify_all()

    def wait_channel(self) -> Channel:
        """The channel, waiting for a reconnect as long as ``send_timeout`` allows."""
        channel = self._channel
        if channel is not None:
            return channel
        with self._up_lock:
            self._up.wait_for(lambda: self._channel is not None or self._down is not None, self._timeout)
            if self._channel is not None:
                return self._channel
            if self._down is not None:
                raise copy.copy(self._down) from self._down.__cause__  # each caller its own traceback
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
    ) -> None:
        """Send one message; times in milliseconds. Returns when the guarantee asked for is reached (section 7.3)."""
        if message._gate is not None:
            message._refuse()
        if self._throttle.is_active:
            self._throttle.wait_open(self._timeout)
        envelope = self._stamp(sender, destination, message, mode, priority, ttl, delay, duplicate_id)
        held = (self._lacks or duplicate_id is not None) and self._require(
            envelope, delay, confirmed=listener is not None or mode != _NON_PERSISTENT
        )
        if foreign is not None:
            write_headers(message, foreign)
        if listener is not None:
            self._send_async(sender, envelope, message, listener, foreign, held=held)
        elif held:
            self._hold(envelope, message if foreign is None else foreign)
        elif self._transacted:
            self._send_in_transaction(envelope)
        elif mode == _GROUPACK:
            self._send_in_group(sender, envelope, message if foreign is None else foreign)
        elif self.handler is not None:
            self._send_acknowledged(envelope, message if foreign is None else foreign)
        elif self._block_non_durable if mode == _NON_PERSISTENT else self._block_durable:
            self._send_and_wait(envelope, message)
        else:
            self._wait_room()
            channel = self.wait_channel()
            channel.send(envelope, self._watch(UnwatchedSend(self, message if foreign is None else foreign)))

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

    def _require(self, envelope: Envelope, delay: int, *, confirmed: bool) -> bool:
        # only on brokers that lack something a send may need; whether the delivery delay is ours to keep
        plan = self._plan
        if plan is None:
            return False
        held = bool(delay) and plan.require(Native.DELAY) == "emulated"
        if confirmed or self._block_non_durable or self.handler is not None:
            plan.require(Native.SEND_CONFIRM)
        if envelope.duplicate_id is not None:
            plan.require(Native.DUPLICATE_DETECTION)
        if envelope.properties:
            plan.require(Native.TYPED_PROPERTIES)
        if envelope.kind not in (BodyKind.TEXT, BodyKind.BYTES):
            plan.require(Native.BODY_KINDS)
        return held

    def _hold(self, envelope: Envelope, target: Any, entry: AsyncSend | None = None) -> None:
        self._delays.check_room(len(self._after_commit))
        if self._transacted:
            self._after_commit.append((envelope, target))
            if entry is not None:
                entry.succeed()
        else:
            self._delays.hold(envelope, partial(self._watched_send, target) if entry is None else lambda: entry)

    def _send_due(self, envelope: Envelope, ticket: Ticket) -> None:
        self._throttle.wait_open(self._timeout)
        try:
            channel = self.wait_channel()
        except JMSException as error:
            if self._down is None:
                raise
            ticket.fail(SendRefused(f"the delayed message was never sent: {error}"))
            return
        channel.send(envelope, ticket)

    def transaction(self) -> tuple[Transaction | None, BackendError | None]:
        """The transaction, and why it cannot be committed any more: both of one moment."""
        with self._up_lock:
            return self._transaction, self.fate.error

    def end_transaction(self, *, committed: bool) -> None:
        """The next transaction has its own fate; delayed sends of this one begin to wait, or never were."""
        self.fate = Fate()
        held, self._after_commit = self._after_commit, []
        for envelope, target in held if committed else ():
            self._delays.hold(envelope, partial(self._watched_send, target))

    def _watched_send(self, target: Any) -> Ticket:
        return self._watch(UnwatchedSend(self, target))

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
            except AnswerMissing as error:
                raise translate(self._unanswered(envelope, error), (message,)) from error
            except BackendError as error:
                again = isinstance(error, LinkLost) and (self._options.resend or not error.in_doubt)
                if not again or self._clock.monotonic() >= deadline:
                    raise translate(error, (message,)) from error
                self._wait_replaced(channel, error, deadline)

    def _unanswered(self, envelope: Envelope, error: AnswerMissing) -> AnswerMissing:
        broker = self._plan.broker if self._plan is not None else "the broker"
        alarm = "; it asks senders to pause, because an alarm of its memory or disk is on"
        why = alarm if self._throttle.is_active else ""
        return AnswerMissing(f"{envelope.address}: {broker} gave {error}{why}", in_doubt=True)

    def _wait_replaced(self, channel: Channel, error: BackendError, deadline: float) -> None:
        with self._up_lock:
            self._up.wait_for(
                lambda: self._channel is not channel or self._down is not None,
                max(0.0, deadline - self._clock.monotonic()),
            )
            if self._channel is channel:
                raise translate(error) from error

    def _send_async(
        self,
        sender: Sender,
        envelope: Envelope,
        message: Message,
        listener: Completion,
        foreign: Any,
        *,
        held: bool,
    ) -> None:
        self.wait_channel()
        size = _weigh(envelope) if self._weighed else 0
        entry = AsyncSend(self.ledger, size, message, listener, foreign, sender._unchecked)
        try:
            channel = self._enter(entry)
            message._gate = entry
            sender._last_async = entry.number
            if held:
                self._hold(envelope, message, entry)
            elif self._transacted:
                self._add(envelope, entry)
            else:
                channel.send(envelope, entry)
        except BaseException:
            message._gate = None
            self.ledger.withdraw(entry)
            raise

    def _send_in_transaction(self, envelope: Envelope) -> None:
        self._wait_room()
        self.wait_channel()
        self._add(envelope, self._watch(TransactedSend(self)))

    def _add(self, envelope: Envelope, ticket: Ticket) -> None:
        transaction, fate = self._transaction, self.fate
        assert transaction is not None
        transaction.send(envelope, ticket)
        if self._transaction is not transaction:  # its link died meanwhile
            fate.error = _lost_transaction()

    def _send_in_group(self, sender: Sender, envelope: Envelope, message: Any) -> None:
        group = sender._group
        if group is None:
            group = sender._group = Group(self._timeout)
            self._groups.append(group)
        channel = self.wait_channel()
        ticket: Ticket
        ticket = member = group.enter(envelope, self.group_ack_threshold)
        if self.handler is not None:
            ticket = entry = AcknowledgedSend(self, _weigh(envelope) if self._weighed else 0, message, member)
            channel = self._enter(entry)
        try:
            channel.send(envelope, ticket)
        except BaseException:  # Ctrl-C, say
            ticket.fail(AnswerMissing("the send was interrupted; its outcome is unknown", in_doubt=True))
            raise
        if group.is_full:
            group.wait_confirmed()

    def _enter(self, entry: Entry) -> Channel:
        try:
            self.ledger.enter(entry, self._timeout)
            return self.wait_channel()  # only now: the link may have changed while the window was full
        except BaseException as error:
            self.ledger.withdraw(entry)  # it was not sent: nobody is called back, no group waits for it
            if isinstance(error, AnswerMissing):
                raise translate(error) from error
            raise

    def _send_acknowledged(self, envelope: Envelope, message: Any) -> None:
        self.wait_channel()
        blocking = self._block_durable if envelope.persistent else self._block_non_durable
        waiter = Waiter() if blocking else None
        entry = AcknowledgedSend(self, _weigh(envelope) if self._weighed else 0, message, waiter)
        try:
            self._enter(entry).send(envelope, entry)
            if waiter is not None:
                waiter.wait_answer(self._timeout, "a send")
        except BackendError as error:
            raise translate(error, (message,)) from error

    def check_committable(self) -> None:
        """Before a commit that has something to send: the broker must take it; otherwise nothing has happened."""
        if self._transaction is not None and self._transaction.is_busy:
            self._throttle.wait_open(self._timeout)

    def _wait_room(self) -> None:
        # no buffer without a bound: what nobody waits for is limited by the window as well
        if len(self._watched) < self._window:
            return
        with self._answered_lock:
            if self._answered.wait_for(lambda: len(self._watched) <= self._low_water, self._timeout):
                return
        raise ResourceAllocationException(
            f"the message was not sent: {self._window} earlier ones (option send_window) have had no answer from the "
            f"broker for {self._timeout:g} s (option send_timeout)"
        )

    def _watch(self, ticket: Watched) -> Ticket:
        with self._answered_lock:
            self._watched[ticket] = None
        return ticket

    def watch_no_more(self, ticket: Watched) -> bool:
        """A send that nobody waits for has its answer; false when it had one before."""
        with self._answered_lock:
            known = ticket in self._watched
            if known:
                del self._watched[ticket]
                if not self._watched or len(self._watched) == self._low_water:
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

    def is_awaited_here(self) -> bool:
        """In a completion listener of this session: whether somebody waits for that very callback to return."""
        return self.ledger.lane.is_current() and self.ledger.is_awaited

    def abandon(self, error: JMSException) -> None:
        """In a forked child: locks may be held by threads that do not exist here."""
        self._up_lock = ranked(Rank.CONSUMER)
        self._up = threading.Condition(self._up_lock)
        self._answered_lock = ranked(Rank.LEAF)
        self._answered = threading.Condition(self._answered_lock)
        self._channel, self._down = None, error

    def finish(self, number: int | None = None) -> None:
        """Wait for asynchronous sends up to ``number`` (all) and their callbacks; stragglers fail (rule CL-8)."""
        if number is None:
            self._wait_watched(self._options.close_timeout)
            number = self.ledger.last
        self.ledger.wait_finished(number, self._options.close_timeout, _give_up)

    def close(self) -> None:
        """Finish everything, what callbacks send meanwhile included, and take no more sends.

        After ``close_timeout`` callbacks may send no more, so that the chain ends.
        """
        deadline = self._clock.monotonic() + self._options.close_timeout
        lost = self._delays.close(self._options.close_timeout)
        self.finish()
        while not self.ledger.close(when_idle=self._clock.monotonic() < deadline):
            self.ledger.wait_finished(self.ledger.last, max(0.0, deadline - self._clock.monotonic()), _give_up)
        if lost:
            raise InDoubtException(
                f"{len(lost)} delayed messages were never sent, since the session was closed before they were due",
                refused=[message_from_arrival(envelope, False, 0, None) for envelope in lost],
            )

    def wait_groups(self) -> None:
        """Wait for the confirmation of group-acknowledged sends; InDoubt for the first producer that had failures."""
        groups, self._groups = self._groups, []
        problems = []
        for group in groups:
            try:
                group.wait_confirmed()
            except JMSException as error:
                problems.append(error)
        if problems:
            raise problems[0]

    def _wait_watched(self, timeout: float) -> None:
        with self._answered_lock:
            self._answered.wait_for(lambda: not self._watched, timeout)
            late = list(self._watched)
        for ticket in late:
            ticket.fail(_give_up())


def _lost_transaction() -> BackendError:
    return LinkLost("the connection was lost during the transaction")


def _give_up() -> BackendError:
    return AnswerMissing("no answer to an asynchronous send before close, commit or rollback", in_doubt=True)


def _weigh(envelope: Envelope) -> int:
    body = envelope.body
    return len(body) if isinstance(body, str | bytes) else 64 * (1 + len(body) if body else 1)
