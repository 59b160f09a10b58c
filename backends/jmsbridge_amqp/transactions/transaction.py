"""The transactions of a channel, one after the other. For the I/O thread.

Sends are written at once, with the id of the transaction. Acceptances are kept until ``commit``, because a broker
delivers a message again if its acceptance was rolled back, whereas the facade keeps it. ``commit`` waits for the
outcome of every send before it discharges: a transaction with a refused send is rolled back as a whole.
"""

from collections import deque
from collections.abc import Callable, Collection, Sequence
from typing import Protocol

from jmsbridge.spi import BackendError, ChannelLost, LinkLost, Ticket, TransactionRolledBack
from jmsbridge.transport.network.link_life import DEADLINE
from jmsbridge.transport.network.loop import Timer
from jmsbridge_amqp.connection.driver import Driver
from jmsbridge_amqp.connection.errors import Failure
from jmsbridge_amqp.sending.outgoing import Outgoing
from jmsbridge_amqp.sending.sender import cancelled
from jmsbridge_amqp.sending.senders import Senders
from jmsbridge_amqp.transactions.coordinator import Coordinator

__all__ = ["Acceptance", "Transaction"]

_EACH = 0.01  # seconds more for each message of a transaction: a broker may write each to its disk when it commits


class Acceptance(Protocol):
    """A received message that was accepted in the transaction."""

    @property
    def receiver(self) -> object:
        """The link that it came over."""

    @property
    def is_held(self) -> bool:
        """Whether it can still be accepted."""

    def accept_in(self, txn: bytes) -> None:
        """Tell the broker, in this transaction."""


class _Unit:
    """One transaction."""

    def __init__(self, changed: Callable[[], None]) -> None:
        self.txn: bytes | None = None
        self.open = 0
        """How many sends have no outcome yet."""
        self.failure: BackendError | None = None
        self.held: deque[Outgoing] = deque()
        """Sends that wait for the transaction to be declared."""
        self.accepted: list[Acceptance] = []
        self.sent = 0
        self._changed = changed

    def answered(self, error: BackendError | None) -> None:
        self.open -= 1
        self.failure = self.failure or error
        if not self.open:
            self._changed()


class Transaction:
    """``lose`` is called if the channel must be given up; ``go_on`` when the next transaction may begin.

    While ``is_ending``, everything that the channel is asked to do waits.
    """

    def __init__(
        self,
        driver: Driver,
        coordinator: Coordinator,
        senders: Senders,
        lose: Callable[[BackendError], None],
        go_on: Callable[[], None],
    ) -> None:
        self.is_ending = False
        self._driver = driver
        self._life = driver.life
        self._coordinator = coordinator
        self._senders = senders
        self._lose = lose
        self._go_on = go_on
        self._unit = self._ending = _Unit(self._look)
        self._closed = False
        self._declaring = False
        self._ticket: Ticket | None = None
        self._commits = False
        self._discharging = False
        self._timer: Timer | None = None
        self._left = 0  # how many sends had no outcome when the timer was set
        self._when_ended: list[Callable[[], None]] = []

    # -- work

    def send(self, outgoing: Outgoing) -> None:
        """Send in the transaction."""
        unit = self._unit
        outgoing.unit = unit
        unit.open += 1
        unit.sent += 1
        if unit.txn is None:
            unit.held.append(outgoing)
            self._declare()
        else:
            self._senders.push(outgoing)

    def cancel(self, tickets: Collection[int]) -> None:
        """Cancel the sends whose tickets have these ``id``s and that wait for the transaction to begin."""
        held = self._unit.held
        for outgoing in [each for each in held if each.ticket is not None and id(each.ticket) in tickets]:
            held.remove(outgoing)
            outgoing.cancel(cancelled(outgoing, self._life.broker))

    def accept(self, accepted: Sequence[Acceptance]) -> None:
        """Accept these when the transaction is committed."""
        self._unit.accepted.extend(accepted)

    def holds(self, receiver: object) -> bool:
        """Whether a message that came over this link is accepted, and not yet committed."""
        units = (self._unit, self._ending) if self.is_ending else (self._unit,)
        return any(each.receiver is receiver for unit in units for each in unit.accepted)

    def when_ended(self, task: Callable[[], None]) -> None:
        """Call this after the transaction has been committed or rolled back."""
        self._when_ended.append(task)

    def _tell_ended(self) -> None:
        tasks, self._when_ended = self._when_ended, []
        for task in tasks:
            task()

    def _declare(self) -> None:
        if self._declaring or self._unit.txn is not None:
            return
        self._declaring = True

        def declared(txn: bytes | None, failure: Failure | None) -> None:
            self._declaring = False
            unit = self._unit
            if self._closed:
                return  # what waits is answered by ``end``
            if txn is None:
                self._refuse_held(TransactionRolledBack(f"{self._life.broker} began no transaction ({failure})"))
                return
            unit.txn = txn
            held, unit.held = unit.held, deque()
            for outgoing in held:
                self._senders.push(outgoing)
            self._look()

        self._coordinator.declare(declared)

    def _refuse_held(self, error: BackendError) -> None:
        unit = self._unit
        unit.failure = unit.failure or error
        held, unit.held = unit.held, deque()
        for outgoing in held:
            outgoing.fail(error)
        self._look()

    # -- the end of a transaction

    def commit(self, ticket: Ticket) -> None:
        """Make it effective, and begin the next."""
        self._end_unit(ticket, commits=True)

    def rollback(self, ticket: Ticket) -> None:
        """Forget it, and begin the next."""
        unit = self._unit
        unit.accepted.clear()
        held, unit.held = unit.held, deque()
        unit.open -= len(held)
        for outgoing in held:
            outgoing.written()
        self._senders.drop(unit)
        self._end_unit(ticket, commits=False)

    def _end_unit(self, ticket: Ticket, *, commits: bool) -> None:
        unit = self._unit
        if unit.failure is None and not unit.accepted and (not unit.sent or (unit.txn is None and not unit.open)):
            self._unit.sent = 0
            ticket.succeed()
            self._tell_ended()
            return
        self.is_ending, self._ticket, self._commits = True, ticket, commits
        self._wait_until_late(DEADLINE)
        if unit.txn is None and unit.failure is None:
            self._declare()
        self._look()

    def _look(self) -> None:
        """Discharge once every send has its outcome, or at once to roll back."""
        unit = self._unit
        if self._closed or not self.is_ending or self._discharging or (unit.txn is None and unit.failure is None):
            return
        if self._commits and unit.open and unit.failure is None:
            return
        if unit.txn is None:
            self._ended(None, None)
            return
        if self._commits and unit.failure is None and not all(each.is_held for each in unit.accepted):
            text = f"{self._life.broker} has taken back a message that was consumed in it"
            unit.failure = TransactionRolledBack(text)
        fail = not self._commits or unit.failure is not None
        if fail:
            self._senders.drop(unit)
        else:
            for each in unit.accepted:
                each.accept_in(unit.txn)
        self._discharging = True
        self._wait_until_late(DEADLINE + _EACH * (unit.sent + len(unit.accepted)))
        self._coordinator.discharge(unit.txn, fail=fail, discharged=self._ended)
        self._start_next()

    def _start_next(self) -> None:
        """Declare the next transaction together with this discharge, which saves a round trip."""
        self._ending, self._unit = self._unit, _Unit(self._look)
        self._declare()

    def _ended(self, refusal: Failure | None, lost: BackendError | None) -> None:
        self._cancel_timer()
        if self._discharging:
            unit = self._ending
        else:
            unit, self._unit = self._unit, _Unit(self._look)
        ticket, self._ticket = self._ticket, None
        self._discharging = self.is_ending = False
        self._tell_ended()
        if ticket is None:
            return
        if lost is not None:
            ticket.fail(lost)
            return
        if not self._commits:
            ticket.succeed()
        elif unit.failure is not None:
            ticket.fail(_rolled_back(f"{unit.failure}", unit.failure))
        elif refusal is None:
            ticket.succeed()
        elif unit.accepted:  # the broker delivers again what was accepted, so these messages are no longer ours
            error = ChannelLost(f"{self._life.broker} rolled the transaction back ({refusal})")
            error.__cause__ = refusal
            ticket.fail(error)
            self._lose(error)
            return
        else:
            ticket.fail(_rolled_back(f"{self._life.broker} refused the commit ({refusal})", refusal))
        self._go_on()

    def _wait_until_late(self, seconds: float) -> None:
        self._cancel_timer()
        self._left = self._unit.open
        self._timer = self._life.thread.call_later(seconds, self._too_late)

    def _cancel_timer(self) -> None:
        if self._timer is not None:
            self._life.thread.cancel(self._timer)
            self._timer = None

    def _too_late(self) -> None:
        self._timer = None
        broker = self._life.broker
        if self._discharging:
            text = f"ending a transaction: no answer from {broker} in time"
            self._life.die(LinkLost(text, in_doubt=True))
        elif self._unit.open < self._left:  # slowly, the outcomes come
            self._wait_until_late(DEADLINE)
        else:
            text = f"{broker} gave no credit for the transaction's messages, or no outcome, within {DEADLINE:.3g} s"
            self._wait_until_late(DEADLINE)  # for the answer to the roll-back
            self._refuse_held(TransactionRolledBack(text))

    def stop(self) -> None:
        """The channel is closed or lost: do nothing more, and hold no message."""
        self._closed = True
        self._unit.accepted.clear()
        self._ending.accepted.clear()

    def end(self, early: BackendError) -> None:
        """Answer what waited for the transaction; its sends and its discharge are answered already."""
        held, self._unit.held = self._unit.held, deque()
        for outgoing in held:
            outgoing.fail(early)
        self._cancel_timer()
        ticket, self._ticket = self._ticket, None
        if ticket is not None and not self._discharging:
            ticket.fail(early)


def _rolled_back(text: str, cause: BaseException) -> TransactionRolledBack:
    made = TransactionRolledBack(f"the transaction was rolled back: {text}")
    made.__cause__ = cause
    return made
