"""A selector on a queue whose broker knows none: what does not match is parked, and handed back after a while.

A parked message stays unsettled, so the broker goes on to the next one. It goes back to the broker soon, because
another consumer may wait for it; each time it comes here again it stays longer, so that a message which nobody wants
costs little. A full park asks for nothing more until something has gone back.
"""

import heapq
import itertools
import logging
import math
import random
import threading
from collections.abc import Callable

from jmsbridge.core.clock import Clock
from jmsbridge.core.locks import Rank, ranked
from jmsbridge.selectors import Selector
from jmsbridge.spi import Arrival, BackendError, LinkLost, Outcome, Subscription

__all__ = ["Park"]

log = logging.getLogger("jmsbridge.parking")

_SHORTEST = 0.1  # seconds that a message stays the first times; doubles every three times that it comes again
_LONGEST = 10.0
_TOGETHER = 0.05  # seconds; what is due so soon goes back together with what is due, and so in order
_PATIENCE = 15.0  # seconds for a call of the backend that is in progress


class Park:
    """What one subscription holds that its selector does not match; at most ``limit`` messages and one window.

    ``takes`` is called by the backend; ``tend`` runs on the lane that ``wake`` wakes.
    """

    def __init__(self, selector: Selector, limit: int, clock: Clock, wake: Callable[[], None]) -> None:
        self._selector = selector
        self._limit = limit
        self._clock = clock
        self.wake = wake
        self._changed_lock = ranked(Rank.LEAF)
        self._changed = threading.Condition(self._changed_lock)  # guards everything below
        self._numbers = itertools.count()
        self._held: list[tuple[float, int, Arrival]] = []  # a heap by the time of going back
        self._seen: dict[str | None, int] = {}  # how often which message came, the latest last
        self._factor = 1.0  # drawn anew after each hand-back: two consumers must not exchange the wrong ones for ever
        self._owed = 0  # credit that parked messages have used up
        self._armed = math.inf  # when the next timer wakes the lane
        self._busy = False
        self._paused = False
        self._told = False

    # ---- the backend's side

    def takes(self, arrival: Arrival) -> bool:
        """Whether the message does not match, and is parked now."""
        envelope = arrival.envelope
        if self._selector.matches_envelope(envelope):
            return False
        with self._changed_lock:
            stay = self._remember(envelope.message_id)
            heapq.heappush(self._held, (self._clock.monotonic() + stay, next(self._numbers), arrival))
            self._owed += 1
            full = len(self._held) >= self._limit and not self._told
            self._told = self._told or full
        if full:
            log.warning(
                "%s: %d messages are parked that a selector does not match (option emulation_limit); what stands "
                "behind them comes only when somebody consumes them",
                envelope.address,
                self._limit,
            )
        self.wake()
        return True

    def has(self, arrival: Arrival) -> bool:
        """Whether that message is parked."""
        with self._changed_lock:
            return any(each is arrival for _, _, each in self._held)

    def _remember(self, message_id: str | None) -> float:
        # under the lock: how long it stays
        times = self._seen.pop(message_id, 0)
        self._seen[message_id] = times + 1
        if len(self._seen) > 4 * self._limit:
            del self._seen[next(iter(self._seen))]
        return min(_SHORTEST * 2.0 ** min(times // 3, 30), _LONGEST) * self._factor

    # ---- on the lane

    def tend(self, subscription: Subscription, refill: Callable[[int], bool]) -> None:
        """Hand back what has been here long enough, and ask for as many messages as are parked, if there is room.

        ``refill`` asks, or answers False where nothing is wanted at present.
        """
        with self._changed_lock:
            if self._paused:
                return
            self._busy = True
            now = self._clock.monotonic()
            due = []
            if self._held and self._held[0][0] <= now:
                while self._held and self._held[0][0] <= now + _TOGETHER:
                    due.append(heapq.heappop(self._held))
            if due:
                self._factor = random.uniform(0.5, 1.5)
            count = max(0, min(self._owed, self._limit - len(self._held)))
            self._owed -= count
            pause = self._next_pause(now)
        if pause is not None:
            self._clock.call_later(pause, self.wake)
        try:
            if due:
                due.sort(key=lambda entry: entry[1])
                subscription.settle([arrival.token for _, _, arrival in due], Outcome.RELEASED)
            if count and not refill(count):
                self._owe(count)
        except LinkLost:
            log.debug("parked messages went back with their link")
        except BackendError as error:
            log.warning("parked messages could not be handed back: %s", error)
        finally:
            with self._changed_lock:
                self._busy = False
                self._changed.notify_all()

    def _owe(self, count: int) -> None:
        with self._changed_lock:
            self._owed += count

    def _next_pause(self, now: float) -> float | None:
        # under the lock: seconds until a further timer is needed
        if self._armed <= now:
            self._armed = math.inf
        if not self._held or self._held[0][0] >= self._armed:
            return None
        self._armed = self._held[0][0]
        return max(0.0, self._armed - now)

    # ---- the receiver's side

    @property
    def was_full(self) -> bool:
        """Whether there was a moment without room: what stood behind may never have come."""
        return self._told

    @property
    def is_hungry(self) -> bool:
        """Whether it has used up credit, and would have more."""
        return self._owed > 0 and len(self._held) < self._limit

    def pause(self) -> None:
        """Call the backend no more until ``resume``: credit is being counted."""
        with self._changed_lock:
            self._paused = True
            self._changed.wait_for(lambda: not self._busy, _PATIENCE)

    def resume(self) -> None:
        """Go on; the whole window is about to be asked for anew."""
        with self._changed_lock:
            self._paused = False
            self._owed = 0
        self.wake()

    def empty(self) -> list[Arrival]:
        """Everything that is parked, in order of arrival; it is nobody's now. To be called while paused."""
        with self._changed_lock:
            held, self._held = self._held, []
        return [arrival for _, _, arrival in sorted(held, key=lambda entry: entry[1])]

    def lose(self) -> None:
        """The link died, and everything went back with it."""
        with self._changed_lock:
            self._paused = True
        self.empty()
