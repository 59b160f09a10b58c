"""Tracks copies of received messages until they are confirmed, for example copies to a dead-letter queue.

The original is accepted only after its copy was confirmed: a crash in between leaves two messages, never none.
"""

from collections.abc import Callable, Hashable

from jmsbridge.spi import BackendError, Ticket
from jmsbridge.transport.network.link_life import DEADLINE, LinkLife
from jmsbridge.transport.tickets import CallbackTicket

__all__ = ["CopiesUnderWay", "TimedTicket"]

_PATIENCE = 10.0  # seconds for which a close waits for copies, but at most half of ``close_timeout``


class CopiesUnderWay:
    """The unconfirmed copies of one subscription's messages. For the I/O thread only."""

    def __init__(self, life: LinkLife) -> None:
        self._life = life
        self._copying: set[Hashable] = set()
        self._when_idle: list[Callable[[], None]] = []

    def __contains__(self, key: Hashable) -> bool:
        """Whether the message of this key is being copied."""
        return key in self._copying

    def begin(self, key: Hashable, done: Callable[[BackendError | None], None]) -> Ticket:
        """Return the ticket with which to send the copy of one message; ``done`` gets its answer."""
        self._copying.add(key)

        def copied(error: BackendError | None) -> None:
            self._copying.discard(key)
            done(error)
            if not self._copying:
                self.wait_no_longer()

        return CallbackTicket(copied)

    def when_idle(self, task: Callable[[], None]) -> None:
        """Run ``task`` when no copy is unconfirmed, or after some seconds, for a close that must not wait longer."""
        if self._copying:
            self._when_idle.append(task)
            patience = min(_PATIENCE, self._life.endpoint.close_timeout / 2)
            self._life.thread.call_later(patience, self.wait_no_longer)
        else:
            task()

    def wait_no_longer(self) -> None:
        """Run the tasks that wait for copies now."""
        tasks, self._when_idle = self._when_idle, []
        for task in tasks:
            task()


class TimedTicket(CallbackTicket):
    """Passes the first answer on, or after ``DEADLINE`` that the broker gave none; later answers are ignored.

    ``what`` is what has no answer then, and ``is_in_doubt`` takes back what was not written, and returns whether the
    broker may have the rest. For the I/O thread.
    """

    __slots__ = ("_life", "_ticket", "_timer", "is_answered")

    def __init__(self, life: LinkLife, ticket: Ticket, what: str, is_in_doubt: Callable[[], bool]) -> None:
        super().__init__(self._answer)
        self.is_answered = False
        self._life = life
        self._ticket = ticket

        def too_late() -> None:
            text = f"{what}: no answer from {life.broker} within {DEADLINE:.3g} s"
            self._answer(BackendError(text, in_doubt=is_in_doubt()))

        self._timer = life.thread.call_later(DEADLINE, too_late)

    def _answer(self, error: BackendError | None) -> None:
        if self.is_answered:
            return
        self.is_answered = True
        self._life.thread.cancel(self._timer)
        if error is None:
            self._ticket.succeed()
        else:
            self._ticket.fail(error)
