"""Delivery delay for brokers that have none: the message waits in this process and is sent at its delivery time."""

import heapq
import itertools
import logging
import math
from collections.abc import Callable, Sequence

from jmsbridge.core.runtime.clock import Clock
from jmsbridge.core.runtime.executor import SerialExecutor
from jmsbridge.core.runtime.locks import Rank, ranked
from jmsbridge.core.runtime.waiting import WaitSet
from jmsbridge.errors import JMSException, ResourceAllocationException
from jmsbridge.spi import BackendError, Envelope, LinkLost, SendCancelled, SendRefused, Ticket

__all__ = ["Delays"]

log = logging.getLogger("jmsbridge.delay")

_AGAIN = 50  # milliseconds until a message that was not sent because the link was lost is sent again


class _Held:
    """One delayed message; later the ticket of its send, which passes the broker's answer on to ``ticket``."""

    __slots__ = ("_delays", "envelope", "ticket")

    def __init__(self, delays: "Delays", envelope: Envelope, ticket: Ticket) -> None:
        self._delays = delays
        self.envelope = envelope
        self.ticket = ticket

    def succeed(self) -> None:
        """The broker has it."""
        if self._delays.take(self):
            self.ticket.succeed()

    def fail(self, error: BackendError) -> None:
        """Try again if the link was lost before the message was sent."""
        again = isinstance(error, LinkLost) and not error.in_doubt
        if not (again and self._delays.keep(self)) and self._delays.take(self):
            self.ticket.fail(error)


class Delays:
    """The delayed messages of one session, at most ``limit``; they are lost with the process.

    ``send`` sends one message, waiting for a link if necessary; it runs on a thread of its own, and calls ``begin``
    just before it passes the message to the backend.
    """

    def __init__(self, name: str, clock: Clock, limit: int, send: Callable[[Envelope, Ticket], None]) -> None:
        self._clock = clock
        self._limit = limit
        self._send = send
        self._executor = SerialExecutor(f"jmsbridge-{name}-delay", self._send_due)
        self._lock = ranked(Rank.LEAF)  # guards the fields below
        self._changed = WaitSet()
        self._numbers = itertools.count()
        self._held: list[tuple[int, int, _Held]] = []  # a heap by due time, then in the order of sending
        self._next: _Held | None = None  # due, but not passed to the backend yet
        self._sent: dict[_Held, None] = {}  # without an answer
        self._armed = math.inf  # when the next timer wakes the executor
        self._closed = False

    def check_room(self, more: int) -> None:
        """ResourceAllocation if too many messages wait; ``more`` is the number of those that will be added later."""
        if len(self._held) + more >= self._limit:
            raise ResourceAllocationException(
                f"{self._limit} delayed messages wait in this session already, since the broker has no delivery delay "
                "(option emulation_limit)"
            )

    def hold(self, envelope: Envelope, ticket: Ticket) -> None:
        """Send it at its delivery time."""
        with self._lock:
            self._push(_Held(self, envelope, ticket), envelope.delivery_time)
        self._arm()

    def keep(self, held: _Held) -> bool:
        """Try again soon; False if the session has closed or the send was given up."""
        with self._lock:
            if self._closed or not self._remove(held):
                return False
            self._push(held, self._clock.now_ms() + _AGAIN)
        self._arm()
        return True

    def _push(self, held: _Held, due: int) -> None:
        heapq.heappush(self._held, (due, next(self._numbers), held))

    def begin(self, held: Ticket) -> bool:
        """The message is about to be passed to the backend; False if it was given up."""
        with self._lock:
            if not isinstance(held, _Held) or self._next is not held:
                return False
            self._next = None
            self._sent[held] = None
            return True

    def take(self, held: _Held) -> bool:
        """The send of this message has its answer; False if it was given up before."""
        with self._lock:
            taken = self._remove(held)
        self._changed.notify()
        return taken

    def _remove(self, held: _Held) -> bool:
        if self._next is held:
            self._next = None
            return True
        if held in self._sent:
            del self._sent[held]
            return True
        return False

    def cancel(self, tickets: Sequence[Ticket]) -> list[Ticket]:
        """Cancel those of the sends that still wait here; return the tickets of the others, which the backend has."""
        with self._lock:
            sent = {held.ticket: held for held in self._sent}
            wanted = set(tickets)
            waiting = [held for _, _, held in sorted(self._held) if held.ticket in wanted]
            if self._next is not None and self._next.ticket in wanted:
                waiting.insert(0, self._next)
                self._next = None
            self._held = [item for item in self._held if item[2].ticket not in wanted]
            heapq.heapify(self._held)
        self._changed.notify()
        for held in waiting:
            held.ticket.fail(SendCancelled(f"{held.envelope.address}: given up before its delivery time; never sent"))
        cancelled = {held.ticket for held in waiting}
        return [sent.get(ticket, ticket) for ticket in tickets if ticket not in cancelled]

    def _arm(self) -> None:
        with self._lock:
            due = self._held[0][0] if self._held else math.inf
        now = self._clock.now_ms()
        if due < math.inf and (due < self._armed or self._armed <= now):
            self._clock.call_later(max(0.0, (due - now) / 1000), self._executor.wake)
            # set last: if this call is interrupted, or the timer fires before this line, the next call sets a timer
            self._armed = due

    def _send_due(self) -> None:
        while True:
            with self._lock:
                is_due = bool(self._held) and self._held[0][0] <= self._clock.now_ms()
                self._next = held = heapq.heappop(self._held)[2] if is_due else None
                self._armed = math.inf  # the timer may have fired a moment early, by another clock
            self._changed.notify()
            self._arm()
            if held is None:
                return
            try:
                self._send(held.envelope, held)
            except JMSException as error:  # no link within ``send_timeout``
                log.warning("a delayed message still waits for the connection: %s", error)
                held.fail(LinkLost(str(error)))

    # ---- the end

    def _is_sending(self, last: int) -> bool:
        with self._lock:
            is_under_way = self._next is not None or bool(self._sent)
            return is_under_way or (bool(self._held) and self._held[0][0] <= last)

    def wait_close(self, timeout: float) -> tuple[list[Envelope], list[Ticket]]:
        """Wait ``timeout`` seconds for messages that become due, and for the broker's answers.

        Fails those not sent by then. Returns them, and the tickets of those that have no answer.
        """
        last = self._clock.now_ms() + int(timeout * 1000)
        self._changed.wait_for(lambda: not self._is_sending(last), timeout)
        with self._lock:
            self._closed = True
            lost = [held for _, _, held in sorted(self._held)]
            if self._next is not None:
                lost.insert(0, self._next)
            self._held, self._next = [], None
            unanswered: list[Ticket] = [held.ticket for held in self._sent]
        self._executor.close()
        for held in lost:
            held.ticket.fail(SendRefused("the session was closed before the delivery time: the message was never sent"))
        return [held.envelope for held in lost], unanswered
