"""When a queue has to process delays and expiry."""

from collections.abc import Callable
from typing import Final

from jmsbridge_embedded.memory.queues.backlog import Entry
from jmsbridge_embedded.memory.queues.schedule import Alarm, Schedule
from jmsbridge_embedded.memory.queues.state import BrokerState

__all__ = ["Timetable"]

_SWEEP_EVERY: Final = 1000
"""Minimum milliseconds between two sweeps of one queue."""


class Timetable:
    """The delayed messages of a queue, and the next sweep for expired ones; ``wake`` is called when either is due.

    ``delayed`` is a heap of due time, key and entry; ``appearing`` says that a job moves due messages into the queue.
    ``sweep_at`` is 0 when nothing expires. The broker's lock is held in every method.
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
        """Schedule a message, in a queue of this size, to appear when due and to be swept after it expires."""
        expiration = entry.envelope.expiration
        if expiration:
            self.sweep_after(expiration, size)
        if expiration or self.delayed:
            self.arm()

    def sweep_after(self, expiration: int, size: int) -> None:
        """Sweep after this time, but not too often: a sweep visits every message."""
        earliest = self._state.clock() + _SWEEP_EVERY + size // 100
        due = -(-max(expiration, earliest) // _SWEEP_EVERY) * _SWEEP_EVERY
        if not self.sweep_at or due < self.sweep_at:
            self.sweep_at = due

    def arm(self) -> None:
        """Set the alarm for the next due time."""
        due = self.delayed[0][0] if self.delayed and not self.appearing else 0
        if self.sweep_at and (not due or self.sweep_at < due):
            due = self.sweep_at
        before = self.alarm
        if due and (before is None or before.act is None or before.due > due):
            self.alarm = self._schedule.set(due, self._wake)
            self._schedule.call_off(before)

    def clear(self) -> list[tuple[int, int, Entry]]:
        """Cancel everything and return what was delayed."""
        self.sweep_at = 0
        self._schedule.call_off(self.alarm)
        self.alarm = None
        delayed, self.delayed = self.delayed, []
        return delayed
