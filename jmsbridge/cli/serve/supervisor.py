"""The supervising process: starts worker processes, starts those that die again, and ends them in order."""

import logging
import queue
import signal
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import msgspec

from jmsbridge.app.running import UNFINISHED
from jmsbridge.cli.running import ERROR, OK, USAGE
from jmsbridge.cli.serve.health import Health, ProcessHealth
from jmsbridge.cli.serve.order import ENDED_ITSELF, Order
from jmsbridge.cli.serve.processes import Counts, Slot
from jmsbridge.cli.serve.reloading import Sources
from jmsbridge.core.runtime.signals import handling_stops

__all__ = ["Supervisor"]

log = logging.getLogger("jmsbridge.run")

_TICK = 0.5
_SILENT = 30.0  # seconds without the report that comes every second, after which a process counts as stuck
_DEPTHS_EVERY = 5.0  # seconds
_LOADING = 120.0  # seconds for which the application's modules may be imported
_WORST = ("stuck", "dead", "failed", "connecting", "reconnecting", "closed")


class Supervisor:
    """Runs in the main thread; other threads only read what ``health`` and ``line`` tell."""

    def __init__(self, orders: Sequence[Order], sources: Sources | None) -> None:
        self._events: queue.SimpleQueue[tuple[str, int]] = queue.SimpleQueue()  # signal handlers may put into it
        self._slots = [Slot(order, self._events) for order in orders]
        self._sources = sources
        self._stopping = 0
        """The signal that asked to stop."""
        self._is_reloading = False
        self._handled = (time.monotonic(), 0)
        self._rate = 0.0
        self._asked: Slot | None = None
        """The one process that asks the broker for depths; those that the others have reported before are old."""
        self._ask_at = 0.0

    def run(self, show: Callable[[str], None]) -> int:
        """Serve until a signal, or until no process is left; returns the exit code. ``show`` gets lines of progress."""
        with self._signals():
            while self._is_needed():
                self._start_due()
                show(self.line())
                try:
                    self._handle(*self._events.get(timeout=_TICK))
                except queue.Empty:
                    self._look()
        return self._code()

    def _is_needed(self) -> bool:
        return any(slot.pid is not None or slot.due is not None for slot in self._slots) or (
            self._sources is not None and not self._stopping  # the next change may mend it
        )

    def _start_due(self) -> None:
        for slot in self._slots:
            if slot.due is not None and time.monotonic() >= slot.due:
                slot.start()

    def _look(self) -> None:
        for slot in self._slots:
            slot.check()
        self._ask_depths()
        changed = self._sources is not None and not self._stopping and self._sources.has_changed()
        if changed and not self._is_reloading:  # else they are ending already: a second signal would end them at once
            log.warning("a source file has changed: reloading")
            self._is_reloading = True
            self._stop_all(again=False)
        if self._is_reloading and all(slot.pid is None for slot in self._slots):
            self._is_reloading = False
            for slot in self._slots:
                slot.due = time.monotonic()

    def _ask_depths(self) -> None:
        """Of one process that can tell: the same one as before, unless that no longer can."""
        before = self._asked
        if before is None or not before.can_tell_depths():
            self._asked = next((slot for slot in self._slots if slot.can_tell_depths()), None)
        if self._asked is not None and (self._asked is not before or time.monotonic() >= self._ask_at):
            self._ask_at = time.monotonic() + _DEPTHS_EVERY
            self._asked.ask_depths()

    def _stop_all(self, *, again: bool) -> None:
        for slot in self._slots:
            slot.stop(again=again)

    def _handle(self, what: str, number: int) -> None:
        if what == "signal":
            # the first one must not end at once what a reload has asked to end
            self._stop_all(again=self._stopping != 0)
            self._stopping, self._is_reloading = self._stopping or number, False
            return
        slot = self._slots[number]
        slot.end()
        code = slot.code or 0
        if self._stopping or self._is_reloading or code == ENDED_ITSELF:
            return
        if code == USAGE:  # another attempt would end the same way
            if self._sources is None:
                self._stop_all(again=False)
            return
        slot.again()

    def _code(self) -> int:
        codes = {slot.code or 0 for slot in self._slots}
        if self._stopping:  # while a process still imports the application, the signal ends it, and nothing is lost
            codes.discard(-signal.SIGTERM)
        if codes & {128 + signal.SIGTERM, 128 + signal.SIGINT}:
            return 128 + (self._stopping or signal.SIGTERM)
        for code in (USAGE, UNFINISHED):
            if code in codes:
                return code
        return OK if codes <= {OK, ENDED_ITSELF} else ERROR

    @contextmanager
    def _signals(self) -> Iterator[None]:
        def handle(number: int, frame: Any) -> None:
            self._events.put(("signal", number))

        try:
            with handling_stops(handle):
                yield
        finally:
            self._kill_all()

    def _kill_all(self) -> None:
        """After a mistake in this process: no worker may outlive it."""
        for slot in self._slots:
            slot.kill()

    # ---- on any thread

    def health(self) -> Health:
        """How the processes are doing."""
        processes = [
            _health_of(number, slot, tells_depths=slot is self._asked) for number, slot in enumerate(self._slots)
        ]
        states = {process.state for process in processes}
        best = "connected" if "connected" in states else "closed"
        return Health(state=next((state for state in _WORST if state in states), best), processes=processes)

    def line(self) -> str:
        """How they are doing, in one line."""
        reports = [slot.reported for slot in self._slots]
        listeners = [each for report in reports if report is not None for each in report.status.listeners]
        counts = Counts().plus(slot.counts for slot in self._slots)
        handled = counts.handled
        then, before = self._handled
        now = time.monotonic()
        if now - then >= 1:
            self._rate = max(0.0, (handled - before) / (now - then))
            self._handled = (now, handled)
        health = self.health()
        count = len(self._slots)
        parts = [
            f"{count} {'process' if count == 1 else 'processes'} {'stopping' if self._stopping else health.state}",
            f"{sum(each.running for each in listeners)} running",
            f"{handled:,} handled ({self._rate:,.0f}/s)",
        ]
        for what, number in (
            ("failed", counts.failed),
            ("dead-lettered", counts.dead_lettered),
            ("waiting", self._waiting()),
            ("restarts", sum(slot.restarts for slot in self._slots)),
        ):
            if number:
                parts.append(f"{number:,} {what}")
        return " · ".join(parts)

    def _waiting(self) -> int:
        """How many messages wait. Listeners of one queue with selectors share it; topics have subscriptions."""
        report = None if self._asked is None else self._asked.reported
        listeners = [] if report is None else report.status.listeners
        depths = {
            each.destination if each.destination.startswith("queue:") else each.name: each.depth or 0
            for each in listeners
        }
        return sum(depths.values())


def _health_of(number: int, slot: Slot, *, tells_depths: bool) -> ProcessHealth:
    report = slot.reported
    if slot.pid is None:
        state = "ended" if slot.code in (OK, ENDED_ITSELF) and slot.due is None else "dead"
    elif report is None:
        state = "connecting" if slot.age < _LOADING else "stuck"
    else:
        is_stuck = report.status.is_stuck or time.monotonic() - slot.heard > _SILENT
        state = "stuck" if is_stuck else report.status.state
    listeners = [] if report is None else report.status.listeners
    if not tells_depths:
        listeners = [msgspec.structs.replace(each, depth=None) for each in listeners]
    return ProcessHealth(number=number, pid=slot.pid, restarts=slot.restarts, state=state, listeners=list(listeners))
