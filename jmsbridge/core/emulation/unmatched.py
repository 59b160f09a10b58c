"""Selectors on queues for brokers that have none: unmatched messages are buffered, and released after a while.

A buffered message stays unsettled, so the broker continues with the next one. It is released soon, because another
consumer may wait for it; each time it is delivered here again it stays longer, so that a message that no consumer wants
costs little. A message that was here before is released only after the credit was taken back, and credit is granted
again a little later: with a polled broker this consumer would otherwise always ask first, and others would never get
the message. A full buffer asks for no more messages until some are released.
"""

import contextlib
import heapq
import itertools
import logging
import math
import random
from collections.abc import Callable
from typing import Protocol

from jmsbridge.core.runtime.clock import Clock
from jmsbridge.core.runtime.locks import Rank, ranked
from jmsbridge.core.runtime.waiting import AnswerMissing, WaitSet
from jmsbridge.selectors import Selector
from jmsbridge.spi import Arrival, BackendError, LinkLost, Outcome, Subscription

__all__ = ["UnmatchedBuffer"]

_Held = tuple[float, int, Arrival, bool]
"""When to release it, its number, the message, and whether it was here before."""

log = logging.getLogger("jmsbridge.unmatched")

_SHORTEST = 0.1  # seconds that a message stays at first; doubled after every three deliveries of it
_LONGEST = 10.0
_TOGETHER = 0.05  # seconds; messages due so soon are released together with those due now, which keeps their order
_ASIDE = 0.05  # seconds without credit after a release; before the next one there is credit for at least as long
_PATIENCE = 15.0  # seconds to wait for a call of the backend in progress


class _Credit(Protocol):
    """The methods of an inbox that the buffer uses."""

    def refill(self, count: int) -> bool:
        """Ask for so many more messages; False if none are wanted at present."""

    def suspend_credit(self, timeout: float) -> None:
        """Take all credit back."""

    def resume_credit(self) -> None:
        """Grant it again."""


class UnmatchedBuffer:
    """The messages of one subscription that its selector does not match: at most ``limit`` and at most one window.

    ``takes`` is called by the backend; ``release_due`` runs on the executor that ``wake`` wakes.
    """

    def __init__(self, selector: Selector, limit: int, clock: Clock, wake: Callable[[], None]) -> None:
        self._selector = selector
        self._limit = limit
        self._clock = clock
        self.wake = wake
        self._lock = ranked(Rank.LEAF)  # guards everything below
        self._changed = WaitSet()
        self._numbers = itertools.count()
        self._held: list[_Held] = []  # a heap by the time of release
        self._seen: dict[str | None, int] = {}  # how often each message came, the latest last
        self._factor = 1.0  # random for each release, so that two consumers do not exchange messages for ever
        self._owed = 0  # credit that these messages have used up
        self._back_at = math.inf  # when to grant credit again after a release
        self._not_before = 0.0  # no release before this time, so that there is some time with credit
        self._armed = math.inf  # when the next timer wakes the executor
        self._busy = False
        self._paused = False
        self._told = False

    # ---- the backend's side

    def takes(self, arrival: Arrival) -> bool:
        """Whether the message does not match; it is then buffered."""
        envelope = arrival.envelope
        if self._selector.matches_envelope(envelope):
            return False
        with self._lock:
            times = self._remember(envelope.message_id)
            stay = min(_SHORTEST * 2.0 ** min(times // 3, 30), _LONGEST) * self._factor
            heapq.heappush(self._held, (self._clock.monotonic() + stay, next(self._numbers), arrival, times > 0))
            self._owed += 1
            full = len(self._held) >= self._limit and not self._told
            self._told = self._told or full
        if full:
            log.warning(
                "%s: %d messages that a selector does not match are buffered (option emulation_limit); the messages "
                "behind them are delivered only when other consumers take these",
                envelope.address,
                self._limit,
            )
        self.wake()
        return True

    def _remember(self, message_id: str | None) -> int:
        # under the lock: how often it was here before
        times = self._seen.pop(message_id, 0)
        self._seen[message_id] = times + 1
        if len(self._seen) > 4 * self._limit:
            del self._seen[next(iter(self._seen))]
        return times

    # ---- on the executor

    def release_due(self, subscription: Subscription, credit: _Credit) -> None:
        """Release messages that were here long enough, and, if there is room, grant credit for those still here."""
        with self._lock:
            if self._paused:
                return
            self._busy = True
            now = self._clock.monotonic()
            is_back = self._back_at <= now
            if is_back:
                self._back_at, self._not_before, self._owed = math.inf, now + _ASIDE, 0
            due = self._take_due(now)
            is_aside = self._back_at < math.inf
            count = 0 if is_aside else max(0, min(self._owed, self._limit - len(self._held)))
            self._owed -= count
            pause = self._next_pause(now)
        if pause is not None:
            self._clock.call_later(pause, self.wake)
        try:
            if is_back:
                credit.resume_credit()
            if due:
                self._release(subscription, due, credit)
            if count and not credit.refill(count):
                self._owe(count)
        except LinkLost:
            log.debug("messages that a selector does not match were returned with their link")
        except BackendError as error:
            log.warning("messages that a selector does not match could not be released: %s", error)
        finally:
            self._busy = False
            self._changed.notify()

    def _take_due(self, now: float) -> list[_Held]:
        # under the lock: the messages to release now, in order of arrival
        due: list[_Held] = []
        if not self._held or max(self._held[0][0], self._not_before) > now:
            return due
        while self._held and self._held[0][0] <= now + _TOGETHER:
            due.append(heapq.heappop(self._held))
        due.sort(key=lambda held: held[1])
        self._factor = random.uniform(0.5, 1.5)
        if self._back_at == math.inf and any(came_again for *_, came_again in due):
            self._back_at = now + _ASIDE * self._factor
        return due

    def _release(self, subscription: Subscription, due: list[_Held], credit: _Credit) -> None:
        if self._back_at < math.inf:
            with contextlib.suppress(AnswerMissing):
                credit.suspend_credit(_PATIENCE)
        subscription.settle([arrival.token for _, _, arrival, _ in due], Outcome.RELEASED)

    def _owe(self, count: int) -> None:
        with self._lock:
            self._owed += count

    def _next_pause(self, now: float) -> float | None:
        # under the lock: seconds until a further timer is needed
        if self._armed <= now:
            self._armed = math.inf
        due = max(self._held[0][0], self._not_before) if self._held else math.inf
        at = min(due, self._back_at)
        if at >= self._armed:
            return None
        self._armed = at
        return max(0.0, at - now)

    # ---- the receiver's side

    def has(self, arrival: Arrival) -> bool:
        """Whether this arrival is buffered here."""
        with self._lock:
            return any(one is arrival for _, _, one, _ in self._held)

    @property
    def was_full(self) -> bool:
        """Whether the buffer was full at some time, so that later messages may not have been delivered."""
        return self._told

    @property
    def wants_credit(self) -> bool:
        """Whether its messages have used up credit that should be granted again."""
        return self._owed > 0 and len(self._held) < self._limit

    def wait_paused(self) -> None:
        """Wait for a call of the backend in progress, and make none until ``resume``: the caller changes the credit."""
        with self._lock:
            self._paused = True
        self._changed.wait_for(lambda: not self._busy, _PATIENCE)

    def resume(self) -> None:
        """Continue; the caller is about to grant the whole window again."""
        with self._lock:
            self._paused = False
            self._owed = 0
        self.wake()

    def empty(self) -> list[Arrival]:
        """Remove and return all messages, in order of arrival, for the caller to release; call it while paused."""
        with self._lock:
            held, self._held = self._held, []
        return [arrival for _, _, arrival, _ in sorted(held, key=lambda entry: entry[1])]

    def lose(self) -> None:
        """The link is lost, and all messages were returned with it."""

        with self._lock:
            self._paused = True
        self.empty()
