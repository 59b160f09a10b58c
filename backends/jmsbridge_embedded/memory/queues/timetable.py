"""When a queue has to look at its messages by itself."""

from collections.abc import Callable
from typing import Final

from jmsbridge_embedded.memory.queues.backlog import Entry
from jmsbridge_embedded.memory.queues.schedule import Alarm, Schedule
from jmsbridge_embedded.memory.queues.state import BrokerState

__all__ = ["Timetable"]

_SWEEP_EVERY: Final = 1000
"""Milliseconds between two sweeps of one queue, at least."""


class Timetable:
    """The messages of a queue that are delayed, and when to sweep those that expire; ``wake`` is called at that time.

    ``delayed`` is a heap of due time, key and entry; ``appearing`` says that a job moves what is due into the queue.
    ``sweep_at`` is 0 when nothing expires. Every method expects the broker's lock to be held.
    """

    def __init__(self, state: BrokerState, schedule: Schedule, wake: Callable[[int], None]) -> None:
        self.delayed: list[tuple[int, int, Entry]] = []
        self.appearing = False
        self.sweep_at = 0
        self.alarm: Alarm | None = None
        self._state = state
        self._schedule = schedule
        self._wake = wake

    def watch(self, entry: Entry, size: int) -> None:
        """See that a message of a queue of this size appears when it is due, and is swept after it expired."""
        expiration = entry.envelope.expiration
        if expiration:
            self.sweep_after(expiration, size)
        if expiration or self.delayed:
            self.arm()

    def sweep_after(self, expiration: int, size: int) -> None:
        """Sweep once this time has passed, but not too often: a sweep looks at every message."""
        earliest = self._state.clock() + _SWEEP_EVERY + size // 100
        due = -(-max(expiration, earliest) // _SWEEP_EVERY) * _SWEEP_EVERY
        if not self.sweep_at or due < self.sweep_at:
            self.sweep_at = due

    def arm(self) -> None:
        """Have ``wake`` called when there is something to do."""
        due = self.delayed[0][0] if self.delayed and not self.appearing else 0
        if self.sweep_at and (not due or self.sweep_at < due):
            due = self.sweep_at
        before = self.alarm
        if due and (before is None or before.act is None or before.due > due):
            self.alarm = self._schedule.set(due, self._wake)
            self._schedule.call_off(before)

    def clear(self) -> list[tuple[int, int, Entry]]:
        """Nothing is left to do; what was delayed comes back."""
        self.sweep_at = 0
        self._schedule.call_off(self.alarm)
        self.alarm = None
        delayed, self.delayed = self.delayed, []
        return delayed
