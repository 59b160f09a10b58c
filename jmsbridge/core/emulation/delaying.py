"""Delivery delay for brokers that have none: the message waits in this process and is sent at its delivery time."""

import heapq
import itertools
import logging
import math
from collections.abc import Callable

from jmsbridge.core.runtime.clock import Clock
from jmsbridge.core.runtime.executor import SerialExecutor
from jmsbridge.core.runtime.locks import Rank, ranked
from jmsbridge.core.runtime.waiting import WaitSet
from jmsbridge.errors import JMSException, ResourceAllocationException
from jmsbridge.spi import BackendError, Envelope, LinkLost, SendRefused, Ticket

__all__ = ["Delays"]

log = logging.getLogger("jmsbridge.delay")

_AGAIN = 50  # milliseconds until a message that was not sent because the link was lost is sent again


class _Held:
    """One delayed message; later the ticket of its send. ``make`` creates the ticket that gets the broker's answer."""

    __slots__ = ("_delays", "_inner", "_make", "envelope")

    def __init__(self, delays: "Delays", envelope: Envelope, make: Callable[[], Ticket]) -> None:
        self._delays = delays
        self._inner: Ticket | None = None
        self._make = make
        self.envelope = envelope

    def succeed(self) -> None:
        """The broker has it."""
        self._ticket().succeed()

    def fail(self, error: BackendError) -> None:
        """Try again if the link was lost before the message was sent."""
        if not (isinstance(error, LinkLost) and not error.in_doubt and self._delays.keep(self)):
            self._ticket().fail(error)

    def _ticket(self) -> Ticket:
        if self._inner is None:
            self._inner = self._make()
        return self._inner


class Delays:
    """The delayed messages of one session, at most ``limit``; they are lost with the process.

    ``send`` sends one message, waiting for a link if necessary; it runs on a thread of its own.
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
        self._sending = False
        self._armed = math.inf  # when the next timer wakes the executor
        self._closed = False

    def check_room(self, more: int) -> None:
        """ResourceAllocation if too many messages wait; ``more`` is the number of those that will be added later."""
        if len(self._held) + more >= self._limit:
            raise ResourceAllocationException(
                f"{self._limit} delayed messages wait in this session already, since the broker has no delivery delay "
                "(option emulation_limit)"
            )

    def hold(self, envelope: Envelope, make_ticket: Callable[[], Ticket]) -> None:
        """Send it at its delivery time."""
        self._push(_Held(self, envelope, make_ticket), envelope.delivery_time)

    def keep(self, held: _Held) -> bool:
        """Try again soon; False when the session has closed."""
        return self._push(held, self._clock.now_ms() + _AGAIN)

    def _push(self, held: _Held, due: int) -> bool:
        with self._lock:
            if self._closed:
                return False
            heapq.heappush(self._held, (due, next(self._numbers), held))
        self._arm()
        return True

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
                self._sending = bool(self._held) and self._held[0][0] <= self._clock.now_ms()
                held = heapq.heappop(self._held)[2] if self._sending else None
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
            return self._sending or (bool(self._held) and self._held[0][0] <= last)

    def wait_close(self, timeout: float) -> list[Envelope]:
        """Wait ``timeout`` seconds for messages that become due; fail those not sent by then, and return them."""
        last = self._clock.now_ms() + int(timeout * 1000)
        self._changed.wait_for(lambda: not self._is_sending(last), timeout)
        with self._lock:
            self._closed = True
            lost = [held for _, _, held in sorted(self._held)]
            self._held = []
        self._executor.close()
        for held in lost:
            held.fail(SendRefused("the session was closed before the delivery time: the message was never sent"))
        return [held.envelope for held in lost]
