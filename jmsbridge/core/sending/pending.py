"""Unanswered sends that no call waits for: limited by the send window, awaited at the end of transaction or session."""

from collections.abc import Callable, Sequence
from typing import Any, Protocol

from jmsbridge.core.runtime.locks import Rank, ranked
from jmsbridge.core.runtime.waiting import WaitSet
from jmsbridge.core.sending.ledger import step
from jmsbridge.core.sending.weight import window_text
from jmsbridge.errors import ResourceAllocationException
from jmsbridge.spi import BackendError, Ticket

__all__ = ["PendingSends"]


class _Ticket(Protocol):
    size: int

    def succeed(self) -> None:
        """The broker has it."""

    def fail(self, error: BackendError) -> None:
        """The broker does not have it, or it is in doubt."""


class PendingSends:
    """The tickets of one session's unanswered sends that no call waits for; thread-safe.

    ``report`` gets those that failed; ``give_up`` answers those whose time-out is over.
    """

    def __init__(
        self,
        window: int,
        window_bytes: int | None,
        timeout: float,
        report: Callable[[Any, BackendError], None],
        give_up: Callable[[Sequence[Ticket]], None],
    ) -> None:
        self.report = report
        self._give_up = give_up
        self._window = window
        self._low_water = window - step(window)
        self._window_bytes = window_bytes
        self._timeout = timeout
        self._lock = ranked(Rank.LEAF)  # guards the fields below
        self._tickets: dict[_Ticket, None] = {}
        self._bytes = 0
        self._changed = WaitSet()

    def __len__(self) -> int:
        return len(self._tickets)

    def wait_room(self, size: int) -> None:
        """Wait until one more fits into the window; ResourceAllocation after ``send_timeout``."""
        if len(self._tickets) < self._window and (self._window_bytes is None or not self._is_heavy(size)):
            return
        if self._changed.wait_for(lambda: self._has_room(size), self._timeout):
            return
        raise ResourceAllocationException(
            f"the message was not sent: earlier ones fill the {window_text(self._window, self._window_bytes)} "
            f"and have had no answer from the broker for {self._timeout:g} s (option send_timeout)"
        )

    def _has_room(self, size: int) -> bool:
        return len(self._tickets) <= self._low_water and not self._is_heavy(size)

    def _is_heavy(self, size: int) -> bool:
        limit = self._window_bytes
        return limit is not None and bool(self._tickets) and self._bytes + size > limit

    def add(self, ticket: _Ticket) -> None:
        """Add a send that is about to be passed to the backend."""
        with self._lock:
            self._tickets[ticket] = None
            self._bytes += ticket.size

    def remove(self, ticket: _Ticket) -> bool:
        """Remove a send that was answered; false if it was answered before."""
        with self._lock:
            if self._tickets.pop(ticket, False) is False:  # their values are None
                return False
            self._bytes -= ticket.size
        if self._changed.gates and (len(self._tickets) <= self._low_water or self._window_bytes is not None):
            self._changed.notify()
        return True

    def recount(self) -> None:
        """Count the bytes again, after an interrupted call."""
        with self._lock:
            self._bytes = sum(ticket.size for ticket in self._tickets)

    def wait_all(self, timeout: float) -> None:
        """Wait until all are answered; give up those that are not after ``timeout`` seconds."""
        if not self._changed.wait_for(lambda: not self._tickets, timeout):
            self._give_up(tuple(self._tickets))
