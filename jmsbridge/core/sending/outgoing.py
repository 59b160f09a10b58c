"""Sending in a session: set the headers, build the envelope, pass it to the backend, wait as the guarantee requires."""

from collections import deque
from collections.abc import Callable, Sequence
from threading import get_ident
from typing import Any

from jmsbridge.config import Options
from jmsbridge.config.features import SEND_GROUPS
from jmsbridge.core.emulation.delaying import Delays
from jmsbridge.core.naming import message_ids
from jmsbridge.core.plan import Plan
from jmsbridge.core.runtime.clock import Clock
from jmsbridge.core.runtime.executor import NewExecutor
from jmsbridge.core.runtime.interrupts import main_thread
from jmsbridge.core.runtime.waiting import AnswerMissing, Waiter, cancel
from jmsbridge.core.sending.current_channel import CurrentChannel
from jmsbridge.core.sending.giving_up import give_up, missing
from jmsbridge.core.sending.group import Group, Member
from jmsbridge.core.sending.grouped import GroupedSends
from jmsbridge.core.sending.ledger import Entry, Ledger
from jmsbridge.core.sending.pending import PendingSends
from jmsbridge.core.sending.throttle import Throttle
from jmsbridge.core.sending.tickets import (
    AcknowledgedSend,
    AsyncSend,
    Awaited,
    AwaitedSend,
    Completion,
    DelayedSend,
    NotNow,
    PlainSend,
    Sender,
)
from jmsbridge.core.sending.weight import weigh
from jmsbridge.core.transaction import SessionTransactions
from jmsbridge.core.translate import translate
from jmsbridge.destinations import Destination
from jmsbridge.errors import InDoubtException, JMSException
from jmsbridge.message import Message, message_from_arrival, write_headers
from jmsbridge.spi import BackendError, BodyKind, Channel, Envelope, Link, LinkLost, Native, SendRefused, Ticket

__all__ = ["Outgoing"]

_NON_PERSISTENT = 1
_PERSISTENT = 2
_GROUPACK = 3

_KEPT_FAILURES = 1000
_GROUP_ID = "JMSXGroupID"

_USUAL = Native.SEND_CONFIRM | Native.TYPED_PROPERTIES | Native.BODY_KINDS


class Outgoing:
    """The sending side of one session; ``transactions`` is None unless it is transacted.

    ``on_failure`` gets the failures of sends that no call waits for.
    """

    def __init__(
        self,
        name: str,
        clock: Clock,
        options: Options,
        throttle: Throttle,
        transactions: SessionTransactions | None,
        on_failure: Callable[[JMSException], None],
        wait_link: Callable[[], Link],
        new_executor: NewExecutor,
    ) -> None:
        window = (options.send_window, options.confirmation_window_size)
        self.ledger = Ledger(f"jmsbridge-{name}-complete", *window, self._give_up, new_executor)
        self.handler: Callable[[Any], None] | None = None
        self.group_ack_threshold = 1
        self.failed: deque[JMSException] = deque(maxlen=max(_KEPT_FAILURES, options.send_window))
        self._groups: dict[Group, None] = {}
        self._pending = PendingSends(*window, options.send_timeout, self.report, self._give_up)
        self._transactions = transactions
        self._clock, self._now_ms = clock, clock.now_ms
        self._options, self.throttle, self._on_failure = options, throttle, on_failure
        self._next_id = message_ids()
        self._plan: Plan | None = None
        self._lacks = False  # whether the broker lacks a feature that any send may need
        self.channel = CurrentChannel(options.send_timeout)
        self._wait_channel = self.channel.wait_open
        self._collector: SessionTransactions | GroupedSends | None = transactions  # takes sends in the channel's place
        self._grouped: GroupedSends | None = None  # only with the option, and not in transactions
        if options.send_confirmation == "group" and transactions is None:
            self._grouped = GroupedSends(name, clock, options.send_timeout, throttle, self.channel, wait_link)
        self._delays = Delays(name, clock, options.emulation_limit, self._send_due)
        self._after_commit: list[tuple[Envelope, Any]] = []  # delayed sends of the transaction
        self._weighed = options.confirmation_window_size is not None
        self._block_durable = options.block_on_durable_send
        self._block_non_durable = options.block_on_non_durable_send
        self._timeout = options.send_timeout
        self._main = main_thread()
        # the ticket that the main thread is passing to the backend; an interrupted call leaves it here
        self._handing: AsyncSend | AcknowledgedSend | Member | PlainSend | None = None

    @property
    def unconfirmed(self) -> int:
        """How many sends that no call waits for have no outcome yet."""
        return self.ledger.unfinished + len(self._pending)

    # ---- links

    def attach(self, channel: Channel, plan: Plan) -> None:
        """Send over this channel from now on."""
        self._plan = plan
        self._lacks = bool(_USUAL & ~plan.native)
        if self._transactions is None:
            self._collector = self._grouped if plan.outcome(SEND_GROUPS) == "native" else None
        self.channel.attach(channel)

    # ---- sending

    def stamp(
        self,
        sender: Sender,
        destination: Destination,
        message: Message,
        mode: int,
        priority: int,
        ttl: int,
        delay: int,
        duplicate_id: str | None,
        *,
        is_async: bool,
    ) -> Envelope:
        """Wait until senders may send, set the headers of the message and return its envelope. Times in milliseconds.

        An asynchronous send from a callback does not wait, because it would delay the callbacks behind it.
        """
        if message._gate is not None:
            message._refuse()
        if self.throttle.is_active and not (is_async and self.ledger.executor.is_current()):
            self.throttle.wait_open(self._timeout)
        now = self._now_ms()
        due = now + delay
        timestamp = 0 if sender._no_timestamp else now
        message._message_id = None if sender._no_id else self._next_id()
        expiration = now + ttl if ttl else 0
        envelope = message._freeze(
            destination._address,
            message._message_id,
            timestamp,
            mode != _NON_PERSISTENT,
            priority,
            expiration,
            0 if delay == 0 and timestamp else due,
            duplicate_id,
        )
        message._timestamp = timestamp
        message._destination = destination
        message._delivery_mode = _NON_PERSISTENT if mode == _NON_PERSISTENT else _PERSISTENT
        message._priority = priority
        message._expiration = expiration
        message._delivery_time = due
        return envelope

    def send(
        self,
        sender: Sender,
        envelope: Envelope,
        message: Message,
        foreign: Any,
        mode: int,
        listener: Completion | None,
    ) -> None:
        """Send the envelope that ``stamp`` returned. Returns when the requested guarantee is reached (section 7.3).

        ``foreign`` is another provider's message of which ``message`` is a copy.
        """
        held = False
        properties = envelope.properties
        is_rare = envelope.delivery_time or envelope.duplicate_id is not None
        if self._lacks or is_rare or (properties and _GROUP_ID in properties):
            held = self._require(envelope, confirmed=listener is not None or mode != _NON_PERSISTENT)
        if foreign is not None:
            write_headers(message, foreign)
        if listener is not None:
            send = self._send_awaited if isinstance(listener, Awaited) else self._send_async
            send(sender, envelope, message, listener, foreign, held=held)
            return
        target = message if foreign is None else foreign
        if held:
            self._hold(envelope, target)
        elif self._transactions is not None:
            self._send_unawaited(envelope, target)
        elif mode == _GROUPACK:
            self._send_in_group(sender, envelope, target)
        elif self._block_non_durable if mode == _NON_PERSISTENT else self._block_durable:
            self._send_and_wait(envelope, target)
        elif self.handler is not None:
            self._hand_over(envelope, self._acknowledged(envelope, target, None))
        else:
            self._send_unawaited(envelope, target)

    def _require(self, envelope: Envelope, *, confirmed: bool) -> bool:
        # called only if the broker may lack a feature that this send needs; returns whether the client must delay it
        plan = self._plan
        if plan is None:
            return False
        is_delayed = bool(envelope.delivery_time) and envelope.delivery_time > max(envelope.timestamp, self._now_ms())
        held = is_delayed and plan.require(Native.DELAY) == "emulated"
        if confirmed or self._block_non_durable or self.handler is not None:
            plan.require(Native.SEND_CONFIRM)
        if envelope.duplicate_id is not None:
            plan.require(Native.DUPLICATE_DETECTION)
        if envelope.properties:
            plan.require(Native.TYPED_PROPERTIES)
            if _GROUP_ID in envelope.properties:
                plan.require(Native.GROUPS)
        if envelope.kind not in (BodyKind.TEXT, BodyKind.BYTES):
            plan.require(Native.BODY_KINDS)
        return held

    # ---- one method for each kind of send

    def _send_and_wait(self, envelope: Envelope, message: Any) -> None:
        if self._grouped is not None:
            self._grouped.wait_flushed()
        deadline = self._clock.monotonic() + self._timeout
        while True:
            ticket: Ticket = (waiter := Waiter())
            channel = self._wait_channel()
            if self.handler is not None:
                acknowledged = self._acknowledged(envelope, message, waiter)
                self._hand_over(envelope, ticket := acknowledged, waits=True)
            else:
                channel.send(envelope, waiter)
            if waiter.answered and waiter.error is None:
                return
            try:
                waiter.wait_answer(self._timeout, "a send")
                return
            except AnswerMissing as error:
                cancel(channel, (ticket,))
                if waiter.answered and waiter.error is None:
                    return
                alarm, last = self.throttle.is_active, waiter.error or error
                raise translate(missing(envelope, self._timeout, self._plan, last, alarm=alarm), (message,)) from error
            except BackendError as error:
                again = isinstance(error, LinkLost) and (self._options.resend or not error.in_doubt)
                if not again or self._clock.monotonic() >= deadline:
                    raise translate(error, (message,)) from error
                wait = self.channel.wait_next if error.in_doubt else self.channel.wait_left
                if not wait(channel, max(0.0, deadline - self._clock.monotonic())):
                    raise translate(error, (message,)) from error

    def _acknowledged(self, envelope: Envelope, message: Any, waiter: Ticket | None) -> AcknowledgedSend:
        size = weigh(envelope) if self._weighed else 0
        return AcknowledgedSend(self.ledger, size, message, waiter, self._call_handler, self.report)

    def _call_handler(self, message: Any) -> None:
        handler = self.handler
        if handler is not None:
            handler(message)

    def _send_unawaited(self, envelope: Envelope, message: Any) -> None:
        transactions = self._transactions
        transaction = None if transactions is None else transactions.current
        pending = self._pending
        ticket = PlainSend(pending, weigh(envelope) if self._weighed else 0, message, transaction)
        pending.wait_room(ticket.size)
        channel = self._wait_channel()
        main = get_ident() == self._main
        if main:
            self._handing = ticket
        pending.add(ticket)
        (self._collector or channel).send(envelope, ticket)
        if main:
            self._handing = None

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
        self._wait_channel()
        size = weigh(envelope) if self._weighed else 0
        entry = AsyncSend(self.ledger, size, message, listener, foreign, sender._unchecked)
        if self._transactions is not None:
            entry.transaction = self._transactions.current
        main = get_ident() == self._main
        if main:
            self._handing = entry
        try:
            channel = self._enter(entry)
            message._gate = entry
            sender._last_async = entry.number
            if held:
                self._hold(envelope, message, entry)
            else:
                (self._collector or channel).send(envelope, entry)
        except JMSException:
            entry.cancel()
            raise
        if main:
            self._handing = None

    def _send_awaited(
        self,
        sender: Sender,
        envelope: Envelope,
        message: Message,
        listener: Any,
        foreign: Any,
        *,
        held: bool,
    ) -> None:
        size = weigh(envelope) if self._weighed else 0
        channel = self.channel.now
        if channel is None or self.ledger.is_full(size):
            self.channel.check_up()
            raise NotNow
        if held:  # it goes out when it is due: nothing is there to await
            self._hold(envelope, message if foreign is None else foreign)
            listener.on_completion(message)
            return
        entry = AwaitedSend(self.ledger, size, message, listener, foreign, sender._unchecked, envelope)
        if self._transactions is not None:
            entry.transaction = self._transactions.current
        main = get_ident() == self._main
        if main:
            self._handing = entry
        listener.on_entered(entry)
        try:
            self.ledger.enter(entry, 0)
            sender._last_async = entry.number
            (self._collector or channel).send(envelope, entry)
        except JMSException:
            entry.cancel()
            raise
        if main:
            self._handing = None

    def _hand_over(self, envelope: Envelope, entry: AcknowledgedSend, *, waits: bool = False) -> None:
        self._wait_channel()
        main = get_ident() == self._main
        if main:
            self._handing = entry
        try:
            channel = self._enter(entry)
            (channel if waits else self._collector or channel).send(envelope, entry)
        except JMSException:
            entry.cancel()
            raise
        if main:
            self._handing = None

    def _enter(self, entry: Entry) -> Channel:
        self.ledger.enter(entry, self._timeout)
        return self._wait_channel()  # after ``enter``: the link may have changed while the window was full

    def _send_in_group(self, sender: Sender, envelope: Envelope, message: Any) -> None:
        group = sender._group
        if group is None:
            group = sender._group = Group(self._timeout, self._cancel)
        self._groups[group] = None
        channel = self._wait_channel()
        member = Member(group, envelope)
        main = get_ident() == self._main
        if main:
            self._handing = member
        group.enter(member, self.group_ack_threshold)
        if self.handler is not None:
            member.sent_with = acknowledged = self._acknowledged(envelope, message, member)
            self._hand_over(envelope, acknowledged)
        else:
            (self._collector or channel).send(envelope, member)
        if main:
            self._handing = None
        if group.is_full:
            group.wait_confirmed()

    def forget_group(self, group: Group) -> None:
        """Its producer was closed, and has waited for its confirmations."""
        self._groups.pop(group, None)

    # ---- delayed by the client

    def _hold(self, envelope: Envelope, target: Any, entry: AsyncSend | None = None) -> None:
        self._delays.check_room(len(self._after_commit))
        if self._transactions is not None:
            self._after_commit.append((envelope, target))
            if entry is not None:
                entry.succeed()
        else:
            self._delays.hold(envelope, DelayedSend(target, self.report) if entry is None else entry)

    def _send_due(self, envelope: Envelope, ticket: Ticket) -> None:
        self.throttle.wait_open(self._timeout)
        try:
            channel = self._wait_channel()
        except JMSException as error:
            if self.channel.down is None:
                raise
            ticket.fail(SendRefused(f"the delayed message was never sent: {error}"))
            return
        if self._delays.begin(ticket):
            channel.send(envelope, ticket)

    def end_transaction(self, *, committed: bool) -> None:
        """The transaction has ended: start the delay of its delayed sends, or drop them after a rollback."""
        held, self._after_commit = self._after_commit, []
        for envelope, target in held if committed else ():
            self._delays.hold(envelope, DelayedSend(target, self.report))

    # ---- failures

    def _give_up(self, tickets: Sequence[Ticket]) -> None:
        give_up(self.channel.now, self._cancel_here(self._delays.cancel(tickets)))

    def _cancel(self, tickets: Sequence[Ticket]) -> None:
        cancel(self.channel.now, self._cancel_here(tickets))

    def _cancel_here(self, tickets: Sequence[Ticket]) -> Sequence[Ticket]:
        """Cancel those that wait for their group; returns the others."""
        return tickets if self._grouped is None else self._grouped.cancel(tickets)

    def report(self, message: Any, error: BackendError) -> None:
        """A send that no call waits for has failed: keep it, and tell the connection's exception listener."""
        lost, unknown = ((), (message,)) if error.in_doubt else ((message,), ())
        failure = InDoubtException(f"a send that was not waited for failed: {error}", refused=lost, unknown=unknown)
        failure.__cause__ = error
        self.failed.append(failure)
        self._on_failure(failure)

    def finish_interrupted(self) -> None:
        """Give up what an interrupted call was sending."""
        ticket, self._handing = self._handing, None
        if ticket is not None:
            ticket.give_up()
        self._pending.recount()

    # ---- ends

    def check_committable(self) -> None:
        """Before a commit with sends: wait until senders may send, or raise before anything is done."""
        if self._transactions is not None and self._transactions.current.has_sends:
            self.throttle.wait_open(self._timeout)

    def is_awaited_here(self) -> bool:
        """Whether the caller is in a completion listener of this session, and another thread waits for it to return."""
        return self.ledger.executor.is_current() and self.ledger.is_awaited

    def finish(self, timeout: float, number: int | None = None) -> None:
        """Wait for asynchronous sends up to ``number`` (default: all) and their callbacks (rule CL-8).

        Those without an answer after ``timeout`` seconds fail.
        """
        deadline = self._clock.monotonic() + timeout
        if number is None:
            self._pending.wait_all(timeout)
            number = self.ledger.last
        self.ledger.wait_finished(number, max(0.0, deadline - self._clock.monotonic()))

    def close(self, timeout: float) -> None:
        """Finish all sends, also those that callbacks make meanwhile, and accept no more.

        After ``timeout`` seconds callbacks can no longer send, so that this ends.
        """
        deadline = self._clock.monotonic() + timeout

        def left() -> float:
            return max(0.0, deadline - self._clock.monotonic())

        lost, unanswered = self._delays.wait_close(left())
        self._give_up(unanswered)
        self.finish(left())
        while not self.ledger.close(when_idle=left() > 0):
            self.ledger.wait_finished(self.ledger.last, left())
        if self._grouped is not None:
            self._grouped.wait_close(left())
        if lost:
            raise InDoubtException(
                f"{len(lost)} delayed messages were not sent: the session was closed before their delivery time",
                refused=[message_from_arrival(envelope, False, 0, None) for envelope in lost],
            )

    def wait_groups(self, timeout: float) -> None:
        """Wait for the confirmation of group-acknowledged sends; InDoubt for the first producer that had failures."""
        deadline = self._clock.monotonic() + timeout
        groups, self._groups = self._groups, {}
        problems = []
        for group in groups:
            try:
                group.wait_confirmed(max(0.0, deadline - self._clock.monotonic()))
            except JMSException as error:
                problems.append(error)
        if problems:
            raise problems[0]
